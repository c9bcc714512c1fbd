"""Code generation: from a plan to one Python function, with sizes as local ints and kernels bound as names.

The function takes the input arrays and returns the list of outputs. Under ANYSHAPE_CHECK=1 it verifies the metadata of
every value as soon as the value exists.

Lines of a first plan measure its calls, or leave a call to the optimised plan. Each call with large arrays is measured,
and each of a plan with a loop: its trips take any time. Other calls compare sizes with a number. Where an optimised
plan saves time for small arrays too, one in COUNTED of these calls is measured. The rest advance a counter.
"""

import functools
import itertools
import linecache
import logging
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen import user_lines
from anyshape.backend.compiler.codegen.bodies import Body, FunctionSource, StepKernels, StepSource, write_bodies
from anyshape.backend.compiler.codegen.chunks import chunked
from anyshape.backend.compiler.codegen.tiles import MIN_ELEMENTS, TILE_NAMES, GroupSource, min_tiled_elements
from anyshape.backend.compiler.codegen.timers import Timers, begin_lines, done_line, end_line, shares_argument
from anyshape.backend.compiler.op_traits import TRAITS, bytes_of, is_compute_bound
from anyshape.backend.compiler.peak_memory import Budget, scratch_bytes
from anyshape.backend.compiler.plan import Group, Plan, Slot, Step, named_sizes, variables_in
from anyshape.backend.runtime import rows
from anyshape.backend.runtime.block_cache import ShapeConstants
from anyshape.backend.runtime.outcome import GUARD_FAILED, Outputs
from anyshape.graph.ir.graph import subgraphs
from anyshape.graph.prover.constraints import Claim, Condition
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound, numel
from anyshape.graph.signature.guards import implied_by_equalities
from anyshape.graph.signature.prologue import Prologue, PrologueSource
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.substitute import computable, may_divide_by_zero
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops.loops import LOOPS
from anyshape.support.fork_lock import checks_enabled
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import loop_source

_PLAN = logging.getLogger("anyshape.plan")


Run = Callable[..., Outputs]  # takes the input arrays
_NUMBERS = itertools.count(1)  # of generated functions, in the names of their files


LARGE = 4 * MIN_ELEMENTS  # elements of an array below which no group runs in tiles
COUNTED = 32  # calls with small arrays that one measured call stands for
MEASURED = "_measured"  # the parameter of a function that is being measured
_MAX_COMPARED = 4  # numbers of elements that a call compares with LARGE


@dataclass(frozen=True)
class Meter:
    """Functions that a first plan calls for a call that is measured.

    `measure` takes the function of the plan, `instead`, how many calls this one stands for, the elements of the
    largest array, and the inputs. It returns what one of the functions gives. `counts_small` says whether calls with
    small arrays are counted.
    """

    measure: Callable[..., Any]
    instead: Callable[..., Any]
    counts_small: bool


def may_gain(plan: Plan) -> bool:
    """Return False where an optimised plan is the same: groups have two steps, or expensive arithmetic, or bodies."""
    return len(plan.steps) > 1 or any(step.bodies or is_compute_bound(step.op) for step in plan.steps)


def has_loop(steps: Iterable[Any]) -> bool:
    """Return whether a step of a plan, or a node of a graph, is a loop, or has one inside."""
    for step in steps:
        if step.op in LOOPS or (step.op.has_subgraphs and any(has_loop(g.nodes) for g in subgraphs(step))):
            return True
    return False


def largest_arrays(plan: Plan) -> list[Size]:
    """Return the numbers of elements of the largest arrays of a plan, as far as inputs give them; few of many."""
    read = {s.variable for s in plan.dims}
    metas = [*plan.input_metas, *itertools.chain(*[step.results for step in plan.steps])]
    shapes = sorted(dict.fromkeys([m.sizes for m in metas if m.sizes]), key=_long_axes, reverse=True)
    largest: list[Size] = []
    for number in dict.fromkeys(map(numel, shapes)):
        variables = _variables(number)
        is_covered = any(variables <= _variables(larger) for larger in largest)
        if not is_covered and variables <= read and not may_divide_by_zero(number):
            largest.append(number)
        if len(largest) == _MAX_COMPARED:
            break
    return largest


def _long_axes(shape: Sequence[Size]) -> tuple[int, int]:
    """Return the number of axes that are not of length 1, and of variables in them."""
    return sum(size != 1 for size in shape), len(_variables(numel(shape)))


def _variables(number: Size) -> set[Any]:
    return set(variables_in((number,)))


def _meter_lines(plan: Plan, meter: Meter, elements: Iterable[str]) -> list[str]:
    """Return the lines before the first step, for texts of the numbers of elements of the largest arrays."""
    texts, arrays = list(elements), ", ".join(plan.inputs)
    largest = f"max({', '.join(texts)})" if len(texts) > 1 else "".join(texts) or "0"
    if has_loop(plan.steps):
        return [f"if not {MEASURED}: return _measure(1, {largest}, {arrays})"]
    is_large = " or ".join([f"{text} >= {LARGE}" for text in texts]) or "False"
    if not meter.counts_small:
        return [f"if ({is_large}) and not {MEASURED}: return _measure(1, {largest}, {arrays})"]
    calls = f"1 if {is_large} else {COUNTED}"
    return [f"if ({is_large} or _is_counted()) and not {MEASURED}: return _measure({calls}, {largest}, {arrays})"]


def _meter_names(meter: Meter, run: Callable[..., Any]) -> dict[str, Any]:
    """Return the objects that names in these lines are bound to, for the function of the plan."""
    counter = itertools.cycle((*[False] * (COUNTED - 1), True))
    return {"_measure": functools.partial(meter.measure, run, meter.instead), "_is_counted": counter.__next__}


class PlanKernels(StepKernels, Protocol):
    """Collects the groups of a plan, and builds kernels of them."""

    def add(self, name: str, writer: GroupSource) -> bool:
        """Take a group, whose kernel is to be called by this name. Return False if there will be none."""

    def counter(self, name: str, writer: GroupSource) -> tuple[Callable[..., Any], int] | None:
        """Return what runs of a group call while it has no kernel, and from how many elements on; None: they do not."""

    def in_loop(self, site: Any) -> "PlanKernels":
        """Return what takes the groups in a loop that a nest may run."""

    def build(self, namespace: dict[str, Any]) -> None:
        """Build the kernels, and put them into the scope of the plan's function."""


class Nests(Protocol):
    """Gives what runs loops of a plan as machine code."""

    def site(self, step: Step, depth: int) -> Callable[..., Any] | None:
        """Return the function of operands and shapes that runs a loop, or returns None where NumPy is to run it.

        Without a function, NumPy runs the loop.

        - `depth`: in how many bodies of other steps the loop is.
        """


@dataclass(frozen=True)
class EntryGuard:
    """Claims about sizes that a function tests before it runs its plan, and the function to call where one fails.

    Without such a function the result is GUARD_FAILED.
    """

    claims: tuple[Claim, ...]
    otherwise: Run | None = None


def compile_plan(
    plan: Plan,
    budget: Budget | None = None,
    entry_guards: Sequence[EntryGuard] = (),
    timers: Timers | None = None,
    threads: int | None = None,
    meter: Meter | None = None,
    kernels: PlanKernels | None = None,
    counts_bytes: bool = False,
    nests: Nests | None = None,
) -> Run:
    """Return a function that runs a plan, within a budget of memory. Its source is its attribute `__source__`.

    - `entry_guards`: claims that the function checks first.
    - `timers`: record each run. Without them, the function has no trace of timing.
    - `threads`: the most threads that run a group. Groups then run in tiles whatever the strides of their operands.
    - `meter`: measures calls of a first plan.
    - `kernels`: takes the groups that are to be compiled to machine code.
    - `nests`: gives what runs loops as machine code.
    - `counts_bytes`: the function runs within `live_bytes.counting` alone, and counts the arrays that it makes.
    """
    _PLAN.debug("%s", plan)
    meter = meter if may_gain(plan) else None
    kernels = kernels if timers is None else None
    writer = PlanSource(plan, budget, entry_guards, timers, threads, meter, kernels, counts_bytes)
    writer.nests = nests
    return link(writer)


def link(writer: "PlanSource") -> Run:
    """Return the function that a writer writes."""
    plan, meter, texts = writer.plan, writer.meter, writer.texts()
    source = "".join(texts)
    file = f"<anyshape plan {plan.name or 'program'} {next(_NUMBERS)}>"
    lines = user_lines.UserLines(writer.first_lines(), writer.placed.file)
    if lines.file is None:
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    generated = user_lines.Generated(file, lines, plan.name)
    namespace = writer.names | lines.names()
    namespace["_translated"] = user_lines.error_translator(lines, source, namespace)
    line = 1
    for text in texts:
        user_lines.define(text, generated, line, namespace)
        line += text.count("\n")
    run: Run = user_lines.compiled(texts[0], generated, 1, namespace)
    weakref.finalize(run, linecache.cache.pop, file, None).atexit = False  # tracebacks read the source while it can run
    if meter is not None:
        namespace |= _meter_names(meter, run)
    if plan.shape_constants:
        constants = ShapeConstants(namespace["make_constants"])
        namespace |= {"_cached": constants.values.get, "_new": constants.new}
    if writer.kernels is not None:
        writer.kernels.build(namespace)
    run.__source__ = source  # type: ignore[attr-defined]
    return run


class PlanSource(StepSource):
    """Writes the function of a plan."""

    kernels: PlanKernels | None
    nests: Nests | None = None
    depth = 0  # of the bodies that it is written in
    key: tuple[int, ...] = ()
    clock = ""  # the local of the readings of a body

    def __init__(
        self,
        plan: Plan,
        budget: Budget | None,
        entry_guards: Sequence[EntryGuard],
        timers: Timers | None,
        threads: int | None,
        meter: Meter | None = None,
        kernels: PlanKernels | None = None,
        counts_bytes: bool = False,
    ) -> None:
        self.kernels, self.counts_bytes = kernels, counts_bytes
        self.plan, self.budget, self.entry_guards, self.timers = plan, budget, entry_guards, timers
        self.threads, self.meter, self.placed = threads, meter, user_lines.PlacedKernels(user_lines.file_of_steps(plan))
        self.largest: list[Size] = [] if meter is None else largest_arrays(plan)
        self.prologue: Prologue = Prologue(plan.name, plan.input_names, plan.input_metas, plan.values, plan.dims)
        variables = [*[s.variable for s in plan.dims], *plan.runtime]
        size_locals = {variable: naming.variable_local(i) for i, variable in enumerate(variables)}
        names: dict[str, Any] = {"_fail": self.prologue.violated, "_fail_first": self.prologue.first_violated}
        names |= {"_array": _apart, "_guard_failed": GUARD_FAILED}
        super().__init__(size_locals, names | dict(plan.constants))
        self.checks: bool = checks_enabled()
        self.undefined: set[DimVar] = set(plan.runtime)  # run-time sizes, until a step defines them
        self.unchecked: list[Condition] = self._checked_conditions()  # conditions, until their sizes are defined
        self.variables: set[DimVar] = self._needed_variables()
        self.bound: set[DimVar] = self.variables  # the ones with a local in the function that is written
        self.written_steps: int = 0
        self.marks: list[tuple[int, Step]] = []  # each step with the number of lines before it
        self.functions: list[FunctionSource] = []

    def texts(self) -> list[str]:
        """Return the source of the function, and of each of its helper functions."""
        plan = self.plan
        self._write_prologue()
        if self.meter is not None:
            self.lines += _meter_lines(plan, self.meter, [f"({self.text(n)})" for n in self.largest])
        if plan.shape_constants:
            self._write_shape_constants()
        if self.timers is not None:
            self.names |= self.timers.names(plan, tuple(self.size_locals))
            self.lines += begin_lines(len(plan.steps))
        first = len(self.lines)
        for group, steps in plan.parts():
            if group is None:
                self._write_steps(steps)
            else:
                self._write_group(group, steps)
        if self.timers is not None:
            self.lines.append(end_line(tuple(self.size_locals.values())))
        outputs = [self._output(o, c) for o, c in zip(plan.outputs, plan.copied, strict=True)]
        self.lines.append(f"return [{', '.join(outputs)}]")
        run = chunked("run", self.lines, self.marks, first, plan.inputs)
        self.lines, self.marks = run.lines, run.marks
        self.functions += run.chunks
        body = "\n        ".join(self.lines)
        parameters = [*plan.inputs, *([] if self.meter is None else [f"{MEASURED}=False"])]
        head = f"def run({', '.join(parameters)}):\n    try:\n        "
        text = f"{head}{body}\n    except Exception as error:\n        raise _translated(error)\n"
        return [text, *[f"{f.text}\n" for f in self.functions]]

    def first_lines(self) -> list[tuple[int, Step]]:
        """Return the line of the source at which each step begins; two lines come before the body."""
        lines_before = [0, *itertools.accumulate(1 + line.count("\n") for line in self.lines)]
        first_lines = [(3 + lines_before[count], step) for count, step in self.marks]
        end = 2 + lines_before[-1] + 2
        for function in self.functions:
            first_lines += [(end + line, step) for line, step in function.marks]
            end += function.text.count("\n") + 1
        return first_lines

    # -- prologue

    def _write_prologue(self) -> None:
        """Write size binding, guards, assertions and the memory limit.

        Guards that divide come after assertions, which keep divisors from being 0.
        """
        self._write_size_binding()
        self._write_entry_guards(dividing=False)
        self.write_ready_conditions()
        self._write_entry_guards(dividing=True)
        if self.budget is not None:
            self._write_budget(self.budget)
        if self.counts_bytes:
            self.names["_current"] = rows.current
            self.lines.append(f"{naming.LIVE} = _current()")
        if self.checks:
            for slot, meta in zip(self.plan.inputs, self.plan.input_metas, strict=True):
                self._write_verification(slot, meta, None)

    def _write_size_binding(self) -> None:
        """Write the lines that read the needed variables off the inputs and check the signature."""
        writer = PrologueSource(self.prologue, self.size_locals, naming.INPUT_SHAPE.format, naming.INPUT_VALUE.format)
        self.lines += writer.lines(self.variables - self.undefined)
        self.names |= writer.names

    def _write_entry_guards(self, *, dividing: bool) -> None:
        """Write the entry guards with claims that divide by a size, or the others."""
        arrays = ", ".join(self.plan.inputs)
        for guard in [g for g in self.entry_guards if any(map(divides_by_size, g.claims)) == dividing]:
            otherwise = guard.otherwise
            outcome = "_guard_failed" if otherwise is None else f"{self.bind('otherwise', otherwise)}({arrays})"
            tests = [claim.source(self.leaf_text, self.local_of) for claim in guard.claims]
            self.lines += [f"if not ({test}): return {outcome}" for test in tests]

    def _write_budget(self, budget: Budget) -> None:
        """Write the line that runs another function, or raises, at sizes whose arrays would take too many bytes."""
        prologue = self.prologue
        self.names["_over_limit"] = functools.partial(budget.replacement, names=lambda: prologue.size_names)
        test = "True" if budget.needed is None else f"{self.text(computable(budget.needed))} > {budget.limit}"
        sizes = ", ".join(f"{str(s.variable)!r}: {self.size_locals[s.variable]}" for s in self.plan.dims)
        self.lines.append(f"if {test}: return _over_limit({{{sizes}}})({', '.join(self.plan.inputs)})")

    def _needed_variables(self) -> set[DimVar]:
        """Return the variables that any line may read."""
        if self.timers is not None:
            return set(self.size_locals)
        plan = self.plan
        claims = [*[c.claim for c in self.unchecked], *[c for g in self.entry_guards for c in g.claims]]
        variables = {v for claim in claims for v in claim.variables()}
        params = [p for step in (*plan.hoisted, *plan.steps) for p in step.all_params()]
        sizes = [*[g.rows for g in plan.groups], *self.largest, *set(self._sizes_of_arrays())]
        variables.update(variables_in((*params, *sizes)))
        if self.budget is not None:
            variables.update(s.variable for s in plan.dims)
        return variables

    def _sizes_of_arrays(self) -> list[Size]:
        """Return sizes that groups allocate, and sizes of steps that are allocated, verified or counted."""
        plan = self.plan
        metas = [m for g in plan.groups for s in g.steps for m in (*s.metas, *s.results)]
        metas += plan.input_metas if self.checks or self.counts_bytes else ()
        sizes = named_sizes([extent for meta in metas for extent in meta.extents])
        return [*sizes, *self._sizes_of_results((*plan.hoisted, *plan.steps), of_all=self.checks or self.counts_bytes)]

    def _sizes_of_results(self, steps: Iterable[Step], *, of_all: bool) -> list[Size]:
        """Return the sizes of results of branches and loops, or of all steps."""
        metas = [m for step in steps if step.bodies or of_all for m in step.results]
        return named_sizes([extent for meta in metas for extent in meta.extents])

    # -- conditions

    def _checked_conditions(self) -> list[Condition]:
        """Return the conditions to check, those that divide last: others keep divisors from being 0.

        Guards are checked before, and no axis is negative.
        """
        axes = {size for source, size in self.prologue.declared_sizes.items() if isinstance(source, InputAxis)}
        conditions = [c for c in self.plan.conditions if c.kind not in ("guard", "fact")]
        conditions = [c for c in conditions if c.claim.relation != ">=" or c.claim.left - c.claim.right not in axes]
        return sorted(conditions, key=lambda c: divides_by_size(c.claim))

    def write_ready_conditions(self) -> None:
        """Write each condition as soon as its sizes are defined."""
        waiting: list[Condition] = []
        ready: list[Condition] = []
        for condition in self.unchecked:
            is_ready = self.undefined.isdisjoint(condition.claim.variables())
            (ready if is_ready else waiting).append(condition)
        self.unchecked = waiting
        for condition in self._without_implied(ready):
            test = condition.claim.source(self.leaf_text, self.local_of)
            sizes = [self.size_locals[v] for v in condition.claim.variables()]
            arguments = ", ".join([self.bind("condition", condition), *sizes])
            self.lines.append(f"if not ({test}): _fail({arguments})")

    def _without_implied(self, ready: Sequence[Condition]) -> list[Condition]:
        """Write one test of the equalities that imply others of these conditions; return the rest.

        Where it fails, all are tested in their order, so the error is the one of the first that fails.
        """
        equalities, implied = implied_by_equalities(ready)
        if not implied:
            return list(ready)
        variables = list(dict.fromkeys([v for c in ready for v in c.claim.variables()]))
        test = " and ".join([c.claim.source(self.leaf_text, self.local_of) for c in equalities])
        failed = [self.bind("conditions", ready), self.bind("variables", variables)]
        sizes = [self.size_locals[v] for v in variables]
        self.lines.append(f"if not ({test}): _fail_first({', '.join([*failed, *sizes])})")
        written = {id(c) for c in (*equalities, *implied)}
        return [c for c in ready if id(c) not in written]

    def _define_sizes(self, step: Step) -> None:
        """Write the locals of the run-time sizes that a result of the step is the first to have."""
        defined = False
        for slot, meta in zip(step.outputs, step.results, strict=True):
            for variable, axis in meta.variable_axes():
                if variable in self.undefined:
                    defined = True
                    self.undefined.discard(variable)
                    if variable in self.variables:
                        self.lines.append(f"{self.size_locals[variable]} = {slot}.shape[{axis}]")
        if defined:
            self.write_ready_conditions()

    # -- steps

    def _write_shape_constants(self) -> None:
        """Write the function of the hoisted steps, and the line that reads the cache or calls it."""
        hoisted = self.plan.hoisted
        params = [p for step in hoisted for p in step.all_params()]
        read = variables_in((*params, *self._sizes_of_results(hoisted, of_all=self.checks)))
        sizes = "".join(f"{local}, " for variable, local in self.size_locals.items() if variable in read)
        slots, first_mark, bound = f"{', '.join(self.plan.shape_constants)},", len(self.marks), self.bound
        self.bound = {*read}
        with self.collect_apart(fresh_scope=True) as lines:
            for step in hoisted:
                self.marks.append((len(lines), step))
                self._write_results(step)
        body, self.bound = "\n    ".join([*lines, f"return {slots}"]), bound
        marks = tuple([(2 + count, step) for count, step in self.marks[first_mark:]])
        del self.marks[first_mark:]
        self.functions.append(FunctionSource(f"def make_constants({sizes}):\n    {body}", marks))
        self.lines.append(f"{slots} = _cached(({sizes})) or _new(({sizes}))")

    def _write_steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self.marks.append((len(self.lines), step))
            self._write_results(step)
            self._write_drops(step.drops)
            self.written_steps += 1
            if self.timers is not None:
                self.lines.append(done_line(self.written_steps))

    def _write_results(self, step: Step) -> None:
        """Write the call of a step, and the checks of its results."""
        if self.counts_bytes:
            self._write_requirement(step)
        if step.bodies:
            (loop_source.write_loop if step.op in LOOPS else write_bodies)(self, step, _BodySource)
        else:
            (self.call_view if step.fallback else self.call_kernel)(step)
        if self.undefined:
            self._define_sizes(step)
        self.write_count(step.outputs)
        self._verify_results([step], step.outputs)

    def _write_requirement(self, step: Step) -> None:
        """Write the line that requires the bytes which a step will allocate, as far as they are known before it."""
        makes = step.reuse is None and not step.bodies and TRAITS[step.op].alias.may_allocate
        sizes = [bytes_of(m) for m in step.results if makes and m.rank]
        known = [size for size in (*sizes, scratch_bytes(step)) if size is not None and self._is_defined(size)]
        if (total := expr.total(known)) != 0:
            self.lines.append(f"{naming.LIVE}.require({self.text(total)})")

    def _is_defined(self, size: Size) -> bool:
        """Return whether all variables of a size have locals by now."""
        return all(v in self.bound and v not in self.undefined for v in expr.variables(size))

    def write_count(self, slots: Collection[str]) -> None:
        """Write the line that counts the bytes of values, if the function counts them."""
        if self.counts_bytes and slots:
            self.lines.append(f"{naming.LIVE}.add({', '.join(slots)})")

    def _write_drops(self, slots: Collection[str]) -> None:
        dropped = [slot for slot in slots if not naming.is_input(slot)]
        if dropped:
            self.lines.append(f"del {', '.join(dropped)}")

    def _write_group(self, group: Group, steps: Sequence[Step]) -> None:
        """Write a group in tiles where its arrays are large, and else its steps one by one."""
        self.names |= TILE_NAMES
        name = naming.unused_name("tiled", self.names)
        first, timed = self.written_steps, self.timers is not None
        writer = GroupSource(group, self.bind, self.atom, timed, self.threads)
        self.functions += writer.functions(name)
        rows, least = self.atom(group.rows), min_tiled_elements(group)
        test = self.test_of_sizes(group, lambda: f"{self.atom(group.rows)} * {writer.widest_row(self.atom)} >= {least}")
        if writer.deep_operands and self.threads is None:
            test += f" and _in_order({', '.join(writer.deep_operands)})"
        arguments = [rows, *writer.read, *writer.sizes.values(), *([shares_argument(first)] if timed else [])]
        internal = group.internal
        with self.collect_apart() as in_tiles:
            self.lines.append(f"{', '.join(group.escaping)} = {name}({', '.join(arguments)})")
            self.write_count(group.escaping)
            self._write_drops([slot for step in steps for slot in step.drops if slot not in internal])
            if timed:
                self.lines.append(done_line(first + len(steps)))
        calls = [] if self.kernels is None else self._kernel_calls(self.kernels, writer)
        if calls:
            self._write_kernel_choice(calls, group, steps, lambda: self._write_choice(test, in_tiles, steps))
        else:
            self._write_choice(test, in_tiles, steps)
        self._verify_results(steps, group.escaping)

    def _kernel_calls(self, kernels: PlanKernels, writer: GroupSource) -> list[str]:
        """Return the lines that call the kernel of a group, None until it is built; none if there will be no kernel.

        The writer may get further sizes, which functions of tiles that are written before do not take.
        """
        name, results = naming.unused_name("kernel", self.names), naming.kernel_results(self.depth)
        self.names[name] = None
        if not kernels.add(name, writer):
            return []
        rows = self.atom(writer.group.rows)
        arguments = ", ".join([rows, *writer.read, *writer.sizes.values()])
        call, otherwise = f"if {name} is not None: {results} = {name}({arguments})", f"else: {results} = None"
        if (counter := kernels.counter(name, writer)) is None:
            return [call, otherwise]
        counted, least = counter
        self.names[naming.kernel_counter(name)] = counted
        elements = lambda: f"{self.atom(writer.group.rows)} * {writer.widest_row(self.atom)}"
        test = self.test_of_sizes(writer.group, lambda: f"{elements()} >= {least}")
        counting = f"{naming.kernel_counter(name)}({elements()}, {arguments})"
        return [call, f"elif {test}: {results} = {counting}", otherwise]

    def _write_kernel_choice(
        self, calls: Sequence[str], group: Group, steps: Sequence[Step], write_numpy: Callable[[], None]
    ) -> None:
        """Write the lines that call a kernel, and what runs where there is none or it declines."""
        first_mark, results = len(self.marks), naming.kernel_results(self.depth)
        with self.collect_apart() as by_numpy:
            write_numpy()
        with self.collect_apart() as taken:
            self.lines.append(f"{', '.join(group.escaping)}, = {results}")
            internal = group.internal
            self._write_drops([slot for step in steps for slot in step.drops if slot not in internal])
        self.lines += [*calls, f"if {results} is None:"]
        self.marks[first_mark:] = [(len(self.lines) + count, step) for count, step in self.marks[first_mark:]]
        self.lines += [*[f"    {line}" for line in by_numpy], "else:", *[f"    {line}" for line in taken]]
        self.lines.append(f"del {results}")

    def test_of_sizes(self, group: Group, write: Callable[[], str]) -> str:
        """Return the source of a test of the sizes of a group."""
        return write()

    def _write_choice(self, test: str, lines: Sequence[str], steps: Sequence[Step]) -> None:
        """Write these lines for where the test holds, and the steps one by one for where it does not."""
        first_mark = len(self.marks)
        with self.collect_apart() as one_by_one:
            self._write_steps(steps)
        self.lines += [f"if {test}:", *[f"    {line}" for line in lines], "else:"]
        self.marks[first_mark:] = [(len(self.lines) + count, step) for count, step in self.marks[first_mark:]]
        self.lines += [f"    {line}" for line in one_by_one]

    def _output(self, slot: Slot, copied: bool) -> str:
        return f"_array({self.operand(slot)})" if copied else str(slot)

    # -- verification of metadata

    def _verify_results(self, steps: Sequence[Step], slots: Collection[str]) -> None:
        if not self.checks:
            return
        for step in steps:
            for slot, meta in zip(step.outputs, step.results, strict=True):
                if slot in slots:
                    self._write_verification(slot, meta, step.where)

    def _write_verification(self, slot: str, meta: TensorMeta, where) -> None:
        """Write the line that checks a value against its metadata."""
        self.names.setdefault("_verify", user_lines.verify)
        sizes = [e.size if isinstance(e, (Exact, UpperBound)) else None for e in meta.extents]
        bounds = ", ".join("None" if size is None else self.text(size) for size in sizes)
        comma = "," if meta.rank == 1 else ""
        self.lines.append(
            f"_verify({slot}, {slot!r}, {self.bind('meta', meta)}, ({bounds}{comma}), {self.bind('at', where)})"
        )


class _BodySource(Body, PlanSource):
    """Writes the plan of a subgraph as a part of the function of the plan that runs it."""


def _apart(x: Any) -> Any:
    """Return a result that shares no memory with others; scalars of NumPy never change."""
    return x if isinstance(x, np.generic) else np.array(x)

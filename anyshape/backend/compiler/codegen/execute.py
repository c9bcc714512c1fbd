"""From a plan to a Python function: one generated function per plan, sizes as local ints, kernels bound as names.

The function takes the input arrays and returns the list of outputs. Under ANYSHAPE_CHECK=1 it verifies the metadata of
every value as soon as the value exists.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import logging
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.failures import error_translator, verify
from anyshape.backend.compiler.codegen.step_source import StepSource
from anyshape.backend.compiler.codegen.tiles import NAMES, GroupSource, TileFunction, least
from anyshape.backend.compiler.codegen.timers import Timers, begin, done, end, shares_of
from anyshape.backend.compiler.peak_memory import Budget
from anyshape.backend.compiler.plan import Group, Literal, Plan, Step, variables_in
from anyshape.backend.runtime.outcome import GUARD_FAILED, Outputs
from anyshape.backend.runtime.shape_constant_cache import ShapeConstants
from anyshape.graph.prover.constraints import Claim, Condition
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound
from anyshape.graph.signature.prologue import Prologue, PrologueSource
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis

_PLAN, _RUN = logging.getLogger("anyshape.plan"), logging.getLogger("anyshape.run")


def checking() -> bool:
    """Whether ANYSHAPE_CHECK=1 asks for metadata to be verified after each step."""
    return os.environ.get("ANYSHAPE_CHECK", "") not in ("", "0")


Run = Callable[..., Outputs]  # takes the input arrays


@dataclass(frozen=True)
class GuardedFallback:
    """Claims about sizes of axes, and the function to call where one fails.

    Without such a function the result is GUARD_FAILED.
    """

    claims: tuple[Claim, ...]
    instead: Run | None = None


def compile_plan(
    plan: Plan,
    budget: Budget | None = None,
    turns: Sequence[GuardedFallback] = (),
    timers: Timers | None = None,
    threads: int | None = None,
) -> Run:
    """The function that runs a plan, within a budget of memory. Its source is kept as `__source__`.

    Groups run on so many `threads` at most, if that is given: then tiles are relied on. With `timers`, each run tells
    them when its steps were done; without, nothing of that is in the function.
    """
    _PLAN.debug("%s", plan)
    writer = _Writer(plan, budget, turns, timers, threads)
    source = writer.source()
    file = f"<anyshape plan {plan.name or 'program'} {id(plan):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = writer.names | {"_told": error_translator(file, writer.starts())}
    exec(compile(source, file, "exec"), space)
    run = space["run"]
    if plan.shape_constants:
        constants = ShapeConstants(space["by_size"])
        space |= {"_kept": constants.values.get, "_new": constants.new}
    run.__source__ = source
    return run


def log_calls(run: Run, program: str, names: Sequence[str]) -> Run:
    """A function that runs a program and tells of each call its sizes and how long it took, if calls are logged.

    Whether they are is settled here: the function itself asks nothing.
    """
    if not _RUN.isEnabledFor(logging.DEBUG):
        return run

    @functools.wraps(run)
    def telling(*arrays: Any) -> Any:
        started = perf_counter()
        outputs = run(*arrays)
        taken = 1e6 * (perf_counter() - started)
        if outputs is not GUARD_FAILED and _RUN.isEnabledFor(logging.DEBUG):
            shapes = [f"{n} {np.shape(x)}" for n, x in zip(names, arrays, strict=False)]
            _RUN.debug("%s: %s in %.1f us", program, ", ".join(shapes) or "no arguments", taken)
        return outputs

    return telling


class _Writer(StepSource):
    """Writes the generated function."""

    def __init__(
        self,
        plan: Plan,
        budget: Budget | None = None,
        turns: Sequence[GuardedFallback] = (),
        timers: Timers | None = None,
        threads: int | None = None,
    ) -> None:
        self.threads = threads
        self.plan, self.budget, self.turns, self.timers = plan, budget, turns, timers
        self.entry = Prologue(plan.name, plan.input_names, plan.input_metas, plan.values, plan.dims)
        variables = [*[s.variable for s in plan.dims], *plan.runtime]
        size_name = {variable: f"n{i}" for i, variable in enumerate(variables)}
        names = {"_fail": self.entry.violated, "_array": np.array, "_guard_failed": GUARD_FAILED}
        super().__init__(size_name, names)
        self.pending = set(plan.runtime)
        self.done = 0  # steps that are written
        self.marks: list[tuple[int, Step]] = []  # how many lines come before each step
        self.functions: list[TileFunction] = []
        self.checks = checking()

    def source(self) -> str:
        plan = self.plan
        for slot, array in plan.constants:
            self.names[slot] = array
        self.needed = self._needed()
        self._sizes()
        self._turn_away(divide=False)
        self._assertions()
        self._turn_away(divide=True)
        if self.budget is not None:
            self._afford(self.budget)
        if self.checks:
            for slot, meta in zip(plan.inputs, plan.input_metas, strict=True):
                self._verify(slot, meta, None)
        if plan.shape_constants:
            self._keep()
        if self.timers is not None:
            self.names |= self.timers.names(plan, tuple(self.size_name))
            self.lines += begin(len(plan.steps))
        groups = {g.first_slot: g for g in plan.groups}
        i = 0
        while i < len(plan.steps):
            group = groups.get(plan.steps[i].outputs[0])
            count = 1 if group is None else len(group.steps)
            self._parts(group, plan.steps[i : i + count])
            i += count
        if self.timers is not None:
            self.lines.append(end(tuple(self.size_name.values())))
        outputs = [self._output(o, c) for o, c in zip(plan.outputs, plan.copied, strict=True)]
        self.lines.append(f"return [{', '.join(outputs)}]")
        body = "\n        ".join(self.lines)
        head = f"def run({', '.join(plan.inputs)}):\n    try:\n        "
        run = f"{head}{body}\n    except Exception as error:\n        raise _told(error)\n"
        return "".join([run, *[f"{f.text}\n" for f in self.functions]])

    def starts(self) -> list[tuple[int, Step]]:
        """The line of the source where each step begins, for errors: two lines come before the first."""
        before = [0, *itertools.accumulate(1 + line.count("\n") for line in self.lines)]
        found = [(3 + before[count], step) for count, step in self.marks]
        end = 2 + before[-1] + 2
        for function in self.functions:
            found += [(end + line, step) for line, step in function.marks]
            end += function.text.count("\n") + 1
        return found

    # -- entry

    def _sizes(self) -> None:
        """Read off the inputs the variables that anything needs, and check that the inputs fit."""
        writer = PrologueSource(self.entry, self.size_name, "x{}.shape".format, "int(x{})".format)
        self.lines += writer.lines(self.needed - self.pending)
        self.names |= writer.names

    def _turn_away(self, *, divide: bool) -> None:
        """Lines that turn away what it is not for; claims that `divide` come when it is asserted that they can."""
        arrays = ", ".join(self.plan.inputs)
        for turn in [t for t in self.turns if any(map(divides_by_size, t.claims)) == divide]:
            outcome = "_guard_failed" if turn.instead is None else f"{self.bind('turn', turn.instead)}({arrays})"
            tests = [claim.source(self.name, self.local_of) for claim in turn.claims]
            self.lines += [f"if not ({test}): return {outcome}" for test in tests]

    def _afford(self, budget: Budget) -> None:
        """Lines that run something else, or refuse, at sizes whose arrays would take too many bytes."""
        signature = self.entry
        self.names["_instead"] = functools.partial(budget.instead, names=lambda: signature.size_names)
        test = "True" if budget.needed is None else f"{self.text(budget.needed)} > {budget.limit}"
        sizes = ", ".join(f"{str(s.variable)!r}: {self.size_name[s.variable]}" for s in self.plan.dims)
        self.lines.append(f"if {test}: return _instead({{{sizes}}})({', '.join(self.plan.inputs)})")

    def _needed(self) -> set[DimVar]:
        plan = self.plan
        if self.timers is not None:
            return set(self.size_name)
        claims = [*[c.claim for c in self._conditions()], *[c for turn in self.turns for c in turn.claims]]
        found = {v for c in claims for v in c.variables()}
        for step in (*plan.hoisted, *plan.steps):
            for _, param in [p for s in (step, *step.fallback) for p in s.params]:
                found.update(variables_in(param))
        if self.budget is not None:
            found.update(s.variable for s in plan.dims)
        metas = [m for g in plan.groups for s in g.steps for m in (*s.metas, *s.results)]
        if self.checks:
            metas += [*plan.input_metas, *[m for s in (*plan.hoisted, *plan.steps) for m in s.results]]
        named = [e.size for m in metas for e in m.extents if isinstance(e, (Exact, UpperBound))]
        found.update(v for g in plan.groups for v in variables_in(g.rows))
        found.update(v for size in named for v in expr.variables(size))
        return found

    def _conditions(self) -> list[Condition]:
        """What must hold of the sizes, dividing last: what keeps a divisor from being 0 comes before.

        Guards were checked before, and no axis is negative.
        """
        axes = {size for place, size in self.entry.declared_sizes.items() if isinstance(place, InputAxis)}
        kept = [c for c in self.plan.conditions if c.kind not in ("guard", "fact")]
        kept = [c for c in kept if c.claim.relation != ">=" or c.claim.left - c.claim.right not in axes]
        return sorted(kept, key=lambda c: divides_by_size(c.claim))

    def _assertions(self) -> None:
        self.waiting = self._conditions()
        self._assert_what_is_known()

    def _assert_what_is_known(self) -> None:
        """Check each condition as soon as its sizes exist."""
        ready = [c for c in self.waiting if self.pending.isdisjoint(c.claim.variables())]
        self.waiting = [c for c in self.waiting if c not in ready]
        for condition in ready:
            sizes = [self.size_name[v] for v in condition.claim.variables()]
            self._assert(condition.claim.source(self.name, self.local_of), condition, sizes)

    def _assert(self, source: str, condition: Condition, sizes: Sequence[str]) -> None:
        arguments = ", ".join([self.bind("condition", condition), *sizes])
        self.lines.append(f"if not ({source}): _fail({arguments})")

    def _keep(self) -> None:
        """Lines that take what is kept for the sizes, and the function that makes it."""
        plan, kept, computed = self.plan, self.lines, self.computed
        params = [p for s in plan.hoisted for part in (s, *s.fallback) for _, p in part.params]
        read = variables_in((*params, *[m.sizes for s in plan.hoisted for m in s.results if self.checks]))
        sizes = "".join(f"{name}, " for v, name in self.size_name.items() if v in read)
        slots, self.lines, self.computed, marks = f"{', '.join(plan.shape_constants)},", [], {}, []
        for step in plan.hoisted:
            marks.append((2 + len(self.lines), step))
            self._make(step)
        body = "\n    ".join([*self.lines, f"return {slots}"])
        self.functions.append(TileFunction(f"def by_size({sizes}):\n    {body}", tuple(marks)))
        self.lines, self.computed = kept, computed
        self.lines.append(f"{slots} = _kept(({sizes})) or _new(({sizes}))")

    # -- steps

    def _make(self, step: Step) -> None:
        """The lines of a step, which check what it gives where that is asked for."""
        (self.call_view if step.fallback else self.call_kernel)(step)
        if self.pending:
            self._note(step)
        self._verify_results([step], step.outputs)

    def _step(self, step: Step) -> None:
        self.marks.append((len(self.lines), step))
        self._make(step)
        drops = [d for d in step.drops if not d.startswith("x")]
        if drops:
            self.lines.append(f"del {', '.join(drops)}")
        self.done += 1
        if self.timers is not None:
            self.lines.append(done(self.done))

    def _parts(self, group: Group | None, steps: Sequence[Step]) -> None:
        """Steps one by one; those of a group by tiles, where their arrays are large."""
        if group is None:
            for step in steps:
                self._step(step)
            return
        name = f"tiled{len(self.names)}"
        self.names |= NAMES
        first, timed = self.done, self.timers is not None
        writer = GroupSource(group, self.bind, self.atom, timed, self.threads)
        self.functions.append(writer.function(name))
        rows = self.atom(group.rows)
        elements = f"{rows} * {writer.widest(self.atom)}"
        inside = {o for s in group.steps for o in s.outputs} - {*group.escaping}
        drops = [d for s in steps for d in s.drops if not d.startswith("x") and d not in inside]
        told = [shares_of(first)] if timed else []
        call = f"{', '.join(group.escaping)} = {name}({', '.join([rows, *writer.read, *writer.sizes.values(), *told])})"
        lines = [call, *([f"del {', '.join(drops)}"] if drops else []), *([done(first + len(steps))] if timed else [])]
        test = f"{elements} >= {least(group)}"
        if writer.arrays and self.threads is None:
            test += f" and _in_order({', '.join(writer.arrays)})"
        self._either(test, lines, steps)
        self._verify_results(steps, group.escaping)

    def _either(self, test: str, lines: Sequence[str], steps: Sequence[Step]) -> None:
        """Lines where a test holds, and else the steps one by one."""
        kept, computed, marked = self.lines, dict(self.computed), len(self.marks)
        self.lines = []
        for step in steps:
            self._step(step)
        plain, self.lines, self.computed = self.lines, kept, computed
        self.lines += [f"if {test}:", *[f"    {line}" for line in lines], "else:"]
        self.marks[marked:] = [(len(self.lines) + count, step) for count, step in self.marks[marked:]]
        self.lines += [f"    {line}" for line in plain]

    def _verify_results(self, steps: Sequence[Step], slots: Collection[str]) -> None:
        if self.checks:
            for step in steps:
                for slot, meta in zip(step.outputs, step.results, strict=True):
                    if slot in slots:
                        self._verify(slot, meta, step.where)

    def _note(self, step: Step) -> None:
        """Lines that note the sizes that depend on data and that an output of the step is the first to have."""
        for slot, meta in zip(step.outputs, step.results, strict=True):
            for variable, axis in meta.variable_axes():
                if variable in self.pending:
                    self.pending.discard(variable)
                    if variable in self.needed:
                        self.lines.append(f"{self.size_name[variable]} = {slot}.shape[{axis}]")
        self._assert_what_is_known()

    def _output(self, slot: str | Literal, copied: bool) -> str:
        return f"_array({self.operand(slot)})" if copied else str(slot)

    def _verify(self, slot: str, meta: TensorMeta, where: Any) -> None:
        """A line that checks a value against its metadata."""
        if "_verify" not in self.names:
            self.names["_verify"] = verify
        sized = [e.size if isinstance(e, (Exact, UpperBound)) else None for e in meta.extents]
        bounds = ", ".join("None" if size is None else self.text(size) for size in sized)
        comma = "," if meta.rank == 1 else ""
        self.lines.append(
            f"_verify({slot}, {slot!r}, {self.bind('meta', meta)}, ({bounds}{comma}), {self.bind('at', where)})"
        )

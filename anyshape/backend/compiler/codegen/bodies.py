"""Branches of conditionals, and loops of each example, written inline into the function of a plan.

Lines that call kernels: for one step, or for a view with its fallback. Sizes are local ints.

Counters of loops: scalars that a generated function holds as Python ints, as no array ever reads them.

NumPy's scalars take ten times as long. A counter is a carry or a captured scalar that bodies read only to count on, and
to compare it with a scalar.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.timers import begin_body_line, done_body_line, end_body_line
from anyshape.backend.compiler.codegen.user_lines import PlacedKernels
from anyshape.backend.compiler.plan import Group, Literal, Plan, Slot, Step, sizes_of_body
from anyshape.backend.runtime.rows import Rows
from anyshape.backend.runtime.thread_pool import MIN_PRODUCTS
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import TensorMeta, Unknown, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size, as_atom, variables
from anyshape.graph.sizes.polynomials import Call
from anyshape.graph.sizes.symbols import DimVar, InputAxis, Leaf, call_source, to_source
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import KERNELS, CallSite
from anyshape.ops.creation import full_op, size_value_op
from anyshape.ops.loops import Layout, while_each_op
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.progress import count_op

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.execute import PlanSource as PlanWriter
else:
    PlanWriter = object


def write_bodies(writer: Any, step: Step, body_source: type) -> None:
    """Write the branches of a conditional, of one for each example of a batch, or a loop of each example.

    `body_source` writes one.
    """
    if step.op is while_each_op:
        _write_body(writer, step, body_source)
    elif step.metas[0].rank == 0:
        _write_branches(writer, step, body_source)
    else:
        _write_branches_of_rows(writer, step, body_source)


def insert(writer: Any, body: Body, indent: str) -> None:
    """Add the lines of a body to the function that it is part of."""
    writer.marks += [(len(writer.lines) + count, step) for count, step in body.marks]
    writer.lines += [indent + line for line in body.lines]


def _write_body(writer, step: Step, body_source: type) -> None:
    """Write the only body of a step."""
    (plan,) = step.bodies
    operands = dict(zip(plan.inputs, [writer.operand(s) for s in step.inputs], strict=True))
    body = body_source(writer, plan, operands, sizes_of_body(plan, step.metas))
    body.key = writer.written_steps, 0
    body.write(step.outputs)
    insert(writer, body, "")


def _write_branches(writer, step: Step, body_source: type) -> None:
    """Write each branch of a conditional inline, under a test of the index."""
    for i, (test, plan) in enumerate(zip(_branch_tests(writer, step), step.bodies, strict=True)):
        operands = dict(zip(plan.inputs, [writer.operand(s) for s in step.inputs[1:]], strict=True))
        body = body_source(writer, plan, operands, sizes_of_body(plan, step.metas[1:]))
        body.key = *writer.key, writer.written_steps, i
        body.write(step.outputs)
        writer.lines.append(test)
        insert(writer, body, "    ")


def _write_branches_of_rows(writer, step: Step, body_source: type) -> None:
    """Write each branch of a batch inline, on the rows that choose it."""
    index, rows, params = writer.operand(step.inputs[0]), naming.rows_local(writer.depth), dict(step.params)
    writer.names["_Rows"] = Rows
    writer.lines.append(f"{rows} = _Rows({index}, {len(step.bodies)}, {params['totals']!r})")
    for i in range(len(step.bodies)):
        body = _body_of_rows(writer, step, i, rows, (True, *params["carries"]), body_source)
        writer.lines.append(f"if {rows}.choose({i}):")
        insert(writer, body, "    ")
    kinds = [f"({writer.bind('dtype', m.dtype)}, {_empty_shape(writer, m)})" for m in step.results]
    writer.lines.append(f"{', '.join(step.outputs)}, = {rows}.results([{', '.join(kinds)}])")
    writer.lines.append(f"del {rows}")


def _body_of_rows(writer, step: Step, i: int, rows: str, carries: Sequence[bool], body_source: type) -> Body:
    """Return body i, written for the chosen rows of the operands that have one row per example."""
    plan = step.bodies[i]
    whole = dict(zip(plan.inputs, [writer.operand(s) for s in step.inputs], strict=True))
    prefix = naming.in_body(writer.depth + 1)
    taken = {slot: f"{prefix}r{slot}" for slot, flag in zip(plan.inputs, carries, strict=False) if flag}
    body: Body = body_source(writer, plan, whole | taken, {})
    body.key = *writer.key, writer.written_steps, i
    read = body.slots_read()
    pairs = [(local, whole[slot]) for slot, local in taken.items() if local in read]
    body.lines += [f"{local} = {rows}.take({x})" for local, x in pairs]
    body.write_count([local for local, _ in pairs])
    ends = [f"{prefix}e{i}" for i in range(len(plan.outputs))]
    body.write(ends)
    body.lines += [f"{rows}.put([{', '.join(ends)}])", f"del {', '.join([*ends, *[local for local, _ in pairs]])}"]
    return body


def _empty_shape(writer, meta: TensorMeta) -> str:
    """Return the shape of a result without rows: a size that nothing chooses is as large as it may be."""
    texts = ["0" if isinstance(e, Unknown) else writer.text(e.size) for e in meta.extents]
    return f"({''.join(f'{text}, ' for text in texts)})"


def _branch_tests(writer, step: Step) -> list[str]:
    """Return the line before each branch. The last one stands under `else`, so an index is clamped."""
    index, count = writer.operand(step.inputs[0]), len(step.bodies)
    if step.metas[0].dtype.kind == "b":
        return [f"if not {index}:", "else:"]
    if count == 1:
        return ["if True:"]
    local = naming.branch_index(writer.depth)
    writer.lines.append(f"{local} = int({index})")
    return [f"if {local} <= 0:", *[f"elif {local} == {i}:" for i in range(1, count - 1)], "else:"]


class Body(PlanWriter):
    """Part of the writer of plans that writes the plan of a subgraph into the function of another.

    Slots and locals have a prefix, and inputs are the slots of the operands.
    """

    def __init__(
        self, outer: Any, plan: Plan, operands: Mapping[str, str], sizes: Mapping[DimVar, Size], prefix: str = ""
    ) -> None:
        """Begin a body. `operands` are the names of its inputs, and `sizes` the sizes of its variables outside."""
        self.depth: Any = outer.depth + 1
        self.prefix: str = prefix or naming.in_body(self.depth)
        self.clock: str = self.prefix + "times" if (outer.clock if outer.depth else outer.timers) else ""
        self.key = ()  # of its times
        self.plan: Plan = plan.renamed(lambda slot: operands.get(slot, self.prefix + slot))
        self.budget, self.entry_guards, self.timers, self.threads = None, (), None, outer.threads
        self.checks, self.meter, self.largest = outer.checks, None, []
        self.kernels, self.nests, self.counts_bytes = outer.kernels, outer.nests, outer.counts_bytes
        self.outer_sizes = sizes
        StepSource.__init__(self, self._locals(outer), outer.names)
        self.undefined: set[DimVar] = set(plan.runtime)
        self.unchecked: list[Condition] = self._checked_conditions()
        self.variables: set[DimVar] = self._needed_variables()
        self.bound: set[DimVar] = self.variables
        self.written_steps = 0
        self.marks: list[tuple[int, Step]] = []
        self.functions, self.placed = outer.functions, outer.placed
        self.ahead: list[str] | None = None  # lines before the first trip, of the body of a loop
        self.changing: set[DimVar] = set()  # sizes that differ between trips

    def _locals(self, outer) -> dict[DimVar, str]:
        """Return the local of each variable: that of the enclosing function where it has one of the same size."""
        size_locals = {}
        for i, variable in enumerate([*[s.variable for s in self.plan.dims], *self.plan.runtime]):
            size = self.outer_sizes.get(variable)
            atom = as_atom(size) if isinstance(size, DimExpr) else None
            known = isinstance(atom, DimVar) and atom in outer.bound and atom not in outer.undefined
            shared = outer.size_locals[atom] if known and isinstance(atom, DimVar) else None
            size_locals[variable] = shared or self.prefix + naming.variable_local(i)
        return size_locals

    def _checked_conditions(self) -> list[Condition]:
        """Return its assertions. Its node has required the other conditions."""
        conditions = [c for c in self.plan.conditions if c.may_refuse]
        return sorted(conditions, key=lambda c: divides_by_size(c.claim))

    def slots_read(self) -> set[Slot]:
        """Return the slots that the body reads, as values or for a size."""
        axes = [as_atom(binding.target) for binding in self.plan.dims]
        read: set[Slot] = {slot for step in self.plan.steps for slot in step.reads} | {*self.plan.outputs}
        return read | {self.plan.inputs[axis.operand] for axis in axes if isinstance(axis, InputAxis)}

    def write(self, results: Sequence[str]) -> None:
        """Write the body, and its outputs into these slots."""
        self._write_sizes()
        self.write_ready_conditions()
        self.write_parts()
        outputs = [self._result(o, c) for o, c in zip(self.plan.outputs, self.plan.copied, strict=True)]
        self.lines.append(f"{', '.join(results)} = {', '.join(outputs)}")
        ends = dict.fromkeys([*self.plan.outputs, *outputs])
        made = [s for s in ends if isinstance(s, str) and s.startswith(self.prefix) and s not in self.plan.inputs]
        if made:
            self.lines.append(f"del {', '.join(made)}")

    def write_parts(self) -> None:
        """Write the steps, in groups and alone."""
        self.lines += [begin_body_line(self.clock)] if self.clock else []
        for group, steps in self.plan.parts():
            if group is None:
                self._write_steps(steps)
            else:
                self._write_group(group, steps)
        self.lines += [end_body_line(self.clock, self.key)] if self.clock else []

    def _split_if_large(self, step: Step, function: str) -> str:
        """Return the function of a step, chosen before the first trip where its sizes are the same in all."""
        share = KERNELS[step.op].split
        if share is None or self.ahead is None or not self._are_constant(step.metas):
            return super()._split_if_large(step, function)
        shared, axes = share(dict(step.params), step.metas)
        x, y = [meta.sizes or () for meta in step.metas]
        local = f"{self.prefix}f{len(self.ahead)}"
        products = self._before_trips(lambda: " * ".join([self.atom(n) for n in (*x, *[y[axis] for axis in axes])]))
        name = self.bind("shared", self.placed.at(shared, step.where))
        self.ahead.append(f"{local} = {name} if {products or 1} >= {MIN_PRODUCTS} else {function}")
        return local

    def test_of_sizes(self, group: Group, write: Callable[[], str]) -> str:
        """Return the source of a test of sizes, made before the first trip where these are the same in all."""
        if self.ahead is None or not self._are_constant([m for s in group.steps for m in (*s.metas, *s.results)]):
            return super().test_of_sizes(group, write)
        local = f"{self.prefix}f{len(self.ahead)}"
        test = self._before_trips(write)
        self.ahead.append(f"{local} = {test}")
        return local

    def _are_constant(self, metas: Sequence[TensorMeta]) -> bool:
        """Return whether all sizes are exact and have locals before the first trip."""
        shapes, known = [meta.sizes for meta in metas], self.bound - self.changing
        return all(s is not None and known.issuperset(v for n in s for v in variables(n)) for s in shapes)

    def variables_of_splits(self) -> set[DimVar]:
        """Return the variables in the sizes of steps that may run on several threads."""
        metas = [meta for step in self.plan.steps if KERNELS[step.op].split is not None for meta in step.metas]
        return {v for meta in metas for size in meta.sizes or () for v in variables(size)}

    def _before_trips(self, write: Callable[[], str]) -> str:
        """Return the source of an expression over locals that are computed before the first trip."""
        with self.collect_apart(fresh_scope=True) as lines:
            text = write()
        assert self.ahead is not None  # asked of bodies of loops
        self.ahead += lines
        return text

    def _write_sizes(self) -> None:
        """Write the lines that read its variables off the operands, but for locals of the enclosing function."""
        for source in self.plan.dims:
            local, axis = self.size_locals[source.variable], as_atom(source.target)
            if source.variable in self.variables and local.startswith(self.prefix) and isinstance(axis, InputAxis):
                self.lines.append(f"{local} = {self.plan.inputs[axis.operand]}.shape[{axis.axis}]")

    def _write_steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            super()._write_steps([step])
            if self.clock:
                self.lines.append(done_body_line(self.clock, 1))

    def _write_group(self, group: Group, steps: Sequence[Step]) -> None:
        clock, self.clock = self.clock, ""
        super()._write_group(group, steps)
        self.clock = clock
        if clock:
            self.lines.append(done_body_line(clock, len(steps)))

    def _result(self, slot: Slot, copied: bool) -> str:
        """Return the source of an output. A fill that is an output twice is filled twice, as zeros cost nothing."""
        fill = next((s for s in self.plan.steps if s.op is full_op and s.outputs[0] == slot), None) if copied else None
        if fill is None:
            return self._output(slot, copied)
        again = f"{slot}_{len(self.lines)}"
        self._write_results(replace(fill, outputs=(again,)))
        return again

    def _write_drops(self, slots: Collection[str]) -> None:
        inputs = self.plan.inputs
        super()._write_drops([slot for slot in slots if slot.startswith(self.prefix) and slot not in inputs])


@dataclass(frozen=True)
class FunctionSource:
    """Source of a helper function of a plan; `marks` are the lines, counted from 1, at which steps begin."""

    text: str
    marks: tuple[tuple[int, Step], ...]


class StepKernels(Protocol):
    """Gives kernels of steps that have parts in machine code."""

    def step_function(self, step: Step, threads: int | None) -> Callable[..., Any] | None:
        """Return such a kernel of a step, for up to so many threads; None if there is none."""


class StepSource:
    """Collects lines, and the objects that names in them are bound to.

    - `size_locals`: locals of variables that the lines may read.
    - `computed`: locals of size expressions and of calls inside them, and lines that compute others, each once.
    - `sources`: the slots that unnamed sizes of the current step are read from.
    - `prefix`: begins the names of the locals.
    - `ints`: slots that hold Python ints.
    - `placed`: the kernels of the plan, at lines of the user.
    - `kernels`: gives kernels with machine code, which at most `threads` threads run.
    """

    prefix = ""
    ints: Collection[Slot] = ()
    placed: PlacedKernels
    kernels: StepKernels | None = None
    threads: int | None = None

    def __init__(self, size_locals: Mapping[DimVar, str], names: dict[str, Any]) -> None:
        self.size_locals, self.names = size_locals, names
        self.lines: list[str] = []
        self.computed: dict[DimExpr | Call | str, str] = {}
        self.sources: tuple[str, ...] = ()

    def bind(self, prefix: str, thing: Any) -> str:
        """Bind an object to a new name."""
        name = naming.unused_name(prefix, self.names)
        self.names[name] = thing
        return name

    @contextmanager
    def collect_apart(self, *, fresh_scope: bool = False) -> Iterator[list[str]]:
        """Collect lines in a list of their own. Sizes that they compute are local to them.

        A `fresh_scope` knows no computed sizes: the lines are of another function.
        """
        lines, computed = self.lines, self.computed
        self.lines, self.computed = [], {} if fresh_scope else dict(computed)
        try:
            yield self.lines
        finally:
            self.lines, self.computed = lines, computed

    # -- steps

    def call_kernel(self, step: Step) -> None:
        """Write the call of a step."""
        count_op()
        computed, self.sources = self.computed, step.sources
        if step.sources:
            self.computed = dict(computed)  # sizes read from these arrays are for this step alone
        numbers = not any(meta.extents for meta in step.metas)
        operands = [self.operand(operand, numbers) for operand in step.inputs]
        lines = self._comparison(step) or self._inlined(step, operands) or _scalar_operation(step, operands)
        if lines is None:
            lines = [self._call(step, operands)]
        self.computed = computed
        self.lines += lines

    def call_view(self, step: Step) -> None:
        """Write a view of an operand in C order; for any other operand, and where there is no view, its fallback."""
        (source,), (target,) = step.inputs, step.outputs
        self.lines.append(f"{target} = None")
        self._write_if(f"{source}.flags.c_contiguous", [step])
        self._write_if(f"{target} is None", step.fallback)
        between = [slot for part in step.fallback[:-1] for slot in part.outputs]
        if between:
            self.lines.append(f"    del {', '.join(between)}")

    def _write_if(self, condition: str, steps: Sequence[Step]) -> None:
        with self.collect_apart() as lines:
            for step in steps:
                self.call_kernel(step)
        self.lines += [f"if {condition}:", *[f"    {line}" for line in lines]]

    def _inlined(self, step: Step, operands: Sequence[str]) -> Sequence[str] | None:
        """Return the lines of a step whose kernel writes itself, else None."""
        if (inline := KERNELS[step.op].inline) is None:
            return None
        (target,), (result,) = step.outputs, step.results

        def bind(thing) -> str:
            if not callable(thing):
                return self.bind("p", thing)
            return self.bind(f"k_{step.op.name}_", self.placed.at(thing, step.where))

        def once(line: str) -> list[str]:
            if line in self.computed:
                return []
            self.computed[line] = line
            return [line]

        site = CallSite(
            target, tuple(operands), dict(step.params), step.metas, result, step.reuse, self._param, bind, once
        )
        if result == INT:
            site = replace(site, ints=list(map(self._int, step.inputs)), is_int=target in self.ints)
        return inline(site)

    def _int(self, operand: Slot) -> str:
        """Return the source of an int64 scalar as a Python int."""
        if isinstance(operand, Literal):
            return str(operand.value)
        return operand if operand in self.ints else f"{operand}.item()"

    def _comparison(self, step: Step) -> list[str] | None:
        """Return the line of a comparison of a Python int with a scalar, None for any other step."""
        if not self.ints or not compares(step, self.ints):
            return None
        (target,), (x, y) = step.outputs, map(self._int, step.inputs)
        compared = f"{x} {COMPARISONS[step.op]} {y}"
        return [f"{target} = {compared if target in self.ints else self.bind('k_', np.bool_) + f'({compared})'}"]

    def _call(self, step: Step, operands: Sequence[str]) -> str:
        arguments = list(operands)
        if step.reuse is not None:
            arguments.append(f"out={step.reuse}" if KERNELS[step.op].out == "keyword" else step.reuse)
        function, keywords = self._kernel(step)
        function = self._split_if_large(step, function)
        return f"{', '.join(step.outputs)} = {function}({', '.join([*arguments, *keywords])})"

    def _kernel(self, step: Step) -> tuple[str, list[str]]:
        """Return the name of the function to call, and its keyword arguments."""
        kernel, params = KERNELS[step.op], dict(step.params)
        if not any(has_local(p) for p in params.values()):
            special = kernel.specialise(params, step.metas) if kernel.specialise is not None else None
            if special is not None:
                return self.bind("k_", self.placed.at(special, step.where)), []
            function = self.function_of(step)
            run = functools.partial(function, **params) if params else function
            return self.bind(f"k_{step.op.name}_", self.placed.at(run, step.where)), []
        run = self.placed.at(self.function_of(step), step.where)
        return self.bind(f"k_{step.op.name}_", run), [f"{k}={self._param(p)}" for k, p in params.items()]

    def function_of(self, step: Step) -> Callable[..., Any]:
        """Return the kernel of a step, with parts in machine code if the plan is compiled and there are any."""
        compiled = None if self.kernels is None else self.kernels.step_function(step, self.threads)
        return KERNELS[step.op].run if compiled is None else compiled

    def _split_if_large(self, step: Step, function: str) -> str:
        """Return the function, or a choice between it and one that several threads share, by the work of the call."""
        if (share := KERNELS[step.op].split) is None or not all(isinstance(o, str) for o in step.inputs):
            return function
        shared, axes = share(dict(step.params), step.metas)
        products = " * ".join([f"{step.inputs[0]}.size", *[f"{step.inputs[1]}.shape[{axis}]" for axis in axes]])
        name = self.bind("shared", self.placed.at(shared, step.where))
        return f"({name} if {products} >= {MIN_PRODUCTS} else {function})"

    # -- operands, params and sizes

    def operand(self, operand: Slot, number: bool = False) -> str:
        """Return a slot, or a bound literal: an array, which ufuncs take fastest, or a number among numbers."""
        if not isinstance(operand, Literal):
            return operand
        return self.bind("literal", operand.array()[()] if number else operand.array())

    def _param(self, param) -> str:
        if isinstance(param, tuple):
            inner = ", ".join(self._param(p) for p in param)
            return f"({inner},)" if len(param) == 1 else f"({inner})"
        if isinstance(param, DimExpr):
            return self._size(param)
        return repr(param) if isinstance(param, (int, str, type(None))) else self.bind("p", param)

    def atom(self, size: Size) -> str:
        """Return a local that holds the size, or the number that it is."""
        return self._size(size) if isinstance(size, DimExpr) else str(size)

    def _size(self, size: DimExpr) -> str:
        if isinstance(atom := expr.as_atom(size), DimVar):
            return self.size_locals[atom]
        if size not in self.computed:
            text = self.text(size)
            self.computed[size] = text if text.isidentifier() else self._new_local(text)
        return self.computed[size]

    def text(self, size: Size) -> str:
        """Return the size as an expression of locals."""
        return to_source(size, self.leaf_text, self.local_of)

    def leaf_text(self, leaf: Leaf) -> str:
        """Return the source of a variable, or of an axis of an array whose size has no name."""
        if isinstance(leaf, InputAxis):
            return f"{self.sources[leaf.operand]}.shape[{leaf.axis}]"
        return self.size_locals[leaf] if isinstance(leaf, DimVar) else str(leaf)

    def local_of(self, call: Call) -> str:
        """Return a local that holds the value of a call: calls share parts, and Python limits nesting."""
        if call not in self.computed:
            self.computed[call] = self._new_local(call_source(call, self.leaf_text, self.local_of))
        return self.computed[call]

    def _new_local(self, source: str) -> str:
        local = self.prefix + naming.size_local(len(self.computed))
        self.lines.append(f"{local} = {source}")
        return local


# Operators of Python on NumPy's scalars give what their ufuncs give, in a fifth of the time. Arithmetic of integers is
# left out: an overflow warns in scalars alone.
_ARITHMETIC = {ew.add_op: "+", ew.sub_op: "-", ew.mul_op: "*"}


def _scalar_operation(step: Step, operands: Sequence[str]) -> list[str] | None:
    """Return the line of an operation on two scalars, None for any other step."""
    if len(operands) != 2 or step.reuse is not None or any(meta.rank for meta in step.metas):
        return None
    kind = step.metas[0].dtype.char
    operator = _ARITHMETIC.get(step.op) if kind in "fd" else None
    operator = operator or (COMPARISONS.get(step.op) if kind in "?bhilqfd" else None)
    return None if operator is None else [f"{step.outputs[0]} = {operands[0]} {operator} {operands[1]}"]


INT = tensor(np.dtype(np.int64), ())
COMPARISONS = {ew.lt_op: "<", ew.le_op: "<=", ew.gt_op: ">", ew.ge_op: ">=", ew.eq_op: "==", ew.ne_op: "!="}


def counters(
    conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, layout: Layout, count: int
) -> dict[int, set[Slot]]:
    """Return by id of a plan its slots that hold Python ints, of the condition of a loop and of a trip.

    An input holds one in both or in neither, and so does a carry before and after a trip. `count` are the inputs that
    are operands of the loop. Other bodies read no counter.
    """
    ints = _made(trip, layout.carries)
    positions = [*range(layout.carries), *range(layout.own, count)]
    ints |= {trip.inputs[i] for i in positions if _is_counter(i, conditions, others, trip, layout.carries)}
    ends = trip.outputs[: layout.carries]
    while changed := [pair for pair in zip(trip.inputs, ends, strict=False) if (pair[0] in ints) != (pair[1] in ints)]:
        ints.difference_update([slot for pair in changed for slot in pair])
    at = [i for i, slot in enumerate(trip.inputs) if slot in ints]
    by_plan: dict[int, set[Slot]] = {id(plan): _of_condition(plan, {plan.inputs[i] for i in at}) for plan in conditions}
    return by_plan | {id(trip): ints}


def _is_counter(i: int, conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, carries: int) -> bool:
    """Return whether the condition and a trip only count on from input i or compare it, and other bodies ignore it."""
    if trip.input_metas[i] != INT or not _is_counted(trip, trip.inputs[i], carries):
        return False
    is_read = any(plan.inputs[i] in step.reads for plan in others for step in plan.steps)
    return not is_read and all(_is_counted(plan, plan.inputs[i], 0) for plan in conditions)


def compares(step: Step, ints: Collection[Slot]) -> bool:
    """Return whether a step compares scalars, and a Python int is among them."""
    return step.op in COMPARISONS and any(slot in ints for slot in step.inputs)


def _made(plan: Plan, carries: int) -> set[Slot]:
    """Return the slots of counters that the steps of a plan make."""
    return {s.outputs[0] for s in plan.steps if _is_made(s) and _is_counted(plan, s.outputs[0], carries)}


def _is_made(step: Step) -> bool:
    """Return whether a step makes a scalar that is a Python int before it is converted."""
    if step.op is size_value_op:
        return isinstance(as_atom(dict(step.params)["size"]), DimVar)
    return step.op is ew.python_int_op and _are_ints(step.metas)


def _are_ints(metas: Sequence[TensorMeta]) -> bool:
    return all(meta == INT for meta in metas)


def _is_counted(plan: Plan, slot: Slot, carries: int) -> bool:
    """Return whether a plan reads a slot only to count on, to compare it, and as one of its first results."""
    steps = [step for step in plan.steps if slot in step.reads]
    counts = all(_are_ints(s.metas) and (s.op is ew.python_int_op or s.op in COMPARISONS) for s in steps)
    return counts and slot not in plan.outputs[carries:]


def _of_condition(plan: Plan, inputs: set[Slot]) -> set[Slot]:
    """Return the slots of a condition that hold Python ints, or a Python bool that is its result."""
    ints = inputs | _made(plan, 0)
    compared = {s.outputs[0] for s in plan.steps if compares(s, ints)}
    return ints | {s for s in plan.outputs if s in compared and not any(s in step.reads for step in plan.steps)}

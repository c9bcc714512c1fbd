"""Branches of conditionals, and loops of each example, written inline into the function of a plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.step_source import StepSource
from anyshape.backend.compiler.codegen.timers import begin_body_line, done_body_line, end_body_line
from anyshape.backend.compiler.plan import Group, Plan, Slot, Step, sizes_of_body
from anyshape.backend.runtime.rows import Rows
from anyshape.backend.runtime.thread_pool import MIN_PRODUCTS
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.solvers.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import TensorMeta, Unknown
from anyshape.graph.sizes.expr import DimExpr, Size, as_atom, variables
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.creation import full_op
from anyshape.ops.loops import while_each_op

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.execute import _PlanSource as PlanWriter
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


def _write_body(writer: Any, step: Step, body_source: type) -> None:
    """Write the only body of a step."""
    (plan,) = step.bodies
    operands = dict(zip(plan.inputs, [writer.operand(s) for s in step.inputs], strict=True))
    body = body_source(writer, plan, operands, sizes_of_body(plan, step.metas))
    body.key = writer.written_steps, 0
    body.write(step.outputs)
    insert(writer, body, "")


def _write_branches(writer: Any, step: Step, body_source: type) -> None:
    """Write each branch of a conditional inline, under a test of the index."""
    for i, (test, plan) in enumerate(zip(_branch_tests(writer, step), step.bodies, strict=True)):
        operands = dict(zip(plan.inputs, [writer.operand(s) for s in step.inputs[1:]], strict=True))
        body = body_source(writer, plan, operands, sizes_of_body(plan, step.metas[1:]))
        body.key = *writer.key, writer.written_steps, i
        body.write(step.outputs)
        writer.lines.append(test)
        insert(writer, body, "    ")


def _write_branches_of_rows(writer: Any, step: Step, body_source: type) -> None:
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


def _body_of_rows(writer: Any, step: Step, i: int, rows: str, carries: Sequence[bool], body_source: type) -> Body:
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


def _empty_shape(writer: Any, meta: TensorMeta) -> str:
    """Return the shape of a result without rows: a size that nothing chooses is as large as it may be."""
    texts = ["0" if isinstance(e, Unknown) else writer.text(e.size) for e in meta.extents]
    return f"({''.join(f'{text}, ' for text in texts)})"


def _branch_tests(writer: Any, step: Step) -> list[str]:
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

    largest: list[Any]
    budget: None
    entry_guards: tuple[()]
    timers: None
    threads: Any
    checks: Any
    meter: None
    kernels: Any
    counts_bytes: Any

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
        self.kernels, self.counts_bytes = outer.kernels, outer.counts_bytes
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

    def _locals(self, outer: Any) -> dict[DimVar, str]:
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

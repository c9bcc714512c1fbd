"""Branches of conditionals, written inline into the function of a plan."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anyshape.backend.compiler import names as naming
from anyshape.backend.compiler.codegen.step_source import StepSource
from anyshape.backend.compiler.codegen.timers import begin_body_line, done_body_line, end_body_line
from anyshape.backend.compiler.plan import Group, Plan, Slot, Step, sizes_of_body
from anyshape.backend.runtime.rows import Rows
from anyshape.graph.ir.subgraph import PREDICATE
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import TensorMeta, Unknown
from anyshape.graph.sizes.expr import DimExpr, as_atom
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops.creation import full_op

if TYPE_CHECKING:
    from anyshape.backend.compiler.codegen.execute import _PlanSource as PlanWriter
else:
    PlanWriter = object


def write_branches(writer: Any, step: Step, body_source: type) -> None:
    """Write the branches of a conditional, or of one for each example of a batch; `body_source` writes one."""
    write = _write_branches if step.metas[0].rank == 0 else _write_branches_of_rows
    write(writer, step, body_source)


def _write_branches(writer: Any, step: Step, body_source: type) -> None:
    """Write each branch of a conditional inline, under a test of the index."""
    for i, (test, plan) in enumerate(zip(_branch_tests(writer, step), step.bodies, strict=True)):
        body = body_source(writer, step, plan)
        body.key = writer.written_steps, i
        body.write(step.outputs)
        writer.lines.append(test)
        writer.marks += [(len(writer.lines) + count, inner) for count, inner in body.marks]
        writer.lines += [f"    {line}" for line in body.lines]


def _write_branches_of_rows(writer: Any, step: Step, body_source: type) -> None:
    """Write each branch of a batch inline, on the rows that choose it."""
    index, rows, params = writer.operand(step.inputs[0]), naming.rows_local(writer.depth), dict(step.params)
    writer.names["_Rows"] = Rows
    writer.lines.append(f"{rows} = _Rows({index}, {len(step.bodies)}, {params['totals']!r})")
    for i, plan in enumerate(step.bodies):
        body = body_source(writer, step, plan, rows, (True, *params["carries"]))
        body.key = writer.written_steps, i
        body.write_rows()
        writer.lines.append(f"if {rows}.choose({i}):")
        writer.marks += [(len(writer.lines) + count, inner) for count, inner in body.marks]
        writer.lines += [f"    {line}" for line in body.lines]
    kinds = [f"({writer.bind('dtype', m.dtype)}, {_empty_shape(writer, m)})" for m in step.results]
    writer.lines.append(f"{', '.join(step.outputs)}, = {rows}.results([{', '.join(kinds)}])")
    writer.lines.append(f"del {rows}")


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

    def __init__(self, outer: Any, step: Step, plan: Plan, rows: str = "", carries: Sequence[bool] = ()) -> None:
        self.depth, self.rows = outer.depth + 1, rows
        self.prefix = naming.in_body(self.depth)
        self.clock = self.prefix + "times" if outer.timers is not None and not outer.depth else ""
        self.key: tuple[int, int] = (0, 0)  # of its times
        first = 0 if rows else 1  # a branch of rows takes the index too, as it tells how many there are
        whole = dict(zip(plan.inputs, [outer.operand(s) for s in step.inputs[first:]], strict=True))
        self.taken = {f"{self.prefix}r{i}": whole[i] for i, flag in zip(plan.inputs, carries, strict=False) if flag}
        self.operands = whole | dict(zip([i for i, f in zip(plan.inputs, carries, strict=False) if f], self.taken))
        self.plan = plan.renamed(lambda slot: self.operands.get(slot, self.prefix + slot))
        self.budget, self.entry_guards, self.timers, self.threads = None, (), None, outer.threads
        self.checks, self.meter, self.largest = outer.checks, None, []
        self.outer_sizes = {} if rows else sizes_of_body(plan, step.metas[1:])
        StepSource.__init__(self, self._locals(outer), outer.names)
        self.undefined = set(plan.runtime)
        self.unchecked = self._checked_conditions()
        self.variables = self._needed_variables()
        self.bound = self.variables
        self.written_steps = 0
        self.marks: list[tuple[int, Step]] = []
        self.functions = outer.functions

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
        conditions = [c for c in self.plan.conditions if c.kind == "assertion" and c.primitive != PREDICATE]
        return sorted(conditions, key=lambda c: divides_by_size(c.claim))

    def write_rows(self) -> None:
        """Write the body for chosen rows: of the operands that have one row per example."""
        read: set[Slot] = {slot for step in self.plan.steps for slot in step.reads} | {*self.plan.outputs}
        read |= {slot for binding in self.plan.dims if (slot := self._slot_of(binding)) is not None}
        taken = [slot for slot in self.taken if slot in read]
        self.lines += [f"{slot} = {self.rows}.take({self.taken[slot]})" for slot in taken]
        ends = [f"{self.prefix}e{i}" for i in range(len(self.plan.outputs))]
        self.write(ends)
        self.lines += [f"{self.rows}.put([{', '.join(ends)}])", f"del {', '.join([*ends, *taken])}"]

    def _slot_of(self, binding: Any) -> str | None:
        axis = as_atom(binding.target)
        return self.plan.inputs[axis.operand] if isinstance(axis, InputAxis) else None

    def write(self, results: Sequence[str]) -> None:
        """Write the body, and its outputs into these slots."""
        self._write_sizes()
        self._write_ready_conditions()
        self.lines += [begin_body_line(self.clock)] if self.clock else []
        for group, steps in self.plan.parts():
            if group is None:
                self._write_steps(steps)
            else:
                self._write_group(group, steps)
        self.lines += [end_body_line(self.clock, self.key)] if self.clock else []
        outputs = [self._result(o, c) for o, c in zip(self.plan.outputs, self.plan.copied, strict=True)]
        self.lines.append(f"{', '.join(results)} = {', '.join(outputs)}")
        ends = dict.fromkeys([*self.plan.outputs, *outputs])
        made = [s for s in ends if isinstance(s, str) and s.startswith(self.prefix) and s not in self.plan.inputs]
        if made:
            self.lines.append(f"del {', '.join(made)}")

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

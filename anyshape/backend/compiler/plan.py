"""Plan: a graph lowered to straight-line steps on named slots. Frozen data; nothing is left to decide but sizes.

Sizes in a plan are value-side expressions over the variables of the program, read off the inputs when a call starts.

Names of slots and of locals in generated functions. No other module of the compiler invents one.

A slot is named by how its value comes about: inputs `x0`, constants `c0`, results of steps `v0`, bit masks `m0`. Locals
of the function of a fusion group are derived from the slots that they stand for.

Ops of plans alone: passes replace several steps by one of them.

No graph holds them, so they have a kernel, traits and a cost, but no shape rule, derivative or batching rule.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field
from typing import Any, NoReturn, TypeAlias

import numpy as np

from anyshape.errors import IllegalGraphError
from anyshape.graph.ir.graph import Op, show_param
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, UpperBound
from anyshape.graph.signature.dim_equations import SizeBinding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.graph.sizes.symbols import DimVar, InputAxis, RuntimeScalar
from anyshape.ops.core.flop_counts import COSTS, MOVES, PER_LAST_OPERAND, PICKS, Applied, OpCost, elements, per_result
from anyshape.support.lazy_dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class Literal:
    """Scalar operand that is known when the plan is made."""

    value: Any
    dtype: np.dtype

    def __str__(self) -> str:
        return f"{self.value}"

    def array(self) -> np.ndarray:
        return np.array(self.value, self.dtype)


Slot = str | Literal


@dataclass(frozen=True, slots=True)
class Step:
    """Kernel call: it reads slots and names its results.

    - `metas`, `results`: metadata of operands and results. The choice of a kernel depends on them.
    - `sources`: slots whose axes `params` refer to by position, because these sizes have no name.
    - `reuse`: the dead slot whose buffer takes the result.
    - `drops`: slots to free after the step.
    - `fallback`: for a view, the movement that it stands for. It runs where the operand is not in C order.
    - `bodies`: plans of its subgraphs, which generated code writes inline.
    """

    op: Op
    inputs: tuple[Slot, ...]
    params: tuple[tuple[str, Any], ...]
    outputs: tuple[str, ...]
    metas: tuple[TensorMeta, ...]
    results: tuple[TensorMeta, ...]
    reuse: str | None = None
    drops: tuple[str, ...] = ()
    where: SourceLine | None = None
    fallback: tuple[Step, ...] = ()
    sources: tuple[str, ...] = ()
    bodies: tuple[Plan, ...] = ()

    @property
    def reads(self) -> tuple[Slot, ...]:
        """Operands and sources, by position."""
        return (*self.inputs, *self.sources)

    def all_params(self) -> list[Any]:
        """Return the params of the step and of its fallback."""
        return [param for step in (self, *self.fallback) for _, param in step.params]

    def variables(self) -> set[DimVar]:
        """Return the variables in params and in the sizes of operands and results, of the fallback too."""
        extents = [extent for meta in (*self.metas, *self.results) for extent in meta.extents]
        variables = set(variables_in((*[p for _, p in self.params], *named_sizes(extents))))
        return variables.union(*[step.variables() for step in self.fallback])

    def with_buffers(self, reuse: str | None, drops: tuple[str, ...]) -> Step:
        """Return the step with the slot whose buffer it writes to, and the slots that end with it."""
        # every step of a plan passes here: `replace` would ask for each field by its name
        return Step(
            self.op,
            self.inputs,
            self.params,
            self.outputs,
            self.metas,
            self.results,
            reuse,
            drops,
            self.where,
            self.fallback,
            self.sources,
            self.bodies,
        )

    def renamed(self, name: Callable[[str], str]) -> Step:
        """Return the step with other names of slots."""
        return replace(
            self,
            inputs=tuple([s if isinstance(s, Literal) else name(s) for s in self.inputs]),
            outputs=tuple(map(name, self.outputs)),
            reuse=None if self.reuse is None else name(self.reuse),
            drops=tuple(map(name, self.drops)),
            fallback=tuple([step.renamed(name) for step in self.fallback]),
            sources=tuple(map(name, self.sources)),
        )

    def __str__(self) -> str:
        params = ", ".join(f"{k}={show_param(v)}" for k, v in self.params)
        inside = f" in {self.reuse}" if self.reuse else ""
        drops = f"  drop {', '.join(self.drops)}" if self.drops else ""
        operands = ", ".join(map(str, self.inputs))
        read = f"; sizes of {', '.join(self.sources)}" if self.sources else ""
        call = f"{self.op}({operands}{read}){' {' + params + '}' if params else ''}"
        replaced = f" for {', '.join(str(s.op) for s in self.fallback)}" if self.fallback else ""
        return f"{', '.join(self.outputs)} = {call}{replaced}{inside}{drops}"


def variables_in(param: Any) -> list[DimVar]:
    """Return the variables in a param of a step, or in a tuple of params."""
    if isinstance(param, tuple):
        return [v for p in param if isinstance(p, (DimExpr, tuple)) for v in variables_in(p)]
    return list(dims.variables(param)) if isinstance(param, DimExpr) else []


def named_sizes(extents: Iterable[ShapeExtent]) -> list[Size]:
    """Return the exact sizes and the upper bounds among extents."""
    return [extent.size for extent in extents if isinstance(extent, (Exact, UpperBound))]


def sizes_of_body(body: Plan, operands: Sequence[TensorMeta]) -> dict[DimVar, Size]:
    """Return the sizes that variables of a body have for these operands, where they are exact."""
    sizes: dict[DimVar, Size] = {}
    for binding in body.dims:
        axis = dims.as_atom(binding.target)
        extent = operands[axis.operand].extents[axis.axis] if isinstance(axis, InputAxis) else None
        if isinstance(extent, Exact):
            sizes[binding.variable] = extent.size
    return sizes


@dataclass(frozen=True, slots=True)
class Group:
    """Fusion group: steps that a call may run a tile of rows at a time.

    - `rows`: the size of the parallel axis, which is the first axis of every value that has it.
    - `parallel_operands`: for each step, which operands have the parallel axis. Any other is read whole by each tile.
    - `escaping`: results that other steps or the caller read.
    - `carried`: results of reductions along the parallel axis, combined from partial results of tiles.
    - `padded`: results of pads. Tiles write the operand to its position in the padded array.
    - `closed_by`: the reason why no further step is in the group.
    - `collapsed`: the number of axes behind the first that may be part of the parallel axis.
    """

    steps: tuple[Step, ...]
    rows: Size
    parallel_operands: tuple[tuple[bool, ...], ...]
    escaping: tuple[str, ...]
    carried: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    closed_by: str = ""
    collapsed: int = 0

    @property
    def first_slot(self) -> str:
        """Result of the first step. It identifies the group in a plan."""
        return self.steps[0].outputs[0]

    @property
    def internal(self) -> set[str]:
        """Results that only the group reads. They may never be arrays of their own."""
        return {slot for step in self.steps for slot in step.outputs}.difference(self.escaping)

    @property
    def read(self) -> dict[str, TensorMeta]:
        """Arrays that the group reads and does not make itself, by slot."""
        own = {slot for step in self.steps for slot in step.outputs}
        operands = [pair for step in self.steps for pair in zip(step.inputs, step.metas, strict=True)]
        return {slot: meta for slot, meta in operands if isinstance(slot, str) and slot not in own}

    @property
    def parallel_metas(self) -> tuple[TensorMeta, ...]:
        """Metadata of the values that have the parallel axis."""
        per_step = zip(self.steps, self.parallel_operands, strict=True)
        operands = [m for s, flags in per_step for m, parallel in zip(s.metas, flags) if parallel]
        without = {*self.carried, *self.padded}
        results = [s.results[0] for s in self.steps if s.outputs[0] not in without]
        return (*operands, *results)

    @property
    def widest(self) -> TensorMeta:
        """Metadata of a value with the parallel axis and the most axes."""
        return max(self.parallel_metas, key=lambda m: m.rank)

    def renamed(self, name: Callable[[str], str]) -> Group:
        """Return the group with other names of slots."""
        return replace(
            self,
            steps=tuple([step.renamed(name) for step in self.steps]),
            escaping=tuple(map(name, self.escaping)),
            carried=tuple(map(name, self.carried)),
            padded=tuple(map(name, self.padded)),
        )

    def __str__(self) -> str:
        kind = dict.fromkeys(self.carried, "carried ") | dict.fromkeys(self.padded, "padded ")
        escaping = ", ".join(f"{kind.get(slot, '')}{slot}" for slot in self.escaping)
        inside = len(self.internal)
        return f"tiles of {self.rows} rows give {escaping}; {inside} values stay in a tile; closed by {self.closed_by}"


def _leaf_text(leaf) -> str:
    if isinstance(leaf, InputAxis):
        return f"{INPUT_SHAPE.format(leaf.operand)}[{leaf.axis}]"
    return INPUT_VALUE.format(leaf.operand) if isinstance(leaf, RuntimeScalar) else str(leaf)


def _binding_text(binding: SizeBinding) -> str:
    left = str(binding.variable) if binding.curve is None else dims.show(binding.curve)
    return f"{left} = {dims.show(dims.floordiv(binding.target, binding.divisor), _leaf_text)}"


@dataclass(frozen=True)
class Plan:
    """Steps, the slots that inputs and constants start in, and the slots that outputs are taken from.

    - `dims`: how a call finds the variables.
    - `values`: inputs that give a size by their value.
    - `runtime`: run-time sizes. The first step that makes an array of one defines it.
    - `copied`: outputs that may share memory with an input, a constant or each other. They are copied.
    - `hoisted`: shape-only steps. Their results that other steps read are cached for calls of the same sizes.
    """

    name: str
    inputs: tuple[str, ...]
    input_metas: tuple[TensorMeta, ...]
    input_names: tuple[str, ...]
    constants: tuple[tuple[str, np.ndarray], ...]
    dims: tuple[SizeBinding, ...]
    conditions: tuple[Condition, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Slot, ...]
    output_metas: tuple[TensorMeta, ...]
    copied: tuple[bool, ...] = field(default=())
    values: tuple[tuple[int, Size], ...] = ()
    runtime: tuple[DimVar, ...] = ()
    groups: tuple[Group, ...] = ()
    hoisted: tuple[Step, ...] = ()

    @property
    def shape_constants(self) -> tuple[str, ...]:
        """Slots of hoisted steps that other steps read."""
        made = [slot for step in self.hoisted for slot in step.outputs]
        read = {slot for step in self.steps for slot in (*step.inputs, *step.sources)} if made else set()
        return tuple([slot for slot in made if slot in read])

    def parts(self) -> list[tuple[Group | None, tuple[Step, ...]]]:
        """Return each group with its steps, and each other step with None, in the order of the run."""
        groups = {group.first_slot: group for group in self.groups}
        parts: list[tuple[Group | None, tuple[Step, ...]]] = []
        position = 0
        while position < len(self.steps):
            outputs = self.steps[position].outputs
            group = groups.get(outputs[0]) if outputs else None
            end = position + (1 if group is None else len(group.steps))
            parts.append((group, self.steps[position:end]))
            position = end
        return parts

    def renamed(self, name: Callable[[str], str]) -> Plan:
        """Return the plan of a subgraph with other names of slots."""
        return replace(
            self,
            inputs=tuple(map(name, self.inputs)),
            steps=tuple([step.renamed(name) for step in self.steps]),
            outputs=tuple([s if isinstance(s, Literal) else name(s) for s in self.outputs]),
            groups=tuple([group.renamed(name) for group in self.groups]),
        )

    def __str__(self) -> str:
        arguments = ", ".join(f"{s}: {m}" for s, m in zip(self.inputs, self.input_metas, strict=True))
        sizes = [f"  {_binding_text(s)}" for s in self.dims]
        checks = [f"  assert {c.claim}" for c in self.conditions if c.kind == "assertion"]
        cached = [f"  {', '.join(self.shape_constants)} are cached for calls of these sizes"] if self.hoisted else []
        body = [*cached, *[f"  | {step}" for step in self.hoisted], *self._body()]
        ends = ", ".join(f"copy({o})" if c else str(o) for o, c in zip(self.outputs, self.copied, strict=True))
        return "\n".join([f"plan {self.name}({arguments})", *sizes, *checks, *body, f"  return {ends}"])

    def _body(self) -> list[str]:
        """Return the lines of the steps, with a line above each group."""
        lines: list[str] = []
        for group, steps in self.parts():
            lines += [] if group is None else [f"  {group}"]
            for step in steps:
                lines.append(f"  {step}" if group is None else f"  | {step}")
                lines += [f"    {line}" for body in step.bodies for line in str(body).splitlines()]
        return lines

    def show(self) -> None:
        """Print the plan: its sizes, its steps, and which of them run in tiles, with reasons."""
        sys.stdout.write(f"{self}\n")


Namer: TypeAlias = Callable[..., str]

LIVE = "_live"  # the local of the count of bytes
INPUT_SHAPE, INPUT_VALUE = "x{}.shape", "int(x{})"  # formats of what a signature reads of input number {}


input_slot: Namer = "x{}".format  # slot of an input of the plan
constant_slot: Namer = "c{}".format  # slot of a captured array
value_slot: Namer = "v{}".format  # slot of a result of a step
mask_slot: Namer = "m{}".format  # slot of a hoisted bit mask


def is_input(slot: str) -> bool:
    """Return whether the caller holds the value of a slot; freeing it would free nothing."""
    return slot.startswith("x")


def is_constant(slot: str) -> bool:
    """Return whether the plan itself holds the value of a slot."""
    return slot.startswith("c")


# -- locals of the function of a plan


variable_local: Namer = "n{}".format  # local of a dimension variable
size_local: Namer = "s{}".format  # local of a computed size
# local of the results of a compiled kernel, in the function of a plan or in a body at this depth
kernel_results: Namer = "k{}_results".format
kernel_counter: Namer = "{}_counted".format  # name of what counts the runs of a group, by the name of its kernel
# prefix of slots and locals of a body at this depth. One branch runs, so branches share it
in_body: Namer = "b{}_".format
branch_index: Namer = "i{}_".format  # local of the position of the branch that runs, of a conditional at this depth
# local of the rows of a batch whose examples choose between branches, at this depth
rows_local: Namer = "rows{}_".format


def unused_name(prefix: str, names: Collection[str]) -> str:
    """Return a name for an object in the scope of generated code; scopes only grow, so their length is unused."""
    return f"{prefix}{len(names)}"


# -- locals of the function of a fusion group


tile_of_operand: Namer = "t_{}".format  # local of the rows of one tile of an operand
tile_of_result: Namer = "r_{}".format  # local of the rows of one tile of a result
whole_result: Namer = "o_{}".format  # local of the array that all tiles of a result are written to
partial_results: Namer = "p_{}".format  # local of the array of partial results of a carried reduction
partial_result: Namer = "q_{}".format  # local of the partial result of one tile
tile_buffer: Namer = "b{}".format  # local of a buffer, cut to the rows of the tile
full_buffer: Namer = "f_{}".format  # local of a buffer with the rows of the largest tile
uncollapsed: Namer = "whole_{}".format  # local of an array as it was before axes were collapsed


# -- helper functions of a long function


def chunk(function: str, position: int) -> str:
    """Return the name of a chunk of a function."""
    return f"{function}_{position}"


PLAN_OPS: dict[str, PlanOp] = {}


class PlanOp(Op):
    """Primitive of plans. Where the kernel of a view returns None, the fallback of the step runs."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return find_plan_op, (self.name,)


def find_plan_op(name: str) -> PlanOp:
    """Return the primitive of this name."""
    return PLAN_OPS[name]


def _no_rule(*_, **__) -> NoReturn:
    raise IllegalGraphError("a step of a plan", "has no shape rule and cannot stand in a graph")


def _define(name: str, family: str, cost: OpCost) -> PlanOp:
    op = PLAN_OPS[name] = PlanOp(name, _no_rule, family)
    COSTS[op] = cost
    return op


def _contraction_flops(a: Applied) -> Size:
    """Return as many as a dot_general counts."""
    operands, _, out = a.params["equation"].partition("->")
    left = operands.partition(",")[0]
    summed = [size for label, size in zip(left, a.inputs[0], strict=True) if label not in out]
    return expr.mul(2, expr.mul(elements(a.outputs[0]), elements(tuple(summed))))


# x with another shape: strides and an offset in bytes, as NumPy has them, over the elements in C order
view_op: PlanOp = _define("view", "movement", MOVES)
# one element may stand for several: never written to
stretched_view_op: PlanOp = _define("stretched_view", "movement", MOVES)
# a new array: a view of x from `starts` to `stops`, padded
padded_view_op: PlanOp = _define("padded_view", "movement", MOVES)
# scatter_add into zeros that are never made
scatter_sums_op: PlanOp = _define("scatter_sums", "gathering", PER_LAST_OPERAND)
# x + y, y with `low` and `high` zeros around `axis`
add_part_op: PlanOp = _define("add_part", "movement", PER_LAST_OPERAND)
read_element_op: PlanOp = _define("read_element", "movement", PICKS)  # the element of x at `starts`, as a number
write_element_op: PlanOp = _define("write_element", "movement", MOVES)  # x with a number at `starts`
add_to_element_op: PlanOp = _define("add_to_element", "movement", PER_LAST_OPERAND)  # x with a number added at `starts`
# two operands, as np.einsum writes it
contract_op: PlanOp = _define("contract", "contraction", OpCost(_contraction_flops))
# a mask as integers: all bits set where chosen, or where not
bits_op: PlanOp = _define("bits", "elementwise", per_result(1))
rest_op: PlanOp = _define("rest", "elementwise", per_result(1))  # the bits of a number where bits are not set
masked_op: PlanOp = _define("masked", "elementwise", per_result(1))  # x where bits are set, else 0
# x where bits are set, else the bits of a rest
masked_else_op: PlanOp = _define("masked_else", "elementwise", per_result(1))

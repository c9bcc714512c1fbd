"""Ops of plans alone: passes replace several steps by one of them.

No graph holds them, so they have a kernel, traits and a cost, but no shape rule, derivative or batching rule.
"""

from __future__ import annotations

from typing import Any, NoReturn

from anyshape.errors import IllegalGraphError
from anyshape.graph.ir.graph import Op
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core.flop_counts import COSTS, MOVES, PER_LAST_OPERAND, PICKS, Applied, OpCost, elements, per_result

PLAN_OPS: dict[str, PlanOp] = {}


class PlanOp(Op):
    """Primitive of plans. Where the kernel of a view returns None, the fallback of the step runs."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return find_plan_op, (self.name,)


def find_plan_op(name: str) -> PlanOp:
    """Return the primitive of this name."""
    return PLAN_OPS[name]


def _no_rule(*_: Any, **__: Any) -> NoReturn:
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
stretched_view_op: PlanOp = _define(
    "stretched_view", "movement", MOVES
)  # one element may stand for several: never written to
padded_view_op: PlanOp = _define(
    "padded_view", "movement", MOVES
)  # a new array: a view of x from `starts` to `stops`, padded
scatter_sums_op: PlanOp = _define(
    "scatter_sums", "gathering", PER_LAST_OPERAND
)  # scatter_add into zeros that are never made
add_part_op: PlanOp = _define(
    "add_part", "movement", PER_LAST_OPERAND
)  # x + y, y with `low` and `high` zeros around `axis`
read_element_op: PlanOp = _define("read_element", "movement", PICKS)  # the element of x at `starts`, as a number
write_element_op: PlanOp = _define("write_element", "movement", MOVES)  # x with a number at `starts`
add_to_element_op: PlanOp = _define("add_to_element", "movement", PER_LAST_OPERAND)  # x with a number added at `starts`
contract_op: PlanOp = _define(
    "contract", "contraction", OpCost(_contraction_flops)
)  # two operands, as np.einsum writes it
bits_op: PlanOp = _define(
    "bits", "elementwise", per_result(1)
)  # a mask as integers: all bits set where chosen, or where not
rest_op: PlanOp = _define("rest", "elementwise", per_result(1))  # the bits of a number where bits are not set
masked_op: PlanOp = _define("masked", "elementwise", per_result(1))  # x where bits are set, else 0
masked_else_op: PlanOp = _define(
    "masked_else", "elementwise", per_result(1)
)  # x where bits are set, else the bits of a rest

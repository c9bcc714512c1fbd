"""Ops of plans alone: what the planner makes of several steps of a graph.

No graph holds them, so they have a kernel and nothing else: no shape rule, no derivative, no batching rule.
"""

from __future__ import annotations

from typing import Any, NoReturn

from anyshape.errors import IllegalGraphError
from anyshape.graph.ir.graph import Op

PLAN_OPS: dict[str, PlanOp] = {}


class PlanOp(Op):
    """A primitive of plans. Its kernel may give None: then the step runs what it replaced."""

    __slots__ = ()

    def __reduce__(self) -> Any:
        return find_plan_op, (self.name,)


def find_plan_op(name: str) -> PlanOp:
    """The primitive of this name."""
    return PLAN_OPS[name]


def _no_rule(*_: Any, **__: Any) -> NoReturn:
    raise IllegalGraphError("a step of a plan", "has no shape rule and cannot stand in a graph")


def _define(name: str, family: str = "movement") -> PlanOp:
    PLAN_OPS[name] = PlanOp(name, _no_rule, family)
    return PLAN_OPS[name]


# x seen with another shape, with strides and an offset in bytes, as NumPy has them, of the elements in C order.
view_op = _define("view")
stretched_view_op = _define("stretched_view")  # one element may stand for several: never written to
padded_view_op = _define("padded_view")  # a new array: a view of x from `starts` to `stops`, and a number around it
scatter_sums_op = _define("scatter_sums", "gathering")  # scatter_add into zeros of this shape, which are not made first
add_part_op = _define("add_part")  # x + y, y with `low` and `high` zeros before and after it along `axis`
contract_op = _define("contract", "contraction")  # a product of two arrays with labelled axes, as np.einsum writes it
bits_op = _define("bits", "elementwise")  # a mask as integers of all bits or none, of those that are chosen or not
rest_op = _define("rest", "elementwise")  # the bits of a number where bits are not set
masked_op = _define("masked", "elementwise")  # x where bits are set, else 0
masked_else_op = _define("masked_else", "elementwise")  # x where bits are set, else what a rest has

"""Extremes that a function subtracts only so that nothing overflows: its results do not depend on them.

In `w = exp(x - max(x)); w / sum(w)` any other number in place of the maximum gives the same, so the derivative through
it is zero. It need not be computed, rounding errors and all. That is proved by following what happens to each value if
a number d is added to the extreme: it stays as it is, has a multiple of d added, or is multiplied by a power of exp(d).
Whatever is not known to do one of these stops the proof, and the derivative is taken as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from anyshape.autodiff.rule_tables import find_shift_rule
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import full_op


@dataclass(frozen=True)
class Change:
    """What adding d does to a value: `times` d is added, or it is multiplied by the power `times` of exp(d).

    `axes` are those of the value along which the axes of d lie.
    """

    scales: bool
    times: float
    axes: tuple[int, ...]


class _Unknown(Exception):
    """The change of a value is none of these."""


Rule = Callable[["Follower", Node, list[Change | None]], Change]


def idle_extremes(graph: Graph, scope: Scope) -> set[Value]:
    """The maxima and minima on which no result of the graph depends, but for rounding."""
    extremes = [n.outputs[0] for n in graph.nodes if n.op in (rd.reduce_max_op, rd.reduce_min_op)]
    found = [v for v in extremes if v.meta.dtype.kind == "f"]
    return {v for v in found if Follower(graph, scope).leaves_no_trace(v)} if found else set()


class Follower:
    def __init__(self, graph: Graph, scope: Scope) -> None:
        self.graph, self.ctx = graph, ShapeGuardContext(scope, "extreme", rule="jvp")
        self.maker = {v: n for n in graph.nodes for v in n.outputs}

    def leaves_no_trace(self, extreme: Value) -> bool:
        changed = {extreme: Change(False, 1.0, tuple(range(self.ctx.rank(extreme))))}
        try:
            for node in self.graph.nodes:
                changes = [changed.get(v) for v in node.inputs]
                if any(c is not None for c in changes):
                    change = self._after(node, changes)
                    if change.times:
                        changed[node.outputs[0]] = change
        except _Unknown:
            return False
        return changed.keys().isdisjoint(self.graph.outputs)

    def _after(self, node: Node, changes: list[Change | None]) -> Change:
        rule = find_shift_rule(node.op)
        if rule is None:
            raise _Unknown
        return rule(self, node, changes)

    def literal(self, value: Value) -> Any:
        """The number that fills the value; None when it is not filled with one."""
        node = self.maker.get(value)
        while node is not None and node.op in (mv.broadcast_in_dim_op, mv.reshape_op):
            node = self.maker.get(node.inputs[0])
        return dict(node.params)["value"] if node is not None and node.op is full_op else None


def _known(condition: bool) -> None:
    if not condition:
        raise _Unknown


def _one(changes: list[Change | None]) -> Change:
    """The change of the only operand."""
    (change,) = changes
    _known(change is not None)
    return change  # type: ignore[return-value]


def _same_kind(changes: list[Change | None]) -> tuple[Change, float, float]:
    """A change of either operand, and how large it is of each. An operand that stays has none of it."""
    x, y = changes
    some = x or y
    if some is None or (x is not None and y is not None and (x.scales, x.axes) != (y.scales, y.axes)):
        raise _Unknown
    return some, x.times if x else 0.0, y.times if y else 0.0


def sum_with_sign(sign: float) -> Rule:
    """Additions add up; multiples can be added to each other if they are by the same power."""

    def rule(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
        some, x, y = _same_kind(changes)
        if some.scales:
            _known(x == y)
            return some
        return replace(some, times=x + sign * y)

    return rule


def product_with_sign(sign: float) -> Rule:
    """Powers add up; what has numbers added to it can be multiplied by a number that is known."""

    def rule(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
        some, x, y = _same_kind(changes)
        if some.scales:
            return replace(some, times=x + sign * y)
        number = follower.literal(node.inputs[1] if y == 0 else node.inputs[0])
        _known(number is not None and number != 0 and (y == 0 or sign > 0))
        return replace(some, times=(x or y) * number**sign)

    return rule


def select(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    """Both choices change alike. -inf stays what it is if a number is added, 0 if it is multiplied."""
    condition, x, y = changes
    some = x or y
    if condition is not None or some is None:
        raise _Unknown
    for change, value in ((x, node.inputs[1]), (y, node.inputs[2])):
        number = follower.literal(value)
        stays = number == 0 if some.scales else number in (float("inf"), float("-inf"))
        _known(change == some or (change is None and number is not None and stays))
    return some


def unary(scales: bool | None, result: Callable[[Change], Change]) -> Rule:
    """An op of one operand that changes in this way, or in either."""

    def rule(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
        change = _one(changes)
        _known(scales is None or change.scales is scales)
        return result(change)

    return rule


def convert(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    _known(node.outputs[0].meta.dtype.kind == "f")
    return _one(changes)


def reduction(scales: tuple[bool, ...]) -> Rule:
    """Along other axes than those of d, which then lie further in front."""

    def rule(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
        change, axes = _one(changes), dict(node.params)["axes"]
        _known(change.scales in scales and set(axes).isdisjoint(change.axes))
        return replace(change, axes=tuple([a - sum(b < a for b in axes) for a in change.axes]))

    return rule


def softmax(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    change = _one(changes)
    _known(not change.scales and set(dict(node.params)["axes"]).isdisjoint(change.axes))
    return replace(change, times=0.0)


def transpose(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    change, axes = _one(changes), dict(node.params)["axes"]
    return replace(change, axes=tuple([axes.index(a) for a in change.axes]))


def broadcast_in_dim(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    change, axes = _one(changes), dict(node.params)["axes"]
    return replace(change, axes=tuple([axes[a] for a in change.axes]))


def reshape(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    """Axes of size 1 are put in or left out; none of them is one of d."""
    change = _one(changes)
    old, new = (follower.ctx.sizes(v, field="shape") for v in (node.inputs[0], node.outputs[0]))
    if old is None or new is None:
        raise _Unknown
    before, after = ([axis for axis, size in enumerate(sizes) if size != 1] for sizes in (old, new))
    _known([old[a] for a in before] == [new[a] for a in after] and set(change.axes) <= set(before))
    return replace(change, axes=tuple([after[before.index(a)] for a in change.axes]))


def dot_general(follower: Follower, node: Node, changes: list[Change | None]) -> Change:
    """A product of an operand that is multiplied along axes that are not summed."""
    x, y = changes
    change = x or y
    if change is None or (x is not None and y is not None) or not change.scales:
        raise _Unknown
    i = 0 if x is not None else 1
    contract, batch = (dict(node.params)[name] for name in ("contract", "batch"))
    free = [free_axes(follower.ctx.rank(v), contract[k], batch[k]) for k, v in enumerate(node.inputs)]
    places = [*batch[i], *[None] * (len(free[0]) if i else 0), *free[i]]
    _known(set(change.axes) <= set(places))
    return replace(change, axes=tuple([places.index(a) for a in change.axes]))

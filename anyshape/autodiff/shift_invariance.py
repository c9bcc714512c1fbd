"""Shift invariance: prove that results do not depend on a maximum that is subtracted to prevent overflow.

In `w = exp(x - max(x)); w / sum(w)` any number in place of the maximum gives the same result. So the derivative
through it is zero, and is neither computed nor subject to rounding errors. The proof follows each value when a number
d is added to the extreme. The value stays, has a multiple of d added, or is multiplied by a power of exp(d). Any other
op ends the proof, and the derivative is taken as usual.

Tangent of softmax quotients and their logarithms, however a program writes them.

A quotient is exp(z) / sum(exp(z)), and its logarithm z - logsumexp(z). With a tangent u of z, the tangent of the
quotient y is y (u - sum(y u)), and that of the logarithm u - sum(y u). This has fewer steps than the rules of the ops.
It reads y alone, and no part of it can overflow. Neither changes if a number is added to u, so u counts from the
largest element, where otherwise all digits may cancel.
"""

import heapq
from collections.abc import Callable
from typing import Any

from anyshape.autodiff.rule_tables import SHIFTS
from anyshape.errors import MissingRuleError
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, free_axes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import full_op
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace


@dataclass(frozen=True)
class Change:
    """Effect of d on a value: `times` d is added or, if it `scales`, it is multiplied by exp(d) to the `times`.

    `axes` are the axes of the value along which the axes of d lie.
    """

    scales: bool
    times: float
    axes: tuple[int, ...]


class _NotProved(Exception):
    """Raised where no rule tells the change of a value."""


Rule = Callable[["ShiftAnalysis", Node, list[Change | None]], Change]


def shift_invariant_extremes(graph: Graph, scope: Scope) -> set[Value]:
    """Return the maxima and minima on which no result of the graph depends, except by rounding."""
    extremes = [n.outputs[0] for n in graph.nodes if n.op in (rd.reduce_max_op, rd.reduce_min_op)]
    real = [v for v in extremes if v.meta.dtype.kind == "f"]
    if not real:
        return set()
    analysis = ShiftAnalysis(graph, scope)
    return {v for v in real if analysis.is_invariant(v)}


class ShiftAnalysis:
    """Follows the change of each value of a graph, from reader to reader: a graph may have many extremes."""

    def __init__(self, graph: Graph, scope: Scope) -> None:
        self.graph, self.ctx = graph, ShapeGuardContext(scope, "extreme", rule="jvp")
        self.readers: dict[Value, list[int]] = {}  # positions of the nodes that read a value
        for position, node in enumerate(graph.nodes):
            for v in node.inputs:
                self.readers.setdefault(v, []).append(position)

    def is_invariant(self, extreme: Value) -> bool:
        """Return whether it is proved that no output changes with the extreme."""
        changed = {extreme: Change(False, 1.0, tuple(range(self.ctx.rank(extreme))))}
        pending, last = [*self.readers.get(extreme, ())], -1
        try:
            while pending:
                position = heapq.heappop(pending)
                if position == last:  # it reads two changed values, or one twice
                    continue
                last, node = position, self.graph.nodes[position]
                change = self._after(node, [changed.get(v) for v in node.inputs])
                if change.times:
                    changed[node.outputs[0]] = change
                    for reader in self.readers.get(node.outputs[0], ()):
                        heapq.heappush(pending, reader)
        except _NotProved:
            return False
        return changed.keys().isdisjoint(self.graph.outputs)

    def _after(self, node: Node, changes: list[Change | None]) -> Change:
        try:
            rule = SHIFTS[node.op]
        except MissingRuleError:
            raise _NotProved from None
        return rule(self, node, changes)

    def literal(self, value: Value) -> Any:
        """Return the number that fills a value; None where no one number does."""
        node = self.graph.maker.get(value)
        while node is not None and node.op in (mv.broadcast_in_dim_op, mv.reshape_op):
            node = self.graph.maker.get(node.inputs[0])
        return dict(node.params)["value"] if node is not None and node.op is full_op else None


def _require(condition: bool) -> None:
    """End the proof unless the condition holds."""
    if not condition:
        raise _NotProved


def _one(changes: list[Change | None]) -> Change:
    """Return the change of the only operand."""
    (change,) = changes
    _require(change is not None)
    return change  # type: ignore[return-value]


def _same_kind(changes: list[Change | None]) -> tuple[Change, float, float]:
    """Return a change that both operands share in kind, and its size in each; 0.0 for an operand that stays."""
    x, y = changes
    some = x or y
    if some is None or (x is not None and y is not None and (x.scales, x.axes) != (y.scales, y.axes)):
        raise _NotProved
    return some, x.times if x else 0.0, y.times if y else 0.0


def sum_with_sign(sign: float) -> Rule:
    """Return the rule of a sum: multiples of d add up; scaled operands must have the same power."""

    def rule(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
        some, x, y = _same_kind(changes)
        if some.scales:
            _require(x == y)
            return some
        return replace(some, times=x + sign * y)

    return rule


def product_with_sign(sign: float) -> Rule:
    """Return the rule of a product: powers add up; an operand with multiples of d takes a literal factor."""

    def rule(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
        some, x, y = _same_kind(changes)
        if some.scales:
            return replace(some, times=x + sign * y)
        number = analysis.literal(node.inputs[1] if y == 0 else node.inputs[0])
        _require(number is not None and number != 0 and (y == 0 or sign > 0))
        return replace(some, times=(x or y) * number**sign)

    return rule


def select(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    """Apply the rule of a choice: both sides change alike, or one is a number that stays: -inf + d, or 0 * exp(d)."""
    condition, x, y = changes
    some = x or y
    if condition is not None or some is None:
        raise _NotProved
    for change, value in ((x, node.inputs[1]), (y, node.inputs[2])):
        number = analysis.literal(value)
        stays = number == 0 if some.scales else number in (float("inf"), float("-inf"))
        _require(change == some or (change is None and number is not None and stays))
    return some


def unary(scales: bool | None, result: Callable[[Change], Change]) -> Rule:
    """Return the rule of an op with one operand, which must change in this way; None: in either."""

    def rule(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
        change = _one(changes)
        _require(scales is None or change.scales is scales)
        return result(change)

    return rule


def convert(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    _require(node.outputs[0].meta.dtype.kind == "f")
    return _one(changes)


def reduction(scales: tuple[bool, ...]) -> Rule:
    """Return the rule of a reduction along axes without d. The axes of d move to the front."""

    def rule(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
        change, axes = _one(changes), dict(node.params)["axes"]
        _require(change.scales in scales and set(axes).isdisjoint(change.axes))
        return replace(change, axes=tuple([a - sum(b < a for b in axes) for a in change.axes]))

    return rule


def softmax(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    change = _one(changes)
    _require(not change.scales and set(dict(node.params)["axes"]).isdisjoint(change.axes))
    return replace(change, times=0.0)


def transpose(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    change, axes = _one(changes), dict(node.params)["axes"]
    return replace(change, axes=tuple([axes.index(a) for a in change.axes]))


def broadcast_in_dim(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    change, axes = _one(changes), dict(node.params)["axes"]
    return replace(change, axes=tuple([axes[a] for a in change.axes]))


def reshape(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    """Apply the rule of a reshape that adds or removes axes of size 1 without d."""
    change = _one(changes)
    old, new = (analysis.ctx.sizes(v, field="shape") for v in (node.inputs[0], node.outputs[0]))
    if old is None or new is None:
        raise _NotProved
    before, after = ([axis for axis, size in enumerate(sizes) if size != 1] for sizes in (old, new))
    _require([old[a] for a in before] == [new[a] for a in after] and set(change.axes) <= set(before))
    return replace(change, axes=tuple([after[before.index(a)] for a in change.axes]))


def dot_general(analysis: ShiftAnalysis, node: Node, changes: list[Change | None]) -> Change:
    """Apply the rule of a product with one operand that is scaled, along axes that are not contracted."""
    x, y = changes
    change = x or y
    if change is None or (x is not None and y is not None) or not change.scales:
        raise _NotProved
    i = 0 if x is not None else 1
    contract, batch = (dict(node.params)[name] for name in ("contract", "batch"))
    free = [free_axes(analysis.ctx.rank(v), contract[k], batch[k]) for k, v in enumerate(node.inputs)]
    places = [*batch[i], *[None] * (len(free[0]) if i else 0), *free[i]]
    _require(set(change.axes) <= set(places))
    return replace(change, axes=tuple([places.index(a) for a in change.axes]))


class SoftmaxQuotient(NamedTuple):
    """Quotient of exp(`exponent`) and its sum along `axes`, or its logarithm."""

    exponent: Value
    axes: tuple[int, ...]
    is_logarithm: bool


def softmax_quotients(graph: Graph, scope: Scope) -> dict[Value, SoftmaxQuotient]:
    """Return the softmax quotients of a graph and their logarithms, by their results."""
    if not any(node.op in (ew.exp_op, rd.reduce_logsumexp_op) for node in graph.nodes):
        return {}
    ctx = ShapeGuardContext(scope, "softmax", rule="jvp")
    matched = {n.outputs[0]: _match(ctx, n, graph) for n in graph.nodes if n.op in (ew.div_op, ew.sub_op)}
    return {value: quotient for value, quotient in matched.items() if quotient is not None}


def from_largest(ctx: ShapeGuardContext, y: Any, u: Any, axes: tuple[int, ...]) -> Any:
    """Return u less its element beside a share y above 1/2, if there is one: rounding makes 1 of that share alone.

    The factors are numbers, not choices: nothing need be tracked of what these leave out.
    """
    largest = ew.rint(y)
    total = rd.reduce_sum(ew.mul(largest, u), axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), axes))
    return ew.mul(ew.sub(ew.lift(1, y), largest), ew.add(u, repeated))


def quotient_tangent(ctx: ShapeGuardContext, quotient: SoftmaxQuotient, z: Any, y: Any, u: Any) -> Any:
    """Return the tangent of y, the quotient or its logarithm, for a tangent u of its exponent z."""
    if quotient.is_logarithm:
        y = rd.safe_softmax(z, quotient.axes)
    u = from_largest(ctx, y, u, quotient.axes)
    total = rd.reduce_sum(ew.mul(y, u), quotient.axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), quotient.axes))
    apart = ew.add(u, repeated)
    return apart if quotient.is_logarithm else ew.mul(y, apart)


def _match(ctx: ShapeGuardContext, node: Node, graph: Graph) -> SoftmaxQuotient | None:
    """Return the softmax quotient that a division computes, or the logarithm that a difference does; None: neither."""
    whole, repeated = node.inputs
    if node.op is ew.sub_op:
        axes = _reduced_axes(ctx, whole, repeated, rd.reduce_logsumexp_op, graph)
        return None if axes is None else SoftmaxQuotient(whole, axes, is_logarithm=True)
    exponential = graph.made_by(whole, ew.exp_op)
    axes = None if exponential is None else _reduced_axes(ctx, whole, repeated, rd.reduce_sum_op, graph)
    if exponential is None or axes is None:
        return None
    return SoftmaxQuotient(exponential.inputs[0], axes, is_logarithm=False)


def _reduced_axes(
    ctx: ShapeGuardContext, whole: Value, other: Value, reduction: Op, graph: Graph
) -> tuple[int, ...] | None:
    """Return the axes along which a value is reduced to another, which repeats along them; None: it is none such."""
    if (repeated := graph.made_by(other, mv.broadcast_in_dim_op)) is None:
        return None
    reshaped = graph.made_by(repeated.inputs[0], mv.reshape_op)  # reduced axes kept with size 1
    total = graph.made_by(reshaped.inputs[0] if reshaped else repeated.inputs[0], reduction)
    if total is None or total.inputs[0] is not whole:
        return None
    axes: tuple[int, ...] = dict(total.params)["axes"]
    target = dict(repeated.params)["axes"]
    if reshaped is None:
        fits = target == free_axes(ctx.rank(whole), axes)
    else:
        fits = target == tuple(range(ctx.rank(whole))) and _keeps_axes(ctx, whole, reshaped.outputs[0], axes)
    return axes if fits else None


def _keeps_axes(ctx: ShapeGuardContext, whole: Value, reduced: Value, axes: tuple[int, ...]) -> bool:
    """Return whether a value has the shape of another, with size 1 along the axes."""
    shape, sizes = ctx.sizes(reduced, field="shape"), ctx.sizes(whole, field="shape")
    return sizes is not None and shape == tuple([1 if axis in axes else size for axis, size in enumerate(sizes)])

"""Tangent of softmax quotients and their logarithms, however a program writes them.

A quotient is exp(z) / sum(exp(z)), and its logarithm z - logsumexp(z). With a tangent u of z, the tangent of the
quotient y is y (u - sum(y u)), and that of the logarithm u - sum(y u). This has fewer steps than the rules of the ops.
It reads y alone, and no part of it can overflow. Neither changes if a number is added to u, so u counts from the
largest element, where otherwise all digits may cancel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.support.lazy_namedtuple import NamedTuple

Makers = Mapping[Value, Node]


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
    makers = {v: n for n in graph.nodes for v in n.outputs}
    matched = {n.outputs[0]: _match(ctx, n, makers) for n in graph.nodes if n.op in (ew.div_op, ew.sub_op)}
    return {value: quotient for value, quotient in matched.items() if quotient is not None}


def from_largest(ctx: ShapeGuardContext, y: Any, u: Any, axes: tuple[int, ...]) -> Any:
    """Return u less its element beside a share y above 1/2, if there is one."""
    is_largest = ew.gt(y, ew.lift(0.5, y))
    total = rd.reduce_sum(ew.select(is_largest, u, 0), axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), axes))
    return ew.select(is_largest, 0, ew.add(u, repeated))


def quotient_tangent(ctx: ShapeGuardContext, quotient: SoftmaxQuotient, z: Any, y: Any, u: Any) -> Any:
    """Return the tangent of y, the quotient or its logarithm, for a tangent u of its exponent z."""
    if quotient.is_logarithm:
        y = rd.safe_softmax(z, quotient.axes)
    u = from_largest(ctx, y, u, quotient.axes)
    total = rd.reduce_sum(ew.mul(y, u), quotient.axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), quotient.axes))
    apart = ew.add(u, repeated)
    return apart if quotient.is_logarithm else ew.mul(y, apart)


def _made_by(op: Op, value: Value, makers: Makers) -> Node | None:
    """Return the node that makes the value, if it applies this op."""
    node = makers.get(value)
    return node if node is not None and node.op is op else None


def _match(ctx: ShapeGuardContext, node: Node, makers: Makers) -> SoftmaxQuotient | None:
    """Return the softmax quotient that a division computes, or the logarithm that a difference does; None: neither."""
    whole, repeated = node.inputs
    if node.op is ew.sub_op:
        axes = _reduced_axes(ctx, whole, repeated, rd.reduce_logsumexp_op, makers)
        return None if axes is None else SoftmaxQuotient(whole, axes, is_logarithm=True)
    exponential = _made_by(ew.exp_op, whole, makers)
    axes = None if exponential is None else _reduced_axes(ctx, whole, repeated, rd.reduce_sum_op, makers)
    if exponential is None or axes is None:
        return None
    return SoftmaxQuotient(exponential.inputs[0], axes, is_logarithm=False)


def _reduced_axes(
    ctx: ShapeGuardContext, whole: Value, other: Value, reduction: Op, makers: Makers
) -> tuple[int, ...] | None:
    """Return the axes along which a value is reduced to another, which repeats along them; None: it is none such."""
    repeated = _made_by(mv.broadcast_in_dim_op, other, makers)
    if repeated is None:
        return None
    reshaped = _made_by(mv.reshape_op, repeated.inputs[0], makers)  # reduced axes kept with size 1
    total = _made_by(reduction, reshaped.inputs[0] if reshaped else repeated.inputs[0], makers)
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

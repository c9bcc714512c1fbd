"""Tangent of softmax quotients: exponentials divided by their own sum, however a program writes a softmax.

With a tangent u of z, the tangent of y = exp(z) / sum(exp(z)) is y (u - sum(y u)). This has fewer steps than the rules
of exp, sum and quotient in turn. It reads y alone, and no part of it can overflow.
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
    """Quotient of exp(`exponent`) and its sum along `axes`."""

    exponent: Value
    axes: tuple[int, ...]


def softmax_quotients(graph: Graph, scope: Scope) -> dict[Value, SoftmaxQuotient]:
    """Return the softmax quotients of a graph by their results."""
    if not any(node.op is ew.exp_op for node in graph.nodes):
        return {}
    ctx = ShapeGuardContext(scope, "softmax", rule="jvp")
    makers = {v: n for n in graph.nodes for v in n.outputs}
    matched = {n.outputs[0]: _match(ctx, n, makers) for n in graph.nodes if n.op is ew.div_op}
    return {value: quotient for value, quotient in matched.items() if quotient is not None}


def quotient_tangent(ctx: ShapeGuardContext, quotient: SoftmaxQuotient, y: Any, u: Any) -> Any:
    """Return the tangent of the quotient y for a tangent u of its exponent."""
    total = rd.reduce_sum(ew.mul(y, u), quotient.axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), quotient.axes))
    return ew.mul(y, ew.add(u, repeated))


def _made_by(op: Op, value: Value, makers: Makers) -> Node | None:
    """Return the node that makes the value, if it applies this op."""
    node = makers.get(value)
    return node if node is not None and node.op is op else None


def _match(ctx: ShapeGuardContext, division: Node, makers: Makers) -> SoftmaxQuotient | None:
    """Return the softmax quotient that a division computes; None: it is another quotient."""
    numerator, denominator = division.inputs
    exponential = _made_by(ew.exp_op, numerator, makers)
    repeated = _made_by(mv.broadcast_in_dim_op, denominator, makers)
    if exponential is None or repeated is None:
        return None
    reshaped = _made_by(mv.reshape_op, repeated.inputs[0], makers)  # summed axes kept with size 1
    total = _made_by(rd.reduce_sum_op, reshaped.inputs[0] if reshaped else repeated.inputs[0], makers)
    if total is None or total.inputs[0] is not numerator:
        return None
    axes, target = dict(total.params)["axes"], dict(repeated.params)["axes"]
    if reshaped is None:
        fits = target == free_axes(ctx.rank(numerator), axes)
    else:
        fits = target == tuple(range(ctx.rank(numerator))) and _keeps_axes(ctx, numerator, reshaped.outputs[0], axes)
    return SoftmaxQuotient(exponential.inputs[0], axes) if fits else None


def _keeps_axes(ctx: ShapeGuardContext, whole: Value, reduced: Value, axes: tuple[int, ...]) -> bool:
    """Return whether a value has the shape of another, with size 1 along the axes."""
    shape, sizes = ctx.sizes(reduced, field="shape"), ctx.sizes(whole, field="shape")
    return sizes is not None and shape == tuple([1 if axis in axes else size for axis, size in enumerate(sizes)])

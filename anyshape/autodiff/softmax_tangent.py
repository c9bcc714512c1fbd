"""Exponentials that are divided by their own sum, however a program writes a softmax.

Of y = exp(z) / sum(exp(z)), with a tangent u of z, the tangent is y (u - sum(y u)). That has fewer steps than the rules
of exp, of the sum and of the quotient one after another; it reads y alone, and nothing of it can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd


class Share(NamedTuple):
    """A quotient of exponentials of a value and of their sum along axes."""

    exponent: Value
    axes: tuple[int, ...]


def shares_of(graph: Graph, scope: Scope) -> dict[Value, Share]:
    """The quotients by what they give."""
    if not any(node.op is ew.exp_op for node in graph.nodes):
        return {}
    ctx = ShapeGuardContext(scope, "share", rule="jvp")
    maker = {v: n for n in graph.nodes for v in n.outputs}
    found = {n.outputs[0]: _share(ctx, n, maker) for n in graph.nodes if n.op is ew.div_op}
    return {value: share for value, share in found.items() if share is not None}


def tangent(ctx: ShapeGuardContext, share: Share, y: Any, u: Any) -> Any:
    """That of the quotient y for a tangent u of the exponent."""
    total = rd.reduce_sum(ew.mul(y, u), share.axes)
    repeated = mv.broadcast_in_dim(ew.neg(total), ctx.shape(y), free_axes(ctx.rank(y), share.axes))
    return ew.mul(y, ew.add(u, repeated))


def _share(ctx: ShapeGuardContext, quotient: Node, maker: Mapping[Value, Node]) -> Share | None:
    above, below = quotient.inputs
    power, repeated = maker.get(above), maker.get(below)
    if power is None or power.op is not ew.exp_op or repeated is None or repeated.op is not mv.broadcast_in_dim_op:
        return None
    total, places = maker.get(repeated.inputs[0]), dict(repeated.params)["axes"]
    rank, kept = ctx.rank(above), None
    if total is not None and total.op is mv.reshape_op:  # with axes of size 1 where it was summed
        kept = ctx.sizes(total.outputs[0], field="shape")
        total = maker.get(total.inputs[0])
    if total is None or total.op is not rd.reduce_sum_op or total.inputs[0] is not above:
        return None
    axes, sizes = dict(total.params)["axes"], ctx.sizes(above, field="shape")
    if kept is not None and sizes is not None:
        along = tuple([1 if axis in axes else size for axis, size in enumerate(sizes)])
        fits = kept == along and places == tuple(range(rank))
    else:
        fits = kept is None and total.outputs[0] is repeated.inputs[0] and places == free_axes(rank, axes)
    return Share(power.inputs[0], axes) if fits else None

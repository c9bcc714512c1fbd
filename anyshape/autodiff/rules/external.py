"""Derivatives of functions of other libraries.

Correlations are linear in the operand and in the weights. The elements of a window that equal the one of a rank share
its derivative. They are found along one axis of a box after the other.
"""

from anyshape.autodiff.rule_tables import ADD, JVPS, TRANSPOSES, bilinear, lines, no_shift, zeros
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes import expr
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex


def _options(ctx, params):
    """Return how the windows of a node move, as functions of ops take it."""
    return params["axes"], ctx.bind(params["before"], field="before"), params["mode"]


def _weights(ctx, x, y, w, *, running, each, sources=(), **params):
    axes, before, mode = _options(ctx, params)
    return ex.weigh(x, y, axes, before, ctx.shape(w)[each:], mode, each=each)


def _partner(op):
    def back(ctx, ct, x, w, *, running, each, sources=(), **params):
        return ex.filtered(op, ct, w, *_options(ctx, params), running=running, each=each)

    return back


def _weigh_back(op):
    """Return the transpose of `weigh` for an operand: the cotangent stands for the weights of the other one."""

    def back(ctx, ct, x, y, *, window, each, sources=(), **params):
        other = y if op is ex.spread_op else x
        return ex.filtered(op, other, ct, *_options(ctx, params), each=each)

    return back


bilinear(ex.correlate_op, _partner(ex.spread_op), lambda ctx, ct, x, w, **params: _weights(ctx, x, ct, w, **params))
bilinear(ex.spread_op, _partner(ex.correlate_op), _weights)
bilinear(ex.weigh_op, _weigh_back(ex.spread_op), _weigh_back(ex.correlate_op))
_correlate_jvp = JVPS[ex.correlate_op]
# Running sums would carry an infinite tangent, or the rounding of a large one, to all elements behind it.
JVPS[ex.correlate_op] = lambda *args, running, **params: _correlate_jvp(*args, running=False, **params)


def _ranked_jvp(ctx, tangents, out, x, footprint, *, rank, box, fill, sources=(), **params):
    axes, before, mode = _options(ctx, params)
    stages = [(axes, before, footprint)]
    if box:
        sides = ctx.shape(footprint)
        stages = [((a,), (b,), cr.full((k,), True, bool)) for a, b, k in zip(axes, before, sides, strict=True)]
    ties_beyond: expr.Size = 1
    total, count = tangents[0], ew.lift(1, tangents[0])
    for i, (along, low, window) in enumerate(stages, start=1):
        where = window, along, low, mode
        least = out if i == len(stages) else ex.ranked(x, *where, rank=rank, box=box, fill=fill)
        total = ex.tied(ex.tied_op, x, least, total, *where, fill=fill)
        count = ex.tied(ex.tied_op, x, least, count, *where, fill=fill, beyond=ties_beyond)
        x, ties_beyond = least, expr.mul(ties_beyond, numel(ctx.shape(window)))
    return total / count


def _tied_jvp(op):
    """Return the JVP of an op that is linear in its third operand; the others decide which elements are equal."""

    def jvp(ctx, tangents, out, x, y, t, footprint, *, fill, beyond, sources=(), **params):
        if tangents[2] is None:
            return None
        return ex.tied(op, x, y, tangents[2], footprint, *_options(ctx, params), fill=fill)

    return jvp


def _tied_back(op):
    def back(ctx, ct, x, y, t, footprint, *, fill, beyond, sources=(), **params):
        return None, None, ex.tied(op, x, y, ct, footprint, *_options(ctx, params), fill=fill), None

    return back


JVPS[ex.ranked_op] = _ranked_jvp
JVPS[ex.tied_op], JVPS[ex.untied_op] = _tied_jvp(ex.tied_op), _tied_jvp(ex.untied_op)
TRANSPOSES[ex.tied_op], TRANSPOSES[ex.untied_op] = _tied_back(ex.untied_op), _tied_back(ex.tied_op)

# -- zeros by construction

lines(lambda ranks, **params: 1, ex.correlate_op, ex.spread_op, ex.weigh_op)
zeros(ADD, ADD, ex.ranked_op, ex.tied_op, ex.untied_op)

# -- shifts of operands

no_shift(ex.correlate_op, ex.spread_op, ex.weigh_op, ex.ranked_op, ex.tied_op, ex.untied_op)

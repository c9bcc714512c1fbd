"""Derivatives of functions of other libraries: correlations are linear in the operand and in the weights."""

from anyshape.autodiff.rule_tables import bilinear, lines, no_shift
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

# -- zeros by construction

lines(lambda ranks, **params: 1, ex.correlate_op, ex.spread_op, ex.weigh_op)

# -- shifts of operands

no_shift(ex.correlate_op, ex.spread_op, ex.weigh_op)

"""Batching of reductions: the batch stays the first axis, so every other axis moves one place on."""

from anyshape.autodiff.batch_axis import stretch, stretch_all
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import apply


def _along_axes(op):
    def rule(ctx, size, batched, x, *, axes, **params):
        return apply(op, x, axes=tuple([a + 1 for a in axes]), **params)

    BATCHERS[op] = rule


def _along_axis(op):
    def rule(ctx, size, batched, *xs, axis, **params):
        return apply(op, *stretch_all(ctx, size, batched, xs), axis=axis + 1, **params)

    BATCHERS[op] = rule


for _op in (
    rd.reduce_sum_op,
    rd.reduce_prod_op,
    rd.reduce_max_op,
    rd.reduce_min_op,
    rd.reduce_and_op,
    rd.reduce_or_op,
    rd.reduce_logsumexp_op,
    rd.softmax_op,
    rd.safe_softmax_op,
):
    _along_axes(_op)

for _op in (
    rd.argmax_op,
    rd.argmin_op,
    rd.cumsum_op,
    rd.cumprod_op,
    rd.cummax_op,
    rd.cummin_op,
    rd.cumlogsumexp_op,
    rd.recurrence_op,
):
    _along_axis(_op)


def _autoregression(ctx, size, batched, x, a):
    """Give each line its weights where these are batched, or differ between lines."""
    x = x if batched[0] else stretch(ctx, size, x)
    if not batched[1] and ctx.rank(a) == 1:
        return rd.autoregression(x, a)
    shape, rank = (*ctx.shape(x)[:-1], ctx.shape(a)[-1]), ctx.rank(a)
    own = rank - 1 if batched[1] else rank
    axes = range(len(shape) - rank, len(shape)) if not batched[1] else (0, *range(len(shape) - own, len(shape)))
    return rd.autoregression(x, mv.broadcast_in_dim(a, shape, tuple(axes)))


BATCHERS[rd.autoregression_op] = _autoregression
BATCHERS[rd.sum_to_op] = lambda ctx, size, batched, x, *, shape, axes: rd.sum_to(
    x, (size, *shape), (0, *[a + 1 for a in axes])
)

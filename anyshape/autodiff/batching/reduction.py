"""Batching of reductions: the batch stays the first axis, so every other axis moves one place on."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
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


BATCHERS[rd.sum_to_op] = lambda ctx, size, batched, x, *, shape, axes: rd.sum_to(
    x, (size, *shape), (0, *[a + 1 for a in axes])
)

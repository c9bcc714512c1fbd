"""Batching of sorting ops: the axis moves one place on."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.ops import sorting as so
from anyshape.ops.core.apply import apply


def _along_axis(op):
    def rule(ctx, size, batched, *xs, axis, **params):
        return apply(op, *stretch_all(ctx, size, batched, xs), axis=axis + 1, **params)

    BATCHERS[op] = rule


for _op in (so.sort_op, so.argsort_op, so.permute_op):
    _along_axis(_op)


def _searchsorted(ctx, size, batched, row, values, *, side, batch):
    if not batched[0] and batch == 0:
        return so.searchsorted(row, values, side)  # every axis of the values may be a batch already
    row, values = stretch_all(ctx, size, batched, (row, values))
    return so.searchsorted(row, values, side, batch + 1)


BATCHERS[so.searchsorted_op] = _searchsorted

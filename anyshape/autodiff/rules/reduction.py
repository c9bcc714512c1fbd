"""Derivatives of reductions and cumulative ops.

Derivatives of products never divide, so zeros among the factors are exact at every order. Cumulative products and their
derivatives are linear recurrences, and derivatives of recurrences are recurrences.

Batching of reductions: the batch stays the first axis, so every other axis moves one place on.

Derivatives of sorting: tangents take the order of the elements, and cotangents the inverse permutation.

Batching of sorting ops: the axis moves one place on.
"""

from typing import Any

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff import shift_invariance as shifts
from anyshape.autodiff.shift_invariance import from_largest
from anyshape.graph.shapes.array_type import free_axes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import stop_gradient
from anyshape.ops.core.apply import apply
from anyshape.ops.creation import full


def repeat_along(ctx: Any, reduced: Any, x: Any, axes: Any) -> Any:
    """Return a reduced array repeated along the reduced axes, in the shape of x."""
    return mv.broadcast_in_dim(reduced, ctx.shape(x), free_axes(ctx.rank(x), axes))


tables.linear(rd.reduce_sum_op, lambda ctx, ct, x, *, axes: repeat_along(ctx, ct, x, axes))
tables.linear(rd.sum_to_op, lambda ctx, ct, x, *, shape, axes, sources=(): mv.broadcast_in_dim(ct, ctx.shape(x), axes))


def _others(ctx, x, axes):
    """Return for each element of x the product of the others along the axes."""
    axis, *rest = axes
    others = rd.cumprod(x, axis, exclusive=True) * rd.cumprod(x, axis, reverse=True, exclusive=True)
    if not rest:
        return others
    outer = _others(ctx, rd.reduce_prod(x, (axis,)), [a - 1 for a in rest])
    return others * repeat_along(ctx, outer, x, (axis,))


def _prod_jvp(ctx, tangents, out, x, *, axes):
    return rd.reduce_sum(tangents[0] * _others(ctx, x, axes), axes)


def _extreme(misses):
    """Return the JVP rule of an extreme: the mean tangent of all elements that attain it, as in JAX."""

    def jvp(ctx, tangents, out, x, *, axes, empty):
        in_set = tables.in_argmax_set(x, repeat_along(ctx, out, x, axes), misses)
        count = rd.reduce_sum(ew.convert(in_set, x.dtype), axes)
        if empty:
            count = ew.maximum(count, ew.lift(1, count))
        return rd.reduce_sum(ew.select(in_set, tangents[0], ew.lift(0, x)), axes) / tables.sharers(count, out)

    return jvp


def _logsumexp_jvp(ctx, tangents, out, x, *, axes):
    return rd.reduce_sum(tangents[0] * rd.safe_softmax(x, axes), axes)


def _without_least(y):
    """Return y with 0 for -inf, the logarithm of an empty sum: its terms exp(-inf) have no weight."""
    return ew.select(ew.eq(y, ew.lift(float("-inf"), y)), ew.lift(0, y), y)


def _softmax_jvp(ctx, tangents, out, x, *, axes):
    scaled = out * from_largest(ctx, out, tangents[0], axes)
    return scaled - out * repeat_along(ctx, rd.reduce_sum(scaled, axes), x, axes)


tables.JVPS[rd.reduce_prod_op] = _prod_jvp
tables.JVPS[rd.reduce_max_op], tables.JVPS[rd.reduce_min_op] = _extreme(tables.BELOW_MAX), _extreme(tables.ABOVE_MIN)
tables.JVPS[rd.reduce_logsumexp_op] = _logsumexp_jvp
tables.JVPS[rd.softmax_op] = tables.JVPS[rd.safe_softmax_op] = _softmax_jvp
tables.zero(rd.reduce_and_op, rd.reduce_or_op, rd.argmax_op, rd.argmin_op)

# -- cumulative

tables.linear(
    rd.cumsum_op,
    lambda ctx, ct, x, *, axis, reverse, exclusive: rd.cumsum(ct, axis, reverse=not reverse, exclusive=exclusive),
)


def _states(a, b, axis, reverse, exclusive):
    """Return the states after each step s -> a s + b; if `exclusive`, before it."""
    before = rd.recurrence(a, b, axis, reverse=reverse)
    return before if exclusive else a * before + b


def _sums_where(same, t, axis, reverse):
    """Return sums over the elements so far, which begin again where a mask is False."""
    before = rd.recurrence(same, t, axis, reverse=reverse)
    return ew.select(same, before, ew.lift(0, t)) + t


def _shift(ctx, t, axis, reverse):
    """Return the elements moved one place on, with 0 as the first."""
    return rd.recurrence(full(ctx.shape(t), False, bool), t, axis, reverse=reverse)


def _cumprod_jvp(ctx, tangents, out, x, *, axis, reverse, exclusive):
    before = out if exclusive else rd.cumprod(x, axis, reverse=reverse, exclusive=True)
    return _states(x, before * tangents[0], axis, reverse, exclusive)


def _cumulative_extreme(function, misses):
    """Return the JVP rule of a cumulative extreme: the mean tangent of all elements so far that attain it."""

    def jvp(ctx, tangents, out, x, *, axis, reverse, exclusive):
        x = stop_gradient(x)
        extreme = function(x, axis, reverse=reverse)
        same = ew.eq(extreme, function(x, axis, reverse=reverse, exclusive=True))
        in_set = tables.in_argmax_set(x, extreme, misses)
        total = _sums_where(same, ew.select(in_set, tangents[0], ew.lift(0, x)), axis, reverse)
        count = _sums_where(same, ew.convert(in_set, x.dtype), axis, reverse)
        mean = total / tables.sharers(count, extreme)
        return _shift(ctx, mean, axis, reverse) if exclusive else mean

    return jvp


def _cumlogsumexp_jvp(ctx, tangents, out, x, *, axis, reverse, exclusive):
    after = _without_least(rd.cumlogsumexp(x, axis, reverse=reverse) if exclusive else out)
    before = out if exclusive else rd.cumlogsumexp(x, axis, reverse=reverse, exclusive=True)
    t = _states(ew.exp(before - after), ew.exp(x - after) * tangents[0], axis, reverse, exclusive=False)
    return _shift(ctx, t, axis, reverse) if exclusive else t


def _recurrence_jvp(ctx, tangents, out, a, b, *goes_on, axis, reverse):
    ta, tb, *_ = tangents
    if ta is not None:
        for mask in goes_on:  # a state that is left out may be infinite: both factors are 0 there
            ta, out = (ew.select(mask, x, ew.lift(0, x)) for x in (ta, out))
        ta = ta * out
    return apply(rd.recurrence_op, a, tables.add_tangents(ta, tb), *goes_on, axis=axis, reverse=reverse)


tables.JVPS[rd.cumprod_op] = _cumprod_jvp
tables.JVPS[rd.cummax_op] = _cumulative_extreme(rd.cummax, tables.BELOW_MAX)
tables.JVPS[rd.cummin_op] = _cumulative_extreme(rd.cummin, tables.ABOVE_MIN)
tables.JVPS[rd.cumlogsumexp_op] = _cumlogsumexp_jvp
tables.JVPS[rd.recurrence_op] = _recurrence_jvp
tables.TRANSPOSES[rd.recurrence_op] = lambda ctx, ct, a, b, *goes_on, axis, reverse: (
    None,
    apply(rd.recurrence_op, a, ct, *goes_on, axis=axis, reverse=not reverse),
    *[None for _ in goes_on],
)


# -- zeros by construction


def _lines_along_axes(ranks, *, axes):
    line = [None if i in axes else i for i in range(ranks[0])]
    return [line, line if ranks[1] == ranks[0] else [i for i in line if i is not None]]


tables.zeros(tables.ADD, tables.MOVE, rd.reduce_sum_op, rd.sum_to_op)
tables.zeros(tables.ADD, tables.ADD, rd.reduce_max_op, rd.reduce_min_op, rd.cumsum_op, rd.cummax_op, rd.cummin_op)
tables.lines(_lines_along_axes, rd.reduce_prod_op, rd.reduce_logsumexp_op, rd.softmax_op, rd.safe_softmax_op)
tables.zeros(tables.REACH, tables.MIX, rd.cumprod_op, rd.cumlogsumexp_op)
tables.zeros(tables.REACH, tables.REACH, rd.recurrence_op)

# -- shifts of operands

tables.shift(rd.reduce_sum_op, shifts.reduction((True,)))
tables.shift(rd.reduce_max_op, shifts.reduction((True, False)))
tables.shift(rd.reduce_min_op, shifts.reduction((True, False)))
tables.shift(rd.reduce_logsumexp_op, shifts.reduction((False,)))
tables.shift(rd.softmax_op, shifts.softmax)
tables.shift(rd.safe_softmax_op, shifts.softmax)


def _along_axes(op):
    return lambda ctx, size, batched, x, *, axes, **params: apply(op, x, axes=tuple([a + 1 for a in axes]), **params)


def _along_axis(op):
    def rule(ctx, size, batched, *xs, axis, **params):
        return apply(op, *tables.stretch_all(ctx, size, batched, xs), axis=axis + 1, **params)

    return rule


_OF_AXES = (
    rd.reduce_sum_op, rd.reduce_prod_op, rd.reduce_max_op, rd.reduce_min_op, rd.reduce_and_op, rd.reduce_or_op,
    rd.reduce_logsumexp_op, rd.softmax_op, rd.safe_softmax_op,
)  # fmt: skip
_OF_AXIS = (
    rd.argmax_op, rd.argmin_op, rd.cumsum_op, rd.cumprod_op, rd.cummax_op, rd.cummin_op, rd.cumlogsumexp_op,
    rd.recurrence_op, rd.sort_op, rd.argsort_op, rd.permute_op,
)  # fmt: skip
tables.BATCHERS.update({op: _along_axes(op) for op in _OF_AXES} | {op: _along_axis(op) for op in _OF_AXIS})
tables.BATCHERS[rd.sum_to_op] = lambda ctx, size, batched, x, *, shape, axes: rd.sum_to(
    x, (size, *shape), (0, *[a + 1 for a in axes])
)


tables.JVPS[rd.sort_op] = lambda ctx, tangents, out, x, *, axis: rd.permute(tangents[0], rd.argsort(x, axis), axis)
tables.linear_in_first(
    rd.permute_op, lambda ctx, ct, x, order, *, axis, inverse: rd.permute(ct, order, axis, inverse=not inverse)
)
tables.zero(rd.argsort_op, rd.searchsorted_op)

# -- zeros by construction

tables.zeros(tables.MOVE, tables.MOVE, rd.sort_op, rd.permute_op)


def _searchsorted(ctx, size, batched, row, values, *, side, batch):
    if not batched[0] and batch == 0:
        return rd.searchsorted(row, values, side)  # every axis of the values may be a batch already
    row, values = tables.stretch_all(ctx, size, batched, (row, values))
    return rd.searchsorted(row, values, side, batch + 1)


tables.BATCHERS[rd.searchsorted_op] = _searchsorted

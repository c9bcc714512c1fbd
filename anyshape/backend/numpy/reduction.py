"""Kernels of reductions, of cumulative ops and of the recurrence.

Kernels of sorting ops.

Traits of reductions, cumulative ops, the recurrence and sum_to.

Traits of sorts, permutations and searches.
"""

import functools
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, Algebra, Alias, Tiling, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.backend.runtime import short_rows
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import kernel


def least_value(dtype: Any) -> Any:
    """Return the least value of a dtype."""
    return _bound(dtype, -np.inf, "min")


def largest_value(dtype: Any) -> Any:
    """Return the largest value of a dtype."""
    return _bound(dtype, np.inf, "max")


def _bound(dtype, infinity, end):
    if dtype.kind == "b":
        return end == "max"
    if dtype.kind in "iu":
        return getattr(np.iinfo(dtype), end)
    return dtype.type(complex(infinity, infinity) if dtype.kind == "c" else infinity)


def _extreme(ufunc, identity):
    def run(x, *, axes, empty):
        if _along_short_rows(x, axes):
            return short_rows.rows(ufunc, x)
        return ufunc.reduce(x, axis=axes, initial=identity(x.dtype)) if empty else ufunc.reduce(x, axis=axes)

    return run


def _added(ufunc):
    """Reduce in the dtype of the operand."""

    def run(x, *, axes):
        if _along_short_rows(x, axes):
            return short_rows.rows(ufunc, x)
        if ufunc is np.add and short_rows.is_short(x) and short_rows.handles_before_last(x.ndim, x.dtype, axes):
            return short_rows.before_last(x, axes)
        return ufunc.reduce(x, axis=axes, dtype=x.dtype)

    return run


def _along_short_rows(x, axes):
    return short_rows.is_short(x) and short_rows.handles_rows(x.ndim, x.dtype, axes)


def _axes(axes):
    return str(axes[0]) if len(axes) == 1 else str(axes)


def _inline_sum(ufunc):
    def write(site):
        axes = site.params["axes"]
        lines = site.call(ufunc.reduce, _axes(axes), site.bind(site.result.dtype))
        (meta,) = site.metas
        if ufunc is np.add and short_rows.handles_before_last(meta.rank, meta.dtype, axes):
            return _where_short(site, lines, f"{site.bind(short_rows.before_last)}({site.operands[0]}, {axes})")
        return _unless_short_rows(site, ufunc, lines)

    return write


def _unless_short_rows(site, ufunc, lines):
    """Return the lines, which reduce; of short rows by columns where there may be some."""
    (meta,) = site.metas
    if not short_rows.handles_rows(meta.rank, meta.dtype, site.params["axes"]):
        return lines
    by_columns = f"{site.bind(functools.partial(short_rows.rows, ufunc))}({site.operands[0]})"
    return _where_short(site, lines, by_columns)


def _where_short(site, lines, call):
    if not short_rows.may_be_short(site.metas[0]):
        return lines
    ((line,), x) = lines, site.operands[0]
    test = f"{x}.shape[-1] <= {short_rows.LONGEST} and {x}.size >= {short_rows.LEAST}"
    return [f"{site.target} = {call} if {test} else {line.partition(' = ')[2]}"]


def _inline_logic(ufunc, first):
    """Reduce; of a vector of bools, the first element that decides is found several times as fast."""

    def write(site):
        (x,), (meta,) = site.operands, site.metas
        if meta.rank > 1 or meta.dtype != bool or site.params["axes"] != (0,):
            return site.call(ufunc.reduce, _axes(site.params["axes"]))
        return [f"{site.target} = {x}[{x}.{first}()] if {x}.size else {site.bind(np.bool_(ufunc.identity))}"]

    return write


def _inline_extreme(ufunc, identity):
    def write(site):
        rest = ["None", "None", "False", site.bind(identity(site.result.dtype))] if site.params["empty"] else []
        return _unless_short_rows(site, ufunc, site.call(ufunc.reduce, _axes(site.params["axes"]), *rest))

    return write


def _keeping_axes(ufunc, x, axes):
    """Reduce, and keep the axes."""
    if _along_short_rows(x, axes):
        return short_rows.rows(ufunc, x, keepdims=True)
    return ufunc.reduce(x, axis=axes, keepdims=True)


def _powers(x, axes):
    """Return the finite maxima with 0 for others, the exponentials of elements less these, and their sums."""
    top = (
        _keeping_axes(np.maximum, x, axes)
        if x.size
        else np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
    )
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    powers = np.subtract(x, top)
    powers = np.exp(powers, out=powers if powers.ndim else None)
    return top, powers, _keeping_axes(np.add, powers, axes)


def _logsumexp(x, *, axes):
    top, _, total = _powers(x, axes)
    with np.errstate(divide="ignore"):
        return np.log(np.squeeze(total, axis=axes)) + np.squeeze(top, axis=axes)


def _softmax(x, *, axes):
    powers = np.subtract(x, _keeping_axes(np.maximum, x, axes))
    np.exp(powers, out=powers)
    return np.divide(powers, _keeping_axes(np.add, powers, axes), out=powers)


def _safe_softmax(x, *, axes):
    _, powers, total = _powers(x, axes)
    total[total == 0] = 1
    return np.divide(powers, total, out=powers)


def _cumulative(ufunc, identity):
    def run(x, *, axis, reverse, exclusive):
        outer = (slice(None),) * axis
        backwards = (*outer, slice(None, None, -1))
        rows = x[backwards] if reverse else x
        if exclusive:
            out = np.empty(x.shape, x.dtype)
            out[(*outer, slice(0, 1))] = identity(x.dtype)
            _accumulate(ufunc, rows[(*outer, slice(0, -1))], axis, out[(*outer, slice(1, None))])
        else:
            out = _accumulate(ufunc, rows, axis, np.empty(x.shape, x.dtype))
        return out[backwards] if reverse else out

    return run


def _accumulate(ufunc, x, axis, out):
    """Write running results: step by step for many short lines, which NumPy takes one after the other."""
    lines = x.size // max(x.shape[axis], 1)
    if lines < 512 or (axis and lines < 8 * x.shape[axis]):
        return ufunc.accumulate(x, axis=axis, dtype=x.dtype, out=out)  # without dtype small integers become large ones
    x, results = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    results[0] = x[0]
    for k in range(1, len(x)):
        ufunc(results[k - 1], x[k], out=results[k])
    return out


def _recurrence(a, b, goes_on=None, *, axis, reverse):
    """Compose steps s -> a s + b in pairs, then pairs of pairs: log2(n) passes over the axis, and no division.

    A state that a False leaves out may be infinite or NaN.
    """
    if a.dtype == bool:
        a, goes_on = None, a if goes_on is None else a & goes_on
    forward = slice(None, None, -1 if reverse else 1)
    a, b, goes_on = (None if x is None else np.moveaxis(x, axis, 0)[forward].copy() for x in (a, b, goes_on))
    step = 1
    while step < len(b):
        late, added, where = b[step:], b[:-step], True if goes_on is None else goes_on[step:]
        if a is not None:
            added = np.multiply(a[step:], added, out=np.empty_like(late), where=where)
            np.multiply(a[step:], a[:-step], out=a[step:], where=where)
        np.add(late, added, out=late, where=where)
        if goes_on is not None:
            goes_on[step:] &= goes_on[:-step]
        step *= 2
    out = np.empty_like(b)
    out[:1], out[1:] = 0, b[:-1]
    return np.moveaxis(out[::-1] if reverse else out, 0, axis)


def _sum_to(x, *, shape, axes):
    """Sum the broadcast axes: all that are not in `axes`, or have size 1 in `shape` and not in x."""
    if x.shape == shape:
        return x
    unchanged = {axis for axis, size in zip(axes, shape, strict=True) if size == x.shape[axis]}
    summed = tuple([axis for axis in range(x.ndim) if axis not in unchanged])
    return x.sum(axis=summed, dtype=x.dtype).reshape(shape) if summed else x


def _inline_sum_to(site):
    """Test inline whether anything is summed: in most calls nothing is."""
    (x,), shape, axes = site.operands, site.text(site.params["shape"]), site.params["axes"]
    return [f"{site.target} = {x} if {x}.shape == {shape} else {site.bind(_sum_to)}({x}, shape={shape}, axes={axes})"]


_sums, _products = _inline_sum(np.add), _inline_sum(np.multiply)
_all, _any = _inline_logic(np.logical_and, "argmin"), _inline_logic(np.logical_or, "argmax")
kernel(rd.reduce_sum_op, _added(np.add), inline=_sums)
kernel(rd.reduce_prod_op, _added(np.multiply), inline=_products)
kernel(rd.reduce_max_op, _extreme(np.maximum, least_value), inline=_inline_extreme(np.maximum, least_value))
kernel(rd.reduce_min_op, _extreme(np.minimum, largest_value), inline=_inline_extreme(np.minimum, largest_value))
kernel(rd.reduce_and_op, lambda x, *, axes: np.logical_and.reduce(x, axis=axes), inline=_all)
kernel(rd.reduce_or_op, lambda x, *, axes: np.logical_or.reduce(x, axis=axes), inline=_any)
kernel(rd.reduce_logsumexp_op, _logsumexp)
kernel(rd.argmax_op, lambda x, *, axis: np.argmax(x, axis=axis))
kernel(rd.argmin_op, lambda x, *, axis: np.argmin(x, axis=axis))
kernel(rd.softmax_op, _softmax)
kernel(rd.safe_softmax_op, _safe_softmax)
kernel(rd.cumsum_op, _cumulative(np.add, lambda dtype: 0))
kernel(rd.cumprod_op, _cumulative(np.multiply, lambda dtype: 1))
kernel(rd.cummax_op, _cumulative(np.maximum, least_value))
kernel(rd.cummin_op, _cumulative(np.minimum, largest_value))
kernel(rd.cumlogsumexp_op, _cumulative(np.logaddexp, lambda dtype: -np.inf))
kernel(rd.recurrence_op, _recurrence)
kernel(rd.sum_to_op, _sum_to, inline=_inline_sum_to)


def _searchsorted(row, values, *, side, batch):
    if batch == 0:
        return np.asarray(np.searchsorted(row, values, side)).astype(np.int64, copy=False)
    out = np.empty(np.shape(values), np.int64)
    for index in np.ndindex(row.shape[:batch]):
        out[index] = np.searchsorted(row[index], values[index], side)
    return out


def _permute(x, order, *, axis, inverse):
    if not inverse:
        return np.take_along_axis(x, order, axis)
    out = np.empty(x.shape, x.dtype)
    np.put_along_axis(out, order, x, axis)
    return out


kernel(rd.sort_op, lambda x, *, axis: np.sort(x, axis=axis))
kernel(rd.argsort_op, lambda x, *, axis, stable: np.argsort(x, axis=axis, stable=stable))
kernel(rd.permute_op, _permute)
kernel(rd.searchsorted_op, _searchsorted)


NOT_COMBINED = Tiling(rows.reduction, collapse.axes)
ALONG_ONE_AXIS = OPAQUE._replace(tiling=Tiling(rows.behind("axis"), collapse.axis))
SUM = Algebra((identities.negation_outwards("iu"),))


def _combined(ufunc: np.ufunc) -> Tiling:
    return Tiling(rows.reduction, collapse.axes, ufunc)


declare(OPAQUE._replace(tiling=_combined(np.add), algebra=SUM), rd.reduce_sum_op)
declare(OPAQUE._replace(tiling=NOT_COMBINED), rd.reduce_prod_op)
declare(OPAQUE._replace(tiling=_combined(np.maximum)), rd.reduce_max_op)
declare(OPAQUE._replace(tiling=_combined(np.minimum)), rd.reduce_min_op)
declare(OPAQUE._replace(tiling=_combined(np.logical_and)), rd.reduce_and_op)
declare(OPAQUE._replace(tiling=_combined(np.logical_or)), rd.reduce_or_op)
declare(OPAQUE._replace(tiling=NOT_COMBINED, scratch=op_traits.like_first_operand(2)), rd.reduce_logsumexp_op)
declare(
    OPAQUE._replace(tiling=NOT_COMBINED, scratch=op_traits.like_first_operand(2)), rd.softmax_op, rd.safe_softmax_op
)

declare(ALONG_ONE_AXIS._replace(scratch=op_traits.like_first_operand(1)), rd.argmax_op, rd.argmin_op)
declare(ALONG_ONE_AXIS, rd.cumsum_op, rd.cumprod_op, rd.cummax_op, rd.cummin_op)
declare(ALONG_ONE_AXIS._replace(scratch=op_traits.like_first_operand(2)), rd.cumlogsumexp_op)
declare(ALONG_ONE_AXIS._replace(scratch=op_traits.operands_and_results(1)), rd.recurrence_op)

declare(
    OPAQUE._replace(
        alias=Alias.VIEW_OR_SUM,
        tiling=Tiling(rows.sum_to, collapse.sum_to, np.add),
        algebra=Algebra((identities.same_shape, identities.plain_sum, identities.negation_outwards("iu"))),
    ),
    rd.sum_to_op,
)


BEHIND_ROWS = OPAQUE._replace(tiling=Tiling(rows.behind("axis")))

declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(1)), rd.sort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(2)), rd.argsort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.positions(2)), rd.permute_op)
declare(OPAQUE._replace(scratch=op_traits.positions(2)), rd.searchsorted_op)

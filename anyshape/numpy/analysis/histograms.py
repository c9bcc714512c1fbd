"""Define NumPy's histograms and bins, the functions that leave NaNs out, and positions in flattened arrays."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes import expr
from anyshape.numpy import creation, indexing, reduction, sorting, statistics
from anyshape.numpy.analysis.quantile_methods import at_levels, weighted
from anyshape.numpy.elementwise import logical_not
from anyshape.numpy.movement import broadcast_arrays, ravel, slice_axis
from anyshape.numpy.operands import reduction_args as ra
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    choice_of,
    is_traced,
    new_shape,
    new_size,
    refuse_kinds,
    result_type,
    sizes,
)
from anyshape.numpy.operands.ufuncs import publish
from anyshape.numpy.serve import Function, serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check, warn
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

_FLOAT, _POSITION = np.dtype(np.float64), np.dtype(np.int64)
_ALL_NAN = "All-NaN slice encountered"

# -- bins --------------------------------------------------------------------------------------------------------


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin of each element; bins rise or fall, and include their lower end, or the upper one.

    Traced bins that do neither are a CheckError of the run.
    """
    values, edges = as_traced(x), as_traced(bins)
    for operand in (values, edges):
        refuse_kinds("digitize", operand, "c")
    if edges.ndim != 1:
        raise context_of("digitize", edges).fail("bins must be a vector")
    before, after = edges[:-1], edges[1:]
    rises, falls = reduction.all(before <= after), reduction.all(before >= after)
    check(ew.logical_or(rises, falls), "digitize: bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    from_low = sorting.searchsorted(edges, values, side)
    count = mv.broadcast_to(cr.size_value(sizes(edges)[0]), sizes(values))
    from_high = ew.sub(count, sorting.searchsorted(edges[::-1], values, side))
    return ew.select(mv.broadcast_to(rises, sizes(values)), from_low, from_high)


def _limits(x, range) -> tuple[Any, Any]:
    """Return the least and the greatest value to count: the ends of `range`, or the extreme elements."""
    if range is not None:
        low, high = range
        if not is_traced(low, high) and not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise ArgumentError(
                "histogram", f"range {range}", "is not finite and rising", "pass two numbers (low, high)"
            )
        common = result_type(low, high, x)
        dtype = common if common.kind == "f" else _FLOAT  # limits of unsigned integers may be negative
        low, high = as_traced(low, dtype), as_traced(high, dtype)
    else:
        empty = ew.eq(cr.size_value(sizes(x)[0]), cr.full((), 0, _POSITION))
        low = ew.select(empty, cr.full((), 0, x.dtype), rd.reduce_min(x, (0,), empty=True))
        high = ew.select(empty, cr.full((), 1, x.dtype), rd.reduce_max(x, (0,), empty=True))
    dtype = low.dtype if low.dtype.kind == "f" else _FLOAT
    low, high = ew.convert(low, dtype), ew.convert(high, dtype)
    rises = ew.logical_and(ew.le(low, high), ew.logical_and(ew.isfinite(low), ew.isfinite(high)))
    check(rises, "histogram: the range of bins must be finite and rising")
    half = ew.select(ew.eq(low, high), ew.lift(0.5, low), ew.lift(0.0, low))
    return ew.sub(low, half), ew.add(high, half)


def _edges(x, bins, range):
    """Return the edges of bins."""
    if isinstance(bins, str):
        raise UnsupportedFunctionError(
            "histogram", f"bins={bins!r}", "pass a number of bins or their edges", user_line()
        )
    stated = asarray(bins) if not has_type(bins, (int, np.integer)) else None
    if stated is not None and stated.ndim == 1:
        edges = as_traced(bins)
        context_of("histogram", edges).require(at_least(sizes(edges)[0], 1), "bins need an edge or more")
        check(ew.le(edges[:-1], edges[1:]), "histogram: bins must increase monotonically")
        return edges
    count = new_size(bins, "histogram")
    context_of("histogram", x).require(at_least(count, 1), f"the number of bins is {count}, and must be 1 or more")
    low, high = _limits(x, range)
    return creation.linspace(low, high, expr.add(count, 1), dtype=low.dtype)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Return the edges of the bins of `histogram`."""
    return _edges(_counted(a), bins, range)


def _counted(a):
    """Return the elements to count, as a vector of real numbers."""
    x = ravel(as_traced(a))
    refuse_kinds("histogram", x, "c")
    return ew.convert(x, np.uint8) if x.dtype.kind == "b" else x


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return the numbers of elements in bins, or the sums of their weights, and the edges of the bins.

    `bins` is a number of bins, which may be a size, or a vector of edges. The last bin includes both ends. `range`
    gives the limits of equal bins, by default the extreme elements. With `density`, the integral over the bins is 1.
    With traced operands the names of rules for `bins` raise UnsupportedFunctionError.
    """
    x = _counted(a)
    edges = _edges(x, bins, range)
    each = cr.full(sizes(x), 1, _POSITION) if weights is None else ravel(as_traced(weights))
    context_of("histogram", x, each).require_equal(sizes(x)[0], sizes(each)[0], "weights must have the shape of a")
    sums = _sums_in_boxes([x], [edges], each)
    return (_per_volume(sums, [edges]) if density else sums), edges


def _coordinates(sample) -> list[Any]:
    """Return the coordinates of points: the columns of a matrix, or the members of a list."""
    if isinstance(sample, (list, tuple)):
        rows = as_traced(sample)
        rows = mv.expand(rows, (0,)) if rows.ndim == 1 else rows
    else:
        x = as_traced(sample)
        if x.ndim > 2:
            raise context_of("histogramdd", x).fail("the sample must be a matrix with a row for each point")
        rows = mv.expand(x, (0,)) if x.ndim == 1 else mv.transpose(x, (1, 0))
    return [_counted(row) for row in rows]


def _for_each(rank: int, bins, range) -> tuple[list[Any], list[Any]]:
    """Return the bins and the limits of each axis."""
    each = list(bins) if isinstance(bins, (list, tuple)) or np.ndim(bins) else [bins] * rank
    limits = [None] * rank if range is None else list(range)
    if len(each) != rank or len(limits) != rank:
        problem = f"are {len(each)} and {len(limits)} for points of {rank} coordinates"
        raise ArgumentError("histogramdd", "bins and ranges", problem, "give one for each coordinate")
    return each, limits


def _bin_numbers(x, edges) -> tuple[Any, Any]:
    """Return the number of the bin of each element, and whether it is in one; the last bin includes both ends."""
    common = result_type(x, edges)
    values, ends = ew.convert(x, common), ew.convert(edges, common)
    bin_of = ew.sub(rd.searchsorted(ends, values, "right"), cr.full(sizes(x), 1, _POSITION))
    last = mv.broadcast_to(mv.reshape(ends[-1:], ()), sizes(x))
    final = mv.broadcast_to(cr.size_value(expr.sub(sizes(edges)[0], 2)), sizes(x))
    bin_of = ew.select(ew.eq(values, last), final, bin_of)
    return bin_of, ew.logical_and(ew.ge(bin_of, ew.lift(0, bin_of)), ew.le(values, last))


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return the numbers of points in boxes, or the sums of their weights, and a tuple of edges along each axis.

    `sample` is a matrix with a row for each point, or a list of their coordinates. `bins` and `range` have an entry
    for each axis, as `histogram` takes it; one number of bins serves for all. With `density`, the integral over the
    boxes is 1.
    """
    points = _coordinates(sample)
    each, limits = _for_each(len(points), bins, range)
    edges = [_edges(x, b, limit) for x, b, limit in zip(points, each, limits, strict=True)]
    x, each_one = points[0], None if weights is None else ravel(as_traced(weights))
    ones = cr.full(sizes(x), 1, _FLOAT) if each_one is None else ew.convert(each_one, _FLOAT)
    context_of("histogramdd", x, ones).require_equal(
        sizes(x)[0], sizes(ones)[0], "there must be a weight for each point"
    )
    sums = _sums_in_boxes(points, edges, ones)
    return (_per_volume(sums, edges) if density else sums), tuple(edges)


def _sums_in_boxes(points, edges, weights):
    """Return the sums of the weights of points in boxes between edges."""
    (position, inside), *numbers = [_bin_numbers(x, e) for x, e in zip(points, edges, strict=True)]
    shape = [expr.sub(sizes(e)[0], 1) for e in edges]
    for (number, is_inside), size in zip(numbers, shape[1:], strict=True):
        position = ew.add(ew.mul(position, mv.broadcast_to(cr.size_value(size), sizes(position))), number)
        inside = ew.logical_and(inside, is_inside)
    total = numel(shape)
    position = ew.select(inside, position, mv.broadcast_to(cr.size_value(total), sizes(position)))
    return mv.reshape(slice_axis(ix.put_add(weights, position, expr.add(total, 1)), 0, 0, total), shape)


def _per_volume(sums, edges):
    """Return sums in boxes over their volumes and the sum of all."""
    all_of_them = reduction.sum(sums)
    for axis, e in enumerate(edges):
        sums = sums / mv.broadcast_in_dim(ew.convert(indexing.diff(e), _FLOAT), sizes(sums), (axis,))
    return sums / all_of_them


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return the numbers of points (x, y) in boxes, or the sums of their weights, and the edges along both axes.

    `bins` is a number of bins, or edges, for both axes, or a list of two of these. See `histogramdd`.
    """
    points = [_counted(z) for z in (x, y)]
    context_of("histogram2d", *points).require_equal(
        sizes(points[0])[0], sizes(points[1])[0], "x and y have different lengths"
    )
    is_pair = isinstance(bins, (list, tuple)) and len(bins) == 2
    is_one = not isinstance(bins, (list, tuple)) and asarray(bins).ndim == 0
    boxes = bins if is_pair else [bins, bins] if is_one else [as_traced(bins)] * 2
    sums, (first, second) = histogramdd(points, boxes, range, density, weights)
    return sums, first, second


# -- sums, averages and extremes without NaNs ----------------------------------------------------------------------


def _not_nan(a, where):
    """Return a mask of the elements that are not NaN, within `where`; ra.ABSENT if no element can be NaN."""
    x = asarray(a)
    if x.dtype.kind not in "fc":
        return where
    ok = ew.eq(x, x)
    return (
        ok
        if where is ra.ABSENT or where is True
        else ew.select(ra.mask_like("where", x, where), ok, ew.lift(False, ok))
    )


_NAN_DOC = """`axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
The other options mean what they mean for the function without "nan" in its name.
With traced operands `out` must be traced too."""
_NAN_EXTREME_DOC = """`axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
Where all elements are NaN the result is NaN, with a warning. `where` needs `initial`.
With traced operands `out` must be traced too."""
_NAN_RUNNING_DOC = """Without an axis the flattened elements accumulate. With traced operands `out` must be traced too.
Small integers accumulate in the default integer unless `dtype` says otherwise."""


def _ignoring(name: str, plain: Function, summary: str, averaged: Function | None = None) -> Function:
    """Build a nan-function from a function with a `where` mask, which leaves NaNs out.

    `averaged` is the function of traced arrays if it divides by a number of elements, which may be 0.
    """
    run = averaged or plain

    def function(a, axis=None, dtype=None, out=None, *args, **options):
        where = options.pop("where", ra.ABSENT)
        if averaged is None:
            return run(a, axis, dtype, out, *args, where=_not_nan(a, where), **options)
        inexact = asarray(a).dtype.kind in "fc"
        if inexact and dtype is not None and np.dtype(dtype).kind not in "fc":
            raise DTypeError(name, f"cannot average inexact numbers in {np.dtype(dtype)}", "name a float", user_line())
        mask = _not_nan(a, where)
        result = run(a, axis, dtype, out, *args, where=mask, **options, quiet=inexact)
        if averaged is statistics.traced_mean or mask is ra.ABSENT or mask is True:
            return result
        freedom = statistics.subtracted_count(
            args[0] if args else options.get("ddof", 0), options.get("correction", ra.ABSENT)
        )
        number = reduction.sum(ra.mask_like(name, asarray(a), mask), axis, keepdims=options.get("keepdims", ra.ABSENT))
        return ew.select(number <= freedom, ew.lift(np.nan, result), result)

    return publish(function, name, __name__, f"{summary}\n\n{_NAN_DOC}", inspect.signature(plain))


nansum: Function = _ignoring("nansum", reduction.sum, "Return the sum of the elements along axes, ignoring NaNs.")
nanprod: Function = _ignoring(
    "nanprod", reduction.prod, "Return the product of the elements along axes, ignoring NaNs."
)
nanmean: Function = _ignoring(
    "nanmean", statistics.mean, "Return the mean of the elements along axes, ignoring NaNs.", statistics.traced_mean
)
nanvar: Function = _ignoring(
    "nanvar", statistics.var, "Return the variance of the elements along axes, ignoring NaNs.", statistics.traced_var
)
nanstd: Function = _ignoring(
    "nanstd", statistics.std, "Return the standard deviation along axes, ignoring NaNs.", statistics.traced_std
)


def _nan_extreme(name: str, reduce: Function, combine: Callable[[Any, Any], Any], sign: int, summary: str) -> Function:
    """Build `nanmax` or `nanmin`."""
    plain = getattr(reduction, name.removeprefix("nan"))

    def function(a, axis=None, out=None, keepdims=ra.ABSENT, initial=ra.ABSENT, where=ra.ABSENT):
        x, where = asarray(a), ra.ABSENT if where is True else where
        started = initial is not ra.ABSENT and initial is not None
        if x.dtype.kind not in "fc" or (where is not ra.ABSENT and not started):
            return plain(x, axis, out, keepdims, initial, where)
        axes = ra.reduced_axes(name, axis, x.ndim)
        ok = _not_nan(x, where)
        extreme = reduce(ew.select(ok, x, ew.lift(ra.extreme_value(x.dtype, sign), x)), axes, empty=started)
        some = rd.reduce_or(ok, axes)
        if started:
            missing = ra.start_value(name, initial, x.dtype)
            extreme = combine(missing, extreme)
        else:
            missing = reduce(x, axes) if x.dtype.kind == "c" else ew.lift(np.nan, extreme)
            warn(ew.logical_not(some), _ALL_NAN)
        return ra.restore_axes(ew.select(some, extreme, missing), axes, keepdims)

    return publish(function, name, __name__, f"{summary}\n\n{_NAN_EXTREME_DOC}")


nanmax: Function = _nan_extreme(
    "nanmax", rd.reduce_max, ew.fmax, -1, "Return the largest element along axes, ignoring NaNs."
)
nanmin: Function = _nan_extreme(
    "nanmin", rd.reduce_min, ew.fmin, 1, "Return the smallest element along axes, ignoring NaNs."
)


def _nan_running(name: str, plain: Function, instead: int, summary: str) -> Function:
    """Build `nancumsum` or `nancumprod`, in which a number replaces NaNs."""

    def function(a, axis=None, dtype=None, out=None):
        x = asarray(a)
        return plain(ra.apply_mask(name, x, _not_nan(x, ra.ABSENT), instead), axis, dtype, out)

    return publish(function, name, __name__, f"{summary}\n\n{_NAN_RUNNING_DOC}")


nancumsum: Function = _nan_running(
    "nancumsum", reduction.cumsum, 0, "Return the running sums along an axis, with NaN as 0."
)
nancumprod: Function = _nan_running(
    "nancumprod", reduction.cumprod, 1, "Return the running products along an axis, with NaN as 1."
)


# -- order statistics without NaNs -------------------------------------------------------------------------------


def _valid_first(name: str, a, axis, dtype: np.dtype) -> tuple[Any, Any, tuple[int, ...]]:
    """Return the elements along axes in order, with a NaN or more last, the number of others, and the axes."""
    x, axes = sorting.merged_axes(name, asarray(a, dtype), axis)
    rank = x.ndim - 1
    x = mv.pad_unchecked(x, (0,) * x.ndim, (*[0] * rank, 1), (0,) * x.ndim, value=float("nan"))
    count = rd.reduce_sum(ew.convert(logical_not(ew.isnan(x)), _POSITION), (rank,))
    warn(ew.eq(count, ew.lift(0, count)), _ALL_NAN)
    return rd.sort(x, rank), count, axes


def _picked(ordered, position):
    """Return one element of each line."""
    rank = ordered.ndim - 1
    return mv.drop(indexing.take_along_axis(ordered, mv.expand(position, (rank,)), rank), (rank,))


@writes_out
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """Return the median along axes without NaNs, and NaN with a warning where there is nothing else.

    See `median` for the options.
    """
    dtype = refuse_kinds("nanmedian", np.empty(0, result_type(a)), "c").dtype
    if dtype.kind != "f":
        return sorting.median(a, axis, None, False, keepdims is True)
    ordered, count, axes = _valid_first("nanmedian", a, axis, dtype)
    zero, one, two = (ew.lift(k, count) for k in (0, 1, 2))
    low = _picked(ordered, ew.maximum(ew.floor_divide(ew.sub(count, one), two), zero))
    high = _picked(ordered, ew.floor_divide(count, two))
    odd = ew.eq(ew.remainder(count, two), one)
    middle = ew.select(odd, low, ew.div(ew.add(low, high), ew.lift(2, low)))
    nothing = ew.eq(count, zero)
    return ra.restore_axes(ew.select(nothing, ew.lift(float("nan"), middle), middle), axes, keepdims is True)


def _nan_quantile(name: str, scale: float, summary: str) -> Function:
    """Build `nanquantile` (scale 1) or `nanpercentile` (scale 100)."""
    plain = sorting.quantile if scale == 1 else sorting.percentile

    def function(
        a, q, axis = None, out = None, overwrite_input: bool = False, method: str = "linear",
        keepdims = False, *, weights = None
    ):  # fmt: skip
        kind = refuse_kinds(name, np.empty(0, result_type(a)), "c").dtype
        if kind.kind != "f":
            return plain(a, q, axis, None, False, method, keepdims is True, weights=weights)
        if scale == 1 and method == "linear" and result_type(q).kind in "biu":
            method = "lower"  # levels 0 and 1 are elements, which may be infinite
        level, dtype = sorting.method_operands(name, scale, q, kind, method, weights)
        x = asarray(a)
        ordered, count, axes = _valid_first(name, x, axis, kind)
        if weights is None:
            result = at_levels(ordered, count, level, method, dtype)
        else:
            lines, _ = sorting.merged_axes(name, x, axis)
            result, _ = weighted(name, lines, sorting.weight_lines(name, x, weights, axis), level, skip_nan=True)
        empty = mv.broadcast_to(ew.eq(count, ew.lift(0, count)), sizes(result))
        result = ew.select(empty, ew.lift(float("nan"), result), result)
        return ra.restore_axes(result, tuple([axis + level.ndim for axis in axes]), keepdims is True)

    doc = f"{summary}\n\nThe shape of q comes first. Where all elements are NaN the result is NaN, with a warning."
    return publish(function, name, __name__, doc)


nanquantile: Function = _nan_quantile("nanquantile", 1, "Return the quantiles along axes at the levels q without NaNs.")
nanpercentile: Function = _nan_quantile(
    "nanpercentile", 100, "Return the percentiles along axes at the levels q without NaNs."
)


def _nan_argument(name: str, plain: Function, least: float, summary: str) -> Function:
    """Build `nanargmax` or `nanargmin`."""

    def function(a, axis=None, out=None, *, keepdims=False):
        x = refuse_kinds(name, as_traced(a), "c")
        if x.dtype.kind == "f":
            absent = ew.isnan(x)
            check(logical_not(reduction.all(absent, axis)), f"{name}: {_ALL_NAN}")
            x = ew.select(absent, ew.lift(least, x), x)
        return plain(x, axis, keepdims=keepdims is True)

    doc = f"{summary}\n\nA slice with NaN alone is a CheckError of the run, as it is a ValueError of NumPy."
    return publish(function, name, __name__, doc)


nanargmax: Function = _nan_argument(
    "nanargmax", reduction.argmax, -np.inf, "Return the position of the largest element along an axis without NaNs."
)
nanargmin: Function = _nan_argument(
    "nanargmin", reduction.argmin, np.inf, "Return the position of the least element along an axis without NaNs."
)

# -- positions in flattened arrays -------------------------------------------------------------------------------


def _wholes(name: str, x):
    """Return positions as int64."""
    positions = as_traced(x)
    if positions.dtype.kind not in "iu":
        raise context_of(name, positions).bad_dtype(f"positions are {positions.dtype}", "convert them with astype(int)")
    return ew.convert(positions, _POSITION)


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return for positions in a flattened array the index along each axis, as a tuple; sizes may be symbolic.

    A position outside of the array is a CheckError of the run.
    """
    choice_of("unravel_index", "order", order, ("C", "F"))
    rest, dims = _wholes("unravel_index", indices), new_shape(shape, "unravel_index")
    total = mv.broadcast_to(cr.size_value(numel(dims)), sizes(rest))
    inside = ew.logical_and(ew.ge(rest, ew.lift(0, rest)), ew.lt(rest, total))
    check(inside, "unravel_index: a position is out of bounds")
    results = []
    for size in reversed(dims) if order == "C" else dims:
        by = mv.broadcast_to(cr.size_value(expr.maximum(size, 1)), sizes(rest))
        results.append(ew.remainder(rest, by))
        rest = ew.floor_divide(rest, by)
    return tuple(results[::-1] if order == "C" else results)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Return the positions in a flattened array of indices along each axis; sizes may be symbolic.

    An index outside of its axis is a CheckError of the run, wraps around or is cut off: mode "raise", "wrap" or "clip".
    """
    choice_of("ravel_multi_index", "order", order, ("C", "F"))
    shape = new_shape(dims, "ravel_multi_index")
    members = [_wholes("ravel_multi_index", i) for i in multi_index]
    modes = (mode,) * len(shape) if isinstance(mode, str) else tuple(mode)
    if not len(members) == len(shape) == len(modes):
        problem = f"has {len(members)} indices for a shape of length {len(shape)}"
        raise ArgumentError("ravel_multi_index", "multi_index", problem, "give an index for each axis")
    terms = list(zip(broadcast_arrays(*members), shape, modes, strict=True))
    result: Any = None
    for index, size, rule in terms if order == "C" else terms[::-1]:
        whole = mv.broadcast_to(cr.size_value(size), sizes(index))
        own = _within(index, whole, rule)
        result = own if result is None else ew.add(ew.mul(result, whole), own)
    return result


def _within(index, size, mode: str):
    """Return indices from 0 to size - 1."""
    choice_of("ravel_multi_index", "mode", mode, ("raise", "wrap", "clip"))
    zero = ew.lift(0, index)
    if mode == "wrap":
        return ew.remainder(index, size)
    if mode == "clip":
        return ew.maximum(ew.minimum(index, ew.sub(size, ew.lift(1, size))), zero)
    check(ew.logical_and(ew.ge(index, zero), ew.lt(index, size)), "ravel_multi_index: an index is out of bounds")
    return index


serve(__name__)

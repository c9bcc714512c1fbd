"""Define NumPy's sorting functions and order statistics, as compositions of sorting ops."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    axes_of,
    axis_of,
    choice_of,
    is_traced,
    is_weak,
    plain_array,
    refuse_kinds,
    result_type,
    sizes,
)
from anyshape.numpy.operands.reduction_args import EMPTY_MEAN, count_along, flat_if_no_axis, restore_axes
from anyshape.numpy.operands.ufuncs import publish
from anyshape.numpy.serve import serve
from anyshape.numpy.statistics import aligned_weights, interpolate
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check, warn_below
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import iota, size_value
from anyshape.support.packages import quantile_methods

_FLOAT = np.dtype(np.float64)


def _along(name: str, a, axis) -> tuple[Any, int]:
    """Return the operand and the axis to sort along; None flattens it."""
    x = asarray(a)
    return (mv.reshape(x, (count_along(x),)), 0) if axis is None else (x, axis_of(axis, x.ndim, name))


def _refuse_order(name: str, order) -> None:
    """Refuse `order`: traced arrays have no fields."""
    if order is not None:
        raise UnsupportedFunctionError(name, "option 'order', for fields", "leave it out", user_line())


def _check_kind(name: str, kind, stable) -> None:
    """Refuse a `kind` that NumPy does not know, or one beside `stable`."""
    choice_of(name, "kind", kind, (None, "quicksort", "stable", "mergesort", "heapsort", "quick", "merge", "heap"))
    if kind is not None and stable is not None:
        raise ArgumentError(name, "kind", "and stable are both given", "give one of them")


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return an array sorted along an axis; None flattens it first.

    NaNs come last. A stable sort keeps the order of -0.0 and 0.0; otherwise `kind` changes nothing.
    A traced array takes no `order`.
    """
    _check_kind("sort", kind, stable)
    _refuse_order("sort", order)
    x, along = _along("sort", a, axis)
    if x.dtype.kind in "fc" and _is_stable(kind, stable):
        return ix.take_along_axis(x, rd.argsort(x, along, stable=True), along)
    return rd.sort(x, along)


def _is_stable(kind, stable) -> bool:
    return bool(stable) or kind in ("stable", "mergesort")


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return the positions that sort an array along an axis, as int64; None flattens it first.

    With `stable` or a stable `kind`, equal elements keep their order. A traced array takes no `order`.
    """
    _check_kind("argsort", kind, stable)
    _refuse_order("argsort", order)
    return rd.argsort(*flat_if_no_axis("argsort", asarray(a), axis), stable=_is_stable(kind, stable))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return the positions at which to insert `v` into the sorted vector `a`, as int64 in the shape of `v`.

    side="left" gives the first such position and "right" the last. With traced operands `sorter` raises
    UnsupportedFunctionError.
    """
    if sorter is not None:
        raise UnsupportedFunctionError("searchsorted", "option 'sorter'", "sort the array before", user_line())
    if side not in ("left", "right"):
        raise ArgumentError("searchsorted", f"side {side!r}", "is unknown", "write 'left' or 'right'")
    dtype = np.result_type(asarray(a).dtype, asarray(v).dtype)
    return rd.searchsorted(asarray(a, dtype), asarray(v, dtype), side)


# -- order statistics --------------------------------------------------------------------------------------------


def merged_axes(name: str, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return the operand with the reduced axes as one last axis, and these axes."""
    rank = x.ndim
    axes = axes_of(axis, rank, name)
    rest = [a for a in range(rank) if a not in axes]
    moved = mv.transpose(x, [*rest, *axes])
    return mv.reshape(moved, (*[sizes(x)[a] for a in rest], count_along(x, axes))), axes


def _at(ordered, position):
    """Return the elements of the last axis at an integer position, which is a scalar of the program."""
    shape = sizes(ordered)
    index = mv.broadcast_in_dim(iota(shape[-1]), shape, (len(shape) - 1,))
    chosen = ew.eq(index, mv.broadcast_to(position, shape))
    nothing = ew.lift(0, ordered) if ordered.dtype.kind == "b" else ew.neg(ew.lift(0, ordered))  # keeps a -0.0 in a sum
    return rd.reduce_sum(ew.select(chosen, ordered, nothing), (len(shape) - 1,))


def _or_nan(result, ordered):
    """Return a result with NaN where an element is NaN, in the derivative too.

    The ordered elements lie along the last axis; their other axes are the last ones of the result.
    """
    bad = mv.broadcast_to(rd.reduce_or(ew.ne(ordered, ordered), (ordered.ndim - 1,)), sizes(result))
    return ew.mul(result, ew.select(bad, ew.lift(float("nan"), result), 1))


@writes_out
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the median along axes, or NaN if any element is NaN; over no elements it is NaN.

    `axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1. Integers become
    float64. With traced operands `out` must be traced too; `a` is never overwritten.
    """
    dtype = result_type(a)
    x, axes = merged_axes("median", asarray(a, _FLOAT if dtype.kind in "biu" else dtype), axis)
    ordered = rd.sort(x, x.ndim - 1)
    n = sizes(x)[-1]
    warn_below(n, 1, EMPTY_MEAN)
    low, high = _at(ordered, size_value((n - 1) // 2)), _at(ordered, size_value(n // 2))
    odd = mv.broadcast_to(ew.eq(size_value(n % 2), ew.lift(1, size_value(n))), sizes(low))
    total, count = ew.select(odd, low, ew.add(low, high)), ew.select(odd, ew.lift(1, low), ew.lift(2, low))
    middle = ew.div(total, count)  # of one complex number too: an infinite part makes the other one NaN
    filled = ew.ne(size_value(n), ew.lift(0, size_value(n)))
    nan = complex(np.nan, np.nan) if middle.dtype.kind == "c" else np.nan
    middle = ew.select(mv.broadcast_to(filled, sizes(low)), middle, ew.lift(nan, middle))
    if middle.dtype.kind == "c":  # NumPy gives the NaN itself, one part may be a number
        last = _at(ordered, size_value(n - 1))
        return restore_axes(ew.select(ew.ne(last, last), last, middle), axes, bool(keepdims))
    return restore_axes(_or_nan(middle, ordered), axes, bool(keepdims))


_QUANTILE_DOC = """The result has the shape of q followed by the axes that stay. Integers become float64.
`axis` is None (all axes), an int or a tuple of ints; `keepdims` keeps reduced axes with size 1.
A NaN among the elements gives NaN.

Each call requires at least one element. All methods of NumPy are there. `weights` need `method="inverted_cdf"`, and
have the shape of `a`, or one axis for each of the named ones. With traced operands `out` must be traced too."""


def _quantile(name: str, scale: float, summary: str) -> Callable[..., Any]:
    """Build `quantile` (scale 1) or `percentile` (scale 100)."""

    def function(
        a, q, axis = None, out = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, weights = None
    ):  # fmt: skip
        if weights is not None or method != "linear":
            return _by_method(name, scale, a, q, axis, method, keepdims, weights)
        x, axes = merged_axes(name, refuse_kinds(name, asarray(a), "c"), axis)
        level, of = levels_of(name, q, scale)
        context_of(name, x).require(at_least(sizes(x)[-1], 1), "a quantile of nothing")
        ordered = rd.sort(x, x.ndim - 1)
        if level.dtype.kind in "iu":  # the least or the largest element, which may be an integer
            return _element(ordered, ew.convert(level, np.dtype(np.int64)), axes, keepdims)
        return _interpolated(refuse_kinds(name, ordered, "b"), level, result_type(x.dtype, of), axes, keepdims)

    return publish(function, name, __name__, f"{summary}\n\n{_QUANTILE_DOC}")


def _by_method(
    name: str, scale: float, a, q, axis, method: str, keepdims: bool, weights
):  # fmt: skip
    """Return quantiles by another method than "linear", or with weights."""
    x = refuse_kinds(name, asarray(a), "c")
    level, dtype = method_operands(name, scale, q, x.dtype, method, weights)
    lines, axes = merged_axes(name, x, axis)
    context_of(name, x).require(at_least(sizes(lines)[-1], 1), "a quantile of nothing")
    if weights is None:
        ordered = rd.sort(lines, lines.ndim - 1)
        count = mv.broadcast_to(size_value(sizes(lines)[-1]), sizes(lines)[:-1])
        result = quantile_methods.at_levels(ordered, count, level, method, dtype)
    else:
        result, ordered = quantile_methods.weighted(name, lines, weight_lines(name, x, weights, axis), level)
    return _restored(result, ordered, level.ndim, axes, keepdims)


def method_operands(name: str, scale: float, q: Any, kind: np.dtype, method: str, weights: Any) -> tuple[Any, np.dtype]:
    """Return levels between 0 and 1, and the dtype of the result: that of the elements if a method picks them."""
    quantile_methods.choose(name, method, weights)
    level, of = levels_of(name, q, scale)
    if level.dtype.kind != "f":
        level = ew.convert(level, _FLOAT)
        of = of if of is float or method in quantile_methods.WHOLE else _FLOAT
    if method in quantile_methods.PICKING:
        return level, kind
    return level, result_type(refuse_kinds(name, np.empty(0, kind), "b").dtype, of)


def weight_lines(name: str, x: Any, weights: Any, axis: Any) -> Any:
    """Return weights as lines along a last axis, as `merged_axes` does with the elements."""
    aligned = aligned_weights(name, x, as_traced(asarray(weights)), axis, axes_of(axis, x.ndim, name))
    return merged_axes(name, aligned, axis)[0]


def levels_of(name: str, q: Any, scale: float) -> tuple[Any, Any]:
    """Return levels between 0 and 1, and what they count as in promotions; known ones are checked at once.

    A Python number counts as a Python float, though positions are computed in its own dtype.
    """
    message = f"is not between 0 and {scale:g}"
    if not is_traced(q):
        values = plain_array(q, name)
        refuse_kinds(name, values, "c")
        if not np.all((values >= 0) & (values <= scale)):
            raise ArgumentError(name, f"level {q}", message, "pass levels in this range")
    level = asarray(q)
    weak = is_weak(q) and level.dtype.kind != "b"
    if level.dtype.kind == "b" or (level.dtype.kind in "iu" and scale != 1):
        level = ew.convert(level, _FLOAT if scale != 1 else np.dtype(np.int64))
    if is_traced(q):
        refuse_kinds(name, level, "c")
        inside = ew.logical_and(ew.ge(level, ew.lift(0, level)), ew.le(level, ew.lift(scale, level)))
        check(inside, f"{name}: a level {message}")
    level = ew.div(level, ew.lift(scale, level)) if scale != 1 else level
    return level, float if weak else level.dtype


def _element(ordered, level, axes: tuple[int, ...], keepdims: bool):
    """Return the first element of the last axis at level 0, and the last one at level 1."""
    last = mv.broadcast_to(size_value(sizes(ordered)[-1] - 1), sizes(level))
    return _restored(_taken(ordered, ew.mul(level, last)), ordered, level.ndim, axes, keepdims)


def _taken(ordered, position):
    """Return the elements of the last axis at positions, whose axes come first."""
    rank, rest = position.ndim, ordered.ndim - 1
    return mv.move_axes(ix.take(ordered, position, rest), range(rest, rest + rank), range(rank))


def _restored(result, ordered, rank: int, axes: tuple[int, ...], keepdims: bool):
    """Return a result with NaN where an element is NaN, and reduced axes put back behind `rank` axes of levels."""
    if ordered.dtype.kind == "f":
        result = _or_nan(result, ordered)
    return restore_axes(result, tuple([a + rank for a in axes]), bool(keepdims))


def _interpolated(ordered, level, dtype: np.dtype, axes: tuple[int, ...], keepdims: bool):
    """Return the values at a level between two elements of the last axis, interpolated linearly.

    The axes of the level come first.
    """
    rank, count = level.ndim, sizes(ordered)[-1]
    last = ew.convert(size_value(count - 1), level.dtype)
    fractional_index = ew.mul(level, mv.broadcast_to(last, sizes(level)))
    below = ew.floor(fractional_index)
    low = ew.convert(below, np.dtype(np.int64))
    top = mv.broadcast_to(size_value(count - 1), sizes(level))
    high = ew.minimum(ew.add(low, ew.lift(1, low)), top)
    a, b = _taken(ordered, low), _taken(ordered, high)
    at_end = ew.ge(fractional_index, mv.broadcast_to(last, sizes(level)))  # there the last element counts whole
    fraction = ew.select(at_end, ew.lift(1, below), ew.sub(fractional_index, below))
    fraction = mv.broadcast_in_dim(fraction, sizes(a), range(rank))
    return _restored(interpolate(a, b, fraction, dtype), ordered, rank, axes, keepdims)


quantile: Callable[..., Any] = _quantile(
    "quantile", 1, "Return the quantiles of the elements along axes at the levels q, between 0 and 1."
)
percentile: Callable[..., Any] = _quantile(
    "percentile", 100, "Return the percentiles of the elements along axes at the levels q, between 0 and 100."
)


serve(__name__)

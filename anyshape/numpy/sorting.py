"""NumPy's functions that order elements, and order statistics, as compositions of sorting ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import asarray, axis_of, is_traced, result_type, sizes
from anyshape.numpy.reduction_args import keep, numel, reduced_axes, refuse_out
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.apply import context_of
from anyshape.ops.creation import iota, size_value

_FLOAT = np.dtype(np.float64)


def _along(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    x = asarray(a)
    return (mv.reshape(x, (numel(x),)), 0) if axis is None else (x, axis_of(axis, x.ndim, name))


def _refuse_order(name: str, order: Any) -> None:
    if order is not None:
        raise UnsupportedFunctionError(name, "option 'order', for fields", "leave it out", user_line())


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As `numpy.sort`; every algorithm gives the same values."""
    if not is_traced(a):
        return np.sort(a, axis=axis, kind=kind, order=order, stable=stable)
    _refuse_order("sort", order)
    return so.sort(*_along("sort", a, axis))


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """As `numpy.argsort`."""
    if not is_traced(a):
        return np.argsort(a, axis=axis, kind=kind, order=order, stable=stable)
    _refuse_order("argsort", order)
    return so.argsort(*_along("argsort", a, axis), stable=bool(stable) or kind in ("stable", "mergesort"))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """As `numpy.searchsorted`."""
    if not is_traced(a, v, sorter):
        return np.searchsorted(a, v, side=side, sorter=sorter)
    if sorter is not None:
        raise UnsupportedFunctionError("searchsorted", "option 'sorter'", "sort the array before", user_line())
    if side not in ("left", "right"):
        raise ArgumentError("searchsorted", f"side {side!r}", "is unknown", "write 'left' or 'right'")
    dtype = np.result_type(asarray(a).dtype, asarray(v).dtype)
    return so.searchsorted(asarray(a, dtype), asarray(v, dtype), side)


# -- order statistics --------------------------------------------------------------------------------------------


def _merged(name: str, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The operand with the reduced axes as one last axis, and which they were."""
    rank = x.ndim
    axes = reduced_axes(name, axis, rank)
    rest = [a for a in range(rank) if a not in axes]
    moved = mv.transpose(x, [*rest, *axes])
    return mv.reshape(moved, (*[sizes(x)[a] for a in rest], numel(x, axes))), axes


def _at(ordered: Any, position: Any) -> Any:
    """The element of the last axis at an integer position: a scalar of the program."""
    shape = sizes(ordered)
    place = mv.broadcast_in_dim(iota(shape[-1]), shape, (len(shape) - 1,))
    chosen = ew.eq(place, mv.broadcast_to(position, shape))
    return rd.reduce_sum(ew.select(chosen, ordered, ew.lift(0, ordered)), (len(shape) - 1,))


def _or_nan(result: Any, ordered: Any) -> Any:
    """NaN where there was one among the elements: it sorts last."""
    bad = rd.reduce_or(ew.ne(ordered, ordered), (ordered.ndim - 1,))
    return ew.select(bad, ew.lift(float("nan"), result), result)


def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """As `numpy.median`; of nothing it is NaN."""
    if not is_traced(a):
        return np.median(a, axis=axis, out=out, overwrite_input=overwrite_input, keepdims=keepdims)
    refuse_out("median", out)
    dtype = result_type(a)
    x, axes = _merged("median", asarray(a, _FLOAT if dtype.kind in "biu" else dtype), axis)
    ordered = so.sort(x, x.ndim - 1)
    n = sizes(x)[-1]
    low, high = _at(ordered, size_value((n - 1) // 2)), _at(ordered, size_value(n // 2))
    odd = ew.eq(size_value(n % 2), ew.lift(1, size_value(n)))
    middle = ew.select(mv.broadcast_to(odd, sizes(low)), low, ew.div(ew.add(low, high), ew.lift(2, low)))
    filled = ew.ne(size_value(n), ew.lift(0, size_value(n)))
    middle = ew.select(mv.broadcast_to(filled, sizes(low)), middle, ew.lift(float("nan"), middle))
    return keep(_or_nan(middle, ordered), axes, keepdims)


def _quantile(name: str, scale: float) -> Callable[..., Any]:
    """np.quantile (scale 1) or np.percentile (scale 100), interpolated linearly."""
    numpy_function = getattr(np, name)

    def function(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, weights: Any = None,
    ) -> Any:  # fmt: skip
        if not is_traced(a, q, weights):
            options = {"overwrite_input": overwrite_input, "method": method, "keepdims": keepdims, "weights": weights}
            return numpy_function(a, q, axis, out, **options)
        refuse_out(name, out)
        if weights is not None or method != "linear":
            raise UnsupportedFunctionError(name, "an option of a traced array", "use method='linear'", user_line())
        dtype = result_type(a, *[_FLOAT] * (result_type(a).kind in "biu"))
        dtype = result_type(dtype, q)
        x, axes = _merged(name, asarray(a, dtype), axis)
        context_of(name, x).require(at_least(sizes(x)[-1], 1), "a quantile of nothing")
        level = asarray(q, dtype)
        if scale != 1:
            level = ew.div(level, ew.lift(scale, level))
        return _interpolated(so.sort(x, x.ndim - 1), level, axes, keepdims)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, interpolated linearly."
    return function


def _interpolated(ordered: Any, level: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    """Between the two elements of the last axis that the level lies between; the axes of the level come first."""
    rank, count = level.ndim, ordered.ndim
    shape = (*sizes(level), *sizes(ordered))
    wide = mv.broadcast_to(ordered, shape)
    last = ew.convert(size_value(shape[-1] - 1), level.dtype)
    place = ew.mul(level, mv.broadcast_to(last, sizes(level)))
    below = ew.floor(place)
    fraction = mv.broadcast_in_dim(ew.sub(place, below), shape[:-1], range(rank))
    low = ew.convert(below, np.dtype(np.int64))
    top = mv.broadcast_to(size_value(shape[-1] - 1), sizes(level))
    high = ew.minimum(ew.add(low, ew.lift(1, low)), top)
    a, b = (_at(wide, mv.broadcast_in_dim(i, shape, range(rank))) for i in (low, high))
    gap = ew.sub(b, a)
    rising = ew.add(a, ew.mul(gap, fraction))
    falling = ew.sub(b, ew.mul(gap, ew.sub(ew.lift(1, fraction), fraction)))
    result = ew.select(ew.ge(fraction, ew.lift(0.5, fraction)), falling, rising)
    result = _or_nan(result, wide)
    return keep(result, tuple([a + rank for a in axes]), keepdims) if count else result


quantile = _quantile("quantile", 1)
percentile = _quantile("percentile", 100)

"""Compose quantiles by all methods of NumPy, and weighted ones; loaded at first use.

Sources of the methods: R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", 1996, and NumPy's page of
`quantile`. Positions count from 0. Derivatives are taken in the elements, and in levels where a method interpolates.
"""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.numpy import indexing
from anyshape.numpy.movement import ravel
from anyshape.numpy.operands.promotion import choice_of, sizes
from anyshape.numpy.statistics import interpolate
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check
from anyshape.ops.creation import size_value

_POSITION = np.dtype(np.int64)
# alpha and beta of methods whose position is n q + alpha + q (1 - alpha - beta) - 1
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_ROUNDED = {"lower": ew.floor, "higher": ew.ceil, "nearest": ew.rint}  # of the position by "linear"
METHODS = (*_CONTINUOUS, *_ROUNDED, "midpoint", "inverted_cdf", "averaged_inverted_cdf", "closest_observation")
PICKING = frozenset((*_ROUNDED, "inverted_cdf", "closest_observation"))  # methods that give elements as they are
WHOLE = frozenset(("interpolated_inverted_cdf", "weibull", "averaged_inverted_cdf"))  # in integers at levels that are


def choose(name: str, method: Any, weights: Any) -> str:
    """Return the method; raise ArgumentError for a name that NumPy lacks, and for weights of most methods."""
    choice_of(name, "method", method, METHODS)
    if weights is not None and method != "inverted_cdf":
        raise ArgumentError(name, f"method={method!r}", "takes no weights", "use method='inverted_cdf'")
    return method


def _virtual(method: str, n, q) -> tuple[Any, Any]:
    """Return the positions of levels q among n elements, as numbers, and the share of the element above each.

    The share None means the fraction of the position.
    """
    one = ew.lift(1, n)
    if method in _CONTINUOUS and method != "linear":
        alpha, beta = _CONTINUOUS[method]
        shift = ew.add(ew.mul(q, ew.lift(1 - alpha - beta, q)), ew.lift(alpha, q))
        return ew.sub(ew.add(ew.mul(n, q), shift), one), None
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        position = ew.sub(ew.mul(n, q), one)
        if method == "closest_observation":
            position = ew.sub(position, ew.lift(0.5, position))
        below = ew.floor(position)
        is_whole = ew.eq(position, below)
        if method == "averaged_inverted_cdf":
            return position, ew.select(is_whole, ew.lift(0.5, below), ew.lift(1, below))
        if method == "closest_observation":
            is_whole = ew.logical_and(is_whole, ew.eq(ew.remainder(below, ew.lift(2, below)), ew.lift(1, below)))
        return ew.select(is_whole, below, ew.add(below, one)), ew.lift(0, below)
    position = ew.mul(ew.sub(n, one), q)
    if method in _ROUNDED:
        position = _ROUNDED[method](position)
        return position, ew.lift(0, position)
    if method == "midpoint":
        below, above = ew.floor(position), ew.ceil(position)
        is_whole = ew.eq(below, above)
        return ew.mul(ew.add(below, above), ew.lift(0.5, below)), ew.select(is_whole, ew.lift(0, below), 0.5)
    return position, None


def at_levels(ordered: Any, count: Any, level: Any, method: str, dtype: np.dtype) -> Any:
    """Return the quantiles of lines along the last axis; the first `count` elements of each are in order.

    `count` has the axes of the lines. In the result the axes of the levels come first.
    """
    rank, batch, levels = ordered.ndim - 1, sizes(count), ravel(level)
    shape = (*batch, *sizes(levels))
    n = ew.convert(mv.broadcast_in_dim(count, shape, range(rank)), level.dtype)
    position, share = _virtual(method, n, mv.broadcast_in_dim(levels, shape, (rank,)))
    zero, last = ew.lift(0, n), ew.maximum(ew.sub(n, ew.lift(1, n)), ew.lift(0, n))
    below = ew.floor(position)
    is_outside = ew.logical_or(ew.lt(position, zero), ew.ge(position, last))
    low = ew.maximum(ew.minimum(below, last), zero)
    high = ew.select(is_outside, low, ew.minimum(ew.add(low, ew.lift(1, low)), last))
    share = ew.sub(position, below) if share is None else mv.broadcast_to(share, shape)
    a, b = (indexing.take_along_axis(ordered, ew.convert(index, _POSITION), rank) for index in (low, high))
    if method in PICKING or dtype.kind != "f":
        return _levels_first(ew.convert(a, dtype), level, batch)
    return _levels_first(interpolate(a, b, share, dtype), level, batch)


def _levels_first(result, level, batch):
    rank = result.ndim - 1
    return mv.reshape(mv.move_axes(result, (rank,), (0,)), (*sizes(level), *batch))


def weighted(name: str, lines: Any, weights: Any, level: Any, *, skip_nan: bool = False) -> tuple[Any, Any]:
    """Return the quantiles of lines by the inverse of their weighted distribution, and the lines in order.

    With `skip_nan` elements that are NaN have no weight.
    """
    w = ew.convert(weights, np.dtype(np.float64))
    check(ew.ge(w, ew.lift(0, w)), f"{name}: weights must be non-negative")
    rank = lines.ndim - 1
    if skip_nan:
        w = ew.select(ew.isnan(lines), ew.lift(0, w), w)
    order = rd.argsort(lines, rank, stable=True)
    ordered, w = (indexing.take_along_axis(v, order, rank) for v in (lines, w))
    total = rd.reduce_sum(w, (rank,))
    is_sound = ew.logical_and(ew.isfinite(total), ew.ne(total, ew.lift(0, total)))
    if skip_nan:
        is_sound = ew.logical_or(is_sound, rd.reduce_and(ew.isnan(ordered), (rank,)))
    check(is_sound, f"{name}: weights include NaN or inf, or are all zero")
    shares = ew.div(rd.cumsum(w, rank), mv.broadcast_in_dim(total, sizes(w), range(rank)))
    shares = ew.convert(shares, level.dtype)
    shares = ew.select(ew.eq(shares, ew.lift(0, shares)), ew.lift(-1, shares), shares)
    levels = ravel(level)
    shape = (*sizes(ordered), *sizes(levels))
    reached = mv.broadcast_in_dim(shares, shape, range(rank + 1))
    is_below = ew.lt(reached, mv.broadcast_in_dim(levels, shape, (rank + 1,)))
    index = rd.reduce_sum(ew.convert(is_below, _POSITION), (rank,))
    top = mv.broadcast_to(size_value(sizes(ordered)[-1] - 1), sizes(index))
    picked = indexing.take_along_axis(ordered, ew.minimum(index, top), rank)
    return _levels_first(picked, level, sizes(total)), ordered

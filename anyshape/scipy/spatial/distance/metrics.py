"""Distances of vectors along the last axis, with SciPy's definitions.

Lengths are 0 where vectors coincide, and so are their derivatives there.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_distance

Metric = Callable[..., Any]


def total(x: Any, w: Any = None) -> Any:
    """Return weighted sums along the last axis."""
    weighted = x if w is None else x * w
    if weighted.dtype.kind in "iu":  # differences of unsigned numbers that wrapped wrap back
        return real_floats(xp.sum(weighted, axis=-1))
    return xp.sum(weighted if weighted.dtype.kind == "b" else real_floats(weighted), axis=-1, dtype=np.float64)


def _ratio(a, b, otherwise: float = 0.0):
    """Return a quotient, and another number where the divisor is 0."""
    return xp.where(b == 0, otherwise, a / xp.where(b == 0, 1.0, b))


def _root(x, power=0.5):
    """Return a root whose derivative at 0 is 0."""
    return xp.where(x == 0, 0.0, xp.where(x == 0, 1.0, x) ** power)


def sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of squared differences."""
    return _squares(real_floats(u) - real_floats(v), w)


def _squares(difference, w):
    return total(difference * difference, w)


def euclidean(u: Any, v: Any, w: Any = None) -> Any:
    """Return the length of the difference."""
    return _root(_squares(real_floats(u - v), w))


def seuclidean(u: Any, v: Any, V: Any) -> Any:
    """Return the length of the difference, with a variance for each component."""
    return euclidean(u, v, 1 / xp.asarray(V))


def cityblock(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of absolute differences."""
    return total(xp.abs(u - v), w)


def chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    """Return the largest absolute difference, of components with a positive weight."""
    return _largest(xp.abs(u - v), w)


def _largest(difference, w):
    return xp.max(difference if w is None else xp.where(xp.asarray(w) > 0, difference, 0.0), axis=-1, initial=0.0)


def minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the p-norm of the difference."""
    difference = xp.abs(real_floats(u - v))
    if is_traced(p):
        return _root(total(_root(difference, p), w), 1 / p)
    if p <= 0:
        raise ArgumentError("minkowski", f"p={p}", "is not positive", "pass a positive order")
    if np.isinf(p):
        return _largest(difference, w)
    if p in (1, 2):
        return total(difference, w) if p == 1 else euclidean(u, v, w)
    return _root(total(_root(difference, p), w), 1 / p)


def mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    """Return the length of the difference in the metric of an inverse covariance."""
    delta = real_floats(u - v)
    return _root(xp.sum((delta @ xp.asarray(VI)) * delta, axis=-1))


def canberra(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of absolute differences relative to the sum of absolute values; 0 of two zeros."""
    u, v = real_floats(u), real_floats(v)
    return total(_ratio(xp.abs(u - v), xp.abs(u) + xp.abs(v)), w)


def braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    """Return the sum of absolute differences relative to that of absolute sums."""
    u, v = real_floats(u), real_floats(v)
    return total(xp.abs(u - v), w) / total(xp.abs(u + v), w)


def cosine(u: Any, v: Any, w: Any = None) -> Any:
    """Return 1 less the cosine of the angle."""
    wraps = w is None and u.dtype.kind in "biu"  # as in SciPy
    dot = xp.vecdot if wraps else lambda x, y: total(real_floats(x) * real_floats(y), w)
    return xp.clip(1.0 - dot(u, v) / xp.sqrt(real_floats(dot(u, u) * dot(v, v))), 0.0, 2.0)


def correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """Return 1 less the correlation."""
    if centered:
        weights = xp.ones(u.shape[-1]) if w is None else real_floats(w)
        weights = weights / xp.sum(weights)
        u, v = (x - xp.sum(x * weights, axis=-1, keepdims=True) for x in (u, v))
    return cosine(u, v, w)


def _entropy(x, mean):
    """Return x log(x / mean) with the derivative 0 where x is 0, and infinity where one of them is negative."""
    inside = (x > 0) & (mean > 0)
    outside = xp.where((x == 0) & (mean >= 0) | xp.isnan(x + mean), 0.0 * x, np.inf)
    x, mean = xp.where(inside, x, 1.0), xp.where(inside, mean, 1.0)
    return xp.where(inside, x * xp.log(x / mean), outside)


def jensenshannon(u: Any, v: Any, base: Any = None) -> Any:
    """Return the root of the divergence of two distributions from their mean."""
    p, q = (x / xp.sum(x, axis=-1, keepdims=True) for x in (u, v))
    mean = (p + q) / 2.0
    divergence = xp.sum(_entropy(p, mean) + _entropy(q, mean), axis=-1)
    return _root(xp.maximum(divergence if base is None else divergence / xp.log(base), 0.0) / 2.0)


# -- of bools


def hamming(u: Any, v: Any, w: Any = None) -> Any:
    """Return the share of components that differ."""
    return total(u != v, w) / (u.shape[-1] if w is None else xp.sum(xp.asarray(w)))


def _counts(u, v, w) -> tuple[Any, Any, Any, Any]:
    """Return how many components are both true, true in the first or the second alone, and both false."""
    u, v = (xp.asarray(x) != 0 for x in (u, v))
    return total(u & v, w), total(u & ~v, w), total(~u & v, w), total(~u & ~v, w)


def _yule(both, first, second, none):
    mixed = first * second
    return _ratio(2.0 * mixed, both * none + mixed)


def _russellrao(both, first, second, none):
    count = both + first + second + none
    return (count - both) / count


# Dissimilarities of bools, by the numbers of components that `_counts` returns.
OF_COUNTS: Mapping[str, Callable[[Any, Any, Any, Any], Any]] = {
    "dice": lambda both, first, second, none: (first + second) / (2.0 * both + first + second),
    "jaccard": lambda both, first, second, none: _ratio(first + second, both + first + second),
    "rogerstanimoto": lambda both, first, second, none: 2.0 * (first + second) / (both + none + 2.0 * (first + second)),
    "russellrao": _russellrao,
    "sokalsneath": lambda both, first, second, none: 2.0 * (first + second) / (both + 2.0 * (first + second)),
    "yule": _yule,
}


def _of_counts(name: str) -> Metric:
    """Return a dissimilarity of vectors of bools."""
    return lambda u, v, w=None: OF_COUNTS[name](*_counts(u, v, w))


METRICS: Mapping[str, Metric] = {
    **{
        f.__name__: f
        for f in (
            braycurtis, canberra, chebyshev, cityblock, correlation, cosine, euclidean, hamming, jensenshannon,
            mahalanobis, minkowski, seuclidean, sqeuclidean,
        )
    },
    **{name: _of_counts(name) for name in OF_COUNTS},
}  # fmt: skip


KEEPS_DTYPE = ("cityblock", "correlation", "cosine", "sqeuclidean")  # without weights, of two vectors


def _dtype_of_sum(name: str, u, v) -> np.dtype:
    """Return the dtype of a sum without weights in SciPy: that of floats stays, cityblock adds real numbers."""
    dtype = np.result_type(u.dtype, v.dtype)
    if name == "cityblock" or dtype.kind == "f":
        return np.sum(np.abs(np.zeros(0, dtype))).dtype
    return np.dtype(float)


def between(name: str) -> Metric:
    """Return a distance of two vectors; concrete ones go to SciPy."""
    metric = METRICS[name]

    def distance(u, v, *args, **options):
        if not is_traced(u, v, *args, *options.values()):
            return getattr(scipy_distance, name)(u, v, *args, **options)
        u, v = xp.asarray(u), xp.asarray(v)
        if name != "jensenshannon" and (u.ndim != 1 or v.ndim != 1):
            raise ArgumentError(name, "a vector", f"has {max(u.ndim, v.ndim)} axes", "pass vectors")
        if name == "jensenshannon":  # along an axis of arrays
            axis = options.pop("axis", 0)
            u, v = xp.moveaxis(u, axis, -1), xp.moveaxis(v, axis, -1)
        value = metric(u, v, *args, **options)
        keeps = name in KEEPS_DTYPE and not args and options.get("w") is None
        return value.astype(_dtype_of_sum(name, u, v)) if keeps else value

    distance.__name__ = distance.__qualname__ = name
    distance.__doc__ = metric.__doc__ or f"Return the dissimilarity `{name}` of two vectors of bools."
    return distance

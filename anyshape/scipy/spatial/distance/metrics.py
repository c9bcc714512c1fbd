"""Distances of vectors along the last axis, with SciPy's definitions.

Lengths are 0 where vectors coincide, and so are their derivatives there.

Distances of all pairs of rows: `cdist`, `pdist`, and the two forms of symmetric distances.

Distances of all pairs of rows without an array of all components: powers of differences, angles, counts of bools.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.memory import refuse_out
from anyshape.numpy.operands.promotion import as_traced, is_traced, sizes
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import size_value
from anyshape.ops.dynamic import size_from_count
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_distance
from anyshape.transforms.control import check
from anyshape.transforms.vmap import vmap

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
    u, v = _centered(w, u, v) if centered else (u, v)
    return cosine(u, v, w)


def _centered(w, *vectors):
    """Return vectors less their weighted means."""
    weights = xp.ones(vectors[0].shape[-1]) if w is None else real_floats(w)
    weights = weights / xp.sum(weights)
    return [x - xp.sum(x * weights, axis=-1, keepdims=True) for x in vectors]


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


# Dissimilarities of bools, by the numbers of components that `_counts` returns.
OF_COUNTS: Mapping[str, Callable[[Any, Any, Any, Any], Any]] = {
    "dice": lambda both, first, second, none: (first + second) / (2.0 * both + first + second),
    "jaccard": lambda both, first, second, none: _ratio(first + second, both + first + second),
    "rogerstanimoto": lambda both, first, second, none: 2.0 * (first + second) / (both + none + 2.0 * (first + second)),
    "russellrao": lambda both, first, second, none: (first + second + none) / (both + first + second + none),
    "sokalsneath": lambda both, first, second, none: 2.0 * (first + second) / (both + 2.0 * (first + second)),
    "yule": _yule,
}


METRICS: Mapping[str, Metric] = {
    **{
        f.__name__: f
        for f in (
            braycurtis, canberra, chebyshev, cityblock, correlation, cosine, euclidean, hamming, jensenshannon,
            mahalanobis, minkowski, seuclidean, sqeuclidean,
        )
    },
    **{name: lambda u, v, w=None, form=form: form(*_counts(u, v, w)) for name, form in OF_COUNTS.items()},
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


_ALIASES = {
    "ch": "chebyshev", "cheb": "chebyshev", "cheby": "chebyshev", "chebychev": "chebyshev", "c": "cityblock",
    "cb": "cityblock", "cblock": "cityblock", "co": "correlation", "cos": "cosine", "e": "euclidean",
    "eu": "euclidean", "euclid": "euclidean", "h": "hamming", "ha": "hamming", "hamm": "hamming",
    "matching": "hamming", "j": "jaccard", "ja": "jaccard", "jacc": "jaccard", "js": "jensenshannon",
    "mah": "mahalanobis", "mahal": "mahalanobis", "m": "minkowski", "mi": "minkowski", "pnorm": "minkowski",
    "s": "seuclidean", "se": "seuclidean", "sqe": "sqeuclidean", "sqeuclid": "sqeuclidean",
}  # fmt: skip


def _metric(name: str, metric, options: dict[str, Any], a, b) -> tuple[Metric, Any]:
    """Return a distance along the last axis, and the matrix of the distances of rows if there is a short way to it.

    Without b distances are the ones of each two rows of a. SciPy's defaults of some options depend on the rows.
    """
    if callable(metric):
        pair = lambda u, v: metric(u, v, **options)
        return lambda u, v: _mapped(pair, u, v), None
    if (key := _ALIASES.get(str(metric).lower(), str(metric).lower())) not in METRICS:
        raise ArgumentError(name, f"metric={metric!r}", "is not a distance", f"choose one of {', '.join(METRICS)}")
    options = {k: v for k, v in options.items() if v is not None}
    if key == "seuclidean" and "V" not in options:
        options["V"] = xp.var(_stacked(a, b), axis=0, ddof=1)
    if key == "mahalanobis" and "VI" not in options:
        options["VI"] = xp.linalg.inv(xp.atleast_2d(xp.cov(_stacked(a, b).T))).T
    whole = MATRICES[key](a, _or_same(key, a, b), **options) if key in MATRICES else None
    rows = (lambda x: x) if key in OF_COUNTS else real_floats
    return lambda u, v: METRICS[key](rows(u), rows(v), **options), whole


def _or_same(key: str, a, b):
    """Return b, or a in its place for a distance that has no short way without b."""
    return a if b is None and key not in OF_POWERS else b


def _stacked(a, b):
    return a if b is None else xp.concatenate([a, b])


def _mapped(pair: Metric, u, v):
    """Return the values of a function of two vectors for arrays whose last axes these are."""
    shape = xp.broadcast_shapes(u.shape, v.shape)
    u, v = (xp.reshape(xp.broadcast_to(x, shape), (-1, shape[-1])) for x in (u, v))
    return xp.reshape(xp.asarray(vmap(pair)(u, v), np.float64), shape[:-1])


def _rows(name: str, argument: str, x):
    x = xp.asarray(x)
    if x.ndim != 2:
        raise ArgumentError(name, argument, f"has {x.ndim} axes", "pass a matrix, whose rows are points")
    return x if x.dtype.kind == "b" else real_floats(x)


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """Return the distances of each row of XA and each row of XB.

    `metric` is one of SciPy's, or a function of two vectors. The derivative of a length between equal rows is 0.
    Distances that are sums of powers, angles or counts of bools need memory for the result alone, and so do their
    derivatives. Others have an array of the components of all pairs.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy.spatial import distance
    >>> print(grad(lambda x: distance.cdist(x, np.zeros((1, 2))).sum())(np.array([[3.0, 4.0], [0.0, 0.0]])))
    [[0.6 0.8]
     [0.  0. ]]
    """
    refuse_out("cdist", out)
    a, b = _rows("cdist", "XA", XA), _rows("cdist", "XB", XB)
    ctx, left, right = context_of("cdist", a, b), sizes(a)[1], sizes(b)[1]
    ctx.require_equal(left, right, f"rows have {left} and {right} components")
    distance, whole = _metric("cdist", metric, options, a, b)
    return distance(a[:, None, :], b[None, :, :]) if whole is None else whole


def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **options: Any) -> Any:
    """Return the distances of each two rows of X in a vector; see `cdist` and `squareform`."""
    refuse_out("pdist", out)
    x = _rows("pdist", "X", X)
    distance, whole = _metric("pdist", metric, options, x, None)
    if whole is not None:
        return ds.above(as_traced(whole)) if whole.ndim == 2 else whole
    first, second = xp.triu_indices(x.shape[0], 1)
    return distance(x[first], x[second])


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the symmetric matrix of a vector of distances, or the vector of a matrix."""
    x = xp.asarray(X)
    if x.ndim == 2:
        if force.lower() in ("tomatrix", "m"):
            raise ArgumentError("squareform", "X", "is a matrix already", "leave force out")
        if checks:
            check(xp.abs(x - x.T) <= 1e-8 + 1e-5 * xp.abs(x.T), "squareform: the matrix must be symmetric")
            check(xp.diagonal(x) == 0, "squareform: the diagonal of the matrix must be zero")
        return ds.above(as_traced(x))
    if x.ndim != 1 or force.lower() in ("tovector", "v"):
        raise ArgumentError("squareform", "X", f"has {x.ndim} axes", "pass a vector of distances, or a square matrix")
    pairs = xp.asarray(size_value(sizes(x)[0]))
    count = xp.ceil(xp.sqrt(2.0 * pairs)).astype(np.int64)
    count = xp.where(pairs == 0, 1, count)
    check(count * (count - 1) == 2 * pairs, "squareform: the vector must have n * (n - 1) / 2 distances")
    return ds.put_above(as_traced(x), size_from_count(count), both=True)


Matrix = Callable[..., Any]


def _powers(power, *, root: bool) -> Matrix:
    """Return the sums of powers of differences, or their roots; None where the weights are traced."""

    def matrix(a, b, w=None):
        if is_traced(w):
            return None
        scale = None
        if w is not None:
            weights = np.asarray(w, np.float64)
            if (weights < 0).any():
                raise ArgumentError("cdist", "w", "has a negative weight", "pass weights of 0 or more")
            scale = weights ** (1 / power)
        return _of_rows(a, b, scale, power, root)

    return matrix


def _of_rows(a, b, scale, power, root):
    """Return the sums of powers of scaled differences; without b a vector, of each two rows of a."""
    rows = [real_floats(x) if scale is None else real_floats(x) * scale for x in (a, b) if x is not None]
    return ds.pair_distances(*rows, power=power, root=root)


def _minkowski(a, b, p=2, w=None):
    """Return the p-norms of differences; None where the order needs the components."""
    return None if is_traced(p) or not 0 < p < np.inf else _powers(p, root=p != 1)(a, b, w)


def _cosine(a, b, w=None):
    """Return 1 less the cosines of angles."""
    a, b = real_floats(a), real_floats(b)
    squares = total(a * a, w)[:, None] * total(b * b, w)[None, :]
    return xp.clip(1.0 - (a if w is None else a * w) @ b.T / xp.sqrt(squares), 0.0, 2.0)


def _correlation(a, b, w=None, centered: bool = True):
    """Return 1 less the correlations."""
    a, b = real_floats(a), real_floats(b)
    a, b = _centered(w, a, b) if centered else (a, b)
    return _cosine(a, b, w)


def _pairs_of_counts(name: str) -> Matrix:
    """Return a dissimilarity of bools by products of matrices, which count."""

    def matrix(a, b, w=None):
        u, v = (real_floats(x != 0) for x in (a, b))
        weighted = u if w is None else u * w
        both, in_first, in_second = weighted @ v.T, total(u, w)[:, None], total(v, w)[None, :]
        count = a.shape[-1] if w is None else xp.sum(real_floats(w))
        return OF_COUNTS[name](both, in_first - both, in_second - both, count - in_first - in_second + both)

    return matrix


OF_POWERS = ("cityblock", "sqeuclidean", "euclidean", "minkowski", "seuclidean")
MATRICES: Mapping[str, Matrix] = {
    "cityblock": _powers(1, root=False),
    "sqeuclidean": _powers(2, root=False),
    "euclidean": _powers(2, root=True),
    "minkowski": _minkowski,
    "seuclidean": lambda a, b, V: _of_rows(a, b, 1 / xp.sqrt(xp.asarray(V, np.float64)), 2, True),
    "cosine": _cosine,
    "correlation": _correlation,
    **{name: _pairs_of_counts(name) for name in OF_COUNTS},
}

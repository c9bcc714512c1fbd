"""Distances of all pairs of rows: `cdist`, `pdist`, and the two forms of symmetric distances.

Distances of all pairs of rows without an array of all components: powers of differences, angles, counts of bools.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.numpy.operands.reduction_args import refuse_out
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import iota, size_value
from anyshape.ops.dynamic import size_from_count
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.spatial.distance.metrics import METRICS, OF_COUNTS, Metric, total
from anyshape.transforms.control import check
from anyshape.transforms.vmap import vmap

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

    SciPy's defaults of some options depend on the rows.
    """
    if callable(metric):
        pair = lambda u, v: metric(u, v, **options)
        return lambda u, v: _mapped(pair, u, v), None
    key = _ALIASES.get(str(metric).lower(), str(metric).lower())
    if key not in METRICS:
        raise ArgumentError(name, f"metric={metric!r}", "is not a distance", f"choose one of {', '.join(METRICS)}")
    options = {k: v for k, v in options.items() if v is not None}
    if key == "seuclidean" and "V" not in options:
        options["V"] = xp.var(_stacked(a, b), axis=0, ddof=1)
    if key == "mahalanobis" and "VI" not in options:
        options["VI"] = xp.linalg.inv(xp.atleast_2d(xp.cov(_stacked(a, b).T))).T
    whole = MATRICES[key](a, b, **options) if key in MATRICES else None
    rows = (lambda x: x) if key in OF_COUNTS else real_floats
    return lambda u, v: METRICS[key](rows(u), rows(v), **options), whole


def _stacked(a, b):
    return a if a is b else xp.concatenate([a, b])


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
    distance, whole = _metric("pdist", metric, options, x, x)
    first, second = xp.triu_indices(x.shape[0], 1)
    return distance(x[first], x[second]) if whole is None else whole[first, second]


def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """Return the symmetric matrix of a vector of distances, or the vector of a matrix."""
    x = xp.asarray(X)
    if x.ndim == 2:
        if force.lower() in ("tomatrix", "m"):
            raise ArgumentError("squareform", "X", "is a matrix already", "leave force out")
        if checks:
            check(xp.abs(x - x.T) <= 1e-8 + 1e-5 * xp.abs(x.T), "squareform: the matrix must be symmetric")
            check(xp.diagonal(x) == 0, "squareform: the diagonal of the matrix must be zero")
        first, second = xp.triu_indices(x.shape[0], 1)
        return x[first, second]
    if x.ndim != 1 or force.lower() in ("tovector", "v"):
        raise ArgumentError("squareform", "X", f"has {x.ndim} axes", "pass a vector of distances, or a square matrix")
    pairs = xp.asarray(size_value(sizes(x)[0]))
    count = xp.ceil(xp.sqrt(2.0 * pairs)).astype(np.int64)
    count = xp.where(pairs == 0, 1, count)
    check(count * (count - 1) == 2 * pairs, "squareform: the vector must have n * (n - 1) / 2 distances")
    n = size_from_count(count)
    i, j = iota(n)[:, None], iota(n)[None, :]
    low, high = xp.minimum(i, j), xp.maximum(i, j)
    position = low * count - low * (low + 1) // 2 + high - low - 1
    padded = xp.concatenate([x, xp.zeros(1, x.dtype)])
    return padded[xp.where(i == j, pairs, position)]


Matrix = Callable[..., Any]


def _powers(power, *, root: bool) -> Matrix:
    """Return the sums of powers of differences, or their roots; None where the weights are traced."""

    def matrix(a, b, w=None):
        a, b = real_floats(a), real_floats(b)
        if is_traced(w):
            return None
        if w is not None:
            weights = np.asarray(w, np.float64)
            if (weights < 0).any():
                raise ArgumentError("cdist", "w", "has a negative weight", "pass weights of 0 or more")
            scale = weights ** (1 / power)
            a, b = a * scale, b * scale
        return ds.pair_distances(a, b, power=power, root=root)

    return matrix


def _minkowski(a, b, p=2, w=None):
    """Return the p-norms of differences; None where the order needs the components."""
    if is_traced(p) or not 0 < p < np.inf:
        return None
    return _powers(p, root=p != 1)(a, b, w)


def _seuclidean(a, b, V):
    scale = xp.sqrt(xp.asarray(V, np.float64))
    return ds.pair_distances(real_floats(a) / scale, real_floats(b) / scale, power=2, root=True)


def _cosine(a, b, w=None):
    """Return 1 less the cosines of angles."""
    a, b = real_floats(a), real_floats(b)
    squares = total(a * a, w)[:, None] * total(b * b, w)[None, :]
    return xp.clip(1.0 - (a if w is None else a * w) @ b.T / xp.sqrt(squares), 0.0, 2.0)


def _correlation(a, b, w=None, centered: bool = True):
    """Return 1 less the correlations."""
    a, b = real_floats(a), real_floats(b)
    if centered:
        weights = xp.ones(a.shape[-1]) if w is None else real_floats(w)
        weights = weights / xp.sum(weights)
        a, b = (x - xp.sum(x * weights, axis=-1, keepdims=True) for x in (a, b))
    return _cosine(a, b, w)


def _of_counts(name: str) -> Matrix:
    """Return a dissimilarity of bools by products of matrices, which count."""

    def matrix(a, b, w=None):
        u, v = (real_floats(x != 0) for x in (a, b))
        weighted = u if w is None else u * w
        both, in_first, in_second = weighted @ v.T, total(u, w)[:, None], total(v, w)[None, :]
        count = a.shape[-1] if w is None else xp.sum(real_floats(w))
        return OF_COUNTS[name](both, in_first - both, in_second - both, count - in_first - in_second + both)

    return matrix


MATRICES: Mapping[str, Matrix] = {
    "cityblock": _powers(1, root=False),
    "sqeuclidean": _powers(2, root=False),
    "euclidean": _powers(2, root=True),
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "cosine": _cosine,
    "correlation": _correlation,
    **{name: _of_counts(name) for name in OF_COUNTS},
}

"""Distances of all pairs of rows without an array of all components: powers of differences, angles, counts of bools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced
from anyshape.ops import distances as ds
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.spatial.distance.metrics import OF_COUNTS, total

Matrix = Callable[..., Any]


def _powers(power: Any, *, root: bool) -> Matrix:
    """Return the sums of powers of differences, or their roots; None where the weights are traced."""

    def matrix(a: Any, b: Any, w: Any = None) -> Any:
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


def _minkowski(a: Any, b: Any, p: Any = 2, w: Any = None) -> Any:
    """Return the p-norms of differences; None where the order needs the components."""
    if is_traced(p) or not 0 < p < np.inf:
        return None
    return _powers(p, root=p != 1)(a, b, w)


def _seuclidean(a: Any, b: Any, V: Any) -> Any:
    scale = xp.sqrt(xp.asarray(V, np.float64))
    return ds.pair_distances(real_floats(a) / scale, real_floats(b) / scale, power=2, root=True)


def _cosine(a: Any, b: Any, w: Any = None) -> Any:
    """Return 1 less the cosines of angles."""
    a, b = real_floats(a), real_floats(b)
    squares = total(a * a, w)[:, None] * total(b * b, w)[None, :]
    return xp.clip(1.0 - (a if w is None else a * w) @ b.T / xp.sqrt(squares), 0.0, 2.0)


def _correlation(a: Any, b: Any, w: Any = None, centered: bool = True) -> Any:
    """Return 1 less the correlations."""
    a, b = real_floats(a), real_floats(b)
    if centered:
        weights = xp.ones(a.shape[-1]) if w is None else real_floats(w)
        weights = weights / xp.sum(weights)
        a, b = (x - xp.sum(x * weights, axis=-1, keepdims=True) for x in (a, b))
    return _cosine(a, b, w)


def _of_counts(name: str) -> Matrix:
    """Return a dissimilarity of bools by products of matrices, which count."""

    def matrix(a: Any, b: Any, w: Any = None) -> Any:
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

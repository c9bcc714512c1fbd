"""Distances of `scipy.spatial.distance` for traced and concrete arrays, at any size.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.spatial.distance.metrics import METRICS, between
from anyshape.scipy.spatial.distance.pairs import cdist, pdist, squareform
from anyshape.support.packages import scipy_distance

__all__ = ["cdist", "pdist", "squareform"]

_SCIPY = Module(scipy_distance, "scipy.spatial.distance")


def __getattr__(name: str) -> Any:
    """Return a distance of two vectors, or what a further name of SciPy stands for."""
    return between(name) if name in METRICS else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

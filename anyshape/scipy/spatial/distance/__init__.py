"""Distances of `scipy.spatial.distance` for traced and concrete arrays, at any size.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.scipy.operands.served import Module
from anyshape.scipy.spatial.distance.metrics import METRICS, between
from anyshape.support.packages import scipy_distance

_SERVED = Module(scipy_distance, "scipy.spatial.distance", own={}, through={"metrics": "cdist pdist squareform"})
__all__ = [*_SERVED.own]
__dir__ = _SERVED.public_names


def __getattr__(name: str) -> Any:
    """Return a distance of two vectors, or what a further name of SciPy stands for."""
    return between(name) if name in METRICS else _SERVED.named(name)

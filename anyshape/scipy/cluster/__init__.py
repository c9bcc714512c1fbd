"""Functions of `scipy.cluster`: vector quantisation of traced arrays, and SciPy's own names."""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.cluster import vq
from anyshape.support.packages import scipy_cluster

__all__ = ["vq"]

_SCIPY = Module(scipy_cluster, "scipy.cluster")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

"""Functions of `scipy.spatial`: distances and rotations of traced arrays. SciPy's own names refuse these."""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.spatial import distance, transform
from anyshape.support.packages import scipy_spatial

__all__ = ["distance", "transform"]

_SCIPY = Module(scipy_spatial, "scipy.spatial")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

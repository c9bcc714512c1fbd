"""Rotations of `scipy.spatial.transform`, traced or concrete.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.spatial.transform.rotations import Rotation, Slerp
from anyshape.support.packages import scipy_transform

__all__ = ["Rotation", "Slerp"]

_SCIPY = Module(scipy_transform, "scipy.spatial.transform")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

"""NumPy's linear algebra under the name of `autograd.numpy.linalg`, with its transpose of matrices."""

from typing import Any

from anyshape import numpy as _numpy
from anyshape.numpy import linalg as _linalg


def T(x: Any) -> Any:
    """Return matrices with their last two axes exchanged."""
    return _numpy.swapaxes(x, -1, -2)


def _dot(x: Any, y: Any) -> Any:
    """Return products of matrices."""
    return _numpy.einsum("...ij,...jk->...ik", x, y)


def __getattr__(name: str) -> Any:
    """Return what a name stands for in `anyshape.numpy.linalg`."""
    return getattr(_linalg, name)

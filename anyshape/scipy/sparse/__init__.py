"""Sparse arrays of `scipy.sparse` whose values may be traced, and products with them.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.sparse import linalg
from anyshape.scipy.sparse.arrays import coo_array, csc_array, csr_array, issparse, isspmatrix
from anyshape.support.packages import scipy_sparse

__all__ = ["coo_array", "csc_array", "csr_array", "issparse", "isspmatrix", "linalg"]

_SCIPY = Module(scipy_sparse, "scipy.sparse")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

"""Sparse arrays of `scipy.sparse` whose values may be traced, and products with them.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.sparse import linalg
from anyshape.scipy.sparse.arrays import SparseMatrix, coo_array, csc_array, csr_array
from anyshape.support.packages import scipy_sparse

__all__ = ["coo_array", "csc_array", "csr_array", "issparse", "isspmatrix", "linalg"]

_SCIPY = Module(scipy_sparse, "scipy.sparse")


def issparse(x: Any) -> bool:
    """Return whether x is a sparse array: a traced array is none.

    >>> import numpy as np
    >>> from anyshape.scipy import sparse
    >>> sparse.issparse(sparse.csr_array(np.eye(2))), sparse.issparse(np.eye(2))
    (True, False)
    """
    return isinstance(x, SparseMatrix) or bool(scipy_sparse.issparse(x))


def isspmatrix(x: Any) -> bool:
    """Return whether x is a sparse matrix of SciPy's old interface.

    >>> import numpy as np
    >>> from anyshape.scipy import sparse
    >>> sparse.isspmatrix(np.eye(2))
    False
    """
    return bool(scipy_sparse.isspmatrix(x))


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

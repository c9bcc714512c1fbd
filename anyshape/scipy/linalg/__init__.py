"""Functions of `scipy.linalg` for traced and concrete arrays, at any size.

Matrices are in the last two axes, and leading axes are a batch. Concrete arguments go to SciPy itself. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from numpy.linalg import LinAlgError

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.linalg.factoring import cholesky, eigh, eigvals, eigvalsh, polar, qr, svd, svdvals
from anyshape.scipy.linalg.functions import expm
from anyshape.scipy.linalg.solving import cho_factor, cho_solve, det, inv, lstsq, norm, solve, solve_triangular
from anyshape.scipy.linalg.structured import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    diagsvd,
    hankel,
    toeplitz,
)
from anyshape.support.packages import scipy_linalg

__all__ = [
    "LinAlgError", "block_diag", "cho_factor", "cho_solve", "cholesky", "circulant", "companion", "convolution_matrix",
    "det", "diagsvd", "eigh", "eigvals", "eigvalsh", "expm", "hankel", "inv", "lstsq", "norm", "polar", "qr", "solve",
    "solve_triangular", "svd", "svdvals", "toeplitz",
]  # fmt: skip

_SCIPY = Module(scipy_linalg, "scipy.linalg")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

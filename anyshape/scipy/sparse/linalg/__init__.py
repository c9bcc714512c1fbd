"""Solvers of `scipy.sparse.linalg` for traced matrices and functions, with the derivatives of the equations.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.sparse.linalg.solvers import (
    bicgstab,
    cg,
    expm_multiply,
    factorized,
    gmres,
    spsolve,
    spsolve_triangular,
)
from anyshape.support.packages import scipy_sparse_linalg

__all__ = ["bicgstab", "cg", "expm_multiply", "factorized", "gmres", "spsolve", "spsolve_triangular"]

_SCIPY = Module(scipy_sparse_linalg, "scipy.sparse.linalg")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

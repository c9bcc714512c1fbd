"""Solvers of `scipy.sparse.linalg` for traced matrices and functions, with the derivatives of the equations.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_sparse_linalg

_SERVED = Module(
    scipy_sparse_linalg,
    "scipy.sparse.linalg",
    own={"solvers": "bicgstab cg expm_multiply factorized gmres spsolve spsolve_triangular"},
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names

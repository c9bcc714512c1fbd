"""Solvers of `scipy.sparse.linalg` for traced matrices and functions, with the derivatives of the equations.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.sparse.linalg import ArpackError as ArpackError
from scipy.sparse.linalg import ArpackNoConvergence as ArpackNoConvergence
from scipy.sparse.linalg import LaplacianNd as LaplacianNd
from scipy.sparse.linalg import LinearOperator as LinearOperator
from scipy.sparse.linalg import MatrixRankWarning as MatrixRankWarning
from scipy.sparse.linalg import SuperLU as SuperLU
from scipy.sparse.linalg import aslinearoperator as aslinearoperator
from scipy.sparse.linalg import bicg as bicg
from scipy.sparse.linalg import cgs as cgs
from scipy.sparse.linalg import dsolve as dsolve
from scipy.sparse.linalg import eigen as eigen
from scipy.sparse.linalg import eigs as eigs
from scipy.sparse.linalg import eigsh as eigsh
from scipy.sparse.linalg import expm as expm
from scipy.sparse.linalg import funm_multiply_krylov as funm_multiply_krylov
from scipy.sparse.linalg import gcrotmk as gcrotmk
from scipy.sparse.linalg import interface as interface
from scipy.sparse.linalg import inv as inv
from scipy.sparse.linalg import is_sptriangular as is_sptriangular
from scipy.sparse.linalg import isolve as isolve
from scipy.sparse.linalg import lgmres as lgmres
from scipy.sparse.linalg import lobpcg as lobpcg
from scipy.sparse.linalg import lsmr as lsmr
from scipy.sparse.linalg import lsqr as lsqr
from scipy.sparse.linalg import matfuncs as matfuncs
from scipy.sparse.linalg import matrix_power as matrix_power
from scipy.sparse.linalg import minres as minres
from scipy.sparse.linalg import norm as norm
from scipy.sparse.linalg import onenormest as onenormest
from scipy.sparse.linalg import qmr as qmr
from scipy.sparse.linalg import spbandwidth as spbandwidth
from scipy.sparse.linalg import spilu as spilu
from scipy.sparse.linalg import splu as splu
from scipy.sparse.linalg import svds as svds
from scipy.sparse.linalg import tfqmr as tfqmr
from scipy.sparse.linalg import use_solver as use_solver

from anyshape.scipy.sparse.linalg.solvers import expm_multiply as expm_multiply
from anyshape.scipy.sparse.linalg.solvers import factorized as factorized
from anyshape.scipy.sparse.linalg.solvers import spsolve as spsolve

def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> Any:
    """Return the solution of A x = b by stabilised biconjugate gradients, and SciPy's code; see `cg`."""

def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> Any:
    """Return the solution of a Hermitian positive definite equation A x = b, and SciPy's code, 0 for convergence."""

def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    restart: Any = None,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    callback_type: Any = None,
) -> Any:
    """Return the solution of A x = b by generalised minimal residuals, and SciPy's code; see `cg` and `bicgstab`."""

def spsolve_triangular(
    A: Any, b: Any, lower: Any = True, overwrite_A: Any = False, overwrite_b: Any = False, unit_diagonal: Any = False
) -> Any:
    """Return the solution of A x = b for a sparse triangular matrix, like `spsolve`."""

"""Functions of `scipy.linalg` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.linalg import LinAlgError as LinAlgError
from scipy.linalg import LinAlgWarning as LinAlgWarning
from scipy.linalg import basic as basic
from scipy.linalg import blas as blas
from scipy.linalg import clarkson_woodruff_transform as clarkson_woodruff_transform
from scipy.linalg import companion as companion
from scipy.linalg import convolution_matrix as convolution_matrix
from scipy.linalg import coshm as coshm
from scipy.linalg import cosm as cosm
from scipy.linalg import cython_blas as cython_blas
from scipy.linalg import cython_lapack as cython_lapack
from scipy.linalg import decomp as decomp
from scipy.linalg import decomp_cholesky as decomp_cholesky
from scipy.linalg import decomp_lu as decomp_lu
from scipy.linalg import decomp_qr as decomp_qr
from scipy.linalg import decomp_schur as decomp_schur
from scipy.linalg import decomp_svd as decomp_svd
from scipy.linalg import dft as dft
from scipy.linalg import eigvals as eigvals
from scipy.linalg import eigvals_banded as eigvals_banded
from scipy.linalg import eigvalsh as eigvalsh
from scipy.linalg import eigvalsh_tridiagonal as eigvalsh_tridiagonal
from scipy.linalg import find_best_blas_type as find_best_blas_type
from scipy.linalg import get_blas_funcs as get_blas_funcs
from scipy.linalg import get_lapack_funcs as get_lapack_funcs
from scipy.linalg import helmert as helmert
from scipy.linalg import hilbert as hilbert
from scipy.linalg import khatri_rao as khatri_rao
from scipy.linalg import lapack as lapack
from scipy.linalg import matfuncs as matfuncs
from scipy.linalg import misc as misc
from scipy.linalg import orthogonal_procrustes as orthogonal_procrustes
from scipy.linalg import sinhm as sinhm
from scipy.linalg import sinm as sinm
from scipy.linalg import special_matrices as special_matrices
from scipy.linalg import svdvals as svdvals
from scipy.linalg import tanhm as tanhm
from scipy.linalg import tanm as tanm

from anyshape.scipy.linalg.factoring import cdf2rdf as cdf2rdf
from anyshape.scipy.linalg.factoring import cho_factor as cho_factor
from anyshape.scipy.linalg.factoring import cho_solve as cho_solve
from anyshape.scipy.linalg.factoring import cholesky as cholesky
from anyshape.scipy.linalg.factoring import det as det
from anyshape.scipy.linalg.factoring import eig as eig
from anyshape.scipy.linalg.factoring import expm_cond as expm_cond
from anyshape.scipy.linalg.factoring import hessenberg as hessenberg
from anyshape.scipy.linalg.factoring import inv as inv
from anyshape.scipy.linalg.factoring import lu_factor as lu_factor
from anyshape.scipy.linalg.factoring import lu_solve as lu_solve
from anyshape.scipy.linalg.factoring import norm as norm
from anyshape.scipy.linalg.factoring import null_space as null_space
from anyshape.scipy.linalg.factoring import orth as orth
from anyshape.scipy.linalg.factoring import pinv as pinv
from anyshape.scipy.linalg.factoring import pinvh as pinvh
from anyshape.scipy.linalg.factoring import polar as polar
from anyshape.scipy.linalg.factoring import qr_multiply as qr_multiply
from anyshape.scipy.linalg.factoring import qr_update as qr_update
from anyshape.scipy.linalg.factoring import rq as rq
from anyshape.scipy.linalg.factoring import rsf2csf as rsf2csf
from anyshape.scipy.linalg.factoring import subspace_angles as subspace_angles
from anyshape.scipy.linalg.functions import bandwidth as bandwidth
from anyshape.scipy.linalg.functions import cho_solve_banded as cho_solve_banded
from anyshape.scipy.linalg.functions import cholesky_banded as cholesky_banded
from anyshape.scipy.linalg.functions import eigh_tridiagonal as eigh_tridiagonal
from anyshape.scipy.linalg.functions import expm as expm
from anyshape.scipy.linalg.functions import expm_frechet as expm_frechet
from anyshape.scipy.linalg.functions import fractional_matrix_power as fractional_matrix_power
from anyshape.scipy.linalg.functions import funm as funm
from anyshape.scipy.linalg.functions import ishermitian as ishermitian
from anyshape.scipy.linalg.functions import issymmetric as issymmetric
from anyshape.scipy.linalg.functions import logm as logm
from anyshape.scipy.linalg.functions import matmul_toeplitz as matmul_toeplitz
from anyshape.scipy.linalg.functions import signm as signm
from anyshape.scipy.linalg.functions import solve_banded as solve_banded
from anyshape.scipy.linalg.functions import solve_circulant as solve_circulant
from anyshape.scipy.linalg.functions import solve_continuous_are as solve_continuous_are
from anyshape.scipy.linalg.functions import solve_continuous_lyapunov as solve_continuous_lyapunov
from anyshape.scipy.linalg.functions import solve_discrete_are as solve_discrete_are
from anyshape.scipy.linalg.functions import solve_discrete_lyapunov as solve_discrete_lyapunov
from anyshape.scipy.linalg.functions import solve_sylvester as solve_sylvester
from anyshape.scipy.linalg.functions import solve_toeplitz as solve_toeplitz
from anyshape.scipy.linalg.functions import sqrtm as sqrtm
from anyshape.scipy.linalg.structured import block_diag as block_diag
from anyshape.scipy.linalg.structured import circulant as circulant
from anyshape.scipy.linalg.structured import diagsvd as diagsvd
from anyshape.scipy.linalg.structured import fiedler as fiedler
from anyshape.scipy.linalg.structured import fiedler_companion as fiedler_companion
from anyshape.scipy.linalg.structured import hadamard as hadamard
from anyshape.scipy.linalg.structured import hankel as hankel
from anyshape.scipy.linalg.structured import invhilbert as invhilbert
from anyshape.scipy.linalg.structured import invpascal as invpascal
from anyshape.scipy.linalg.structured import leslie as leslie
from anyshape.scipy.linalg.structured import pascal as pascal
from anyshape.scipy.linalg.structured import toeplitz as toeplitz

def cossin(
    X: Any,
    p: Any = None,
    q: Any = None,
    separate: Any = False,
    swap_sign: Any = False,
    compute_u: Any = True,
    compute_vh: Any = True,
) -> Any:
    """Return (u, cs, vh) with u cs vh = X, for a unitary matrix X or its four blocks: u and vh are block diagonal."""

def eig_banded(
    a_band: Any,
    lower: Any = False,
    eigvals_only: Any = False,
    overwrite_a_band: Any = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: Any = 0,
    check_finite: Any = True,
) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of Hermitian banded matrices."""

def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    eigvals_only: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """Return the ascending eigenvalues and the eigenvectors of Hermitian matrices, or of the pencil a v = w b v."""

def ldl(A: Any, lower: Any = True, hermitian: Any = True, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """Return (l, d, perm) with l d l^H = A for Hermitian matrices of shape (..., n, n): l[perm] is triangular."""

def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = None,
) -> Any:
    """Return (x, residues, rank, s) of least squares for a of shape (m, n), as `numpy.linalg.lstsq` does."""

def lu(
    a: Any, permute_l: Any = False, overwrite_a: Any = False, check_finite: Any = True, p_indices: Any = False
) -> Any:
    """Return (p, l, u) with p l u = a for matrices (..., m, n): p permutes rows, l has ones on its diagonal."""

def matrix_balance(
    A: Any, permute: Any = True, scale: Any = True, separate: Any = False, overwrite_a: Any = False
) -> Any:
    """Return (b, t) with t b = A t: t permutes and scales by powers of 2, so that rows and columns have close norms."""

def ordqz(
    A: Any,
    B: Any,
    sort: Any = "lhp",
    output: Any = "real",
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    """Return (aa, bb, alpha, beta, q, z): factors as of `qz`, eigenvalues alpha / beta, the ones of `sort` first."""

def qr(
    a: Any,
    overwrite_a: Any = False,
    lwork: Any = None,
    mode: Any = "full",
    pivoting: Any = False,
    check_finite: Any = True,
) -> Any:
    """Return (q, r) with q r = a for matrices of shape (..., m, n), or (r,) for mode "r": r is upper triangular."""

def qr_delete(
    Q: Any, R: Any, k: Any, p: Any = 1, which: Any = "row", overwrite_qr: Any = False, check_finite: Any = True
) -> Any:
    """Return the factors of Q R without p rows or columns from position k on; both are ints."""

def qr_insert(
    Q: Any,
    R: Any,
    u: Any,
    k: Any,
    which: Any = "row",
    rcond: Any = None,
    overwrite_qru: Any = False,
    check_finite: Any = True,
) -> Any:
    """Return the factors of Q R with rows or columns u inserted before position k, an int."""

def qz(
    A: Any,
    B: Any,
    output: Any = "real",
    lwork: Any = None,
    sort: Any = None,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    """Return triangular aa and bb and unitary q and z with q aa z^H = A and q bb z^H = B."""

def schur(
    a: Any,
    output: Any = "real",
    lwork: Any = None,
    overwrite_a: Any = False,
    sort: Any = None,
    check_finite: Any = True,
) -> Any:
    """Return triangular t and unitary z with z t z^H = a; real ones may have blocks of 2 by 2 on the diagonal of t."""

def solve(
    a: Any,
    b: Any,
    lower: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
    assume_a: Any = None,
    transposed: Any = False,
) -> Any:
    """Return x with a x = b for square matrices a (..., n, n) and b of shape (n,) or (..., n, k)."""

def solve_lyapunov(a: Any, q: Any) -> Any:
    """Return x with a x + x a^H = q."""

def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: Any = False,
    unit_diagonal: Any = False,
    overwrite_b: Any = False,
    check_finite: Any = True,
) -> Any:
    """Return x with a x = b for triangular matrices a of shape (..., n, n) and b of shape (n,) or (..., n, k)."""

def solveh_banded(
    ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, lower: Any = False, check_finite: Any = True
) -> Any:
    """Return x with a x = b for the Hermitian positive definite banded matrix that has the side ab."""

def svd(
    a: Any,
    full_matrices: Any = True,
    compute_uv: Any = True,
    overwrite_a: Any = False,
    check_finite: Any = True,
    lapack_driver: Any = "gesdd",
) -> Any:
    """Return (u, s, vh) with u s vh = a for matrices a of shape (..., m, n), or s alone without `compute_uv`."""

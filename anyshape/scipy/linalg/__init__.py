"""Functions of `scipy.linalg` for traced and concrete arrays, at any size.

Matrices are in the last two axes, and leading axes are a batch. Concrete arguments go to SciPy itself. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from numpy.linalg import LinAlgError

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.linalg.banded import (
    eigh_tridiagonal,
    eigvalsh_tridiagonal,
    matmul_toeplitz,
    solve_banded,
    solve_circulant,
    solve_toeplitz,
    solveh_banded,
)
from anyshape.scipy.linalg.banded_factors import (
    bandwidth,
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigvals_banded,
    ishermitian,
    issymmetric,
)
from anyshape.scipy.linalg.constant_matrices import hadamard, helmert, invhilbert, invpascal, pascal
from anyshape.scipy.linalg.factoring import cholesky, eigh, eigvals, eigvalsh, polar, qr, svd, svdvals
from anyshape.scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    signm,
    sinhm,
    sinm,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
    sqrtm,
    tanhm,
    tanm,
)
from anyshape.scipy.linalg.further_factors import cdf2rdf, cossin, expm_cond, ldl, matrix_balance, ordqz, qz
from anyshape.scipy.linalg.riccati import solve_continuous_are, solve_discrete_are
from anyshape.scipy.linalg.solving import cho_factor, cho_solve, det, inv, lstsq, norm, solve, solve_triangular
from anyshape.scipy.linalg.structured import (
    block_diag,
    circulant,
    companion,
    convolution_matrix,
    dft,
    diagsvd,
    fiedler,
    fiedler_companion,
    hankel,
    hilbert,
    khatri_rao,
    leslie,
    toeplitz,
)
from anyshape.scipy.linalg.subspaces import eig, null_space, orth, orthogonal_procrustes, pinv, pinvh, subspace_angles
from anyshape.scipy.linalg.triangular_forms import hessenberg, lu, lu_factor, lu_solve, qr_multiply, rq, rsf2csf, schur
from anyshape.scipy.linalg.updates import qr_delete, qr_insert, qr_update
from anyshape.support.packages import scipy_linalg

__all__ = [
    "LinAlgError", "bandwidth", "block_diag", "cdf2rdf", "cho_factor", "cho_solve", "cho_solve_banded", "cholesky",
    "cholesky_banded", "circulant", "companion", "convolution_matrix", "coshm", "cosm", "cossin", "det", "dft",
    "diagsvd", "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded", "eigvalsh",
    "eigvalsh_tridiagonal", "expm", "expm_cond", "expm_frechet", "fiedler", "fiedler_companion",
    "fractional_matrix_power", "funm", "hadamard", "hankel", "helmert", "hessenberg", "hilbert", "inv", "invhilbert",
    "invpascal", "ishermitian", "issymmetric", "khatri_rao", "ldl", "leslie", "logm", "lstsq", "lu", "lu_factor",
    "lu_solve", "matmul_toeplitz", "matrix_balance", "norm", "null_space", "ordqz", "orth", "orthogonal_procrustes",
    "pascal", "pinv", "pinvh", "polar", "qr", "qr_delete", "qr_insert", "qr_multiply", "qr_update", "qz", "rq",
    "rsf2csf", "schur", "signm", "sinhm", "sinm", "solve", "solve_banded", "solve_circulant",
    "solve_continuous_are", "solve_continuous_lyapunov", "solve_discrete_are", "solve_discrete_lyapunov",
    "solve_lyapunov", "solve_sylvester", "solve_toeplitz", "solve_triangular", "solveh_banded", "sqrtm",
    "subspace_angles", "svd", "svdvals", "tanhm", "tanm", "toeplitz",
]  # fmt: skip

_SCIPY = Module(scipy_linalg, "scipy.linalg")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

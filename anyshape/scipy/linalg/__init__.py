"""Functions of `scipy.linalg` for traced and concrete arrays, at any size.

Matrices are in the last two axes, and leading axes are a batch. Concrete arguments go to SciPy itself. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from numpy.linalg import LinAlgError

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.linalg.banded import (
    bandwidth,
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
    ishermitian,
    issymmetric,
    matmul_toeplitz,
    solve_banded,
    solve_circulant,
    solve_toeplitz,
    solveh_banded,
)
from anyshape.scipy.linalg.factoring import (
    cdf2rdf,
    cholesky,
    cossin,
    eigh,
    eigvals,
    eigvalsh,
    expm_cond,
    hessenberg,
    ldl,
    lu,
    lu_factor,
    lu_solve,
    matrix_balance,
    ordqz,
    polar,
    qr,
    qr_delete,
    qr_insert,
    qr_multiply,
    qr_update,
    qz,
    rq,
    rsf2csf,
    schur,
    svd,
    svdvals,
)
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
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
    sqrtm,
    tanhm,
    tanm,
)
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
    hadamard,
    hankel,
    helmert,
    hilbert,
    invhilbert,
    invpascal,
    khatri_rao,
    leslie,
    pascal,
    toeplitz,
)
from anyshape.scipy.linalg.subspaces import eig, null_space, orth, orthogonal_procrustes, pinv, pinvh, subspace_angles
from anyshape.scipy.operands.conversion import checks_finite
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

# arguments that SciPy checks, unless the option `check_finite` is false
cdf2rdf = checks_finite(cdf2rdf, "w v")
cho_factor = checks_finite(cho_factor, "a")
cho_solve = checks_finite(cho_solve, "c_and_lower b")
cho_solve_banded = checks_finite(cho_solve_banded, "cb_and_lower b")
cholesky = checks_finite(cholesky, "a")
cholesky_banded = checks_finite(cholesky_banded, "ab")
cossin = checks_finite(cossin, "X")
det = checks_finite(det, "a")
eig = checks_finite(eig, "a b")
eig_banded = checks_finite(eig_banded, "a_band")
eigh = checks_finite(eigh, "a b")
eigh_tridiagonal = checks_finite(eigh_tridiagonal, "d e")
eigvals = checks_finite(eigvals, "a b")
eigvals_banded = checks_finite(eigvals_banded, "a_band")
eigvalsh = checks_finite(eigvalsh, "a b")
eigvalsh_tridiagonal = checks_finite(eigvalsh_tridiagonal, "d e")
expm_cond = checks_finite(expm_cond, "A")
expm_frechet = checks_finite(expm_frechet, "A E")
fractional_matrix_power = checks_finite(fractional_matrix_power, "A")
hessenberg = checks_finite(hessenberg, "a")
inv = checks_finite(inv, "a")
ldl = checks_finite(ldl, "A")
logm = checks_finite(logm, "A")
lstsq = checks_finite(lstsq, "a b")
lu = checks_finite(lu, "a")
lu_factor = checks_finite(lu_factor, "a")
lu_solve = checks_finite(lu_solve, "b")
matmul_toeplitz = checks_finite(matmul_toeplitz, "c_or_cr x")
matrix_balance = checks_finite(matrix_balance, "A")
norm = checks_finite(norm, "a")
null_space = checks_finite(null_space, "A")
ordqz = checks_finite(ordqz, "A B")
orth = checks_finite(orth, "A")
orthogonal_procrustes = checks_finite(orthogonal_procrustes, "A B")
pinv = checks_finite(pinv, "a")
pinvh = checks_finite(pinvh, "a")
polar = checks_finite(polar, "a")
qr = checks_finite(qr, "a")
qr_delete = checks_finite(qr_delete, "Q R")
qr_insert = checks_finite(qr_insert, "Q R u")
qr_multiply = checks_finite(qr_multiply, "a c")
qr_update = checks_finite(qr_update, "Q R u v")
qz = checks_finite(qz, "A B")
rq = checks_finite(rq, "a")
rsf2csf = checks_finite(rsf2csf, "T Z")
schur = checks_finite(schur, "a")
signm = checks_finite(signm, "A")
solve = checks_finite(solve, "a b")
solve_banded = checks_finite(solve_banded, "ab b")
solve_continuous_are = checks_finite(solve_continuous_are, "a b q r e s")
solve_continuous_lyapunov = checks_finite(solve_continuous_lyapunov, "a q")
solve_discrete_are = checks_finite(solve_discrete_are, "a b q r e s")
solve_discrete_lyapunov = checks_finite(solve_discrete_lyapunov, "a q")
solve_lyapunov = checks_finite(solve_lyapunov, "a q")
solve_sylvester = checks_finite(solve_sylvester, "a b")
solve_toeplitz = checks_finite(solve_toeplitz, "c_or_cr b")
solve_triangular = checks_finite(solve_triangular, "a b")
solveh_banded = checks_finite(solveh_banded, "ab b")
subspace_angles = checks_finite(subspace_angles, "A B")
svd = checks_finite(svd, "a")
svdvals = checks_finite(svdvals, "a")
tanhm = checks_finite(tanhm, "A")
tanm = checks_finite(tanm, "A")

_SCIPY = Module(scipy_linalg, "scipy.linalg")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

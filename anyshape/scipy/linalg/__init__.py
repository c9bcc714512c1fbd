"""Functions of `scipy.linalg` for traced and concrete arrays, at any size.

Matrices are in the last two axes, and leading axes are a batch. Concrete arguments go to SciPy itself. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from numpy.linalg import LinAlgError

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_linalg

_SERVED = Module(
    scipy_linalg,
    "scipy.linalg",
    own={},
    through={
        "factoring": (
            "cdf2rdf cho_factor cho_solve cholesky cossin det eig eigh expm_cond hessenberg inv ldl lstsq lu "
            "lu_factor lu_solve matrix_balance norm null_space ordqz orth pinv pinvh polar qr qr_delete qr_insert "
            "qr_multiply qr_update qz rq rsf2csf schur solve solve_triangular subspace_angles svd"
        ),
        "functions": (
            "bandwidth cho_solve_banded cholesky_banded eig_banded eigh_tridiagonal expm expm_frechet "
            "fractional_matrix_power funm ishermitian issymmetric logm matmul_toeplitz signm solve_banded "
            "solve_circulant solve_continuous_are solve_continuous_lyapunov solve_discrete_are "
            "solve_discrete_lyapunov solve_lyapunov solve_sylvester solve_toeplitz solveh_banded sqrtm"
        ),
        "structured": (
            "block_diag circulant diagsvd fiedler fiedler_companion hadamard hankel invhilbert invpascal leslie "
            "pascal toeplitz"
        ),
    },
    finite={
        "a": "cho_factor cholesky det hessenberg inv lu lu_factor norm pinv pinvh polar qr rq schur svd svdvals",
        "A": "expm_cond fractional_matrix_power ldl logm matrix_balance null_space orth signm tanhm tanm",
        "a b": "eig eigh eigvals eigvalsh lstsq solve solve_sylvester solve_triangular",
        "A B": "ordqz orthogonal_procrustes qz subspace_angles",
        "a q": "solve_continuous_lyapunov solve_discrete_lyapunov solve_lyapunov",
        "a b q r e s": "solve_continuous_are solve_discrete_are",
        "a_band": "eig_banded eigvals_banded",
        "ab b": "solve_banded solveh_banded",
        "d e": "eigh_tridiagonal eigvalsh_tridiagonal",
        "A E": "expm_frechet",
        "Q R": "qr_delete",
        "Q R u": "qr_insert",
        "Q R u v": "qr_update",
        "T Z": "rsf2csf",
        "X": "cossin",
        "a c": "qr_multiply",
        "ab": "cholesky_banded",
        "b": "lu_solve",
        "c_and_lower b": "cho_solve",
        "c_or_cr b": "solve_toeplitz",
        "c_or_cr x": "matmul_toeplitz",
        "cb_and_lower b": "cho_solve_banded",
        "w v": "cdf2rdf",
    },
    lent=(
        "companion convolution_matrix coshm cosm dft eigvals eigvals_banded eigvalsh eigvalsh_tridiagonal helmert "
        "hilbert khatri_rao orthogonal_procrustes sinhm sinm svdvals tanhm tanm"
    ),
)
__all__ = ["LinAlgError", *_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names

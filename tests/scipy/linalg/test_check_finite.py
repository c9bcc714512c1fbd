"""Check that each function of `scipy.linalg` refuses infinite arguments in a run, where SciPy does, and never hangs."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import grad, jit, vmap
from anyshape.errors import CheckError
from anyshape.scipy import linalg

A, B = (np.random.default_rng(k).normal(size=(3, 3)) for k in (0, 1))
S, V, PIVOTS = A @ A.T + 3 * np.eye(3), A[0] + 9, np.arange(3, dtype=np.int32)
BAND, UPPER = np.array([[0.0, 1, 1], [5, 5, 5], [1, 1, 0]]), np.array([[0.0, 1, 1], [5, 5, 5]])
Q, R = np.linalg.qr(A)
CALLS = {
    "cdf2rdf": (V, A), "cho_solve": ((S, True), V), "cho_solve_banded": ((UPPER, False), V),
    "cholesky_banded": (UPPER,), "cossin": (np.linalg.qr(np.vander(np.arange(4.0)))[0], 2, 2), "eig_banded": (UPPER,),
    "eigh_tridiagonal": (V, V[:2]), "eigvals_banded": (UPPER,), "eigvalsh_tridiagonal": (V, V[:2]),
    "expm_frechet": (A, B), "fractional_matrix_power": (S, 0.5), "lstsq": (A, V), "lu_solve": ((R, PIVOTS), V),
    "matmul_toeplitz": (V, V, True), "ordqz": (A, B), "orthogonal_procrustes": (A, B), "qr_delete": (Q, R, 1),
    "qr_insert": (Q, R, V, 1), "qr_multiply": (A, B), "qr_update": (Q, R, V, V), "qz": (A, B), "rsf2csf": (R, Q),
    "solve": (A, V), "solve_banded": ((1, 1), BAND, V), "solve_continuous_are": (A, B, S, S),
    "solve_continuous_lyapunov": (A, S), "solve_discrete_are": (A, B, S, S), "solve_discrete_lyapunov": (A / 9, S),
    "solve_lyapunov": (A, S), "solve_sylvester": (A, B, S), "solve_toeplitz": (V, V), "solve_triangular": (R, V),
    "solveh_banded": (UPPER, V), "subspace_angles": (A[:, :2], B[:, :2]),
}  # fmt: skip
OTHERS = (  # have no matrix, or check other things of it
    "LinAlgError", "block_diag", "circulant", "companion", "convolution_matrix", "dft", "diagsvd", "expm", "fiedler",
    "fiedler_companion", "funm", "hadamard", "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "khatri_rao",
    "leslie", "pascal", "solve_circulant", "toeplitz",
)  # fmt: skip


def with_bad(args, bad):
    """Return the arguments with a number in the place of the last element of one array, for each array."""
    for i, x in enumerate(args):
        for j, member in enumerate(x if isinstance(x, tuple) else (x,)):
            if isinstance(member, np.ndarray) and member.dtype.kind == "f":
                changed = member.copy()
                changed.flat[-1] = bad
                yield (
                    (
                        *args[:i],
                        (*x[:j], changed, *x[j + 1 :]) if isinstance(x, tuple) else changed,
                        *args[i + 1 :],
                    ),
                    changed,
                )


def raised(function, *args):
    try:
        function(*args)
    except ValueError as error:
        return not isinstance(error, np.linalg.LinAlgError)
    return False


@pytest.mark.slow
def test_infinite_arguments_are_refused_where_scipy_refuses_them():
    """An argument of each call is traced; the others are constants, which are checked at once."""
    wrong = []
    for name in (n for n in linalg.__all__ if n not in OTHERS):
        for args, changed in with_bad(CALLS.get(name, (S,)), np.inf):

            def traced(x, name=name, args=args, changed=changed):
                put = lambda v: tuple(map(put, v)) if isinstance(v, tuple) else x if v is changed else v
                return getattr(linalg, name)(*map(put, args))

            if raised(jit(traced), changed) != raised(getattr(scipy.linalg, name), *args):
                wrong.append(f"{name}{[np.shape(x) for x in args]}")
    assert not wrong


@pytest.mark.filterwarnings("ignore")
def test_without_the_check_nothing_hangs():
    infinite = np.full((17, 3), 1.0)
    infinite[7, 0] = np.inf
    for name in ("svd", "svdvals", "pinv", "null_space"):
        for matrix in (infinite, infinite.T, infinite + 0j):
            function = jit(lambda a, name=name: getattr(linalg, name)(a, check_finite=False))
            try:
                results = function(matrix)
            except np.linalg.LinAlgError as error:
                assert "infs or NaNs" in str(error)
            else:
                assert np.isnan(results).all()
    for function in (np.linalg.svd, np.linalg.pinv):
        with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
            jit(function)(infinite)


def test_updates_of_factors_check_only_what_they_are_told_to():
    for name in ("qr_insert", "qr_delete", "qr_update"):
        for args, changed in with_bad(CALLS[name], np.nan):
            put = lambda x, args=args, changed=changed: [x if a is changed else a for a in args]
            function = lambda x, put=put, name=name: getattr(linalg, name)(*put(x), check_finite=False)[1]
            assert np.isnan(jit(function)(changed)).any()
            assert np.isnan(vmap(function)(np.stack([changed] * 2))).any()


def test_the_check_has_the_line_of_the_caller_and_holds_in_transforms():
    infinite = np.array([[1.0, np.inf], [0.0, 1.0]])
    for call in (
        lambda: jit(lambda a: linalg.inv(a))(infinite),
        lambda: grad(lambda a: linalg.det(a))(infinite),
        lambda: vmap(lambda a: linalg.norm(a))(np.stack([np.eye(2), infinite])),
    ):
        with pytest.raises(CheckError, match=r"must not contain infs or NaNs.*test_check_finite\.py"):
            call()
    assert jit(lambda a: linalg.det(a, check_finite=False))(np.diag([np.inf, 1.0])) == np.inf

"""Compare QR in every mode, LDL, polar factors, pairs and balances with SciPy: one program each for all sizes."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import check_grads, grad, jit, jvp, vmap
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy import linalg
from anyshape.transforms.check_grads import MODES, Checker, Tolerance

SIZES = (0, 1, 2, 5)


def drawn(rows, columns, dtype="d"):
    rng = np.random.default_rng(rows + 7 * columns)
    imaginary = 1j * rng.normal(size=(rows, columns)) if dtype in "FD" else 0
    return (rng.normal(size=(rows, columns)) + imaginary).astype(dtype)


def square(n, dtype):
    return drawn(n, n, dtype)


def high(n, dtype):
    return drawn(n + 2, n, dtype)


def wide(n, dtype):
    return drawn(n, n + 2, dtype)


def unitary(n, dtype):
    return np.linalg.qr(drawn(n, n, dtype))[0]


def hermitian(a):
    return a + np.conj(np.swapaxes(a, -1, -2))


# name: function of the module and of arrays, makers of the arrays, the order of its derivatives
CASES = {
    "complete": (lambda la, a: tuple(np.linalg.qr(a, "complete")), [high], 2),
    "numpy raw": (lambda la, a: np.linalg.qr(a, "raw"), [wide], 1),
    "numpy r": (lambda la, a: np.linalg.qr(a, "r"), [high], 1),
    "raw": (lambda la, a: la.qr(a, mode="raw")[0], [high], 2),
    "full": (lambda la, a: la.qr(a), [wide], 1),
    "pivots": (lambda la, a: la.qr(a, pivoting=True), [high], 1),
    "raw pivots": (lambda la, a: la.qr(a, mode="raw", pivoting=True)[1:], [square], 1),
    "economic pivots": (lambda la, a: la.qr(a, mode="economic", pivoting=True), [high], 1),
    "r pivots": (lambda la, a: la.qr(a, mode="r", pivoting=True), [wide], 0),
    "qr_multiply": (lambda la, a, c: la.qr_multiply(a, c.T, pivoting=True), [high, high], 0),
    "rq": (lambda la, a: la.rq(a), [wide], 1),
    "polar": (lambda la, a: la.polar(a), [square], 2),
    "polar of high": (lambda la, a: la.polar(a, "left"), [high], 1),
    "polar of wide": (lambda la, a: la.polar(a), [wide], 1),
    "ldl": (lambda la, a: la.ldl(hermitian(a)), [square], 2),
    "ldl upper": (lambda la, a: la.ldl(hermitian(a), lower=False), [square], 1),
    "ldl symmetric": (lambda la, a: la.ldl(a + np.swapaxes(a, -1, -2), hermitian=False), [square], 1),
    "qz": (lambda la, a, b: la.qz(a, b), [square, lambda n, dtype: drawn(n, n, dtype) * 2], 0),
    "ordqz": (lambda la, a, b: la.ordqz(a, b, "ouc", "complex"), [square, unitary], 0),
    "cossin": (lambda la, a: la.cossin(a, 1, 1, separate=True), [unitary], 0),
    "cossin of blocks": (lambda la, a: la.cossin((a[:-1, :1], a[:-1, 1:], a[-1:, :1], a[-1:, 1:])), [unitary], 0),
    "matrix_balance": (lambda la, a: la.matrix_balance(a * 9.0 ** np.arange(a.shape[1])), [square], 0),
    "matrix_balance separate": (lambda la, a: la.matrix_balance(np.triu(a), separate=True), [square], 0),
    "expm_cond": (lambda la, a: la.expm_cond(a / 3), [square], 2),
}


def leaves(x):
    return [z for y in x for z in leaves(y)] if isinstance(x, tuple) else [x]


def of_scipy(function, args):
    """Return SciPy's results; None for the few empty matrices that it refuses, or crashes at."""
    try:
        return leaves(function(scipy.linalg, *args))
    except Exception:
        assert min(min(x.shape) for x in args) < 2
        return None


def compare(actual, expected, tolerance, words):
    for mine, theirs in zip(actual, expected, strict=True):
        assert np.shape(mine) == np.shape(theirs)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype or not np.size(theirs)
        np.testing.assert_allclose(mine, theirs, tolerance, tolerance, err_msg=words)


@pytest.mark.parametrize("name", CASES)
def test_values_and_dtypes_at_several_sizes(name):
    function, makers, _ = CASES[name]
    traced = jit(lambda *xs: function(linalg, *xs))
    for n in SIZES[name == "qr_multiply" :]:  # for empty matrices SciPy returns c itself
        for dtype in "dDf" if n == 5 else "d":
            args = [make(n, dtype) for make in makers]
            expected = of_scipy(function, args)
            if expected is not None:
                compare(leaves(traced(*args)), expected, 1e-3 if dtype == "f" else 1e-11, f"n = {n}, {dtype}")


@pytest.mark.parametrize("name", [name for name, (*_, order) in CASES.items() if order])
def test_derivatives_at_several_sizes(name):
    function, makers, order = CASES[name]

    def factors(*xs):
        return [y for y in leaves(function(linalg, *xs)) if y.dtype.kind in "fc"]

    checker = Checker(factors, order, MODES, Tolerance())
    for n in (1, 2, 5) if order == 1 else (1, 2):
        assert not [m.failure() for m in checker.measure(tuple(make(n, "d") for make in makers)) if not m.ok]


def test_complex_factors_are_differentiated():
    for function in (np.linalg.qr, linalg.polar, lambda a: linalg.ldl(hermitian(a))[:2]):
        check_grads(lambda a, f=function: tuple(f(a)), (drawn(3, 3, "D"),), order=1)
    check_grads(lambda a: linalg.qr(a)[0], (drawn(4, 2, "D"),), order=1)
    check_grads(lambda a: linalg.qr(a, mode="raw")[0], (drawn(4, 2, "D"),), order=1)


def test_polar_factors_need_full_rank_and_no_distinct_singular_values():
    turn = np.eye(3)[::-1] * 2.0
    check_grads(linalg.polar, (turn,), order=2)
    assert np.isnan(grad(lambda a: linalg.polar(a)[0].sum())(np.ones((2, 2)))).all()
    stack = np.stack([turn, np.eye(3)])
    np.testing.assert_allclose(vmap(lambda a: linalg.polar(a)[0])(stack), [turn / 2, np.eye(3)], atol=1e-15)


def test_degenerate_factors_have_errors_of_numpy():
    tangent = np.ones((3, 2))
    with pytest.raises(np.linalg.LinAlgError):  # no column needs a reflection, and the third one may turn
        jvp(lambda a: np.linalg.qr(a, "complete").Q, (np.eye(3, 2),), (tangent,))
    _, change = jvp(lambda a: np.linalg.qr(a).R, (np.eye(3, 2),), (tangent,))
    np.testing.assert_allclose(change, [[1, 2], [0, 1]])
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda a: linalg.ldl(a)[0].sum())(np.zeros((2, 2)))
    for function in (lambda a: linalg.qz(a, a)[0], lambda a: linalg.cossin(a, 1, 1)[0]):
        with pytest.raises(UnsupportedFunctionError, match="has no derivative"):
            grad(lambda a, f=function: f(a).sum())(np.eye(3))


def test_balances_keep_their_scales():
    a = drawn(3, 3) * 9.0 ** np.arange(3)
    check_grads(lambda a: linalg.matrix_balance(a)[0], (a,), order=1, eps=1e-7)


def test_conjugate_eigenvalues_become_blocks():
    traced = jit(linalg.cdf2rdf)
    turned = np.diag([2.0, 1.0, 1.0, 3.0, 3.0]) + np.diag([0, 4.0, 0, 5.0], 1) - np.diag([0, 4.0, 0, 5.0], -1)
    for matrix in (drawn(5, 5), np.eye(2), turned, np.empty((0, 0)), np.stack([drawn(4, 4), drawn(4, 4) + 1])):
        w, v = (x.astype(complex) for x in np.linalg.eig(matrix))
        for mine, theirs in zip(traced(w, v), scipy.linalg.cdf2rdf(w, v), strict=True):
            np.testing.assert_allclose(mine, theirs, 1e-13, 1e-13)
    w, v = (x.astype(complex) for x in np.linalg.eig(turned))
    check_grads(lambda t: linalg.cdf2rdf(t * w, np.sin(t) * v), (1.3,), order=1)

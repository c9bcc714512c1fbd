"""Compare anyshape.scipy.linalg with SciPy at several sizes from one trace, and derivatives with differences."""

from functools import partial

import mpmath
import numpy as np
import pytest
import scipy.linalg

from anyshape import check_grads, grad, jit, jvp, vmap
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.scipy import linalg
from anyshape.transforms.check_grads import MODES, Checker, Tolerance

SIZES = (1, 2, 5)


def square(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n)) + 3 * np.diag(np.arange(1.0, n + 1))


def symmetric(n):
    a = square(n)
    return a + a.T


def positive(n):
    a = square(n)
    return a @ a.T + np.eye(n)


def vector(n, seed=1):
    return np.random.default_rng(seed).normal(size=n) + 2


def band(n, rows, main):
    """Return the diagonals of a banded matrix with a dominant main one."""
    return np.random.default_rng(n).normal(size=(rows, n)) + 9 * (np.arange(rows) == main)[:, None]


def first_column(n):
    return vector(n) / 9 + 5 * (np.arange(n) == 0)


def far_apart(n):
    return vector(n) + 3 * np.arange(n)


def apart(n):
    """Return the band of a matrix of two rows or more: LAPACK errs for matrices of one number."""
    return np.stack([vector(n + 1) + 7 * np.arange(n + 1), vector(n + 1, 4) + 7 * np.arange(n + 1)])


# name: function of the module and of arrays, makers of the arrays
CASES = {
    "solve_triangular": (lambda la, a, b: la.solve_triangular(a, b), square, vector),
    "solve_triangular lower": (lambda la, a, b: la.solve_triangular(a, b, lower=True, trans="T"), square, vector),
    "solve_triangular unit": (lambda la, a, b: la.solve_triangular(a / 9, b, unit_diagonal=True), square, square),
    "cho_solve": (lambda la, a, b: la.cho_solve(la.cho_factor(a), b), positive, vector),
    "cho_solve lower": (lambda la, a, b: la.cho_solve(la.cho_factor(a, lower=True), b), positive, square),
    "cholesky": (lambda la, a: la.cholesky(a), positive),
    "solve": (lambda la, a, b: la.solve(a, b), square, vector),
    "solve transposed": (lambda la, a, b: la.solve(a, b, transposed=True), square, vector),
    "solve positive": (lambda la, a, b: la.solve(a, b, assume_a="pos"), positive, vector),
    "solve symmetric": (lambda la, a, b: la.solve(a, b, assume_a="sym"), symmetric, vector),
    "inv": (lambda la, a: la.inv(a), square),
    "det": (lambda la, a: la.det(a), square),
    "norm": (lambda la, a: la.norm(a, 1) + la.norm(a), square),
    "svdvals": (lambda la, a: la.svdvals(a), square),
    "svd": (lambda la, a: np.abs(la.svd(a, full_matrices=False)[0]), square),
    "qr": (lambda la, a: la.qr(a)[1], square),
    "polar": (lambda la, a: la.polar(a)[0] + la.polar(a, side="left")[1], square),
    "eigh": (lambda la, a: np.abs(la.eigh(a)[1]), symmetric),
    "eigvalsh": (lambda la, a: la.eigvalsh(a), symmetric),
    "eigh of a pencil": (lambda la, a, b: la.eigh(a, b)[0] + np.abs(la.eigh(a, b)[1]), symmetric, positive),
    "expm": (lambda la, a: la.expm(a / 4), square),
    "block_diag": (lambda la, a, b: la.block_diag(a, b, a), square, vector),
    "toeplitz": (lambda la, c: la.toeplitz(c), vector),
    "toeplitz of two": (lambda la, c, r: la.toeplitz(c, r), vector, lambda n: vector(n + 2, 2)),
    "hankel": (lambda la, c: la.hankel(c), vector),
    "hankel of two": (lambda la, c, r: la.hankel(c, r), vector, lambda n: vector(n + 2, 2)),
    "circulant": (lambda la, c: la.circulant(c), vector),
    "companion": (lambda la, a: la.companion(a), lambda n: vector(n + 1)),
    "convolution_matrix": (lambda la, a: la.convolution_matrix(a, 3), vector),
    "convolution_matrix same": (lambda la, a: la.convolution_matrix(a, 3, "same"), vector),
    "convolution_matrix valid": (lambda la, a: la.convolution_matrix(a, 3, "valid"), vector),
    "sqrtm": (lambda la, a: la.sqrtm(a), positive),
    "logm": (lambda la, a: la.logm(a), positive),
    "signm": (lambda la, a: la.signm(a), lambda n: square(n) / 3),
    "fractional_matrix_power": (lambda la, a: la.fractional_matrix_power(a, 0.3), positive),
    "expm_frechet": (lambda la, a, e: la.expm_frechet(a / 4, e)[1], square, lambda n: square(n, 3)),
    "cosm": (lambda la, a: la.cosm(a / 4) + la.tanm(a / 9) + la.sinm(a), square),
    "coshm": (lambda la, a: la.coshm(a / 4) + la.tanhm(a / 9) + la.sinhm(a / 4), square),
    "funm": (lambda la, a: np.real(la.funm(a, lambda w: np.exp(w / 4))), square),
    "solve_sylvester": (lambda la, a, b, q: la.solve_sylvester(a, b, q), positive, positive, lambda n: square(n, 2)),
    "solve_continuous_lyapunov": (lambda la, a, q: la.solve_continuous_lyapunov(a, q), positive, square),
    "solve_discrete_lyapunov": (lambda la, a, q: la.solve_discrete_lyapunov(a / 99, q), positive, square),
    "lu": (lambda la, a: la.lu(a)[1] + la.lu(a, permute_l=True)[0] + la.lu(a)[2] + la.lu(a)[0], square),
    "lu_solve": (lambda la, a, b: la.lu_solve(la.lu_factor(a), b), lambda n: square(n)[::-1], vector),
    "lu_solve transposed": (lambda la, a, b: la.lu_solve(la.lu_factor(a), b, 1), lambda n: square(n)[::-1], square),
    "qr of high matrices": (lambda la, a: la.qr(a, mode="r")[0], lambda n: np.vstack([square(n), square(n, 2)])),
    "qr_multiply": (lambda la, a, c: la.qr_multiply(a, c)[0], square, square),
    "solve_banded": (lambda la, ab, b: la.solve_banded((1, 2), ab, b), lambda n: band(n, 4, 2), vector),
    "solveh_banded": (lambda la, ab, b: la.solveh_banded(ab, b), lambda n: band(n, 3, 2), vector),
    "solveh_banded lower": (lambda la, ab, b: la.solveh_banded(ab, b, lower=True), lambda n: band(n, 3, 0), square),
    "solve_toeplitz": (lambda la, c, b: la.solve_toeplitz(c, b), first_column, vector),
    "solve_toeplitz of two": (lambda la, c, r, b: la.solve_toeplitz((c, r), b), first_column, vector, square),
    "matmul_toeplitz": (lambda la, c, r, b: la.matmul_toeplitz((c, r), b), lambda n: vector(n + 1), vector, square),
    "solve_circulant": (lambda la, c, b: la.solve_circulant(c, b), first_column, vector),
    "eigh_tridiagonal": (lambda la, d, e: np.abs(la.eigh_tridiagonal(d, e)[1]), far_apart, lambda n: vector(n - 1)),
    "eigvalsh_tridiagonal": (lambda la, d, e: la.eigvalsh_tridiagonal(d, e), far_apart, lambda n: vector(n - 1)),
    "pinv": (lambda la, a: la.pinv(a) + la.pinvh(a), symmetric),
    "eig": (lambda la, a: np.abs(la.eig(a)[0]), square),
    "orthogonal_procrustes": (lambda la, a, b: la.orthogonal_procrustes(a, b)[0], square, lambda n: square(n, 7)),
    "orth": (lambda la, a: la.orth(a) @ la.orth(a).T, lambda n: square(n)[:, : n - n // 2]),
    "null_space": (lambda la, a: la.null_space(a) @ la.null_space(a).T, lambda n: square(n)[: n // 2 + n % 2]),
    "fiedler": (lambda la, a: la.fiedler(a), far_apart),
    "fiedler_companion": (lambda la, a: la.fiedler_companion(a), lambda n: vector(n + 1)),
    "fiedler_companion of more": (lambda la, a: la.fiedler_companion(a), lambda n: vector(n + 3)),
    "leslie": (lambda la, f, s: la.leslie(f, s), lambda n: vector(n + 1), vector),
    "khatri_rao": (lambda la, a, b: la.khatri_rao(a, b), square, lambda n: square(n)[:1]),
    "cholesky_banded": (lambda la, ab: la.cholesky_banded(ab), lambda n: band(n, 3, 2)),
    "cholesky_banded lower": (lambda la, ab: la.cholesky_banded(ab, lower=True), lambda n: band(n, 2, 0)),
    "cho_solve_banded": (
        lambda la, ab, b: la.cho_solve_banded((la.cholesky_banded(ab), False), b),
        lambda n: band(n, 3, 2),
        vector,
    ),
    "cho_solve_banded lower": (
        lambda la, ab, b: la.cho_solve_banded((la.cholesky_banded(ab, lower=True), True), b),
        lambda n: band(n, 3, 0),
        square,
    ),
    "eig_banded": (lambda la, ab: np.abs(la.eig_banded(ab)[1]) + la.eigvals_banded(ab), apart),
    "eig_banded lower": (lambda la, ab: la.eig_banded(ab, lower=True)[0], apart),
    "rq": (lambda la, a: la.rq(a)[0] + la.rq(a)[1], square),
    "lu_factor of high matrices": (
        lambda la, a: la.lu_factor(a)[0],
        lambda n: np.vstack([9 * square(n), square(n, 2)]),
    ),
    "lu_factor of wide matrices": (lambda la, a: la.lu_factor(a)[0], lambda n: np.hstack([square(n), square(n, 2)])),
    "rq economic": (lambda la, a: la.rq(a, mode="economic")[1], lambda n: np.hstack([square(n), square(n, 2)])),
    "rq of wide matrices": (lambda la, a: la.rq(a, mode="r"), lambda n: np.hstack([square(n), square(n, 2)])),
    "rq of high matrices": (lambda la, a: la.rq(a)[0], lambda n: np.vstack([square(n), square(n, 2)])),
    "solve_continuous_are": (
        lambda la, a, b, q, r: la.solve_continuous_are(a, b, q + q.T, r + r.T),
        square,
        square,
        positive,
        positive,
    ),
    "solve_discrete_are": (
        lambda la, a, b, q, r: la.solve_discrete_are(a / 9, b, q + q.T, r + r.T),
        square,
        square,
        positive,
        positive,
    ),
    "subspace_angles": (
        lambda la, a, b: la.subspace_angles(a, b),
        lambda n: square(n + 2)[:, : n - n // 2],
        lambda n: square(n + 2, 8)[:, : n - n // 3],
    ),
    "diagsvd": (lambda la, s: la.diagsvd(s, s.shape[0], s.shape[0] + 2), vector),
}
SYMMETRIC = {
    "cholesky",
    "cho_solve",
    "cho_solve lower",
    "eigh",
    "eigvalsh",
    "solve positive",
    "solve symmetric",
    "pinv",
}


def one_sided(name, steps):
    """Return steps of arrays: symmetric ones where one triangle alone is read."""
    if name in SYMMETRIC:
        return [steps[0] + steps[0].T, *steps[1:]]
    return [s + s.T for s in steps] if name == "eigh of a pencil" else steps


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_at_several_sizes(name):
    function, *makers = CASES[name]
    traced = jit(lambda *xs: function(linalg, *xs))

    def loss(module, *xs):
        y = function(module, *xs)
        return (y * np.cos(np.ones(y.shape).cumsum()).reshape(y.shape)).sum()

    gradient = grad(lambda *xs: loss(linalg, *xs), argnums=tuple(range(len(makers))))
    for n in SIZES:
        args = [make(n) for make in makers]
        np.testing.assert_allclose(traced(*args), function(scipy.linalg, *args), 1e-10, 1e-12)
        steps = one_sided(name, [np.sin(1 + np.arange(x.size)).reshape(x.shape) for x in args])
        ahead, behind = (
            loss(scipy.linalg, *[x + sign * 1e-6 * s for x, s in zip(args, steps, strict=True)]) for sign in (1, -1)
        )
        actual = sum(np.sum(g * s) for g, s in zip(gradient(*args), steps, strict=True))
        np.testing.assert_allclose(actual, (ahead - behind) / 2e-6, 1e-5, 1e-5, err_msg=f"n = {n}")


def test_expm_of_large_complex_and_stacked_matrices():
    a = square(4) * 5
    np.testing.assert_allclose(jit(linalg.expm)(a), scipy.linalg.expm(a), 1e-9)
    np.testing.assert_allclose(jit(linalg.expm)(1j * a), scipy.linalg.expm(1j * a), 1e-9, 1e-9)
    stack = np.stack([a / 9, a / 30])
    np.testing.assert_allclose(vmap(linalg.expm)(stack), scipy.linalg.expm(stack), 1e-10)
    np.testing.assert_allclose(jit(linalg.expm)(stack), scipy.linalg.expm(stack), 1e-10)
    single = (a / 9).astype(np.float32)
    assert jit(linalg.expm)(single).dtype == np.float32
    np.testing.assert_allclose(jit(linalg.expm)(single), scipy.linalg.expm(single), 1e-4)


def test_expm_is_differentiated_twice():
    hessian = grad(lambda t: grad(lambda t: linalg.expm(t * square(3) / 4).sum())(t))
    step = 1e-4
    points = [scipy.linalg.expm((1 + k * step) * square(3) / 4).sum() for k in (-1, 0, 1)]
    np.testing.assert_allclose(hessian(1.0), (points[0] - 2 * points[1] + points[2]) / step**2, 1e-5)


def test_what_is_not_here_is_scipys_own_or_refused_by_name():
    np.testing.assert_array_equal(linalg.hadamard(4), scipy.linalg.hadamard(4))
    with pytest.raises(UnsupportedFunctionError, match=r"linalg\.clarkson_woodruff_transform"):
        jit(lambda a: linalg.clarkson_woodruff_transform(a, 2))(np.eye(3))
    with pytest.raises(ArgumentError, match="mode='whole'"):
        jit(lambda a: linalg.qr(a, mode="whole"))(np.ones((3, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda a, b: linalg.solve_triangular(a, b))(np.zeros((2, 2)), np.ones(2))


def test_functions_of_matrices_batch_keep_dtypes_and_refuse_what_is_not_real():
    stack = np.stack([positive(3), positive(3) * 2])
    for name in ("expm", "sqrtm", "logm"):
        function = getattr(linalg, name)
        expected = [getattr(scipy.linalg, name)(a / 9) for a in stack]
        np.testing.assert_allclose(jit(lambda a, f=function: f(a / 9))(stack), expected, 1e-11)
        np.testing.assert_allclose(vmap(lambda a, f=function: f(a / 9))(stack), expected, 1e-11)
        assert jit(function)(stack.astype(np.float32)).dtype == (np.float64 if name == "logm" else np.float32)
        check_grads(lambda a, f=function: f(a / 9), (stack[0] + 0.1j * square(3),), order=2)
        for n in (1,) if name == "logm" else (0, 1):
            assert grad(lambda a, f=function: f(a).sum())(np.ones((n, n))).shape == (n, n)
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match="square root of a real matrix is not real"):
        jit(linalg.sqrtm)(turn)
    np.testing.assert_allclose(jit(linalg.sqrtm)(turn.astype(complex)), scipy.linalg.sqrtm(turn.astype(complex)))
    with pytest.raises(ValueError, match="logm: an array must not contain infs or NaNs"):
        jit(linalg.logm)(np.full((2, 2), np.nan))


def test_lu_of_every_shape_is_differentiated_twice_by_one_program():
    factored, indexed = jit(linalg.lu), jit(lambda a: linalg.lu(a, p_indices=True))
    twice, once = (Checker(lambda a: linalg.lu(a)[1:], order, MODES, Tolerance()) for order in (2, 1))
    for shape in [(3, 3), (5, 3), (3, 5), (1, 1), (0, 2), (2, 4, 3)]:
        a = np.random.default_rng(4).normal(size=shape)
        p, lower, upper = factored(a)
        np.testing.assert_allclose(p @ lower @ upper, a, 1e-12, 1e-12)
        if a.ndim == 2:
            index, *_ = indexed(a)
            np.testing.assert_allclose(lower[index] @ upper, a, 1e-12, 1e-12)
        if a.size and a.ndim == 2:
            assert not [m.failure() for m in twice.measure((a,)) if not m.ok]
        elif a.size:  # rules of the second order are the ones of matrices, with one more axis
            assert not [m.failure() for m in once.measure((a,)) if not m.ok]
        if shape == (3, 5):
            check_grads(lambda a: linalg.lu(a)[1:], (a + 1j * a[..., ::-1],), order=1)
    np.testing.assert_array_equal(jit(linalg.lu_factor)(square(4))[1], scipy.linalg.lu_factor(square(4))[1])


def test_forms_without_a_derivative_say_so():
    a = square(4)
    for output in ("real", "complex"):
        t, z = jit(lambda a, output=output: linalg.schur(a, output))(a)
        np.testing.assert_allclose(z @ t @ z.conj().T, a, 1e-12, 1e-12)
    t, z = jit(lambda a: linalg.rsf2csf(*linalg.schur(a)))(a)
    np.testing.assert_allclose(z @ t @ z.conj().T, a, 1e-12, 1e-12)
    h, q = jit(lambda a: linalg.hessenberg(a, calc_q=True))(a)
    np.testing.assert_allclose(q @ h @ q.T, a, 1e-12, 1e-12)
    for function in (linalg.schur, linalg.hessenberg):
        with pytest.raises(UnsupportedFunctionError, match="has no derivative"):
            grad(lambda a, f=function: f(a)[0].sum())(a)


def test_bands_of_stacks_of_singular_and_of_complex_matrices():
    stack = np.stack([band(5, 3, 1), band(5, 3, 1) + 1])
    sides = np.stack([square(5), square(5, 1)])
    result = jit(lambda ab, b: linalg.solve_banded((1, 1), ab, b))(stack, sides)
    np.testing.assert_allclose(result, [scipy.linalg.solve_banded((1, 1), *x) for x in zip(stack, sides, strict=True)])
    banded = vmap(lambda ab: linalg.solve_banded((1, 1), ab, np.ones(5)))(stack)
    np.testing.assert_allclose(banded[1], scipy.linalg.solve_banded((1, 1), stack[1], np.ones(5)))
    z = stack[0] * (1 + 0.2j)
    check_grads(lambda ab, b: linalg.solve_banded((1, 1), ab, b), (z, sides[0] * 1j), order=2)
    hermitian = stack[0][:2][::-1] + [[0.0], [0.4j]]
    expected = scipy.linalg.solveh_banded(hermitian, np.ones(5), lower=True)
    np.testing.assert_allclose(jit(lambda ab: linalg.solveh_banded(ab, np.ones(5), lower=True))(hermitian), expected)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        jit(lambda ab: linalg.solve_banded((1, 1), ab, np.ones(5)))(np.zeros((3, 5)))
    with pytest.raises(np.linalg.LinAlgError, match="2th leading minor not positive definite"):
        jit(lambda ab: linalg.solveh_banded(ab, np.ones(5)))(np.array([[2.0] * 5, [1.0] * 5]))


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 4, 10])
def test_factors_of_bands_are_scipys_and_so_are_their_derivatives(rows, lower):
    """Bands of a known number of rows have their tangents solved for in the band, others with whole matrices."""
    factor = jit(lambda ab: linalg.cholesky_banded(ab, lower=lower))
    known = lambda ab: linalg.cholesky_banded(np.stack([ab[k] for k in range(rows)]), lower=lower)  # not of a size
    push = jit(lambda ab, t: (jvp(factor, (ab,), (t,))[1], jvp(known, (ab,), (t,))[1]))
    whole = jit(lambda ab: jvp(factor, (ab,), (ab,))[1])
    for n in (1, 2, 3, 9):
        ab, t = band(n, rows, 0 if lower else rows - 1) + 2 * rows * (rows < 5), band(n + 1, rows, 1)[:, :n]
        ab[0 if lower else -1] += 9 * rows
        expected = partial(scipy.linalg.cholesky_banded, lower=lower)
        np.testing.assert_allclose(factor(ab), expected(ab), 1e-13)
        for change in push(ab, t):
            np.testing.assert_allclose(change, _differences(expected, ab, t), 1e-6, 1e-8)
        z = ab + 1j * t * (np.arange(rows) != (0 if lower else rows - 1))[:, None]
        np.testing.assert_allclose(factor(z), expected(z), 1e-13)
        np.testing.assert_allclose(whole(z), _differences(expected, z, z), 1e-6, 1e-8)


def test_factors_of_bands_of_stacks_and_of_what_has_none():
    stack = np.stack([band(5, 3, 0) + 9, band(5, 3, 0) + 10])
    stack[:, 0] += 40
    factor = jit(vmap(lambda ab: linalg.cholesky_banded(ab, lower=True)))
    np.testing.assert_allclose(factor(stack), [scipy.linalg.cholesky_banded(ab, lower=True) for ab in stack], 1e-13)
    assert factor(np.ones((2, 3, 0))).shape == (2, 3, 0)
    with pytest.raises(np.linalg.LinAlgError, match="2th leading minor not positive definite"):
        factor(np.array([[[1.0] * 3, [2.0] * 3]]))
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        factor(stack * np.nan)
    lost = jit(lambda ab: linalg.cholesky_banded(ab, lower=True, check_finite=False))(stack[0] * [1, np.nan, 1, 1, 1])
    assert np.isnan(lost[0, 1]) and np.isfinite(lost[:, 0]).all()


def test_the_derivative_of_an_exponential_is_exact_far_from_normal_matrices():
    b = 1e8
    a, e = np.array([[1, b, 1], [0, -1, b], [0, 0, 2]]), np.arange(1.0, 10.0).reshape(3, 3)
    with mpmath.workdps(60):
        exact = mpmath.expm(mpmath.matrix(np.block([[a, e], [0 * a, a]]).tolist()))
    expected = np.array(exact[:3, 3:].tolist(), dtype=float)
    change = jit(lambda a, e: jvp(linalg.expm, (a,), (e,))[1])(a, e)
    np.testing.assert_allclose(change, expected, atol=1e-8 * np.abs(expected).max())


def test_sizes_of_constant_matrices_may_be_symbolic():
    np.testing.assert_allclose(
        jit(lambda x: linalg.hilbert(x.shape[0]) @ x)(np.ones(4)), scipy.linalg.hilbert(4).sum(1)
    )
    matrix = jit(lambda x: linalg.dft(x.shape[0], "sqrtn") + 0 * x)(np.ones(4))
    np.testing.assert_allclose(matrix, scipy.linalg.dft(4, "sqrtn"), atol=1e-14)


def test_modules_have_all_names_of_scipy():
    assert all(hasattr(linalg, name) for name in scipy.linalg.__all__ if not name.startswith("_"))


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_the_derivative_of_orth_is_that_of_its_value(shape):
    """Also where the columns span everything, and only turn."""
    a, t = (np.random.default_rng(k).normal(size=shape) for k in (1, 2))
    value, derivative = jvp(linalg.orth, (a,), (t,))
    np.testing.assert_allclose(value, scipy.linalg.orth(a), 1e-12)
    difference = (scipy.linalg.orth(a + 1e-6 * t) - scipy.linalg.orth(a - 1e-6 * t)) / 2e-6
    np.testing.assert_allclose(derivative, difference, 1e-7, 1e-8)


def _differences(function, a, t):
    return (function(a + 1e-6 * t) - function(a - 1e-6 * t)) / 2e-6


@pytest.mark.parametrize("shape", [(2, 4), (3, 5), (5, 8)])
def test_the_derivative_of_null_space_is_that_of_its_value_or_turns_least(shape):
    """LAPACK completes the basis by reflections if the matrix is wide enough; the projection is right in any case."""
    real, imaginary = np.random.default_rng(1).normal(size=(2, 2, *shape))
    for a, t in (real, real + 1j * imaginary):
        value, derivative = jvp(linalg.null_space, (a,), (t,))
        np.testing.assert_allclose(value, scipy.linalg.null_space(a), 1e-12, 1e-14)
        if shape != (5, 8):
            np.testing.assert_allclose(derivative, _differences(scipy.linalg.null_space, a, t), 1e-7, 1e-8)
        else:
            np.testing.assert_allclose(np.conj(value.T) @ derivative, np.zeros((3, 3)), atol=1e-12)
        projections = (lambda a, f=la.null_space: f(a) @ np.conj(f(a).T) for la in (linalg, scipy.linalg))
        derivative = jvp(next(projections), (a,), (t,))[1]
        np.testing.assert_allclose(derivative, _differences(next(projections), a, t), 1e-7, 1e-8)


def test_the_null_space_of_coordinates_and_of_dependent_rows_has_slopes():
    """No reflection determines these bases."""
    weights = np.arange(25.0).reshape(5, 5) ** 1.5
    ours, scipys = (
        lambda a, f=la.null_space: np.sum(weights * (f(a, 1e-4) @ f(a, 1e-4).T)) for la in (linalg, scipy.linalg)
    )
    for a in (np.eye(2, 5), np.eye(5)[[1, 3, 1]]):
        direction = a @ np.random.default_rng(0).normal(size=(5, 5))
        np.testing.assert_allclose(np.sum(grad(ours)(a) * direction), _differences(scipys, a, direction), 1e-6)

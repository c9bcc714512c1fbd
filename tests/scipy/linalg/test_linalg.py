"""Compare anyshape.scipy.linalg with SciPy at several sizes from one trace, and derivatives with differences."""

import numpy as np
import pytest
import scipy.linalg

from anyshape import grad, jit, vmap
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.scipy import linalg

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
    "diagsvd": (lambda la, s: la.diagsvd(s, s.shape[0], s.shape[0] + 2), vector),
}
SYMMETRIC = {"cholesky", "cho_solve", "cho_solve lower", "eigh", "eigvalsh", "solve positive", "solve symmetric"}


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
    with pytest.raises(UnsupportedFunctionError, match=r"linalg\.sqrtm"):
        jit(linalg.sqrtm)(np.eye(3))
    with pytest.raises(ArgumentError, match="economic"):
        jit(linalg.qr)(np.ones((3, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        jit(lambda a, b: linalg.solve_triangular(a, b))(np.zeros((2, 2)), np.ones(2))

"""Compare least squares under bounds with SciPy's, and their derivatives with differences."""

import numpy as np
import pytest
import scipy.optimize

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError
from anyshape.scipy import optimize

RNG = np.random.default_rng(5)


def test_least_squares_without_negative_elements():
    solve = jit(lambda a, b: optimize.nnls(a, b))
    for m, n in ((6, 4), (9, 5), (3, 1)):
        a, b = RNG.normal(size=(m, n)), RNG.normal(size=m)
        for one, other in zip(solve(a, b), scipy.optimize.nnls(a, b), strict=True):
            np.testing.assert_allclose(one, other, 1e-9, 1e-12)
    assert solve.cache_info().traces == 1
    a = RNG.normal(size=(7, 4))
    b = a @ np.array([1.0, -1.0, 0.5, -2.0])
    assert 0 < np.sum(scipy.optimize.nnls(a, b)[0] == 0) < 4
    check_grads(lambda a, b: optimize.nnls(a, b)[0], (a, b), order=2)
    batch = vmap(lambda b: optimize.nnls(a, b)[0])(np.stack([b, -b]))
    np.testing.assert_allclose(batch[1], scipy.optimize.nnls(a, -b)[0], 1e-9, 1e-12)
    with pytest.raises(AnyshapeError, match="must equal"):
        solve(a, b[:3])


@pytest.mark.slow
def test_least_squares_between_bounds():
    a, b = RNG.normal(size=(7, 4)), 2 * RNG.normal(size=7)
    low, high = np.array([-0.2, -0.1, -9.0, -0.3]), np.array([0.2, 0.1, 9.0, 0.4])
    solve = lambda s, a, b, low, high: s.lsq_linear(a, b, (low, high), "bvls")
    expected = solve(scipy.optimize, a, b, low, high)
    actual = jit(lambda *xs: solve(optimize, *xs))(a, b, low, high)
    assert 0 < np.sum(expected.active_mask == 0) < 4
    for name in ("x", "fun", "cost", "active_mask"):
        np.testing.assert_allclose(actual[name], expected[name], 1e-9, 1e-12)
    check_grads(lambda *xs: solve(optimize, *xs).x, (a, b, low, high), order=2)
    free = grad(lambda b: optimize.lsq_linear(a, b).x.sum())(b)
    np.testing.assert_allclose(free, np.linalg.pinv(a).sum(0), 1e-9)


def test_vectors_in_order():
    fit = jit(lambda y, w: optimize.isotonic_regression(y, weights=w).x)
    for n in (1, 4, 9):
        y, w = RNG.normal(size=n), RNG.uniform(0.5, 2, n)
        np.testing.assert_allclose(fit(y, w), scipy.optimize.isotonic_regression(y, weights=w).x, 1e-12)
    assert fit.cache_info().traces == 1
    check_grads(lambda y, w: optimize.isotonic_regression(y, weights=w, increasing=False).x, (y, w), order=2)
    assert fit(y[:0], w[:0]).shape == (0,)


def test_fixed_points():
    function = lambda x, a: np.cos(a * x)
    solve = lambda s, a, x0: s.fixed_point(function, x0, args=(a,))
    for x0 in (0.5, np.array([0.4, 0.7])):
        expected = solve(scipy.optimize, 0.9, x0)
        np.testing.assert_allclose(jit(lambda a, x0=x0: solve(optimize, a, x0))(0.9), expected, 1e-8)
    check_grads(lambda a: solve(optimize, a, 0.5), (0.9,), order=2, rtol=1e-4)

"""Compare quadrature of functions with SciPy's, and its derivatives with closed forms and differences."""

import numpy as np
import pytest
import scipy.integrate

from anyshape import check_grads, grad, hessian, jit, vmap
from anyshape.errors import CheckError, UnsupportedFunctionError
from anyshape.scipy import integrate

# integrand with a parameter, limits
CASES = {
    "finite": (lambda x, a: np.cos(a * x) * np.exp(x), 0.0, 2.0),
    "falling": (lambda x, a: np.sin(a * x), 3.0, -1.0),
    "upper infinite": (lambda x, a: np.exp(-a * x), 1.0, np.inf),
    "lower infinite": (lambda x, a: a * np.exp(-(x**2)), -np.inf, 0.5),
    "both infinite": (lambda x, a: 1 / (a + x * x), -np.inf, np.inf),
    "from infinity": (lambda x, a: np.exp(-a * x), np.inf, 1.0),
    "singular": (lambda x, a: np.log(a * x), 0.0, 1.0),
    "peak": (lambda x, a: 1 / (1e-4 * a + (x - 0.3) ** 2), 0.0, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_quad_and_its_derivative_by_a_parameter(name):
    function, a, b = CASES[name]
    traced = jit(lambda p: integrate.quad(function, a, b, args=(p,)))
    for p in (1.0, 1.7):
        value, error = traced(p)
        expected, bound = scipy.integrate.quad(function, a, b, args=(p,))
        np.testing.assert_allclose(value, expected, 1e-9, 1e-9)
        assert abs(value - expected) <= error + bound
    assert traced.cache_info().traces == 1
    area = lambda p: scipy.integrate.quad(function, a, b, args=(p,), epsabs=1e-12, epsrel=1e-12)[0]
    difference = (area(1 + 1e-4) - area(1 - 1e-4)) / 2e-4
    np.testing.assert_allclose(grad(lambda p: traced(p)[0])(1.0), difference, 1e-5, 1e-8)


@pytest.mark.slow
def test_derivatives_by_limits_and_parameters_of_any_order():
    area = lambda a, b, p: integrate.quad(lambda x: np.exp(-p * x * x), -a, 2 * b)[0]
    check_grads(area, (0.5, 0.7, 1.2), order=2)
    curvature = hessian(lambda v: area(v[0], v[1], v[2]))(np.array([0.5, 0.7, 1.2]))
    np.testing.assert_allclose(curvature, curvature.T, 1e-9, 1e-12)
    np.testing.assert_allclose(curvature[1, 2], -2 * 1.4**2 * np.exp(-1.2 * 1.4**2), 1e-9)


def test_the_slope_at_a_limit_is_the_value_there():
    step = lambda b: integrate.quad(lambda x: np.where(x > 0.3, 1.0, 0.0), 0, b)[0]
    np.testing.assert_allclose(grad(step)(0.2), 0)
    np.testing.assert_allclose(grad(step)(1.0), 1)
    root = lambda a: integrate.quad(lambda x: 1 / np.sqrt(x), a, 1.0)[0]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(jit(root)(0.0), 2, 1e-12)
        assert grad(root)(0.0) == -np.inf


@pytest.mark.slow
def test_vmap_of_quad_halves_intervals_of_each_example():
    area = lambda p, b: integrate.quad(lambda x: 1 / (p + x * x), 0, b)[0]
    p, b = np.array([1.0, 1e-4, 0.0625]), np.array([1.0, 3.0, 0.0])
    expected = np.arctan(b / np.sqrt(p)) / np.sqrt(p)
    np.testing.assert_allclose(vmap(area)(p, b), expected, 1e-9)
    np.testing.assert_allclose(vmap(grad(area, argnums=1))(p, b), 1 / (p + b * b), 1e-9)


def test_fixed_quad():
    traced = jit(lambda a, b: integrate.fixed_quad(lambda x: x**7, a, b, n=4)[0])
    np.testing.assert_allclose(traced(0.0, 2.0), 2**8 / 8, 1e-13)
    check_grads(traced, (0.5, 1.0), order=2)
    assert integrate.fixed_quad(np.cos, 0, 1) == scipy.integrate.fixed_quad(np.cos, 0, 1)


def test_options_and_limits_that_are_refused():
    with pytest.raises(UnsupportedFunctionError, match="quad with weight"):
        jit(lambda p: integrate.quad(lambda x: p * x, 0, 1, weight="cos", wvar=1.0))(1.0)
    with pytest.raises(CheckError, match="infinite limit"):
        jit(lambda b: integrate.quad(lambda x: np.exp(-x), 0, b))(np.inf)
    assert integrate.quad(np.cos, 0, 1) == scipy.integrate.quad(np.cos, 0, 1)

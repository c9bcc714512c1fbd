"""Searches for global minima inside of traces, minima of functions of a number, and Rosenbrock's second derivatives."""

import numpy as np
import pytest
import scipy.optimize

from anyshape import grad, jit
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy import optimize

BOUNDS = [(-3, 3), (-2, 4)]


def waves(x, a):
    return np.sum((x - a) ** 2) + 3 * np.sum(np.sin(3 * x))


SEARCHES = {
    "differential_evolution": lambda a: optimize.differential_evolution(waves, BOUNDS, (a,), rng=1, tol=1e-10),
    "dual_annealing": lambda a: optimize.dual_annealing(waves, BOUNDS, (a,), rng=1, maxiter=50),
    "shgo": lambda a: optimize.shgo(waves, BOUNDS, (a,), n=200, sampling_method="sobol"),
    "direct": lambda a: optimize.direct(waves, BOUNDS, (a,), len_tol=1e-8, vol_tol=1e-18),
    "basinhopping": lambda a: optimize.basinhopping(
        waves, np.ones(2), niter=20, rng=1, minimizer_kwargs={"args": (a,), "tol": 1e-10}
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_global_minimum_has_the_derivative_of_its_condition(name):
    least = scipy.optimize.brute(waves, [(-3, 4)], (0.7,), Ns=200)[0]
    result = jit(SEARCHES[name])(0.7)
    np.testing.assert_allclose(result.x, least, 1e-3)
    x = result.x[0]
    slope = grad(lambda a: SEARCHES[name](a).x[0])(0.7)
    np.testing.assert_allclose(slope, 2 / (2 - 27 * np.sin(3 * x)), 1e-4)


def test_constraints_are_refused():
    search = lambda a: optimize.shgo(waves, BOUNDS, (a,), constraints={"type": "eq", "fun": np.sum})
    with pytest.raises(UnsupportedFunctionError, match="constraints"):
        jit(search)(1.0)


def test_minima_of_functions_of_a_number():
    cost = lambda x, a: np.cosh(x - a) + x / 2
    for find in (
        lambda a: optimize.fminbound(cost, -2.0, 3.0, (a,), xtol=1e-9),
        lambda a: optimize.brent(cost, (a,)),
        lambda a: optimize.golden(cost, (a,), (-2.0, 3.0)),
    ):
        np.testing.assert_allclose(jit(find)(0.5), 0.5 - np.arcsinh(0.5), 1e-6)
        np.testing.assert_allclose(grad(find)(0.5), 1, 1e-6)


def test_rosenbrocks_second_derivatives():
    traced = jit(lambda x, p: (optimize.rosen_hess(x), optimize.rosen_hess_prod(x, p)))
    for n in (2, 3, 5):
        x, p = np.arange(n) / 3 - 0.4, np.cos(np.arange(n))
        matrix, product = traced(x, p)
        np.testing.assert_allclose(matrix, scipy.optimize.rosen_hess(x), 1e-12)
        np.testing.assert_allclose(product, scipy.optimize.rosen_hess_prod(x, p), 1e-11)
    assert traced.cache_info().traces == 1

"""Compare functions that only anyshape.scipy.special has with SciPy's, and derivatives with differences."""

import numpy as np
import pytest
import scipy.special

from anyshape import grad, jit
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy import special

X = np.array([3.5, 4.0, 6.25])
CASES = {
    "multigammaln": lambda s, x: s.multigammaln(x, 3),
    "comb": lambda s, x: s.comb(x, 2.5),
    "comb of k": lambda s, x: s.comb(7, x),
    "comb with repetition": lambda s, x: s.comb(x, 2, repetition=True),
    "perm": lambda s, x: s.perm(x, 2),
    "factorial": lambda s, x: s.factorial(x),
    "erf": lambda s, x: s.erf(x / 4),
    "logsumexp": lambda s, x: s.logsumexp(x),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    function = CASES[name]
    traced = jit(lambda x: function(special, x))
    for x in (X, X[:1], X[:0] if name != "logsumexp" else X):
        np.testing.assert_allclose(traced(x), function(scipy.special, x), 1e-12)
    assert traced.cache_info().traces == 1
    difference = (function(scipy.special, X + 1e-6).sum() - function(scipy.special, X - 1e-6).sum()) / 2e-6
    np.testing.assert_allclose(grad(lambda x: function(special, x).sum())(X).sum(), difference, 1e-7)


def test_impossible_choices():
    n, k = np.array([-1.0, 2.0, 2.0]), np.array([1.0, 3.0, -1.0])
    for name in ("comb", "perm"):
        traced = jit(lambda n, k, name=name: getattr(special, name)(n, k))
        np.testing.assert_array_equal(traced(n, k), getattr(scipy.special, name)(n, k))
    np.testing.assert_array_equal(jit(special.factorial)(np.array([-1.0, 0.0])), [0, 1])
    assert special.comb(5, 2, exact=True) == 10


def test_what_is_not_here_is_scipys_own_or_refused_by_name():
    assert special.ellipk(0.5) == scipy.special.ellipk(0.5)
    assert set(special.__dir__()) >= {"erf", "ellipk", "comb"}
    with pytest.raises(UnsupportedFunctionError, match="erf_zeros"):
        jit(lambda x: special.erf_zeros(x))(3)


def test_binomials_and_rising_factorials_are_differentiated_at_poles_of_their_factors():
    first = jit(lambda x: [grad(lambda x: special.binom(x, 2.0))(x), grad(lambda x: special.poch(x, 2.5))(x)])
    second = jit(lambda x: [grad(lambda x, i=i: first(x)[i])(x) for i in range(2)])
    for x in (0.0, 1.0, 3.5):
        np.testing.assert_allclose(first(x)[0], x - 0.5, 1e-12, 1e-12)
        np.testing.assert_allclose(second(x)[0], 1, 1e-12)
    for x in (0.0, -1.0, -2.0):
        np.testing.assert_allclose(first(x)[1], np.mean([first(x + h)[1] for h in (-1e-4, 1e-4)]), 1e-5)
        np.testing.assert_allclose(second(x)[1], np.mean([second(x + h)[1] for h in (-1e-4, 1e-4)]), 1e-4)
    by_lower = jit(grad(lambda y: special.binom(0.5, y)))
    np.testing.assert_allclose(by_lower(1.5), -2 / 3, 1e-12)
    np.testing.assert_allclose(by_lower(-1.0), np.mean([by_lower(-1 + h) for h in (-1e-4, 1e-4)]), 1e-5)

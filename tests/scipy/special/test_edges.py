"""Test derivatives at points where the formula that serves elsewhere has a pole, and at infinite results."""

from math import exp, gamma, inf, log, pi

import numpy as np
import pytest
import scipy.special

from anyshape import grad, jit
from anyshape.scipy import special, stats

PEAK = 1 / gamma(0.5)  # of the density of gennorm for beta = 2
ROWS = {  # the value and derivatives of rising order, by the first terms of series in the DLMF
    "ber": (special.ber, 0.0, [1, 0, 0, 0]),
    "bei": (special.bei, 0.0, [0, 0, 1 / 2, 0]),
    "berp": (special.berp, 0.0, [0, 0, 0, -3 / 8]),
    "kei": (special.kei, 0.0, [-pi / 4, 0, inf, -inf]),
    "struve of order 0": (lambda x: special.struve(0, x), 0.0, [0, 2 / pi, 0, -4 / (3 * pi)]),
    "modstruve of order 1": (lambda x: special.modstruve(1, x), 0.0, [0, 0, 4 / (3 * pi), 0]),
    "struve of order -1": (lambda x: special.struve(-1.0, x), 0.0, [2 / pi, 0, -4 / (3 * pi), 0]),
    "modstruve of order -1": (lambda x: special.modstruve(-1.0, x), 0.0, [2 / pi, 0, 4 / (3 * pi), 0]),
    "struve of order -1/2": (lambda x: special.struve(-0.5, x), 0.0, [0, inf, -inf]),
    "modstruve of order 1/2": (lambda x: special.modstruve(0.5, x), 0.0, [0, 0, inf, -inf]),
    "it2struve0": (special.it2struve0, 0.0, [pi / 2, -2 / pi, 0, 4 / (9 * pi)]),
    "it2j0y0": (lambda x: special.it2j0y0(x)[0], 0.0, [0, 0, 1 / 4, 0]),
    "gammainccinv": (lambda q: special.gammainccinv(2.0, q), 0.0, [inf, -inf, inf]),
    "gammaincinv": (lambda p: special.gammaincinv(2.0, p), 1.0, [inf, inf, inf]),
    "gammainccinv by its parameter": (lambda a: special.gammainccinv(a, 0.0), 2.0, [inf, inf]),
    "kolmogorov": (special.kolmogorov, 0.0, [1, 0, 0]),
    "kolmogi": (special.kolmogi, 0.0, [inf, -inf]),
    "logarithm of gennorm": (lambda x: stats.gennorm.logpdf(x, 2.0), 0.0, [log(PEAK), 0, -2, 0]),
    "gennorm": (lambda x: stats.gennorm.cdf(x, 2.0), 0.0, [1 / 2, PEAK, 0, -2 * PEAK]),
    "gennorm with a cusp": (lambda x: stats.gennorm.cdf(x, 1.5), 0.0, [1 / 2, 0.75 / gamma(2 / 3), 0, -inf]),
}


@pytest.mark.parametrize("name", ROWS)
def test_derivatives_at_the_edge(name):
    function, point, expected = ROWS[name]
    with np.errstate(all="ignore"):
        for order, value in enumerate(expected):
            np.testing.assert_allclose(function(point), value, 1e-12, 1e-15, err_msg=f"order {order}")
            function = grad(function)


def test_small_arguments_lose_no_digits():
    slope = jit(grad(lambda x: special.it2j0y0(x)[0]))
    np.testing.assert_allclose(slope(1e-9), 0.25e-9, 1e-15)  # (1 - J0(x)) / x would be 0


@pytest.mark.parametrize("x", [0.2, 0.999, 1.001, 3.0])
def test_kolmogorovs_density(x):
    terms = [(-1) ** (k - 1) * 8 * k**2 * x * exp(-2 * (k * x) ** 2) for k in range(1, 40)]
    np.testing.assert_allclose(grad(special.kolmogorov)(x), -sum(terms), 1e-12, 1e-13)
    p = scipy.special.kolmogorov(x)
    np.testing.assert_allclose(grad(special.kolmogi)(p) * grad(special.kolmogorov)(x), 1, 2e-6)


@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
def test_slopes_outside_of_a_support_and_of_orders_that_are_no_integers():
    x = np.array([-3.0, -0.6, 0.4, 0.6, 3.0])
    for k in (1.0, 2.0, 0.25):
        slope = grad(lambda x, k=k: special.tklmbda(x, k).sum())(x)
        step = 1e-6
        expected = (scipy.special.tklmbda(x + step, k) - scipy.special.tklmbda(x - step, k)) / (2 * step)
        np.testing.assert_allclose(slope, expected, 1e-5, 1e-8)
    for n in (0.5, 1.5, -0.5, 2.0):  # SciPy truncates them and warns
        whole = float(np.trunc(n))
        assert grad(special.expn, 1)(n, 1.2) == grad(special.expn, 1)(whole, 1.2)
    assert [grad(special.boxcox, 1)(0.0, power) for power in (0.5, 2.0)] == [4.0, 0.25]
    assert [grad(special.boxcox1p, 1)(-1.0, power) for power in (0.5, 2.0)] == [4.0, 0.25]
    assert [grad(special.powm1, 1)(0.0, power) for power in (0.5, 2.0)] == [0.0, 0.0]

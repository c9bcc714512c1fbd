"""Derivatives of incomplete gamma and beta functions by their parameters, against 60 digits of mpmath."""

import numpy as np
import pytest

import anyshape
from anyshape.backend.numpy._parameter_derivatives import betainc_derivative, gammainc_derivative
from anyshape.scipy import special, stats

# order, a, x
GAMMA = [
    (1, 0.001, 1e-10, -21.951897545291591),
    (1, 0.3, 0.2, -1.0233803072203944),
    (1, 1.5, 30.0, -1.9971258273873263e-12),
    (1, 100.0, 95.0, -0.035991134792831112),
    (1, 10000.0, 10200.0, -0.00054881723498989003),
    (2, 0.4, 0.7, -0.16393442153443921),
    (2, 3.0, 0.05, 0.00035765705312791471),
    (2, 100.0, 130.0, -0.00021271959135303795),
    (3, 1.5, 2.0, 0.16558883439733656),
]
# orders in a and b, a, b, x
BETA = [
    ((1, 0), 0.01, 0.5, 1e-06, -13.032396649292512),
    ((1, 0), 0.5, 0.5, 0.3, -0.64281148115728385),
    ((0, 1), 2.0, 0.2, 0.99, 1.8022287257999656),
    ((1, 0), 100.0, 30.0, 0.7, -0.0042245395285016023),
    ((0, 1), 1000.0, 10.0, 0.98, 0.0034820174785277053),
    ((1, 1), 1.5, 2.5, 0.4, 0.027929978345246897),
    ((2, 0), 0.3, 4.0, 0.1, 0.25074011015607656),
    ((0, 3), 2.0, 3.0, 0.6, 0.041139258136413186),
]


def test_derivatives_by_parameters_have_twelve_digits():
    for order, a, x, expected in GAMMA:
        np.testing.assert_allclose(gammainc_derivative(a, np.float64(x), order=order), expected, rtol=1e-12)
    for (i, j), a, b, x, expected in BETA:
        value = betainc_derivative(a, b, np.float64(x), order_a=i, order_b=j)
        np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_derivatives_by_parameters_at_the_ends_are_zero_and_outside_nan():
    by_a = anyshape.jacfwd(lambda a, x: special.gammainc(a, x))
    assert by_a(1.5, 0.0) == by_a(1.5, np.inf) == by_a(0.2, 0.0) == 0
    assert np.isnan(by_a(-0.5, 1.0)) and np.isnan(by_a(1.5, -1.0)) and np.isnan(by_a(1.5, np.nan))
    np.testing.assert_allclose(by_a(0.0, 2.0), -special.exp1(2.0), rtol=1e-13)
    by_b = anyshape.jacfwd(lambda b, x: special.betainc(1.5, b, x))
    assert by_b(0.5, 0.0) == by_b(0.5, 1.0) == 0
    assert np.isnan(by_b(-0.5, 0.5)) and np.isnan(by_b(0.5, 1.5)) and np.isnan(by_b(np.nan, 0.5))


def test_students_t_by_degrees_of_freedom_is_odd_and_vanishes_for_the_normal():
    by_df = anyshape.jacfwd(lambda df, t: special.stdtr(df, t))
    t = np.array([0.0, 1e-4, 1.0, 3.0, 50.0])
    np.testing.assert_array_equal(by_df(5.0, -t), -by_df(5.0, t))
    np.testing.assert_array_equal(by_df(np.inf, t), 0)
    expected = [0.0, 3.7254020779741482e-7, 0.0043372560590207742, 0.0037792536485185899, 8.1623679038774708e-8]
    np.testing.assert_allclose(by_df(5.0, t), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_shapes_of_distributions_have_derivatives(order):
    anyshape.check_grads(lambda a: stats.gamma.cdf(np.array([0.5, 2.0]), a), (1.7,), order=order)
    anyshape.check_grads(lambda a: stats.gamma.ppf(np.array([0.5, 0.2]), a), (1.7,), order=order)
    anyshape.check_grads(lambda a, b: stats.beta.ppf(np.array([0.5, 0.2]), a, b), (1.7, 0.6), order=order)
    anyshape.check_grads(lambda df: stats.t.ppf(np.array([0.7, 0.2]), df), (4.5,), order=order)

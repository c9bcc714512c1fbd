"""Check derivatives at the median, where formulas of both tails meet, against the ones beside it."""

import numpy as np
import pytest

from anyshape import jit, jvp
from anyshape.scipy import stats

# family: shape parameters, and the order of derivatives that are continuous at the median
FAMILIES = {
    "norm": ((), 2),
    "cauchy": ((), 2),
    "laplace": ((), 1),
    "logistic": ((), 2),
    "hypsecant": ((), 2),
    "t": ((2.7,), 2),
    "gennorm": ((2.6,), 2),
}


def derivatives(function, t, order):
    """Return the value of a function and its derivatives up to an order."""
    out = [function(t)]
    for _ in range(order):
        function = lambda t, f=function: jvp(f, (t,), (1.0,))[1]
        out.append(function(t))
    return out


def functions(family, shapes, q, t):
    """Return functions of a family at a probability, and at its point, along a path of the point and the parameters."""
    moved = [s + 0.4 * t for s in shapes]
    quantiles = [family.ppf(q + 0.7 * t, *moved), family.isf(1 - q + 0.7 * t, *moved)]
    z = q - 0.5 + 0.7 * t
    names = ("cdf", "sf", "logcdf", "logsf")
    return np.stack([*quantiles, *(getattr(family, name)(z, *moved) for name in names)])


@pytest.mark.parametrize("name", FAMILIES)
def test_derivatives_are_continuous_at_the_median(name):
    shapes, order = FAMILIES[name]
    family = getattr(stats, name)
    along = jit(lambda q: derivatives(lambda t: functions(family, shapes, q, t), 0.0 * q, order))
    beside = [along(0.5 + step) for step in (-1e-4, 1e-4)]
    for actual, left, right in zip(along(0.5), *beside, strict=True):
        np.testing.assert_allclose(actual, (left + right) / 2, 1e-3, 1e-5)


@pytest.mark.slow
def test_gennorm_has_two_derivatives_at_the_median_for_every_exponent():
    first = jit(lambda q, beta: jvp(lambda q: stats.gennorm.ppf(q, beta), (q,), (1.0,))[1])
    mixed = jit(lambda q, beta: jvp(lambda b: first(q, b), (beta,), (1.0,))[1])
    for beta in (0.8, 1.0, 1.3, 2.0, 3.5):
        np.testing.assert_allclose(first(0.5, beta), 1 / stats.gennorm.pdf(0.0, beta), 1e-12)
        expected = (first(0.5, beta + 1e-6) - first(0.5, beta - 1e-6)) / 2e-6
        np.testing.assert_allclose(mixed(0.5, beta), expected, 1e-6)


def test_tails_on_the_other_side_keep_their_digits():
    z = np.array([-300.0, -20.0, -1.0, 0.0, 1.0, 20.0, 300.0])
    for name, shapes in (("t", (2.7,)), ("cauchy", ()), ("hypsecant", ()), ("laplace", ()), ("gennorm", (1.3,))):
        family, expected = getattr(stats, name), -getattr(stats, name).sf(z[4:], *shapes)
        np.testing.assert_allclose(np.expm1(jit(family.logcdf)(z[4:], *shapes)), expected, 1e-12)
        np.testing.assert_allclose(jit(family.logsf)(-z, *shapes), jit(family.logcdf)(z, *shapes), 1e-12)

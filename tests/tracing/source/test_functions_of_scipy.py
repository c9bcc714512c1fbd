"""Functions of SciPy under the names of its own modules, in code that has nothing else to be read for."""

import numpy as np
import pytest
from scipy import integrate, optimize
from scipy.integrate import quad
from scipy.special import logsumexp

from anyshape import grad

POINT = np.array([1.1, 0.4, 0.7])


def line(x, a, b, c):
    return a * x - b * c


CALLS = {
    "by name": lambda p: quad(lambda x: p[0] * x, 0, 1)[0],
    "of a module": lambda p: integrate.quad(lambda x: p[1] * x, 0, p[0])[0],
    "a root": lambda p: optimize.brentq(lambda x: x - p[0] * p[1], -3, 3),
    "a minimum": lambda p: optimize.minimize_scalar(lambda x: (x - p[2] ** 2) ** 2).x,
    "a reduction": lambda p: logsumexp(p),
    "further arguments": lambda p: quad(line, 0, 1, args=(p[0], p[1], 2.0))[0],
    "a tuple of a vector": lambda p: quad(line, 0, 1, args=tuple(p))[0],
    "a tuple by position": lambda p: quad(line, 0, 1, tuple(p))[0],
    "a tuple for steps": lambda p: integrate.solve_ivp(
        lambda t, y, *a: -y * line(t, *a), (0, 1), [1.0], args=tuple(p)).y[0, -1],
    "a tuple for a root": lambda p: optimize.fsolve(line, 0.5, tuple(p))[0],
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
def test_a_function_of_scipy_has_the_slope_of_its_differences(call):
    steps = 1e-5 * np.eye(len(POINT))
    expected = [(call(POINT + step) - call(POINT - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(grad(call)(POINT), np.ravel(expected), rtol=1e-3, atol=1e-6)

"""Loops of Python in functions that solvers take: they stay loops of the program, as under jit."""

import warnings

import numpy as np
import pytest

from anyshape import custom_jvp, errors, grad, jit
from anyshape.scipy import integrate, optimize

W = np.linspace(1, 2, 130)  # a loop over it would be unrolled with a warning


def total(xs):
    s = 0.0
    for x in xs:
        s = s + x
    return s


def ruled(x):
    f = custom_jvp(total)
    f.defjvp(lambda primals, tangents: (total(primals[0]), 2 * total(tangents[0])))
    return grad(f)(x)


CASES = {
    "minimize": (lambda: optimize.minimize(lambda p, w: total(w) * (p[0] - 1) ** 2, np.zeros(1), args=(W,)).x, 1),
    "minimize, of the unknowns": (lambda: optimize.minimize(lambda p: total((p - 1) ** 2), 0 * W).x, 1),
    "minimize_scalar": (lambda: optimize.minimize_scalar(lambda x, w: total(w) * (x - 1) ** 2, args=(W,)).x, 1),
    "root": (lambda: optimize.root(lambda p, w: p * total(w) - 195, np.zeros(2), args=(W,)).x, 1),
    "root_scalar": (lambda: optimize.root_scalar(lambda p, w: p * total(w) - 195, x0=0.1, args=(W,)).root, 1),
    "least_squares": (lambda: optimize.least_squares(lambda p, w: p * total(w) - 195, np.ones(2), args=(W,)).x, 1),
    "curve_fit": (lambda: optimize.curve_fit(lambda x, a: a * total(x) * x, W, 195 * W)[0], 1),
    "quad": (lambda: integrate.quad(lambda x, w: x * total(w), 0, 1, args=(W,))[0], 97.5),
    "solve_ivp": (
        lambda: integrate.solve_ivp(lambda t, y, w: total(w) + 0 * y, (0, 1), [1.0], args=(W,)).y[:, -1],
        196,
    ),
    "within a program": (lambda: jit(lambda w: optimize.root_scalar(lambda x: x * total(w) - 195, x0=0.1).root)(W), 1),
    "a rule of the user": (lambda: ruled(W), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_loops_are_kept(name):
    call, expected = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.AnyshapeWarning)
        np.testing.assert_allclose(call(), expected, rtol=1e-3)

"""Compare integrals over several variables with closed forms and SciPy's, and their derivatives."""

import numpy as np
import pytest
import scipy.integrate

from anyshape import check_grads, jit
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.scipy import integrate

CASES = {
    "dblquad": lambda s, a: s.dblquad(lambda y, x: np.exp(-a * x * y) * x, 0.0, 1.5, lambda x: x / 2, lambda x: x + 1)[
        0
    ],
    "dblquad, arguments": lambda s, a: s.dblquad(lambda y, x, p: p * x * y**2, 0.0, a, 0.0, 2.0, args=(a,))[0],
    "tplquad": lambda s, a: s.tplquad(
        lambda z, y, x: np.cos(a * x) + y * z,
        0.0,
        1.0,
        0.0,
        lambda x: x,
        0.0,
        lambda x, y: x + y,
        epsabs=1e-6,
        epsrel=1e-6,
    )[0],
    "nquad": lambda s, a: s.nquad(lambda x, y, p: p * x + y, [lambda y, p: (0.0, y * p), (0.0, 1.0)], args=(a,))[0],
}


@pytest.mark.slow  # nested loops take seconds to compile
@pytest.mark.parametrize("name", CASES)
def test_integrals_and_derivatives(name):
    np.testing.assert_allclose(jit(lambda a: CASES[name](integrate, a))(1.2), CASES[name](scipy.integrate, 1.2), 1e-7)
    check_grads(lambda a: CASES[name](integrate, a), (1.2,), order=1, rtol=1e-5)


def test_an_integral_over_a_triangle():
    area = lambda s, a: s.dblquad(lambda y, x: a * x * y, 0.0, 1.0, 0.0, lambda x: x)[0]
    np.testing.assert_allclose(jit(lambda a: area(integrate, a))(8.0), 1.0, 1e-9)
    assert integrate.dblquad(lambda y, x: x * y, 0, 1, 0, 1) == scipy.integrate.dblquad(lambda y, x: x * y, 0, 1, 0, 1)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match="opts"):
        jit(lambda a: integrate.nquad(lambda x: a * x, [(0.0, 1.0)], opts=[{}])[0])(1.0)
    with pytest.raises(UnsupportedFunctionError, match="nquad with full_output"):
        jit(lambda a: integrate.nquad(lambda x: a * x, [(0.0, 1.0)], full_output=True)[0])(1.0)

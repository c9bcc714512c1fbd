"""`numpy.polynomial` on traced coefficients and points: each result is NumPy's."""

import numpy as np
import pytest
from anyshape.numpy.polynomial.chebyshev import chebval
from numpy.polynomial import polynomial as numpy_polynomial

import anyshape.numpy as anp
from anyshape import grad, jit, jvp, vmap
from anyshape.numpy.polynomial import Polynomial, polynomial

C = np.array([0.5, 1.5, 2.5])
KINDS = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")
PREFIXES = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
            "laguerre": "lag"}  # fmt: skip

OF_OBJECTS = {
    "sum": lambda p, c: (p(c) + 3 - p(c).deriv()).coef,
    "reflected": lambda p, c: (2 * p(c) + [1, 2] - c).coef,
    "value": lambda p, c: p(c)(c),
    "integral": lambda p, c: p(c).integ(2, k=[1, c[0]])(0.3),
    "power": lambda p, c: (p(c) ** 2)(0.3),
    "divided": lambda p, c: (p(c) // p([1.0, 2.0])).coef,
    "rest": lambda p, c: (p(c) % p([1.0, 2.0])).coef,
    "trimmed": lambda p, c: p(c * (c > 1)).trim().coef,
    "cut": lambda p, c: p(c).cutdeg(1).coef,
    "of a list": lambda p, c: p([c[0], 1, c[1]])(0.7),
    "domain": lambda p, c: p(c, domain=[0, 2])(c[0]),
    "converted": lambda p, c: p(c).convert(domain=[0, 3]).coef,
    "composed": lambda p, c: p(c)(p(c)).coef,
    "degree": lambda p, c: c * p(c).degree(),
    "points": lambda p, c: p(c).linspace(4)[1],
    "fitted": lambda p, c: p.fit(np.arange(3.0), c, 1)(0.4),
    "equal": lambda p, c: c if p(c) == p(c) else -c,
    "iterated": lambda p, c: sum(v for v in p(c)),
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_objects_compute_as_those_of_numpy(name):
    function = OF_OBJECTS[name]
    for kind in KINDS[:2]:
        expected = function(getattr(np.polynomial, kind), C)
        value = jit(lambda c, kind=kind: function(getattr(anp.polynomial, kind), c))(C)
        assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("module", PREFIXES)
def test_functions_of_each_module_compute_as_those_of_numpy(module):
    prefix, ours, theirs = PREFIXES[module], getattr(anp.polynomial, module), getattr(np.polynomial, module)
    calls = {
        "val": lambda f, c: f(np.array([1.0, 2.0]), c), "val2d": lambda f, c: f(c, c, c[:, None] * c),
        "mul": lambda f, c: f(c, c[:2]), "der": lambda f, c: f(c, 2), "int": lambda f, c: f(c),
        "vander": lambda f, c: f(c, 2),
        "fromroots": lambda f, c: f(c), "fit": lambda f, c: f(np.arange(3.0), c, 1), "add": lambda f, c: f(c, c[:1]),
    }  # fmt: skip
    for name, call in calls.items():
        expected = call(getattr(theirs, prefix + name), C)
        value = jit(lambda c, call=call, name=name: call(getattr(ours, prefix + name), c))(C)
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_array_equal(call(getattr(ours, prefix + name), C), expected)


def test_derivatives_and_batches():
    point = 2.0
    np.testing.assert_allclose(grad(lambda c: Polynomial(c)(point))(C), point ** np.arange(3))
    np.testing.assert_allclose(grad(lambda t: polynomial.polyval(t, C))(point), Polynomial(C).deriv()(point))
    _, tangent = jvp(lambda c: chebval(0.3, c), (C,), (np.ones(3),))
    np.testing.assert_allclose(tangent, np.polynomial.chebyshev.chebvander(0.3, 2).sum())
    np.testing.assert_allclose(vmap(lambda c: Polynomial(c)(point))(np.stack([C, 2 * C])), [13.5, 27.0])
    for n in (1, 2, 5):
        c = np.arange(1.0, n + 1)
        np.testing.assert_allclose(jit(lambda c: Polynomial(c)(point))(c), np.polynomial.Polynomial(c)(point))


def test_names_and_eager_results_are_those_of_numpy():
    for module in ("polyutils", *PREFIXES):
        ours, theirs = getattr(anp.polynomial, module), getattr(np.polynomial, module)
        assert {n for n in dir(theirs) if not n.startswith("_")} - set(dir(ours)) <= {"np", "la", "pu"}
    assert issubclass(anp.polynomial.Chebyshev, np.polynomial.Chebyshev)
    assert type(Polynomial(C) * 2) is Polynomial and str(Polynomial(C)) == str(np.polynomial.Polynomial(C))
    assert polynomial.polyval(2.0, C) == numpy_polynomial.polyval(2.0, C)

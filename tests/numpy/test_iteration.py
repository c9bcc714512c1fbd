"""Tests of Python's iteration over a symbolic axis: it takes each form that NumPy's arrays take."""

import functools
import itertools
import math
import warnings

import numpy as np
import pytest

from anyshape import grad, jit, trace, vmap
from anyshape.errors import FixedSizeWarning, SizeMismatchError, SymbolicIterationError


def unpacked(x):
    first, *rest = x
    return first * rest[-1]


def first_and_count(first, *rest):
    return first + len(rest)


FORMS = {
    "sum": lambda x: sum(v * v for v in x),
    "list": lambda x: list(x)[1] * 2,
    "tuple": lambda x: tuple(x)[-1] ** 2,
    "unpacking": lambda x: unpacked(x) * first_and_count(*x),
    "zip": lambda x: sum(p * q for p, q in zip(x, x[::-1], strict=True)),
    "enumerate": lambda x: sum(i * v for i, v in enumerate(x)),
    "reversed": lambda x: functools.reduce(lambda total, v: 2 * total + v, reversed(x)),
    "max": lambda x: max(x) * min(x),
    "any": lambda x: x[0] * (2.0 if any(x) and all(x) else 3.0),
    "sorted": lambda x: sorted(x)[1] ** 2,
    "flat": lambda x: sum(v * v for v in x.flat),
    "ndindex": lambda x: sum(x[i] ** 2 for i in np.ndindex(x.shape)),
    "dict": lambda x: sum(v * len(k) for k, v in dict(zip(("a", "bb"), x, strict=False)).items()),
    "map": lambda x: sum(map(np.sin, x)),
    "filter": lambda x: sum(filter(lambda v: v > 0.1, x)),
    "prod": math.prod,
    "pairwise": lambda x: sum(p * q for p, q in itertools.pairwise(x)),
    "rows": lambda x: sum(row @ x for row in np.outer(x, x)),
}


@pytest.mark.parametrize("form", FORMS)
def test_iteration_over_a_symbolic_axis(form):
    f, g = FORMS[form], grad(FORMS[form])
    jitted = jit(f)
    for n in (2, 5, 2):
        x = np.linspace(0.25, 0.75, n)
        np.testing.assert_allclose(jitted(x), f(x))
        steps = 1e-6 * np.eye(n)
        np.testing.assert_allclose(g(x), [(f(x + e) - f(x - e)) / 2e-6 for e in steps], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(vmap(f)(np.stack([x, 2 * x])), [f(x), f(2 * x)])
    assert jitted.cache_info().traces <= 4


@pytest.mark.usefixtures("as_written")
def test_iteration_over_a_run_time_size_names_scan():
    with pytest.raises(SymbolicIterationError, match=r"anyshape\.scan"):
        jit(lambda x: sum(v for v in x[x > 0.3]))(np.ones(3))


def test_names_that_an_array_is_taken_apart_into_say_its_size():
    """No other size is possible, so there is no warning, and a program for any size has a condition."""

    def product(p):
        first, second = p
        return first * second

    with warnings.catch_warnings():
        warnings.simplefilter("error", FixedSizeWarning)
        assert jit(product)(np.array([2.0, 3.0])) == 6.0
    with pytest.raises(ValueError, match="too many values"):
        jit(product)(np.ones(3))
    program = trace(product)("n")
    assert program(np.array([2.0, 3.0])) == 6.0
    with pytest.raises(SizeMismatchError, match=r"p\.shape\[0\]"):
        program(np.ones(3))

"""Slices whose bounds only the run knows: negative ones count from the end, in one program for all calls."""

import itertools

import numpy as np
import pytest

import anyshape
from anyshape.errors import IndexRangeError

BOUNDS = {
    "m": lambda n, m, k: m,
    "-k": lambda n, m, k: -k,
    "m - k": lambda n, m, k: m - k,
    "k - m": lambda n, m, k: k - m,
    "2 * m - k": lambda n, m, k: 2 * m - k,
    "n - k - 1": lambda n, m, k: n - k - 1,
    "m - 2": lambda n, m, k: m - 2,
    "-1": lambda n, m, k: -1,
    "None": lambda n, m, k: None,
}
STEPS = (None, 2, -1, -2)
# Pairs take turns with steps: each two of a first bound, a last bound and a step meet in the gate.
CASES = [
    pytest.param(first, last, step, marks=[] if (i + j) % len(STEPS) == k else [pytest.mark.slow])
    for (i, first), (j, last), (k, step) in itertools.product(*map(enumerate, (BOUNDS, BOUNDS, STEPS)))
]
CALLS = [np.linspace(low, 1, n) for n in (0, 1, 2, 5, 8) for low in (-1.5, -0.2, 0.4)]


def counts(x):
    """Return the size of x and two numbers of its elements."""
    return x.shape[0], x[x > 0].shape[0], x[x < 0.5].shape[0]


@pytest.mark.parametrize(("first", "last", "step"), CASES)
def test_bounds_of_any_sign_are_those_of_numpy(first, last, step):
    """Reads, writes and gradients of both, in a loop too, are NumPy's, from one trace."""

    def f(x, repeat=lambda trip, c: trip(trip(c))):
        part = slice(*(BOUNDS[name](*counts(x)) for name in (first, last)), step)

        def trip(c):
            c = c.copy()
            c[part] = np.sin(c[part]) * 2 + c[part].sum()
            return c

        c = repeat(trip, x * 1.0)
        return np.sum(c**2) + np.sum(x[part] ** 3)

    looped = lambda x: f(x, lambda trip, c: anyshape.fori_loop(0, 2, lambda i, c: trip(c), c))
    both, both_of_loop = anyshape.jit(anyshape.value_and_grad(f)), anyshape.jit(anyshape.value_and_grad(looped))
    alone = [anyshape.jit(f), anyshape.jit(looped)] if first == last else []
    for x in CALLS:
        (value, slope), (value_of_loop, slope_of_loop) = both(x), both_of_loop(x)
        for result in (value, value_of_loop, *[jitted(x) for jitted in alone]):
            np.testing.assert_allclose(result, f(x), rtol=1e-12)
        steps = np.eye(len(x)) * 1e-6
        expected = np.array([(f(x + d) - f(x - d)) / 2e-6 for d in steps])
        np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(slope_of_loop, slope, rtol=1e-10, atol=1e-12)
    assert all(len(jitted.programs()) == 1 for jitted in (both, *alone[:1]))


def test_an_index_of_unknown_sign_is_that_of_numpy():
    """The run checks it."""

    def f(x):
        _, m, k = counts(x)
        return x[m - k] * 2

    jitted = anyshape.jit(f)
    for x in (np.array([1.0, 2.0, -3.0]), np.array([-1.0, 0.2, 0.3, 4.0]), np.array([1.0, 2.0, 0.7, 0.1])):
        assert jitted(x) == f(x)
    assert len(jitted.programs()) == 1
    with pytest.raises((IndexError, IndexRangeError)):
        jitted(np.ones(2))

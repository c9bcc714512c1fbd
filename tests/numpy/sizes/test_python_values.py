"""`len(x)` is decided by a comparison only where Python compares its own result."""

import numpy as np
import pytest

import anyshape
from anyshape import jit


def is_large(n):
    return n > 3


OTHER_USES = {
    "function": lambda x: x * 2 if is_large(len(x)) else x,
    "function by name": lambda x: x * 2 if is_large(n=len(x)) else x,
    "not of a function": lambda x: x * 2 if not is_large(len(x)) else x,
    "function, then a comparison": lambda x: x * 2 if abs(len(x)) > 3 else x,
    "maximum, then a comparison": lambda x: x * 2 if max(0, len(x)) > 3 else x,
    "maximum, then a remainder": lambda x: x * 2 if max(0, len(x)) % 3 else x,
    "function as the truth of a loop": lambda x: x * sum(1 for i in range(9) if is_large(len(x) - i)),
    "negative": lambda x: x * 2 if -len(x) > -3 else x,
    "difference": lambda x: x * 2 if len(x) - 1 > 3 else x,
    "position": lambda x: x * 2 if [5, 1, 4, 0, 6, 2, 7][len(x)] > 3 else x,
    "method": lambda x: x * 2 if (3).__lt__(len(x)) else x,
    "compared": lambda x: x * 2 if len(x) > 3 else x,
    "from the right": lambda x: x * 2 if len(x) < 3 else x,
    "number first": lambda x: x * 2 if len(x) != 3 else x,
    "less than, number first": lambda x: x * 2 if 3 < len(x) else x,  # noqa: SIM300
    "between": lambda x: x * 2 if 2 < len(x) <= 5 else x,
    "one of two numbers first": lambda x: x * 2 if (1 if x.ndim == 1 else 3) < len(x) else x,
    "number first, then a sum": lambda x: x * 2 if 3 + len(x) > 6 else x,
    "number first, in a call": lambda x: x * 2 if max(3, len(x)) > 4 else x,
    "number first, of an argument that chooses": lambda x: x * 2 if len(x if x.ndim else 5) <= 3 else x,
}
COMPARED = {
    "number first": (lambda x: x * 2 if len(x) != 3 else x, 2),
    "at least, number first": (lambda x: x * 2 if len(x) <= 3 else x, 2),
    "number first in a condition": (lambda x: x * 2 if x.ndim and len(x) == 4 else x, 2),
}


@pytest.mark.parametrize("name", OTHER_USES)
def test_each_use_of_a_length_is_the_one_of_numpy(name):
    function = OTHER_USES[name]
    jitted = jit(function)
    for size in (2, 5, 1, 6, 3, 0, 4):
        np.testing.assert_array_equal(jitted(np.ones(size)), function(np.ones(size)))


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_with_a_number_first_decide_alone(name):
    function, traces = COMPARED[name]
    jitted = jit(function)
    for size in (2, 5, 1, 6, 3, 0, 4):
        np.testing.assert_array_equal(jitted(np.ones(size)), function(np.ones(size)))
    assert jitted.cache_info().traces == traces


def test_bodies_of_loops_decide_on_run_time_sizes_from_outside():
    """The decision is one of the call, before the loop, also in derivatives."""

    def f(x, loop=anyshape.scan):
        m, k = x[x > 0].shape[0], x[x < 0.3].shape[0]

        def body(c, v):
            c = c + v * 2 if m > 2 else c * v
            return c + min(m, k) * 0.1, c * (m // 2)

        c, ys = loop(body, 0.5, x)
        return c + np.sum(ys) + sum(range(k))

    def plainly(body, c, xs):
        ys = []
        for x in xs:
            c, y = body(c, x)
            ys.append(y)
        return c, np.array(ys)

    value, slope = anyshape.jit(f), anyshape.jit(anyshape.grad(f))
    for n in (0, 1, 2, 5):
        for seed in range(4):
            x = np.random.default_rng(seed).normal(size=n)
            np.testing.assert_allclose(value(x), f(x, plainly), rtol=1e-12)
            steps = np.eye(n) * 1e-6
            expected = np.array([(f(x + d, plainly) - f(x - d, plainly)) / 2e-6 for d in steps])
            np.testing.assert_allclose(slope(x), expected, atol=1e-6)

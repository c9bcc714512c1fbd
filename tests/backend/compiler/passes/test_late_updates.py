"""Writes to parts of arrays run after the last other use of the array, so that they need no copy."""

import linecache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from anyshape import grad, hessian, jit, jvp, vmap

SIZES = (4, 5, 7, 11)


def _assigned(x):
    """Return a sum that reads each written element, and what was written before."""
    y = np.zeros_like(x)
    for i in range(4):
        y[i] = np.sin(x[i]) * x[i] + y[i - 1]
    return (y * y).sum()


def _written_at(x, starts):
    """Return weighted elements of an array that overlapping parts were written to, each read before and after."""
    y = x.copy()
    seen = 0.0
    for k, start in enumerate(starts):
        before = y[start : start + 2] * (k + 1)
        y[start : start + 2] = np.cos(y[start : start + 2]) * x[:2]
        seen = seen + (before * y[1:3]).sum()
    return seen + (y**2).sum()


def _differences(function, x):
    """Return the gradient by steps in the imaginary direction."""
    return np.array([function(x + 1e-30j * row).imag / 1e-30 for row in np.eye(len(x))])


@pytest.mark.parametrize("n", SIZES)
def test_gradients_of_assignments_equal_those_of_numpy(n):
    x = np.linspace(0.3, 1.4, n)
    np.testing.assert_allclose(jit(grad(_assigned))(x), _differences(_assigned, x), rtol=1e-12)


@settings(max_examples=4, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=5), st.sampled_from([2.0, 0.7]))
def test_overlapping_writes_have_the_derivatives_of_numpy(starts, scale):
    def function(x):
        return _written_at(x, starts)

    gradient = jit(grad(function))
    for n in SIZES:
        x = scale * np.linspace(0.3, 1.4, n)
        expected = _differences(function, x)
        np.testing.assert_allclose(jit(function)(x), function(x), rtol=1e-12)
        np.testing.assert_allclose(gradient(x), expected, rtol=1e-10)
        np.testing.assert_allclose(jvp(function, (x,), (x,))[1], expected @ x, rtol=1e-10)
        np.testing.assert_allclose(vmap(grad(function))(np.stack([x, x]))[1], expected, rtol=1e-10)
        step = 1e-6 * x
        change = (_differences(function, x + step) - _differences(function, x - step)) / 2e-6
        np.testing.assert_allclose(jit(hessian(function))(x) @ x, change, rtol=1e-5, atol=1e-5)


def _copies(count):
    """Return how many array copies the program of the gradient makes for so many assignments."""

    def function(x):
        y = np.zeros_like(x)
        for i in range(count):
            y[i] = np.sin(x[i]) * x[i]
        return (y * y).sum()

    before = {name for name in linecache.cache if "anyshape plan" in name}
    jit(grad(function))(np.ones(count))
    programs = [linecache.getlines(name) for name in linecache.cache if "anyshape plan" in name and name not in before]
    return sum(".copy()" in line for lines in programs for line in lines)


def test_gradients_of_more_assignments_copy_no_more():
    assert _copies(8) == _copies(32)

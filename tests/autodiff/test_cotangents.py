"""Cotangents of assignments: the derivative of n writes makes n small writes, and is that of NumPy's function."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from anyshape import grad, hessian, jit, jvp, vmap

SIZES = (5, 6, 9)


def assigned(x):
    """Return a sum that reads each written element, and what was written before."""
    y = np.zeros_like(x)
    for i in range(4):
        y[i] = np.sin(x[i]) * x[i] + y[i - 1]
    return (y * y).sum()


def added(x):
    """Return a sum over an array that products with itself were added to and subtracted from."""
    y = x.copy()
    for i in range(1, 4):
        y[i:] += 0.5 * y[i - 1 : -1] * x[i]
        y[:-i] -= y[i:] ** 2
    return (y * np.cos(x)).sum()


def rearranged(x):
    """Return a sum over an array that was added to through views of views."""
    y = np.ones((3, 2)) * x[0]
    y.T[1:][:, ::-1] += x[:3]
    y[1] -= x[2] * y[0]
    y[:, 0] += np.float32(0.5)
    y[2, 1] += y[1, 1] * x[3]
    return (y * y * np.arange(6.0).reshape(3, 2)).sum()


def read_often(x):
    """Return a sum of products of many slices of one array."""
    total = 0.0
    for i in range(4):
        total = total + (np.sin(x[i : i + 2]) * x[1:3]).sum() * x[i] * x[-1]
    return total


def dots_of_rows(x):
    """Return a sum of products of leading parts of rows, at positions from either end."""
    y, total = np.outer(np.cos(x), x), 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            total = total + y[i, :j] @ y[j - i, :j] * y[i, j]
    return total


def slopes(function, x):
    """Return the gradient by steps in the imaginary direction."""
    return np.array([function(x + 1e-30j * row).imag / 1e-30 for row in np.eye(len(x))])


def check(function, x):
    """Assert that a function has NumPy's values, and the derivatives that steps of NumPy's function show."""
    expected = slopes(function, x)
    np.testing.assert_allclose(jit(function)(x), function(x), rtol=1e-12)
    np.testing.assert_allclose(jit(grad(function))(x), expected, rtol=1e-10)
    np.testing.assert_allclose(jvp(function, (x,), (x,))[1], expected @ x, rtol=1e-10)
    np.testing.assert_allclose(vmap(grad(function))(np.stack([x, x]))[1], expected, rtol=1e-10)
    step = 1e-6 * x
    change = (slopes(function, x + step) - slopes(function, x - step)) / 2e-6
    np.testing.assert_allclose(jit(hessian(function))(x) @ x, change, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [assigned, added, rearranged, read_often, dots_of_rows])
def test_derivatives_of_assignments_are_those_of_numpy(function):
    for n in SIZES:
        check(function, np.linspace(0.3, 1.4, n))


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["=", "+=", "-=", "*="])), min_size=1, max_size=5))
def test_derivatives_of_overlapping_writes_are_those_of_numpy(writes):
    def function(x):
        y, weighted = x.copy(), 0.0
        for k, (start, symbol) in enumerate(writes):
            before = y[start : start + 2] * (k + 1)
            names = {"y": y, "v": np.cos(y[start : start + 2]) * x[:2]}
            exec(f"y[{start} : {start} + 2] {symbol} v", names)
            weighted = weighted + (before * y[1:3]).sum()
        return weighted + (y**2).sum()

    check(function, np.linspace(0.3, 1.4, 6))


def copies(function, count):
    """Return how many arrays the program of the gradient copies or pads for so many assignments."""
    made = jit(grad(lambda x: function(x, count)), optimize="now")
    made(np.ones(40))
    source = made.programs()[0].run.__source__
    return source.count(".copy()") + source.count("k_pad")


def write_each(x, count):
    """Write each element."""
    y = np.zeros_like(x)
    for i in range(count):
        y[i] = np.sin(x[i])
    return (y * y).sum()


def change_each(x, count):
    """Write each element from what was there."""
    y = x.copy()
    for i in range(count):
        y[i : i + 2] = np.sin(y[i : i + 2]) * x[i]
    return (y * y).sum()


def step_each(x, count):
    """Add differences of neighbours."""
    y = x.copy()
    for _ in range(count):
        y[1:-1] += 0.1 * (y[2:] - 2 * y[1:-1] + y[:-2])
    return (y * y).sum()


@pytest.mark.parametrize("function", [write_each, change_each, step_each])
def test_further_assignments_copy_no_array(function):
    assert copies(function, 9) == copies(function, 15)


def test_a_sum_of_two_slices_stays_padded():
    made = jit(grad(lambda x: ((x[1:] - x[:-1]) ** 2).sum()))
    made(np.ones(4))
    assert "slice_add" not in str(made.programs()[0].graph)


def test_rows_of_one_slice_are_added_where_they_belong():
    made = jit(grad(dots_of_rows))
    made(np.ones(4))
    plan = str(made.programs()[0].plan)
    assert "scatter_add" in plan
    assert "put_add" not in plan


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "uint8", "bool"])
def test_adding_to_parts_has_the_bits_of_numpy(dtype):
    def function(x, y):
        z = x.copy()
        z[1:] += y[1:]
        z[::2] += y[0]
        z[:-1] = y[:-1] + z[:-1]
        return z

    for n in (1, 2, 5):
        x, y = np.arange(float(n)) - 1, np.full(n, 7.0)
        x, y = x.astype(dtype), (-y if dtype != "uint8" else y).astype(dtype)
        result, expected = jit(function)(x, y), function(x, y)
        assert result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


def test_what_is_added_may_be_the_array_itself():
    def function(x):
        y = x.copy()
        y[1:] += y[:-1]
        y[:2] -= y[:2]
        return y, y[:1] + x[:1]

    x = np.array([0.5, -0.0, 3.0, np.nan, np.inf])
    for ours, theirs in zip(jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)

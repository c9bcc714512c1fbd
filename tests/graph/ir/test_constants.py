"""Change arrays of NumPy while a function is traced: each use reads the elements that NumPy would read."""

import numpy as np
import pytest

from anyshape import fori_loop, grad, jit, vmap
from anyshape.errors import MutationError

X = np.array([1.0, 2.0, 3.0])
BUFFER = np.zeros(3)


def masked(x):
    total, mask = 0, np.zeros(3)
    for i in range(3):
        mask[:] = 0
        mask[i] = i + 1
        total = total + (x * mask).sum() * 10**i
    return total


def accumulated(x):
    weights, out = np.zeros(3), []
    for i in range(3):
        weights[i] = 1
        out.append(x @ weights)
    return np.stack(out)


def viewed(x):
    table = np.arange(6.0).reshape(2, 3)
    first = x * table[0]
    table *= -1
    return first + 10 * (x * table[0]) + x * table.T[:, 1]


def shared(x):
    BUFFER[:] = 1
    first = x * BUFFER
    BUFFER[:] = 2
    return first + 10 * x * BUFFER


def around_a_loop(x):
    scale = np.ones(3)
    total = fori_loop(0, 2, lambda i, c: c + (x * scale).sum(), 0.0)
    scale[:] = 5
    return total + grad(lambda z: (z * scale).sum())(x).sum()


@pytest.mark.parametrize("function", [masked, accumulated, viewed, shared])
def test_each_use_reads_the_elements_of_its_time(function):
    traced = jit(function)
    for x in (X, -X):
        np.testing.assert_allclose(traced(x), function(x))
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(vmap(function)(rows), [function(row) for row in rows])
    weights = np.cos(np.arange(np.size(function(X)))).reshape(np.shape(function(X)))
    slope = (np.sum(weights * function(X + 1e-6)) - np.sum(weights * function(X - 1e-6))) / 2e-6
    np.testing.assert_allclose(grad(lambda x: (weights * function(x)).sum())(X).sum(), slope, 1e-6)


def test_inner_graphs_read_the_elements_of_their_time():
    assert jit(around_a_loop)(X) == 12 + 15


def test_a_change_between_two_calls_is_seen_as_ever():
    weights = np.ones(3)
    traced = jit(lambda x: x * weights)
    np.testing.assert_array_equal(traced(X), X)
    weights[:] = 4
    np.testing.assert_array_equal(traced(X), 4 * X)


def test_a_large_array_that_changes_is_an_error_with_the_line_that_read_it():
    def f(x):
        table = np.ones(20_000)
        first = (x[0] * table).sum()
        table[3] = 2
        return first

    with pytest.raises(MutationError, match=r"changed after it was read.* at test_constants.py:\d+\n.*anyshape.numpy"):
        jit(f, read_source="off")(X)
    assert jit(f)(X) == f(X)

"""Test functions that catch errors of sizes: each call takes the path of Python, whichever call was traced first."""

import itertools

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit, vmap
from anyshape.errors import SizeMismatchError
from anyshape.transforms import sharing


def fourth(np, x, y):
    try:
        return x[3] * 2
    except IndexError:
        return x.sum()


def added(np, x, y):
    try:
        return (x + y).sum()
    except ValueError:
        return x.sum() * 10


def product(np, x, y):
    try:
        return x @ y
    except ValueError:
        return x.sum() * 100


def in_pairs(np, x, y):
    try:
        return x.reshape(-1, 2).sum(0)
    except ValueError:
        return x[:1] * 7


def stacked(np, x, y):
    try:
        return np.stack([x, y]).sum()
    except ValueError as error:
        raise KeyError("lengths") from error


def largest(np, x, y):
    try:
        return x.max()
    except ValueError:
        return -1.0


def assigned(np, x, y):
    z = x.copy()
    try:
        z[:] = y
    except ValueError:
        z[:] = 0
    return z


def stretched(np, x, y):
    try:
        return np.broadcast_to(x, (3,)).sum()
    except ValueError:
        return 5.0


FUNCTIONS = [fourth, added, product, in_pairs, stacked, largest, assigned, stretched]
SIZES = [(3, 2), (3, 3), (5, 5), (1, 4), (4, 1), (6, 2), (0, 0), (0, 3), (4, 4), (8, 2)]


def outcome(function, *args):
    try:
        return np.asarray(function(*args))
    except KeyError as error:
        return str(error)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_function_may_catch_errors_of_sizes(function):
    for order in (SIZES, SIZES[::-1], SIZES[3:] + SIZES[:3]):
        sharing.forget()  # of earlier orders
        compiled = jit(lambda x, y: function(anp, x, y))
        for n, m in itertools.chain(order, order):
            x, y = np.arange(1.0, n + 1), np.arange(2.0, m + 2)
            got, wanted = outcome(compiled, x, y), outcome(lambda x, y: function(np, x, y), x, y)
            np.testing.assert_array_equal(got, wanted, err_msg=f"{n}, {m}")
        assert compiled.cache_info().traces == 2 - (function is stacked), "one for each result"


def test_decisions_on_values_around_a_caught_error():
    def function(np, x, y):
        try:
            z = (x + y).sum()
        except ValueError:
            z = x.sum() * 10
        return z * 2 if z > 10 else -z

    compiled = jit(lambda x, y: function(anp, x, y))
    for n, m in [*SIZES, *SIZES]:
        x, y = np.arange(1.0, n + 1), np.arange(2.0, m + 2)
        assert compiled(x, y) == function(np, x, y)
    assert compiled.cache_info().traces <= 4


def test_derivatives_and_batches_of_such_functions():
    for n in (3, 5, 2, 4):
        x = np.arange(1.0, n + 1)
        expected = np.where(np.arange(n) == 3, 2.0, 0.0) if n > 3 else np.ones(n)
        np.testing.assert_array_equal(grad(lambda x: fourth(anp, x, x))(x), expected)
        batch = vmap(lambda x: fourth(anp, x, x))(np.stack([x, -x]))
        np.testing.assert_array_equal(batch, [fourth(np, x, x), fourth(np, -x, x)])


def test_an_error_that_nobody_catches_is_raised_in_each_call_and_leaves_nothing():
    compiled = jit(lambda x, y: (x + y).sum())
    compiled(np.ones(3), np.ones(3))
    for _ in range(3):
        with pytest.raises(SizeMismatchError, match=r"y\.shape\[0\]"):
            compiled(np.ones(3), np.ones(2))
    masked = jit(lambda x, y: (x[x > 0] + y).sum())
    masked(np.ones(3), np.ones(3))
    for _ in range(3):
        with pytest.raises(ValueError, match=r"sizes|broadcast|must"):
            masked(np.ones(3), np.ones(2))
    assert compiled.cache_info().traces == masked.cache_info().traces == 1

"""Test iteration over the axes of traced arrays: values, derivatives, writes to rows, guards and their number."""

import itertools

import numpy as np
import pytest

from anyshape import check_grads, grad, jit, jvp, vmap


def unpacked(x):
    first, *others = x
    return first + sum(others)


def scaled(*rows):
    return [row * len(rows) for row in rows]


def written(x):
    y = x.copy()
    for i, row in enumerate(y):
        row *= i
        row[:1] += 1
    return y


def swapped(x):
    y = x.copy()
    for row, mirrored in zip(y, reversed(x)):
        row[...] = np.sin(mirrored)
    return y


def of_columns(x):
    return np.stack([column.sum() for column in x.T] or [x.sum()])


# programs over x of shape (n, m), as eager NumPy runs them
PROGRAMS = {
    "for": lambda x: [row * 2 for row in x],
    "sum": lambda x: sum(v for v in x) + x,
    "enumerate": lambda x: sum(i * np.sin(row) for i, row in enumerate(x)) + x,
    "zip": lambda x: [a * b[0] for a, b in zip(x, x[::-1, :1])],
    "list": lambda x: list(x)[::-1],
    "tuple": lambda x: tuple(np.exp(x)),
    "call": lambda x: scaled(*x),
    "nested": lambda x: sum(v * v for row in x for v in row) + x,
    "map": lambda x: list(map(np.tanh, x)),
    "pairwise": lambda x: [b - a for a, b in itertools.pairwise(x)],
    "reversed": lambda x: list(reversed(x)),
    "iter": lambda x: next(iter(x), x) * 3,
    "written rows": written,
    "swapped rows": swapped,
    "columns": of_columns,
}
SHAPES = [(0, 2), (1, 1), (2, 3), (5, 2), (2, 3)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_of_symbolic_axes_are_those_of_numpy(name):
    function = jit(PROGRAMS[name])
    for shape in SHAPES:
        x = np.random.default_rng(3).normal(size=shape)
        result, expected = function(x), PROGRAMS[name](x)
        assert len(result) == len(expected)
        for a, b in zip(result, expected):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    assert function.cache_info().traces <= 4


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_over_rows_are_differentiated(name):
    def total(x):
        return sum((np.sum(np.cos(r)) for r in PROGRAMS[name](x)), 0.0 * x.sum())

    x = np.random.default_rng(3).normal(size=(2, 3))
    check_grads(total, (x,), order=2)
    batch = np.stack([x, 2 * x])
    np.testing.assert_allclose(vmap(grad(total))(batch), [grad(total)(b) for b in batch], rtol=1e-12)


def test_an_axis_is_unpacked():
    def rosenbrock(theta):
        a, b = theta
        return (1 - a) ** 2 + 100 * (b - a * a) ** 2

    value, slope = jvp(rosenbrock, (np.array([1.0, 2.0]),), (np.array([0.0, 1.0]),))
    assert (value, slope) == (100, 200)
    assert grad(rosenbrock)(np.array([1.0, 2.0])).tolist() == [-400, 200]
    with pytest.raises(ValueError, match="too many values to unpack"):
        jit(rosenbrock)(np.ones(3))
    with pytest.raises(ValueError, match="not enough values to unpack"):
        jit(rosenbrock)(np.ones(1))


def test_the_number_of_rows_is_a_guard():
    function = jit(unpacked)
    for n in (1, 3, 1, 3, 4):
        assert function(np.ones(n)) == n
    assert function.cache_info().traces == 3


def test_rows_without_axes_are_scalars_and_others_are_views():
    def kinds(x):
        assert all(isinstance(v, np.float64) for v in x[:, 0]) and all(isinstance(r, np.ndarray) for r in x)
        return x

    jit(kinds)(np.ones((2, 3)))
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        jit(lambda x: list(x))(np.array(2.0))

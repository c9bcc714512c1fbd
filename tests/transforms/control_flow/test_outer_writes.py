"""Test writes to arrays around loops, branches and transformed functions: they are what Python's statements do."""

import numpy as np
import pytest

from anyshape import (
    checkpoint,
    cond,
    custom_jvp,
    fori_loop,
    grad,
    hessian,
    jit,
    jvp,
    scan,
    switch,
    vjp,
    vmap,
    while_loop,
)
from anyshape import map as map_loop
from anyshape.errors import ArgumentError, MutationError


@pytest.fixture(autouse=True)
def as_users_run_programs():
    """Optimise and verify plans in this file: they decide what is written in place."""


def powers(x, loop):
    """Powers, sums through a view, and a number that the loop gives."""
    y = np.zeros_like(x)
    view = y[1:]

    def body(i, c):
        y[i] += c
        view[...] += x[i] * y[0]
        return c * x[0]

    return y, loop(x.shape[0], body, x[0])


def python_loop(count, body, c):
    for i in range(count):
        c = body(i, c)
    return c


def by_while(count, body, c):
    return while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, body(s[0], s[1])), (0, c))[1]


LOOPS = {
    "fori_loop": lambda count, body, c: fori_loop(0, count, body, c),
    "checkpoints": lambda count, body, c: fori_loop(0, count, body, c, checkpoint=2),
    "scan": lambda count, body, c: scan(lambda s, _: ((s[0] + 1, body(s[0], s[1])), ()), (0, c), length=count)[0][1],
    "while_loop": by_while,
    "nested": lambda count, body, c: fori_loop(
        0, count, lambda i, c: cond(i >= 0, lambda: fori_loop(i, i + 1, body, c), lambda: c), c
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_trips_write_to_arrays_around_the_loop(name):
    compiled = jit(lambda x: powers(x, LOOPS[name]))
    for n in (1, 2, 5):
        x = np.linspace(0.5, 1.5, n)
        for y, wanted in zip(compiled(x), powers(x, python_loop), strict=True):
            np.testing.assert_allclose(y, wanted, strict=True)
    assert compiled.cache_info().traces == 1
    loss, plain = ((lambda x, loop=loop: (powers(x, loop)[0] ** 2).sum()) for loop in (LOOPS[name], python_loop))
    x = np.array([0.5, 1.5, 1.0])
    np.testing.assert_allclose(grad(loss)(x), grad(plain)(x), rtol=1e-12)
    np.testing.assert_allclose(jvp(loss, (x,), (x,))[1], grad(plain)(x) @ x, rtol=1e-12)
    if name in ("fori_loop", "nested"):
        np.testing.assert_allclose(hessian(loss)(x), hessian(plain)(x), rtol=1e-10)
        rows = np.stack([x, x[::-1]])
        np.testing.assert_allclose(vmap(grad(loss))(rows), [grad(plain)(row) for row in rows], rtol=1e-12)


def test_a_condition_reads_what_trips_wrote():
    def doubled(x):
        y = x.copy()

        def body(i):
            y[0] *= 2
            return i + 1

        return while_loop(lambda i: y.sum() < 10, body, 0), y

    count, y = jit(doubled)(np.ones(2))
    assert count == 4 and y.tolist() == [16, 1]

    def writes(x):
        return while_loop(lambda i: x.fill(i) or i < 3, lambda i: i + 1, 0)

    with pytest.raises(MutationError, match="function around"):
        jit(writes)(np.ones(2))


def test_branches_write_to_arrays_around_them_and_to_operands():
    def function(x, k, cond=cond, switch=switch):
        def first():
            x[0] = k
            return x.sum()

        def second():
            x[1:] *= k
            return x[1:].prod()

        def third(y, z):
            y[0] += k
            z[1:] -= y[:-2]
            return z.sum()

        value = cond(k > 0, first, second)
        return value + switch(k, [third, lambda y, z: 0 * y.sum()], x, x[1:]), x * 1

    plain = lambda p, f, g: f() if p else g(), lambda i, fs, *xs: fs[min(max(i, 0), 1)](*xs)
    compiled = jit(lambda x, k: function(x, k))
    for k in (-2, 0, 1, 2):
        x, y = np.arange(1.0, 5.0), np.arange(1.0, 5.0)
        for a, b in zip(compiled(x, k), function(y, k, *plain), strict=True):
            np.testing.assert_allclose(a, b)
        np.testing.assert_array_equal(x, y)
    loss = lambda a, *choices: function(a * np.arange(1.0, 5.0), -1, *choices)[1].sum()
    np.testing.assert_allclose(grad(loss)(1.0), (loss(1 + 1e-6, *plain) - loss(1 - 1e-6, *plain)) / 2e-6, rtol=1e-6)


def test_functions_under_derivatives_write_to_other_arguments_once():
    def function(x, total):
        total += x**2
        return total.sum()

    for derivative, wanted in (
        (grad(function), [2, 4]),
        (hessian(function), [[2, 0], [0, 2]]),
        (jit(lambda x, t: jvp(lambda x: function(x, t), (x,), (x,))[1]), 10),
        (jit(lambda x, t: vjp(lambda x: function(x, t), x)[1](1.0)[0]), [2, 4]),
        (grad(checkpoint(function)), [2, 4]),
        (jit(lambda x, t: vmap(grad(function))(x[None], t[None])[0]), [2, 4]),
    ):
        total = np.zeros(2)
        np.testing.assert_allclose(derivative(np.array([1.0, 2.0]), total), wanted)
        assert total.tolist() == [1, 4]


def test_vmap_writes_each_example_back():
    def function(x, y):
        y[1:] += x[1:] ** 2
        x[0] = y.sum()
        return y.sum()

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(4, 3))
    a, b = x.copy(), y.copy()
    np.testing.assert_allclose(vmap(function, in_axes=(0, 1))(x, y), [function(r, c) for r, c in zip(a, b.T)])
    np.testing.assert_allclose(x, a)
    np.testing.assert_allclose(y, b)
    with pytest.raises(MutationError, match="the examples of vmap share the array"):
        vmap(function, in_axes=(0, None))(x, y[:, 0])
    with pytest.raises(MutationError, match="writes to the examples"):
        jit(lambda x: vmap(lambda row: row.fill(x.sum()))(x))(x)
    with pytest.raises(ArgumentError, match="shares memory"):
        jit(lambda x: vmap(function)(x, x))(x)


def test_carries_are_copies_that_trips_write_to():
    def body(i, c):
        c[i] = c.sum()
        return c

    x, y = np.ones(4), np.ones(4)
    result = jit(lambda c: fori_loop(0, 3, body, c))(x)
    for i in range(3):
        y = body(i, y)
    assert result.tolist() == y.tolist() and x.tolist() == [1, 1, 1, 1]


def overlapping_carry(x):
    return fori_loop(0, 2, lambda i, c: x.fill(1.0) or c, x)


def overlapping_rows(x):
    return scan(lambda c, v: (x.fill(1.0) or c + v, v), 0.0, x)


@pytest.mark.parametrize("function", [overlapping_carry, overlapping_rows])
def test_arrays_that_the_loop_takes_are_not_written_to_by_another_name(function):
    with pytest.raises(ArgumentError, match="shares memory with an array around the loop"):
        jit(function)(np.ones(3))


def test_a_differentiated_argument_is_not_written_to_by_another_name():
    def function(x):
        return grad(lambda y: x.fill(1.0) or y.sum())(x)

    with pytest.raises(MutationError, match="by another name"):
        jit(function)(np.ones(3))


def test_functions_with_a_derivative_rule_do_not_write_to_arguments():
    @custom_jvp
    def function(x, y):
        y[0] = x
        return x

    function.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    with pytest.raises(MutationError, match="a function with a derivative rule"):
        jit(lambda x: function(x, np.zeros_like(x[None])))(1.0)


def test_trips_of_map_write_to_arguments():
    def function(x, rows):
        def add(row):
            x[...] += row
            return x.sum()

        return map_loop(add, rows)

    x, compiled = np.ones(2), jit(function)
    assert compiled(x, np.arange(6.0).reshape(3, 2)).tolist() == [3, 8, 17]
    assert x.tolist() == [7, 10]


@pytest.mark.parametrize("name", LOOPS)
def test_loops_outside_of_a_trace_write_to_arrays_of_numpy_as_loops_of_python(name):
    x = np.array([0.5, 1.5, 1.0])
    for y, wanted in zip(powers(x, LOOPS[name]), powers(x, python_loop), strict=True):
        np.testing.assert_allclose(y, wanted)
    counts = np.zeros(2)

    def body(i, c):
        counts[0] += 1
        return c

    LOOPS[name](3, body, 1.0)
    assert counts.tolist() == [3, 0]


def test_a_branch_that_is_not_chosen_writes_nothing_outside_of_a_trace():
    y = np.zeros(2)
    value = cond(True, lambda: y.__setitem__(0, 5.0) or y.sum(), lambda: y.fill(7.0) or y.sum())
    assert value == 5 and y.tolist() == [5, 0]

"""Loops inline in generated code: carries, stacks and pieces never share memory with what the caller holds."""

import tracemalloc

import numpy as np
import pytest

from anyshape import ShapeDtypeStruct, cond, fori_loop, grad, jit, pure_callback, scan, while_loop

BOTH = pytest.mark.parametrize("optimize", ["now", "off"])


@BOTH
@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_carries_may_be_swapped_passed_on_and_given_twice(optimize, trips):
    def step(i, carry):
        a, b, _ = carry
        return b, a, a

    def run(x, y, z, n):
        return fori_loop(0, n, step, (x, y, z))

    x, y, z = np.arange(3.0), np.ones(3), np.zeros(3)
    expected = (x, y, z)
    for i in range(trips):
        expected = step(i, expected)
    results = jit(run, optimize=optimize)(x, y, z, trips)
    for got, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert not any(np.shares_memory(a, b) for a in results for b in (x, y, z))
    assert not any(np.shares_memory(a, b) for i, a in enumerate(results) for b in results[:i])


def given_as(*views):
    """Return a step whose results are views of one new array."""

    def step(a, b):
        y = a * 0.5 + b
        return tuple([view(y) for view in views])

    return step


VIEWS = {
    "view, then array": given_as(np.transpose, lambda y: y),
    "array, then view": given_as(lambda y: y, lambda y: y[::-1]),
    "two views": given_as(np.transpose, lambda y: y[::-1]),
    "twice": given_as(lambda y: y, lambda y: y),
    "view of a carry": lambda a, b: (b * 2.0, a.T),
}


@BOTH
@pytest.mark.parametrize("case", VIEWS)
def test_results_that_are_views_of_each_other_are_arrays_of_their_own(optimize, case):
    step, x, y = VIEWS[case], np.arange(9.0).reshape(3, 3) / 9, np.eye(3)
    run = jit(lambda n, x, y: fori_loop(0, n, lambda i, c: step(*c), (x, y)), optimize=optimize)
    for trips in (0, 1, 2, 3):
        expected = (x, y)
        for _ in range(trips):
            expected = step(*expected)
        first, second = run(trips, x, y)
        np.testing.assert_allclose(first, expected[0])
        np.testing.assert_allclose(second, expected[1])
        assert not any(np.shares_memory(a, b) for a, b in ((first, second), (first, x), (first, y), (second, x)))


@BOTH
def test_later_steps_write_into_no_operand_of_a_loop(optimize):
    @jit
    def run(x):
        y = fori_loop(0, x.shape[0] - 3, lambda i, c: c, x)  # no trip at 3 elements
        return np.exp(np.tanh(y) * 2 + 1), x

    x = np.arange(3.0)
    np.testing.assert_array_equal(run(x)[1], np.arange(3.0))
    np.testing.assert_array_equal(x, np.arange(3.0))


@BOTH
def test_stacks_hold_each_trip(optimize):
    def run(x, rows):
        return scan(lambda c, r: (np.sin(c) * r, (c, c * r, np.sum(c))), x, rows, reverse=True)

    x, rows = np.arange(3.0), np.random.default_rng(0).normal(size=(4, 3))
    last, (cs, products, sums) = jit(run, optimize=optimize)(x, rows)
    c = x
    for i in range(3, -1, -1):
        np.testing.assert_allclose(cs[i], c)
        np.testing.assert_allclose(products[i], c * rows[i])
        np.testing.assert_allclose(sums[i], np.sum(c))
        c = np.sin(c) * rows[i]
    np.testing.assert_allclose(last, c)


@BOTH
def test_loops_in_branches_in_loops(optimize):
    def inner(v):
        return while_loop(lambda u: np.sum(u * u) > 1, lambda u: u * 0.5, v)

    def run(x):
        return scan(lambda c, r: (cond(np.sum(r) > 0, inner, lambda v: v + 1, c) + r, c), x[0], x)

    def by_hand(x):
        c, ys = x[0], []
        for r in x:
            ys.append(c)
            v = c
            if np.sum(r) > 0:
                while np.sum(v * v) > 1:
                    v = v * 0.5
            else:
                v = v + 1
            c = v + r
        return c, np.array(ys)

    x = np.random.default_rng(1).normal(size=(6, 3))
    for got, wanted in zip(jit(run, optimize=optimize)(x), by_hand(x), strict=True):
        np.testing.assert_allclose(got, wanted)
    derivative = jit(grad(lambda x: np.sum(run(x)[0])), optimize=optimize)(x)
    direction = np.random.default_rng(2).normal(size=x.shape)
    difference = (np.sum(by_hand(x + 1e-6 * direction)[0]) - np.sum(by_hand(x - 1e-6 * direction)[0])) / 2e-6
    np.testing.assert_allclose(np.sum(derivative * direction), difference, rtol=1e-6)


@BOTH
def test_python_ints_stay_exact_and_raise_beyond_int64(optimize):
    f = jit(lambda n: fori_loop(0, n, lambda i, c: c * 10 + 7, 1), optimize=optimize)
    assert f(3) == 1777
    with pytest.raises(OverflowError, match="int64"):
        f(30)


@BOTH
def test_nothing_of_a_trip_stays_alive_behind_the_loop(optimize):
    """Else a last element, which is a view, would keep the whole stack until the function returns."""
    held = []

    def note(x):
        held.append(tracemalloc.get_traced_memory()[0])
        return x

    def run(x):
        last = scan(lambda c, row: (np.tanh(c + row), None), x[0], np.exp(x))[0]
        return pure_callback(note, ShapeDtypeStruct(last.shape, last.dtype), last)

    f, x = jit(run, optimize=optimize), np.ones((1000, 100))
    f(x)
    tracemalloc.start()
    try:
        f(x)
    finally:
        tracemalloc.stop()
    assert held[-1] < x.nbytes / 2

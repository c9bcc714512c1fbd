"""Decisions on values in the functions that loops and conditionals take are choices of the program."""

import numpy as np
import pytest

import anyshape
from anyshape import associative_scan, cond, fori_loop, grad, jit, scan, switch, while_loop


def positive(i, total):
    if total > 3:
        total = total - 1
    return total + i if i % 2 else total


def in_fori_loop(x):
    return fori_loop(0, len(x), lambda i, total: total + x[i] if x[i] > 0 else total, 0.0)


def in_a_function_of_the_module(x):
    return fori_loop(0, len(x), positive, x.sum())


def in_scan(x):
    def step(top, v):
        if not (v > top or v < -2):
            return top, v
        return max(top, v), top if v > 0 else v

    return scan(step, 0.0, x)[1]


def in_while_loop(x):
    going = lambda state: state[0] < 5 and (state[1] < 100 or state[0] < 2)
    return while_loop(going, lambda s: (s[0] + 1, s[1] * 2 if s[1] < 10 else s[1]), (0, x.sum()))[1]


def in_map(x):
    return anyshape.map(lambda v: v * 2 if v > 0 else -v, x)


def in_cond(x):
    return cond(x.sum() > 0, lambda v: v if v.max() > 3 else v * 2, lambda v: -v if v.size > 0 else v, x)


def in_switch(x):
    return switch(x.size % 2, [lambda v: v if v > 1 else 0.0, lambda v: -v if v > 1 else v], x.sum())


def in_associative_scan(x):
    def larger(a, b):
        return np.where(a > b, a, b) if x.sum() > 2 else np.where(a > b, b, a)

    return associative_scan(larger, x)


def in_a_loop_of_a_body(x):
    def body(i, total):
        for v in x:
            if v > i:
                total = total + v * 0.5
        return total

    return fori_loop(0, 3, body, 0.0)


ALL = [
    in_fori_loop, in_a_function_of_the_module, in_scan, in_while_loop, in_map, in_cond, in_switch, in_associative_scan,
    in_a_loop_of_a_body,
]  # fmt: skip


@pytest.mark.parametrize("function", ALL, ids=lambda f: f.__name__)
def test_bodies_choose_as_python_does(function):
    compiled = jit(function)
    calls = [np.array([1.1, -2.5, 3.0, 0.5, 4.0]), np.array([-1.0, 2.0, -3.0]), np.full(20, 0.75)]
    for x in calls:
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)  # outside of a trace, NumPy's values choose
    assert compiled.cache_info().traces == 1
    slope = jit(grad(lambda x: np.sum(function(x) * 1.0)))(calls[0])
    steps = 1e-6 * np.eye(5)
    expected = [np.sum(function(calls[0] + d) - function(calls[0] - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-6)

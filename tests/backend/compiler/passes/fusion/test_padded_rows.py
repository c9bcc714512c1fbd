"""Tiles write rows to their position in a padded array: the array is as if padded afterwards."""

import numpy as np
import pytest

import anyshape
from anyshape import jit
from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.runtime.config import config
from tests.backend.compiler.codegen.tiling import tiled
from tests.backend.compiler.test_peak_memory import SLACK, measured

SIZES = (0, 1, 2, 5, 6, 7, 13, 40)


def around(y, low, high, value=0.0):
    return np.pad(y, [(low, high)] + [(0, 0)] * (y.ndim - 1), constant_values=value)


def wave(x):
    return np.sin(x) * np.exp(x)


def both_sides(x):
    return around(wave(x), 2, 3)


def with_a_value(x):
    return around(wave(x), 0, 2, np.inf), around(np.cos(x) * 2, 1, 0, -0.0)


def with_a_total(x):
    y = np.sin(x)
    return around(y * 3, 1, 1), np.sum(y * y), y


def read_again(x):
    y = around(wave(x), 1, 0, 7)
    return np.tanh(y) * 2 + y, np.sum(y)


def of_what_else_is_read(x):
    y = wave(x)
    return around(y, 1, 2), y + 1


def of_a_result(x):
    y = wave(x)
    return y, around(y, 1, 2)


def twice(x):
    return around(around(wave(x), 1, 0, 1), 0, 1, 2)


def of_two(x):
    return around(wave(x), 1, 0), around(np.tanh(x) * 2, 0, 1), np.sum(np.cos(x) * 2)


def of_a_view(x):
    return around(wave(x)[..., None], 2, 1)


def as_wide_as_long(x):
    return around(wave(x), x.shape[0], x.shape[0], 1)


def of_numbers(x):
    return around((x > 0) & (x < 1), 1, 1, True), around(np.sin(x).astype(np.float32) * 2, 1, 1, 0.1)


FUNCTIONS = (both_sides, with_a_value, with_a_total, read_again, of_what_else_is_read, of_a_result, twice, of_two)
FUNCTIONS += (of_a_view, as_wide_as_long, of_numbers)
IN_PLACE = dict.fromkeys(FUNCTIONS, 1) | {of_what_else_is_read: 0, of_a_result: 0, of_two: 2, of_numbers: 2}
IN_PLACE[with_a_value] = 2


def same(actual, expected):
    actual, expected = (x if isinstance(x, tuple) else (x,) for x in (actual, expected))
    for x, y in zip(actual, expected, strict=True):
        if np.ndim(y) == 0:  # the sum of tiles may differ in its last bits
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
            continue
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_array_equal(x, y)
        if np.asarray(x).dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


@pytest.mark.parametrize("shape", [lambda n: (n,), lambda n: (n, 3), lambda n: (2, n), lambda n: (1, n, 2)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_equal_numpys(function, shape):
    rng = np.random.default_rng(0)
    for threads in (1, 2):
        with tiled(threads=threads):
            program = jit(function)
            for n in SIZES:
                x = rng.normal(size=shape(n))
                same(program(x), function(x))
                same(program(np.repeat(x, 2, axis=-1)[..., ::2]), function(x))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_operands_that_nothing_else_reads_are_written_in_place(function):
    with tiled():
        plan = anyshape.trace(function)(anyshape.ShapeDtypeStruct("n", "float64")).plan
    assert sum(len(group.padded) for group in plan.groups) == IN_PLACE[function]
    assert str(plan).count("padded v") == IN_PLACE[function]


def loss(x, k):
    return np.sum(np.sin(x[:k]) ** 2)


def middle(x, k):
    return np.sum(np.exp(x[k:-1]) * np.cos(x[k:-1]))


@pytest.mark.parametrize("shape", [lambda n: (n,), lambda n: (n, 3)])
@pytest.mark.parametrize("function", [loss, middle])
def test_gradients_of_slices(function, shape):
    rng = np.random.default_rng(1)
    with tiled():
        gradient = jit(anyshape.grad(function))
        for n in SIZES:
            x = rng.normal(size=shape(n))
            for k in (0, 1, n // 2, n):
                got = gradient(x, np.int64(k))
                derivative = np.zeros_like(x)
                if function is loss:
                    derivative[:k] = np.sin(2 * x[:k])
                else:
                    derivative[k:-1] = np.exp(x[k:-1]) * (np.cos(x[k:-1]) - np.sin(x[k:-1]))
                np.testing.assert_allclose(got, derivative, rtol=1e-12, atol=1e-14)


def test_rows_written_in_place_take_no_array_of_their_own():
    program = anyshape.trace(both_sides)(anyshape.ShapeDtypeStruct("n", "float64"))
    x = np.random.default_rng(2).normal(size=1_000_000)
    used, (result,) = measured(program.run, [x])
    assert result.shape == (len(x) + 5,)
    assert x.nbytes < used <= program.cost().at({"n": len(x)}).peak_bytes.size + SLACK
    assert used <= x.nbytes + 4 * tiles.MAX_WIDEST_BYTES * config.num_threads + SLACK

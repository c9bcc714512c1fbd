"""Reductions along short last axes and along axes before them: NumPy's bits, at every size of one program."""

import numpy as np
import pytest

from anyshape import grad, jit
from anyshape.backend.runtime import short_rows
from anyshape.scipy import special

UFUNCS = np.add, np.multiply, np.maximum, np.minimum
SHAPES = [(1000,), (3, 70), (40_000,), (7, 1, 200)]


def same(got, expected):
    """Compare bits, the signs of zeros among them."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 12, 13])
def test_columns_have_the_bits_of_rows(dtype, length):
    rng = np.random.default_rng(length)
    for front in SHAPES:
        x = (3 * rng.standard_normal((*front, length))).astype(dtype)
        for ufunc in UFUNCS:
            same(short_rows.rows(ufunc, x), ufunc.reduce(x, axis=-1, dtype=dtype))
        for count in range(1, len(front) + 1):
            axes = tuple(range(len(front) - count, len(front)))
            same(short_rows.before_last(x, axes), np.add.reduce(x, axis=axes, dtype=dtype))


def test_strided_rows_and_kept_axes():
    x = np.random.default_rng(0).standard_normal((3, 300, 5))
    for y in (
        x[:, ::2],
        x.transpose(1, 2, 0),
        x[..., ::-2],
        np.broadcast_to(x[:, :1], (3, 300, 5)),
        np.asfortranarray(x),
    ):
        same(short_rows.rows(np.add, y), np.add.reduce(y, axis=-1))
        same(short_rows.rows(np.maximum, y, keepdims=True), np.maximum.reduce(y, axis=-1, keepdims=True))
        same(short_rows.before_last(y, (1,)), np.add.reduce(y, axis=1))


def test_zeros_and_warnings_are_those_of_numpy():
    x = np.full((300, 3), -0.0)
    same(short_rows.before_last(x, (0,)), np.add.reduce(x, axis=0))
    large = np.full((300, 3), 1e308)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        short_rows.before_last(large, (0,))
    x[5], x[7, 1], x[9, 2] = np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        same(short_rows.before_last(x, (0,)), np.add.reduce(x, axis=0))


def table(x):
    """Reduce along both axes, in every way that has a kernel for short rows."""
    return [x.sum(1), x.prod(1), x.max(1, initial=0), x.min(1, initial=0), x.sum(0), special.softmax(x, axis=1)]


def test_one_program_serves_short_and_long_rows():
    program, slope = jit(table), jit(grad(lambda x: np.sum(special.logsumexp(x, axis=1) ** 2)))
    for shape in [(0, 3), (400, 1), (400, 2), (1, 5), (2, 2), (400, 5), (300, 9), (90, 13), (40_000, 3)]:
        x = np.random.default_rng(1).standard_normal(shape)
        if not shape[1]:
            continue
        for got, expected in zip(program(x), table(x), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-14)
        powers = 2 * special.logsumexp(x, axis=1)[:, None] * special.softmax(x, axis=1)
        np.testing.assert_allclose(slope(x), powers, rtol=1e-12)
    assert program.cache_info().traces == slope.cache_info().traces == 1


def test_repeated_arrays_go_by_columns_with_the_same_bits():
    def apart(x, y, w):
        squares = np.sum((x[:, None, :] - y) ** 2, axis=2)
        return squares, (x + w) / np.sqrt(squares[:, :1]), x * y[:, 0, :1], w * y[0, :, :1]

    program = jit(apart, dynamic_shapes={"x": "n, d", "y": "n, 1, d", "w": "d"})
    rng = np.random.default_rng(3)
    for n, d in [(1, 2), (2, 2), (700, 2), (1000, 3), (700, 3), (700, 4), (700, 1)]:
        x, y, w = rng.standard_normal((n, d)), rng.standard_normal((n, 1, d)), rng.standard_normal(d)
        for got, expected in zip(program(x, y, w), apart(x, y, w), strict=True):
            same(got, expected)
    x = np.asfortranarray(rng.standard_normal((900, 3)))
    divided = jit(lambda x, w: x / w)(x, x[0])
    same(divided, x / x[0])
    assert divided.flags.f_contiguous

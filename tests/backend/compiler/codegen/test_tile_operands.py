"""Tiles equal the steps one by one: operands read twice, operands that overlap, values that must stay."""

import tracemalloc

import numpy as np
import pytest
import scipy.special

import anyshape
from anyshape import ShapeDtypeStruct, jit, trace
from anyshape.backend.runtime import block_cache
from tests.backend.compiler.codegen.tiling import tiled, untiled

SIZES = (0, 1, 2, 5, 6, 7, 13)


def square(rng, n):
    return rng.normal(size=(n, n))


def vector(rng, n):
    return rng.normal(size=n)


def cube(rng, n):
    return rng.normal(size=(n, n, n))


def number(rng, n):
    return np.array(rng.normal())


def of_width(*rest):
    return lambda rng, n: rng.normal(size=(n, *rest))


def table(rng, n):
    return rng.normal(size=(9, 4))


def positions(rng, n):
    return rng.integers(-9, 9, size=n)


def columns(rng, n):
    return rng.integers(-4, 4, size=3)


def along_rows(x):
    both = np.concatenate([x * 2, np.exp(x)], axis=1) * 3
    return np.cumsum(x * 2, axis=1) + np.sort(np.exp(x), axis=1), both, np.argmax(np.exp(x) * 2, axis=1) * 2


def extremes(x):
    return np.max(np.exp(x) * 2, axis=0), np.any(x * 2 > 1, axis=0), np.all(x * 2 > -9), np.sum(x * 2, axis=(0, 1))


def after_totals(x):
    e = np.exp(x) * x
    return np.sum(e, axis=0) * np.sum(e, axis=1), np.tanh(x) * 2 - np.sum(np.tanh(x) * 2, axis=0)


def two_chains(x, y):
    a, b = np.exp(x) * 2, np.cos(y) * 3
    return np.sin(a) * b, np.cumsum(np.exp(a) * 2) + b * np.tanh(x), np.sum(b * a)


def one_value_often(x):
    a = np.exp(x) * 2
    return a, a, a.reshape(-1, 1), a * 1, np.real(a)


def casts(x):
    whole = x.astype(np.int32).astype(np.float32)
    return (x * 3).astype(np.float32) + whole, np.sum((x > 0).astype(np.int64) * 2), (x * 4).astype(bool) & (x > 0.1)


def complex_parts(x):
    w = np.exp(1j * x)
    return w.real * w.imag + 1, np.abs(w * x), np.conj(w * 2)


def by_sizes(x):
    return np.exp(x) * x.shape[0] + x.shape[1], np.sum(np.tanh(x) * x, axis=0) * x.shape[0]


def reshaped(x):
    rows = x.shape[0]
    return np.tanh(x * 2).reshape(rows, 12) * 3, np.sum(np.exp(x) + 1, axis=2).reshape(rows, 2, 2)[:, 0] * 2


CASES = {  # the function, the shapes it is declared with, and what makes its operands
    "a vector along rows and along columns": (
        lambda m, v: (np.sin(v) * 2, np.tanh(m * v) + 1), ("n, n", "n"), (square, vector)),
    "a vector along rows and along columns of one value": (
        lambda m, v: np.tanh(m * v) + np.sin(v)[:, None], ("n, n", "n"), (square, vector)),
    "a value made along rows, read whole": (
        lambda m, v: (np.tanh(m * np.exp(v)) + np.sin(v)[:, None] * 2, np.exp(v) * 3), ("n, n", "n"), (square, vector)),
    "a vector along each axis of a cube": (
        lambda c, v: (np.tanh(c * v) * v[:, None] * v[:, None, None], np.sum(np.sin(c) * v, axis=(0, 1)) * v),
        ("n, n, n", "n"), (cube, vector)),
    "a matrix and its transpose": (
        lambda m: (np.exp(m) * m.T + np.tanh(m.T) * 2, np.sum(np.exp(m) * m.T, axis=1)), ("n, n",), (square,)),
    "sums over rows that are read at once": (after_totals, ("n, n",), (square,)),
    "groups that are merged": (two_chains, ("n", "n"), (vector, vector)),
    "outputs that are one value": (one_value_often, ("n",), (vector,)),
    "outputs that are inputs": (lambda x: (x, np.sin(x) * x + 1, x * 1), ("n",), (vector,)),
    "numbers": (lambda x, s: (np.sin(x) * s + s, np.sum(x * s) * s), ("n", ""), (vector, number)),
    "casts": (casts, ("n",), (vector,)),
    "parts of complex numbers": (complex_parts, ("n, 3",), (of_width(3),)),
    "sizes as numbers": (by_sizes, ("n, m",), (of_width(3),)),
    "reshapes": (reshaped, ("n, 4, 3",), (of_width(4, 3),)),
    "rows of a table": (
        lambda t, i, w: (t[i] * 2 + np.exp(t[i]) * w, np.sum(t[i] * w, axis=0)),
        ("m, k", "n", "k"), (table, positions, lambda rng, n: rng.normal(size=4))),
    "columns of rows": (
        lambda x, i: (x[:, i] * 2 + np.exp(x[:, i]), np.sum(np.tanh(x)[:, i], axis=0)),
        ("n, 4", "m"), (of_width(4), columns)),
    "an array at positions of its own": (
        lambda x, i: (np.exp(x)[i] * x + x[i], np.sin(x[i % 1] * i)),
        ("n + 9", "n + 9"), (lambda rng, n: vector(rng, n + 9), lambda rng, n: positions(rng, n + 9))),
    "steps along rows": (along_rows, ("n, 4",), (of_width(4),)),
    "results for all rows": (extremes, ("n + 1, 4",), (lambda rng, n: rng.normal(size=(n + 1, 4)),)),
    "axes that change places": (
        lambda x: (np.transpose(np.exp(x) * 2, (0, 2, 1)) * 3 + 1, np.sum(np.transpose(x * 2, (0, 2, 1)), axis=0)),
        ("n, 4, 3",), (of_width(4, 3),)),
    "long rows cut anywhere": (
        lambda x, y: (np.exp(x) * 2 + y, np.sum(np.exp(x) * x)), ("n, m", "n, m"), (of_width(20), of_width(20))),
    "long rows in another order": (
        lambda x, y: (np.exp(x) * 2 + y.T, np.sum(np.exp(x) * x)),
        ("n, m", "m, n"), (of_width(20), lambda rng, n: rng.normal(size=(20, n)))),
    "windows": (lambda x: np.sin(x[1:]) - np.cos(x[:-1]) * 2, ("n + 1",), (lambda rng, n: vector(rng, n + 1),)),
    "reversed": (lambda x: np.exp(x[::-1]) * x + np.tanh(x) * x[::-1], ("n",), (vector,)),
    "NaN": (lambda x: (np.where(x > 0, np.log(x), np.nan) * 2, np.fmax(np.sqrt(x), 0.1) + 1), ("n",), (vector,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_operands_of_tiles(name, rng):
    function, shapes, makers = CASES[name]
    with tiled():
        dtypes = [make(rng, 1).dtype for make in makers]
        program = trace(function)(*[ShapeDtypeStruct(s, d) for s, d in zip(shapes, dtypes, strict=True)])
        assert program.plan.groups
        for n in SIZES:
            check(program, function, [make(rng, n) for make in makers])


def check(program, function, arrays):
    before = [x.copy() for x in arrays]
    got, expected = program(*arrays), function(*arrays)
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for g, e in pairs:
        assert g.dtype == e.dtype
        np.testing.assert_allclose(g, e, rtol=1e-11, atol=1e-12, equal_nan=True, strict=True)
        assert not any(np.shares_memory(g, x) for x in arrays)
    for x, y in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(x, y)


def test_one_array_as_two_operands_and_arrays_that_overlap(rng):
    def function(x, y):
        return np.sin(x) * y + x, x * x + y, x - y * 2

    with tiled():
        program = jit(function)
        base = rng.normal(size=14)
        base.flags.writeable = False
        for x, y in ((base, base), (base[:-1], base[1:]), (base[:7], base[6::-1]), (base[::2], base[1::2])):
            check(program, function, [x, y])


def test_sums_of_halves_equal_numpys():
    """Partial sums would not fit in a half, and the sum does."""
    x = np.concatenate([np.full(60, 6e4, np.float16), np.full(60, -6e4, np.float16)])
    with tiled():
        assert jit(lambda x: np.sum(x * np.float16(1)))(x) == 0


def test_elementwise_bits_do_not_depend_on_how_many_elements_a_tile_has(rng):
    x = (rng.normal(size=600) * 5).astype(np.float32)

    def function(x):
        return scipy.special.expit(x) * 2 + x

    with untiled():
        expected = jit(function)(x)
    for tile in (1, 7, 64, 599):
        with tiled(tile):
            np.testing.assert_array_equal(jit(function)(x), expected)


def test_zeros_of_both_signs_are_chosen_as_in_numpy():
    """fmin and fmax of 0 and -0 depend on positions in the array, so they do not run in tiles."""
    x = np.where(np.arange(70) % 2 > 0, 0.0, -0.0)
    with tiled(3):
        for choice in (np.fmin, np.fmax, np.minimum, np.maximum):
            function = lambda x, y, choice=choice: choice(np.sin(x) * 2, np.sin(y) * 3)
            np.testing.assert_array_equal(np.signbit(jit(function)(x, -x)), np.signbit(function(x, -x)))


def test_sums_follow_the_memory_order_of_arrays():
    """NumPy sums pairwise along contiguous columns, so arrays in Fortran order are not cut into rows."""
    x = np.asfortranarray((np.random.default_rng(0).random((200_000, 3)) + 0.1).astype(np.float32))
    for function in (lambda x: np.sum(np.abs(x), axis=0), lambda x: np.sum(np.sin(x) ** 2, axis=0)):
        np.testing.assert_array_equal(jit(function)(x), function(x))
        np.testing.assert_array_equal(jit(function)(x[:, ::-1]), function(x[:, ::-1]))


def test_a_table_in_fortran_order_is_not_copied_for_each_tile():
    table, indices = np.ones((16, 100_000)).T, np.arange(0, 100_000, 3)
    program = jit(lambda x, i: np.sin(x[i]) * 2)
    program(table, indices)
    tracemalloc.start()
    result = program(table, indices)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(result, np.sin(table[indices]) * 2)
    assert peak < 3 * result.nbytes + 4_000_000 < table.nbytes * 2


@pytest.mark.parametrize("threads", [1, 2])
def test_values_without_buffers_are_freed_within_a_tile(threads):
    """Casts and choices make arrays of their own: a chain of them keeps few alive, and the bound knows."""

    def casts(x, y):
        for _ in range(40):
            x = (x * y).astype(np.float32).astype(np.float64)
        return x

    def choices(x, y):
        for _ in range(40):
            x = np.where(y > 0.5, x * y, x)
        return x

    n = 300_000
    with tiled(16_384, threads=threads):
        for function in (casts, choices):
            x, y = np.linspace(0.5, 1, n), np.linspace(0, 1, n)
            program = trace(function)(*[ShapeDtypeStruct("n", "float64")] * 2)
            np.testing.assert_array_equal(program(x, y), function(x, y))
            block_cache.clear()
            tracemalloc.start()
            program(x, y)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= program.cost().at({"n": n}).peak_bytes.size + 100_000 < 4 * x.nbytes


DEEP = {  # of x (b, n, d), a vector, and rows for each batch, each token or both
    "a norm along the last axis": lambda x, v, w, t, u: (x - x.mean(-1, keepdims=True)) / (x.var(-1) + 1)[..., None],
    "a vector beside it": lambda x, v, w, t, u: np.sum(np.tanh(x * v + 1) ** 2 * u, axis=(0, 1)),
    "a matrix for each batch": lambda x, v, w, t, u: np.sin(x) * w + w,
    "a row for each token": lambda x, v, w, t, u: np.sum(np.exp(-x * x) * t[:, None], axis=(0, 1, 2)),
    "sums over batches alone": lambda x, v, w, t, u: np.sum(np.sin(x) * 2, axis=0),
    "sums over tokens alone": lambda x, v, w, t, u: np.sum(np.sin(x) * 2, axis=1) + v,
    "sums that keep axes": lambda x, v, w, t, u: np.sum(np.sin(x) * v, axis=(0, 1), keepdims=True),
    "axes in another order": lambda x, v, w, t, u: np.sin(x).transpose(0, 2, 1) * 2 + t,
    "the last axes in another order": lambda x, v, w, t, u: np.sin(x[..., None] * 1).transpose(0, 1, 3, 2) * v,
    "a sum along the last axis": lambda x, v, w, t, u: np.cumsum(np.sin(x), axis=-1) * u + np.cumsum(x * u, axis=1),
    "joined at the end": lambda x, v, w, t, u: np.sin(np.concatenate([x * 2, np.cos(x)], axis=2)),
    "joined in the middle": lambda x, v, w, t, u: np.sin(np.concatenate([x * 2, np.cos(x)], axis=1)),
    "places within the last axis": lambda x, v, w, t, u: np.sin(x) * np.argmax(np.cos(x), axis=-1)[..., None],
    "rows of a table": lambda x, v, w, t, u: np.sin(v[np.argmax(np.cos(x), axis=-1)] * 2) * u[..., 0],
    "reshaped behind": lambda x, v, w, t, u: np.sin(x).reshape(*x.shape[:2], 1, -1) * v[None] + 1,
    "reshaped in front": lambda x, v, w, t, u: np.sin(x).reshape(-1, x.shape[-1]) * v + 1,
    "a mask by a row": lambda x, v, w, t, u: np.where(x > u, np.exp(x) * v, 0.0),
    "a stretched number": lambda x, v, w, t, u: np.broadcast_to(np.sin(v).sum(), x.shape) * np.sin(x),
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_collapsed_axes(name, threads, rng):
    """Axes behind the first collapse into rows, for long rows in C order and steps that treat all of them alike."""
    function = DEEP[name]
    loss = lambda *args: np.sum(np.sin(function(*args)) * 0.7)
    with tiled(5, threads=threads):
        program, derivative, plain = jit(function), *[anyshape.grad(loss, argnums=(0, 1, 2, 3)) for _ in range(2)]
        for b, n, d in ((1, 9, 4), (2, 7, 3), (4, 4, 4), (3, 1, 8), (1, 1, 12), (5, 6, 1)):
            args = [rng.normal(size=s) for s in ((b, n, d), (d,), (b, 1, d), (n,), (b, n, 1))]
            strided = np.repeat(args[0], 2, axis=0)[::2]
            for x in (args[0], strided, np.asfortranarray(args[0])):
                np.testing.assert_allclose(program(x, *args[1:]), function(x, *args[1:]), rtol=1e-12, atol=1e-13)
            got = derivative(*args)
            with untiled():
                expected = plain(*args)
            for g, e in zip(got, expected, strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-11)


def test_a_batch_of_one_is_cut_into_tiles():
    """Its tokens are rows, so values inside of the norm live in a tile and not in arrays of the size of the batch."""

    def loss(x, g, b):
        m = x.mean(-1, keepdims=True)
        return np.sum(np.sin((x - m) / np.sqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b) ** 2)

    step, x = anyshape.value_and_grad(loss), np.random.default_rng(0).normal(size=(1, 8000, 128))
    args = x, np.ones(128), np.zeros(128)
    step(*args)
    block_cache.clear()
    tracemalloc.start()
    step(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * x.nbytes


def test_tiles_fit_the_widest_row():
    """A column beside a matrix does not make the tiles of the matrix as large as the matrix."""
    program = jit(lambda c, w: np.sum(np.tanh(np.exp(c) * w + 1), axis=1))
    c, w = np.ones((4000, 1)), np.ones(500)
    program(c, w)
    tracemalloc.start()
    program(c, w)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < c.size * w.size * 8 / 4


def test_partial_sums_of_long_rows_take_little_memory():
    """Partial sums are kept for blocks of tiles: one for each row would be as much as is read."""
    program = jit(lambda x: np.sum(np.tanh(x) + 1, axis=0), optimize="now")
    x = np.ones((200, 20_000))
    program(x)
    tracemalloc.start()
    result = program(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(result, np.sum(np.tanh(x) + 1, axis=0), rtol=1e-12)
    assert peak < x.nbytes / 4


def test_derivatives_of_a_value_read_along_two_axes(rng):
    def loss(m, v):
        return np.sum(np.tanh(m * v) * np.sin(v)[:, None] + m @ m)

    with tiled():
        derivative = jit(anyshape.grad(loss, argnums=(0, 1)))
        got = {n: derivative(square(rng, n), vector(np.random.default_rng(n), n)) for n in (1, 6, 7)}
    rng = np.random.default_rng(20240117)
    with untiled():
        derivative = jit(anyshape.grad(loss, argnums=(0, 1)))
        for n, derivatives in got.items():
            for g, e in zip(derivatives, derivative(square(rng, n), vector(np.random.default_rng(n), n)), strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-11)

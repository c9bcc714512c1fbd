"""States of views and writes: chains of views, several outputs of one array, overlap, aliases and dead writes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anyshape import grad, jit, jvp, vmap
from anyshape.errors import MutationError

SIZES = (3, 4, 5)


# -- sequences of views and writes, as a machine would take them

VIEWS = [
    lambda a: a.T,
    lambda a: a[::-1],
    lambda a: a[1:],
    lambda a: a[..., ::2],
    lambda a: a.swapaxes(0, -1),
    lambda a: a[None][0],
    lambda a: a[..., None][..., 0],
    lambda a: a[-1] if a.ndim > 1 else a[:2],
    lambda a: a.ravel() if a.ndim == 1 else a[:, 0],
    lambda a: a.real,
    lambda a: a.reshape(a.shape),
    lambda a: np.squeeze(a[None], 0),
]
COPIES = [lambda a: a.copy(), lambda a: a[[0, -1]], lambda a: a * 1.0, lambda a: np.where(a > 0, a, -a)]
WRITES = [
    lambda a, v: a.__setitem__(0, v),
    lambda a, v: a.__setitem__(slice(1, None), a[:-1]),
    lambda a, v: a.__setitem__(slice(None, -1), a[1:] * v),
    lambda a, v: a.__setitem__(..., a[::-1]),
    lambda a, v: a.__iadd__(v),
    lambda a, v: a.__imul__(a),
    lambda a, v: np.multiply(a, v, out=a),
    lambda a, v: a.__setitem__([0, -1, 0], v * v),
    lambda a, v: np.add.at(a, [0, 0], v),
    lambda a, v: np.copyto(a, v, where=a > 0.5),
    lambda a, v: a.fill(v) if a.ndim == 1 else a.T.__setitem__(0, a[:, -1]),
    lambda a, v: a.__iadd__(a.sum()),
]
STEPS = st.tuples(st.sampled_from("vvcwww"), st.integers(0, 11), st.integers(0, 5))


def machine(steps):
    """Return the function that takes the steps: each makes an array of one before it, or writes to one."""

    def run(x, v):
        arrays = [x.copy()]
        for kind, number, which in steps:
            a = arrays[which % len(arrays)]
            if kind == "w":
                WRITES[number](a, v)
            else:
                made = VIEWS[number](a) if kind == "v" else COPIES[number % len(COPIES)](a)
                arrays.append(made)
        return arrays

    return run


def slope_by_difference(function, x, v, direction, step=1e-6):
    ahead, behind = (function(x + s * direction, v + s) for s in (step, -step))
    return (ahead - behind) / (2 * step)


@settings(max_examples=12, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=8), st.integers(0, 1000))
def test_all_arrays_are_what_numpy_has_after_each_sequence(steps, seed):
    rng = np.random.default_rng(seed)
    function, v = machine(steps), 0.7
    try:
        wanted = [function(rng_array(seed, n), v) for n in SIZES]
    except (IndexError, ValueError):
        return  # NumPy refuses the sequence
    traced = jit(function)
    try:
        traced(rng_array(seed, 3), v)
    except MutationError as error:
        assert "depends on the layout" in str(error)
        return
    for n, arrays in zip(SIZES, wanted, strict=True):
        for a, b in zip(traced(rng_array(seed, n), v), arrays, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    assert traced.cache_info().traces == 1
    x, direction = rng_array(seed, 3), rng.normal(size=(3, 3))
    total = lambda x, v: sum(np.sum(np.sin(a)) for a in function(x, v))
    _, slope = jvp(total, (x, v), (direction, 1.0))
    by_x, by_v = grad(total, argnums=(0, 1))(x, v)
    np.testing.assert_allclose(np.sum(by_x * direction) + by_v, slope, rtol=1e-7, atol=1e-7)
    if max(np.abs(a).max(initial=0) for a in function(x, v)) < 10:
        expected = slope_by_difference(total, x, v, direction)
        np.testing.assert_allclose(slope, expected, rtol=1e-3, atol=1e-3 * max(1, abs(expected)))


def rng_array(seed, n):
    return np.random.default_rng(seed).uniform(0.1, 0.9, size=(n, n))


# -- patterns that compilers of in-place code are known to get wrong


def chain_of_views(x, v):
    y = x * 2
    z = y[1:][:, ::-1].T
    z[0] *= v
    return y, z


def base_after_view(x, v):
    y = x + 0
    view = y[0]
    y *= v
    y[0, 0] = 5.0
    return view, y


def view_of_a_dead_name(x, v):
    y = x + 0
    view = y.T
    y = y * 3
    view += v
    return y, view


def pieces(x, v):
    y = x + 0
    first, second = np.split(y, [1])
    first *= v
    second[0] = first[0]
    first += second[0] * v
    return y, first, second


def rows(x, v):
    y = x + 0
    for i, row in enumerate(y):
        row *= v + i
    y[-1][0] = v
    return y


def diagonal(x, v):
    y = x.copy()
    y.reshape(-1)[:: y.shape[1] + 1] += v
    np.fill_diagonal(y[::-1], v * 2)
    return y


def add_transpose(x, v):
    y = x + 0
    y += y.T
    y.T[...] -= v * y
    return y


def swap(x, v):
    y = x + 0
    y[0], y[1] = y[1].copy(), y[0].copy()
    y[[0, 1]] = y[[1, 0]] * v
    return y


def reverse_in_place(x, v):
    y = x * v
    y[:] = y[::-1]
    z = y[:, ::-1]
    z[...] = y
    z += v
    y[...] = y[:, ::-1]
    return y, z


def aliases(x, v):
    y = x + 0
    other = y
    other[0] = v
    y[1] = other[0] * 2
    return y, other


def copy_before_write(x, v):
    y = x + 0
    before = y[1:].copy()
    fancy = y[[0, 1]]
    masked = y[y > 100]
    y[...] = v
    return before, fancy, masked.size, y


def write_nobody_reads(x, v):
    y = x + 0
    y[0] = v * 7
    y[0] = x[1]
    y[...] = x
    return y * v


def read_between_writes(x, v):
    y = x + 0
    a = y[0] * v
    y[0] = 1.0
    b = y[0] * v
    y[0] = x[0] * 3
    return a, b, y[0] * v


def reduction_into_a_view(x, v):
    y = x + 0
    np.sum(x, axis=0, out=y[0])
    np.cumsum(y, axis=1, out=y)
    y[:, 0] = y.sum(axis=1) * v
    return y


def accumulate_in_a_scalar_array(x, v):
    total = x[0, 0] * np.zeros(())
    for row in x:
        total = total + 0
        total += row.sum() * v
    return total


def window(x, v):
    y = x.reshape(-1) + 0
    y[2:] = y[1:-1] * y[:-2] + v
    y[:-1] += y[1:]
    return y


def of_zero_strides(x, v):
    y = x + 0
    y[:] = y[0]
    y[:, :] = np.broadcast_to(y[:1], y.shape) * v
    return y


PATTERNS = [
    chain_of_views, base_after_view, view_of_a_dead_name, pieces, rows, diagonal, add_transpose, swap, aliases,
    copy_before_write, write_nobody_reads, read_between_writes, reduction_into_a_view, accumulate_in_a_scalar_array,
    window, of_zero_strides, reverse_in_place,
]  # fmt: skip
every_pattern = pytest.mark.parametrize("pattern", PATTERNS, ids=lambda f: f.__name__)


def total_of(pattern):
    """Return a scalar function of all that a pattern gives, in which no two elements count alike."""

    def total(x, v):
        results = pattern(x, v)
        parts = results if isinstance(results, tuple) else (results,)
        return sum(np.sum(np.sin(p) * (i + 1.5)) for i, p in enumerate(parts))

    return total


@every_pattern
def test_patterns_give_what_numpy_gives(pattern):
    traced, v = jit(pattern), 0.6
    for n in SIZES:
        x = rng_array(n, n)
        results, wanted = traced(x, v), pattern(x, v)
        results, wanted = (r if isinstance(r, tuple) else (r,) for r in (results, wanted))
        for a, b in zip(results, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
        np.testing.assert_array_equal(x, rng_array(n, n))


@every_pattern
def test_patterns_have_derivatives_of_two_orders(pattern):
    total, x, v = total_of(pattern), rng_array(9, 3), 0.6
    direction = np.random.default_rng(8).normal(size=(3, 3))
    slopes = grad(total, argnums=(0, 1))
    by_x, by_v = slopes(x, v)
    _, slope = jvp(total, (x, v), (direction, 1.0))
    np.testing.assert_allclose(np.sum(by_x * direction) + by_v, slope, rtol=1e-9)
    np.testing.assert_allclose(slope, slope_by_difference(total, x, v, direction), rtol=1e-5, atol=1e-6)

    def along(x, v):
        by_x, by_v = slopes(x, v)
        return np.sum(by_x * direction) + by_v

    _, second = jvp(along, (x, v), (direction, 1.0))
    np.testing.assert_allclose(second, slope_by_difference(along, x, v, direction), rtol=1e-4, atol=1e-5)


@every_pattern
def test_patterns_in_a_batch(pattern):
    total = total_of(pattern)
    xs, vs = np.stack([rng_array(seed, 3) for seed in range(4)]), np.linspace(0.2, 0.8, 4)
    np.testing.assert_allclose(vmap(total)(xs, vs), [total(x, v) for x, v in zip(xs, vs, strict=True)])
    by_x = vmap(grad(total))(xs, vs)
    np.testing.assert_allclose(by_x, [grad(total)(x, v) for x, v in zip(xs, vs, strict=True)], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_patterns_of_other_dtypes(dtype):
    for pattern in (chain_of_views, pieces, swap, add_transpose, read_between_writes, window):
        x = (rng_array(2, 3) * 10).astype(dtype)
        v = dtype(2)
        results, wanted = jit(pattern)(x, v), pattern(x, v)
        results, wanted = (r if isinstance(r, tuple) else (r,) for r in (results, wanted))
        for a, b in zip(results, wanted, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5)

"""Sums with padded arrays add to a part of the other operand, with the bits of NumPy, and write to no argument."""

import numpy as np
import pytest

import anyshape
from anyshape import jit
from anyshape.backend.compiler.plan import add_part_op
from anyshape.backend.interpreter import evaluate
from anyshape.ops.core.apply import KERNELS

SIZES = (0, 1, 2, 3, 5, 64, 70_000)


def padded(y, low, high, fill=0):
    return np.pad(y, [(low, high)] + [(0, 0)] * (y.ndim - 1), constant_values=fill)


def variation(x):
    return np.sum(np.square(x[1:] - x[:-1]))


def curvature(x):
    return np.sum((x[2:] - 2 * x[1:-1] + x[:-2]) ** 2)


def wide(x):
    """Return an array that is one longer than x."""
    return np.cumsum(np.pad(x, [(0, 1)] + [(0, 0)] * (x.ndim - 1), constant_values=1), 0)


def twice_read(x):
    pad = padded(x, 1, 0)
    return pad + padded(x, 0, 1), pad[:1]


def read_on(x):
    total = padded(x, 1, 0) + padded(x, 0, 1)
    return total, total * 2


def doubled(x):
    return x + x


def read_later(x):
    y = wide(x)
    return y + padded(x, 1, 0), y


FUNCTIONS = {
    "a value and a pad": (lambda x: wide(x) + padded(x, 1, 0), 1),
    "a pad and a value": (lambda x: padded(x, 0, 1) + wide(x), 1),
    "two pads": (lambda x: padded(x, 1, 0) + padded(x, 0, 1), 1),
    "pads on both sides": (lambda x: padded(x, 2, 3) + padded(x, 3, 2), 1),
    "three pads": (lambda x: padded(x, 2, 0) + padded(x, 1, 1) + padded(x, 0, 2), 2),
    "halves": (lambda x: padded(x, 0, x.shape[0]) + padded(x, x.shape[0], 0), 1),
    "a pad that is read twice": (twice_read, 1),
    "a sum that elementwise steps read": (read_on, 0),
    "a value that is read again": (read_later, 1),
    "one pad twice": (lambda x: doubled(padded(x, 1, 0)), 0),
    "a number and a pad": (lambda x: 1.0 + padded(x, 1, 0), 0),
    "a stretched row": (lambda x: np.sum(x, 0, keepdims=True) + padded(x, 1, 0), 0),
    "other fills": (lambda x: wide(x) + wide(x[:0]) * 0 + padded(x, 1, 0), 1),
    "a pad of ones": (lambda x: wide(x) + padded(x, 1, 0, 1), 0),
    "a pad between others": (lambda x: wide(np.sin(x)) + padded(x, 1, 0) * 2, 0),
}


def odd(x):
    """Put zeros of both signs, infinities and NaN among other numbers."""
    flat = x.reshape(-1)
    flat[::3] = -0.0
    if x.dtype.kind == "f":
        flat[4::7], flat[5::11], flat[6::13] = 0.0, np.inf, np.nan
    return x


def arrays(dtype, rank):
    rng = np.random.default_rng(0)
    for n in SIZES:
        x = (rng.standard_normal((n, 3)[:rank]) * 9).astype(dtype)
        yield odd(x)
        yield odd(np.asfortranarray(x)) if rank > 1 else odd(np.repeat(x, 2))[::2]


def same(got, expected):
    np.testing.assert_array_equal(got, expected, strict=True)
    parts = [(got.real, expected.real), (got.imag, expected.imag)] if got.dtype.kind == "c" else [(got, expected)]
    for a, b in parts if got.dtype.kind in "fc" else []:
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(b)]), np.signbit(b[~np.isnan(b)]))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype, rank", [("f8", 1), ("f4", 2), ("i8", 1), ("c16", 2), ("f2", 1)])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_sums_equal_numpys(name, dtype, rank):
    function, count = FUNCTIONS[name]
    f = jit(function)
    for x in arrays(dtype, rank):
        before = x.copy()
        got, expected = f(x), function(x)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, expected)], strict=True):
            same(np.asarray(a), np.asarray(b))
        np.testing.assert_array_equal(x, before)
    (program, *_) = f.programs()
    assert len([s for s in program.plan.steps if s.op is add_part_op]) == count


@pytest.mark.parametrize("make", [variation, curvature])
def test_derivatives_of_differences(make):
    derivative = anyshape.grad(make)
    product = jit(lambda x, v: anyshape.hvp(make, (x,), (v,)))
    for n in [n for n in SIZES if n > 1]:
        x, v = np.random.default_rng(n).standard_normal((2, n))
        for f, xs in ((derivative, (x,)), (product, (x, v))):
            got = f(*xs)
            same(got, *evaluate(f.programs()[0].graph, xs))
        np.testing.assert_allclose(product(x, v), (derivative(x + v) - derivative(x - v)) / 2, atol=1e-9)
    assert any(s.op is add_part_op for s in derivative.programs()[0].plan.steps)


def test_arguments_are_not_written_to():
    f = jit(lambda z, x: (z + padded(x, 1, 0), x), dynamic_shapes={"z": "n + 1", "x": "n"})
    for n in SIZES:
        z, x = np.full(n + 1, -0.0), np.arange(float(n))
        same(f(z, x)[0], z + np.append(0.0, x))
        same(z, np.full(n + 1, -0.0))
    assert add_part_op in [s.op for s in f.programs()[0].plan.steps]


def test_pads_along_more_axes_stay():
    f = jit(lambda x: np.pad(x[1:, 1:], [(1, 0), (1, 0)]) + np.cumsum(x, 1))
    for n in (0, 1, 2, 5):
        x = np.arange(float(n * 3)).reshape(n, 3)
        same(f(x), np.pad(x[1:, 1:], [(1 if n else 0, 0), (1, 0)]) + np.cumsum(x, 1) if n else x)
    assert all(s.op is not add_part_op for s in f.programs()[0].plan.steps)


def test_pads_of_negative_zeros_stay():
    f = jit(lambda x: wide(x) + padded(x, 1, 0, -0.0))
    for x in arrays("f8", 1):
        same(f(x), wide(x) + padded(x, 1, 0, -0.0))
    assert all(s.op is not add_part_op for s in f.programs()[0].plan.steps)


def test_pads_along_another_axis():
    f = jit(lambda x: np.pad(x[:, 1:], [(0, 0), (0, 1)]) + np.sin(x))
    for shape in ((0, 2), (3, 1), (3, 4), (400, 500)):
        x = np.random.default_rng(0).standard_normal(shape)
        same(f(x), np.pad(x[:, 1:], [(0, 0), (0, 1)]) + np.sin(x))


def test_the_kernel_adds_in_any_buffer():
    run = KERNELS[add_part_op].run
    x, y = np.array([-0.0, -0.0, 1.0, -0.0]), np.array([-0.0, 2.0])
    expected = x + np.pad(y, (1, 1))
    other = np.empty(4)
    for out in (None, other, x.copy()):
        same(run(x, y, out, axis=0, low=1, high=1), expected)
    inside = x.copy()
    assert run(inside, y, inside, axis=0, low=1, high=1) is inside
    same(inside, expected)

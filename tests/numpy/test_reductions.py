"""Test reductions with all options on every kind of dtype: NumPy's result, down to the sign of a zero."""

import functools
import warnings

import numpy as np
import pytest

import anyshape
from anyshape.errors import AnyshapeError, CheckError

DTYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
SHAPES = ((), (1,), (3,), (0,), (2, 3), (3, 0), (0, 3), (2, 1, 3))
AXES = (None, (), 0, -1, (0, 1), (-1, 0))
FUNCTIONS = (
    np.sum, np.prod, np.max, np.min, np.mean, np.var, np.std, np.any, np.all, np.count_nonzero, np.average, np.nansum,
    np.nanprod, np.nanmean, np.nanvar, np.nanmax, np.nanmin, np.ptp, np.cumsum, np.cumprod, np.argmax,
)  # fmt: skip
RUNNING = (np.cumsum, np.cumprod, np.argmax)  # along one axis
CHOSEN = {np.sum, np.prod, np.mean, np.var, np.std, np.nansum, np.nanprod, np.cumsum, np.cumprod}  # a dtype
STARTED = (np.sum, np.prod, np.max, np.min, np.nansum, np.nanprod, np.nanmax, np.nanmin)


def values(shape, dtype):
    """Return small numbers of both signs, zeros of both signs among them."""
    rng = np.random.default_rng(len(shape))
    x = rng.integers(-3, 4, size=shape) * rng.choice([1.0, -0.5], size=shape)
    x = x + 1j * rng.integers(-2, 3, size=shape) if np.dtype(dtype).kind == "c" else x
    return np.asarray(x).astype(dtype)


def outcome(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(f(*args))
        except (ValueError, TypeError, ArithmeticError) as error:
            return error


def assert_as_numpy(f, *args, note="", jitted=None):
    """Compare a function with NumPy: traced for these arguments, or jitted before for others as well."""
    expected, got = outcome(f, *args), outcome(jitted or anyshape.jit(f), *args)
    if isinstance(expected, Exception) or isinstance(got, Exception):
        assert isinstance(expected, Exception) and isinstance(got, Exception), f"{note}: {got!r} for {expected!r}"
        return
    rtol = 4 * np.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, err_msg=note)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), note
    if expected.dtype.kind == "f" and getattr(f, "signs", True):
        ordered = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got)[ordered], np.signbit(expected)[ordered], err_msg=note)


def options(function):
    for axis in AXES:
        if not (function in RUNNING and isinstance(axis, tuple)):
            yield {"axis": axis}
    yield {} if function in RUNNING else {"axis": 0, "keepdims": True}
    for dtype in ("f4", "c16", "f8", "i4", "u1", "?") if function in CHOSEN else ():
        yield {"dtype": dtype, "axis": None}
    for initial in (0, 2, -1, np.float32(1.5)) if function in STARTED else ():
        yield {"initial": initial, "axis": 0}


@pytest.mark.parametrize("part", [0, *[pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3)]])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_option_equals_numpy(function, part):
    """A quarter of all combinations: each two of an option, a dtype and a number of axes meet in it."""
    extremes = function in (np.max, np.min, np.nanmax, np.nanmin)  # the sign of a zero depends on the order of elements
    for choice, chosen in enumerate(options(function)):

        def reduced(x, chosen=chosen):
            return function(x, **chosen)

        reduced.signs = not extremes
        jitted = anyshape.jit(reduced)
        for turn, dtype in enumerate(DTYPES, start=choice):
            if np.dtype(chosen.get("dtype", "c16")).kind in "biu" and function in (np.mean, np.var, np.std):
                continue
            if dtype[0] == "c" and np.dtype(chosen.get("dtype", "c16")).kind in "biu":
                continue  # NumPy casts with a warning
            for shape in SHAPES[:: -1 if turn // 2 % 2 else 1]:  # so that axes of zero are traced first, too
                if (turn + len(shape)) % 4 != part:
                    continue
                note = f"{function.__name__} {chosen} of {dtype}{shape}"
                assert_as_numpy(reduced, values(shape, dtype), note=note, jitted=jitted)


@pytest.mark.parametrize("axis", [None, (), 0, -1])
@pytest.mark.parametrize("function", [np.sum, np.mean, np.average, np.nansum, np.nanmean], ids=lambda f: f.__name__)
def test_a_sum_of_negative_zeros_is_a_positive_zero(function, axis):
    for x in (np.array(-0.0), np.array([-0.0]), np.array([[-0.0, -0.0]]), -0.0, np.float32(-0.0)):
        assert_as_numpy(lambda x: function(x, axis=axis), x, note=repr(x))
    derivative = anyshape.grad(lambda x: np.sum(np.sum(x, axis=())))(np.ones(2))
    np.testing.assert_array_equal(derivative, [1.0, 1.0], strict=True)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (1, 0)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_a_product_starts_from_initial(dtype, axis):
    """An overflow happens where it happens in NumPy, and nowhere else."""
    largest = float(np.finfo(dtype).max) / 2
    for initial in (largest, 1 / largest):

        def product(x, initial=initial, **options):
            return np.prod(x, axis=axis, initial=initial, **options)

        for shape in ((2, 2), (0, 2), (2, 0)):
            x = np.resize(np.array([largest, 1 / largest, 1 / largest, 2]), shape).astype(dtype)
            assert_as_numpy(product, x, note=f"{initial}, {shape}")
            assert_as_numpy(functools.partial(product, keepdims=True), x)
    gradients = anyshape.grad(lambda x, c: np.prod(x, initial=c), argnums=(0, 1))(np.array([2.0, 0.0, 3.0]), 5.0)
    np.testing.assert_array_equal(gradients[0], [0.0, 30.0, 0.0])
    assert gradients[1] == 0.0


def test_initial_is_one_number():
    with pytest.raises(AnyshapeError, match="initial has 1 axes"):
        anyshape.jit(lambda x: np.sum(x, axis=0, initial=np.ones(3)))(np.ones((2, 3)))


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8"])
def test_weights_that_sum_to_zero_are_an_error(dtype):
    weighted = anyshape.jit(lambda x, w: np.average(x, axis=0, weights=w))
    for x, w in (([1, 2], [1, -1]), ([], []), (np.ones((2, 2)), [[1, 1], [1, -1]]), (np.zeros((0, 2)), [])):
        x, w = np.asarray(x, dtype), np.asarray(w, dtype)
        with pytest.raises(CheckError, match="average: the weights sum to zero"):
            weighted(x, w)
        with pytest.raises(ZeroDivisionError):
            np.average(x, axis=0, weights=w)
    assert weighted(np.array([1, 3], dtype), np.array([1, 1], dtype)) == 2
    with pytest.raises(CheckError, match="the weights sum to zero"):
        anyshape.grad(lambda x, w: np.average(x, weights=w))(np.ones(2), np.array([1.0, -1.0]))


@pytest.mark.parametrize("dtype", ["i8", "f8"])
def test_an_average_of_nothing_follows_numpy(dtype):
    for shape, axis in (((0,), 0), ((0, 3), 0), ((3, 0), 0), ((3, 0), 1), ((3, 0), None)):
        assert_as_numpy(functools.partial(np.average, axis=axis), np.zeros(shape, dtype), note=f"{shape} along {axis}")


@pytest.mark.parametrize("n", [1, 5, 2049, 65519, 65520, 70_000])
def test_halves_are_counted_in_single_precision(n):
    x = (np.random.default_rng(0).normal(size=n) / 2 + 0.3).astype(np.float16)
    for function in (np.var, np.std, lambda x: np.var(x, where=x > -9), np.mean, lambda x: np.mean(x, where=x > 0)):
        result, expected = anyshape.jit(function)(x), function(x.astype(float))
        assert result.dtype == np.float16
        np.testing.assert_allclose(result, expected, rtol=3e-3)
    exact = 2 * (x.astype(float) - x.astype(float).mean()) / n
    np.testing.assert_allclose(anyshape.grad(np.var)(x), exact, rtol=0.02, atol=2e-3 / n + 1e-7)

"""Compare the rules for samples of anyshape.scipy.integrate with SciPy's at several sizes from one trace."""

import numpy as np
import pytest
import scipy.integrate

from anyshape import check_grads, jit, vmap
from anyshape.errors import ArgumentError, SizeMismatchError
from anyshape.scipy import integrate

SIZES = (1, 2, 3, 4, 5, 8)
CASES = {
    "trapezoid": lambda m, y, x: m.trapezoid(y, x),
    "cumulative_trapezoid": lambda m, y, x: m.cumulative_trapezoid(y, x, initial=0),
    "cumulative_trapezoid without points": lambda m, y, x: m.cumulative_trapezoid(y, dx=0.5, axis=0),
    "simpson": lambda m, y, x: m.simpson(y, x),
    "simpson without points": lambda m, y, x: m.simpson(y, dx=0.3),
    "cumulative_simpson": lambda m, y, x: m.cumulative_simpson(y, x=x),
    "cumulative_simpson without points": lambda m, y, x: m.cumulative_simpson(y, dx=0.2, initial=2.0),
}


def samples(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(2, n)), np.cumsum(rng.uniform(0.2, 1, n))


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_at_several_sizes(name):
    function = CASES[name]
    traced = jit(lambda y, x: function(integrate, y, x))
    for n in SIZES:
        np.testing.assert_allclose(traced(*samples(n)), function(scipy.integrate, *samples(n)), 1e-12, 1e-14)
    assert traced.cache_info().traces == 1
    check_grads(traced, samples(4), order=2)
    stack = np.stack([samples(4)[0], 2 * samples(4)[0]])
    batched = vmap(lambda y: function(integrate, y, samples(4)[1]))(stack)
    np.testing.assert_allclose(batched[1], function(scipy.integrate, stack[1], samples(4)[1]), 1e-12)


def test_romb():
    traced = jit(lambda y: integrate.romb(y, 0.1))
    for n in (2, 3, 5, 9):
        y = np.exp(np.arange(n) / n)
        np.testing.assert_allclose(traced(y), scipy.integrate.romb(y, 0.1), 1e-13)
    with pytest.raises(ValueError, match="power of 2"):
        traced(np.ones(4))
    check_grads(traced, (np.ones(5),))


def test_dtypes():
    y = np.arange(5, dtype=np.float32)
    for name in ("trapezoid", "simpson", "cumulative_simpson", "romb"):
        traced = jit(lambda y, name=name: getattr(integrate, name)(y))
        assert traced(y).dtype == getattr(scipy.integrate, name)(y).dtype, name
        np.testing.assert_allclose(traced(1j * y), 1j * traced(y), 1e-6)
        np.testing.assert_allclose(traced(y.astype(int)), getattr(scipy.integrate, name)(y.astype(int)), 1e-12)


def test_bad_samples_are_errors_of_the_classes_of_scipy():
    with pytest.raises(SizeMismatchError, match=r"x.shape\[0\] \(3\) must equal y.shape\[0\] \(4\)"):
        jit(lambda y, x: integrate.simpson(y, x))(np.ones(4), np.ones(3))
    with pytest.raises(ArgumentError, match="length of x along axis must be the same as y"):
        jit(lambda y, x: integrate.cumulative_trapezoid(y, x))(np.ones(4), np.ones(3))
    with pytest.raises(ValueError, match="must increase"):
        jit(lambda y, x: integrate.cumulative_simpson(y, x=x))(np.ones(3), np.ones(3))
    with pytest.raises(ArgumentError, match="initial"):
        jit(lambda y: integrate.cumulative_trapezoid(y, initial=1))(np.ones(3))
    for name in ("simpson", "cumulative_simpson"):
        with pytest.raises(IndexError):
            jit(lambda y, name=name: getattr(integrate, name)(y))(np.ones(0))


def test_single_precision_points_and_first_values_promote():
    x = np.arange(5, dtype=np.float32)
    for function in (
        lambda m, x: m.simpson(x**2, x),
        lambda m, x: m.cumulative_simpson(x**2, x=x),
        lambda m, x: m.cumulative_simpson(x**2, x=x, initial=0),
    ):
        expected, result = function(scipy.integrate, x), jit(lambda x, f=function: f(integrate, x))(x)
        assert expected.dtype == result.dtype
        np.testing.assert_allclose(result, expected, 1e-6)


def test_small_integers_and_bools_wrap_where_those_of_scipy_do():
    for dtype in (np.int8, np.uint8, np.bool_):
        y = (np.array([[3, 200, 7], [1, 90, 250]]) % 256).astype(dtype)
        for name in ("trapezoid", "cumulative_trapezoid", "romb"):
            for options in ({}, {"dx": 2}, {"x": y[1]}):
                if "x" in options and (name == "romb" or dtype is np.bool_):
                    continue
                actual = jit(lambda y, n=name, o=options: getattr(integrate, n)(y, **o))(y)
                expected = getattr(scipy.integrate, name)(y, **options)
                np.testing.assert_allclose(actual, expected, 1e-14, err_msg=f"{name} {dtype.__name__} {options}")

"""Compare all methods of quantiles, and weighted ones, with NumPy at several sizes from one trace."""

import warnings

import numpy as np
import pytest

from anyshape import check_grads, grad, jit
from anyshape.errors import ArgumentError, CheckError

METHODS = (
    "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
)  # fmt: skip
LEVELS = np.array([0.0, 0.1, 0.25, 0.5, 0.77, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_each_method_at_several_sizes_from_one_trace(method):
    for function, scale in ((np.quantile, 1), (np.percentile, 100), (np.nanquantile, 1)):
        traced = jit(lambda x, q, f=function: f(x, q, axis=0, method=method))
        for n in (1, 2, 5):
            x = np.random.default_rng(n).normal(size=(n, 3))
            x[0, 0] = np.nan if function is np.nanquantile else x[0, 0]
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
                expected, result = function(x, LEVELS * scale, axis=0, method=method), traced(x, LEVELS * scale)
            np.testing.assert_allclose(result, expected, 1e-12)
        assert traced.cache_info().traces == 1
    integers = np.array([3, 1, 4, 1, 5])
    result, expected = (
        jit(lambda x: np.quantile(x, 0.4, method=method))(integers),
        np.quantile(integers, 0.4, method=method),
    )
    assert result.dtype == expected.dtype and result == expected
    check_grads(lambda x: np.quantile(x, np.array([0.13, 0.52]), method=method), (np.sin(np.arange(7.0)),), order=2)


def test_interpolating_methods_have_a_slope_in_the_level():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    assert grad(lambda q: np.quantile(x, q, method="hazen"))(0.55) == pytest.approx(4 * 2.0)
    assert grad(lambda q: np.quantile(x, q, method="lower"))(0.55) == 0


@pytest.mark.parametrize("axis, shape", [(None, (5, 4)), (0, (5,)), (0, (5, 4)), (1, (4,))])
def test_weighted_quantiles(axis, shape):
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 5, size=(5, 4)).astype(float), rng.integers(0, 3, size=shape).astype(float)
    w.flat[-2:] = 1.5
    for function in (np.quantile, np.nanquantile)[: 1 + (shape == x.shape)]:  # NumPy's other one needs all weights
        expected = function(x, LEVELS, axis=axis, method="inverted_cdf", weights=w)
        traced = jit(lambda x, w, f=function: f(x, LEVELS, axis=axis, method="inverted_cdf", weights=w))
        np.testing.assert_array_equal(traced(x, w), expected)
        x[1, 2] = np.nan


def test_wrong_methods_and_weights_are_refused():
    x = np.arange(4.0)
    with pytest.raises(ArgumentError, match="takes no weights"):
        jit(lambda x: np.quantile(x, 0.5, method="hazen", weights=x))(x)
    with pytest.raises(ValueError, match="method"):
        jit(lambda x: np.quantile(x, 0.5, method="middle"))(x)
    weighted = jit(lambda x, w: np.quantile(x, 0.5, method="inverted_cdf", weights=w))
    for weights, message in ((-x, "non-negative"), (0 * x, "all zero"), (x + np.inf, "all zero")):
        with pytest.raises(CheckError, match=message):
            weighted(x, weights)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_levels_that_are_integers_give_the_ends_also_infinite_ones():
    x = np.array([2.0, -np.inf, 1.0, np.inf])
    for function, levels in (
        *((f, (0, 1, True, 0.0, 1.0, [0, 1], np.int64(1), np.array([0, 1]))) for f in (np.quantile, np.nanquantile)),
        *((f, (0, 100, 100.0, [0, 100])) for f in (np.percentile, np.nanpercentile)),
    ):
        for level in levels:
            for array in (x, x.astype(np.float32)):
                actual, expected = jit(lambda x, f=function, q=level: f(x, q))(array), function(array, level)
                assert actual.dtype == expected.dtype
                np.testing.assert_array_equal(actual, expected, err_msg=f"{function.__name__} {level!r}")


@pytest.mark.parametrize("dtype", ["f4", "i1"])
def test_python_levels_are_weak_and_others_are_not(dtype):
    x = np.array([20, -3, 7, 40, 11, 0, 3, 5, 6, 50, 60]).astype(dtype)
    calls = [
        (function, level, method)
        for function in (np.quantile, np.percentile, np.nanquantile)
        for level in (1, 0.3, True, [0, 1], np.int8(1), np.float32(0.3), np.float16(0.3), [0.3])
        for method in ("linear", "lower", "midpoint", "weibull")
    ]
    results = jit(lambda x: [f(x, q, method=method) for f, q, method in calls])(x)
    for result, (f, q, method) in zip(results, calls, strict=True):
        expected = f(x, q, method=method)
        assert result.dtype == expected.dtype, (f.__name__, q, method)
        np.testing.assert_allclose(result, expected, 1e-6, err_msg=f"{f.__name__} {q!r} {method}")

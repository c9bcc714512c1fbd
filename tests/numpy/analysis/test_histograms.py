"""Tests of histograms, bins and positions: symbolic numbers of bins, run-time refusals and one trace for all sizes."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit
from anyshape.errors import AnyshapeError, ArgumentError, CheckError, UnsupportedFunctionError

X = np.array([0.2, -1.0, 0.7, 0.7, 2.0, -0.4])


def test_the_number_of_bins_may_be_a_size():
    function = jit(lambda x, y: anp.histogram(x, y.shape[0]))
    for bins in (1, 2, 5):
        for ours, numpys in zip(function(X, np.ones(bins)), np.histogram(X, bins), strict=True):
            np.testing.assert_allclose(ours, numpys)
    assert len(function.programs()) == 1


@pytest.mark.parametrize("options", [{"density": True}, {"range": (-0.5, 1.0)}, {"weights": X}])
def test_options_mean_what_they_mean_in_numpy(options):
    for ours, numpys in zip(
        jit(lambda x: np.histogram(x, 4, **options))(X), np.histogram(X, 4, **options), strict=True
    ):
        np.testing.assert_allclose(ours, numpys, strict=True)


def test_weights_have_a_gradient():
    slopes = grad(lambda w: np.sum(np.histogram(X, [-1.0, 0.0, 2.0], weights=w)[0] * np.array([3.0, 5.0])))(np.ones(6))
    assert slopes.tolist() == [5, 3, 5, 5, 5, 3]


def test_bins_that_do_not_rise_are_refused():
    with pytest.raises(CheckError, match="bins must increase"):
        jit(lambda x, b: np.histogram(x, b))(X, np.array([1.0, 0.0]))
    with pytest.raises(CheckError, match="increasing or decreasing"):
        jit(lambda x, b: np.digitize(x, b))(X, np.array([1.0, 0.0, 2.0]))
    with pytest.raises(CheckError, match="must be finite"):
        jit(np.histogram)(X * np.nan)
    with pytest.raises(ArgumentError, match="not finite and rising"):
        jit(lambda x: np.histogram(x, range=(1, 0)))(X)
    with pytest.raises(UnsupportedFunctionError, match="bins='auto'"):
        jit(lambda x: np.histogram(x, "auto"))(X)
    with pytest.raises(AnyshapeError, match="must be 1 or more"):
        jit(lambda x: np.histogram(x, 0))(X)


def test_lines_of_nan_alone_give_nan_with_the_warning_of_numpy():
    x = np.array([[np.nan, 1.0], [np.nan, 3.0]])
    for function in (lambda x: np.nanmedian(x, axis=0), lambda x: np.nanquantile(x, 0.5, axis=0)):
        with pytest.warns(RuntimeWarning, match="All-NaN slice"):
            np.testing.assert_array_equal(jit(function)(x), [np.nan, 2.0])


def test_shapes_of_positions_may_be_symbolic():
    def there_and_back(x, i):
        return anp.ravel_multi_index(anp.unravel_index(i, x.shape, "F"), x.shape, order="F")

    function = jit(there_and_back)
    for shape in ((2, 3), (4, 1)):
        every = np.arange(shape[0] * shape[1])
        np.testing.assert_array_equal(function(np.ones(shape), every), every)
        with pytest.raises(CheckError, match="a position is out of bounds"):
            function(np.ones(shape), every + 1)
    assert len(function.programs()) == 1


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_extremes_have_positions_without_nan(name):
    x = np.array([[np.nan, 1.0, -np.inf], [4.0, np.nan, np.nan], [5.0, -2.0, np.nan]])
    for axis in (None, 0, 1):
        function = jit(lambda x, axis=axis: getattr(np, name)(x, axis))
        np.testing.assert_array_equal(function(x), getattr(np, name)(x, axis), strict=True)
    with pytest.raises(CheckError, match="All-NaN slice"):
        jit(lambda x: getattr(np, name)(x, 1))(np.array([[1.0], [np.nan]]))


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.float32, np.float64])
def test_limits_of_bins_may_lie_outside_of_the_dtype(dtype):
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    function = jit(lambda x: np.histogram(x, 3, range=(-1, 300)))
    for n in (5, 0, 1):
        for mine, numpys in zip(function(x[:n]), np.histogram(x[:n], 3, range=(-1, 300)), strict=True):
            np.testing.assert_array_equal(mine, numpys, strict=True)
    low, high = jit(lambda x, low: np.histogram_bin_edges(x, 1, range=(low, 300)))(x, -1)
    assert (low, high) == (-1, 300)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_the_first_power_is_the_number_itself(n):
    """A product with 1 would give NaN where a part of a complex number is infinite."""
    x = np.array([complex(np.inf, 1), 2 + 1j])
    np.testing.assert_array_equal(jit(lambda x: np.vander(x, n))(x), np.vander(x, n), strict=True)

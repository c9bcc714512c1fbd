"""Compare weighted covariances with NumPy's at several sizes from one trace, and check what is refused."""

import itertools
import warnings

import numpy as np
import pytest

from anyshape import check_grads, jit
from anyshape.errors import ArgumentError, CheckError

CHOICES = [c for c in itertools.product((False, True), (False, True), (None, 0, 2)) if c[0] or c[1]]


def operands(n, dtype="float64"):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(3, n)) + (1j * rng.normal(size=(3, n)) if dtype == "complex128" else 0)
    return x.astype(dtype), rng.integers(1, 4, size=n), rng.uniform(0.1, 1, size=n)


@pytest.mark.parametrize("with_repeats, with_importance, ddof", CHOICES)
def test_weights_at_several_sizes_from_one_trace(with_repeats, with_importance, ddof):
    def function(x, repeats, importance):
        repeats, importance = repeats if with_repeats else None, importance if with_importance else None
        return np.cov(x, ddof=ddof, fweights=repeats, aweights=importance)

    for dtype in ("float64", "float32", "complex128"):
        traced = jit(function)
        for n in (1, 2, 5) if ddof == 0 else (2, 5):  # 1 - 1 observations are a rounding error
            args = operands(n, dtype)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Degrees of freedom|divide|invalid", RuntimeWarning)
                expected, result = function(*args), traced(*args)
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, 1e-12 if dtype != "float32" else 1e-6, 1e-15)
        assert traced.cache_info().traces == 1
    x, repeats, importance = operands(5)
    check_grads(lambda x, w: function(x, repeats, w), (x, importance), order=2)


def test_variables_in_columns_and_a_row_of_further_ones():
    x, y = np.arange(10.0).reshape(5, 2) ** 2, np.sin(np.arange(5.0))
    for more in (y, y[None], y[:, None], x[::-1]):
        traced = jit(lambda x, y: np.cov(x, y, rowvar=False))
        np.testing.assert_allclose(traced(x, more), np.cov(x, more, rowvar=False), 1e-12)
    z = x + 1j * x[::-1]
    np.testing.assert_allclose(jit(np.corrcoef)(z), np.corrcoef(z), 1e-12)


def test_wrong_weights_are_refused():
    x, repeats, importance = operands(4)
    traced = jit(lambda x, f, a: np.cov(x, fweights=f, aweights=a))
    with pytest.raises(CheckError, match="fweights cannot be negative"):
        traced(x, -repeats, importance)
    with pytest.raises(CheckError, match="fweights must be integer"):
        traced(x, repeats + 0.5, importance)
    with pytest.raises(ZeroDivisionError, match="the weights sum to zero"):
        traced(x, repeats * 0, importance)
    with pytest.raises(ValueError, match=r"3 weights for 4 observations|must equal"):
        traced(x, repeats[:3], importance)
    with pytest.raises(ArgumentError, match="has 2 axes"):
        traced(x, repeats[None], importance)
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        traced(x[:, :1], np.ones(1, int), np.ones(1))

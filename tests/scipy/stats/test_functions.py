"""Compare functions of anyshape.scipy.stats with SciPy's on many arrays, and derivatives with differences."""

import numpy as np
import pytest
import scipy.stats

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.scipy import stats

RNG = np.random.default_rng(3)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

# functions of the module and of positive samples
ALONG = {
    "zscore": lambda s, x, axis: s.zscore(x, axis),
    "zscore, unbiased": lambda s, x, axis: s.zscore(x, axis, ddof=1),
    "zmap": lambda s, x, axis: s.zmap(x, 2 * x + 1, axis),
    "gzscore": lambda s, x, axis: s.gzscore(x, axis=axis),
    "gstd": lambda s, x, axis: s.gstd(x, axis),
    "sem": lambda s, x, axis: s.sem(x, axis),
    "moment": lambda s, x, axis: s.moment(x, 3, axis),
    "moments": lambda s, x, axis: s.moment(x, [0, 1, 2, 4], axis),
    "moment about a center": lambda s, x, axis: s.moment(x, 2, axis, center=0.5),
    "skew": lambda s, x, axis: s.skew(x, axis),
    "skew, unbiased": lambda s, x, axis: s.skew(x, axis, bias=False),
    "kurtosis": lambda s, x, axis: s.kurtosis(x, axis),
    "kurtosis, unbiased": lambda s, x, axis: s.kurtosis(x, axis, fisher=False, bias=False),
    "variation": lambda s, x, axis: s.variation(x, axis, ddof=1),
    "gmean": lambda s, x, axis: s.gmean(x, axis, keepdims=True),
    "hmean": lambda s, x, axis: s.hmean(x, axis),
    "pmean": lambda s, x, axis: s.pmean(x, 2.5, axis=axis),
    "pmean of exponent 0": lambda s, x, axis: s.pmean(x, 0, axis=axis),
    "iqr": lambda s, x, axis: s.iqr(x, axis, scale="normal"),
    "iqr of other percentiles": lambda s, x, axis: s.iqr(x, axis, rng=(10, 60), keepdims=True),
    "median_abs_deviation": lambda s, x, axis: s.median_abs_deviation(x, axis),
    "mean absolute deviation": lambda s, x, axis: s.median_abs_deviation(x, axis, center=np.mean, scale="normal"),
    "entropy": lambda s, x, axis: s.entropy(x, axis=axis, base=2),
    "relative entropy": lambda s, x, axis: s.entropy(x, np.flip(x, 0), axis=axis),
    "describe": lambda s, x, axis: s.describe(x, axis),
    "rankdata": lambda s, x, axis: s.rankdata(x, axis=axis),
    "mode": lambda s, x, axis: s.mode(x, axis),
    "mode, kept": lambda s, x, axis: s.mode(x, axis, keepdims=True),
}
NO_DERIVATIVE = ("rankdata", "mode", "mode, kept", "describe")
PAIRS = {
    "pearsonr": lambda s, x, y: [s.pearsonr(x, y).statistic, s.pearsonr(x, y).pvalue],
    "spearmanr": lambda s, x, y: [s.spearmanr(x, y).statistic, s.spearmanr(x, y).pvalue],
    "linregress": lambda s, x, y: list(s.linregress(x, y)) + [s.linregress(x, y).intercept_stderr],
}
DENSITIES = {
    "evaluate": lambda s, x, p: s.gaussian_kde(x)(p),
    "logpdf": lambda s, x, p: s.gaussian_kde(x, "silverman").logpdf(p),
    "a factor": lambda s, x, p: s.gaussian_kde(x, 0.4).pdf(p),
    "a function": lambda s, x, p: s.gaussian_kde(x, lambda kde: 0.5 * kde.silverman_factor()).pdf(p),
    "weights": lambda s, x, p: s.gaussian_kde(x, weights=np.ravel(x[:1]) ** 2).pdf(p),
    "kde times normal": lambda s, x, p: s.gaussian_kde(x).integrate_gaussian(
        np.ones(x.size // x.shape[-1]), np.eye(x.size // x.shape[-1])
    ),
    "product of two": lambda s, x, p: s.gaussian_kde(x).integrate_kde(s.gaussian_kde(x + 0.1)),
}


def samples(shape):
    return np.random.default_rng(7).uniform(0.1, 2.0, shape).round(1)


def same(actual, expected, tolerance=1e-11):
    if isinstance(expected, tuple | list):
        for one, other in zip(actual, expected, strict=True):
            same(one, other, tolerance)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


@pytest.mark.parametrize("name", ALONG)
def test_values_along_each_axis_at_many_sizes_from_one_trace(name):
    function = ALONG[name]
    for axis in (0, 1, -1, None):
        traced = jit(lambda x, axis=axis: function(stats, x, axis))
        for shape in [(5, 4), (4, 3), (7, 2)]:
            x = samples(shape)
            same(traced(x), function(scipy.stats, x, axis), 1e-9)
        assert traced.cache_info().traces == 1


@pytest.mark.parametrize("name", ALONG)
def test_dtypes_nan_constants_and_integers_give_what_scipy_gives(name):
    function = ALONG[name]
    for x in (
        samples((5,)).astype(np.float32),
        np.array([2, 2, 1, 5, 5]),
        np.array([0.5, np.nan, 1.5, 1.5, 2.0]),
        np.full(4, 0.7),
    ):
        actual, expected = jit(lambda x: function(stats, x, 0))(x), function(scipy.stats, x, 0)
        if x.dtype != np.float32 or name in NO_DERIVATIVE:
            same(actual, expected, 1e-5 if x.dtype == np.float32 else 1e-9)
        else:
            assert np.asarray(actual).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(actual, expected, 2e-4, 2e-4)


@pytest.mark.parametrize("name", [name for name in ALONG if name not in NO_DERIVATIVE])
def test_derivatives_and_batches(name):
    x = np.random.default_rng(5).uniform(0.2, 2.0, (5, 3))
    loss = lambda x: np.sum(np.cos(ALONG[name](stats, x, 0)))
    check_grads(loss, (x,), order=2)
    rows = np.stack([x, x**2])
    expected = np.stack([ALONG[name](scipy.stats, row, 0) for row in rows])
    np.testing.assert_allclose(vmap(lambda x: ALONG[name](stats, x, 0))(rows), expected, 1e-9, 1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_samples(name):
    traced = jit(lambda x, y: PAIRS[name](stats, x, y))
    for n in (3, 4, 9):
        x, y = RNG.normal(size=(2, n))
        np.testing.assert_allclose(traced(x, y), PAIRS[name](scipy.stats, x, y), 1e-9)
    assert traced.cache_info().traces == 1
    if name != "spearmanr":
        check_grads(lambda x, y: PAIRS[name](stats, x, y)[0], (x, y), order=2)


def test_two_points_have_a_perfect_correlation():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 1.0])
    for function in (PAIRS["pearsonr"], PAIRS["linregress"]):
        traced = jit(lambda x, y, function=function: function(stats, x, y))
        np.testing.assert_allclose(traced(x, y), function(scipy.stats, x, y))


def test_correlations_of_few_samples_are_refused_or_not_a_number():
    for n in (0, 1):
        x = np.arange(1.0, n + 1)
        with pytest.raises(ValueError, match="at least 2"):
            jit(lambda x: stats.pearsonr(x, 2 * x).statistic)(x)
        assert np.isnan(jit(lambda x: stats.spearmanr(x, 2 * x))(x)).all()
        assert np.isnan(scipy.stats.spearmanr(x, 2 * x)).all()


def test_a_line_through_single_precision_points_is_in_double_precision():
    x = np.array([1, 2, 3], np.float32)
    line = jit(lambda x: tuple(stats.linregress(x, x**2)))(x)
    np.testing.assert_allclose(line, scipy.stats.linregress(x.astype(float), x.astype(float) ** 2), 1e-12)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_of_ties(method):
    for x in (np.array([3, 1, 3, 3, 0, 1]), np.array([0.5]), np.array([2.0, 2.0]), np.zeros(0)):
        actual = jit(lambda x: stats.rankdata(x, method))(x)
        np.testing.assert_array_equal(actual, scipy.stats.rankdata(x, method))
        assert actual.dtype == (np.float64 if x.dtype == np.float64 or method == "average" else np.int64)


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_of_samples(name):
    traced = jit(lambda x, p: DENSITIES[name](stats, x, p))
    for n, m in [(6, 4), (9, 1)]:
        x, p = RNG.uniform(0.5, 2, (2, n)), RNG.uniform(0.5, 2, (2, m))
        np.testing.assert_allclose(traced(x, p), DENSITIES[name](scipy.stats, x, p), 1e-10)
    if name != "kde times normal":  # whose row makes np.ones of a size
        assert traced.cache_info().traces == 1
    if name not in ("weights", "kde times normal"):
        line = jit(lambda x, p: DENSITIES[name](stats, x, p))(x[0], p[0])
        np.testing.assert_allclose(line, DENSITIES[name](scipy.stats, x[0], p[0]), 1e-10)
    check_grads(lambda x, p: np.sum(DENSITIES[name](stats, x, p)), (x, p), order=1)


def test_the_probability_of_an_interval():
    x = RNG.normal(size=8)
    box = lambda s, x, low: s.gaussian_kde(x).integrate_box_1d(low, 1.0)
    np.testing.assert_allclose(jit(lambda x, low: box(stats, x, low))(x, -0.5), box(scipy.stats, x, -0.5), 1e-10)
    assert grad(lambda low: box(stats, x, low))(-0.5) == pytest.approx(-scipy.stats.gaussian_kde(x)(-0.5)[0])


def test_concrete_arguments_go_to_scipy():
    x = samples(9)
    assert stats.skew(x, bias=False) == scipy.stats.skew(x, bias=False)
    assert stats.pearsonr(x, x[::-1]).confidence_interval() == scipy.stats.pearsonr(x, x[::-1]).confidence_interval()
    assert stats.gaussian_kde(x).resample(3, seed=1).shape == (1, 3)


def test_what_is_not_available_is_refused_by_name():
    x = samples(5)
    for function, match in [
        (lambda x: stats.describe(x, nan_policy="omit"), "nan_policy='omit'"),
        (lambda x: stats.rankdata(x, "best"), "method='best'"),
        (lambda x: stats.gaussian_kde(x, "best")(x), "bw_method='best'"),
        (lambda x: stats.pmean(x, x), "defined for exponent of type int or float"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            jit(function)(x)
    with pytest.raises(UnsupportedFunctionError, match="resample"):
        jit(lambda x: stats.gaussian_kde(x).resample(2))(x)

"""Compare `axis`, `nan_policy` and `keepdims` of functions of samples with SciPy's, in values and derivatives."""

import numpy as np
import pytest
import scipy.stats

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError, CheckError
from anyshape.scipy import stats

pytestmark = pytest.mark.filterwarnings("ignore")

# functions of the module, of two arrays of samples and of options
OPTIONS = {
    "moment": lambda s, x, y, **o: s.moment(x, [1, 3], **o),
    "skew": lambda s, x, y, **o: s.skew(x, bias=False, **o),
    "weighted gmean": lambda s, x, y, **o: s.gmean(x, weights=y, **o),
    "iqr": lambda s, x, y, **o: s.iqr(x, **o),
    "entropy": lambda s, x, y, **o: s.entropy(x, y, **o),
    "tsem": lambda s, x, y, **o: s.tsem(x, (0.2, 1.8), **o),
    "trim_mean": lambda s, x, y, **o: s.trim_mean(x, 0.2, **o),
    "lmoment": lambda s, x, y, **o: s.lmoment(x, **o),
    "circmean": lambda s, x, y, **o: s.circmean(x, **o),
    "boxcox_llf": lambda s, x, y, **o: s.boxcox_llf(0.3, x, **o),
    "ttest_1samp": lambda s, x, y, **o: list(s.ttest_1samp(x, 0.8, **o)),
    "ttest_rel": lambda s, x, y, **o: list(s.ttest_rel(x, y, **o)),
    "ttest_ind": lambda s, x, y, **o: list(s.ttest_ind(x, y, **o)),
    "f_oneway": lambda s, x, y, **o: list(s.f_oneway(x, y, x + y, **o)),
    "bartlett": lambda s, x, y, **o: list(s.bartlett(x, y, **o)),
    "levene": lambda s, x, y, **o: list(s.levene(x, y, **o)),
    "normaltest": lambda s, x, y, **o: list(s.normaltest(x, **o)),
    "jarque_bera": lambda s, x, y, **o: list(s.jarque_bera(x, **o)),
    "chisquare": lambda s, x, y, **o: list(s.chisquare(x, **o)),
    "power_divergence": lambda s, x, y, **o: list(s.power_divergence(x, lambda_=-1, **o)),
    "pointbiserialr": lambda s, x, y, **o: list(s.pointbiserialr(x, y, **o)),
    "combine_pvalues": lambda s, x, y, **o: list(s.combine_pvalues(x / 3, "stouffer", y, **o)),
    "theilslopes": lambda s, x, y, **o: list(s.theilslopes(y, x, **o)),
    "siegelslopes": lambda s, x, y, **o: list(s.siegelslopes(y, x, **o)),
    "linregress": lambda s, x, y, **o: list(s.linregress(x, y, **o)),
    "mode": lambda s, x, y, **o: list(s.mode(np.round(x, 1), **o)),
    "kruskal": lambda s, x, y, **o: list(s.kruskal(x, y, **o)),
}
SCORES = {
    "zscore": lambda s, x, **o: s.zscore(x, ddof=1, **o),
    "zmap": lambda s, x, **o: s.zmap(x[:2], x, **o),
    "rankdata": lambda s, x, **o: s.rankdata(np.round(x, 1), axis=0, **o),
    "percentileofscore": lambda s, x, **o: s.percentileofscore(np.ravel(x), [0.5, 1.1], **o),
}
ASKED = [
    {"nan_policy": "omit", "axis": 0},
    {"nan_policy": "omit", "axis": -1, "keepdims": True},
    {"axis": (0, 2), "keepdims": True},
    {"nan_policy": "omit", "axis": (1, 0)},
    {"axis": None, "keepdims": True, "nan_policy": "raise"},
]
SMOOTH = ("skew", "weighted gmean", "tsem", "lmoment", "ttest_ind", "chisquare", "linregress")


def samples(shape, seed, is_whole=False):
    """Return positive numbers with a fifth of NaN."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 2.0, shape)
    return x if is_whole else np.where(rng.random(shape) < 0.2, np.nan, x)


def same(actual, expected):
    for one, other in zip(np.asarray(actual), np.asarray(expected), strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-9, 1e-12)


@pytest.mark.parametrize("name", OPTIONS)
def test_axes_and_policies_are_those_of_scipy(name):
    """Each function meets two of the options in the gate, at two shapes from one trace."""
    k = list(OPTIONS).index(name)
    for options in (ASKED[k % 2], ASKED[2 + k % 3]):
        traced = jit(lambda x, y, o=options: OPTIONS[name](stats, x, y, **o))
        for shape in [(9, 3, 10), (10, 2, 9)]:
            is_whole = "nan_policy" in options and options["nan_policy"] == "raise"
            x, y = samples(shape, 1, is_whole), samples(shape, 2, is_whole)
            same(traced(x, y), OPTIONS[name](scipy.stats, x, y, **options))
        assert traced.cache_info().traces == 1


@pytest.mark.parametrize("name", ["weighted gmean", "entropy", "mode", "levene", "linregress", "power_divergence"])
def test_no_samples_without_nan_give_what_scipy_gives(name):
    traced = jit(lambda x, y: OPTIONS[name](stats, x, y, nan_policy="omit", axis=0))
    for x in (np.zeros(0), np.full(3, np.nan), np.array([np.nan, 1.0]), np.array([2.0, np.nan, 1.0])):
        expected = OPTIONS[name](scipy.stats, x, 2 * x, nan_policy="omit", axis=0)
        np.testing.assert_allclose(traced(x, 2 * x), expected, 1e-9)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_and_batches_without_nan(name):
    def total(x, y):
        results = OPTIONS[name](stats, x, y, nan_policy="omit", axis=0)
        return sum(np.sum(part) for part in (results if isinstance(results, list) else [results]))

    x, y = samples((9,), 3), samples((9,), 4)
    numbers = ~np.isnan(x)

    def of_numbers(part):
        return total(np.where(numbers, np.zeros(9), np.nan) + part, y)

    check_grads(of_numbers, (np.where(numbers, x, 0.0),), order=2 if name == "skew" else 1, rtol=1e-4)
    assert (grad(total)(x, y)[~numbers] == 0).all()
    rows = np.stack([x, np.where(numbers, x**2, np.nan)])
    np.testing.assert_allclose(vmap(lambda x: total(x, y))(rows), [total(row, y) for row in rows])


@pytest.mark.parametrize("name", SCORES)
def test_scores_leave_out_nan(name):
    x = samples((8, 3), 5)
    actual = jit(lambda x: SCORES[name](stats, x, nan_policy="omit"))(x)
    np.testing.assert_allclose(actual, SCORES[name](scipy.stats, x, nan_policy="omit"), 1e-12)
    with pytest.raises(CheckError, match="samples must not be NaN"):
        jit(lambda x: SCORES[name](stats, x, nan_policy="raise"))(x)


def test_nan_that_a_call_refuses_and_policies_that_are_not_known():
    refusing = jit(lambda x: stats.skew(x, nan_policy="raise"))
    assert refusing(np.array([1.0, 2.0, 4.0])) == pytest.approx(scipy.stats.skew([1.0, 2.0, 4.0]))
    with pytest.raises(ValueError, match="skew: samples must not be NaN"):
        refusing(np.array([1.0, np.nan, 4.0]))
    for function in (stats.skew, stats.ttest_1samp, stats.zscore):
        with pytest.raises(ArgumentError, match="nan_policy"):
            jit(lambda x, f=function: f(x, *([0.0] if f is stats.ttest_1samp else []), nan_policy="drop"))(np.ones(3))


def test_weights_and_means_broadcast():
    x, w = samples((3, 4), 6, is_whole=True), samples((4,), 7, is_whole=True)
    for function in (
        lambda s, x, w: s.gmean(x, 1, weights=w),
        lambda s, x, w: s.ttest_1samp(x, w[:3, None], axis=1, nan_policy="omit").statistic,
        lambda s, x, w: s.ttest_rel(x, w, axis=1).pvalue,
    ):
        np.testing.assert_allclose(jit(lambda x, w, f=function: f(stats, x, w))(x, w), function(scipy.stats, x, w))

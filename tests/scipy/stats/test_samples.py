"""Compare tests, trimmed means, directions and ranks of anyshape.scipy.stats with SciPy's on many arrays."""

import warnings

import numpy as np
import pytest
import scipy.stats

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.scipy import stats
from tests.scipy.stats.test_families import in_part

pytestmark = pytest.mark.filterwarnings("ignore")

# functions of the module, of positive samples and of an axis
ONE = {
    "tmean": lambda s, x, axis: s.tmean(x, (0.4, 1.7), axis=axis),
    "tvar": lambda s, x, axis: s.tvar(x, (0.3, None), (False, True), axis=axis),
    "tstd": lambda s, x, axis: s.tstd(x, (None, 1.8), axis=axis, ddof=0),
    "tsem": lambda s, x, axis: s.tsem(x, (0.4, 1.8), axis=axis),
    "tmin": lambda s, x, axis: s.tmin(x, 0.5, axis, inclusive=False),
    "tmax": lambda s, x, axis: s.tmax(x, 1.5, axis),
    "trim_mean": lambda s, x, axis: s.trim_mean(x, 0.25, axis),
    "kstat": lambda s, x, axis: [s.kstat(x, k, axis=axis) for k in (1, 2, 3, 4)],
    "kstatvar": lambda s, x, axis: [s.kstatvar(x, k, axis=axis) for k in (1, 2)],
    "circmean": lambda s, x, axis: s.circmean(x * 3, axis=axis),
    "circvar": lambda s, x, axis: s.circvar(x, 3.0, -1.0, axis=axis),
    "circstd": lambda s, x, axis: s.circstd(x, axis=axis) + s.circstd(x, 3, axis=axis, normalize=True),
    "boxcox_llf": lambda s, x, axis: s.boxcox_llf(0.3, x, axis=axis) + s.boxcox_llf(1.5, x, axis=axis),
    "yeojohnson_llf": lambda s, x, axis: s.yeojohnson_llf(0.3, x - 1, axis=axis),
    "false_discovery_control": lambda s, x, axis: s.false_discovery_control(x / 9, axis=axis, method="by"),
    "combine_pvalues": lambda s, x, axis: [s.combine_pvalues(x / 3, m, axis=axis).pvalue for m in COMBINED],
    "combined statistics": lambda s, x, axis: [s.combine_pvalues(x / 3, m, axis=axis).statistic for m in COMBINED],
    "ttest_1samp": lambda s, x, axis: list(s.ttest_1samp(x, 0.8, axis)),
    "ttest_rel": lambda s, x, axis: list(s.ttest_rel(x, x**2, axis, alternative="less")),
    "ttest_ind": lambda s, x, axis: list(s.ttest_ind(x, x**2 + 0.1, axis=axis)),
    "welch": lambda s, x, axis: list(s.ttest_ind(x, x**2, axis=axis, equal_var=False, alternative="greater")),
    "f_oneway": lambda s, x, axis: list(s.f_oneway(x, x**2, 2 * x, axis=axis)),
    "bartlett": lambda s, x, axis: list(s.bartlett(x, x**2, axis=axis)),
    "levene": lambda s, x, axis: list(s.levene(x, x**2, axis=axis)),
    "levene of means": lambda s, x, axis: list(s.levene(x, x**2, center="mean", axis=axis)),
    "levene, trimmed": lambda s, x, axis: list(s.levene(x, x**2, center="trimmed", proportiontocut=0.2, axis=axis)),
    "skewtest": lambda s, x, axis: list(s.skewtest(x, axis)),
    "kurtosistest": lambda s, x, axis: list(s.kurtosistest(x, axis, alternative="greater")),
    "normaltest": lambda s, x, axis: list(s.normaltest(x, axis)),
    "jarque_bera": lambda s, x, axis: list(s.jarque_bera(x, axis=axis)),
    "chisquare": lambda s, x, axis: list(s.chisquare(x, axis=axis)),
    "power_divergence": lambda s, x, axis: [s.power_divergence(x, axis=axis, lambda_=p).statistic for p in POWERS],
    "lmoment": lambda s, x, axis: s.lmoment(x, axis=0 if axis is None else axis),
    "differential_entropy": lambda s, x, axis: s.differential_entropy(x, axis=axis or 0),
    "vasicek": lambda s, x, axis: s.differential_entropy(x, axis=axis or 0, method="vasicek", window_length=2, base=2),
    "ebrahimi": lambda s, x, axis: s.differential_entropy(x, axis=axis or 0, method="ebrahimi"),
}

COMBINED = ("fisher", "pearson", "mudholkar_george", "tippett", "stouffer")
POWERS = (None, "log-likelihood", "neyman", -1, 2 / 3)
STEPS = ("tmin", "tmax", "false_discovery_control", "trim_mean", "levene", "levene, trimmed")  # with kinks near ties
VECTORS = {
    "boxcox": lambda s, x, y: s.boxcox(x, 0.4),
    "yeojohnson": lambda s, x, y: s.yeojohnson(x - 1, 0.4),
    "theilslopes": lambda s, x, y: list(s.theilslopes(y, x)),
    "theilslopes joint": lambda s, x, y: list(s.theilslopes(y, x, 0.8, method="joint")),
    "siegelslopes": lambda s, x, y: list(s.siegelslopes(y, x)),
    "siegelslopes separate": lambda s, x, y: list(s.siegelslopes(y, x, "separate")),
    "wasserstein_distance": lambda s, x, y: s.wasserstein_distance(x, y[:-1]),
    "weighted distance": lambda s, x, y: s.wasserstein_distance(x, y, x, y),
    "energy_distance": lambda s, x, y: s.energy_distance(x, y, None, y),
    "scoreatpercentile": lambda s, x, y: s.scoreatpercentile(x, 30, limit=(0.3, 3.0)),
    "percentileofscore": lambda s, x, y: np.stack([s.percentileofscore(x, y[:2], k) for k in ("rank", "mean", "weak")]),
    "sigmaclip": lambda s, x, y: list(s.sigmaclip(x, 1.5, 1.2)),
    "pointbiserialr": lambda s, x, y: list(s.pointbiserialr(x > 1, y)),
    "pearsonr less": lambda s, x, y: list(s.pearsonr(x, y, alternative="less")),
    "tiecorrect": lambda s, x, y: s.tiecorrect(np.round(x)),
    "chisquare of frequencies": lambda s, x, y: list(s.chisquare(x, y * (np.sum(x) / np.sum(y)))),
    "ttest_ind_from_stats": lambda s, x, y: list(s.ttest_ind_from_stats(x, y, 7, y, x, 9, equal_var=False)),
}


def samples(shape, seed=7):
    return np.random.default_rng(seed).uniform(0.1, 2.0, shape)


def same(actual, expected, tolerance=1e-9):
    if isinstance(expected, tuple | list):
        for one, other in zip(actual, expected, strict=True):
            same(one, other, tolerance)
        return
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, tolerance, tolerance)


AXES = (0, -1, None)


@pytest.mark.parametrize("name", ONE)
def test_values_along_each_axis_at_many_sizes_from_one_trace(name):
    for axis in AXES[len(name) % 3 :][:1]:  # each axis for a third of the functions
        traced = jit(lambda x, axis=axis: ONE[name](stats, x, axis))
        for shape in [(9, 8), (13, 11)]:
            x = samples(shape)
            same(traced(x), ONE[name](scipy.stats, x, axis))
        assert traced.cache_info().traces == 1


@pytest.mark.parametrize("name", in_part(ONE, 4))
def test_nan_and_few_samples_give_what_scipy_gives(name):
    few = () if name in ("kstat", "kstatvar") else (samples(1), samples(2))  # whose rounding is divided by 0
    for x in (np.where(np.arange(9) == 3, np.nan, samples(9)), *few):
        try:
            expected = ONE[name](scipy.stats, x, 0)
        except ValueError:
            with pytest.raises((AnyshapeError, ValueError)):
                jit(lambda x: ONE[name](stats, x, 0))(x)
            continue
        same(jit(lambda x: ONE[name](stats, x, 0))(x), expected, 1e-7 if name == "circstd" else 1e-9)


@pytest.mark.parametrize("name", in_part(reversed(ONE), 4))
def test_derivatives_and_batches(name):
    x = samples((9, 2), 5)
    total = lambda x: np.sum(flat(ONE[name](stats, x, 0)))
    check_grads(total, (x,), order=1 if name in STEPS else 2, rtol=1e-4, atol=1e-4)
    rows = np.stack([x, x**2 + 0.01])
    batch = vmap(lambda x: flat(ONE[name](stats, x, 0)))(rows)
    np.testing.assert_allclose(batch[1], flat(ONE[name](scipy.stats, rows[1], 0)), 1e-9, 1e-9)


def flat(results):
    """Return all numbers of results one after the other."""
    parts = results if isinstance(results, tuple | list) else [results]
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("name", VECTORS)
def test_functions_of_two_vectors(name):
    traced = jit(lambda x, y: VECTORS[name](stats, x, y))
    for n in (5, 9, 12):
        x, y = samples(n), samples(n, 3)
        same(traced(x, y), VECTORS[name](scipy.stats, x, y))
    assert traced.cache_info().traces == 1
    if name not in ("percentileofscore", "tiecorrect"):
        check_grads(lambda x, y: np.sum(flat(VECTORS[name](stats, x, y))), (x, y), order=1, rtol=1e-4, atol=1e-5)


# tests of ranks by how many samples they get
RANKED = {
    "ansari": 2, "brunnermunzel": 2, "chatterjeexi": 2, "cramervonmises_2samp": 2, "fligner": 3, "friedmanchisquare": 3,
    "kendalltau": 2, "kruskal": 3, "ks_2samp": 2, "mannwhitneyu": 2, "mood": 2, "ranksums": 2, "weightedtau": 2,
    "wilcoxon": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", in_part(RANKED, 3))
def test_tests_of_ranks(name):
    count = RANKED[name]
    function = jit(lambda *xs: getattr(stats, name)(*xs))
    for n in (6, 9):
        xs = [samples(n, seed).round(1) for seed in range(count)]
        expected = getattr(scipy.stats, name)(*xs)
        actual = function(*xs)
        same([actual.statistic, actual.pvalue], [expected.statistic, expected.pvalue])
    assert function.cache_info().traces == 1
    np.testing.assert_array_equal(grad(lambda x: getattr(stats, name)(x, *xs[1:]).statistic)(xs[0]), np.zeros(9))
    batch = vmap(lambda x: getattr(stats, name)(x, *xs[1:]).statistic)(np.stack([xs[0], xs[0] ** 2]))
    np.testing.assert_allclose(batch[0], expected.statistic)
    single = [x.astype(np.float32) for x in xs]
    expected = getattr(scipy.stats, name)(*single)
    actual = function(*single)
    same([actual.statistic, actual.pvalue], [expected.statistic, expected.pvalue], 1e-5)


def test_tests_of_ranks_along_an_axis():
    x, y = samples((6, 3)), samples((7, 3), 2)
    for name in ("mannwhitneyu", "kruskal", "ks_2samp"):
        expected = getattr(scipy.stats, name)(x.T, y.T, axis=1)
        same(jit(lambda x, y, f=name: getattr(stats, f)(x, y, axis=1).pvalue)(x.T, y.T), expected.pvalue)


NO_SAMPLES = {
    "iqr": lambda s, x: s.iqr(x, keepdims=True),
    "mode": lambda s, x: s.mode(x).mode,
    "linregress": lambda s, x: list(s.linregress(x, x**2)),
    "pointbiserialr": lambda s, x: list(s.pointbiserialr(x > 1, x)),
    "theilslopes": lambda s, x: list(s.theilslopes(x))[:2],
    "siegelslopes": lambda s, x: list(s.siegelslopes(x)),
    "combine_pvalues": lambda s, x: list(s.combine_pvalues(x / 3)),
    "scoreatpercentile": lambda s, x: s.scoreatpercentile(x, 20),
}


@pytest.mark.parametrize("name", NO_SAMPLES)
def test_no_samples_and_one_give_what_scipy_gives(name):
    traced = jit(lambda x: NO_SAMPLES[name](stats, x))
    for n in (0, 1, 4):
        x = samples(n)
        for one, other in zip(flat(traced(x)), flat(NO_SAMPLES[name](scipy.stats, x)), strict=True):
            np.testing.assert_allclose(one, other, 1e-9)
    assert traced.cache_info().traces == 1


def test_distributions_of_no_samples_are_refused():
    for function in (
        lambda x: stats.wasserstein_distance(x, x),
        lambda x: stats.energy_distance(x, x),
        lambda x: stats.gaussian_kde(x)(x),
    ):
        with pytest.raises(AnyshapeError, match="must be at least"):
            jit(function)(np.zeros(0))


def test_equal_samples_and_wrong_arguments():
    x = samples(6)
    assert grad(lambda x: stats.energy_distance(x, x))(x).tolist() == [0.0] * 6
    assert np.isnan(jit(lambda x: stats.f_oneway(x, x).statistic)(np.ones(3)))
    for function, match in [
        (lambda x: stats.boxcox(x), "lmbda is None"),
        (lambda x: stats.ttest_ind(x, x, trim=0.1).statistic, "trim or method"),
        (lambda x: stats.kstat(x, 5), "1<=n<=4"),
        (lambda x: stats.f_oneway(x).statistic, "has 1 samples"),
        (lambda x: stats.power_divergence(x, lambda_="best").statistic, "lambda_='best'"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            jit(function)(x)
    with pytest.raises(AnyshapeError, match="sum of the observed frequencies must agree"):
        jit(lambda x: stats.chisquare(x, 2 * x).statistic)(x)
    with warnings.catch_warnings():
        assert stats.ttest_ind(x, x).confidence_interval() is not None  # concrete samples go to SciPy


def test_results_have_the_attributes_of_scipys():
    x, y = np.sin(np.arange(9.0)), np.cos(np.arange(9.0))
    line = jit(lambda x, y: stats.linregress(x, y))(x, y)
    expected = scipy.stats.linregress(x, y)
    np.testing.assert_allclose([*line, line.intercept_stderr], [*expected, expected.intercept_stderr], 1e-12)
    result = jit(lambda x, y: stats.cramervonmises_2samp(x, y))(x, y)
    assert type(result).__name__ == "CramerVonMisesResult" and not isinstance(result, tuple)
    np.testing.assert_allclose(result.statistic, scipy.stats.cramervonmises_2samp(x, y).statistic, 1e-12)
    assert tuple(jit(lambda x, y: stats.spearmanr(x, y))(x[:3], x[:3])) == (1, 0)

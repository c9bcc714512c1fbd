"""Compare the families of anyshape.scipy.stats with SciPy's, and their derivatives with one another."""

import contextlib
import itertools

import numpy as np
import pytest
import scipy.stats

from anyshape import grad, jacfwd, jit, vmap
from anyshape.errors import UnsupportedFunctionError
from anyshape.scipy import stats
from tests.survey.distributions import FORMS, SHAPES

POINTS = ("cdf", "sf", "logcdf", "logsf")
PROBABILITIES = ("ppf", "isf")
MOMENTS = ("mean", "var", "std", "entropy", "median")
# where SciPy loses digits, by 1 - q or by tangents, or underflows, as the inverse functions show
LESS_EXACT = {
    ("pareto", "logcdf"): 2e-3,
    ("f", "isf"): 1e-6,
    ("halfnorm", "logsf"): None,
    ("skewnorm", "logcdf"): None,
    ("dweibull", "logcdf"): None,
    ("exponnorm", "logcdf"): None,
    ("exponpow", "logsf"): None,
    ("gompertz", "logsf"): None,
    ("betaprime", "isf"): 1e-7,
    ("foldcauchy", "isf"): 1e-5,
    ("genlogistic", "isf"): 1e-8,
    ("jf_skew_t", "isf"): 1e-7,
    ("levy_l", "ppf"): 1e-6,
    ("mielke", "isf"): 1e-7,
    ("moyal", "logpdf"): None,
    ("moyal", "isf"): 1e-8,
    ("recipinvgauss", "var"): 1e-10,
    ("rice", "logsf"): None,
    ("skewcauchy", "ppf"): 1e-7,
    ("skewcauchy", "isf"): 1e-5,
    ("truncpareto", "logcdf"): 1e-2,
}
QUANTILES = np.array([0.0, 1e-10, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0, -0.1, 1.1, np.nan])
FAMILIES = sorted(FORMS)
WITHOUT_SHARES = (
    "vonmises",
    "wrapcauchy",
    "norminvgauss",
)  # circular ones, and one that SciPy integrates by quadrature
CONTINUOUS = [name for name in FAMILIES if not FORMS[name].discrete]


def in_part(names, one_in):
    """Return one in so many names as parameters of the gate; the rest is slow."""
    marks = {True: (), False: pytest.mark.slow}
    return [pytest.param(name, marks=marks[k % one_in == 0]) for k, name in enumerate(names)]


def parameters(name):
    """Return the arguments of a family: its shape parameters, a location, and a scale if it has one."""
    return (*SHAPES.get(name, ()), *((2.0,) if FORMS[name].discrete else (0.5, 1.7)))


def inner_points(name):
    """Return points inside of the support."""
    if name in ("vonmises", "wrapcauchy"):
        return np.linspace(0.7, 3.0, 6)
    return getattr(scipy.stats, name).ppf(np.linspace(0.05, 0.95, 6), *parameters(name))


def points(name):
    """Return points in the support, at its ends, outside of it, and NaN."""
    inside = inner_points(name)
    return np.concatenate([inside, inside + 0.25, [np.nan, -100.0, 0.5, 2.0, 2.2, 30.0]])


def results(name):
    """Return each method of a family that exists for traced arrays, with its arguments and what it gives: one trace."""
    densities = ("pmf", "logpmf") if FORMS[name].discrete else ("pdf", "logpdf")
    table = {
        **{method: (points(name), *parameters(name)) for method in (*densities, *POINTS)},
        **{method: (QUANTILES, *parameters(name)) for method in PROBABILITIES},
        **dict.fromkeys(MOMENTS, parameters(name)),
    }

    def existing(arguments):
        values = {}
        for method, args in arguments.items():
            with contextlib.suppress(UnsupportedFunctionError):
                values[method] = getattr(getattr(stats, name), method)(*args)
        return values

    return [(method, table[method], y) for method, y in jit(existing, optimize="off")(table).items()]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FAMILIES)
def test_values_are_scipys_inside_and_outside_of_the_support(name):
    compared = set()
    for method, args, actual in results(name):
        compared.add(method)
        assert np.asarray(actual).dtype == np.float64
        expected = getattr(getattr(scipy.stats, name), method)(*args)
        tolerance = LESS_EXACT.get((name, method), 1e-11)
        if tolerance is None:  # SciPy's survival function underflows, and its logarithm is -inf
            actual, expected = (np.where(np.isinf(expected), 0, x) for x in (actual, expected))
        np.testing.assert_allclose(actual, expected, tolerance or 1e-11, 1e-13, err_msg=f"{name}.{method}")
    assert {"pmf", "logpmf"} <= compared or {"pdf", "logpdf"} <= compared


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FAMILIES)
def test_invalid_parameters_give_nan(name):
    family, density = getattr(stats, name), "pmf" if FORMS[name].discrete else "pdf"
    x, shapes = inner_points(name), SHAPES.get(name, ())
    bad = [(*shapes, 0.0, -1.0)] if density == "pdf" else []
    bad += [(*shapes[:i], np.nan, *shapes[i + 1 :]) for i in range(len(shapes))]
    for arguments in bad:
        assert np.isnan(jit(lambda *xs: getattr(family, density)(*xs))(x, *arguments)).all(), arguments


@pytest.mark.parametrize("name", in_part(CONTINUOUS, 2))
def test_derivatives_of_the_density_agree_with_differences(name):
    x, arguments = inner_points(name), parameters(name)
    logpdf = getattr(scipy.stats, name).logpdf
    traced = grad(lambda *xs: getattr(stats, name).logpdf(*xs).sum(), argnums=tuple(range(1 + len(arguments))))
    for i, derivative in enumerate(traced(x, *arguments)):
        step = [1e-6 if j == i else 0.0 for j in range(1 + len(arguments))]
        ahead, behind = ([a + s * sign for a, s in zip((x, *arguments), step, strict=True)] for sign in (1, -1))
        expected = (logpdf(*ahead).sum() - logpdf(*behind).sum()) / 2e-6
        np.testing.assert_allclose(np.sum(derivative), expected, 1e-5, 1e-6, err_msg=f"argument {i}")


@pytest.mark.parametrize("name", in_part([n for n in CONTINUOUS if n not in WITHOUT_SHARES], 2))
def test_the_density_is_the_derivative_of_the_distribution_function(name):
    family, x, arguments = getattr(stats, name), inner_points(name), parameters(name)
    density = jit(family.pdf)(x, *arguments)
    for method, sign in (("cdf", 1), ("sf", -1)):
        derivative = grad(lambda x, method=method: getattr(family, method)(x, *arguments).sum())(x)
        np.testing.assert_allclose(derivative, sign * density, 1e-8, err_msg=method)
    if FORMS[name].ppf:
        slope = grad(lambda q: family.ppf(q, *arguments).sum())(family.cdf(x, *arguments))
        np.testing.assert_allclose(slope, 1 / density, 1e-6)


def test_gradients_outside_of_the_support_are_finite():
    x = np.array([-1.0, 0.5, 3.0])
    for density in (stats.gamma(2.2).logpdf, stats.beta(1.5, 2.5).pdf, stats.lognorm(0.5).logpdf):
        derivative = grad(lambda x, density=density: density(x)[1])(x)
        assert derivative[0] == derivative[2] == 0 and np.isfinite(derivative[1])


def test_one_trace_serves_all_sizes():
    traced = jit(lambda x, loc, scale: stats.norm.logpdf(x, loc, scale=scale).sum())
    for n in (0, 1, 2, 5):
        x = np.linspace(-1, 2, n)
        np.testing.assert_allclose(traced(x, 0.3, 1.4), scipy.stats.norm.logpdf(x, 0.3, 1.4).sum(), 1e-12)
    assert traced.cache_info().traces == 1


def test_frozen_distributions_have_the_methods_of_the_family():
    x = np.linspace(0.1, 2, 4)
    traced = jit(lambda x, a: stats.gamma(a, scale=2.0).logpdf(x))
    np.testing.assert_allclose(traced(x, 1.5), scipy.stats.gamma(1.5, scale=2.0).logpdf(x), 1e-12)
    assert stats.norm(1.0, 2.0).interval(0.5) == scipy.stats.norm(1.0, 2.0).interval(0.5)


def test_vmap_of_parameters():
    x, scales = np.linspace(-1, 1, 4), np.array([0.5, 1.0, 2.0])
    actual = vmap(lambda s: stats.t.logpdf(x, 3.5, 0.0, s))(scales)
    np.testing.assert_allclose(actual, scipy.stats.t.logpdf(x, 3.5, 0, scales[:, None]), 1e-12)


def test_what_is_not_here_is_scipys_own():
    x = np.linspace(0.0, 1.0, 20)
    assert stats.norm.fit(x) == scipy.stats.norm.fit(x)
    assert stats.kstest(x, "uniform") == scipy.stats.kstest(x, "uniform")
    assert set(dir(scipy.stats)) >= set(dir(stats)) > {"norm", "gamma", "kstest"}


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: stats.kstest(x, "norm"), "stats.kstest"),
        (lambda x: stats.poisson.ppf(x, 2.0), "stats.poisson.ppf"),
        (lambda x: stats.norm.fit(x), "stats.norm.fit"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(call, name):
    with pytest.raises(UnsupportedFunctionError, match=name):
        jit(call)(np.ones(3))


def test_a_von_mises_distribution_has_derivatives_at_concentration_0():
    x = np.array([0.7, 2.5, -4.0])
    slopes = jacfwd(lambda kappa: stats.vonmises.logpdf(x, kappa))
    np.testing.assert_allclose(slopes(0.0), np.cos(x), 1e-12)
    np.testing.assert_allclose(jacfwd(slopes)(0.0), -0.5, 1e-12)
    entropy = grad(stats.vonmises.entropy)
    np.testing.assert_allclose([entropy(0.0), grad(entropy)(0.0)], [0.0, -0.5], 1e-12)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_infinite_points_have_derivatives_0_of_probabilities(method):
    assert grad(lambda x: stats.norm.pdf(x, 0.2, 1.4).sum())(np.array([-np.inf, np.inf])).tolist() == [0.0, 0.0]
    x = np.array([-np.inf, np.inf, 0.7])
    slopes = jacfwd(lambda loc, scale: getattr(stats.norm, method)(x, loc, scale), (0, 1))(0.2, 1.4)
    assert [np.flatnonzero(slope).tolist() for slope in slopes] == [[2], [2]]
    backward = grad(lambda scale: getattr(stats.norm, method)(x, 0.2, scale)[:2] @ np.ones(2))(1.4)
    assert backward == 0.0


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.closed_quantiles])
def test_quantiles_have_derivatives_at_0_and_1(name):
    family, q = getattr(stats, name), np.array([0.0, 0.4, 1.0])
    density = getattr(scipy.stats, name).pdf
    with np.errstate(divide="ignore"):
        for method, sign in (("ppf", 1), ("isf", -1)):
            x = jit(getattr(family, method))(q)
            np.testing.assert_allclose(x, getattr(getattr(scipy.stats, name), method)(q), 1e-12)
            slope = grad(lambda q, method=method: getattr(family, method)(q).sum())(q)
            np.testing.assert_allclose(slope, sign / density(x), 1e-12)


@pytest.mark.parametrize("name", ["gamma", "chi2", "beta", "expon", "weibull_min"])
def test_logarithms_of_probabilities_near_1_have_all_digits(name):
    family, theirs, shapes = getattr(stats, name), getattr(scipy.stats, name), SHAPES.get(name, ())
    tails = np.array([1e-13, 1e-9, 0.4])
    x, y = theirs.isf(tails, *shapes), theirs.ppf(tails, *shapes)
    np.testing.assert_allclose(jit(family.logcdf)(x, *shapes), np.log1p(-tails), 1e-9)
    np.testing.assert_allclose(jit(family.logsf)(y, *shapes), np.log1p(-tails), 1e-9)
    slope = grad(lambda x: family.logcdf(x, *shapes).sum())(x)
    np.testing.assert_allclose(slope, theirs.pdf(x, *shapes) / (1 - tails), 1e-9)


def test_a_cauchy_density_has_logarithms_far_out():
    x = np.array([1e99, 1e101, -1e200, 0.3])
    np.testing.assert_allclose(jit(stats.cauchy.logpdf)(x), scipy.stats.cauchy.logpdf(x), 1e-13)
    slope = grad(lambda x: stats.cauchy.logpdf(x).sum())(x)
    np.testing.assert_allclose(slope, -2 / (x + 1 / x), 1e-13)


ENDS = [name for name, form in FORMS.items() if form.ppf and not form.discrete and not form.closed_quantiles]


@pytest.mark.parametrize("turn", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 5))])
def test_quantiles_of_further_families_have_slopes_at_0_and_1(turn):
    """They are the limits of 1 / density: infinite at infinite ends, and where the density vanishes."""
    wrong = []
    for name in ENDS[turn::5]:
        shapes, q = SHAPES.get(name, ()), np.array([0.0, 1.0])
        theirs, ours = getattr(scipy.stats, name), getattr(stats, name)
        with np.errstate(all="ignore"):
            ends = theirs.ppf(q, *shapes)
            density = np.where(np.isinf(ends), 0.0, theirs.pdf(ends, *shapes))
            slopes = 1 / density
        mine = grad(lambda q, s=shapes, f=ours: f.ppf(q, *s).sum())(q)
        wrong += [] if np.allclose(mine, slopes, 1e-9) else [f"{name}: {mine}, not {slopes}"]
    assert not wrong, "\n".join(wrong)


def test_slopes_at_ends_by_shapes_and_of_isf():
    for q, expected in ((0.0, (1.0, 0.0)), (1.0, (0.0, 1.0))):
        assert grad(lambda a, b, q=q: stats.truncnorm.ppf(q, a, b), (0, 1))(-0.7, 1.9) == expected
    q = np.array([0.0, 0.3, 1.0])
    slopes = jacfwd(lambda q: stats.pareto.isf(q, 4.2))(q)
    np.testing.assert_allclose(np.diag(slopes), -1 / scipy.stats.pareto.pdf(scipy.stats.pareto.isf(q, 4.2), 4.2))


def test_probabilities_of_trials_have_slopes_where_p_is_0_or_1():
    k = np.arange(4.0)
    binom = jacfwd(lambda p: stats.binom.pmf(k, 3, p))
    np.testing.assert_allclose(binom(0.0), [-3, 3, 0, 0])
    np.testing.assert_allclose(binom(1.0), [0, 0, -3, 3])
    np.testing.assert_allclose(jacfwd(binom)(0.0), [6, -12, 6, 0])
    np.testing.assert_allclose(jacfwd(lambda p: stats.geom.pmf(k, p))(1.0), [0, 1, -1, 0])
    np.testing.assert_allclose(jacfwd(lambda p: stats.nbinom.pmf(k, 2, p))(1.0), [2, -2, 0, 0])


def test_far_points_of_gumbel_distributions_have_slopes_0():
    x = np.array([-1e200, -20.0, 0.3])
    for method in ("pdf", "cdf", "sf", "logsf"):
        slopes = grad(lambda x, m=method: getattr(stats.gumbel_r, m)(x).sum())(x)
        assert np.isfinite(slopes).all()
        assert slopes[0] == 0.0


@pytest.mark.parametrize("method", ["logpdf", "cdf", "sf", "ppf"])
def test_a_truncated_normal_that_is_open_on_one_side_has_derivatives(method):
    for a, b in ((-np.inf, 0.5), (-0.3, np.inf)):
        function = lambda a, b: getattr(stats.truncnorm, method)(0.2, a, b)
        known = getattr(scipy.stats.truncnorm, method)
        step = 1e-6
        expected = [
            0.0 if np.isinf(a) else (known(0.2, a + step, b) - known(0.2, a - step, b)) / (2 * step),
            0.0 if np.isinf(b) else (known(0.2, a, b + step) - known(0.2, a, b - step)) / (2 * step),
        ]
        np.testing.assert_allclose(grad(function, (0, 1))(a, b), expected, 1e-6, 1e-9)
    far = np.array([-1e200, -30.0])
    expected = scipy.stats.truncnorm.cdf(far, -np.inf, 0.5)
    np.testing.assert_allclose(jit(stats.truncnorm.cdf)(far, -np.inf, 0.5), expected)
    for moment in (stats.truncnorm.mean, stats.truncnorm.var, stats.truncnorm.entropy):
        assert np.isfinite(grad(moment, (0, 1))(-np.inf, 0.5)).all()


@pytest.mark.parametrize(("a", "b"), [(3.0, 5.0), (-5.0, -3.0), (-2.0, 1.0), (-np.inf, 1.0)])
def test_logarithms_near_0_of_a_truncated_normal_are_those_of_the_rest(a, b):
    """A difference of logarithms is rounding there, and so are its derivatives."""
    x = np.array([-4.999, -4.9, -1.99, 0.99, -3.01, 3.01, 4.99])
    x = x[(a < x) & (x < b)]
    for name in ("logcdf", "logsf"):
        log_of = jit(lambda x, a, b, name=name: getattr(stats.truncnorm, name)(x, a, b))
        np.testing.assert_allclose(log_of(x, a, b), getattr(scipy.stats.truncnorm, name)(x, a, b), rtol=1e-11)
        slopes = jit(vmap(grad(log_of), in_axes=(0, None, None)))(x, a, b)
        shares = np.exp(scipy.stats.truncnorm.logpdf(x, a, b) - getattr(scipy.stats.truncnorm, name)(x, a, b))
        np.testing.assert_allclose(slopes, shares if name == "logcdf" else -shares, rtol=1e-8)


@pytest.mark.parametrize("name", ["genextreme", "genpareto"])
def test_extremes_have_all_derivatives_at_shape_0(name):
    """Formulas with a shape c in a denominator have a limit for c = 0, and so have their derivatives."""
    family, z = getattr(stats, name), np.array([0.2, 0.9, 1.7])
    for method in ("logpdf", "cdf", "ppf"):
        points = z / 2 if method == "ppf" else z
        at = lambda c, m=method, points=points: getattr(family, m)(points, c)
        np.testing.assert_allclose(jit(at)(0.0), getattr(getattr(scipy.stats, name), method)(points, 0.0), 1e-13)
        slope, h = jacfwd(at), 1e-4
        np.testing.assert_allclose(slope(0.0), (at(h) - at(-h)) / (2 * h), 1e-5)
        np.testing.assert_allclose(jacfwd(slope)(0.0), (slope(h) - slope(-h)) / (2 * h), 1e-5)
    for moment in (family.mean, family.var):
        for c in (0.0, 0.02, -0.02):
            np.testing.assert_allclose(grad(moment)(c), (moment(c + 1e-3) - moment(c - 1e-3)) / 2e-3, 1e-4)


@pytest.mark.parametrize("name", ["genlogistic", "jf_skew_t", "norminvgauss", "exponnorm", "moyal", "crystalball"])
def test_densities_of_two_halves_are_smooth_where_these_meet(name):
    at = lambda z: getattr(stats, name).logpdf(z, *SHAPES.get(name, ()))
    slope, h = grad(at), 1e-4
    np.testing.assert_allclose(slope(0.0), (at(h) - at(-h)) / (2 * h), 1e-6, 1e-8)
    np.testing.assert_allclose(grad(slope)(0.0), (slope(h) - slope(-h)) / (2 * h), 1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["genlogistic", "norminvgauss", "skellam", "dlaplace", "skewcauchy", "crystalball"])
def test_infinite_points_lie_outside_of_all_values(name):
    family, shapes, x = getattr(stats, name), SHAPES[name], np.array([-np.inf, np.inf])
    logarithm = family.logpmf if FORMS[name].discrete else family.logpdf
    assert jit(lambda x: logarithm(x, *shapes))(x).tolist() == [-np.inf, -np.inf]
    if FORMS[name].cdf:
        assert jit(lambda x: family.cdf(x, *shapes))(x).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("genextreme", (0.3,)),
        ("genpareto", (-0.4,)),
        ("trapezoid", (0.0, 1.0)),
        ("trapezoid", (0.4, 0.4)),
        ("rice", (0.0,)),
        ("argus", (0.05,)),
        ("truncpareto", (-1.3, 3.0)),
        ("truncpareto", (1.0, 3.0)),
        ("truncweibull_min", (0.8, 0.0, 1.5)),
        ("genexpon", (1e-3, 2.0, 3.0)),
        ("crystalball", (0.3, 1.2)),
        ("laplace_asymmetric", (0.2,)),
        ("skewcauchy", (-0.9,)),
    ],
)
def test_further_shapes_of_extremes_and_bounded_families(name, shapes):
    ours, theirs = getattr(stats, name), getattr(scipy.stats, name)
    q = np.array([1e-4, 0.1, 0.37, 0.62, 0.9, 0.9999])
    x = theirs.ppf(q, *shapes)
    quantiles = [method for method in PROBABILITIES if getattr(FORMS[name], method)]
    for method, points in [*((m, x) for m in ("pdf", "logpdf", "cdf", "sf")), *((m, q) for m in quantiles)]:
        expected = getattr(theirs, method)(points, *shapes)
        actual = jit(getattr(ours, method))(points, *shapes)
        np.testing.assert_allclose(actual, expected, 1e-9, 1e-15, err_msg=method)


def test_a_von_mises_distribution_has_probabilities_and_exact_slopes():
    """SciPy takes an approximation from concentration 50 on; derivatives are the ones of the integral."""
    x = np.array([-4.0, -3.0, -0.1, 0.0, 1.5, np.pi, 20.0, np.inf, -np.inf])
    for kappa in (0.0, 1.2, 20.0, 49.0, 51.0, 1e4):
        np.testing.assert_allclose(jit(stats.vonmises.cdf)(x, kappa), scipy.stats.vonmises.cdf(x, kappa), 1e-12, 1e-12)
        slope = grad(lambda x, k=kappa: stats.vonmises.cdf(x, k).sum())(x[:-2])
        np.testing.assert_allclose(slope, scipy.stats.vonmises.pdf(x[:-2], kappa), 1e-11, 1e-14)
    step = 1e-5
    for kappa in (0.7, 20.0):
        ahead, behind = (scipy.stats.vonmises.cdf(1.5, kappa + sign * step) for sign in (1, -1))
        slope = grad(lambda k: stats.vonmises.cdf(1.5, k))(kappa)
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), 1e-7, 1e-7)
    mixed = grad(lambda k: grad(lambda x: stats.vonmises.cdf(x, k))(1.5))(3.0)
    np.testing.assert_allclose(mixed, grad(lambda k: stats.vonmises.pdf(1.5, k))(3.0), 1e-12)


def test_a_poisson_distribution_has_an_entropy():
    means = np.array([0.0, 1e-8, 0.3, 20.0, 49.9, 50.1, 1000.0])
    np.testing.assert_allclose(jit(stats.poisson.entropy)(means), scipy.stats.poisson.entropy(means), 1e-10, 1e-10)
    # of mpmath, by the sum with 40 digits
    exact = [0.92763746749579737, 2.9125264001823181]
    slopes = grad(lambda mu: stats.poisson.entropy(mu).sum())(np.array([0.0, 2.3, 50.0, 60.0]))
    assert slopes[0] == np.inf
    np.testing.assert_allclose(jit(stats.poisson.entropy)(np.array([0.5, 20.0])), exact, 1e-13)
    k = np.arange(200.0)
    for mu, slope in zip((2.3, 50.0, 60.0), slopes[1:], strict=True):
        probability = scipy.stats.poisson.pmf(k, mu)
        expected = np.sum(probability * np.log((k + 1) / mu))  # the difference of log(k!) over a step of the mean
        np.testing.assert_allclose(slope, expected, 1e-10)


def test_shape_parameters_are_valid_where_scipy_takes_them():
    """One value of each sign and size in each parameter: gengamma has negative exponents, foldcauchy the centre 0."""
    values, wrong = [-3.12, -1.0, -0.4, 0.0, 0.3, 1.0, 1.5, 2.0, 6.5], []
    for name in FAMILIES:
        form = FORMS[name]
        count = len(form.shapes.split())
        shapes = np.array(list(itertools.product(values, repeat=count))).T[:, :: max(1, 9 ** (count - 2))]
        expected = getattr(scipy.stats, name)._argcheck(*shapes)
        if count and (np.asarray(form.valid(*shapes), bool) != np.asarray(expected, bool)).any():
            wrong.append(name)
    assert not wrong


def test_densities_of_negative_exponents():
    x, args = np.array([0.0, 0.3, 0.69, 2.0]), (5.74, -3.12)
    for method in ("pdf", "logpdf", "cdf", "sf"):
        actual = jit(lambda x, m=method: getattr(stats.gengamma, m)(x, *args))(x)
        np.testing.assert_allclose(actual, getattr(scipy.stats.gengamma, method)(x, *args), 1e-12, err_msg=method)
    for method in ("ppf", "isf"):
        q = np.array([0.1, 0.6])
        actual = jit(lambda q, m=method: getattr(stats.gengamma, m)(q, *args))(q)
        np.testing.assert_allclose(actual, getattr(scipy.stats.gengamma, method)(q, *args), 1e-12, err_msg=method)
    assert grad(stats.gengamma.pdf)(0.0, *args) == 0
    np.testing.assert_allclose(grad(stats.gengamma.logpdf)(0.69, *args), -13.012880126461685, 1e-12)


def test_tails_of_differences_have_digits():
    """Slopes are densities over probabilities. Numbers of skewnorm are from mpmath, where SciPy has four digits."""
    for family, method, x, shape, expected in (
        ("skewnorm", "logcdf", -2.2, 10.0, -254.06546400267476),
        ("skewnorm", "logsf", 0.1, -100.0, -60.38918169761551),
        ("invgauss", "logsf", 3000.0, 0.8, scipy.stats.invgauss.logsf(3000.0, 0.8)),
    ):
        function, sign = getattr(getattr(stats, family), method), 1 if method == "logcdf" else -1
        np.testing.assert_allclose(jit(function)(x, shape), expected, 1e-11)
        slope = sign * np.exp(getattr(scipy.stats, family).logpdf(x, shape) - expected)
        np.testing.assert_allclose(grad(function)(x, shape), slope, 1e-8)
    assert jit(stats.skewnorm.cdf)(-2.2, 10.0) > 0


def test_forms_stay_where_the_formulas_of_scipy_lose_digits():
    """Moments of tiny and huge shape parameters, and slopes by one whose value SciPy treats apart."""
    near = lambda actual, expected: np.testing.assert_allclose(actual, expected, 1e-5)
    near(jit(stats.lognorm.var)(1e-6), 1e-12)
    near(jit(stats.boltzmann.var)(1e-6, 67.0), (67**2 - 1) / 12)
    near(jit(stats.truncpareto.entropy)(1e-9, 4.0), np.log(np.log(4.0)) + np.log(4.0) / 2)
    near(jit(stats.beta.entropy)(2e7, 2e4), 0.5 * np.log(2 * np.pi * np.e * 4e11 / 2.002e7**3))
    near(grad(stats.skewnorm.logpdf, argnums=1)(1.0, 0.0), np.sqrt(2 / np.pi))

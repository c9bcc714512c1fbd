"""Check densities and probabilities at ends of supports: limits from inside, and digits where differences cancel."""

from math import log, pi

import numpy as np
import pytest
import scipy.stats

from anyshape import grad, jacfwd, jit
from anyshape.scipy import stats

INF = np.inf
# family, shape parameters, end of the support, slope of the density there from inside, by the point
SLOPES = (
    ("gamma", (0.5,), 0.0, -INF),
    ("gamma", (1.0,), 0.0, -1.0),
    ("gamma", (1.5,), 0.0, INF),
    ("gamma", (2.0,), 0.0, 1.0),
    ("gamma", (3.0,), 0.0, 0.0),
    ("beta", (0.5, 0.5), 0.0, -INF),
    ("beta", (0.5, 0.5), 1.0, INF),
    ("beta", (1.5, 2.5), 0.0, INF),
    ("beta", (1.5, 2.5), 1.0, 0.0),
    ("beta", (2.0, 1.0), 0.0, 2.0),
    ("beta", (2.0, 2.0), 1.0, -6.0),
    ("chi2", (1.0,), 0.0, -INF),
    ("chi2", (3.0,), 0.0, INF),
    ("chi2", (4.0,), 0.0, 0.25),
    ("chi", (2.0,), 0.0, 1.0),
    ("weibull_min", (0.5,), 0.0, -INF),
    ("weibull_min", (1.5,), 0.0, INF),
    ("weibull_max", (1.5,), 0.0, -INF),
    ("nakagami", (1.0,), 0.0, 2.0),
    ("f", (4.0, 6.0), 0.0, 16 / 3),
    ("f", (1.0, 3.0), 0.0, -INF),
    ("betaprime", (1.5, 2.0), 0.0, INF),
    ("fisk", (2.0,), 0.0, 2.0),
    ("burr12", (0.5, 2.0), 0.0, -INF),
    ("exponpow", (0.5,), 0.0, -INF),
    ("gengamma", (2.0, 1.0), 0.0, 1.0),
    ("powerlaw", (2.0,), 0.0, 2.0),
    ("arcsine", (), 1.0, INF),
    ("triang", (0.4,), 0.0, 5.0),
    ("semicircular", (), -1.0, INF),
    ("anglit", (), -np.pi / 4, 2.0),
    ("dgamma", (3.0,), 0.0, 0.0),
    ("dweibull", (1.5,), 0.0, 0.0),
)


@pytest.mark.slow
def test_densities_have_slopes_at_ends():
    """The slope by the location is the opposite one, and slopes by the shape parameters and the scale are numbers."""
    wrong = []
    for name, shapes, end, expected in SLOPES:
        pdf = getattr(stats, name).pdf
        by_all = grad(pdf, argnums=tuple(range(3 + len(shapes))))(end, *shapes, 0.0, 1.0)
        forward = jacfwd(lambda x, f=pdf, s=shapes: f(x, *s))(end)
        if not np.allclose([by_all[0], forward, -by_all[-2]], expected) or np.isnan(by_all).any():
            wrong.append(f"{name}{shapes} at {end}: {by_all}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_second_derivatives_at_ends():
    for name, shapes, expected in (("gamma", (3.0,), 1.0), ("dgamma", (3.0,), 0.5), ("gamma", (2.0,), -2.0)):
        second = grad(grad(lambda x, n=name, s=shapes: getattr(stats, n).pdf(x, *s)))(0.0)
        np.testing.assert_allclose(second, expected, err_msg=name)
    mixed = grad(lambda s: grad(lambda x, s: stats.expon.pdf(x, 0.0, s))(0.0, s))(2.0)
    np.testing.assert_allclose(mixed, 2 / 2.0**3)  # of -exp(-x / s) / s**2


@pytest.mark.parametrize("name", ["gamma", "chi2", "t", "pareto", "lomax", "weibull_min", "dgamma", "gumbel_l"])
def test_densities_at_infinity_are_0_and_move_nowhere(name):
    from_shapes = {"gumbel_l": (), "weibull_min": (1.7,)}.get(name, (3.3,))
    family = getattr(stats, name)
    value = jit(family.pdf)(INF, *from_shapes)
    slopes = grad(family.pdf, argnums=tuple(range(3 + len(from_shapes))))(INF, *from_shapes, 0.3, 1.2)
    assert value == 0
    assert not np.any(slopes)


def test_logarithms_of_densities_have_slopes_by_the_scale_at_ends():
    for name, shapes, expected in (("gamma", (1.5,), -1.5), ("chi2", (1.0,), -0.5), ("weibull_max", (2.5,), -2.5)):
        slope = grad(lambda s, n=name, a=shapes: getattr(stats, n).logpdf(0.0, *a, 0.0, s))(2.0)
        np.testing.assert_allclose(slope, expected / 2.0, err_msg=name)  # log(scale**-shape)


def test_probabilities_near_ends_keep_their_digits():
    def exact(name, method, x, *shapes):
        return jit(lambda x: getattr(getattr(stats, name), method)(x, *shapes))(x)

    np.testing.assert_allclose(exact("cosine", "cdf", 1e-4 - np.pi), scipy.stats.cosine.cdf(1e-4 - np.pi), 1e-11)
    x = np.linspace(-3.1, 3.1, 41)
    np.testing.assert_allclose(exact("cosine", "sf", x), scipy.stats.cosine.sf(x), 1e-13)
    np.testing.assert_allclose(exact("powerlaw", "logcdf", 1e-200, 2.0), -400 * np.log(10), 1e-13)
    np.testing.assert_allclose(exact("halfnorm", "logsf", 1e-200), -np.sqrt(2 / np.pi) * 1e-200, 1e-13)
    np.testing.assert_allclose(exact("triang", "cdf", 1e-200, 0.0), 2e-200, 1e-13)
    np.testing.assert_allclose(exact("triang", "sf", 1 - 2.0**-40, 0.3), 2.0**-80 / 0.7, 1e-13)
    np.testing.assert_allclose(
        exact("truncexpon", "sf", 2.7 - 2.0**-40, 2.7), np.exp(-2.7) * 2.0**-40 / (1 - np.exp(-2.7)), 1e-3
    )
    for name, x in (("fisk", 1e200), ("betaprime", INF), ("fisk", INF)):
        shapes = (2.3,) if name == "fisk" else (2.5, 5.3)
        np.testing.assert_allclose(exact(name, "logpdf", x, *shapes), getattr(scipy.stats, name).logpdf(x, *shapes))


def test_a_folded_normal_may_be_folded_at_its_mean():
    x = np.array([-1.0, 0.0, 0.7])
    np.testing.assert_allclose(jit(lambda x: stats.foldnorm.pdf(x, 0.0))(x), scipy.stats.foldnorm.pdf(x, 0.0), 1e-13)


def test_a_poisson_distribution_has_slopes_at_mean_0():
    k = np.arange(4.0)
    slopes = jacfwd(lambda mu: stats.poisson.pmf(k, mu))
    np.testing.assert_allclose(slopes(0.0), [-1, 1, 0, 0])
    np.testing.assert_allclose(jacfwd(slopes)(0.0), [1, -2, 1, 0])
    assert grad(lambda mu: stats.poisson.pmf(1.0, mu))(0.0) == 1


def test_far_points_of_students_distribution():
    """The square of the point overflows."""
    x, freedom = 1e200, 1.0
    density = jit(stats.t.logpdf)(x, freedom)
    np.testing.assert_allclose(density, -400 * log(10) - log(pi), 1e-14)
    slopes = grad(stats.t.pdf, (0, 1))(x, 2.7)
    assert not np.any(slopes)
    np.testing.assert_allclose(grad(stats.t.logpdf)(x, freedom), -2 / x, 1e-14)


def test_far_points_of_families_of_double_exponentials_have_slopes_0():
    """The exponential overflows, and its own exponential is 0."""
    for name, x, shape, methods in (
        ("gompertz", 800.0, 0.9, ("pdf", "cdf", "sf", "logcdf")),
        ("exponpow", 97.0, 2.2, ("cdf", "sf", "logcdf")),
    ):
        for method in methods:
            slopes = grad(getattr(getattr(stats, name), method), (0, 1, 2, 3))(x, shape, 0.1, 1.2)
            assert not np.any(slopes), (name, method, slopes)


# shape parameters by which an exponent at an end of the support is 0, 1 or infinite
EDGES = {
    "genextreme": [(1.0,), (0.0,), (-1.0,), (2.0,)],
    "genpareto": [(-1.0,), (0.0,), (1.0,), (-0.5,)],
    "genhalflogistic": [(1.0,), (0.5,)],
    "exponweib": [(1.0, 1.0), (2.0, 1.0), (1.5, 2.0)],
    "gamma": [(1.0,), (0.5,)],
    "beta": [(1.0, 2.0), (1.0, 1.0)],
    "f": [(2.0, 3.0)],
    "powerlaw": [(1.0,), (2.0,)],
    "triang": [(0.0,), (1.0,)],
    "truncnorm": [(-INF, INF), (0.0, INF)],
    "rdist": [(2.0,)],
    "skewnorm": [(1.5,)],
    "weibull_max": [(1.0,), (0.5,)],
    "mielke": [(2.0, 1.0)],
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_at_ends_and_beyond_are_scipys():
    """SciPy's NaN and -inf are left out."""
    wrong = []
    for name, rows in EDGES.items():
        ours, scipys = getattr(stats, name), getattr(scipy.stats, name)
        functions = {method: jit(getattr(ours, method), optimize="off") for method in ("pdf", "logpdf", "cdf", "sf")}
        for shapes in rows:
            ends = [e for e in scipys.support(*shapes) if np.isfinite(e)]
            x = np.array([-INF, INF, -1e300, 1e300, 0.0, 0.5, *ends, *(e + d for e in ends for d in (-1.0, 1.0))])
            for method, function in functions.items():
                value, expected = function(x, *shapes), getattr(scipys, method)(x, *shapes)
                right = (
                    np.isclose(value, expected, 1e-10, 1e-300)
                    | (abs(value - expected) < 1e-15)
                    | np.isnan(expected)
                    | (expected == -INF)
                )
                wrong += [f"{name}{shapes}.{method}({x[k]}): {value[k]}" for k in np.flatnonzero(~right)]
    assert not wrong, "\n".join(wrong)


def test_quantiles_at_the_ends_of_probabilities():
    np.testing.assert_array_equal(jit(stats.randint.ppf)(1e-300, 2.0, 9.0), 2.0)
    np.testing.assert_allclose(jit(stats.truncnorm.ppf)(1 - 2.0**-53, 0.0, INF), 8.292361075813597, 1e-9)
    assert 0 <= jit(stats.argus.isf)(1 - 2.0**-53, 1.4) < 1e-7
    assert jit(stats.skewnorm.cdf)(-1e300, 1.5) == 0
    small = jit(stats.f.ppf)(4e-11, 0.1137, 7.156)  # where 1 less its share is 1
    np.testing.assert_allclose(small, scipy.stats.f.ppf(4e-11, 0.1137, 7.156), 1e-9)

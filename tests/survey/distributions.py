"""Expressions for the methods of SciPy's distributions."""

import scipy.stats

from anyshape.scipy import stats
from anyshape.scipy.stats.distribution import Family

FORMS = {name: family.form for name in stats.__all__ if isinstance(family := getattr(stats, name), Family)}

# shape parameters by family; families without any are not listed
SHAPES = {
    "t": (2.7,),
    "gennorm": (1.3,),
    "skewnorm": (1.5,),
    "johnsonsu": (0.7, 1.4),
    "beta": (1.7, 2.3),
    "powerlaw": (1.6,),
    "triang": (0.3,),
    "truncnorm": (-0.7, 1.9),
    "vonmises": (1.2,),
    "wrapcauchy": (0.4,),
    "gamma": (2.2,),
    "chi2": (3.3,),
    "chi": (2.4,),
    "invgamma": (4.4,),
    "lognorm": (0.7,),
    "invgauss": (0.8,),
    "weibull_min": (1.7,),
    "weibull_max": (1.7,),
    "pareto": (4.2,),
    "lomax": (4.2,),
    "fisk": (2.3,),
    "burr12": (2.0, 1.6),
    "gompertz": (0.9,),
    "nakagami": (1.4,),
    "f": (3.2, 6.7),
    "alpha": (2.5,),
    "betaprime": (2.5, 5.3),
    "bradford": (0.8,),
    "burr": (4.5, 0.7),
    "dgamma": (1.6,),
    "dweibull": (1.7,),
    "exponpow": (1.8,),
    "exponweib": (2.3, 1.4),
    "fatiguelife": (0.9,),
    "foldcauchy": (1.6,),
    "foldnorm": (1.3,),
    "gengamma": (2.4, 1.3),
    "halfgennorm": (0.8,),
    "invweibull": (4.6,),
    "loggamma": (1.4,),
    "loglaplace": (3.3,),
    "powernorm": (2.4,),
    "truncexpon": (2.7,),
    "argus": (1.4,),
    "crystalball": (1.2, 3.4),
    "erlang": (3.0,),
    "exponnorm": (1.5,),
    "genexpon": (1.3, 2.1, 0.7),
    "genextreme": (-0.2,),
    "genhalflogistic": (0.7,),
    "genlogistic": (0.6,),
    "genpareto": (0.15,),
    "jf_skew_t": (2.5, 1.7),
    "johnsonsb": (0.7, 1.4),
    "kappa3": (1.6,),
    "laplace_asymmetric": (1.8,),
    "loguniform": (0.4, 3.5),
    "mielke": (2.4, 3.6),
    "norminvgauss": (1.7, 0.6),
    "powerlognorm": (2.1, 0.6),
    "rdist": (3.2,),
    "recipinvgauss": (0.8,),
    "reciprocal": (0.4, 3.5),
    "rice": (0.9,),
    "skewcauchy": (0.4,),
    "trapezoid": (0.3, 0.7),
    "truncpareto": (1.7, 4.2),
    "truncweibull_min": (1.6, 0.3, 2.2),
    "bernoulli": (0.3,),
    "binom": (7.0, 0.4),
    "poisson": (2.3,),
    "geom": (0.3,),
    "nbinom": (3.5, 0.4),
    "betabinom": (7.0, 1.2, 2.3),
    "hypergeom": (20.0, 7.0, 12.0),
    "randint": (2.0, 9.0),
    "logser": (0.6,),
    "zipf": (2.5,),
    "dlaplace": (0.8,),
    "planck": (0.6,),
    "betanbinom": (5.0, 3.3, 1.4),
    "boltzmann": (0.4, 9.0),
    "nhypergeom": (20.0, 7.0, 5.0),
    "skellam": (2.3, 1.4),
}
INTEGERS = {
    "binom": 1,
    "betabinom": 1,
    "betanbinom": 1,
    "hypergeom": 3,
    "nhypergeom": 3,
    "randint": 2,
}  # leading shape parameters that count
MULTIVARIATE = {
    "multivariate_normal": ("X", "v, np.diag(w)", "pdf logpdf entropy"),
    "multivariate_t": ("X", "v, np.diag(w), 3.0", "pdf logpdf"),
    "dirichlet": ("v / np.sum(v)", "w + 1", "pdf logpdf mean var entropy"),
    "multinomial": ("np.array([1, 2, 3])", "6, w / np.sum(w)", "pmf logpmf mean"),
    "wishart": ("np.diag(v)", "4.0, np.diag(w)", "pdf logpdf mean"),
}
OF_POINTS = ("cdf", "sf", "logcdf", "logsf")
OF_PROBABILITIES = ("ppf", "isf")
MOMENTS = ("mean", "var", "std", "median", "entropy")


def names():
    """Return the names of SciPy's distributions, sorted."""
    kinds = (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    members = {name for name in dir(scipy.stats) if isinstance(getattr(scipy.stats, name), kinds)}
    return sorted(members | set(MULTIVARIATE))


def methods(name):
    """Yield the methods of a distribution, each with an expression; nothing without a counterpart."""
    if name in MULTIVARIATE:
        point, parameters, all_methods = MULTIVARIATE[name]
        for method in all_methods.split():
            without = method in ("mean", "var", "entropy")
            yield method, f"F.{method}({parameters})" if without else f"F.{method}({point}, {parameters})"
    elif name in FORMS:
        yield from _of_family(name)


def _of_family(name):
    is_discrete = FORMS[name].discrete
    values = SHAPES.get(name, ())
    counts = INTEGERS.get(name, 0)
    shapes = [str(v) if j < counts else f"{v} * u" for j, v in enumerate(values)]
    parameters = [*shapes, *(["2.0"] if is_discrete else ["0.5 * u", "1.7 * u"])]
    median = float(getattr(scipy.stats, name)(*values).median())
    if name in ("vonmises", "wrapcauchy"):
        median = 0.8
    point = f"{median} + i + 1.0" if is_discrete else f"0.5 + 1.7 * {median!r} + 0.2 * (x - 0.5)"
    densities = ("pmf", "logpmf") if is_discrete else ("pdf", "logpdf")
    for method in (*densities, *OF_POINTS):
        yield method, f"F.{method}({', '.join([point, *parameters])})"
    for method in OF_PROBABILITIES:
        yield method, f"F.{method}({', '.join(['x', *parameters])})"
    for method in MOMENTS:
        yield method, f"F.{method}({', '.join(parameters)})"

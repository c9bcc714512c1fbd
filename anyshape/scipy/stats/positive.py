"""Define continuous families on the positive reals by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi, sqrt
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import by_half
from anyshape.scipy.stats.distribution import complement, constant, exponential, log_complement, positive, scaled
from anyshape.scipy.stats.powers import (
    LOG_ROOT_2PI,
    beta_quantile,
    log1p_square,
    log_angle,
    log_gamma_share,
    normal_log_density,
    normal_score,
    of_powers,
    of_score,
    power_of_gamma_quantile,
)
from anyshape.scipy.stats.source import family

INF, NAN, EULER = np.inf, np.nan, np.euler_gamma


def _positive_reals(*shapes) -> tuple[Any, Any]:
    return 0.0, INF


def beyond(limit: float, shape: Any, value: Any, otherwise: float = INF) -> Any:
    """Return `value(shape)` where a shape parameter exceeds a limit: a moment that exists from there on."""
    exists = shape > limit
    return xp.where(exists, value(xp.where(exists, shape, limit + 1)), otherwise)


expon = family(
    "expon",
    closed_quantiles=True,
    support=_positive_reals,
    log_density=lambda z: -z,
    logsf=lambda z: -z,
    ppf=lambda q: -xp.log1p(-q),
    isf=lambda q: -xp.log(q),
    mean=constant(1.0),
    var=constant(1.0),
    entropy=constant(1.0),
)

gamma, erlang = (
    family(
        name,
        valid=positive,
        support=_positive_reals,
        **of_powers(lambda z, a: -z - sc.gammaln(a), lambda a: a - 1),
        cdf=lambda z, a: sc.gammainc(a, z),
        sf=lambda z, a: sc.gammaincc(a, z),
        logsf=lambda z, a: log_gamma_share(a, z),
        ppf=lambda q, a: power_of_gamma_quantile(q, a, 1.0),
        isf=lambda q, a: sc.gammainccinv(a, q),
        mean=lambda a: a,
        var=lambda a: a,
        entropy=lambda a: a + sc.gammaln(a) + (1 - a) * sc.digamma(a),
    )
    for name in ("gamma", "erlang")
)

chi2 = family(
    "chi2",
    support=_positive_reals,
    **of_powers(lambda z, df: -0.5 * z - sc.gammaln(0.5 * df) - 0.5 * log(2) * df, lambda df: 0.5 * df - 1),
    cdf=lambda z, df: sc.gammainc(0.5 * df, 0.5 * z),
    sf=lambda z, df: sc.gammaincc(0.5 * df, 0.5 * z),
    logsf=lambda z, df: log_gamma_share(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2 * power_of_gamma_quantile(q, 0.5 * df, 1.0),
    isf=lambda q, df: 2 * sc.gammainccinv(0.5 * df, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
    entropy=lambda df: 0.5 * df + log(2) + sc.gammaln(0.5 * df) + (1 - 0.5 * df) * sc.digamma(0.5 * df),
)


def _chi_mean(df):
    return sqrt(2) * xp.exp(sc.gammaln(0.5 * (df + 1)) - sc.gammaln(0.5 * df))


chi = family(
    "chi",
    support=_positive_reals,
    **of_powers(
        lambda z, df: log(2) - 0.5 * log(2) * df - sc.gammaln(0.5 * df) - 0.5 * xp.square(z), lambda df: df - 1
    ),
    cdf=lambda z, df: sc.gammainc(0.5 * df, 0.5 * xp.square(z)),
    sf=lambda z, df: sc.gammaincc(0.5 * df, 0.5 * xp.square(z)),
    ppf=lambda q, df: sqrt(2) * power_of_gamma_quantile(q, 0.5 * df, 0.5),
    isf=lambda q, df: xp.sqrt(2 * sc.gammainccinv(0.5 * df, q)),
    mean=_chi_mean,
    var=lambda df: df - xp.square(_chi_mean(df)),
    entropy=lambda df: sc.gammaln(0.5 * df) + 0.5 * (df - log(2) - (df - 1) * sc.digamma(0.5 * df)),
)

invgamma = family(
    "invgamma",
    support=_positive_reals,
    open_ends=True,
    log_density=lambda z, a: -(a + 1) * xp.log(z) - sc.gammaln(a) - 1 / z,
    cdf=lambda z, a: sc.gammaincc(a, 1 / z),
    sf=lambda z, a: sc.gammainc(a, 1 / z),
    ppf=lambda q, a: 1 / sc.gammainccinv(a, q),
    isf=lambda q, a: power_of_gamma_quantile(q, a, -1.0),
    mean=lambda a: beyond(1, a, lambda a: 1 / (a - 1)),
    var=lambda a: beyond(2, a, lambda a: 1 / (xp.square(a - 1) * (a - 2))),
    entropy=lambda a: a - (a + 1) * sc.digamma(a) + sc.gammaln(a),
)

rayleigh = family(
    "rayleigh",
    support=_positive_reals,
    open_ends=True,
    log_density=lambda z: xp.log(z) - 0.5 * xp.square(z),
    density=lambda z: z * exponential(-0.5 * xp.square(z)),
    logsf=lambda z: -0.5 * xp.square(z),
    logcdf=lambda z: weibull_logcdf(2 * xp.log(z) - log(2)),
    ppf=lambda q: xp.sqrt(-2 * xp.log1p(-q)),
    isf=lambda q: xp.sqrt(-2 * xp.log(q)),
    mean=constant(sqrt(pi / 2)),
    var=constant((4 - pi) / 2),
    entropy=constant(EULER / 2 + 1 - 0.5 * log(2)),
)

maxwell = family(
    "maxwell",
    support=_positive_reals,
    open_ends=True,
    log_density=lambda z: 0.5 * log(2 / pi) + 2 * xp.log(z) - 0.5 * xp.square(z),
    density=lambda z: sqrt(2 / pi) * xp.square(z) * exponential(-0.5 * xp.square(z)),
    cdf=lambda z: sc.gammainc(1.5, 0.5 * xp.square(z)),
    sf=lambda z: sc.gammaincc(1.5, 0.5 * xp.square(z)),
    ppf=lambda q: xp.sqrt(2 * sc.gammaincinv(1.5, q)),
    isf=lambda q: xp.sqrt(2 * sc.gammainccinv(1.5, q)),
    mean=constant(2 * sqrt(2 / pi)),
    var=constant(3 - 8 / pi),
    entropy=constant(EULER + 0.5 * log(2 * pi) - 0.5),
)

halfnorm = family(
    "halfnorm",
    closed_quantiles=True,
    support=_positive_reals,
    log_density=lambda z: 0.5 * log(2 / pi) - 0.5 * xp.square(z),
    cdf=lambda z: sc.erf(sqrt(0.5) * z),
    sf=lambda z: 2 * sc.ndtr(-z),
    logsf=lambda z: by_half(z, 0.5, lambda z: xp.log1p(-sc.erf(sqrt(0.5) * z)), lambda z: log(2) + sc.log_ndtr(-z)),
    ppf=lambda q: sc.ndtri(0.5 * (1 + q)),
    isf=lambda q: -sc.ndtri(0.5 * q),
    mean=constant(sqrt(2 / pi)),
    var=constant(1 - 2 / pi),
    entropy=constant(0.5 * log(pi / 2) + 0.5),
)

halfcauchy = family(
    "halfcauchy",
    support=_positive_reals,
    log_density=lambda z: log(2 / pi) - log1p_square(z),
    cdf=lambda z: 2 / pi * xp.arctan(z),
    sf=lambda z: 2 / pi * xp.arctan2(1.0, z),
    logcdf=lambda z: by_half(
        z, 1.0, lambda z: xp.log(2 / pi * xp.arctan(z)), lambda z: xp.log1p(-2 / pi * xp.arctan2(1.0, z))
    ),
    logsf=lambda z: by_half(z, 1.0, lambda z: xp.log1p(-2 / pi * xp.arctan(z)), lambda z: log_angle(z) + log(2 / pi)),
    ppf=lambda q: by_half(q, 0.5, lambda q: xp.tan(0.5 * pi * q), lambda q: 1 / xp.tan(0.5 * pi * (1 - q))),
    isf=lambda q: by_half(q, 0.5, lambda q: 1 / xp.tan(0.5 * pi * q), lambda q: xp.tan(0.5 * pi * (1 - q))),
    mean=constant(INF),
    var=constant(INF),
    entropy=constant(log(2 * pi)),
)

halflogistic = family(
    "halflogistic",
    closed_quantiles=True,
    support=_positive_reals,
    log_density=lambda z: log(2) - z - 2 * xp.log1p(xp.exp(-z)),
    cdf=lambda z: xp.tanh(0.5 * z),
    logsf=lambda z: log(2) + sc.log_expit(-z),
    ppf=lambda q: 2 * xp.arctanh(q),
    isf=lambda q: -sc.logit(0.5 * q),
    mean=constant(2 * log(2)),
    var=constant(pi**2 / 3 - 4 * log(2) ** 2),
    entropy=constant(2 - log(2)),
)

lognorm = family(
    "lognorm",
    support=_positive_reals,
    open_ends=True,
    **scaled(lambda s: 1 / s, lambda z, s: normal_log_density(xp.log(z) / s) - xp.log(z)),
    **of_score(lambda z, s: xp.log(z) / s),
    ppf=lambda q, s: xp.exp(s * normal_score(q)),
    isf=lambda q, s: xp.exp(-s * normal_score(q)),
    mean=lambda s: xp.exp(0.5 * xp.square(s)),
    var=lambda s: xp.expm1(xp.square(s)) * xp.exp(xp.square(s)),
    entropy=lambda s: 0.5 + LOG_ROOT_2PI + xp.log(s),
)


def _invgauss_terms(z, mu) -> tuple[Any, Any, Any]:
    """Return the logarithms of the two terms of the distribution function and of its complement."""
    root = xp.sqrt(z)
    first, second = (z / mu - 1) / root, 2 / mu + sc.log_ndtr(-(z / mu + 1) / root)
    return sc.log_ndtr(first), second, sc.log_ndtr(-first)


def invgauss_logcdf(z: Any, mu: Any) -> Any:
    """Return the logarithm of the probability up to a point."""
    return xp.logaddexp(*_invgauss_terms(z, mu)[:2])


def invgauss_logsf(z: Any, mu: Any) -> Any:
    """Return the logarithm of the probability above a point."""
    _, second, first = _invgauss_terms(z, mu)
    is_far = first < -1e4
    ratio = xp.where(is_far, _far_ratio(xp.where(is_far, mu / z, 0.0), mu), second - first)
    return first + xp.log(-xp.expm1(ratio))


def _far_ratio(u, mu):
    """Return the difference of the logarithms of both terms far out, by u = mu / z and the series of DLMF 7.12.1."""
    first, second = mu * u / xp.square(1 - u), mu * u / xp.square(1 + u)
    squares = xp.square(first) + first * second + xp.square(second)
    change = 4 * mu * xp.square(u / (1 - u * u)) * (1 - 2.5 * (first + second) + 37 / 3 * squares)
    return change - 2 * xp.arctanh(u)


def invgauss_log_density(z: Any, mu: Any) -> Any:
    """Return the logarithm of the density of an inverse Gaussian distribution."""
    return -LOG_ROOT_2PI - 1.5 * xp.log(z) - xp.square(z / mu - 1) / (2 * z)


invgauss = family(
    "invgauss",
    support=_positive_reals,
    open_ends=True,
    log_density=invgauss_log_density,
    cdf=lambda z, mu: xp.exp(invgauss_logcdf(z, mu)),
    sf=lambda z, mu: xp.exp(invgauss_logsf(z, mu)),
    logcdf=invgauss_logcdf,
    logsf=invgauss_logsf,
    mean=lambda mu: mu,
    var=lambda mu: mu**3,
)

_WEIBULL = of_powers(lambda z, c: -(z**c), lambda c: c - 1, factor=lambda c: c)


def weibull_logcdf(log_hazard: Any) -> Any:
    """Return log(1 - exp(-exp(x))); where x is small its part x is apart, which has no second derivatives."""
    is_near = log_hazard < 0
    near = xp.where(is_near, log_hazard, 0.0)
    far = log_complement(-xp.exp(xp.where(is_near, 0.0, log_hazard)))
    return xp.where(is_near, near + xp.log(sc.exprel(-xp.exp(near))), far)


def times_log(exponent: Any, logarithm: Any) -> Any:
    """Return the logarithm of a power of 0 too: that of exponent 0 is 0."""
    return xp.where((exponent == 0) & xp.isinf(logarithm), 0.0, exponent * logarithm)


def log_expm1(x: Any) -> Any:
    """Return log(exp(x) - 1) for positive x; its part x is apart."""
    return x + log_complement(-x)


weibull_min = family(
    "weibull_min",
    support=_positive_reals,
    **_WEIBULL,
    cdf=lambda z, c: complement(-(z**c)),
    logcdf=lambda z, c: weibull_logcdf(c * xp.log(z)),
    logsf=lambda z, c: -(z**c),
    ppf=lambda q, c: (-xp.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-xp.log(q)) ** (1 / c),
    mean=lambda c: sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
    entropy=lambda c: EULER - EULER / c - xp.log(c) + 1,
)

weibull_max = family(
    "weibull_max",
    support=lambda c: (-INF, 0.0),
    log_density=lambda z, c: _WEIBULL["log_density"](-z, c),
    density=lambda z, c: _WEIBULL["density"](-z, c),
    exponent=lambda c: c - 1,
    logcdf=lambda z, c: -((-z) ** c),
    sf=lambda z, c: complement(-((-z) ** c)),
    logsf=lambda z, c: weibull_logcdf(c * xp.log(-z)),
    ppf=lambda q, c: -((-xp.log(q)) ** (1 / c)),
    isf=lambda q, c: -((-xp.log1p(-q)) ** (1 / c)),
    mean=lambda c: -sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
    entropy=lambda c: EULER - EULER / c - xp.log(c) + 1,
)

pareto = family(
    "pareto",
    support=lambda b: (1.0, INF),
    **scaled(lambda b: b, lambda z, b: -(b + 1) * xp.log(z)),
    sf=lambda z, b: z**-b,
    logsf=lambda z, b: -b * xp.log(z),
    ppf=lambda q, b: xp.exp(-xp.log1p(-q) / b),
    isf=lambda q, b: q ** (-1 / b),
    mean=lambda b: beyond(1, b, lambda b: b / (b - 1)),
    var=lambda b: beyond(2, b, lambda b: b / ((b - 2) * xp.square(b - 1))),
    entropy=lambda b: 1 + 1 / b - xp.log(b),
)

lomax = family(
    "lomax",
    support=_positive_reals,
    **scaled(lambda c: c, lambda z, c: -(c + 1) * xp.log1p(z)),
    logsf=lambda z, c: -c * xp.log1p(z),
    ppf=lambda q, c: xp.expm1(-xp.log1p(-q) / c),
    isf=lambda q, c: xp.expm1(-xp.log(q) / c),
    mean=lambda c: beyond(1, c, lambda c: 1 / (c - 1)),
    var=lambda c: beyond(2, c, lambda c: c / ((c - 2) * xp.square(c - 1)), INF),
    entropy=lambda c: 1 + 1 / c - xp.log(c),
)


def _circle(c):
    """Return the moment of order 1 of the log-logistic distribution."""
    return (pi / c) / xp.sin(pi / c)


def _fisk_far(z, c):
    """Return the logarithm of the density by powers that do not overflow."""
    return -(c + 1) * xp.log(z) - 2 * xp.log1p(z**-c)


fisk = family(
    "fisk",
    support=_positive_reals,
    **of_powers(lambda z, c: -2 * xp.log1p(z**c), lambda c: c - 1, far=_fisk_far, factor=lambda c: c),
    cdf=lambda z, c: sc.expit(c * xp.log(z)),
    sf=lambda z, c: sc.expit(-c * xp.log(z)),
    logcdf=lambda z, c: sc.log_expit(c * xp.log(z)),
    logsf=lambda z, c: sc.log_expit(-c * xp.log(z)),
    ppf=lambda q, c: (q / (1 - q)) ** (1 / c),
    isf=lambda q, c: (q / (1 - q)) ** (-1 / c),
    mean=lambda c: beyond(1, c, _circle),
    var=lambda c: beyond(2, c, lambda c: _circle(0.5 * c) - xp.square(_circle(c))),
    entropy=lambda c: 2 - xp.log(c),
)

burr12 = family(
    "burr12",
    support=_positive_reals,
    **of_powers(
        lambda z, c, d: -(d + 1) * xp.log1p(z**c),
        lambda c, d: c - 1,
        far=lambda z, c, d: -(c * d + 1) * xp.log(z) - (d + 1) * xp.log1p(z**-c),
        factor=lambda c, d: c * d,
    ),
    logsf=lambda z, c, d: -d * xp.logaddexp(0.0, c * xp.log(z)),
    ppf=lambda q, c, d: xp.exp(log_expm1(-xp.log1p(-q) / d) / c),
    isf=lambda q, c, d: xp.exp(log_expm1(-xp.log(q) / d) / c),
)

gompertz = family(
    "gompertz",
    support=_positive_reals,
    **scaled(lambda c: c, lambda z, c: z - c * xp.expm1(z)),
    logsf=lambda z, c: -c * xp.expm1(z),
    ppf=lambda q, c: xp.log1p(-xp.log1p(-q) / c),
    isf=lambda q, c: xp.log1p(-xp.log(q) / c),
)


def _nakagami_mean(nu):
    return xp.exp(sc.gammaln(nu + 0.5) - sc.gammaln(nu)) / xp.sqrt(nu)


nakagami = family(
    "nakagami",
    support=_positive_reals,
    **of_powers(lambda z, nu: log(2) + sc.xlogy(nu, nu) - sc.gammaln(nu) - nu * xp.square(z), lambda nu: 2 * nu - 1),
    cdf=lambda z, nu: sc.gammainc(nu, nu * xp.square(z)),
    sf=lambda z, nu: sc.gammaincc(nu, nu * xp.square(z)),
    logcdf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z), -1),
    logsf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z)),
    ppf=lambda q, nu: power_of_gamma_quantile(q, nu, 0.5) / xp.sqrt(nu),
    isf=lambda q, nu: xp.sqrt(sc.gammainccinv(nu, q) / nu),
    mean=_nakagami_mean,
    var=lambda nu: 1 - xp.square(_nakagami_mean(nu)),
)

levy = family(
    "levy",
    support=_positive_reals,
    open_ends=True,
    log_density=lambda z: -LOG_ROOT_2PI - 1.5 * xp.log(z) - 0.5 / z,
    cdf=lambda z: sc.erfc(xp.sqrt(0.5 / z)),
    sf=lambda z: sc.erf(xp.sqrt(0.5 / z)),
    ppf=lambda q: 1 / xp.square(sc.ndtri(0.5 * q)),
    isf=lambda q: xp.square(sqrt(0.5) / sc.erfinv(q)),
    mean=constant(INF),
    var=constant(INF),
)


def _f_rest(z, dfn, dfd):
    half, other = 0.5 * dfn, 0.5 * dfd
    power = (half + other) * xp.log(dfd + dfn * z)
    return half * xp.log(dfn) + other * xp.log(dfd) - power - sc.betaln(half, other)


def beta_share(low: Any, high: Any, a: Any, b: Any) -> Any:
    """Return the probability of a beta distribution up to `low`, by the smaller one of it and of 1 minus it."""
    is_low = low < 0.5
    return xp.where(
        is_low, sc.betainc(a, b, xp.where(is_low, low, 0.5)), sc.betaincc(b, a, xp.where(is_low, 0.5, high))
    )


def _f_shares(z, dfn, dfd) -> tuple[Any, Any]:
    """Return the parts of `dfn z` and of `dfd` in their sum, by 1 / z where that is small: slopes do not underflow."""
    is_large = z > 1
    first, second = dfn * xp.where(is_large, 1, z), dfd / xp.where(is_large, z, 1)
    return first / (first + second), second / (first + second)


def _f_quantile(low, high, dfn, dfd):
    """Return the value whose share `dfn x / (dfd + dfn x)` is the first one, and the second one 1 minus it."""
    return dfd * low / (dfn * high)


f = family(
    "f",
    support=_positive_reals,
    **of_powers(_f_rest, lambda dfn, dfd: 0.5 * dfn - 1),
    cdf=lambda z, dfn, dfd: beta_share(*_f_shares(z, dfn, dfd), 0.5 * dfn, 0.5 * dfd),
    sf=lambda z, dfn, dfd: beta_share(*_f_shares(z, dfn, dfd)[::-1], 0.5 * dfd, 0.5 * dfn),
    ppf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfn, 0.5 * dfd), dfn, dfd),
    isf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfd, 0.5 * dfn)[::-1], dfn, dfd),
    mean=lambda dfn, dfd: beyond(2, dfd, lambda d: d / (d - 2)),
    var=lambda dfn, dfd: beyond(
        4, dfd, lambda d: 2 * xp.square(d) * (dfn + d - 2) / (dfn * xp.square(d - 2) * (d - 4))
    ),
)

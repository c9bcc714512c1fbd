"""Define continuous families on the positive reals by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi, sqrt
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import by_half
from anyshape.scipy.stats.distribution import constant, exponential, log_complement, positive, scaled
from anyshape.scipy.stats.powers import (
    LOG_ROOT_2PI,
    beta_quantile,
    log1p_square,
    log_angle,
    log_gamma_share,
    normal_log_density,
    normal_score,
    of_powers,
    power_of_gamma_quantile,
)
from anyshape.scipy.stats.source import family

INF = np.inf


def beyond(limit: float, shape: Any, value: Any, otherwise: float = INF) -> Any:
    """Return `value(shape)` where a shape parameter exceeds a limit: a moment that exists from there on."""
    exists = shape > limit
    return xp.where(exists, value(xp.where(exists, shape, limit + 1)), otherwise)


expon = family("expon", "log_density logsf ppf isf mean var entropy", closed_quantiles=True)

gamma, erlang = (
    family(
        name,
        "cdf sf isf mean var entropy",
        valid=positive,
        **of_powers(lambda z, a: -z - sc.gammaln(a), lambda a: a - 1),
        logsf=lambda z, a: log_gamma_share(a, z),
        ppf=lambda q, a: power_of_gamma_quantile(q, a, 1.0),
    )
    for name in ("gamma", "erlang")
)

chi2 = family(
    "chi2",
    "cdf sf isf mean var entropy",
    **of_powers(lambda z, df: -0.5 * z - sc.gammaln(0.5 * df) - 0.5 * log(2) * df, lambda df: 0.5 * df - 1),
    logsf=lambda z, df: log_gamma_share(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2 * power_of_gamma_quantile(q, 0.5 * df, 1.0),
)


chi = family(
    "chi",
    "cdf sf isf mean var entropy",
    **of_powers(
        lambda z, df: log(2) - 0.5 * log(2) * df - sc.gammaln(0.5 * df) - 0.5 * xp.square(z), lambda df: df - 1
    ),
    ppf=lambda q, df: sqrt(2) * power_of_gamma_quantile(q, 0.5 * df, 0.5),
)

invgamma = family(
    "invgamma", "log_density cdf sf ppf mean var entropy", isf=lambda q, a: power_of_gamma_quantile(q, a, -1.0)
)

rayleigh = family(
    "rayleigh",
    "log_density logsf ppf isf mean var entropy",
    density=lambda z: z * exponential(-0.5 * xp.square(z)),
    logcdf=lambda z: weibull_logcdf(2 * xp.log(z) - log(2)),
)

maxwell = family("maxwell", "log_density density cdf sf ppf isf mean var entropy", open_ends=True)

halfnorm = family(
    "halfnorm",
    "log_density sf ppf isf mean var entropy",
    closed_quantiles=True,
    cdf=lambda z: sc.erf(sqrt(0.5) * z),
    logsf=lambda z: by_half(z, 0.5, lambda z: xp.log1p(-sc.erf(sqrt(0.5) * z)), lambda z: log(2) + sc.log_ndtr(-z)),
)

halfcauchy = family(
    "halfcauchy",
    "cdf sf logcdf mean var entropy",
    log_density=lambda z: log(2 / pi) - log1p_square(z),
    logsf=lambda z: by_half(z, 1.0, lambda z: xp.log1p(-2 / pi * xp.arctan(z)), lambda z: log_angle(z) + log(2 / pi)),
    ppf=lambda q: by_half(q, 0.5, lambda q: xp.tan(0.5 * pi * q), lambda q: 1 / xp.tan(0.5 * pi * (1 - q))),
    isf=lambda q: by_half(q, 0.5, lambda q: 1 / xp.tan(0.5 * pi * q), lambda q: xp.tan(0.5 * pi * (1 - q))),
)

halflogistic = family(
    "halflogistic",
    "log_density cdf ppf isf entropy",
    closed_quantiles=True,
    logsf=lambda z: log(2) + sc.log_expit(-z),
    mean=constant(2 * log(2)),
    var=constant(pi**2 / 3 - 4 * log(2) ** 2),
)

lognorm = family(
    "lognorm",
    "cdf sf logcdf logsf isf mean var entropy",
    **scaled(lambda s: 1 / s, lambda z, s: normal_log_density(xp.log(z) / s) - xp.log(z)),
    ppf=lambda q, s: xp.exp(s * normal_score(q)),
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


invgauss = family("invgauss", "log_density cdf sf mean var", logcdf=invgauss_logcdf, logsf=invgauss_logsf)

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
    "cdf logsf ppf isf entropy",
    **_WEIBULL,
    logcdf=lambda z, c: weibull_logcdf(c * xp.log(z)),
    mean=lambda c: sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
)

weibull_max = family(
    "weibull_max",
    "log_density sf logcdf ppf entropy",
    density=lambda z, c: _WEIBULL["density"](-z, c),
    exponent=lambda c: c - 1,
    logsf=lambda z, c: weibull_logcdf(c * xp.log(-z)),
    isf=lambda q, c: -((-xp.log1p(-q)) ** (1 / c)),
    mean=lambda c: -sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
)

pareto = family(
    "pareto",
    "sf isf entropy",
    **scaled(lambda b: b, lambda z, b: -(b + 1) * xp.log(z)),
    logsf=lambda z, b: -b * xp.log(z),
    ppf=lambda q, b: xp.exp(-xp.log1p(-q) / b),
    mean=lambda b: beyond(1, b, lambda b: b / (b - 1)),
    var=lambda b: beyond(2, b, lambda b: b / ((b - 2) * xp.square(b - 1))),
)

lomax = family(
    "lomax",
    "logsf ppf entropy",
    **scaled(lambda c: c, lambda z, c: -(c + 1) * xp.log1p(z)),
    isf=lambda q, c: xp.expm1(-xp.log(q) / c),
    mean=lambda c: beyond(1, c, lambda c: 1 / (c - 1)),
    var=lambda c: beyond(2, c, lambda c: c / ((c - 2) * xp.square(c - 1)), INF),
)


def _circle(c):
    """Return the moment of order 1 of the log-logistic distribution."""
    return (pi / c) / xp.sin(pi / c)


def _fisk_far(z, c):
    """Return the logarithm of the density by powers that do not overflow."""
    return -(c + 1) * xp.log(z) - 2 * xp.log1p(z**-c)


fisk = family(
    "fisk",
    "isf entropy",
    **of_powers(lambda z, c: -2 * xp.log1p(z**c), lambda c: c - 1, far=_fisk_far, factor=lambda c: c),
    cdf=lambda z, c: sc.expit(c * xp.log(z)),
    sf=lambda z, c: sc.expit(-c * xp.log(z)),
    logcdf=lambda z, c: sc.log_expit(c * xp.log(z)),
    logsf=lambda z, c: sc.log_expit(-c * xp.log(z)),
    ppf=lambda q, c: (q / (1 - q)) ** (1 / c),
    mean=lambda c: beyond(1, c, _circle),
    var=lambda c: beyond(2, c, lambda c: _circle(0.5 * c) - xp.square(_circle(c))),
)

burr12 = family(
    "burr12",
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
    "gompertz", "ppf isf", **scaled(lambda c: c, lambda z, c: z - c * xp.expm1(z)), logsf=lambda z, c: -c * xp.expm1(z)
)


nakagami = family(
    "nakagami",
    "sf isf mean var",
    **of_powers(lambda z, nu: log(2) + sc.xlogy(nu, nu) - sc.gammaln(nu) - nu * xp.square(z), lambda nu: 2 * nu - 1),
    cdf=lambda z, nu: sc.gammainc(nu, nu * xp.square(z)),
    logcdf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z), -1),
    logsf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z)),
    ppf=lambda q, nu: power_of_gamma_quantile(q, nu, 0.5) / xp.sqrt(nu),
)

levy = family(
    "levy",
    "cdf sf ppf mean var",
    log_density=lambda z: -LOG_ROOT_2PI - 1.5 * xp.log(z) - 0.5 / z,
    isf=lambda q: xp.square(sqrt(0.5) / sc.erfinv(q)),
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
    "mean var",
    **of_powers(_f_rest, lambda dfn, dfd: 0.5 * dfn - 1),
    cdf=lambda z, dfn, dfd: beta_share(*_f_shares(z, dfn, dfd), 0.5 * dfn, 0.5 * dfd),
    sf=lambda z, dfn, dfd: beta_share(*_f_shares(z, dfn, dfd)[::-1], 0.5 * dfd, 0.5 * dfn),
    ppf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfn, 0.5 * dfd), dfn, dfd),
    isf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfd, 0.5 * dfn)[::-1], dfn, dfd),
)

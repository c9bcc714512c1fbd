"""Define further continuous families by their standard forms, which have closed distribution functions.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi
from operator import truediv
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import by_half
from anyshape.scipy.stats.distribution import Function, log_by_complement, scaled
from anyshape.scipy.stats.positive import beta_share, log_expm1, times_log, weibull_logcdf
from anyshape.scipy.stats.powers import (
    LOG_ROOT_2PI,
    beta_quantile,
    log_gamma_share,
    narrow_normal,
    of_powers,
    of_powers_of_size,
    of_score,
    power_of_gamma_quantile,
)
from anyshape.scipy.stats.source import family

INF = np.inf
PI_REST = 1.2246467991473532e-16  # of pi beyond its float


def _two_sided(tail: Function, log_tail: Function, quantile: Function) -> dict[str, Function]:
    """Return the functions of a symmetric family by the share beyond both z and -z, its logarithm, and its inverse."""

    def cdf(z, *shapes):
        return by_half(z, 0.0, lambda z: 0.5 * tail(-z, *shapes), lambda z: 1 - 0.5 * tail(z, *shapes))

    def logcdf(z, *shapes):
        low = lambda z: log_tail(-z, *shapes) - log(2)
        return by_half(z, 0.0, low, lambda z: xp.log1p(-0.5 * tail(z, *shapes)))

    def ppf(q, *shapes):
        return by_half(q, 0.5, lambda q: -quantile(2 * q, *shapes), lambda q: quantile(2 * (1 - q), *shapes))

    sf, logsf = (lambda z, *shapes, f=f: f(-z, *shapes) for f in (cdf, logcdf))
    isf = lambda q, *shapes: -ppf(q, *shapes)
    return {"cdf": cdf, "sf": sf, "logcdf": logcdf, "logsf": logsf, "ppf": ppf, "isf": isf}


def _semicircular_quantile(q):
    return 2 * sc.betaincinv(1.5, 1.5, q) - 1


def _fatiguelife_quantile(t):
    """Return z with sqrt(z) - 1 / sqrt(z) = t, without cancellation."""
    longer = 0.5 * (xp.abs(t) + xp.sqrt(xp.square(t) + 4))
    return xp.square(xp.where(t < 0, 1 / longer, longer))


def _foldcauchy_quantile(q, c, side: float):
    """Return the positive z with tan(pi q) (1 + c**2 - z**2) = 2 z, or z of 1 - q for the other side."""
    sine = by_half(q, 0.5, lambda q: xp.sin(pi * q), lambda q: xp.sin(pi * (1 - q)))
    cosine = side * by_half(q, 0.5, lambda q: xp.cos(pi * q), lambda q: -xp.cos(pi * (1 - q)))
    root = xp.sqrt(1 + xp.square(c * sine))
    is_low = cosine > 0
    low = (1 + xp.square(c)) * sine / (xp.where(is_low, cosine, 1.0) + root)
    return xp.where(is_low, low, (root - cosine) / sine)


def _loglaplace_quantile(q, c):
    return by_half(q, 0.5, lambda q: (2 * q) ** (1 / c), lambda q: (2 * (1 - q)) ** (-1 / c))


def _cosine_cdf(z):
    """Return (t - sin(t)) / (2 pi) for t = pi + z, by a series where the difference cancels."""
    t = (z + pi) + PI_REST
    is_near = t < 0.5
    near = xp.where(is_near, t, 0.5)
    series: Any = 1.0
    for k in (13, 11, 9, 7, 5):
        series = 1 - xp.square(near) / (k * (k - 1)) * series
    return xp.where(is_near, near**3 / 6 * series, pi + z + xp.sin(z)) / (2 * pi)


def _normal_strip(low, high, width):
    """Return the probability of a standard normal between numbers whose middle is not negative."""
    is_narrow, density, size = narrow_normal(low, width)
    return xp.where(is_narrow, xp.exp(density) * size, sc.ndtr(-low) - sc.ndtr(-high))


alpha = family("alpha", "log_density cdf ppf", sf=lambda z, a: _normal_strip(a - 1 / z, a, 1 / z) / sc.ndtr(a))
anglit = family("anglit", "log_density density cdf sf ppf mean var", isf=lambda q: pi / 4 - xp.arcsin(xp.sqrt(q)))
cosine = family(
    "cosine",
    "mean var",
    log_density=lambda z: 2 * xp.log(xp.cos(0.5 * z)) - log(pi),
    density=lambda z: xp.square(xp.cos(0.5 * z)) / pi,
    cdf=_cosine_cdf,
    sf=lambda z: _cosine_cdf(-z),
)
semicircular = family(
    "semicircular",
    "log_density density mean var",
    cdf=lambda z: beta_share(0.5 * (1 + z), 0.5 * (1 - z), 1.5, 1.5),
    sf=lambda z: beta_share(0.5 * (1 - z), 0.5 * (1 + z), 1.5, 1.5),
    ppf=_semicircular_quantile,
    isf=lambda q: -_semicircular_quantile(q),
)
gibrat = family(
    "gibrat",
    "ppf isf mean var",
    log_density=lambda z: -LOG_ROOT_2PI - xp.log(z) - 0.5 * xp.square(xp.log(z)),
    **of_score(xp.log),
)
betaprime = family(
    "betaprime",
    "sf",
    open_ends=False,
    **of_powers(
        lambda z, a, b: -(a + b) * xp.log1p(z) - sc.betaln(a, b),
        lambda a, b: a - 1,
        far=lambda z, a, b: -(b + 1) * xp.log(z) - (a + b) * xp.log1p(1 / z) - sc.betaln(a, b),
    ),
    cdf=lambda z, a, b: beta_share(z / (1 + z), 1 / (1 + z), a, b),
    ppf=lambda q, a, b: truediv(*beta_quantile(q, a, b)),
    isf=lambda q, a, b: truediv(*beta_quantile(q, b, a)[::-1]),
)
burr = family(
    "burr",
    **of_powers(
        lambda z, c, d: -(d + 1) * xp.log1p(z**c),
        lambda c, d: c * d - 1,
        far=lambda z, c, d: -(c + 1) * xp.log(z) - (d + 1) * xp.log1p(z**-c),
        factor=lambda c, d: c * d,
    ),
    logcdf=lambda z, c, d: -d * xp.logaddexp(0.0, -c * xp.log(z)),
    isf=lambda q, c, d: xp.exp((xp.log1p(-q) / d - weibull_logcdf(xp.log(-xp.log1p(-q)) - xp.log(d))) / c),
    ppf=lambda q, c, d: xp.exp(-log_expm1(-xp.log(q) / d) / c),
)
dgamma = family(
    "dgamma",
    "mean var",
    **of_powers_of_size(lambda z, a: -z - sc.gammaln(a) - log(2), lambda a: a - 1),
    **_two_sided(
        lambda z, a: sc.gammaincc(a, z), lambda z, a: log_gamma_share(a, z), lambda q, a: sc.gammainccinv(a, q)
    ),
)
dweibull = family(
    "dweibull",
    "mean",
    **of_powers_of_size(lambda z, c: xp.log(0.5 * c) - z**c, lambda c: c - 1),
    **_two_sided(lambda z, c: xp.exp(-(z**c)), lambda z, c: -(z**c), lambda q, c: (-xp.log(q)) ** (1 / c)),
    var=lambda c: sc.gamma(1 + 2 / c),
)
exponpow = family(
    "exponpow",
    "ppf isf",
    **of_powers(lambda z, b: z**b - xp.expm1(z**b), lambda b: b - 1, factor=lambda b: b),
    logsf=lambda z, b: -xp.expm1(z**b),
)
exponweib = family(
    "exponweib",
    "ppf",
    open_ends=lambda a, c: (a != 1) | (c != 1),
    **scaled(
        lambda a, c: a * c,
        lambda z, a, c: times_log(a - 1, weibull_logcdf(c * xp.log(z))) - z**c + sc.xlogy(c - 1, z),
    ),
    logcdf=lambda z, a, c: a * weibull_logcdf(c * xp.log(z)),
    isf=lambda q, a, c: (-xp.log(-xp.expm1(xp.log1p(-q) / a))) ** (1 / c),
)
fatiguelife = family(
    "fatiguelife",
    "mean var",
    log_density=lambda z, c: (
        xp.log1p(z) - xp.square(z - 1) / (2 * z * c**2) - xp.log(2 * c) - LOG_ROOT_2PI - 1.5 * xp.log(z)
    ),
    **of_score(lambda z, c: (xp.sqrt(z) - 1 / xp.sqrt(z)) / c),
    ppf=lambda q, c: _fatiguelife_quantile(c * sc.ndtri(q)),
    isf=lambda q, c: _fatiguelife_quantile(-c * sc.ndtri(q)),
)


def _foldcauchy_log_density(z, c):
    """Return the logarithm of the sum of two densities, which has no odd powers of z or c."""
    size, apart = 1 + xp.square(z) + xp.square(c), 2 * z * c
    is_near = apart < 0.5 * size
    product = xp.where(is_near, xp.square(size) - xp.square(apart), (1 + xp.square(z - c)) * (1 + xp.square(z + c)))
    return log(2 / pi) + xp.log(size) - xp.log(product)


foldcauchy = family(
    "foldcauchy",
    log_density=_foldcauchy_log_density,
    cdf=lambda z, c: by_half(
        z,
        1.0 + c,
        lambda z: xp.arctan2(2 * z, 1 + (c - z) * (c + z)) / pi,
        lambda z: 1 - xp.arctan2(2.0, z - (1 + c * c) / z) / pi,
    ),
    sf=lambda z, c: by_half(
        z,
        1.0,
        lambda z: xp.arctan2(2 * z, xp.square(z) - (1 + c * c)) / pi,
        lambda z: xp.arctan2(2.0, z - (1 + c * c) / z) / pi,
    ),
    ppf=lambda q, c: _foldcauchy_quantile(q, c, 1.0),
    isf=lambda q, c: _foldcauchy_quantile(q, c, -1.0),
)


def _foldnorm_log_density(z, c):
    """Return the logarithm of the sum of two densities, which has no odd powers of z or c."""
    is_near = z * c < 1
    near, far = xp.where(is_near, z * c, 0.0), xp.where(is_near, 1.0, z * c)
    of_near = xp.log(2 * xp.cosh(near)) - 0.5 * (xp.square(z) + xp.square(c))
    return xp.where(is_near, of_near, xp.log1p(xp.exp(-2 * far)) - 0.5 * xp.square(z - c)) - LOG_ROOT_2PI


foldnorm = family(
    "foldnorm",
    log_density=_foldnorm_log_density,
    cdf=lambda z, c: _normal_strip(c - z, c + z, 2 * z),
    sf=lambda z, c: by_half(
        z, 0.2, lambda z: 1 - _normal_strip(c - z, c + z, 2 * z), lambda z: sc.ndtr(c - z) + sc.ndtr(-c - z)
    ),
)
_GENGAMMA = of_powers(lambda z, a, c: -(z**c) - sc.gammaln(a), lambda a, c: c * a - 1, factor=lambda a, c: xp.abs(c))


def _gengamma_density(name: str, at_zero: float) -> Function:
    """Return a function of the density, which vanishes at 0 faster than any power for negative c."""

    def function(z, a, c):
        vanishes = (z == 0) & (c < 0)
        return xp.where(vanishes, at_zero, _GENGAMMA[name](xp.where(vanishes, 1.0, z), a, c))

    return function


def _by_sign(rising: Function, falling: Function) -> Function:
    """Return one function of a point where z**c rises, and another one where it falls."""
    return lambda x, a, c: xp.where(c > 0, rising(x, a, c), falling(x, a, c))


_gengamma_below, _gengamma_above = lambda z, a, c: sc.gammainc(a, z**c), lambda z, a, c: sc.gammaincc(a, z**c)
_gengamma_log_below = lambda z, a, c: _loggamma_logcdf(c * xp.log(z), a)
_gengamma_log_above = log_by_complement(_gengamma_above, _gengamma_below)
_gengamma_low, _gengamma_high = (
    lambda q, a, c: power_of_gamma_quantile(q, a, 1 / c),
    lambda q, a, c: sc.gammainccinv(a, q) ** (1 / c),
)
gengamma = family(
    "gengamma",
    log_density=_gengamma_density("log_density", -INF),
    density=_gengamma_density("density", 0.0),
    exponent=lambda a, c: xp.where(c > 0, c * a - 1, INF),
    cdf=_by_sign(_gengamma_below, _gengamma_above),
    sf=_by_sign(_gengamma_above, _gengamma_below),
    logcdf=_by_sign(_gengamma_log_below, _gengamma_log_above),
    logsf=_by_sign(_gengamma_log_above, _gengamma_log_below),
    ppf=_by_sign(_gengamma_low, _gengamma_high),
    isf=_by_sign(_gengamma_high, _gengamma_low),
)
invweibull = family(
    "invweibull",
    "sf ppf isf",
    **scaled(lambda c: c, lambda z, c: -(c + 1) * xp.log(z) - z**-c),
    logcdf=lambda z, c: -(z**-c),
    logsf=lambda z, c: weibull_logcdf(-c * xp.log(z)),
)


def _loggamma_start(z, c):
    """Return the logarithm of the probability up to a z below -2, by the series DLMF 8.7.1 in its exponential."""
    x = xp.exp(z)
    total = 0.0 * x
    for k in reversed(range(1, 13)):
        total = x / (c + k) * (1 + total)
    return c * z - sc.gammaln(c + 1) - x + xp.log1p(total)


def _loggamma_logcdf(z, c):
    share = log_by_complement(lambda z: sc.gammainc(c, xp.exp(z)), lambda z: sc.gammaincc(c, xp.exp(z)))
    return by_half(z, -2.0, lambda z: _loggamma_start(z, c), lambda z: share(xp.minimum(z, 700.0)))


def _loggamma_quantile(q, c):
    start = (xp.log(q) + sc.gammaln(c + 1)) / c
    is_tiny = start < -40
    return xp.where(is_tiny, start, xp.log(sc.gammaincinv(c, xp.where(is_tiny, 0.5, q))))


loggamma = family(
    "loggamma",
    "log_density cdf isf mean var",
    sf=lambda z, c: sc.gammaincc(c, xp.exp(z)),
    logcdf=_loggamma_logcdf,
    ppf=_loggamma_quantile,
)
loglaplace = family(
    "loglaplace",
    "cdf sf ppf",
    **scaled(lambda c: 0.5 * c, lambda z, c: -c * xp.abs(xp.log(z)) - xp.log(z)),
    open_ends=True,
    isf=lambda q, c: _loglaplace_quantile(q, -c),
)
powernorm = family(
    "powernorm",
    "logsf ppf",
    **scaled(lambda c: c, lambda z, c: -LOG_ROOT_2PI - 0.5 * z * z + (c - 1) * sc.log_ndtr(-z)),
    isf=lambda q, c: -sc.ndtri(q ** (1 / c)),
)


gumbel_r = family("gumbel_r", "log_density logcdf ppf isf mean var entropy", logsf=lambda z: weibull_logcdf(-z))

gumbel_l = family("gumbel_l", "log_density logsf ppf isf mean var entropy", logcdf=weibull_logcdf)

"""Define families on the positive reals, and of logarithms and of either sign of such values, by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi, sqrt
from operator import truediv
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy import special as sc
from anyshape.scipy.stats.distribution import (
    Family,
    Function,
    exponential,
    log_by_complement,
    log_complement,
    positive,
    scaled,
)
from anyshape.scipy.stats.powers import (
    DEPTH,
    GAMMA_NODES,
    GAMMA_WEIGHTS,
    LOG_ROOT_2PI,
    beta_quantile,
    by_half,
    log1p_ratio,
    log1p_square,
    log_angle,
    log_expm1,
    log_gamma_share,
    narrow_normal,
    normal_log_density,
    normal_score,
    of_beta_shares,
    of_powers,
    of_powers_of_size,
    of_score,
    power_of_gamma_quantile,
    times_log,
    weibull_logcdf,
)
from anyshape.scipy.stats.source import family
from anyshape.transforms.control import stop_gradient

INF = np.inf


def beyond(limit: float, shape: Any, value: Any, otherwise: float = INF) -> Any:
    """Return `value(shape)` where a shape parameter exceeds a limit: a moment that exists from there on."""
    exists = shape > limit
    return xp.where(exists, value(xp.where(exists, shape, limit + 1)), otherwise)


expon: Family = family("expon", "log_density logsf ppf isf mean var entropy", closed_quantiles=True)

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

chi2: Family = family(
    "chi2",
    "cdf sf isf mean var entropy",
    **of_powers(lambda z, df: -0.5 * z - sc.gammaln(0.5 * df) - 0.5 * log(2) * df, lambda df: 0.5 * df - 1),
    logsf=lambda z, df: log_gamma_share(0.5 * df, 0.5 * z),
    ppf=lambda q, df: 2 * power_of_gamma_quantile(q, 0.5 * df, 1.0),
)


chi: Family = family(
    "chi",
    "cdf sf isf mean var entropy",
    **of_powers(
        lambda z, df: log(2) - 0.5 * log(2) * df - sc.gammaln(0.5 * df) - 0.5 * xp.square(z), lambda df: df - 1
    ),
    ppf=lambda q, df: sqrt(2) * power_of_gamma_quantile(q, 0.5 * df, 0.5),
)

invgamma: Family = family(
    "invgamma", "log_density cdf sf ppf mean var entropy", isf=lambda q, a: power_of_gamma_quantile(q, a, -1.0)
)

rayleigh: Family = family(
    "rayleigh",
    "log_density logsf ppf isf mean var entropy",
    density=lambda z: z * exponential(-0.5 * xp.square(z)),
    logcdf=lambda z: weibull_logcdf(2 * xp.log(z) - log(2)),
)

maxwell: Family = family("maxwell", "log_density density cdf sf ppf isf mean var entropy", open_ends=True)

halfnorm: Family = family(
    "halfnorm",
    "log_density sf ppf isf mean var entropy",
    closed_quantiles=True,
    cdf=lambda z: sc.erf(sqrt(0.5) * z),
    logsf=lambda z: by_half(z, 0.5, lambda z: xp.log1p(-sc.erf(sqrt(0.5) * z)), lambda z: log(2) + sc.log_ndtr(-z)),
)

halfcauchy: Family = family(
    "halfcauchy",
    "cdf sf logcdf mean var entropy",
    log_density=lambda z: log(2 / pi) - log1p_square(z),
    logsf=lambda z: by_half(z, 1.0, lambda z: xp.log1p(-2 / pi * xp.arctan(z)), lambda z: log_angle(z) + log(2 / pi)),
    ppf=lambda q: by_half(q, 0.5, lambda q: xp.tan(0.5 * pi * q), lambda q: 1 / xp.tan(0.5 * pi * (1 - q))),
    isf=lambda q: by_half(q, 0.5, lambda q: 1 / xp.tan(0.5 * pi * q), lambda q: xp.tan(0.5 * pi * (1 - q))),
)

halflogistic: Family = family(
    "halflogistic",
    "log_density cdf ppf isf mean var entropy",
    closed_quantiles=True,
    logsf=lambda z: log(2) + sc.log_expit(-z),
)

lognorm: Family = family(
    "lognorm",
    "cdf sf logcdf logsf isf entropy",
    mean=lambda s: xp.exp(0.5 * xp.square(s)),
    var=lambda s: xp.expm1(xp.square(s)) * xp.exp(xp.square(s)),
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


invgauss: Family = family("invgauss", "log_density cdf sf mean var", logcdf=invgauss_logcdf, logsf=invgauss_logsf)

_WEIBULL = of_powers(lambda z, c: -(z**c), lambda c: c - 1, factor=lambda c: c)


weibull_min: Family = family(
    "weibull_min",
    "cdf logsf ppf isf entropy",
    **_WEIBULL,
    logcdf=lambda z, c: weibull_logcdf(c * xp.log(z)),
    mean=lambda c: sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
)

weibull_max: Family = family(
    "weibull_max",
    "log_density sf logcdf ppf entropy",
    density=lambda z, c: _WEIBULL["density"](-z, c),
    exponent=lambda c: c - 1,
    logsf=lambda z, c: weibull_logcdf(c * xp.log(-z)),
    isf=lambda q, c: -((-xp.log1p(-q)) ** (1 / c)),
    mean=lambda c: -sc.gamma(1 + 1 / c),
    var=lambda c: sc.gamma(1 + 2 / c) - xp.square(sc.gamma(1 + 1 / c)),
)

pareto: Family = family(
    "pareto",
    "sf isf mean var entropy",
    **scaled(lambda b: b, lambda z, b: -(b + 1) * xp.log(z)),
    logsf=lambda z, b: -b * xp.log(z),
    ppf=lambda q, b: xp.exp(-xp.log1p(-q) / b),
)

lomax: Family = family(
    "lomax",
    "logsf ppf entropy",
    **scaled(lambda c: c, lambda z, c: -(c + 1) * xp.log1p(z)),
    isf=lambda q, c: xp.expm1(-xp.log(q) / c),
    mean=lambda c: beyond(1, c, lambda c: 1 / (c - 1)),
    var=lambda c: beyond(2, c, lambda c: c / ((c - 2) * xp.square(c - 1))),
)


def _fisk_far(z, c):
    """Return the logarithm of the density by powers that do not overflow."""
    return -(c + 1) * xp.log(z) - 2 * xp.log1p(z**-c)


fisk: Family = family(
    "fisk",
    "isf entropy",
    **of_powers(lambda z, c: -2 * xp.log1p(z**c), lambda c: c - 1, far=_fisk_far, factor=lambda c: c),
    cdf=lambda z, c: sc.expit(c * xp.log(z)),
    sf=lambda z, c: sc.expit(-c * xp.log(z)),
    logcdf=lambda z, c: sc.log_expit(c * xp.log(z)),
    logsf=lambda z, c: sc.log_expit(-c * xp.log(z)),
    ppf=lambda q, c: (q / (1 - q)) ** (1 / c),
    mean=lambda c: beyond(1, c, lambda c: 1 / xp.sinc(1 / c), np.nan),
    var=lambda c: beyond(2, c, lambda c: 1 / xp.sinc(2 / c) - 1 / xp.square(xp.sinc(1 / c)), np.nan),
)

burr12: Family = family(
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

gompertz: Family = family(
    "gompertz", "ppf isf", **scaled(lambda c: c, lambda z, c: z - c * xp.expm1(z)), logsf=lambda z, c: -c * xp.expm1(z)
)


nakagami: Family = family(
    "nakagami",
    "sf isf mean var",
    **of_powers(lambda z, nu: log(2) + sc.xlogy(nu, nu) - sc.gammaln(nu) - nu * xp.square(z), lambda nu: 2 * nu - 1),
    cdf=lambda z, nu: sc.gammainc(nu, nu * xp.square(z)),
    logcdf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z), -1),
    logsf=lambda z, nu: log_gamma_share(nu, nu * xp.square(z)),
    ppf=lambda q, nu: power_of_gamma_quantile(q, nu, 0.5) / xp.sqrt(nu),
)

levy: Family = family(
    "levy",
    "cdf sf mean var",
    log_density=lambda z: -LOG_ROOT_2PI - 1.5 * xp.log(z) - 0.5 / z,
    ppf=lambda q: 1 / xp.square(normal_score(0.5 * q)),
    isf=lambda q: xp.square(sqrt(0.5) / sc.erfinv(q)),
)


def _f_rest(z, dfn, dfd):
    half, other = 0.5 * dfn, 0.5 * dfd
    power = (half + other) * xp.log(dfd + dfn * z)
    return half * xp.log(dfn) + other * xp.log(dfd) - power - sc.betaln(half, other)


def _f_shares(z, dfn, dfd) -> tuple[Any, Any]:
    """Return the parts of `dfn z` and of `dfd` in their sum, by 1 / z where that is small: slopes do not underflow."""
    is_large = z > 1
    first, second = dfn * xp.where(is_large, 1, z), dfd / xp.where(is_large, z, 1)
    return first / (first + second), second / (first + second)


def _f_quantile(low, high, dfn, dfd):
    """Return the value whose share `dfn x / (dfd + dfn x)` is the first one, and the second one 1 minus it."""
    return dfd * low / (dfn * high)


f: Family = family(
    "f",
    "mean var",
    **of_powers(_f_rest, lambda dfn, dfd: 0.5 * dfn - 1),
    **of_beta_shares(lambda z, dfn, dfd: (*_f_shares(z, dfn, dfd), 0.5 * dfn, 0.5 * dfd)),
    ppf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfn, 0.5 * dfd), dfn, dfd),
    isf=lambda q, dfn, dfd: _f_quantile(*beta_quantile(q, 0.5 * dfd, 0.5 * dfn)[::-1], dfn, dfd),
)


levy_l: Family = family(
    "levy_l",
    "mean var",
    log_density=lambda z: -LOG_ROOT_2PI - 1.5 * xp.log(-z) - 0.5 / xp.abs(z),
    cdf=lambda z: sc.erf(1 / xp.sqrt(-2 * z)),
    sf=lambda z: sc.erfc(1 / xp.sqrt(-2 * z)),
    ppf=lambda q: -0.5 / xp.square(sc.erfinv(q)),
    isf=lambda q: -1 / xp.square(normal_score(0.5 * q)),
)


def _log_share(x, weight, linear):
    """Return -weight log(1 + exp(x)); above 0 its part -weight x, which may not depend on a shape, is `linear`."""
    is_above = x > 0
    return xp.where(is_above, linear, 0.0) - weight * xp.logaddexp(0.0, xp.where(is_above, -x, x))


def _kappa3_logcdf(z, a):
    power, start = a * xp.log(z), xp.log(a)
    return _log_share(start - power, 1 / a, xp.log(z) - start / a)


def _kappa3_small(z, a):
    """Return the probability up to a z below 1; the second derivative of the power of a tiny z alone would overflow."""
    scale = stop_gradient(xp.where(z > 0, z, 1.0))
    relative = z / scale
    return scale * (relative * xp.exp(-xp.log(a + scale**a * relative**a) / a))


def _kappa3_log_rest(z, a):
    """Return the logarithm of the probability above z, far out with the linear part -a log(z) apart."""
    power = xp.log(a) - a * xp.log(z)
    is_far = power < 0
    rest = xp.log(log1p_ratio(1.0, xp.exp(xp.where(is_far, power, 0.0))))
    near = xp.log(xp.logaddexp(0.0, xp.where(is_far, 0.0, power))) - xp.log(a)
    return weibull_logcdf(xp.where(is_far, rest - a * xp.log(z), near))


def _kappa3_rest(z, a):
    return -(1 / a + 1) * by_half(z, 1.0, lambda z: xp.log(a + z**a), lambda z: a * xp.log(z) + xp.log1p(a * z**-a))


def _mielke_rest(z, k, s):
    near = lambda z: sc.xlogy(k - 1, z) - (1 + k / s) * xp.log1p(z**s)
    return by_half(z, 1.0, near, lambda z: -(s + 1) * xp.log(z) - (1 + k / s) * xp.log1p(z**-s))


def _kappa3_quantile(share, log_share, a):
    return share * xp.exp((xp.log(a) - log_complement(a * log_share)) / a)


def _mielke_quantile(log_share, k, s):
    return xp.exp(log_share / k - log_complement(s / k * log_share) / s)


kappa3: Family = family(
    "kappa3",
    **scaled(lambda a: a, _kappa3_rest),
    logcdf=_kappa3_logcdf,
    cdf=lambda z, a: by_half(z, 1.0, lambda z: _kappa3_small(z, a), lambda z: xp.exp(_kappa3_logcdf(z, a))),
    sf=lambda z, a: by_half(z, 1.0, lambda z: 1 - _kappa3_small(z, a), lambda z: xp.exp(_kappa3_log_rest(z, a))),
    logsf=lambda z, a: by_half(z, 1.0, lambda z: xp.log1p(-_kappa3_small(z, a)), lambda z: _kappa3_log_rest(z, a)),
    ppf=lambda q, a: _kappa3_quantile(q, xp.log(q), a),
    isf=lambda q, a: _kappa3_quantile(1 - q, xp.log1p(-q), a),
)
mielke: Family = family(
    "mielke",
    **scaled(lambda k, s: k, _mielke_rest),
    logcdf=lambda z, k, s: _log_share(-s * xp.log(z), k / s, k * xp.log(z)),
    ppf=lambda q, k, s: _mielke_quantile(xp.log(q), k, s),
    isf=lambda q, k, s: _mielke_quantile(xp.log1p(-q), k, s),
)
powerlognorm: Family = family(
    "powerlognorm",
    "logsf ppf isf",
    **scaled(
        lambda c, s: c / s,
        lambda z, c, s: (
            -xp.log(z) - LOG_ROOT_2PI - 0.5 * xp.square(xp.log(z) / s) + (c - 1) * sc.log_ndtr(-xp.log(z) / s)
        ),
    ),
)


def _rice_mean(b):
    half = 0.25 * xp.square(b)
    return sqrt(pi / 2) * ((1 + 2 * half) * sc.i0e(half) + 2 * half * sc.i1e(half))


def _rice_density(z, b):
    """Return the density, which has no even powers of z."""
    is_near = z * b < 1
    near = xp.exp(-0.5 * (xp.square(z) + xp.square(b))) * sc.i0(xp.where(is_near, z * b, 0.0))
    return z * xp.where(is_near, near, xp.exp(-0.5 * xp.square(z - b)) * sc.i0e(xp.where(is_near, 1.0, z * b)))


def _rice_log_density(z, b):
    return xp.log(z) - 0.5 * xp.square(z - b) + xp.log(sc.i0e(z * b))


def _rice_cdf(z, b):
    return sc.chndtr(xp.square(z), 2.0, xp.square(b))


def _rice_logcdf(z, b):
    """Return the logarithm of the probability up to z, of a tiny one by its power of z."""
    is_tiny = z * (1 + b) < 1e-8
    power = 2 * xp.log(xp.where(is_tiny, z, 1.0)) - log(2) - 0.5 * xp.square(b)
    return xp.where(is_tiny, power, xp.log(_rice_cdf(xp.where(is_tiny, 1.0, z), b)))


def _rice_logsf(z, b):
    """Return the logarithm of the probability above z, of a tail by Gauss's rule."""
    is_tail = (z > b + 1) & (z < INF)
    point, mean = xp.where(is_tail, z, 2.0), xp.where(is_tail, b, 0.5)
    excess = point - mean
    length = stop_gradient(2 * DEPTH / (excess + xp.sqrt(xp.square(excess) + 2 * DEPTH)))
    start, points = _rice_log_density(point, mean), point[..., None] + length[..., None] * (0.5 + 0.5 * GAMMA_NODES)
    shares = xp.exp(_rice_log_density(points, mean[..., None]) - start[..., None]) @ GAMMA_WEIGHTS
    near = xp.log1p(-_rice_cdf(xp.where(is_tail, 0.5, z), b))
    return xp.where(is_tail, start + xp.log(0.5 * length * shares), near)


rice: Family = family(
    "rice",
    "cdf ppf",
    logcdf=_rice_logcdf,
    logsf=_rice_logsf,
    log_density=_rice_log_density,
    density=_rice_density,
    mean=_rice_mean,
    var=lambda b: 2 + xp.square(b) - xp.square(_rice_mean(b)),
)


recipinvgauss: Family = family(
    "recipinvgauss",
    open_ends=True,
    log_density=lambda z, mu: -xp.square(1 / mu - z) / (2 * z) - 0.5 * xp.log(z) - LOG_ROOT_2PI,
    logcdf=lambda z, mu: invgauss_logsf(1 / z, mu),
    logsf=lambda z, mu: invgauss_logcdf(1 / z, mu),
    mean=lambda mu: 1 / mu + 1,
    var=lambda mu: 1 / mu + 2,
)
wald: Family = family("wald", "log_density logcdf mean var", logsf=lambda z: invgauss_logsf(z, 1.0))


def _genexpon_log_sf(z, a, b, c):
    """Return -a z - b z (1 - (1 - exp(-x)) / x) for x = c z; close to 0 the factor of -b z is a series in x."""
    x = c * z
    is_near = x < 0.5
    near, far = xp.where(is_near, x, 0.0), xp.where(is_near, 1.0, x)
    total = 0.0 * near
    for k in reversed(range(2, 16)):
        total = near / k * (1 - total)
    return xp.where(is_near, -z * (a + b * total), -(a + b) * z - b * xp.expm1(-far) / c)


def _genexpon_hazard(z, a, b, c):
    return a - b * xp.expm1(-c * z)


def _genexpon_quantile(log_rest, a, b, c):
    """Return the point beyond which a share lies, by Lambert's function and two steps of Newton's method."""
    start = (b - c * log_rest) / (a + b)
    z = (start + xp.real(sc.lambertw(-b / (a + b) * xp.exp(-start)))) / c
    for _ in range(2):
        z = z + (_genexpon_log_sf(z, a, b, c) - log_rest) / _genexpon_hazard(z, a, b, c)
    return z


genexpon: Family = family(
    "genexpon",
    log_density=lambda z, *shapes: xp.log(_genexpon_hazard(z, *shapes)) + _genexpon_log_sf(z, *shapes),
    density=lambda z, *shapes: _genexpon_hazard(z, *shapes) * exponential(_genexpon_log_sf(z, *shapes)),
    logsf=_genexpon_log_sf,
    ppf=lambda q, a, b, c: _genexpon_quantile(xp.log1p(-q), a, b, c),
    isf=lambda q, a, b, c: _genexpon_quantile(xp.log(q), a, b, c),
)


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


def _normal_strip(low, high, width):
    """Return the probability of a standard normal between numbers whose middle is not negative."""
    is_narrow, density, size = narrow_normal(low, width)
    return xp.where(is_narrow, xp.exp(density) * size, sc.ndtr(-low) - sc.ndtr(-high))


alpha: Family = family(
    "alpha",
    "log_density cdf",
    sf=lambda z, a: _normal_strip(a - 1 / z, a, 1 / z) / sc.ndtr(a),
    ppf=lambda q, a: 1 / (a - normal_score(q * sc.ndtr(a))),
)
gibrat: Family = family(
    "gibrat",
    "mean var",
    log_density=lambda z: -LOG_ROOT_2PI - xp.log(z) - 0.5 * xp.square(xp.log(z)),
    **of_score(xp.log),
    ppf=lambda q: xp.exp(normal_score(q)),
    isf=lambda q: xp.exp(-normal_score(q)),
)
betaprime: Family = family(
    "betaprime",
    open_ends=False,
    **of_beta_shares(lambda z, a, b: (*_f_shares(z, 1.0, 1.0), a, b)),
    **of_powers(
        lambda z, a, b: -(a + b) * xp.log1p(z) - sc.betaln(a, b),
        lambda a, b: a - 1,
        far=lambda z, a, b: -(b + 1) * xp.log(z) - (a + b) * xp.log1p(1 / z) - sc.betaln(a, b),
    ),
    ppf=lambda q, a, b: truediv(*beta_quantile(q, a, b)),
    isf=lambda q, a, b: truediv(*beta_quantile(q, b, a)[::-1]),
)
burr: Family = family(
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
dgamma: Family = family(
    "dgamma",
    "mean var",
    **of_powers_of_size(lambda z, a: -z - sc.gammaln(a) - log(2), lambda a: a - 1),
    **_two_sided(
        lambda z, a: sc.gammaincc(a, z), lambda z, a: log_gamma_share(a, z), lambda q, a: sc.gammainccinv(a, q)
    ),
)
dweibull: Family = family(
    "dweibull",
    "mean",
    **of_powers_of_size(lambda z, c: xp.log(0.5 * c) - z**c, lambda c: c - 1),
    **_two_sided(lambda z, c: xp.exp(-(z**c)), lambda z, c: -(z**c), lambda q, c: (-xp.log(q)) ** (1 / c)),
    var=lambda c: sc.gamma(1 + 2 / c),
)
exponpow: Family = family(
    "exponpow",
    "ppf isf",
    **of_powers(lambda z, b: z**b - xp.expm1(z**b), lambda b: b - 1, factor=lambda b: b),
    logsf=lambda z, b: -xp.expm1(z**b),
)
exponweib: Family = family(
    "exponweib",
    "ppf",
    open_ends=lambda a, c: (a != 1) | (c != 1),
    **scaled(
        lambda a, c: a * c, lambda z, a, c: times_log(a - 1, weibull_logcdf(c * xp.log(z))) - z**c + sc.xlogy(c - 1, z)
    ),
    logcdf=lambda z, a, c: a * weibull_logcdf(c * xp.log(z)),
    isf=lambda q, a, c: (-xp.log(-xp.expm1(xp.log1p(-q) / a))) ** (1 / c),
)
fatiguelife: Family = family(
    "fatiguelife",
    "mean var",
    log_density=lambda z, c: (
        xp.log1p(z) - xp.square(z - 1) / (2 * z * c**2) - xp.log(2 * c) - LOG_ROOT_2PI - 1.5 * xp.log(z)
    ),
    **of_score(lambda z, c: (xp.sqrt(z) - 1 / xp.sqrt(z)) / c),
    ppf=lambda q, c: _fatiguelife_quantile(c * normal_score(q)),
    isf=lambda q, c: _fatiguelife_quantile(-c * normal_score(q)),
)


def _foldcauchy_log_density(z, c):
    """Return the logarithm of the sum of two densities, which has no odd powers of z or c."""
    size, apart = 1 + xp.square(z) + xp.square(c), 2 * z * c
    is_near = apart < 0.5 * size
    product = xp.where(is_near, xp.square(size) - xp.square(apart), (1 + xp.square(z - c)) * (1 + xp.square(z + c)))
    return log(2 / pi) + xp.log(size) - xp.log(product)


foldcauchy: Family = family(
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


foldnorm: Family = family(
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
gengamma: Family = family(
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
invweibull: Family = family(
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


loggamma: Family = family(
    "loggamma",
    "log_density cdf isf mean var",
    sf=lambda z, c: sc.gammaincc(c, xp.exp(z)),
    logcdf=_loggamma_logcdf,
    ppf=_loggamma_quantile,
)
loglaplace: Family = family(
    "loglaplace",
    "cdf sf ppf",
    **scaled(lambda c: 0.5 * c, lambda z, c: -c * xp.abs(xp.log(z)) - xp.log(z)),
    open_ends=True,
    isf=lambda q, c: _loglaplace_quantile(q, -c),
)


gumbel_r: Family = family("gumbel_r", "log_density logcdf ppf isf mean var entropy", logsf=lambda z: weibull_logcdf(-z))

gumbel_l: Family = family("gumbel_l", "log_density logsf ppf isf mean var entropy", logcdf=weibull_logcdf)

"""Define further families of positive values by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import pi, sqrt

from anyshape import numpy as xp
from anyshape.scipy import special as sc
from anyshape.scipy.stats.continuous import by_half
from anyshape.scipy.stats.distribution import exponential, log_complement, scaled
from anyshape.scipy.stats.extremes import log1p_ratio
from anyshape.scipy.stats.positive import invgauss_logcdf, invgauss_logsf, weibull_logcdf
from anyshape.scipy.stats.powers import LOG_ROOT_2PI
from anyshape.scipy.stats.source import family

levy_l = family(
    "levy_l",
    "isf mean var",
    log_density=lambda z: -LOG_ROOT_2PI - 1.5 * xp.log(-z) - 0.5 / xp.abs(z),
    cdf=lambda z: sc.erf(1 / xp.sqrt(-2 * z)),
    sf=lambda z: sc.erfc(1 / xp.sqrt(-2 * z)),
    ppf=lambda q: -0.5 / xp.square(sc.erfinv(q)),
)


def _log_share(x, weight, linear):
    """Return -weight log(1 + exp(x)); above 0 its part -weight x, which may not depend on a shape, is `linear`."""
    is_above = x > 0
    return xp.where(is_above, linear, 0.0) - weight * xp.logaddexp(0.0, xp.where(is_above, -x, x))


def _kappa3_logcdf(z, a):
    power, start = a * xp.log(z), xp.log(a)
    return _log_share(start - power, 1 / a, xp.log(z) - start / a)


def _kappa3_small(z, a):
    """Return the probability up to a z below 1."""
    return z * xp.exp(-xp.log(a + z**a) / a)


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
    return by_half(
        z,
        1.0,
        lambda z: sc.xlogy(k - 1, z) - (1 + k / s) * xp.log1p(z**s),
        lambda z: -(s + 1) * xp.log(z) - (1 + k / s) * xp.log1p(z**-s),
    )


def _kappa3_quantile(share, log_share, a):
    return share * xp.exp((xp.log(a) - log_complement(a * log_share)) / a)


def _mielke_quantile(log_share, k, s):
    return xp.exp(log_share / k - log_complement(s / k * log_share) / s)


kappa3 = family(
    "kappa3",
    **scaled(lambda a: a, _kappa3_rest),
    logcdf=_kappa3_logcdf,
    cdf=lambda z, a: by_half(z, 1.0, lambda z: _kappa3_small(z, a), lambda z: xp.exp(_kappa3_logcdf(z, a))),
    sf=lambda z, a: by_half(z, 1.0, lambda z: 1 - _kappa3_small(z, a), lambda z: xp.exp(_kappa3_log_rest(z, a))),
    logsf=lambda z, a: by_half(z, 1.0, lambda z: xp.log1p(-_kappa3_small(z, a)), lambda z: _kappa3_log_rest(z, a)),
    ppf=lambda q, a: _kappa3_quantile(q, xp.log(q), a),
    isf=lambda q, a: _kappa3_quantile(1 - q, xp.log1p(-q), a),
)
mielke = family(
    "mielke",
    **scaled(lambda k, s: k, _mielke_rest),
    logcdf=lambda z, k, s: _log_share(-s * xp.log(z), k / s, k * xp.log(z)),
    ppf=lambda q, k, s: _mielke_quantile(xp.log(q), k, s),
    isf=lambda q, k, s: _mielke_quantile(xp.log1p(-q), k, s),
)
powerlognorm = family(
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


rice = family(
    "rice",
    "cdf ppf",
    log_density=lambda z, b: xp.log(z) - 0.5 * xp.square(z - b) + xp.log(sc.i0e(z * b)),
    density=_rice_density,
    mean=_rice_mean,
    var=lambda b: 2 + xp.square(b) - xp.square(_rice_mean(b)),
)


recipinvgauss = family(
    "recipinvgauss",
    open_ends=True,
    log_density=lambda z, mu: -xp.square(1 / mu - z) / (2 * z) - 0.5 * xp.log(z) - LOG_ROOT_2PI,
    logcdf=lambda z, mu: invgauss_logsf(1 / z, mu),
    logsf=lambda z, mu: invgauss_logcdf(1 / z, mu),
    mean=lambda mu: 1 / mu + 1,
    var=lambda mu: 1 / mu + 2,
)
wald = family("wald", "log_density logcdf mean var", logsf=lambda z: invgauss_logsf(z, 1.0))


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


genexpon = family(
    "genexpon",
    log_density=lambda z, *shapes: xp.log(_genexpon_hazard(z, *shapes)) + _genexpon_log_sf(z, *shapes),
    density=lambda z, *shapes: _genexpon_hazard(z, *shapes) * exponential(_genexpon_log_sf(z, *shapes)),
    logsf=_genexpon_log_sf,
    ppf=lambda q, a, b, c: _genexpon_quantile(xp.log1p(-q), a, b, c),
    isf=lambda q, a, b, c: _genexpon_quantile(xp.log(q), a, b, c),
)

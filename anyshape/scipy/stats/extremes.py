"""Define families of extreme values and of logistic ones by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, sqrt
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.distribution import scaled
from anyshape.scipy.stats.positive import log_expm1, times_log, weibull_logcdf
from anyshape.scipy.stats.powers import LOG_ROOT_2PI
from anyshape.scipy.stats.source import family

NAN, EULER = np.nan, np.euler_gamma


def _choose(condition, value, shape, otherwise: float):
    """Return `value(shape)` where a condition holds; elsewhere it is computed with 1, and not used."""
    return xp.where(condition, value(xp.where(condition, shape, 1.0)), otherwise)


def _series(x, *coefficients: float):
    """Return the polynomial with these coefficients, of the constant first."""
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def log1p_ratio(x: Any, c: Any) -> Any:
    """Return log(1 + c x) / c, which is x for c = 0; by its series where c x is small."""
    product = xp.where((c == 0) & xp.isinf(x), 0.0, c * x)
    is_small, is_far = xp.abs(product) < 0.01, product > 1e17
    near = x * _series(xp.where(is_small, product, 0.0), *((-1) ** k / (k + 1) for k in range(10)))
    logs = [xp.log(xp.abs(xp.where(is_far, factor, 1.0))) for factor in (c, x)]  # whose slopes do not underflow
    logarithm = xp.where(is_far, logs[0] + logs[1], xp.log1p(xp.where(is_small | is_far, 0.0, product)))
    far = logarithm / xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, far)


def expm1_ratio(x: Any, c: Any) -> Any:
    """Return (exp(c x) - 1) / c, which is x for c = 0."""
    return x * sc.exprel(c * x)


ZETA = (1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.03692775514337, 1.0173430619844492)


def _log_gamma_ratio(c):
    """Return log(gamma(1 + c)) / c."""
    is_small = xp.abs(c) < 1e-3
    near = _series(xp.where(is_small, c, 0.0), -EULER, *((-1) ** k * z / k for k, z in enumerate(ZETA, 2)))
    far = xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, sc.gammaln(1 + far) / far)


def _log_gamma_curve(c):
    """Return (log(gamma(1 + 2 c)) - 2 log(gamma(1 + c))) / c**2."""
    is_small = xp.abs(c) < 1e-3
    near = _series(xp.where(is_small, c, 0.0), *((-1) ** k * z * (2**k - 2) / k for k, z in enumerate(ZETA, 2)))
    far = xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, (sc.gammaln(1 + 2 * far) - 2 * sc.gammaln(1 + far)) / xp.square(far))


def _extreme_mean(c):
    ratio = _log_gamma_ratio(c)
    return -ratio * sc.exprel(c * ratio)


def _extreme_var(c):
    curve = _log_gamma_curve(c)
    return xp.square(sc.gamma(1 + c)) * curve * sc.exprel(xp.square(c) * curve)


def _reduced(z, c):
    """Return -log(-log(cdf)) of the generalised extreme value distribution."""
    return log1p_ratio(z, -c)


genextreme = family(
    "genextreme",
    "entropy",
    open_ends=lambda c: c != 1,
    log_density=lambda z, c: -xp.exp(-_reduced(z, c)) - times_log(1 - c, _reduced(z, c)),
    logcdf=lambda z, c: -xp.exp(-_reduced(z, c)),
    logsf=lambda z, c: weibull_logcdf(-_reduced(z, c)),
    ppf=lambda q, c: expm1_ratio(-xp.log(-xp.log(q)), -c),
    isf=lambda q, c: expm1_ratio(-xp.log(-xp.log1p(-q)), -c),
    mean=lambda c: _choose(c > -1, _extreme_mean, c, NAN),
    var=lambda c: _choose(c > -0.5, _extreme_var, c, NAN),
)
genpareto = family(
    "genpareto",
    "mean var entropy",
    log_density=lambda z, c: -times_log(c + 1, log1p_ratio(z, c)),
    logsf=lambda z, c: -log1p_ratio(z, c),
    ppf=lambda q, c: expm1_ratio(-xp.log1p(-q), c),
    isf=lambda q, c: expm1_ratio(-xp.log(q), c),
)
genlogistic = family(
    "genlogistic",
    "mean var entropy",
    **scaled(lambda c: c, lambda z, c: sc.log_expit(-z) - c * xp.logaddexp(0.0, -z)),
    logcdf=lambda z, c: -c * xp.logaddexp(0.0, -z),
    ppf=lambda q, c: -log_expm1(-xp.log(q) / c),
    isf=lambda q, c: -log_expm1(-xp.log1p(-q) / c),
)
genhalflogistic = family(
    "genhalflogistic",
    "entropy",
    log_density=lambda z, c: log(2) + sc.xlog1py(1 / c - 1, -c * z) - 2 * xp.log1p(xp.exp(-log1p_ratio(z, -c))),
    cdf=lambda z, c: xp.tanh(0.5 * log1p_ratio(z, -c)),
    logsf=lambda z, c: log(2) + sc.log_expit(-log1p_ratio(z, -c)),
    ppf=lambda q, c: expm1_ratio(2 * xp.arctanh(q), -c),
    isf=lambda q, c: expm1_ratio(xp.log(2 - q) - xp.log(q), -c),
)

MOYAL_END = -14.0  # where exp(-exp(-z) / 2) is exactly 0, which has derivatives 0 from there on


def _moyal_root(z):
    return xp.exp(-0.5 * xp.maximum(z, MOYAL_END)) / sqrt(2)


moyal = family(
    "moyal",
    "density ppf mean var",
    log_density=lambda z: -0.5 * (z + xp.exp(-z)) - LOG_ROOT_2PI,
    cdf=lambda z: sc.erfc(_moyal_root(z)),
    sf=lambda z: sc.erf(_moyal_root(z)),
    isf=lambda q: -xp.log(2 * xp.square(sc.erfinv(q))),
)

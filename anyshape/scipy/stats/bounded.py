"""Define families on an interval by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import LOG_ROOT_2PI, by_half
from anyshape.scipy.stats.distribution import Form, constant
from anyshape.scipy.stats.extremes import expm1_ratio
from anyshape.scipy.stats.positive import beta_share
from anyshape.scipy.stats.powers import of_score


def _unit_interval(*shapes: Any) -> tuple[Any, Any]:
    return 0.0, 1.0


JOHNSONSB = Form(
    shapes="a b",
    valid=lambda a, b: (b > 0) & (a == a),
    support=_unit_interval,
    open_ends=True,
    log_density=lambda z, a, b: (
        xp.log(b) - xp.log(z) - xp.log1p(-z) - LOG_ROOT_2PI - 0.5 * xp.square(a + b * sc.logit(z))
    ),
    **of_score(lambda z, a, b: a + b * sc.logit(z)),
    ppf=lambda q, a, b: sc.expit((sc.ndtri(q) - a) / b),
    isf=lambda q, a, b: sc.expit(-(sc.ndtri(q) + a) / b),
)


def _rdist_quantile(q: Any, c: Any) -> Any:
    below = lambda function: lambda q: 2 * function(0.5 * c, 0.5 * c, q) - 1
    return by_half(q, 0.5, below(sc.betaincinv), lambda q: -below(sc.betainccinv)(q))


RDIST = Form(
    shapes="c",
    support=lambda c: (-1.0, 1.0),
    log_density=lambda z, c: sc.xlog1py(0.5 * c - 1, -xp.square(z)) - (c - 1) * log(2) - sc.betaln(0.5 * c, 0.5 * c),
    cdf=lambda z, c: beta_share(0.5 * (1 + z), 0.5 * (1 - z), 0.5 * c, 0.5 * c),
    sf=lambda z, c: beta_share(0.5 * (1 - z), 0.5 * (1 + z), 0.5 * c, 0.5 * c),
    ppf=_rdist_quantile,
    isf=lambda q, c: -_rdist_quantile(q, c),
    mean=constant(0.0),
    var=lambda c: 1 / (1 + c),
)


def _argus_share(z: Any, chi: Any) -> Any:
    return sc.gammainc(1.5, 0.5 * xp.square(chi) * (1 - z) * (1 + z))


ARGUS = Form(
    shapes="chi",
    support=_unit_interval,
    log_density=lambda z, chi: (
        3 * xp.log(chi)
        - LOG_ROOT_2PI
        - xp.log(0.5 * _argus_share(0.0, chi))
        + xp.log(z)
        + 0.5 * xp.log1p(-z * z)
        - 0.5 * xp.square(chi) * (1 - z * z)
    ),
    sf=lambda z, chi: _argus_share(z, chi) / _argus_share(0.0, chi),
    isf=lambda q, chi: xp.sqrt(
        xp.maximum(1 - 2 * sc.gammaincinv(1.5, q * _argus_share(0.0, chi)) / xp.square(chi), 0.0)
    ),
    mean=lambda chi: sqrt(pi / 2) * chi * sc.ive(1, 0.25 * xp.square(chi)) / _argus_share(0.0, chi),
)
LOGUNIFORM = Form(
    shapes="a b",
    valid=lambda a, b: (a > 0) & (b > a),
    support=lambda a, b: (a, b),
    log_density=lambda z, a, b: -xp.log(z) - xp.log(xp.log(b / a)),
    cdf=lambda z, a, b: xp.log(z / a) / xp.log(b / a),
    sf=lambda z, a, b: xp.log(b / z) / xp.log(b / a),
    ppf=lambda q, a, b: xp.exp((1 - q) * xp.log(a) + q * xp.log(b)),
    isf=lambda q, a, b: xp.exp(q * xp.log(a) + (1 - q) * xp.log(b)),
    mean=lambda a, b: (b - a) / xp.log(b / a),
    var=lambda a, b: 0.5 * (b - a) * (b + a) / xp.log(b / a) - xp.square((b - a) / xp.log(b / a)),
    entropy=lambda a, b: 0.5 * (xp.log(a) + xp.log(b)) + xp.log(xp.log(b / a)),
)


def _trapezoid(z: Any, c: Any, d: Any, rise: Any, flat: Any, fall: Any) -> Any:
    """Return one of three functions, of z / c below c, of z up to d, and of (1 - z) / (1 - d) above."""
    is_low, is_high = z < c, z > d
    low = xp.where(is_low, z, 1.0) / xp.where(is_low, c, 1.0)
    high = xp.where(is_high, 1 - z, 1.0) / xp.where(is_high, 1 - d, 1.0)
    return xp.where(is_low, rise(low), xp.where(is_high, fall(high), flat(z)))


def _trapezoid_cdf(z: Any, c: Any, d: Any) -> Any:
    rise, fall = lambda u: c * xp.square(u), lambda u: 1 + d - c - (1 - d) * xp.square(u)
    return _trapezoid(z, c, d, rise, lambda z: 2 * z - c, fall) / (1 + d - c)


def _trapezoid_quantile(q: Any, c: Any, d: Any) -> Any:
    width = 1 + d - c
    is_low, is_high = q * width < c, (1 - q) * width < 1 - d
    low = xp.sqrt(xp.where(is_low, q * width * c, 1.0))
    high = 1 - xp.sqrt(xp.where(is_high, (1 - q) * width * (1 - d), 1.0))
    return xp.where(is_low, low, xp.where(is_high, high, 0.5 * (q * width + c)))


TRAPEZOID = Form(
    shapes="c d",
    valid=lambda c, d: (c >= 0) & (c <= d) & (d <= 1),
    support=_unit_interval,
    log_density=lambda z, c, d: _trapezoid(z, c, d, xp.log, lambda z: 0.0, xp.log) - xp.log(0.5 * (1 + d - c)),
    cdf=_trapezoid_cdf,
    sf=lambda z, c, d: _trapezoid_cdf(1 - z, 1 - d, 1 - c),
    ppf=_trapezoid_quantile,
    mean=lambda c, d: (1 + d + d * d - c * c) / (3 * (1 + d - c)),
    var=lambda c, d: (
        (1 + d + d**2 + d**3 - c**3) / (6 * (1 + d - c)) - xp.square((1 + d + d * d - c * c) / (3 * (1 + d - c)))
    ),
    entropy=lambda c, d: 0.5 * (1 - d + c) / (1 + d - c) + xp.log(0.5 * (1 + d - c)),
)


def _truncpareto_moment(n: int, b: Any, c: Any) -> Any:
    return sc.exprel((n - b) * xp.log(c)) / sc.exprel(-b * xp.log(c))


TRUNCPARETO = Form(
    shapes="b c",
    valid=lambda b, c: (xp.abs(b) > 0) & (c > 1),
    safe=2.0,
    support=lambda b, c: (1.0, c),
    log_density=lambda z, b, c: -(b + 1) * xp.log(z) - xp.log(expm1_ratio(xp.log(c), -b)),
    cdf=lambda z, b, c: expm1_ratio(xp.log(z), -b) / expm1_ratio(xp.log(c), -b),
    sf=lambda z, b, c: c**-b * expm1_ratio(xp.log(c / z), b) / expm1_ratio(xp.log(c), -b),
    ppf=lambda q, b, c: xp.exp(-xp.log1p(q * xp.expm1(-b * xp.log(c))) / b),
    isf=lambda q, b, c: xp.exp(-xp.log(c**-b - q * xp.expm1(-b * xp.log(c))) / b),
    mean=lambda b, c: _truncpareto_moment(1, b, c),
    var=lambda b, c: _truncpareto_moment(2, b, c) - xp.square(_truncpareto_moment(1, b, c)),
    entropy=lambda b, c: xp.log(expm1_ratio(xp.log(c), -b)) - (b + 1) * (xp.log(c) / xp.expm1(b * xp.log(c)) - 1 / b),
)
TRUNCWEIBULL_MIN = Form(
    shapes="c a b",
    valid=lambda c, a, b: (c > 0) & (a >= 0) & (b > a),
    support=lambda c, a, b: (a, b),
    log_density=lambda z, c, a, b: xp.log(c) + sc.xlogy(c - 1, z) + a**c - z**c - xp.log(-xp.expm1(a**c - b**c)),
    cdf=lambda z, c, a, b: xp.expm1(a**c - z**c) / xp.expm1(a**c - b**c),
    sf=lambda z, c, a, b: xp.exp(a**c - z**c) * xp.expm1(z**c - b**c) / xp.expm1(a**c - b**c),
    ppf=lambda q, c, a, b: (a**c - xp.log1p(q * xp.expm1(a**c - b**c))) ** (1 / c),
    isf=lambda q, c, a, b: (a**c - xp.log(q + (1 - q) * xp.exp(a**c - b**c))) ** (1 / c),
)

FORMS = {
    "argus": ARGUS,
    "johnsonsb": JOHNSONSB,
    "loguniform": LOGUNIFORM,
    "rdist": RDIST,
    "trapezoid": TRAPEZOID,
    "truncpareto": TRUNCPARETO,
    "truncweibull_min": TRUNCWEIBULL_MIN,
    "reciprocal": LOGUNIFORM,
}

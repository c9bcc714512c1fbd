"""Define families on an interval by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from __future__ import annotations

from math import log, pi, sqrt
from typing import Any

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import LOG_ROOT_2PI, NORM, by_half
from anyshape.scipy.stats.distribution import Form, constant
from anyshape.scipy.stats.extremes import expm1_ratio
from anyshape.scipy.stats.positive import beta_share
from anyshape.scipy.stats.powers import narrow_normal, of_score
from anyshape.transforms.control import stop_gradient


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
    sf=lambda z, b, c: c**-b * expm1_ratio(xp.log1p((c - z) / z), b) / expm1_ratio(xp.log(c), -b),
    ppf=lambda q, b, c: xp.exp(-xp.log1p(q * xp.expm1(-b * xp.log(c))) / b),
    isf=lambda q, b, c: xp.exp(-xp.log(c**-b - q * xp.expm1(-b * xp.log(c))) / b),
    mean=lambda b, c: _truncpareto_moment(1, b, c),
    var=lambda b, c: _truncpareto_moment(2, b, c) - xp.square(_truncpareto_moment(1, b, c)),
    entropy=lambda b, c: xp.log(expm1_ratio(xp.log(c), -b)) - (b + 1) * (xp.log(c) / xp.expm1(b * xp.log(c)) - 1 / b),
)


def _power_difference(z: Any, b: Any, c: Any) -> Any:
    """Return z**c - b**c for z below b; close to b by the difference of the two."""
    is_near = b - z < 0.5 * b
    near = xp.where(is_near, b, 1.0)
    small = near**c * xp.expm1(c * xp.log1p(xp.where(is_near, z - near, 0.0) / near))
    return xp.where(is_near, small, z**c - xp.where(is_near, 1.0, b) ** c)


TRUNCWEIBULL_MIN = Form(
    shapes="c a b",
    valid=lambda c, a, b: (c > 0) & (a >= 0) & (b > a),
    support=lambda c, a, b: (a, b),
    log_density=lambda z, c, a, b: xp.log(c) + sc.xlogy(c - 1, z) + a**c - z**c - xp.log(-xp.expm1(a**c - b**c)),
    cdf=lambda z, c, a, b: xp.expm1(a**c - z**c) / xp.expm1(a**c - b**c),
    sf=lambda z, c, a, b: xp.exp(a**c - z**c) * xp.expm1(_power_difference(z, b, c)) / xp.expm1(a**c - b**c),
    ppf=lambda q, c, a, b: (a**c - xp.log1p(q * xp.expm1(a**c - b**c))) ** (1 / c),
    isf=lambda q, c, a, b: (a**c - xp.log(q + (1 - q) * xp.exp(a**c - b**c))) ** (1 / c),
)


def _normal_mass(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the probability of a standard normal between a and b as a logarithm and a factor, by the smaller tail.

    That of a narrow interval has its width as a factor, whose logarithm would lose its second derivatives.
    """
    right = a > 0
    low, high = xp.where(right, -b, a), xp.where(right, -a, b)
    is_narrow, density, width = narrow_normal(a, b - a)
    is_open = xp.isinf(low) | is_narrow  # whose infinite derivative would meet a probability of 0
    far, near = sc.log_ndtr(xp.where(is_open, -1.0, low)), sc.log_ndtr(high)
    share = xp.where(is_open, 0.0, xp.exp(far - xp.where(is_open, 0.0, near)))
    return xp.where(is_narrow, density, near), xp.where(is_narrow, width, 1 - share)


def _log_normal_mass(a: Any, b: Any) -> Any:
    logarithm, factor = _normal_mass(a, b)
    return logarithm + xp.log(factor)


def _truncated_share(low: Any, high: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the probability between two points as a logarithm and a factor."""
    (part, part_factor), (whole, factor) = _normal_mass(low, high), _normal_mass(a, b)
    return part - whole, part_factor / factor


def _smaller_share(z: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Return whether the probability up to z is close to 1, and that of the rest there, elsewhere itself."""
    logarithm, factor = _truncated_share(a, z, a, b)
    is_near = (stop_gradient(xp.exp(logarithm) * factor) > 0.9) & (z < b)
    return is_near, *_truncated_share(xp.where(is_near, z, a), xp.where(is_near, b, z), a, b)


def _truncated_cdf(z: Any, a: Any, b: Any) -> Any:
    is_near, logarithm, factor = _smaller_share(z, a, b)
    share = xp.exp(logarithm) * factor
    return xp.where(is_near, 1 - share, share)


def _truncated_logcdf(z: Any, a: Any, b: Any) -> Any:
    is_near, logarithm, factor = _smaller_share(z, a, b)
    rest = xp.where(is_near, xp.exp(logarithm) * factor, 0.0)
    return xp.where(is_near, xp.log1p(-rest), logarithm + xp.log(factor))


def _truncated_quantile(q: Any, a: Any, b: Any) -> Any:
    """Return the quantile of a truncated normal, on the side where its probability is small."""
    below = sc.ndtr(a) + q * (sc.ndtr(b) - sc.ndtr(a))
    is_right = below > 0.5
    right = -sc.ndtri(sc.ndtr(-b) + (1 - q) * (sc.ndtr(-a) - sc.ndtr(-b)))
    return xp.where(is_right, right, sc.ndtri(xp.where(is_right, 0.5, below)))


def _truncation(a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
    """Return the densities of a truncated normal at its ends, and the ends times their densities."""
    mass = _log_normal_mass(a, b)
    finite_a, finite_b = xp.where(xp.isinf(a), 0.0, a), xp.where(xp.isinf(b), 0.0, b)
    at_a = xp.where(xp.isinf(a), 0.0, xp.exp(NORM.log_density(finite_a) - mass))
    at_b = xp.where(xp.isinf(b), 0.0, xp.exp(NORM.log_density(finite_b) - mass))
    return at_a, at_b, finite_a * at_a, finite_b * at_b


def _truncated_mean(a: Any, b: Any) -> Any:
    at_a, at_b, _, _ = _truncation(a, b)
    return at_a - at_b


def _truncated_var(a: Any, b: Any) -> Any:
    at_a, at_b, first, last = _truncation(a, b)
    return 1 + first - last - xp.square(at_a - at_b)


def _truncated_entropy(a: Any, b: Any) -> Any:
    _, _, first, last = _truncation(a, b)
    return LOG_ROOT_2PI + 0.5 + _log_normal_mass(a, b) + 0.5 * (first - last)


TRUNCNORM = Form(
    shapes="a b",
    support=lambda a, b: (a, b),
    valid=lambda a, b: a < b,
    log_density=lambda z, a, b: NORM.log_density(z) - _log_normal_mass(a, b),
    cdf=_truncated_cdf,
    sf=lambda z, a, b: _truncated_cdf(-z, -b, -a),
    logcdf=_truncated_logcdf,
    logsf=lambda z, a, b: _truncated_logcdf(-z, -b, -a),
    ppf=_truncated_quantile,
    isf=lambda q, a, b: -_truncated_quantile(q, -b, -a),
    mean=_truncated_mean,
    var=_truncated_var,
    entropy=_truncated_entropy,
)

FORMS = {
    "argus": ARGUS,
    "johnsonsb": JOHNSONSB,
    "loguniform": LOGUNIFORM,
    "rdist": RDIST,
    "trapezoid": TRAPEZOID,
    "truncnorm": TRUNCNORM,
    "truncpareto": TRUNCPARETO,
    "truncweibull_min": TRUNCWEIBULL_MIN,
    "reciprocal": LOGUNIFORM,
}

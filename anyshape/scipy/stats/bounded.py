"""Define families on an interval, and of angles, by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi, sqrt
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats import powers
from anyshape.scipy.stats.distribution import Family, Function, constant, exponential
from anyshape.scipy.stats.source import family
from anyshape.support.true_types import has_type
from anyshape.transforms.control import stop_gradient

johnsonsb: Family = family(
    "johnsonsb",
    log_density=lambda z, a, b: (
        xp.log(b) - xp.log(z) - xp.log1p(-z) - powers.LOG_ROOT_2PI - 0.5 * xp.square(a + b * sc.logit(z))
    ),
    **powers.of_score(lambda z, a, b: a + b * sc.logit(z)),
    ppf=lambda q, a, b: sc.expit((powers.normal_score(q) - a) / b),
    isf=lambda q, a, b: sc.expit(-(powers.normal_score(q) + a) / b),
)


def _rdist_quantile(q, c):
    below = lambda function: lambda q: 2 * function(0.5 * c, 0.5 * c, q) - 1
    return powers.by_half(q, 0.5, below(sc.betaincinv), lambda q: -below(sc.betainccinv)(q))


rdist: Family = family(
    "rdist",
    log_density=lambda z, c: sc.xlogy(0.5 * c - 1, (1 - z) * (1 + z)) - (c - 1) * log(2) - sc.betaln(0.5 * c, 0.5 * c),
    **powers.of_beta_shares(lambda z, c: (0.5 * (1 + z), 0.5 * (1 - z), 0.5 * c, 0.5 * c)),
    ppf=_rdist_quantile,
    isf=lambda q, c: -_rdist_quantile(q, c),
    mean=constant(0.0),
    var=lambda c: 1 / (1 + c),
)


def _argus_share(z, chi):
    return sc.gammainc(1.5, 0.5 * xp.square(chi) * (1 - z) * (1 + z))


def _argus_log_density(square, chi):
    """Return the logarithm of the density by the square of z, without its factor z."""
    scale = 3 * xp.log(chi) - powers.LOG_ROOT_2PI - xp.log(0.5 * _argus_share(0.0, chi))
    return scale + 0.5 * xp.log1p(-square) - 0.5 * xp.square(chi) * (1 - square)


def _argus_small_cdf(z, chi) -> tuple[Any, Any]:
    """Return where z is small, and the probability up to it there: an integral over squares."""
    is_small = z * (1 + chi) < 0.7
    half = xp.where(is_small, 0.5 * xp.square(z), 0.0)
    squares = half[..., None] * (1 + powers.NODES)
    return is_small, 0.5 * half * (xp.exp(_argus_log_density(squares, (chi + 0 * z)[..., None])) @ powers.WEIGHTS)


def _argus_sf(z, chi):
    is_small, rest = _argus_small_cdf(z, chi)
    return xp.where(is_small, 1 - rest, _argus_share(xp.where(is_small, 0.5, z), chi) / _argus_share(0.0, chi))


def _argus_cdf(z, chi):
    is_small, share = _argus_small_cdf(z, chi)
    return xp.where(is_small, share, 1 - _argus_sf(xp.where(is_small, 0.7, z), chi))


argus: Family = family(
    "argus",
    "log_density mean",
    density=lambda z, chi: z * exponential(_argus_log_density(z * z, chi)),
    cdf=_argus_cdf,
    sf=_argus_sf,
    isf=lambda q, chi: xp.sqrt(
        xp.maximum(1 - 2 * sc.gammaincinv(1.5, q * _argus_share(0.0, chi)) / xp.square(chi), 0.0)
    ),
)


def _trapezoid(z, c, d, rise, flat, fall):
    """Return one of three functions, of z / c below c, of z up to d, and of (1 - z) / (1 - d) above."""
    is_low, is_high = z < c, z > d
    low = xp.where(is_low, z, 1.0) / xp.where(is_low, c, 1.0)
    high = xp.where(is_high, 1 - z, 1.0) / xp.where(is_high, 1 - d, 1.0)
    return xp.where(is_low, rise(low), xp.where(is_high, fall(high), flat(z)))


def _trapezoid_cdf(z, c, d):
    width = 1 + d - c
    rise, fall = lambda u: c * xp.square(u) / width, lambda u: 1 - (1 - d) * xp.square(u) / width
    return _trapezoid(z, c, d, rise, lambda z: (2 * z - c) / width, fall)


def _trapezoid_logcdf(z, c, d):
    width = 1 + d - c
    rise, fall = lambda u: xp.log(c / width) + 2 * xp.log(u), lambda u: xp.log1p(-(1 - d) * xp.square(u) / width)
    return _trapezoid(z, c, d, rise, lambda z: xp.log((2 * z - c) / width), fall)


def _trapezoid_quantile(q, c, d):
    width = 1 + d - c
    is_low, is_high = q * width < c, (1 - q) * width < 1 - d
    low = xp.sqrt(xp.where(is_low, q * width * c, 1.0))
    high = 1 - xp.sqrt(xp.where(is_high, (1 - q) * width * (1 - d), 1.0))
    return xp.where(is_low, low, xp.where(is_high, high, 0.5 * (q * width + c)))


trapezoid: Family = family(
    "trapezoid",
    "entropy",
    log_density=lambda z, c, d: _trapezoid(z, c, d, xp.log, lambda z: 0.0, xp.log) - xp.log(0.5 * (1 + d - c)),
    cdf=_trapezoid_cdf,
    logcdf=_trapezoid_logcdf,
    sf=lambda z, c, d: powers.by_half(
        z, 0.5, lambda z: 1 - _trapezoid_cdf(z, c, d), lambda z: _trapezoid_cdf(1 - z, 1 - d, 1 - c)
    ),
    ppf=_trapezoid_quantile,
    isf=lambda q, c, d: 1 - _trapezoid_quantile(q, 1 - d, 1 - c),
    mean=lambda c, d: (1 + d + d * d - c * c) / (3 * (1 + d - c)),
    var=lambda c, d: (
        (1 + d + d**2 + d**3 - c**3) / (6 * (1 + d - c)) - xp.square((1 + d + d * d - c * c) / (3 * (1 + d - c)))
    ),
)


def _swell(x, rate):
    """Return (1 - exp(-rate x)) / rate, which is x for rate 0."""
    if has_type(rate, int):
        return -xp.expm1(-rate * x) / rate if rate else x
    is_slow = xp.abs(rate * x) < 0.5
    fast = xp.where(is_slow, 1.0, rate)
    return xp.where(is_slow, powers.expm1_ratio(x, xp.where(is_slow, -rate, 0.0)), -xp.expm1(-fast * x) / fast)


def _length(share, rest, width, rate):
    """Return the x whose swell, by that of the width, is a share; by 1 minus the share where that is smaller."""
    part = share * _swell(width, rate)
    if has_type(rate, int) and not rate:
        return part
    is_near = rate * part < 0.5
    far = xp.log(xp.where(is_near, 1.0, rest + share * xp.exp(-xp.maximum(rate * width, 0.0))))
    return xp.where(is_near, powers.log1p_ratio(xp.where(is_near, part, 0.0), -rate), -far / rate)


def _between(
    below: Function, above: Function, whole: Function, from_low: Function, from_high: Function, rate: Function
) -> dict[str, Function]:
    """Return the functions of a family, where a rising function of points has a density exp(-rate x), cut at two ends.

    Three functions give the differences of x to both ends, and that of the ends. Two give points by their differences.
    """

    def cdf(z, *shapes, turned: bool = False):
        low, high, whole_swell = below(z, *shapes), above(z, *shapes), _swell(whole(*shapes), rate(*shapes))
        share = _swell(low, rate(*shapes)) / whole_swell
        rest = xp.exp(-rate(*shapes) * low) * _swell(high, rate(*shapes)) / whole_swell
        is_small = share < rest
        smaller = xp.where(is_small, share, rest)
        return xp.where(is_small != turned, smaller, 1 - smaller)

    def quantile(share, rest, shapes: tuple[Any, ...]):
        width, speed = whole(*shapes), rate(*shapes)
        low, high = _length(share, rest, width, speed), _length(rest, share, width, -speed)
        is_low = xp.where(xp.abs(speed * width) > 700, speed * width > 0, xp.abs(low) < xp.abs(high))
        low, high = xp.where(is_low, low, 0.0), xp.where(is_low, 0.0, high)
        return xp.where(is_low, from_low(low, *shapes), from_high(high, *shapes))

    return {
        "cdf": cdf,
        "sf": lambda z, *shapes: cdf(z, *shapes, turned=True),
        "ppf": lambda q, *shapes: quantile(q, 1 - q, shapes),
        "isf": lambda q, *shapes: quantile(1 - q, q, shapes),
    }


loguniform, reciprocal = (
    family(
        name,
        "entropy",
        log_density=lambda z, a, b: -xp.log(z) - xp.log(xp.log(b / a)),
        **_between(
            lambda z, a, b: xp.log1p((z - a) / a),
            lambda z, a, b: xp.log1p((b - z) / z),
            lambda a, b: xp.log(b / a),
            lambda x, a, b: a * xp.exp(x),
            lambda x, a, b: b * xp.exp(-x),
            lambda a, b: 0,
        ),
        mean=lambda a, b: (b - a) / xp.log(b / a),
        var=lambda a, b: 0.5 * (b - a) * (b + a) / xp.log(b / a) - xp.square((b - a) / xp.log(b / a)),
    )
    for name in ("loguniform", "reciprocal")
)
bradford: Family = family(
    "bradford",
    log_density=lambda z, c: -xp.log(powers.log1p_ratio(1.0, c)) - xp.log1p(c * z),
    **_between(
        powers.log1p_ratio,
        lambda z, c: powers.log1p_ratio((1 - z) / (1 + c * z), c),
        lambda c: powers.log1p_ratio(1.0, c),
        lambda x, c: _swell(x, -c),
        lambda x, c: 1 - (1 + c) * _swell(x, c),
        lambda c: 0,
    ),
)
truncexpon: Family = family(
    "truncexpon",
    "log_density",
    **_between(lambda z, b: z, lambda z, b: b - z, lambda b: b, lambda x, b: x, lambda x, b: b - x, lambda b: 1),
)


def _truncpareto_moment(n: int, b, c):
    return sc.exprel((n - b) * xp.log(c)) / sc.exprel(-b * xp.log(c))


truncpareto: Family = family(
    "truncpareto",
    entropy=lambda b, c: (
        xp.log(powers.expm1_ratio(xp.log(c), -b)) - (b + 1) * (xp.log(c) / xp.expm1(b * xp.log(c)) - 1 / b)
    ),
    valid=lambda b, c: (xp.abs(b) > 0) & (c > 1),
    safe=2.0,
    log_density=lambda z, b, c: -(b + 1) * xp.log(z) - xp.log(powers.expm1_ratio(xp.log(c), -b)),
    **_between(
        lambda z, b, c: xp.log(z),
        lambda z, b, c: xp.log1p((c - z) / z),
        lambda b, c: xp.log(c),
        lambda x, b, c: xp.exp(x),
        lambda x, b, c: c * xp.exp(-x),
        lambda b, c: b,
    ),
    mean=lambda b, c: _truncpareto_moment(1, b, c),
    var=lambda b, c: _truncpareto_moment(2, b, c) - xp.square(_truncpareto_moment(1, b, c)),
)


def _power_rise(low, high, c):
    """Return high**c - low**c; where they are close, by the difference of the two."""
    is_near = high - low < 0.5 * high
    near = xp.where(is_near, high, 1.0)
    small = -(near**c) * xp.expm1(c * xp.log1p(xp.where(is_near, low - near, 0.0) / near))
    return xp.where(is_near, small, high**c - low**c)


def _power_ahead(low, x, c):
    """Return (low**c + x)**(1 / c); where x is smaller, by its share."""
    is_near = xp.abs(x) < low**c
    near = xp.where(is_near, low, 1.0)
    ahead = near * xp.exp(xp.log1p(xp.where(is_near, x, 0.0) / near**c) / c)
    return xp.where(is_near, ahead, (low**c + xp.where(is_near, 1.0, x)) ** (1 / c))


truncweibull_min: Family = family(
    "truncweibull_min",
    "log_density",
    **_between(
        lambda z, c, a, b: _power_rise(a, z, c),
        lambda z, c, a, b: _power_rise(z, b, c),
        lambda c, a, b: _power_rise(a, b, c),
        lambda x, c, a, b: _power_ahead(a, x, c),
        lambda x, c, a, b: _power_ahead(b, -x, c),
        lambda c, a, b: 1,
    ),
)


def _normal_mass(a, b) -> tuple[Any, Any]:
    """Return the probability of a standard normal between a and b as a logarithm and a factor, by the smaller tail.

    That of a narrow interval has its width as a factor, whose logarithm would lose its second derivatives.
    """
    right = a > 0
    low, high = xp.where(right, -b, a), xp.where(right, -a, b)
    is_narrow, density, width = powers.narrow_normal(a, b - a)
    is_open = xp.isinf(low) | is_narrow  # whose infinite derivative would meet a probability of 0
    far, near = sc.log_ndtr(xp.where(is_open, -1.0, low)), sc.log_ndtr(high)
    share = xp.where(is_open, 0.0, xp.exp(far - xp.where(is_open, 0.0, near)))
    return xp.where(is_narrow, density, near), xp.where(is_narrow, width, 1 - share)


def _log_normal_mass(a, b):
    logarithm, factor = _normal_mass(a, b)
    return logarithm + xp.log(factor)


def _truncated_share(low, high, a, b) -> tuple[Any, Any]:
    """Return the probability between two points as a logarithm and a factor."""
    (part, part_factor), (whole, factor) = _normal_mass(low, high), _normal_mass(a, b)
    return part - whole, part_factor / factor


def _smaller_share(z, a, b) -> tuple[Any, Any, Any]:
    """Return whether the probability up to z is close to 1, and that of the rest there, elsewhere itself."""
    logarithm, factor = _truncated_share(a, z, a, b)
    is_near = (stop_gradient(xp.exp(logarithm) * factor) > 0.9) & (z < b)
    return is_near, *_truncated_share(xp.where(is_near, z, a), xp.where(is_near, b, z), a, b)


def _truncated_cdf(z, a, b):
    is_near, logarithm, factor = _smaller_share(z, a, b)
    share = xp.exp(logarithm) * factor
    return xp.where(is_near, 1 - share, share)


def _truncated_logcdf(z, a, b):
    is_near, logarithm, factor = _smaller_share(z, a, b)
    rest = xp.where(is_near, xp.exp(logarithm) * factor, 0.0)
    return xp.where(is_near, xp.log1p(-rest), logarithm + xp.log(factor))


def _beyond_end(q, a, b) -> tuple[Any, Any]:
    """Return whether a quantile is beside the lower end, and its distance from there, a series in q / density."""
    end = xp.where(xp.isinf(a), 0.0, a)
    logarithm, factor = _normal_mass(a, b)
    distance = q * xp.exp(logarithm - powers.normal_log_density(end)) * factor
    is_beside = ~xp.isinf(a) & (distance * (1 + xp.abs(end)) < 1e-4)
    x, square = xp.where(is_beside, distance, 0.0), xp.square(end)
    return is_beside, x * (1 + x * (end / 2 + x * ((2 * square + 1) / 6 + x * end * (6 * square + 7) / 24)))


def _truncated_quantile(q, a, b):
    """Return the quantile of a truncated normal, from the end beside it, or on the side of the smaller probability."""
    (is_low, ahead), (is_high, behind) = _beyond_end(q, a, b), _beyond_end(1 - q, -b, -a)
    middle = _quantile_inside(xp.where(is_low | is_high, 0.5, q), a, b)
    return xp.where(is_low, a + ahead, xp.where(is_high, b - behind, middle))


def _quantile_inside(q, a, b):
    below = sc.ndtr(a) + q * (sc.ndtr(b) - sc.ndtr(a))
    is_right = below > 0.5
    right = -sc.ndtri(sc.ndtr(-b) + (1 - q) * (sc.ndtr(-a) - sc.ndtr(-b)))
    return xp.where(is_right, right, sc.ndtri(xp.where(is_right, 0.5, below)))


def _truncation(a, b) -> tuple[Any, Any, Any, Any]:
    """Return the densities of a truncated normal at its ends, and the ends times their densities."""
    mass = _log_normal_mass(a, b)
    finite_a, finite_b = xp.where(xp.isinf(a), 0.0, a), xp.where(xp.isinf(b), 0.0, b)
    at_a = xp.where(xp.isinf(a), 0.0, xp.exp(powers.normal_log_density(finite_a) - mass))
    at_b = xp.where(xp.isinf(b), 0.0, xp.exp(powers.normal_log_density(finite_b) - mass))
    return at_a, at_b, finite_a * at_a, finite_b * at_b


def _truncated_mean(a, b):
    at_a, at_b, _, _ = _truncation(a, b)
    return at_a - at_b


def _truncated_var(a, b):
    at_a, at_b, first, last = _truncation(a, b)
    return 1 + first - last - xp.square(at_a - at_b)


def _truncated_entropy(a, b):
    _, _, first, last = _truncation(a, b)
    return powers.LOG_ROOT_2PI + 0.5 + _log_normal_mass(a, b) + 0.5 * (first - last)


truncnorm: Family = family(
    "truncnorm",
    log_density=lambda z, a, b: powers.normal_log_density(z) - _log_normal_mass(a, b),
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


PI_REST = 1.2246467991473532e-16  # of pi beyond its float


def _semicircular_quantile(q):
    return 2 * sc.betaincinv(1.5, 1.5, q) - 1


def _cosine_cdf(z):
    """Return (t - sin(t)) / (2 pi) for t = pi + z, by a series where the difference cancels."""
    t = (z + pi) + PI_REST
    is_near = t < 0.5
    near = xp.where(is_near, t, 0.5)
    series: Any = 1.0
    for k in (13, 11, 9, 7, 5):
        series = 1 - xp.square(near) / (k * (k - 1)) * series
    return xp.where(is_near, near**3 / 6 * series, pi + z + xp.sin(z)) / (2 * pi)


anglit: Family = family(
    "anglit", "log_density density cdf sf ppf mean var", isf=lambda q: pi / 4 - xp.arcsin(xp.sqrt(q))
)


cosine: Family = family(
    "cosine",
    "mean var",
    log_density=lambda z: 2 * xp.log(xp.cos(0.5 * z)) - log(pi),
    density=lambda z: xp.square(xp.cos(0.5 * z)) / pi,
    cdf=_cosine_cdf,
    sf=lambda z: _cosine_cdf(-z),
)


semicircular: Family = family(
    "semicircular",
    "log_density density mean var",
    **powers.of_beta_shares(lambda z: (0.5 * (1 + z), 0.5 * (1 - z), 1.5, 1.5)),
    ppf=_semicircular_quantile,
    isf=lambda q: -_semicircular_quantile(q),
)


def _log_i0_less(kappa):
    """Return log(i0(kappa)) - kappa for kappa >= 0; exp(-|kappa|) of i0e has a kink at 0, which |kappa| undoes."""
    return xp.log(sc.i0e(kappa)) + (xp.abs(kappa) - kappa)


def _vonmises_log_density(z, kappa):
    return -2 * kappa * xp.square(xp.sin(0.5 * z)) - log(2 * pi) - _log_i0_less(kappa)


CIRCLE_NODES, CIRCLE_WEIGHTS = np.polynomial.legendre.leggauss(80)


NORMAL_FROM = 50.0  # concentration from which on SciPy takes a normal distribution of the sine of half the angle


def _vonmises_cdf(z, kappa):
    """Return the integral of the density by Gauss's rule, with the value of SciPy's approximation where this has one.

    Derivatives are the ones of the integral everywhere.
    """
    turns = xp.rint(z / (2 * pi))
    angle = z - 2 * pi * turns
    end = xp.minimum(12 / xp.sqrt(xp.maximum(stop_gradient(kappa), 1.0)), 4.0)  # the rest of the mass is below 1e-31
    angle, shape = xp.clip(angle, -end, end)[..., None], xp.asarray(kappa)[..., None]
    points = 0.5 * angle * (1 + CIRCLE_NODES)
    integral = xp.sum(CIRCLE_WEIGHTS * xp.exp(_vonmises_log_density(points, shape)), axis=-1)
    value = 0.5 + 0.5 * angle[..., 0] * integral
    normal = sc.ndtr(sqrt(2 / pi) / sc.i0e(kappa) * xp.sin(0.5 * (z - 2 * pi * turns)))
    return value + stop_gradient(xp.where(kappa >= NORMAL_FROM, normal - value, 0.0)) + turns


vonmises: Family = family(
    "vonmises",
    vanishes=False,
    log_density=_vonmises_log_density,
    cdf=_vonmises_cdf,
    mean=constant(0.0),
    entropy=lambda kappa: -kappa * sc.i1e(kappa) / sc.i0e(kappa) + log(2 * pi) + _log_i0_less(kappa) + kappa,
)


def _wrapcauchy_quantile(q, c, side: float):
    sine = xp.sin(pi * xp.where(q < 0.5, q, 1 - q))
    return 2 * xp.arctan2((1 - c) * sine, side * (1 + c) * xp.cos(pi * q))


wrapcauchy: Family = family(
    "wrapcauchy",
    "log_density entropy",
    safe=0.5,
    cdf=lambda z, c: xp.arctan2((1 + c) * xp.sin(0.5 * z), (1 - c) * xp.cos(0.5 * z)) / pi,
    sf=lambda z, c: xp.arctan2((1 + c) * xp.sin(0.5 * z), (c - 1) * xp.cos(0.5 * z)) / pi,
    ppf=lambda q, c: _wrapcauchy_quantile(q, c, 1.0),
    isf=lambda q, c: _wrapcauchy_quantile(q, c, -1.0),
)

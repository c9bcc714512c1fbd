"""Define families of skewed values on all reals by their standard forms.

Source of the formulas: Johnson, Kotz and Balakrishnan, Continuous Univariate Distributions, in the parameters of SciPy.
"""

from math import log, pi, sqrt
from typing import Any

from anyshape import numpy as xp
from anyshape.numpy import special as sc
from anyshape.scipy.stats.continuous import by_half
from anyshape.scipy.stats.positive import beta_share
from anyshape.scipy.stats.powers import beta_quantile, log1p_square
from anyshape.scipy.stats.source import family

NOTHING = 1e17  # 1 is nothing beside it


def _exponnorm_log_tail(z, k):
    """Return the logarithm of the density times k; far below 1 / k without squares of 1 / k, which would cancel."""
    return by_half(
        z - 1 / k,
        0.0,
        lambda w: xp.log(0.5 * sc.erfcx(-sqrt(0.5) * w)) - 0.5 * xp.square(xp.where(w < 0, z, 0.0)),
        lambda w: (0.5 / k - z) / k + sc.log_ndtr(w),
    )


def _exponnorm_below(z, k):
    """Return twice the probability up to z over exp(-z**2 / 2), for negative z."""
    return sc.erfcx(-sqrt(0.5) * z) - sc.erfcx(sqrt(0.5) * (1 / k - z))


def _exponnorm_cdf(z, k):
    return by_half(
        z,
        0.0,
        lambda z: 0.5 * xp.exp(-0.5 * xp.square(z)) * _exponnorm_below(z, k),
        lambda z: sc.ndtr(z) - xp.exp(_exponnorm_log_tail(z, k)),
    )


def _exponnorm_sf(z, k):
    return sc.ndtr(-z) + xp.exp(_exponnorm_log_tail(z, k))


exponnorm = family(
    "exponnorm",
    "mean var",
    log_density=lambda z, k: _exponnorm_log_tail(z, k) - xp.log(k),
    cdf=_exponnorm_cdf,
    sf=_exponnorm_sf,
)
laplace_asymmetric = family(
    "laplace_asymmetric",
    "log_density cdf sf mean var entropy",
    ppf=lambda q, k: xp.where(
        q < k / (k + 1 / k), xp.log(q * (1 + 1 / xp.square(k))) * k, -xp.log((1 - q) * (xp.square(k) + 1)) / k
    ),
    isf=lambda q, k: xp.where(
        q > 1 / (xp.square(k) + 1),
        xp.log((1 - q) * (1 + 1 / xp.square(k))) * k,
        -xp.log(q * (xp.square(k) + 1)) / k,
    ),
)


def _skewcauchy_below(q, width):
    """Return the distance from 0 beyond which the side of this width has the share q."""
    angle = pi * q / width
    return width * xp.cos(angle) / xp.sin(angle)


def _skewcauchy_quantile(q, a):
    middle = 0.5 * (1 - a)
    is_below = q < middle
    low = -_skewcauchy_below(xp.where(is_below, q, middle), 1 - a)
    return xp.where(is_below, low, _skewcauchy_below(xp.where(is_below, 1 - middle, 1 - q), 1 + a))


def _skewcauchy_cdf(z, a):
    return by_half(
        z,
        0.0,
        lambda z: (1 - a) / pi * xp.arctan2(1.0, -z / (1 - a)),
        lambda z: 1 - (1 + a) / pi * xp.arctan2(1.0, z / (1 + a)),
    )


skewcauchy = family(
    "skewcauchy",
    "mean var",
    safe=0.5,
    log_density=lambda z, a: -log(pi) - log1p_square(z / xp.where(z < 0, 1 - a, 1 + a)),
    cdf=_skewcauchy_cdf,
    sf=lambda z, a: _skewcauchy_cdf(-z, -a),
    ppf=_skewcauchy_quantile,
    isf=lambda q, a: -_skewcauchy_quantile(q, -a),
)


def _skew_t_share(z, a, b) -> tuple[Any, Any]:
    """Return the point of a beta distribution that z stands for, and 1 minus it."""
    root = xp.sqrt(a + b + xp.square(z))
    size = xp.where(z < 0, -z, z)
    rest, share = 0.5 * (a + b) / (root * (root + size)), 0.5 * (1 + size / root)
    return xp.where(z < 0, rest, share), xp.where(z < 0, share, rest)


def _skew_t_log_density(z, a, b):
    def log_shares(z, a, b):
        """Return the logarithm of (1 + z / root)**(a + 0.5) (1 - z / root)**(b + 0.5) for positive z."""
        root = xp.sqrt(a + b + xp.square(z))
        return (a + 0.5) * xp.log(1 + z / root) + (b + 0.5) * xp.log((a + b) / (root * (root + z)))

    shares = by_half(z, 0.0, lambda z: log_shares(-z, b, a), lambda z: log_shares(z, a, b))
    return shares - (a + b - 1) * log(2) - sc.betaln(a, b) - 0.5 * xp.log(a + b)


def _skew_t_quantile(share, rest, a, b):
    return (share - rest) * xp.sqrt(a + b) / (2 * xp.sqrt(share * rest))


jf_skew_t = family(
    "jf_skew_t",
    log_density=_skew_t_log_density,
    cdf=lambda z, a, b: beta_share(*_skew_t_share(z, a, b), a, b),
    sf=lambda z, a, b: beta_share(*_skew_t_share(z, a, b)[::-1], b, a),
    ppf=lambda q, a, b: _skew_t_quantile(*beta_quantile(q, a, b), a, b),
    isf=lambda q, a, b: _skew_t_quantile(*beta_quantile(q, b, a)[::-1], a, b),
)


def _ball_tail(beta, m):
    """Return the weight of the tail, where the normal density has the weight sqrt(2 pi) ndtr(beta)."""
    return m / beta / (m - 1) * xp.exp(-0.5 * xp.square(beta))


def _ball_weight(beta, m):
    return _ball_tail(beta, m) + sqrt(2 * pi) * sc.ndtr(beta)


def _ball_log(z, beta, m):
    """Return log(1 - (z + beta) beta / m), without a quotient that underflows in the slopes of far z."""
    distance = -(z + beta)
    is_far = distance * beta > NOTHING * m
    near = xp.log1p(xp.where(is_far, 1.0, distance) * beta / m)
    return xp.where(is_far, xp.log(xp.where(is_far, distance, 1.0)) + xp.log(beta / m), near)


def _ball_cdf(z, beta, m):
    is_tail = z <= -beta
    near, far = xp.where(is_tail, 0.0, z), xp.where(is_tail, z, -beta)
    below = _ball_tail(beta, m) * xp.exp((1 - m) * _ball_log(far, beta, m)) / _ball_weight(beta, m)
    return xp.where(is_tail, below, 1 - sqrt(2 * pi) * sc.ndtr(-near) / _ball_weight(beta, m))


def _ball_sf(z, beta, m):
    near = sqrt(2 * pi) * sc.ndtr(-xp.maximum(z, -beta)) / _ball_weight(beta, m)
    return xp.where(z <= -beta, 1 - _ball_cdf(z, beta, m), near)


def _ball_quantile(q, beta, m):
    weight, tail = _ball_weight(beta, m), _ball_tail(beta, m)
    is_tail = q * weight < tail
    low, factor = xp.where(is_tail, q, 1.0), xp.where(is_tail, weight / tail, 1.0)
    below = -beta - m / beta * xp.expm1((xp.log(low) + xp.log(factor)) / (1 - m))
    share = xp.where(is_tail, 0.5, sc.ndtr(-beta) + (q * weight - tail) / sqrt(2 * pi))
    return xp.where(is_tail, below, sc.ndtri(share))


crystalball = family("crystalball", "log_density", safe=2.0, cdf=_ball_cdf, sf=_ball_sf, ppf=_ball_quantile)


def _normal_inverse_gauss(z, a, b):
    root = xp.sqrt(1 + xp.square(z))
    above = lambda z, b: -(a - b) * z - a / (root + z)  # b z - a root, without infinite terms of both signs
    exponent = by_half(z, 0.0, lambda z: above(-z, -b), lambda z: above(z, b)) + xp.sqrt(xp.square(a) - xp.square(b))
    return xp.log(a / pi) + xp.log(sc.k1e(a * root)) + exponent - xp.log(root)


norminvgauss = family("norminvgauss", "mean var", log_density=_normal_inverse_gauss)

"""Functions of mpmath that the formulas of distributions are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from mpmath import mp

from tests.autodiff.slope_rows import Sampler, positive

POSITIVE, REALS, UNIT = (0, math.inf), (-math.inf, math.inf), (0, 1)
SHAPE = positive(-1.5, 2.5)


class Law(NamedTuple):
    """Density, distribution function and its complement of a standard family, with samplers of its shapes."""

    name: str
    density: Callable[..., Any]
    cdf: Callable[..., Any] | None = None
    sf: Callable[..., Any] | None = None
    shapes: tuple[Sampler, ...] = ()
    support: Any = POSITIVE  # ends, or a function of the shapes
    differentiated: tuple[int, ...] | None = None  # operands; all of them if None


# -- functions of mpmath


def tail(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def bell(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def lower(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper(a, x):
    return mp.gammainc(a, x, regularized=True)


def beta_share(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def bounded_expm1(x):
    """Return exp(x) - 1; mpmath would take all memory for the exponential of a huge one."""
    if x > 1e4:
        raise OverflowError
    return mp.expm1(x)


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def half(x):
    return mp.mpf(x) / 2


def even(tail):
    """Return the distribution function of a symmetric law by its lower tail."""
    return lambda x, *s: tail(x, *s) if x < 0 else 1 - tail(-x, *s)


def mirrored(cdf):
    return lambda x, *s: cdf(-x, *s)


def of_size(tail):
    """Return the distribution function of a symmetric law by the share beyond both x and -x."""
    return even(lambda x, *s: tail(-x, *s) / 2)


def log1p_ratio(x, c):
    return mp.log1p(c * x) / c if c else x


def student(x, v):
    return mp.gamma((v + 1) / 2) / mp.gamma(v / 2) / mp.sqrt(mp.pi * v) * (1 + x * x / v) ** (-(v + 1) / 2)


def student_tail(x, v):
    return beta_share(v / 2, half(1), v / (v + x * x)) / 2


def owens(h, a):
    return mp.quad(lambda t: mp.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a]) / (2 * mp.pi)


def beta_density(x, a, b):
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def f_share(x, n, d):
    return n * x / (n * x + d)


def skew_share(x, a, b):
    return (1 + x / mp.sqrt(a + b + x * x)) / 2


def ball(beta, m):
    return m / beta / (m - 1) * mp.exp(-beta * beta / 2), mp.sqrt(2 * mp.pi)


def ball_density(x, beta, m):
    far, root = ball(beta, m)
    shape = mp.exp(-x * x / 2) if x > -beta else mp.exp(-beta * beta / 2) * (1 - (x + beta) * beta / m) ** -m
    return shape / (far + root * tail(beta))


def ball_cdf(x, beta, m):
    far, root = ball(beta, m)
    if x <= -beta:
        return far * (1 - (x + beta) * beta / m) ** (1 - m) / (far + root * tail(beta))
    return (far + root * (tail(x) - tail(-beta))) / (far + root * tail(beta))


def inverse_gauss(x, mu):
    root = mp.sqrt(x)
    return tail((x / mu - 1) / root) + mp.exp(2 / mu) * tail(-(x / mu + 1) / root)


def rice_share(x: Any, b: Any, or_equal: int) -> Any:
    """Return the probability that a Poisson variable of mean x**2 / 2 exceeds, or equals, one of mean b**2 / 2."""
    mean, other = x * x / 2, b * b / 2
    total, term, below, further, most, k = 0, mp.mpf(1), mp.mpf(0), mp.mpf(1), mp.exp(other), 0
    while k <= 2 * mean or term * most > mp.eps * total:
        total += term * (below + or_equal * further)
        below += further
        k += 1
        term, further = term * mean / k, further * other / k
    return total * mp.exp(-mean - other)


def reciprocal_gauss(x, mu):
    root = mp.sqrt(x)
    return tail((1 / mu - x) / root) + mp.exp(2 / mu) * tail(-(1 / mu + x) / root)


def argus(x, chi):
    scale = chi**3 / (mp.sqrt(2 * mp.pi) * lower(1.5, chi * chi / 2) / 2)
    return scale * x * mp.sqrt(1 - x * x) * mp.exp(-chi * chi * (1 - x * x) / 2)


def log_rest(x, a, b, c):
    return -(a + b) * x - b * mp.expm1(-c * x) / c


def trapezoid(x, c, d):
    return 2 / (1 + d - c) * (x / c if x < c else 1 if x <= d else (1 - x) / (1 - d))


def trapezoid_cdf(x, c, d):
    whole = 1 + d - c
    if x < c:
        return x * x / c / whole
    return (2 * x - c) / whole if x <= d else 1 - (1 - x) ** 2 / whole / (1 - d)


def choose(n, k):
    return mp.binomial(n, k)


def skellam(k, a, b):
    return mp.exp(-a - b) * (a / b) ** (k / 2) * mp.besseli(abs(k), 2 * mp.sqrt(a * b))

"""Densities that behave as a power of the point at an end, functions of a normal score, and logarithms of far points.

The logarithm of such a density is infinite at the end, and its exponential would have the slope 0 times infinity.
"""

from math import log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy import special as sc
from anyshape.scipy.stats.distribution import Function, exponential, log_by_complement, log_complement
from anyshape.transforms.control import stop_gradient

INF, LOG_ROOT_2PI = np.inf, 0.5 * log(2 * pi)


def normal_log_density(z: Any) -> Any:
    """Return the logarithm of the density of the standard normal distribution."""
    return -0.5 * xp.square(z) - LOG_ROOT_2PI


def power_of_size(z: Any, beta: Any) -> Any:
    """Return abs(z)**beta. At 0 it is differentiated as z**beta, if beta is even or the second derivative infinite."""
    at_zero = z == 0
    fixed = xp.where(at_zero, stop_gradient(beta), beta)  # the power of 0 is 0 for all of them
    is_plain = at_zero & ((fixed % 2 == 0) | ((fixed > 1) & (fixed < 2)))
    is_peak = at_zero & (fixed < 1)  # both sides have infinite derivatives, and these are opposite
    plain, absolute = xp.where(is_plain, z, 1.0), xp.abs(xp.where(is_plain | is_peak, 1.0, z))
    return xp.where(is_peak, 0.0, xp.where(is_plain, plain**fixed, absolute**fixed))


def is_cusp(z: Any, beta: Any) -> Any:
    """Return where abs(z)**beta has no finite second derivative."""
    return (z == 0) & (beta < 2)


TINY, EPS = np.finfo(np.float64).tiny, np.finfo(np.float64).eps
HUGE = 1e308  # slope of the logarithm where a density is infinite
LOG_HUGE = 600.0  # logarithm there: its exponential times the slope is infinite, and other slopes are not


def _plain(x, exponent):
    return x**exponent


def times_powers(
    rest: Function, z: Any, powers: list[tuple[Any, Any, Function]], power: Function = _plain, factor: Any = 1.0
) -> Any:
    """Return factor exp(rest(z)) times powers: each a base, an exponent, and a function for exponent times logarithm.

    The power of a base 0 is not taken by its logarithm. Where its slope is infinite, the one of `rest` does not count.
    An infinite value has the slopes of a huge one: their signs are right, where infinite slopes may cancel.
    """
    near, logarithm, cases = z, 0.0, []
    for x, e, times_log in powers:
        is_end, is_pole = (x == 0) & (e > 0), (x == 0) & (e < 0)
        is_special = is_end | is_pole
        near = xp.where(is_pole | (is_end & (e < 1)), TINY, near)
        slope = HUGE * (stop_gradient(e) - e + stop_gradient(x) - x)
        finite = times_log(xp.where(is_special, 0.0, e), xp.where(is_special, 0.5, z))
        logarithm = logarithm + xp.where(is_pole, LOG_HUGE + slope, finite)
        cases.append((is_end, is_pole, power(xp.where(is_end, x, 1.0), xp.where(is_end, e, 1.0))))
    value = factor * exponential(rest(near) + logarithm)
    for is_end, is_pole, share in cases:
        value = xp.where(is_end, value * share, xp.where(is_pole, value + INF, value))
    return value


def of_powers(
    rest: Function,
    low: Function | None = None,
    high: Function | None = None,
    far: Function | None = None,
    factor: Function = lambda *shapes: 1.0,
) -> dict[str, Function]:
    """Return the densities factor exp(rest) z**low (1 - z)**high, where factor and exponents are of the shapes.

    The logarithm of points above 1 is `far` and that of the factor, where `rest` and the power would overflow.
    """

    def log_density(z, *shapes):
        value = xp.log(factor(*shapes)) + rest(z, *shapes)
        if high is not None:
            value = value + sc.xlog1py(high(*shapes), -z)
        return value if low is None else value + sc.xlogy(low(*shapes), z)

    def density(z, *shapes):
        ends = ((z, low, sc.xlogy), (1 - z, high, lambda e, z: sc.xlog1py(e, -z)))
        powers = [(base, exponent(*shapes), log) for base, exponent, log in ends if exponent is not None]
        return times_powers(lambda z: rest(z, *shapes), z, powers, factor=factor(*shapes))

    def beyond(near: Function, finish: Function) -> Function:
        return near if far is None else lambda z, *s: _by_one(z, s, near, lambda z, *s: finish(far(z, *s), factor(*s)))

    densities = {
        "log_density": beyond(log_density, lambda value, factor: value + xp.log(factor)),
        "density": beyond(density, lambda value, factor: factor * exponential(value)),
    }
    return densities if low is None else {**densities, "exponent": low}


def _by_one(z, shapes: tuple[Any, ...], near: Function, far: Function):
    """Return one function of points up to 1 and another one of points above."""
    is_far = z > 1
    return xp.where(is_far, far(xp.where(is_far, z, 1.0), *shapes), near(xp.where(is_far, 1.0, z), *shapes))


FAR = 1e8  # 1 is nothing beside its square


def log1p_square(z: Any, freedom: Any = 1.0) -> Any:
    """Return log(1 + z**2 / freedom)."""
    distance = xp.abs(z)
    is_far = distance > FAR * xp.sqrt(freedom)  # whose square, or that of it, would overflow
    near = xp.log1p(xp.square(xp.where(is_far, 1.0, z)) / freedom)
    return xp.where(is_far, 2 * xp.log(xp.where(is_far, distance, 1.0)) - xp.log(freedom), near)


def log_angle(z: Any) -> Any:
    """Return log(arctan2(1, z)), whose own slope underflows for far z."""
    is_far = z > FAR
    near = xp.log(xp.arctan2(1.0, xp.where(is_far, 1.0, z)))
    return xp.where(is_far, -xp.log(xp.where(is_far, z, 1.0)), near)


def of_score(score: Function) -> dict[str, Function]:
    """Return the functions of a distribution by a rising function of it that is normal."""

    def function(name: Function, sign: float) -> Function:
        return lambda z, *shapes: name(sign * score(z, *shapes))

    return {
        "cdf": function(sc.ndtr, 1.0),
        "sf": function(sc.ndtr, -1.0),
        "logcdf": function(sc.log_ndtr, 1.0),
        "logsf": function(sc.log_ndtr, -1.0),
    }


def beta_quantile(q: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the quantile of a beta distribution and 1 minus it, both by the smaller one of them."""
    middle = stop_gradient(xp.clip(sc.betainc(a, b, 0.5), TINY, 1 - EPS))
    is_low = q < middle
    low = sc.betaincinv(a, b, xp.where(is_low, q, middle))
    high = sc.betainccinv(b, a, xp.where(is_low, middle, q))
    return xp.where(is_low, low, 1 - high), xp.where(is_low, 1 - low, high)


def normal_score(q: Any) -> Any:
    """Return the quantile of a normal distribution, of a tiny probability by its logarithm.

    There the second derivative overflows, that of an exponential of the quantile does not.
    """
    level = stop_gradient(q)
    is_tiny = level < 1e-100
    scale = xp.where(is_tiny, level, 1.0)
    tiny = sc.ndtri_exp(xp.log(scale) + xp.log(xp.where(is_tiny, q, 1.0) / scale))
    return xp.where(is_tiny, tiny, sc.ndtri(xp.where(is_tiny, 0.5, q)))


def log_gamma_share(a: Any, x: Any, side: int = 1) -> Any:
    """Return the logarithm of gammaincc(a, x), or of gammainc(a, x) for side -1.

    A tail is an integral by Gauss's rule, whose slopes do not cancel where the point moves with a.
    """
    is_tail = (side * (x - a) > 0) & (xp.maximum(a, x) > 5) & (x < INF)
    shape, z = xp.where(is_tail, a, 9.0), xp.where(is_tail, x, 9.0)
    half = 2 * xp.abs(z - shape) - (DEPTH if side < 0 else 0.0)
    length = stop_gradient(4 * DEPTH / (half + xp.sqrt(xp.square(half) + 8 * DEPTH * xp.maximum(shape, z))))
    steps = side * length[..., None] * (0.5 + 0.5 * GAMMA_NODES)
    total = xp.exp(shape[..., None] * steps - z[..., None] * xp.expm1(steps)) @ GAMMA_WEIGHTS
    tail = shape * xp.log(z) - z - sc.gammaln(shape) + xp.log(0.5 * length * total)
    shares = (sc.gammaincc, sc.gammainc)[::side]
    value = stop_gradient(shares[0](shape, z))
    tail = tail + stop_gradient(xp.where(value > TINY, xp.log(xp.maximum(value, TINY)) - tail, 0.0))
    return xp.where(is_tail, tail, log_by_complement(*shares)(a, xp.where(is_tail, a + 1, x)))


def power_of_gamma_quantile(q: Any, a: Any, exponent: Any) -> Any:
    """Return a power of the quantile of a gamma distribution.

    A tiny quantile is a power of the probability: derivatives by way of the quantile itself would overflow.
    """
    level = stop_gradient(q)
    power = exponent / a
    logarithm = power * (xp.log(level) + sc.gammaln(a + 1))
    value = stop_gradient(sc.gammaincinv(a, q) ** exponent)
    is_tiny = (stop_gradient(logarithm / exponent) < -40) & xp.isfinite(value)
    near = sc.gammaincinv(a, xp.where(is_tiny, 0.5, q)) ** exponent
    far = value * (q / level) ** power * xp.exp(logarithm - stop_gradient(logarithm))
    return xp.where(is_tiny, far, near)


POINTS = 10
NODES, WEIGHTS = np.polynomial.legendre.leggauss(POINTS)
GAMMA_NODES, GAMMA_WEIGHTS = np.polynomial.legendre.leggauss(32)
DEPTH = 36.0  # the density at the end of the nodes is exp(-DEPTH) of the one at their start


def narrow_normal(low: Any, width: Any) -> tuple[Any, Any, Any]:
    """Return where an interval is so narrow that the difference of normal probabilities at its ends would cancel.

    The probability is the product of the other results there: of the exponential of the one, and of the other.
    """
    is_narrow = (width > 0) & (width * (xp.abs(low) + width + 1) < 0.5)
    half = xp.where(is_narrow, 0.5 * width, 0.1)
    middle, steps = xp.where(is_narrow, low, 0.0) + half, half[..., None] * NODES[POINTS // 2 :]
    shares = (xp.exp(-0.5 * xp.square(steps)) * xp.cosh(middle[..., None] * steps)) @ WEIGHTS[POINTS // 2 :]
    return is_narrow, -0.5 * xp.square(middle) - 0.5 * log(2 * pi), 2 * half * shares


def of_powers_of_size(rest: Function, exponent: Function) -> dict[str, Function]:
    """Return the densities exp(rest) abs(z)**exponent, which are even; `rest` is a function of abs(z)."""

    def log_density(z, *shapes):
        power = exponent(*shapes)
        size = xp.abs(xp.where((z == 0) & (power != 0), stop_gradient(z), z))
        return rest(size, *shapes) + sc.xlogy(power, size)

    def density(z, *shapes):
        power = exponent(*shapes)
        z = xp.where((z == 0) & (power < 0), stop_gradient(z), z)
        powers = [(z, power, lambda e, z: sc.xlogy(e, xp.abs(z)))]
        return times_powers(lambda z: rest(xp.abs(z), *shapes), z, powers, power_of_size)

    return {"log_density": log_density, "density": density, "exponent": exponent}


def by_half(x: Any, middle: float, below: Function, above: Function) -> Any:
    """Return one function of x below a middle and another one from there on, each of points of its own half alone.

    Derivatives at the middle are of the second function.
    """
    is_below = x < middle
    return xp.where(is_below, below(xp.where(is_below, x, middle)), above(xp.where(is_below, middle, x)))


def series(x, *coefficients: float):
    """Return the polynomial with these coefficients, of the constant first."""
    total: Any = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total


def log1p_ratio(x: Any, c: Any) -> Any:
    """Return log(1 + c x) / c, which is x for c = 0; by its series where c x is small."""
    product = xp.where((c == 0) & xp.isinf(x), 0.0, c * x)
    is_small, is_far = xp.abs(product) < 0.01, product > 1e17
    near = x * series(xp.where(is_small, product, 0.0), *((-1) ** k / (k + 1) for k in range(10)))
    logs = [xp.log(xp.abs(xp.where(is_far, factor, 1.0))) for factor in (c, x)]  # whose slopes do not underflow
    logarithm = xp.where(is_far, logs[0] + logs[1], xp.log1p(xp.where(is_small | is_far, 0.0, product)))
    far = logarithm / xp.where(is_small, 1.0, c)
    return xp.where(is_small, near, far)


def expm1_ratio(x: Any, c: Any) -> Any:
    """Return (exp(c x) - 1) / c, which is x for c = 0."""
    return x * sc.exprel(c * x)


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


def _beta_share(low: Any, high: Any, a: Any, b: Any) -> Any:
    """Return the probability of a beta distribution up to `low`, by the smaller one of it and of 1 minus it."""
    is_low = low < 0.5
    return xp.where(
        is_low, sc.betainc(a, b, xp.where(is_low, low, 0.5)), sc.betaincc(b, a, xp.where(is_low, 0.5, high))
    )


def _log_beta_share(low, high, a, b):
    """Return the logarithm of `_beta_share`; a tiny one is a power, as the sum of its slopes would cancel."""
    is_tiny = (low > 0) & (low * (1 + b) < 1e-17)
    power = a * xp.log(xp.where(is_tiny, low, 0.5)) - xp.log(a + b) - sc.betaln(a + 1, b)
    low, high = xp.where(is_tiny, 0.5, low), xp.where(is_tiny, 0.5, high)
    near = log_by_complement(_beta_share, lambda low, high, a, b: _beta_share(high, low, b, a))
    return xp.where(is_tiny, power, near(low, high, a, b))


def of_beta_shares(shares: Function) -> dict[str, Function]:
    """Return the functions of a distribution by its share of a beta distribution, 1 minus it, and the parameters."""
    turned = lambda *xs: [shares(*xs)[i] for i in (1, 0, 3, 2)]
    by = lambda function, shares: lambda *xs: function(*shares(*xs))
    return {
        "cdf": by(_beta_share, shares), "sf": by(_beta_share, turned),
        "logcdf": by(_log_beta_share, shares), "logsf": by(_log_beta_share, turned),
    }  # fmt: skip

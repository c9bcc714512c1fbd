"""Derivatives of incomplete gamma and beta functions by their parameters, of any order.

Such a function is a tail of a distribution. Its derivative is the tail times the mean over it of a Bell polynomial of
the derivatives of the logarithm of the density. The means are computed by Gauss-Legendre quadrature, whose weights
need no constant of the density. The tail is the one where the polynomial of order 1 has one sign, so nothing cancels.
Small parameters are raised by 1 at points near their end, by the recurrences DLMF 8.8.5, 8.17.20 and 8.17.21.

Polygamma functions of complex numbers, which SciPy has for real ones alone.

Numbers on the left are reflected (DLMF 5.15.6) and small ones raised (5.15.5) to where the asymptotic series
(5.15.8) is exact to double precision.

Differences of polygamma functions at close points: each term of a series has a difference without cancellation.

Derivatives of Hurwitz's zeta function by its exponent, by the sum of Euler and Maclaurin: DLMF 25.11.7.
"""

import functools
import math
from collections.abc import Callable
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.ops.core.bell_polynomials import bell_polynomial, bell_polynomial_of_two

POINTS, BLOCK = 64, 256  # elements at once: points times elements stay in the cache
DEPTH = 45.0  # the density at the end of the interval is exp(-DEPTH) of the one at its start
SMALL = 0.5
FAR = 1e100  # 1 is nothing beside its square, whose inverse is a normal number


@functools.cache
def _quadrature() -> tuple[Any, Any]:
    """Return nodes between 0 and 1, and weights; made at their first use, since that takes milliseconds."""
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    return (nodes + 1) / 2, weights


def by_blocks(compute: Callable[..., Any], *operands: Any) -> Any:
    """Call a function of flat arrays of float64 for a block of elements at a time; return the dtype of the last."""
    arrays = np.broadcast_arrays(*operands)
    flat = [x.astype(np.float64).ravel() for x in arrays]
    result = np.empty(flat[0].size, arrays[-1].dtype)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, BLOCK):
            block = slice(start, start + BLOCK)
            result[block] = compute(*[x[block] for x in flat])
    return result.reshape(arrays[0].shape)


def _newton_from_above(xp, value, function: Callable[[Any], tuple[Any, Any]], steps: int):
    """Return a number not below the root of an increasing convex function, and close to it."""
    for _ in range(steps):
        f, slope = function(value)
        value = xp.where((f > 0) & (slope > 0), value - f / xp.where(slope > 0, slope, 1), value)
    return value


# -- the gamma distribution


def gammainc_derivative(a: Any, x: Any, *, order: int) -> Any:
    """Return the derivative of gammainc by its parameter."""
    return by_blocks(lambda a, x: gammainc_slope(np, sc, order, a, x), a, x)


def gammainc_slope(xp: Any, sc: Any, order: int, a: Any, x: Any) -> Any:
    """Return the derivative for vectors of a namespace with functions of `sc`."""
    inside = (a >= 0) & (x > 0) & xp.isfinite(a + x)
    at_end = (a > 0) & ((x == 0) | (x == math.inf)) & xp.isfinite(a)
    a, x = xp.where(inside, a, 1.0), xp.where(inside, x, 1.0)
    is_small = (a < SMALL) & ((x < 1) | (a == 0) | (a ** (1.0 - order) > 1 + x))
    raised = xp.where(is_small, a + 1, a)
    center = xp.log(x) - sc.psi(raised)
    cumulants = [-sc.polygamma(k, raised) for k in range(1, order)]
    mean = _mean_of_gamma_tail(xp, order, raised, x, center, cumulants)
    tail = xp.where(center < 0, sc.gammainc(raised, x), -sc.gammaincc(raised, x))
    density = xp.exp(sc.xlogy(a, x) - x - sc.gammaln(raised))
    step = density * bell_polynomial(order, lambda k: center if k == 1 else cumulants[k - 2])
    return xp.where(inside, tail * mean + xp.where(is_small, step, 0), xp.where(at_end, 0, xp.full_like(x, math.nan)))


def _mean_of_gamma_tail(xp, order: int, a, x, center, cumulants: list[Any]):
    """Integrate over v = |log(t / x)| below x where `center` is negative, and above it elsewhere."""
    is_lower, excess = center < 0, x - a
    length = xp.where(is_lower, _length_below(xp, a, x), _length_above(xp, x, excess))
    nodes, weights = map(xp.array, _quadrature())
    v = xp.where(is_lower, -length, length)[:, None] * nodes
    weights = weights * xp.exp(-excess[:, None] * v - x[:, None] * (xp.expm1(v) - v))
    polynomial = bell_polynomial(order, lambda k: center[:, None] + v if k == 1 else cumulants[k - 2][:, None])
    return (weights * polynomial).sum(-1) / weights.sum(-1)


def _length_below(xp, a, x):
    """Return the root of (a - x) v + x v**2 / (2 + v) = DEPTH, as v - 1 + exp(-v) >= v**2 / (2 + v)."""
    half = 2 * (a - x) - DEPTH
    root = xp.sqrt(half * half + 8 * DEPTH * a)
    return xp.where(half > 0, 4 * DEPTH / xp.where(half > 0, half + root, 1), (root - half) / (2 * a))


def _length_above(xp, x, excess):
    """Return about the root of excess v + x (exp(v) - 1 - v) = DEPTH."""
    depth = xp.where(excess < 0, xp.full_like(x, DEPTH + 5), xp.full_like(x, DEPTH))
    start = xp.minimum(xp.log(2 * (depth / x + 1)), xp.sqrt(2 * depth / x))
    start = xp.minimum(start, xp.where(excess > 0, DEPTH / xp.where(excess > 0, excess, 1), math.inf))

    def drop(v) -> tuple[Any, Any]:
        return excess * v + x * (xp.expm1(v) - v) - DEPTH, excess + x * xp.expm1(v)

    return _newton_from_above(xp, start, drop, 4)


# -- the beta distribution


def betainc_derivative(a: Any, b: Any, x: Any, *, order_a: int, order_b: int) -> Any:
    """Return the partial derivative of betainc by its parameters."""
    return by_blocks(lambda a, b, x: _betainc_derivative((order_a, order_b), a, b, x), a, b, x)


def _betainc_derivative(orders: tuple[int, int], a, b, x):
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a + b)
    at_end = (a > 0) & (b > 0) & ((x == 0) | (x == 1)) & np.isfinite(a + b)
    a, b, x = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    raise_a, raise_b = (a < SMALL) & ((a + b) * x < 1), (b < SMALL) & ((a + b) * (1 - x) < 1)
    next_a, next_b = np.where(raise_a, a + 1, a), np.where(raise_b, b + 1, b)
    total = _derivative_of_beta_tail(orders, next_a, next_b, x)
    if raise_a.any():
        total += np.where(raise_a, _difference(orders, a, b, x, 1, 0), 0)
    if raise_b.any():
        total -= np.where(raise_b, _difference(orders, next_a, b, x, 0, 1), 0)
    return np.where(inside, total, np.where(at_end, 0, np.nan))


def _difference(orders: tuple[int, int], a, b, x, up_a: int, up_b: int):
    """Differentiate x**a (1 - x)**b gamma(a + b) / (gamma(a + up_a) gamma(b + up_b)), the step of a recurrence."""
    logarithm = sc.xlogy(a, x) + sc.xlog1py(b, -x) + sc.gammaln(a + b) - sc.gammaln(a + up_a) - sc.gammaln(b + up_b)
    return np.exp(logarithm) * bell_polynomial_of_two(orders, _log_density_of_beta(a, b, x, up_a, up_b))


def _log_density_of_beta(a, b, x, up_a: int = 0, up_b: int = 0) -> Callable[[int, int], Any]:
    """Return the function that gives the partial derivatives, by the parameters, of the logarithm of the density."""

    def derivative(i: int, j: int):
        value = sc.polygamma(i + j - 1, a + b)
        if not j:
            value = value - sc.polygamma(i - 1, a + up_a)
        if not i:
            value = value - sc.polygamma(j - 1, b + up_b)
        return value + (np.log(x) if (i, j) == (1, 0) else np.log1p(-x) if (i, j) == (0, 1) else 0)

    return derivative


def student_derivative(half: Any, u: Any, *, order: int) -> Any:
    """Return the derivative by `half` of sign(u) betainc(1 / 2, half, u**2 / (1 + u**2)).

    For large u it is taken from the other end, where the argument is accurate; by its leading term if that underflows.
    """
    size = np.abs(u)
    is_far, square = size > FAR, np.square(np.minimum(size, FAR))
    is_near = square < 1
    near = betainc_derivative(0.5, half, np.where(is_near, square, 1) / (1 + square), order_a=0, order_b=order)
    far = betainc_derivative(half, 0.5, np.where(is_near, 0.5, 1 / (1 + square)), order_a=order, order_b=0)
    if np.any(is_far):
        far = np.where(is_far, _leading_term(order, half, -2 * np.log(np.where(is_far, size, 1))), far)
    return np.asarray(np.sign(u) * np.where(is_near, near, -far), np.result_type(u))


def _leading_term(order: int, a, log_x):
    """Differentiate x**a gamma(a + 1 / 2) / (gamma(a + 1) gamma(1 / 2)) by a; 0 for x = 0."""
    at_end = np.isneginf(log_x)
    log_x = np.where(at_end, 0, log_x)
    logarithm = a * log_x + sc.gammaln(a + 0.5) - sc.gammaln(a + 1) - sc.gammaln(0.5)

    def of_logarithm(k: int):
        return (log_x if k == 1 else 0) + sc.polygamma(k - 1, a + 0.5) - sc.polygamma(k - 1, a + 1)

    return np.where(at_end, 0, np.exp(logarithm) * bell_polynomial(order, of_logarithm))


def _derivative_of_beta_tail(orders: tuple[int, int], a, b, x):
    """Integrate over v = |log odds of t - log odds of x| from x to the nearer end, with points denser at x."""
    is_lower = np.log(x) - np.log1p(-x) < sc.psi(a) - sc.psi(b)
    near, far = np.where(is_lower, a, b), np.where(is_lower, b, a)
    odds = np.where(is_lower, x, 1 - x), np.where(is_lower, 1 - x, x)
    nodes, weights = _quadrature()
    log_near, log_far = _log_ratios(_length_of_beta(near, far, odds[0])[:, None] * nodes**2, *odds)
    weights = weights * nodes * np.exp(near[:, None] * log_near + far[:, None] * log_far)
    at_x = _log_density_of_beta(a, b, x)
    ratios = {
        (1, 0): np.where(is_lower[:, None], log_near, log_far),
        (0, 1): np.where(is_lower[:, None], log_far, log_near),
    }
    polynomial = bell_polynomial_of_two(orders, lambda i, j: at_x(i, j)[:, None] + ratios.get((i, j), 0))
    tail = np.where(is_lower, sc.betainc(a, b, x), -sc.betaincc(a, b, x))
    return tail * (weights * polynomial).sum(-1) / weights.sum(-1)


def _log_ratios(v, x, rest) -> tuple[Any, Any]:
    """Return log(t / x) and log((1 - t) / (1 - x)) for the t whose log odds are v less."""
    x, rest = x[:, None], rest[:, None]
    far = -np.log1p(x * np.expm1(-v))
    return np.where(v < 1, far - v, -np.log(x + rest * np.exp(np.minimum(v, 700)))), far


def _length_of_beta(near, far, x):
    """Return about the v at which the density has fallen by DEPTH."""
    total = near + far

    def drop(v) -> tuple[Any, Any]:
        shrunk = x * np.exp(-v)
        return near * v + total * np.log1p(x * np.expm1(-v)) - DEPTH, near - total * shrunk / (1 - x + shrunk)

    return _newton_from_above(np, (DEPTH - total * np.log1p(-x)) / near, drop, 12)


COMPLEX_TERMS, LEAST = 14, 15
_BERNOULLI = sc.bernoulli(2 * COMPLEX_TERMS)[2::2]


def complex_polygamma(z: Any, order: int) -> Any:
    """Return the derivative of digamma of an order from 1 on."""
    with np.errstate(all="ignore"):
        is_left = z.real < 0.5
        right = _on_the_right(np.where(is_left, 1 - z, z).astype(np.complex128), order)
        reflected = (-1) ** order * right - _derivative_of_cotangent(z, order)
        return np.where(is_left, reflected, right).astype(z.dtype)


def _on_the_right(z, order: int):
    """Return the values for real parts from 1/2 on."""
    total, steps = np.zeros_like(z), LEAST + order
    for k in range(steps):
        total += (z + k) ** (-order - 1)
    w = z + steps
    series = math.factorial(order - 1) * w**-order + 0.5 * math.factorial(order) * w ** (-order - 1)
    for k in range(1, COMPLEX_TERMS + 1):
        factor = _BERNOULLI[k - 1] * (math.factorial(2 * k + order - 1) / math.factorial(2 * k))
        series += factor * w ** (-2 * k - order)
    return (-1) ** (order - 1) * (series + math.factorial(order) * total)


def _derivative_of_cotangent(z, order: int):
    """Return the derivative of pi cot(pi z), a polynomial in the cotangent."""
    is_below = z.imag < 0
    power = np.exp(2j * np.pi * np.where(is_below, np.conj(z), z))
    cotangent = 1j * (power + 1) / (power - 1)
    cotangent = np.where(is_below, np.conj(cotangent), cotangent)
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = -np.pi * np.polynomial.Polynomial([1.0, 0.0, 1.0]) * polynomial.deriv()
    return np.pi * polynomial(cotangent)


LARGE = 12  # from here on, and from the order on, the asymptotic series has all digits
DIFFERENCE_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def polygamma_difference(x: Any, y: Any, order: int) -> Any:
    """Return polygamma(order, x + y) - polygamma(order, x) between poles: DLMF 5.15.5, 5.15.8.

    The size of y is below half of x, or of the distance of a negative x to the next pole.
    """
    x, y = x.astype(np.float64), y.astype(np.float64)
    sign, total = (-1.0) ** (order + 1), np.zeros_like(x)
    with np.errstate(all="ignore"):
        for _ in range(LARGE + order + max(0, -int(x.min()))):
            is_small = x < LARGE + order
            total += np.where(is_small, sign * factorial(order) * _step(x, y, order + 1), 0)
            x = x + is_small
        if not order:
            total += np.log1p(y / x)
        for power, coefficient in _terms(order):
            total += sign * coefficient * _step(x, y, power)
    return total


def _step(x, y, power: int):
    """Return (x + y)**-power - x**-power."""
    return np.expm1(-power * np.log1p(y / x)) / x * x ** (1 - power)


def _terms(order: int) -> list[tuple[int, float]]:
    """Return negative powers with their coefficients, without the logarithm of order 0."""
    first = [(order, float(factorial(order - 1)))] if order else []
    further = [
        (2 * k + order, b * factorial(2 * k + order - 1) / factorial(2 * k))
        for k, b in enumerate(DIFFERENCE_BERNOULLI, 1)
    ]
    return [*first, (order + 1, factorial(order) / 2), *further]


TERMS = 12  # before the integral
BERNOULLI = (*(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510), *(43867 / 798, -174611 / 330))


def zeta_derivative(x: Any, y: Any, *, order: int) -> Any:
    """Return the derivative of the sum of (k + y)**-x by x, for positive y; beside x = 1 and below, down to 0, too."""
    dtype = np.result_type(x, y)
    with np.errstate(all="ignore"):
        return zeta_slope(np, order, x.astype(np.float64), y.astype(np.float64)).astype(dtype)


def zeta_slope(xp: Any, order: int, x: Any, y: Any) -> Any:
    """Return the derivative for arrays of a namespace."""
    total = sum([_power(xp, order, x, y + k) for k in range(TERMS)])
    end = y + TERMS
    total = total + 0.5 * _power(xp, order, x, end)
    for m in range(order + 1):
        pole = (-1.0) ** m * factorial(m) / (x - 1) ** (m + 1)
        total = total + comb(order, m) * pole * end * _power(xp, order - m, x, end)
    for j, bernoulli in enumerate(BERNOULLI, 1):
        rising, scale = _rising(2 * j - 1), bernoulli / factorial(2 * j)
        for m in range(min(order, 2 * j - 1) + 1):
            value = xp.zeros_like(x)
            for coefficient in rising.deriv(m).coef[::-1].tolist():
                value = value * x + coefficient
            part = value * _power(xp, order - m, x, end) * end ** (1 - 2 * j)
            total = total + comb(order, m) * scale * part
    return xp.where(y > 0, total, math.nan)


def _power(xp, order: int, x, base):
    """Return the derivative of base**-x by x."""
    return (-xp.log(base)) ** order * base**-x


@functools.cache
def _rising(count: int):
    """Return the polynomial x (x + 1) ... of so many factors."""
    return np.polynomial.Polynomial.fromroots(-np.arange(float(count)))

"""Slopes where the usual formula cancels: asymptotic series far out, and elementary formulas beside removable poles.

Formulas are closed under derivatives, and choose their arguments before they compute. Numbers are chapters and
equations of the DLMF, dlmf.nist.gov.
"""

import functools
from collections.abc import Callable, Sequence
from math import factorial, inf, log, pi, prod, sqrt
from typing import Any

from numpy.polynomial import Polynomial

from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp

ROOT_PI = sqrt(pi)
_ODD_FACTORIALS = [prod(range(1, 2 * k + 2, 2)) for k in range(38)]


def series(z: Any, coefficients: Sequence[float]) -> Any:
    """Return a polynomial in z, from the constant on."""
    total = ew.lift(0, z)
    for c in reversed(coefficients):
        total = total * z + c
    return total


def near_and_far(is_near: Any, x: Any, near: Callable[[Any], Any], far: Callable[[Any], Any]) -> Any:
    """Return one function of x where a condition holds, with 0 for x elsewhere, and another one with 1 for x there."""
    return ew.select(is_near, near(ew.select(is_near, x, 0)), far(ew.select(is_near, 1, x)))


def within(x: Any, bound: float) -> Any:
    """Return whether |x| is less than a bound."""
    return ew.lt(size := ew.absolute(x), ew.lift(bound, size))


def by_digits(x: Any, double: float, single: float) -> float:
    """Return a bound for the precision of x: with fewer digits a series serves earlier."""
    return single if x.dtype.char in "efF" else double


# -- error functions: 7.6, 7.12


def dawsn_slope(x: Any, out: Any) -> Any:
    return near_and_far(
        within(x, by_digits(x, 10, 4.5)), x, lambda x: 1 - 2 * x * out, lambda x: -_integral_of_squares(1 / x, 1)
    )


def erfcx_slope(x: Any, out: Any) -> Any:
    near = lambda x: 2 * x * out - 2 / ROOT_PI
    far = lambda x: -2 / ROOT_PI * _integral_of_squares(1 / x, -1)
    return near_and_far(ew.lt(x, ew.lift(by_digits(x, 10, 4.5), x)), x, near, far)


def log_ndtr_slope(x: Any) -> Any:
    """Return density by probability, below 0 without their exponentials."""
    below = lambda x: sqrt(2 / pi) / sp.erfcx(-sqrt(0.5) * x)
    above = lambda x: ew.exp(-0.5 * ew.square(x)) / (sqrt(2 * pi) * sp.ndtr(x))
    return near_and_far(ew.lt(x, ew.lift(0, x)), x, below, above)


def _integral_of_squares(inverse, sign: int, terms: int = 15):
    """Return the sum of (2 k + 1)!! (sign / (2 x**2))**k over 2 x**2, minus the slope of Dawson's integral."""
    half = 0.5 * ew.square(inverse)
    return half * series(sign * half, _ODD_FACTORIALS[:terms])


def _is_near(z):
    """Return where the series has too few digits; close to the real axis an exponential beside it counts, too."""
    size, height = ew.absolute(z), ew.absolute(ew.imag(z))
    is_flat = ew.lt(height, ew.lift(0.02, height))
    return ew.lt(size, ew.select(is_flat, by_digits(z, 10, 7), ew.lift(by_digits(z, 6, 4.5), size)))


def _exponential(z, is_near, factor: Callable[[Any], Any]):
    """Return what a derivative has beside the series on the real axis, and twice below: factor(z) exp(-z**2), or 0."""
    height = ew.imag(z)
    is_below = ew.logical_and(ew.logical_not(is_near), ew.lt(height, ew.lift(0.01, height)))
    weight = ew.select(ew.lt(height, ew.lift(-0.01, height)), 2, ew.lift(1, height))
    z = ew.select(is_below, z, 0)
    return ew.select(is_below, ew.convert(weight, z.dtype) * factor(z) * ew.exp(-ew.square(z)), 0)


def wofz_slope(z: Any, out: Any) -> Any:
    """Return the slope of the Faddeeva function."""
    is_near = _is_near(z)
    far = lambda z: -2j / ROOT_PI * _integral_of_squares(1 / z, 1, round(by_digits(z, 38, 15)))
    slope = near_and_far(is_near, z, lambda z: 2j / ROOT_PI - 2 * z * out, far)
    return slope + _exponential(z, is_near, lambda z: -2 * z)


def wofz_curvature(z: Any, out: Any, slope: Any) -> Any:
    """Return the second derivative of the Faddeeva function."""
    is_near, terms = _is_near(z), round(by_digits(z, 38, 15))
    weights = [(2 * k + 2) * c for k, c in enumerate(_ODD_FACTORIALS[:terms])]

    def far(z):
        half = 0.5 * ew.square(1 / z)
        return 2j / ROOT_PI * half / z * series(half, weights)

    curvature = near_and_far(is_near, z, lambda z: -2 * out - 2 * z * slope, far)
    return curvature + _exponential(z, is_near, lambda z: 4 * ew.square(z) - 2)


# -- Bessel functions without their exponentials: 10.40, 10.41


@functools.cache
def _debye(count: int) -> list[list[float]]:
    """Return the polynomials in (v / w)**2 before w**(1 - k) in -x K'(x) / K(x), where w is sqrt(v**2 + x**2)."""
    s, terms = Polynomial([0.0, 1.0]), [Polynomial([1.0])]
    for k in range(1, count + 1):
        change = (1 - s) * ((2 - k) * terms[-1] - 2 * s * terms[-1].deriv())
        terms.append(0.5 * (change - sum(terms[j] * terms[k - j] for j in range(1, k))))
    return [term.coef.tolist() for term in terms[1:]]


def decline(order: Any, sign: complex, x: Any) -> Any:
    """Return -x f'(x) / f(x) for a scaled Bessel function f of large x, that is of K at x / sign."""
    t = x / sign
    square = ew.square(order / t)
    root = ew.sqrt(1 + square)
    total, share, inverse = ew.lift(0, t), square / (1 + square), 1 / (t * root)
    for coefficients in reversed(_debye(8)):
        total = total * inverse + series(share, coefficients)
    return order / t * order / (1 + root) + total


def scaled_bessel_slope(order: Any, sign: complex, x: Any, out: Any, near: Any) -> Any:
    """Return the slope `near`, the difference of two functions, or by the series where they are too close.

    Of complex x the series serves to the right of the imaginary axis.
    """
    size, reach = ew.absolute(x), ew.absolute(order + ew.lift(0, x))
    is_far = ew.gt(size, ew.lift(by_digits(x, 100, 20), size))
    if x.dtype.kind == "c":
        is_far, reach = ew.logical_and(is_far, ew.gt(ew.real(x), ew.lift(0, size))), 2 * reach
    is_far = ew.logical_and(is_far, ew.gt(size, reach))
    x = ew.select(is_far, x, 1)
    return ew.select(is_far, -(out / x) * decline(order, sign, ew.absolute(x) if x.dtype.kind == "f" else x), near)


def _neighbours(function: Callable[..., Any], order, x):
    """Return the mean of the neighbouring orders."""
    return 0.5 * (function(order - 1, x) + function(order + 1, x))


def iv_slope(function: Callable[..., Any], order: Any, x: Any) -> Any:
    return _neighbours(function, order, x)


def kv_slope(function: Callable[..., Any], order: Any, x: Any, out: Any) -> Any:
    """Return a sum of two terms of one sign: 10.29.4."""
    if hasattr(order, "dtype"):
        return -_neighbours(function, order, x)
    before = -function(order - 1, x)
    return before - order * out / x if order else before


def ive_slope(function: Callable[..., Any], order: Any, x: Any, out: Any) -> Any:
    return scaled_bessel_slope(order, -1, x, out, _neighbours(function, order, x) - ew.sign(x) * out)


def kve_slope(function: Callable[..., Any], order: Any, x: Any, out: Any) -> Any:
    return scaled_bessel_slope(order, 1, x, out, out - _neighbours(function, order, x))


# -- removable poles


def log_of_ratio(x: Any, y: Any) -> Any:
    """Return log(x / y); where the quotient may overflow or underflow, it is a difference."""
    quotient = x / y
    size = ew.absolute(quotient)
    is_near = ew.logical_and(ew.gt(size, ew.lift(1e-30, size)), ew.lt(size, ew.lift(1e30, size)))
    apart = ew.log(ew.select(is_near, 1, x)) - ew.log(ew.select(is_near, 1, y))
    return ew.select(is_near, ew.log(ew.select(is_near, quotient, 1)), apart)


def log1p_of_square(x: Any) -> Any:
    """Return log(1 + x**2), also where the square overflows."""
    return near_and_far(within(x, 1e8), x, lambda x: ew.log1p(ew.square(x)), lambda x: 2 * ew.log(ew.absolute(x)))


def spence_slope(x: Any) -> Any:
    """Return log(x) / (1 - x)."""
    near = lambda z: -sp.hyp2f1(1.0, 1.0, 2.0, -z)
    return near_and_far(within(x - 1, 0.5), x - 1, near, lambda z: -ew.log(x) / z)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return Gauss's function; where c - a - b is a whole number but for rounding, SciPy would divide by nearly 0."""
    gap = c - a - b
    is_whole = ew.lt(ew.absolute(gap - ew.rint(gap)), 1e-15 * (ew.absolute(a) + ew.absolute(b) + ew.absolute(c)))
    return sp.hyp2f1(a, ew.select(is_whole, c - a - ew.rint(gap), b), c, x)


def sinh_by_x(x: Any) -> Any:
    """Return sinh(x) / x."""
    coefficients = [1 / factorial(2 * k + 1) for k in range(9)]
    return near_and_far(within(x, 1), x, lambda x: series(ew.square(x), coefficients), lambda x: ew.sinh(x) / x)


def elliprc_slopes(x: Any, y: Any, out: Any) -> tuple[Any, Any]:
    """Return both derivatives; for negative y the value is that of Cauchy, whose derivatives are elementary: 19.2."""
    is_negative = ew.lt(y, ew.lift(0, y))
    y, under = ew.select(is_negative, 1, y), ew.select(is_negative, y, -1)
    by_x = 0.5 * (out - 1 / ew.sqrt(x)) / (under - x)
    by_y = -(0.5 * out + x * by_x) / under
    regular = -sp.elliprd(y, y, x) / 6, -sp.elliprd(x, y, y) / 3
    return ew.select(is_negative, by_x, regular[0]), ew.select(is_negative, by_y, regular[1])


# -- powers of Box and Cox


def boxcox_by_power(logarithm: Any, power: Any) -> Any:
    """Return the derivative by the power of log(x) exprel(power log(x)), which is smooth at 0."""
    end = ew.eq(power * logarithm, ew.lift(-inf, logarithm))  # where the power vanishes, and its logarithm does not
    z = ew.select(end, 0, logarithm)
    return ew.select(end, 1 / ew.square(ew.select(end, power, 1)), 0.5 * ew.square(z) * sp.hyp1f1(2.0, 3.0, power * z))


def inv_boxcox_by_power(x: Any, power: Any) -> Any:
    """Return the derivative by the power of log(1 + power x) / power, which is smooth at 0."""
    is_near = within(power * x, 0.5)
    apart, divisor = ew.select(is_near, 1, power * x), ew.select(is_near, 1, power)
    near = -0.5 * ew.square(x) * sp.hyp2f1(2.0, 2.0, 3.0, -ew.select(is_near, power * x, 0))
    return ew.select(is_near, near, (apart / (1 + apart) - ew.log1p(apart)) / divisor / divisor)


def inv_boxcox_by_x(x: Any, power: Any, value: Any) -> Any:
    """Return value**(1 - power), where value**power is 1 + power x."""
    base = 1 + power * x
    is_end = ew.eq(base, ew.lift(0, base))
    return ew.select(is_end, ew.select(is_end, value, 1) ** (1 - power), value / ew.select(is_end, 1, base))


# -- quotients of gamma functions, zeta functions: 5.2, 25.4, 25.11


def rgamma_slope(x: Any, out: Any) -> Any:
    """Return -psi(x) / gamma(x), or on the side of the poles the derivative of sin(pi x) gamma(1 - x) / pi."""
    is_left = ew.lt(x, ew.lift(0.5, x))
    left, right = ew.select(is_left, x, 0), ew.select(is_left, 1, x)
    turned = ew.cos(pi * left) - ew.sin(pi * left) * sp.digamma(1 - left) / pi
    return ew.select(is_left, turned * sp.gamma(1 - left), -sp.digamma(right) * out)


def by_divisor(v: Any, out: Any, numerator: Any, *others: Any, gap: Any = None) -> Any:
    """Return the derivative of gamma(numerator) / (gamma(v) gamma(others)) by v, where v may be a pole of gamma.

    With a gap, which is that from v to the numerator, it is the derivative by both. Close to 0 it is taken from v + 1:
    there both terms of the derivative of the logarithm would be huge.
    """
    is_pole = ew.logical_and(ew.le(v, ew.lift(0, v)), ew.eq(ew.floor(v), v))
    pole, regular = ew.select(is_pole, v, 0), ew.select(is_pole, 1, v)
    at_pole = rgamma_slope(pole, sp.rgamma(pole)) * sp.gamma(ew.select(is_pole, numerator, 1))
    divisors = prod(sp.rgamma(other) for other in others)
    if gap is None:
        return ew.select(is_pole, at_pole * divisors, -sp.digamma(regular) * out)
    is_small = ew.logical_and(within(v, 0.5), ew.ne(numerator, ew.lift(0, v)))
    ahead, divisor = ew.select(is_small, v + 1, regular), ew.select(is_small, numerator, 1)
    from_ahead = sp.poch(ew.select(is_small, ahead, 1), ew.select(is_small, gap, 0)) * gap / divisor / divisor
    apart = ew.select(is_small, from_ahead, ew.select(is_pole, at_pole, 0)) * divisors
    is_lower = ew.logical_and(is_pole, ew.logical_not(is_small))
    return apart + out * ew.select(is_lower, sp.digamma(numerator), sp.polygamma_difference(ahead, gap))


def zeta_by_shift(x: Any, y: Any, out: Any, order: int = 0) -> Any:
    """Return the derivative of zeta_derivative(x, y, order) by y, where that of zeta is -x zeta(x + 1, y)."""
    slope = -x * sp.zeta_derivative(x + 1, y, order)
    return slope - order * sp.zeta_derivative(x + 1, y, order - 1) if order else slope


def riemann_zeta_slope(x: Any) -> Any:
    """Return the slope of Riemann's zeta function, below 0 by the functional equation."""

    def below(x):
        turn, mirrored, one = 0.5 * pi * x, 1 - x, ew.lift(1, x)
        zeta = sp.zeta(mirrored, one)
        change = (log(2 * pi) - sp.digamma(mirrored)) * zeta - sp.zeta_derivative(mirrored, one)
        factor = 2 * sp.gamma(mirrored) * ew.exp(-log(2 * pi) * mirrored)
        return factor * (ew.sin(turn) * change + 0.5 * pi * ew.cos(turn) * zeta)

    is_below = ew.lt(x, ew.lift(0, x))
    left, right = ew.select(is_below, x, -1), ew.select(is_below, 2, x)
    return ew.select(is_below, below(left), sp.zeta_derivative(right, ew.lift(1, right)))

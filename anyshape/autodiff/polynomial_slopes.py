"""Slopes of orthogonal polynomials and Ferrers' functions: DLMF 14, 15, 18.9.15, 18.9.19 to 18.9.28.

Degrees may be fractions. Then the function is one of the angle, and beside the end where it is smooth a hypergeometric
one.
"""

from collections.abc import Callable
from math import pi
from typing import Any

from anyshape.autodiff.far_slopes import hyp2f1
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp
from anyshape.ops import special_ufuncs as su


def of(name: str, *xs: Any, result: int = 0) -> Any:
    """Apply a function; numbers take the shape of the last operand."""
    return su.special_ufunc(name, *(ew.lift(x, xs[-1]) for x in xs), result=result)


def _below(name, n, *rest):
    """Return the polynomial of the degree before; 0 before degree 0."""
    is_first = ew.eq(n, ew.lift(0, n))
    return ew.select(is_first, 0, of(name, ew.select(is_first, 1, n) - 1, *rest))


def _fractional(n, y, low, high, whole, at_angle, near_one):
    """Return the function of whole degrees n; for others that of the angle arccos(y), or of `high` near y = 1.

    `low` and `high` are (1 + y) / 2 and (1 - y) / 2: y may have lost digits beside an end.
    """
    is_whole = ew.eq(ew.rint(n), n)
    has_angle = ew.logical_and(ew.gt(low, ew.lift(0, low)), ew.lt(low, ew.lift(0.75, low)))
    has_angle = ew.logical_and(has_angle, ew.logical_not(is_whole))
    a, b = ew.select(has_angle, low, 0.5), ew.select(has_angle, high, 0.5)
    is_near = ew.logical_not(ew.logical_or(has_angle, is_whole))
    near = near_one(ew.select(is_near, n, 0.5), ew.select(is_near, high, 0))
    angle = 2 * ew.arctan2(ew.sqrt(b), ew.sqrt(a))
    apart = ew.select(has_angle, at_angle(angle, 2 * ew.sqrt(a * b), a - b), near)
    return ew.select(is_whole, whole(ew.select(is_whole, n, 1), ew.select(is_whole, y, 0)), apart)


def _chebyt(n, y, low, high):
    """Return the slope of cos(n arccos(y)): 18.5.1, 15.4.12."""
    whole = lambda n, y: n * _below("eval_chebyu", n, y)
    at_angle = lambda angle, sine, cosine: n * ew.sin(n * angle) / sine
    near = lambda n, high: ew.square(n) * sp.hyp2f1(1 - n, 1 + n, 1.5, high)
    return _fractional(n, y, low, high, whole, at_angle, near)


def _chebyu(n, y, low, high):
    """Return the slope of sin((n + 1) arccos(y)) / sin(arccos(y)): 18.5.2, 18.9.21."""

    def at_angle(angle, sine, cosine):
        turned = n * angle  # with n + 1 in its place, terms would cancel for small n
        return (ew.sin(turned) * (1 / sine + n * sine) - n * cosine * ew.cos(turned)) / ew.square(sine)

    whole = lambda n, y: 2 * _below("eval_gegenbauer", n, 2, y)
    near = lambda n, high: n * (n + 1) * (n + 2) / 3 * sp.hyp2f1(1 - n, n + 3, 2.5, high)
    return _fractional(n, y, low, high, whole, at_angle, near)


def _sh_legendre(n, x, out):
    """Return the slope for whole degrees, and for others near 0 by a function without a pole there: 15.8.1."""
    is_near = ew.logical_and(ew.ne(ew.rint(n), n), ew.lt(x, ew.lift(0.5, x)))
    degree, z = ew.select(is_near, n, 1), ew.select(is_near, x, 1)
    near = degree * (degree + 1) * hyp2f1(-degree, 1 + degree, ew.lift(2, z), 1 - z) / z
    return ew.select(is_near, near, 2 * _below("eval_gegenbauer", n, 1.5, 2 * x - 1))


def _laguerre(n, a, x):
    """Return the slope; for degrees that are fractions SciPy's hypergeometric function has more digits: 18.5.12."""
    is_whole = ew.eq(ew.rint(n), n)
    degree = ew.select(is_whole, 0.5, n)
    apart = sp.binom(degree + a, degree - 1) * sp.hyp1f1(1 - degree, a + 2, ew.select(is_whole, 0, x))
    return -ew.select(is_whole, _below("eval_genlaguerre", ew.select(is_whole, n, 1), a + 1, x), apart)


POLYNOMIALS: dict[str, Callable[..., Any]] = {
    "eval_jacobi": lambda n, a, b, x, out: 0.5 * (n + a + b + 1) * _below("eval_jacobi", n, a + 1, b + 1, x),
    "eval_sh_jacobi": lambda n, p, q, x, out: n * _below("eval_sh_jacobi", n, p + 2, q + 1, x),
    "eval_gegenbauer": lambda n, a, x, out: 2 * a * _below("eval_gegenbauer", n, a + 1, x),
    "eval_legendre": lambda n, x, out: _below("eval_gegenbauer", n, 1.5, x),
    "eval_sh_legendre": _sh_legendre,
    "eval_chebyt": lambda n, x, out: _chebyt(n, x, 0.5 * (1 + x), 0.5 * (1 - x)),
    "eval_chebyu": lambda n, x, out: _chebyu(n, x, 0.5 * (1 + x), 0.5 * (1 - x)),
    "eval_chebyc": lambda n, x, out: _chebyt(n, 0.5 * x, 0.25 * (2 + x), 0.25 * (2 - x)),
    "eval_chebys": lambda n, x, out: 0.5 * _chebyu(n, 0.5 * x, 0.25 * (2 + x), 0.25 * (2 - x)),
    "eval_sh_chebyt": lambda n, x, out: 2 * _chebyt(n, 2 * x - 1, x, 1 - x),
    "eval_sh_chebyu": lambda n, x, out: 2 * _chebyu(n, 2 * x - 1, x, 1 - x),
    "eval_laguerre": lambda n, x, out: _laguerre(n, ew.lift(0, x), x),
    "eval_genlaguerre": lambda n, a, x, out: _laguerre(n, a, x),
    "eval_hermite": lambda n, x, out: 2 * n * _below("eval_hermite", n, x),
    "eval_hermitenorm": lambda n, x, out: n * _below("eval_hermitenorm", n, x),
}


def _lpmv_near_end(m, v, x):
    """Return the slope beside an end, where the function is c (1 - x**2)**(k / 2) times a hypergeometric one: 14.3."""
    k, size = ew.absolute(m), ew.absolute(x)
    rest, high = (1 - size) * (1 + size), 0.5 * (1 - size)
    c = ew.select(ew.gt(m, ew.lift(0, m)), ew.cos(pi * m) * sp.poch(v - k + 1, 2 * k), 1) * sp.rgamma(k + 1) * 0.5**k
    change = 0.5 * (v - k) * (v + k + 1) / (k + 1) * sp.hyp2f1(1 + k - v, v + k + 2, k + 2, high)
    power = ew.select(ew.eq(c, ew.lift(0, c)), 0, 0.5 * k - 1)
    # the power of the product would have slope inf * 0 at an end
    powers = (1 - size) ** power * (1 + size) ** power
    slope = c * powers * (rest * change - k * size * sp.hyp2f1(k - v, v + k + 1, k + 1, high))
    return ew.select(ew.lt(x, ew.lift(0, x)), -ew.cos(pi * (v + m)), 1) * slope


def lpmv_derivative(m: Any, v: Any, x: Any, out: Any) -> Any:
    """Return the derivative of Ferrers' function by the order after, 14.10.1; of order 0 it is that of Legendre's."""
    is_legendre = ew.eq(m, ew.lift(0, m))
    plain = POLYNOMIALS["eval_legendre"](ew.select(is_legendre, v, 0), ew.select(is_legendre, x, 0), out)
    x = ew.select(is_legendre, 0, x)
    rest = (1 - x) * (1 + x)
    has_series = ew.logical_or(ew.gt(x, ew.lift(0, x)), ew.eq(ew.rint(v), v))
    is_near = ew.logical_and(has_series, ew.lt(rest * ew.square(v + 1), ew.lift(0.1, rest)))
    near = _lpmv_near_end(ew.select(is_near, m, 1), ew.select(is_near, v, 1), ew.select(is_near, x, 1))
    x, rest = ew.select(is_near, 0, x), ew.select(is_near, 1, rest)
    far = -of("lpmv", m + 1, v, x) / ew.sqrt(rest) - m * x * out / rest
    return ew.select(is_legendre, plain, ew.select(is_near, near, far))

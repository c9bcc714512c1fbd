"""Define associated Legendre functions and spherical harmonics of integer degrees and orders, with derivatives."""

from __future__ import annotations

from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy import special as core
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import static_int
from anyshape.numpy.special_ufuncs import FUNCTIONS
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_special
from anyshape.transforms.grad import grad

_special = falls_through(scipy_special)


def _integers(function: str, name: str, x: Any) -> Any:
    """Return degrees or orders as float64, which must be integers."""
    array = xp.asarray(x)
    if array.dtype.kind not in "iu":
        raise DTypeError(function, f"{name} is {array.dtype}", "convert it to integers with astype", user_line())
    return array.astype(np.float64)


def _rows(function: str, value: Callable[[Any], Any], z: Any, diff_n: Any) -> Any:
    """Return a function of real z and its derivatives up to an order, in rows."""
    order = static_int(diff_n, function, "diff_n")
    if not 0 <= order <= 2:
        raise ArgumentError(function, f"diff_n={order}", "is not 0, 1 or 2", "use grad for further derivatives")
    rows = [value(z)]
    for _ in range(order):
        value = _slope(value)
        rows.append(value(z))
    return xp.stack(rows)


def _slope(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return grad(lambda z: xp.sum(value(z)))


def _factor(n: Any, a: Any, is_negative: Any, norm: bool) -> Any:
    """Return the factor of (1 - z**2)**(a / 2) times the Jacobi polynomial of degree n - a: DLMF 14.3.21, 18.5.7."""
    rising, falling = core.poch(n + 1, a), core.poch(n - a + 1, a)
    if norm:
        return 0.5**a * xp.sqrt((n + 0.5) * rising / falling)
    return 0.5**a * xp.where(is_negative, 1 / falling, rising)


def _sign(a: Any, is_negative: Any) -> Any:
    """Return the phase of Condon and Shortley, (-1)**a for positive orders."""
    return xp.where((a % 2 == 1) & ~is_negative, -1.0, 1.0)


def _half_power(w: Any, a: Any) -> Any:
    """Return w**(a / 2) for integers a. Whole powers have all derivatives at w = 0."""
    is_odd = a % 2 == 1
    return xp.where(is_odd, xp.where(is_odd, w, 1.0) ** (a / 2), w ** (a // 2).astype(np.int64))


def _associated(n: Any, m: Any, branch_cut: int, norm: bool) -> Callable[[Any], Any]:
    """Return the associated Legendre function as one of real z."""
    exists = n >= xp.abs(m)  # else it is 0
    a = xp.where(exists, xp.abs(m), 0.0)
    factor = _factor(n, a, m < 0, norm) * (_sign(a, m < 0) if branch_cut == 2 else 1.0)
    factor = xp.where(exists, factor, 0.0)

    def value(z: Any) -> Any:
        w = 1 - z * z if branch_cut == 2 else z * z - 1
        inside = (a == 0) | (w >= 0 if branch_cut == 2 else z >= 1)
        y = factor * _half_power(xp.where(inside, w, 1.0), a) * FUNCTIONS["eval_jacobi"](n - a, a, a, z)
        return y * xp.where(inside, 1.0, np.nan)

    return value


@_special
def assoc_legendre_p(n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """Return the associated Legendre function of degree n and order m at real z, with derivatives up to `diff_n`.

    The derivatives are in the first axis. `branch_cut` 3 has its values outside of [-1, 1].
    """
    if branch_cut not in (2, 3):
        raise ArgumentError("assoc_legendre_p", f"branch_cut={branch_cut!r}", "is not 2 or 3", "choose one of them")
    degree, order = _integers("assoc_legendre_p", "n", n), _integers("assoc_legendre_p", "m", m)
    z = real_floats(z) + 0.0 * (degree + order)
    return _rows("assoc_legendre_p", _associated(degree, order, branch_cut, norm), z, diff_n)


@_special
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical Legendre function of degree n and order m at angles theta, with derivatives in rows."""
    degree, order = _integers("sph_legendre_p", "n", n), _integers("sph_legendre_p", "m", m)
    theta = real_floats(theta) + 0.0 * (degree + order)
    exists = degree >= xp.abs(order)  # else it is 0
    a = xp.where(exists, xp.abs(order), 0.0)
    factor = _factor(degree, a, order < 0, True) * _sign(a, order < 0) / (2 * pi) ** 0.5
    factor, power = xp.where(exists, factor, 0.0), a.astype(np.int64)
    polynomial = lambda z: FUNCTIONS["eval_jacobi"](degree - a, a, a, z)
    height = lambda theta: xp.sin(theta) * xp.where(xp.sin(theta) < 0, -1.0, 1.0)  # with a slope at the poles
    value = lambda theta: factor * height(theta) ** power * polynomial(xp.cos(theta))
    return _rows("sph_legendre_p", value, theta, diff_n)


def _all(function: str, n: Any, m: Any, *points: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return degrees 0 to n and orders 0 to m, then -m to -1, along two axes before the axes of points."""
    last, most = static_int(n, function, "n"), static_int(m, function, "m")
    if last < 0 or most < 0:
        raise ArgumentError(function, f"n={last}, m={most}", "is negative", "pass the highest degree and order")
    rank = max([xp.asarray(z).ndim for z in points])
    orders = np.concatenate([np.arange(most + 1), np.arange(-most, 0)])
    return np.arange(last + 1).reshape((-1, 1, *[1] * rank)), orders.reshape((-1, *[1] * rank))


@_special
def assoc_legendre_p_all(n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """Return what `assoc_legendre_p` does of the degrees to n and the orders to m, along a second and third axis."""
    degrees, orders = _all("assoc_legendre_p_all", n, m, z)
    return assoc_legendre_p(degrees, orders, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)


@_special
def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """Return what `sph_legendre_p` does of the degrees to n and the orders to m, along a second and third axis."""
    degrees, orders = _all("sph_legendre_p_all", n, m, theta)
    return sph_legendre_p(degrees, orders, theta, diff_n=diff_n)


@_special
def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonics of the degrees 0 to n and the orders 0 to m, -m to -1, along two first axes.

    Derivatives of traced angles come from transforms, not from `diff_n`.
    """
    if diff_n:
        raise ArgumentError("sph_harm_y_all", f"diff_n={diff_n}", "is not available for traced arrays", "use jvp")
    degrees, orders = _all("sph_harm_y_all", n, m, theta, phi)
    return sph_legendre_p(degrees, orders, theta)[0] * xp.exp(1j * orders * real_floats(phi))

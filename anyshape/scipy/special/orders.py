"""Define functions of `scipy.special` with an order or a degree, as compositions of its ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from math import comb, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy import special as core
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import static_int
from anyshape.numpy.special_ufuncs import FUNCTIONS
from anyshape.ops import special_ufuncs as su
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_special
from anyshape.transforms.grad import grad

_special = falls_through(scipy_special)


def _spherical(name: str, n: Any, z: Any, derivative: bool) -> Any:
    """Return a spherical Bessel function of real z, or its derivative."""
    order, argument = (real_floats(x) for x in (n, z))
    if derivative:
        return grad(lambda z: xp.sum(su.special_ufunc(name, order, z)))(xp.add(argument, xp.zeros_like(order)))
    return su.special_ufunc(name, order, argument)


@_special
def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the first kind of integer order n at real z, or its derivative."""
    return _spherical("spherical_jn", n, z, derivative)


@_special
def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the second kind of integer order n at real z, or its derivative."""
    return _spherical("spherical_yn", n, z, derivative)


@_special
def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the first kind at real z, or its derivative."""
    return _spherical("spherical_in", n, z, derivative)


@_special
def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the second kind at real z, or its derivative."""
    return _spherical("spherical_kn", n, z, derivative)


def _differentiated(name: str, function: Callable[..., Any], v: Any, z: Any, n: Any, sign: int) -> Any:
    """Return a derivative of a Bessel function by its argument, by its neighbouring orders: DLMF 10.6.7, 10.29.5."""
    order = static_int(n, name, "n")
    if order < 0:
        raise ArgumentError(name, f"n={order}", "is negative", "pass how many times to differentiate")
    v = xp.asarray(v)  # as in SciPy, an integer makes the result float64
    terms = [sign**k * comb(order, k) * function(v - order + 2 * k, z) for k in range(order + 1)]
    return sum(terms[1:], terms[0]) / 2.0**order


@_special
def jvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of jv(v, z) by z."""
    return _differentiated("jvp", core.jv, v, z, n, -1)


@_special
def yvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of yv(v, z) by z."""
    return _differentiated("yvp", core.yv, v, z, n, -1)


@_special
def ivp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of iv(v, z) by z."""
    return _differentiated("ivp", core.iv, v, z, n, 1)


@_special
def kvp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of kv(v, z) by z."""
    return (-1) ** n * _differentiated("kvp", core.kv, v, z, n, 1)


@_special
def h1vp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of hankel1(v, z) by z."""
    return _differentiated("h1vp", FUNCTIONS["hankel1"], v, z, n, -1)


@_special
def h2vp(v: Any, z: Any, n: int = 1) -> Any:
    """Return the n-th derivative of hankel2(v, z) by z."""
    return _differentiated("h2vp", FUNCTIONS["hankel2"], v, z, n, -1)


@_special
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """Return the generalised Laguerre polynomial of degree n and parameter k at x."""
    return FUNCTIONS["eval_genlaguerre"](n, k, x)


@_special
def kelvin(x: Any) -> tuple[Any, Any, Any, Any]:
    """Return Kelvin's functions ber + i bei and ker + i kei of real x, and then their derivatives, complex."""
    pairs = (("ber", "bei"), ("ker", "kei"), ("berp", "beip"), ("kerp", "keip"))
    be, ke, bep, kep = (FUNCTIONS[a](x) + 1j * FUNCTIONS[b](x) for a, b in pairs)
    return be, ke, bep, kep


@_special
def diric(x: Any, n: Any) -> Any:
    """Return sin(n x / 2) / (n sin(x / 2)), the Dirichlet kernel for positive integers n, and NaN for other numbers.

    At its poles it is 1 or -1.
    """
    x, n = xp.asarray(x).astype(np.float64), xp.asarray(n)
    known = (n > 0) & (n == xp.floor(n))
    count = xp.where(known, n, 1)
    below = xp.sin(x / 2)
    is_pole = xp.abs(below) < 1e-15
    regular = xp.sin(count * x / 2) / (count * xp.where(is_pole, 1.0, below))
    turns = xp.rint(x / (2 * pi))
    sign = xp.where((turns * (count - 1)) % 2 == 0, 1.0, -1.0)
    return xp.where(known, xp.where(is_pole, sign, regular), np.nan)


@_special
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Return Legendre's polynomial of integer degree n at real z and its derivatives up to `diff_n`, in rows."""
    order = static_int(diff_n, "legendre_p", "diff_n")
    if not 0 <= order <= 2:
        raise ArgumentError("legendre_p", f"diff_n={order}", "is not 0, 1 or 2", "use grad for further derivatives")
    degree, z = xp.asarray(n), real_floats(z)
    if degree.dtype.kind not in "iu":
        raise DTypeError("legendre_p", f"n is {degree.dtype}", "convert it to integers with astype", user_line())
    rows = [FUNCTIONS["eval_legendre"](degree, z)]
    for k in range(1, order + 1):  # DLMF 18.9.15
        factor: Any = 1.0
        for i in range(1, k + 1):
            factor = factor * (degree + i) / 2.0
        inside = degree >= k
        lower = FUNCTIONS["eval_jacobi"](xp.where(inside, degree - k, 0), float(k), float(k), z)
        rows.append(xp.where(inside, factor * lower, 0.0))
    return xp.stack(rows)


@_special
def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Return what `legendre_p` does of the degrees 0 to n, along a second axis."""
    count = static_int(n, "legendre_p_all", "n") + 1
    if count < 1:
        raise ArgumentError("legendre_p_all", f"n={count - 1}", "is negative", "pass the highest degree")
    z = xp.asarray(z)
    degrees = np.arange(count).reshape((count, *[1] * z.ndim))
    rows = legendre_p(degrees, z, diff_n=diff_n)
    return rows.astype(np.float32) if z.dtype == np.float32 else rows


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Return the Bessel functions of the first kind of the orders 0 to v at z, in rows, under JAX's name.

    They have full accuracy whatever `n_iter` is.
    """
    count = static_int(v, "bessel_jn", "v") + 1
    if count < 1:
        raise ArgumentError("bessel_jn", f"v={v}", "is negative", "pass the highest order")
    return xp.stack([core.jv(float(order), z) for order in range(count)])


@_special
def softplus(x: Any, **options: Any) -> Any:
    """Return log(1 + exp(x)), accurate for numbers of any size."""
    return xp.logaddexp(0.0, x)


@_special
def factorial2(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Return n (n - 2) (n - 4) ..., as floats: 0 for negative n, 1 for 0; `exact` needs concrete integers."""
    if exact:
        raise ArgumentError("factorial2", "exact=True", "is not available for traced arrays", "leave it out")
    n = xp.asarray(n)
    if n.dtype.kind not in "iu":
        raise DTypeError("factorial2", f"n is {n.dtype}", "convert it to integers with astype", user_line())
    inside = xp.where(n < 0, 0, n)
    value = 2.0 ** (inside / 2) * core.gamma(inside / 2 + 1.0)
    odd = xp.where(inside % 2 == 1, (2 / pi) ** 0.5, 1.0)
    return xp.where(n < 0, 0.0, odd * value)

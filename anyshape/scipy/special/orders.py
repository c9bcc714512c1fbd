"""Define functions of `scipy.special` with an order or a degree, as compositions of its ufuncs, and those that count.

Associated Legendre functions and spherical harmonics have integer degrees and orders, and derivatives.
"""

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy import special as core
from anyshape.numpy.operands.promotion import as_traced, is_traced, static_int
from anyshape.numpy.special_ufuncs import FUNCTIONS
from anyshape.ops import special as sp
from anyshape.ops import special_ufuncs as su
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_special
from anyshape.transforms.grad import grad


def _spherical(name: str, n, z, derivative: bool):
    """Return a spherical Bessel function of real z, or its derivative."""
    order, argument = (real_floats(x) for x in (n, z))
    if derivative:
        return grad(lambda z: xp.sum(su.special_ufunc(name, order, z)))(xp.add(argument, xp.zeros_like(order)))
    return su.special_ufunc(name, order, argument)


def spherical_jn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the first kind of integer order n at real z, or its derivative."""
    return _spherical("spherical_jn", n, z, derivative)


def spherical_yn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the spherical Bessel function of the second kind of integer order n at real z, or its derivative."""
    return _spherical("spherical_yn", n, z, derivative)


def spherical_in(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the first kind at real z, or its derivative."""
    return _spherical("spherical_in", n, z, derivative)


def spherical_kn(n: Any, z: Any, derivative: bool = False) -> Any:
    """Return the modified spherical Bessel function of the second kind at real z, or its derivative."""
    return _spherical("spherical_kn", n, z, derivative)


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
    sign = xp.where((xp.rint(x / (2 * pi)) * (count - 1)) % 2 == 0, 1.0, -1.0)
    return xp.where(known, xp.where(is_pole, sign, regular), np.nan)


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


def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Return what `legendre_p` does of the degrees 0 to n, along a second axis."""
    if (count := static_int(n, "legendre_p_all", "n") + 1) < 1:
        raise ArgumentError("legendre_p_all", f"n={count - 1}", "is negative", "pass the highest degree")
    z = xp.asarray(z)
    rows = legendre_p(np.arange(count).reshape((count, *[1] * z.ndim)), z, diff_n=diff_n)
    return rows.astype(np.float32) if z.dtype == np.float32 else rows


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Return the Bessel functions of the first kind of the orders 0 to v at z, in rows, under JAX's name.

    They have full accuracy whatever `n_iter` is.
    """
    if (count := static_int(v, "bessel_jn", "v") + 1) < 1:
        raise ArgumentError("bessel_jn", f"v={v}", "is negative", "pass the highest order")
    return xp.stack([core.jv(float(order), z) for order in range(count)])


def softplus(x: Any, **options: Any) -> Any:
    """Return log(1 + exp(x)), accurate for numbers of any size."""
    return xp.logaddexp(0.0, x)


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


def _integers(function: str, name: str, x):
    """Return degrees or orders as float64, which must be integers."""
    array = xp.asarray(x)
    if array.dtype.kind not in "iu":
        raise DTypeError(function, f"{name} is {array.dtype}", "convert it to integers with astype", user_line())
    return array.astype(np.float64)


def _rows(function: str, value: Callable[[Any], Any], z, diff_n):
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


def _factor(n, a, is_negative, norm: bool):
    """Return the factor of (1 - z**2)**(a / 2) times the Jacobi polynomial of degree n - a: DLMF 14.3.21, 18.5.7."""
    rising, falling = core.poch(n + 1, a), core.poch(n - a + 1, a)
    if norm:
        return 0.5**a * xp.sqrt((n + 0.5) * rising / falling)
    return 0.5**a * xp.where(is_negative, 1 / falling, rising)


def _sign(a, is_negative):
    """Return the phase of Condon and Shortley, (-1)**a for positive orders."""
    return xp.where((a % 2 == 1) & ~is_negative, -1.0, 1.0)


def _half_power(w, a):
    """Return w**(a / 2) for integers a. Whole powers have all derivatives at w = 0."""
    is_odd = a % 2 == 1
    return xp.where(is_odd, xp.where(is_odd, w, 1.0) ** (a / 2), w ** (a // 2).astype(np.int64))


def _associated(n, m, branch_cut: int, norm: bool) -> Callable[[Any], Any]:
    """Return the associated Legendre function as one of real z."""
    exists = n >= xp.abs(m)  # else it is 0
    a = xp.where(exists, xp.abs(m), 0.0)
    factor = _factor(n, a, m < 0, norm) * (_sign(a, m < 0) if branch_cut == 2 else 1.0)
    factor = xp.where(exists, factor, 0.0)

    def value(z):
        w = 1 - z * z if branch_cut == 2 else z * z - 1
        inside = (a == 0) | (w >= 0 if branch_cut == 2 else z >= 1)
        y = factor * _half_power(xp.where(inside, w, 1.0), a) * FUNCTIONS["eval_jacobi"](n - a, a, a, z)
        return y * xp.where(inside, 1.0, np.nan)

    return value


def assoc_legendre_p(n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """Return the associated Legendre function of degree n and order m at real z, with derivatives up to `diff_n`.

    The derivatives are in the first axis. `branch_cut` 3 has its values outside of [-1, 1].
    """
    if branch_cut not in (2, 3):
        raise ArgumentError("assoc_legendre_p", f"branch_cut={branch_cut!r}", "is not 2 or 3", "choose one of them")
    degree, order = _integers("assoc_legendre_p", "n", n), _integers("assoc_legendre_p", "m", m)
    z = real_floats(z) + 0.0 * (degree + order)
    return _rows("assoc_legendre_p", _associated(degree, order, branch_cut, norm), z, diff_n)


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


def _all(function: str, n, m, *points) -> tuple[np.ndarray, np.ndarray]:
    """Return degrees 0 to n and orders 0 to m, then -m to -1, along two axes before the axes of points."""
    last, most = static_int(n, function, "n"), static_int(m, function, "m")
    if last < 0 or most < 0:
        raise ArgumentError(function, f"n={last}, m={most}", "is negative", "pass the highest degree and order")
    rank = max([xp.asarray(z).ndim for z in points])
    orders = np.concatenate([np.arange(most + 1), np.arange(-most, 0)])
    return np.arange(last + 1).reshape((-1, 1, *[1] * rank)), orders.reshape((-1, *[1] * rank))


def assoc_legendre_p_all(n: Any, m: Any, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0) -> Any:
    """Return what `assoc_legendre_p` does of the degrees to n and the orders to m, along a second and third axis."""
    degrees, orders = _all("assoc_legendre_p_all", n, m, z)
    return assoc_legendre_p(degrees, orders, z, branch_cut=branch_cut, norm=norm, diff_n=diff_n)


def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """Return what `sph_legendre_p` does of the degrees to n and the orders to m, along a second and third axis."""
    degrees, orders = _all("sph_legendre_p_all", n, m, theta)
    return sph_legendre_p(degrees, orders, theta, diff_n=diff_n)


def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonics of the degrees 0 to n and the orders 0 to m, -m to -1, along two first axes.

    Derivatives of traced angles come from transforms, not from `diff_n`.
    """
    if diff_n:
        raise ArgumentError("sph_harm_y_all", f"diff_n={diff_n}", "is not available for traced arrays", "use jvp")
    degrees, orders = _all("sph_harm_y_all", n, m, theta, phi)
    return sph_legendre_p(degrees, orders, theta)[0] * xp.exp(1j * orders * real_floats(phi))


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Return the branch k of Lambert's W function, complex: the w with w exp(w) = z; k is an integer."""
    return sp.lambertw(as_traced(xp.asarray(z).astype(np.complex128)), static_int(k, "lambertw", "k"))


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonic of degree n and order m at polar angles theta and azimuthal angles phi.

    For traced angles n and m are integers, and derivatives come from transforms, not from `diff_n`.
    """
    if diff_n:
        raise ArgumentError("sph_harm_y", f"diff_n={diff_n}", "is not available for traced arrays", "use grad or jvp")
    degree, order = static_int(n, "sph_harm_y", "n"), static_int(m, "sph_harm_y", "m")
    if degree < 0:
        raise ArgumentError("sph_harm_y", f"n={degree}", "is negative", "pass a degree of at least 0")
    return sp.sph_harm_y(degree, order, as_traced(real_floats(theta)), as_traced(real_floats(phi)))


def multigammaln(a: Any, d: Any) -> Any:
    """Return the logarithm of the gamma function of dimension d at a; it needs a > (d - 1) / 2.

    The result has the shape of a, and derivatives exist by a. Where a is too small it is the analytic continuation,
    which SciPy refuses with ValueError.
    """
    steps = 0.5 * xp.arange(d)
    return 0.25 * log(pi) * d * (d - 1) + xp.sum(core.gammaln(xp.asarray(a)[..., None] - steps), axis=-1)


def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Return the number of ways to choose k of N things, as floats; `exact` needs concrete integers."""
    if exact or not is_traced(N, k):
        return scipy_special.comb(N, k, exact=exact, repetition=repetition)
    if repetition:
        N = N + k - 1
    possible = (k <= N) & (N >= 0) & (k >= 0)
    return xp.where(possible, core.binom(xp.where(possible, N, 1.0), xp.where(possible, k, 0.0)), 0.0)


def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Return the number of sequences of k of N things, as floats; `exact` needs concrete integers."""
    if exact or not is_traced(N, k):
        return scipy_special.perm(N, k, exact)
    possible = (k <= N) & (N >= 0) & (k >= 0)
    return xp.where(possible, core.poch(xp.where(possible, N - k + 1.0, 1.0), xp.where(possible, k, 0.0)), 0.0)


def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Return n!, the gamma function at n + 1, as floats: 0 for negative n; `exact` needs concrete integers."""
    if exact or not is_traced(n):
        return scipy_special.factorial(n, exact, extend)
    return xp.where(n < 0, 0.0, core.gamma(xp.where(n < 0, 0.0, n) + 1.0))


def bernoulli(n: Any) -> Any:
    """Return the Bernoulli numbers B0 to Bn; n may be a size or a traced integer."""
    return _continued(scipy_special.bernoulli(300), n)


def euler(n: Any) -> Any:
    """Return the Euler numbers E0 to En; n may be a size or a traced integer."""
    return _continued(scipy_special.euler(300), n)


def _continued(numbers, n):
    """Return the first n + 1 numbers. The last four, zeros and infinities, go on for ever."""
    k, start = xp.arange(n + 1), len(numbers) - 4
    return xp.take(numbers, xp.where(k < start, k, start + ((k - start) & 3)))

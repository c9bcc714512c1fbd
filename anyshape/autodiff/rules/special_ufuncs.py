"""Derivatives of further special functions, by name and result: one for each operand, None for one that has none.

`out` is the result. Numbers are chapters and equations of the DLMF, dlmf.nist.gov.

Batching of further special functions, which are elementwise.
"""

from math import factorial, gamma, inf, log, pi, sqrt
from typing import Any

import numpy as np

from anyshape.autodiff import far_slopes as slopes
from anyshape.autodiff.polynomial_slopes import POLYNOMIALS, lpmv_derivative, of
from anyshape.autodiff.rule_tables import JVPS, add_tangents, one_more_axis, pointwise
from anyshape.autodiff.rules import special
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp
from anyshape.ops import special_ufuncs as su

ORDINALS = ("first", "second", "third", "fourth", "fifth")
DEGREE = pi / 180
ROOT_PI = sqrt(pi)


def _last(derivative, operands):
    """Return the derivatives of a function that has one by its last operand alone."""
    return (*[None] * (operands - 1), derivative)


# -- Bessel, Struve, Kelvin, Airy and parabolic cylinder functions: 10.6, 10.29, 10.51, 10.61, 11.4, 9.2, 12.2


def _half_difference(name):
    return lambda v, x, out: 0.5 * (of(name, v - 1, x) - of(name, v + 1, x))


def _scaled_hankel(name, sign):
    near = _half_difference(name)
    return lambda v, z, out: slopes.scaled_bessel_slope(v, sign, z, out, near(v, z, out) - sign * out)


def _spherical(name, sign_before, sign_after):
    """Return a derivative by both neighbouring orders; the one before order 0 has the factor 0."""

    def derivative(n, x, out):
        before = of(name, ew.select(ew.eq(n, ew.lift(0, n)), 1, n) - 1, x)
        return (sign_before * n * before + sign_after * (n + 1) * of(name, n + 1, x)) / (2 * n + 1)

    return derivative


def _by_series(coefficients, far, odd=False):
    """Return a derivative that is a series of even powers, or of odd ones, up to 1/2 and `far` beyond."""
    near = lambda x: slopes.series(ew.square(x), coefficients) * (x if odd else 1)
    return lambda x, out: slopes.near_and_far(slopes.within(x, 0.5), x, near, far)


def _struve(name, sign):
    """Return the derivative by the order before, and near 0 by the series 11.2.1 and 11.2.2."""

    def derivative(v, x, out):
        def near(x):
            weights = [sign**k / (4**k * gamma(k + 1.5)) for k in range(10)]
            terms = [(k + 0.5 + 0.5 * v) * sp.rgamma(v + k + 1.5) * c for k, c in enumerate(weights)]
            is_flat = ew.eq(v, ew.lift(-1, v))  # the first term is 0 then, times an infinite power at 0
            first = ew.select(is_flat, 0, terms[0]) * (0.5 * x) ** ew.select(is_flat, 1, v)
            return first + 4 * slopes.series(ew.square(x), terms[1:]) * (0.5 * x) ** (v + 2)

        # further terms of the series count for lower orders
        is_near = ew.logical_and(slopes.within(x, 0.5), ew.gt(v, ew.lift(-1.5, v)))
        return slopes.near_and_far(is_near, x, near, lambda x: of(name, v - 1, x) - v / x * of(name, v, x))

    return derivative


def _airye(result, sign, partner):
    """Return the derivative of an Airy function times exp(2 / 3 x**(3 / 2)) with a sign; no factor for negative x."""

    def derivative(x, out):
        other = of("airye", x, result=partner)
        plain = other if result in (0, 2) else x * other
        is_positive, is_far = ew.lt(ew.lift(0, x), x), ew.gt(x, ew.lift(slopes.by_digits(x, 25, 8), x))
        near = plain + sign * ew.select(is_positive, ew.sqrt(ew.select(is_positive, x, 1)), 0) * out
        z = ew.select(is_far, x, 1)  # the Bessel functions of order 1 / 3 and 2 / 3: 9.6
        order, growth = ((1 / 3, 0.5), (2 / 3, 1))[result % 2]
        return ew.select(is_far, out / z * (growth - 1.5 * slopes.decline(order, sign, 2 / 3 * z * ew.sqrt(z))), near)

    return derivative


def _cylinder(equation, name):
    """Return the derivatives of a function and of its derivative, by the equation of the function."""
    return {
        (name, 0): (None, lambda v, x, out: of(name, v, x, result=1)),
        (name, 1): (None, lambda v, x, out: equation(v, x) * of(name, v, x)),
    }


def _kelvin(function, partner, sign, ratio):
    """Return the derivatives of a function and of its derivative, by its equation and its derivative over x."""
    slope = lambda x, out: sign * of(partner, x) - ratio(x, out)
    return {(function, 0): (lambda x, out: of(function + "p", x),), (function + "p", 0): (slope,)}


def _kelvin_slope(result, ratio):
    """Return the derivative of a derivative of `kelvin`: i times the function, less the derivative over x."""

    def slope(x, out):
        value = of("kelvin", x, result=result)
        re, im = (ratio[k](x, part) for k, part in enumerate((ew.real(out), ew.imag(out))))
        return ew.make_complex(-ew.imag(value) - re, ew.real(value) - im)

    return slope


_BER = [0.0 if i % 2 == 0 else (-1) ** (i // 2 + 1) * (i + 1) / (2 * 4**i * factorial(i + 1) ** 2) for i in range(12)]
_BEI = [0.0 if i % 2 else (-1) ** (i // 2) * (i + 1) / (2 * 4**i * factorial(i + 1) ** 2) for i in range(12)]
_BE_RATIO = _by_series(_BER, lambda x: of("berp", x) / x), _by_series(_BEI, lambda x: of("beip", x) / x)
_KE_RATIO = (  # at 0 ker is infinite
    lambda x, out: out / x,
    lambda x, out: out / ew.select(ew.eq(x, ew.lift(0, x)), 1, x),
)
BESSEL: dict[Any, Any] = {
    ("jve", 0): (None, _half_difference("jve")),
    ("yve", 0): (None, _half_difference("yve")),
    ("yn", 0): (None, lambda n, x, out: ew.select(ew.isinf(out), -out, _half_difference("yn")(n, x, out))),
    ("hankel1", 0): (None, _half_difference("hankel1")),
    ("hankel2", 0): (None, _half_difference("hankel2")),
    ("hankel1e", 0): (None, _scaled_hankel("hankel1e", 1j)),
    ("hankel2e", 0): (None, _scaled_hankel("hankel2e", -1j)),
    ("spherical_jn", 0): (None, _spherical("spherical_jn", 1, -1)),
    ("spherical_yn", 0): (None, _spherical("spherical_yn", 1, -1)),
    ("spherical_in", 0): (None, _spherical("spherical_in", 1, 1)),
    ("spherical_kn", 0): (None, _spherical("spherical_kn", -1, -1)),
    ("struve", 0): (None, _struve("struve", -1)),
    ("modstruve", 0): (None, _struve("modstruve", 1)),
    ("besselpoly", 0): (
        lambda a, k, v, out: of("besselpoly", a, k + 1, v - 1) - of("besselpoly", a, k + 1, v + 1),
        None,
        None,
    ),
    **_kelvin("ber", "bei", -1, _BE_RATIO[0]),
    **_kelvin("bei", "ber", 1, _BE_RATIO[1]),
    **_kelvin("ker", "kei", -1, _KE_RATIO[0]),
    **_kelvin("kei", "ker", 1, _KE_RATIO[1]),
    ("kelvin", 0): (lambda x, out: of("kelvin", x, result=2),),
    ("kelvin", 1): (lambda x, out: of("kelvin", x, result=3),),
    ("kelvin", 2): (_kelvin_slope(0, _BE_RATIO),),
    ("kelvin", 3): (_kelvin_slope(1, _KE_RATIO),),
    ("airy", 0): (lambda x, out: of("airy", x, result=1),),
    ("airy", 1): (lambda x, out: x * of("airy", x, result=0),),
    ("airy", 2): (lambda x, out: of("airy", x, result=3),),
    ("airy", 3): (lambda x, out: x * of("airy", x, result=2),),
    ("airye", 0): (_airye(0, 1, 1),),
    ("airye", 1): (_airye(1, 1, 0),),
    ("airye", 2): (_airye(2, -1, 3),),
    ("airye", 3): (_airye(3, -1, 2),),
    **_cylinder(lambda v, x: 0.25 * ew.square(x) - v - 0.5, "pbdv"),
    **_cylinder(lambda v, x: 0.25 * ew.square(x) - v - 0.5, "pbvv"),
    **_cylinder(lambda a, x: a - 0.25 * ew.square(x), "pbwa"),
}

# -- integrals of these functions

_SQUARES = [1 / (4**k * factorial(k) ** 2) for k in range(1, 11)]  # of modified Bessel functions
_SIGNED = [(-1) ** k * c for k, c in enumerate(_SQUARES)]
_HALVES = [-0.5 * (-1) ** k / (4**k * gamma(k + 1.5) ** 2) for k in range(10)]
INTEGRALS: dict[Any, Any] = {
    ("sici", 0): lambda x, out: sp.sinc(x / pi),
    ("sici", 1): lambda x, out: ew.cos(x) / x,
    ("shichi", 0): lambda x, out: slopes.sinh_by_x(x),
    ("shichi", 1): lambda x, out: ew.cosh(x) / x,
    ("fresnel", 0): lambda x, out: ew.sin(0.5 * pi * ew.square(x)),
    ("fresnel", 1): lambda x, out: ew.cos(0.5 * pi * ew.square(x)),
    ("itairy", 0): lambda x, out: of("airy", x, result=0),
    ("itairy", 1): lambda x, out: of("airy", x, result=2),
    ("itairy", 2): lambda x, out: of("airy", -x, result=0),
    ("itairy", 3): lambda x, out: of("airy", -x, result=2),
    ("iti0k0", 0): lambda x, out: sp.bessel_i(0, x),
    ("iti0k0", 1): lambda x, out: sp.bessel_k(0, x),
    ("itj0y0", 0): lambda x, out: sp.bessel_j(0, x),
    ("itj0y0", 1): lambda x, out: sp.bessel_y(0, x),
    ("it2i0k0", 0): _by_series(_SQUARES, lambda x: (sp.bessel_i(0, x) - 1) / x, odd=True),
    ("it2i0k0", 1): lambda x, out: -sp.bessel_k(0, x) / x,
    ("it2j0y0", 0): _by_series(_SIGNED, lambda x: (1 - sp.bessel_j(0, x)) / x, odd=True),
    ("it2j0y0", 1): lambda x, out: -sp.bessel_y(0, x) / x,
    ("itstruve0", 0): lambda x, out: of("struve", 0, x),
    ("itmodstruve0", 0): lambda x, out: of("modstruve", 0, x),
    ("it2struve0", 0): _by_series(_HALVES, lambda x: -of("struve", 0, x) / x),
}

# -- elliptic functions and integrals: 19.18, 22.13


def _amplitude_by_parameter(u, m):
    """Return the derivative of the amplitude by the parameter at a fixed integral of the first kind."""
    amplitude, dn = of("ellipj", u, m, result=3), of("ellipj", u, m, result=2)
    return -dn * special.ellipkinc_by_parameter(amplitude, m, None)


def _dn_by_parameter(u, m, out):
    sn, cn = of("ellipj", u, m, result=0), of("ellipj", u, m, result=1)
    return -(0.5 * ew.square(sn) + m * sn * cn * _amplitude_by_parameter(u, m)) / out


def _elliprg(x, y, z):
    """Return the derivative by x; x times the integral of the second kind is 0 at 0."""
    is_zero = ew.eq(x, ew.lift(0, x))
    second = sp.elliprd(y, z, ew.select(is_zero, 1, x))
    return 0.25 * (sp.elliprf(x, y, z) - ew.select(is_zero, 0, x * second) / 3)


def _mean_derivative(a, b):
    """Return the derivative of the mean by a, with integrals of the quotient of the smaller and the larger one."""

    def derivative(out):
        is_larger = ew.gt(ew.absolute(a), ew.absolute(b))
        zero, one, large = ew.lift(0, a), ew.lift(1, a), ew.select(is_larger, a, b)
        square = ew.square(ew.select(is_larger, b, a) / large)
        integral = sp.elliprd(zero, ew.select(is_larger, square, one), ew.select(is_larger, one, square))
        return 2 / (3 * pi) * ew.square(out / large) * ew.absolute(a / large) * integral

    return derivative


ELLIPTIC: dict[Any, Any] = {
    ("ellipj", 0): (
        lambda u, m, out: of("ellipj", u, m, result=1) * of("ellipj", u, m, result=2),
        lambda u, m, out: of("ellipj", u, m, result=1) * _amplitude_by_parameter(u, m),
    ),
    ("ellipj", 1): (
        lambda u, m, out: -of("ellipj", u, m, result=0) * of("ellipj", u, m, result=2),
        lambda u, m, out: -of("ellipj", u, m, result=0) * _amplitude_by_parameter(u, m),
    ),
    ("ellipj", 2): (
        lambda u, m, out: -m * of("ellipj", u, m, result=0) * of("ellipj", u, m, result=1),
        _dn_by_parameter,
    ),
    ("ellipj", 3): (lambda u, m, out: of("ellipj", u, m, result=2), lambda u, m, out: _amplitude_by_parameter(u, m)),
    ("elliprg", 0): (
        lambda x, y, z, out: _elliprg(x, y, z),
        lambda x, y, z, out: _elliprg(y, z, x),
        lambda x, y, z, out: _elliprg(z, x, y),
    ),
    ("elliprj", 0): (  # 3 / 2 times the integral with exponent 1 of t + p
        lambda x, y, z, p, out: -0.75 * su.carlson_integral((1, 0, 0, 1), x, y, z, p),
        lambda x, y, z, p, out: -0.75 * su.carlson_integral((0, 1, 0, 1), x, y, z, p),
        lambda x, y, z, p, out: -0.75 * su.carlson_integral((0, 0, 1, 1), x, y, z, p),
        lambda x, y, z, p, out: -1.5 * su.carlson_integral((0, 0, 0, 2), x, y, z, p),
    ),
    ("agm", 0): (lambda a, b, out: _mean_derivative(a, b)(out), lambda a, b, out: _mean_derivative(b, a)(out)),
}

# -- distribution functions and their inverses


def _inverse(partials, position, operands, sign=1):
    """Return the derivatives of the operand at a position that a function needs for a value, which stands there.

    `sign` is -1 for the complement of a function.
    """

    def derivative(j):
        def by(*xs_and_out):
            *xs, out = xs_and_out
            parts = partials(*xs[:position], out, *xs[position + 1 :])
            return sign / parts[position]() if j == position else -parts[j]() / parts[position]()

        return by

    return tuple(derivative(j) for j in range(operands))


def _of_partials(partials, operands, sign=1):
    """Return the derivatives of a function by its partial ones, or of its complement for the sign -1."""
    return tuple(lambda *xs, j=j: sign * partials(*xs[:-1])[j]() for j in range(operands))


def _within(low, high, rules):
    """Return rules of an inverse that SciPy clamps to these bounds where there is no solution: the slope is 0 there."""

    def clamped(rule):
        def by(*xs_and_out):
            *xs, out = xs_and_out
            inside = ew.logical_and(ew.gt(out, ew.lift(low, out)), ew.lt(out, ew.lift(high, out)))
            return ew.select(inside, rule(*xs, ew.select(inside, out, 1)), 0)

        return by

    return tuple(rule and clamped(rule) for rule in rules)


def _poisson_partials(k, m):
    """Return the partial derivatives of gammaincc(k + 1, m), which goes on between the integers, as functions."""
    by_k, by_m = special.gammainc_partials(k + 1, m)
    return lambda: -by_k(), lambda: -by_m()


def _binomial_partials(k, n, p):
    """Return the partial derivatives of betaincc(k + 1, n - k, p)."""
    by_a, by_b, by_p = special.betainc_partials(k + 1, n - k, p)
    return lambda: by_b() - by_a(), lambda: -by_b(), lambda: -by_p()


def _negative_binomial_partials(k, n, p):
    """Return the partial derivatives of betainc(n, k + 1, p)."""
    by_n, by_k, by_p = special.betainc_partials(n, k + 1, p)
    return by_k, by_n, by_p


def _noncentral_density(x, df, nc):
    """Return the density of the noncentral chi-squared distribution, by the modified Bessel function."""
    is_central = ew.eq(nc, ew.lift(0, nc))
    mean = ew.select(is_central, 1, nc)
    central = 0.5 * ew.exp(sp.xlogy(0.5 * df - 1, 0.5 * x) - 0.5 * x - sp.gammaln(0.5 * df))
    distance = ew.square(ew.sqrt(x) - ew.sqrt(mean))
    scale = 0.5 * ew.exp(sp.xlogy(0.25 * df - 0.5, x / mean) - 0.5 * distance)
    return ew.select(is_central, central, scale * sp.ive(0.5 * df - 1, ew.sqrt(x * mean)))


def _noncentral_by_mean(x, df, nc):
    """Return minus a density, which has all digits; at 0, where it has no slopes by the mean, half a difference."""
    is_end = ew.eq(x * nc, ew.lift(0, x))
    point, mean = (ew.select(is_end, 1, z) for z in (x, nc))
    at_end = 0.5 * (of("chndtr", x, df + 2, nc) - of("chndtr", x, df, nc))
    return ew.select(is_end, at_end, -_noncentral_density(point, df + 2, mean))


def _voigt(part, derivative):
    """Return the real or imaginary part of a derivative of the Faddeeva function, over 2 sqrt(pi) sigma**2.

    A width far below the distance to the pole counts as one that is still exact, and whose square does not underflow.
    """

    def by(x, sigma, gamma, out):
        width = ew.maximum(sigma, 1e-20 * ew.hypot(x, gamma))
        z = ew.make_complex(x, gamma) / ew.make_complex(sqrt(2) * width, ew.lift(0, width))
        value = sp.wofz(z)
        slope = slopes.wofz_slope(z, value)
        if derivative == 1:
            return part(slope) / width / width / (2 * ROOT_PI)
        second = part(slopes.wofz_curvature(z, value, slope)) / width / width
        return sigma * second / width / (2 * sqrt(2 * pi))

    return by


def _kolmogorov_density(x):
    """Return the negative derivative of the complementary distribution function, by its two series, which meet at 1."""
    zero = ew.lift(0, x)
    near, far = ew.lt(x, ew.lift(1, x)), ew.gt(x, ew.lift(30, x))
    none = ew.logical_or(ew.lt(x, ew.lift(0.03, x)), far)  # exponentials are 0 there
    low = 1 / ew.square(ew.select(ew.logical_and(near, ew.logical_not(none)), x, 0.5))
    high = ew.select(ew.logical_or(near, far), 1, x)
    below, above = zero, zero
    for k in (1, 3, 5, 7):
        a = (k * pi) ** 2 / 8
        below = below + sqrt(2 * pi) * ew.exp(-a * low) * (2 * a * ew.square(low) - low)
    for k in range(1, 6):
        above = above - (-1) ** k * 8 * k**2 * high * ew.exp(-2 * k**2 * ew.square(high))
    return ew.select(none, zero, ew.select(near, below, above))


DISTRIBUTIONS: dict[Any, Any] = {
    "kolmogorov": (lambda x, out: -_kolmogorov_density(x),),
    "kolmogi": (lambda p, out: -1 / _kolmogorov_density(out),),
    "pdtr": (None, lambda k, m, out: -special.poisson_density(k, m)),
    "pdtrc": (None, lambda k, m, out: special.poisson_density(k, m)),
    "chdtr": _of_partials(special.chdtr_partials, 2),
    "chdtrc": _of_partials(special.chdtr_partials, 2, -1),
    "fdtr": _of_partials(special.fdtr_partials, 3),
    "fdtrc": _of_partials(special.fdtr_partials, 3, -1),
    "gdtr": _of_partials(special.gdtr_partials, 3),
    "gdtrc": _of_partials(special.gdtr_partials, 3, -1),
    "bdtri": (None, None, lambda k, n, y, out: -1 / special.binomial_density(k, n, out)),
    "nbdtri": (None, None, lambda k, n, y, out: 1 / special.beta_density(n, k + 1, out)),
    "pdtri": (None, lambda k, y, out: -1 / special.poisson_density(k, out)),
    "bdtrik": _within(0, inf, _inverse(_binomial_partials, 0, 3)),
    "bdtrin": _inverse(_binomial_partials, 1, 3),
    "nbdtrik": _within(0, inf, _inverse(_negative_binomial_partials, 0, 3)),
    "nbdtrin": _inverse(_negative_binomial_partials, 1, 3),
    "pdtrik": _within(0, inf, _inverse(_poisson_partials, 0, 2)),
    "btdtria": _inverse(special.betainc_partials, 0, 3),
    "btdtrib": _inverse(special.betainc_partials, 1, 3),
    "chdtri": _inverse(special.chdtr_partials, 1, 2, -1),
    "chdtriv": _inverse(special.chdtr_partials, 0, 2),
    "fdtri": _inverse(special.fdtr_partials, 2, 3),
    "fdtridfd": _within(0, 1e100, _inverse(special.fdtr_partials, 1, 3)),
    "gdtria": _inverse(special.gdtr_partials, 0, 3),
    "gdtrib": _inverse(special.gdtr_partials, 1, 3),
    "gdtrix": _inverse(special.gdtr_partials, 2, 3),
    "stdtridf": _within(-1e100, 1e10, _inverse(special.stdtr_partials, 0, 2)),
    "chndtr": (
        lambda x, df, nc, out: _noncentral_density(x, df, nc),
        None,
        lambda x, df, nc, out: _noncentral_by_mean(x, df, nc),
    ),
    "chndtrix": (
        lambda p, df, nc, out: 1 / _noncentral_density(out, df, nc),
        None,
        lambda p, df, nc, out: -_noncentral_by_mean(out, df, nc) / _noncentral_density(out, df, nc),
    ),
    "chndtrinc": _within(
        1e-300,
        inf,
        (
            lambda x, df, p, out: -_noncentral_density(x, df, out) / _noncentral_by_mean(x, df, out),
            None,
            lambda x, df, p, out: 1 / _noncentral_by_mean(x, df, out),
        ),
    ),
    "nrdtrimn": (
        lambda p, std, x, out: -std * sqrt(2 * pi) * ew.exp(0.5 * ew.square(sp.ndtri(p))),
        lambda p, std, x, out: -sp.ndtri(p),
        lambda p, std, x, out: ew.lift(1, x),
    ),
    "nrdtrisd": (
        lambda mn, p, x, out: -1 / sp.ndtri(p),
        lambda mn, p, x, out: -out * sqrt(2 * pi) * ew.exp(0.5 * ew.square(sp.ndtri(p))) / sp.ndtri(p),
        lambda mn, p, x, out: 1 / sp.ndtri(p),
    ),
    "ndtri_exp": (lambda y, out: sqrt(2 * pi) * ew.exp(y + 0.5 * ew.square(out)),),
    "tklmbda": (
        lambda x, k, out: ew.select(k * ew.absolute(x) > 1, 0, 1 / (out ** (k - 1) + (1 - out) ** (k - 1))),
        None,
    ),
    "voigt_profile": (  # the derivative by sigma is sigma times the second one by x
        _voigt(ew.real, 1),
        _voigt(ew.real, 2),
        lambda x, s, g, out: -_voigt(ew.imag, 1)(x, s, g, out),
    ),
}

# -- hypergeometric, Wright and elementary functions: 13.3.22, 10.46

OTHERS: dict[Any, Any] = {
    "hyperu": _last(lambda a, b, x, out: -a * of("hyperu", a + 1, b + 1, x), 3),
    "wright_bessel": _last(lambda a, b, x, out: of("wright_bessel", a, a + b, x), 3),
    "log_wright_bessel": _last(lambda a, b, x, out: ew.exp(of("log_wright_bessel", a, a + b, x) - out), 3),
    "loggamma": (lambda z, out: sp.digamma(z),),
    "zetac": (lambda x, out: slopes.riemann_zeta_slope(x),),
    "wrightomega": (lambda x, out: out / (1 + out),),
    "powm1": (lambda x, y, out: y * x ** (y - 1), lambda x, y, out: sp.xlogy(x**y, x)),
    "boxcox": (lambda x, y, out: x ** (y - 1), lambda x, y, out: slopes.boxcox_by_power(ew.log(x), y)),
    "boxcox1p": (lambda x, y, out: (1 + x) ** (y - 1), lambda x, y, out: slopes.boxcox_by_power(ew.log1p(x), y)),
    "inv_boxcox": (slopes.inv_boxcox_by_x, lambda x, y, out: out * slopes.inv_boxcox_by_power(x, y)),
    "inv_boxcox1p": (
        lambda x, y, out: slopes.inv_boxcox_by_x(x, y, 1 + out),
        lambda x, y, out: (1 + out) * slopes.inv_boxcox_by_power(x, y),
    ),
    "exprel": (lambda x, out: 0.5 * sp.hyp1f1(2.0, 3.0, x),),
    "spence": (lambda x, out: slopes.spence_slope(x),),
    "exp1": (lambda x, out: -ew.exp(-x) / x,),
    "expi": (lambda x, out: ew.exp(x) / x,),
    "exp10": (lambda x, out: log(10) * out,),
    "erfi": (lambda x, out: 2 / ROOT_PI * ew.exp(ew.square(x)),),
    "erfinv": (lambda x, out: ew.exp(ew.square(out)) * (ROOT_PI / 2),),
    "erfcinv": (lambda x, out: -ew.exp(ew.square(out)) * (ROOT_PI / 2),),
    "dawsn": (slopes.dawsn_slope,),
    "logit": (lambda x, out: 1 / (x * (1 - x)),),
    "cosm1": (lambda x, out: -ew.sin(x),),
    "sindg": (lambda x, out: DEGREE * of("cosdg", x),),
    "cosdg": (lambda x, out: -DEGREE * of("sindg", x),),
    "tandg": (lambda x, out: DEGREE * ew.square(1 / of("cosdg", x)),),  # SciPy's values lose digits beside poles
    "cotdg": (lambda x, out: -DEGREE * ew.square(1 / of("sindg", x)),),
    "radian": tuple((lambda d, m, s, out, part=part: ew.lift(DEGREE / part, s)) for part in (1, 60, 3600)),
}
DERIVATIVES: dict[Any, Any] = {
    **{(name, 0): _last(f, su.FUNCTIONS[name][0]) for name, f in POLYNOMIALS.items()},
    ("lpmv", 0): _last(lpmv_derivative, 3),
    **BESSEL,
    **{key: (f,) for key, f in INTEGRALS.items()},
    **ELLIPTIC,
    **{(name, 0): rules for name, rules in (DISTRIBUTIONS | OTHERS).items()},
}
WITHOUT = frozenset(
    """
    chndtridf mathieu_a mathieu_b mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1
    mathieu_modsem2 mathieu_sem ncfdtr ncfdtri ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit
    obl_ang1 obl_ang1_cv obl_cv obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv pro_ang1 pro_ang1_cv pro_cv pro_rad1
    pro_rad1_cv pro_rad2 pro_rad2_cv smirnov smirnovi
    """.split()  # noqa: SIM905
)  # whose derivatives by any operand raise UnsupportedFunctionError


def _jvp(ctx, tangents, out, *xs, function):
    """Give the tangent of each result.

    Single precision is computed in double: loops of SciPy have few digits there, and 1 is added to small operands.
    """
    many = su.FUNCTIONS[function][1] > 1
    outs = out if many else (out,)
    dtype = outs[0].dtype
    if xs[0].dtype == np.float32:
        xs = tuple(ew.convert(x, np.float64) for x in xs)
        outs = su.special_ufuncs(function, *xs)
    parts = [_tangent(ctx, tangents, y, xs, function, k, dtype) for k, y in enumerate(outs)]
    return parts if many else parts[0]


def _tangent(ctx, tangents, out, xs, function, result, dtype):
    """Add the parts of the operands; a part without a derivative is refused by the name of the function."""
    rules = (None,) * len(xs) if function in WITHOUT else DERIVATIVES[function, result]
    total = None
    for rule, tangent, ordinal in zip(rules, tangents, ORDINALS, strict=False):
        if tangent is None:
            continue
        if rule is None:
            advice = "give it stop_gradient(...) of this operand, or a derivative rule with custom_jvp"
            raise UnsupportedFunctionError(
                function, f"has no derivative with respect to its {ordinal} operand", advice, ctx.where
            )
        slope = ew.convert(rule(*xs, out), dtype)
        is_complex = tangent.dtype != dtype  # a product with 0j would make infinite parts NaN
        product = ew.make_complex(tangent * ew.real(slope), tangent * ew.imag(slope)) if is_complex else tangent * slope
        total = add_tangents(total, product)
    return total


JVPS[su.special_ufunc_op] = _jvp


def _raised(position):
    """Return the derivative of Carlson's integral by an operand: the exponent times the integral with the next one."""

    def derivative(x, y, z, p, out, *, orders):
        exponent = orders[3] if position == 3 else 0.5 + orders[position]
        if not exponent:
            return ew.lift(0, x)
        raised = tuple(k + (j == position) for j, k in enumerate(orders))
        return -exponent * su.carlson_integral(raised, x, y, z, p)

    return derivative


pointwise(su.carlson_integral_op, *map(_raised, range(4)))


one_more_axis(su.special_ufunc_op, su.carlson_integral_op)

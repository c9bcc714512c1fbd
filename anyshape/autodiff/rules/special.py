"""Derivatives of special functions. `x, y` are inputs, `out` the output.

Batching of special functions, which are elementwise.
"""

import functools
from math import pi, sqrt
from typing import Any

import numpy as np

from anyshape.autodiff import far_slopes as far
from anyshape.autodiff.rule_tables import JVPS, add_tangents, one_more_axis, pointwise, zero
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp
from anyshape.ops import special_ufuncs as su
from anyshape.ops.core.bell_polynomials import bell_polynomial, bell_polynomial_of_two

TWO_BY_ROOT_PI = 2 / sqrt(pi)
ROOT_TWO_PI = sqrt(2 * pi)


def _gauss(x):
    """Return exp(-x**2)."""
    return ew.exp(-ew.square(x))


def derivative_in_last(op: Any, derivative: Any) -> Any:
    """Declare an elementwise op whose derivative exists in its last input alone: `derivative(*inputs, out)`."""

    def jvp(ctx, tangents, out, *xs):
        for position, tangent in zip(("first", "second", "third"), tangents[:-1], strict=False):
            if tangent is not None:
                advice = "give it stop_gradient(...) of this operand, or a derivative rule with custom_jvp"
                raise UnsupportedFunctionError(
                    op.name, f"has no derivative with respect to its {position} operand", advice, ctx.where
                )
        return tangents[-1] * derivative(*xs, out)

    JVPS[op] = jvp


def _in_double(density):
    """Compute a density of float32 operands in double: a sum of large logarithms leaves its exponential few digits."""

    @functools.wraps(density)
    def computed(*xs):
        if not all(x.dtype == np.float32 for x in xs):
            return density(*xs)
        return ew.convert(density(*[ew.convert(x, np.float64) for x in xs]), np.float32)

    return computed


@_in_double
def _gamma_density(x, y):
    """Return y**(x - 1) exp(-y) / gamma(x)."""
    return ew.exp(sp.xlogy(x - 1, y) - y - sp.gammaln(x))


@_in_double
def beta_density(a: Any, b: Any, x: Any) -> Any:
    """Return x**(a - 1) (1 - x)**(b - 1) / beta(a, b)."""
    return ew.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


@_in_double
def _student_density(df, t):
    """Return the density of Student's t with df degrees of freedom; the standard normal for infinitely many."""
    is_normal = ew.isinf(df)
    nu = ew.select(is_normal, 1, df)  # both choices are computed, and differentiated again
    return ew.select(is_normal, ew.exp(-0.5 * ew.square(t)) / ROOT_TWO_PI, ew.exp(_log_student_density(nu, t)))


def _log_student_density(nu, t):
    return -0.5 * (nu + 1) * far.log1p_of_square(t / ew.sqrt(nu)) - 0.5 * ew.log(nu) - sp.betaln(0.5 * nu, 0.5)


# -- error functions and the normal distribution

pointwise(sp.erf_op, lambda x, out: TWO_BY_ROOT_PI * _gauss(x))
pointwise(sp.erfc_op, lambda x, out: -TWO_BY_ROOT_PI * _gauss(x))
pointwise(sp.erfcx_op, far.erfcx_slope)
pointwise(sp.ndtr_op, lambda x, out: ew.exp(-0.5 * ew.square(x)) / ROOT_TWO_PI)
pointwise(sp.ndtri_op, lambda x, out: ROOT_TWO_PI * ew.exp(0.5 * ew.square(out)))
pointwise(sp.log_ndtr_op, lambda x, out: far.log_ndtr_slope(x))
pointwise(
    sp.owens_t_op,
    lambda x, y, out: -0.5 / ROOT_TWO_PI * ew.exp(-0.5 * ew.square(x)) * sp.erf(sqrt(0.5) * x * y),
    lambda x, y, out: ew.exp(-0.5 * ew.square(x) * (1 + ew.square(y))) / (2 * pi * (1 + ew.square(y))),
)

# -- gamma and related functions

pointwise(sp.gamma_op, lambda x, out: out * sp.digamma(x))
pointwise(sp.gammaln_op, lambda x, out: sp.digamma(x))
pointwise(sp.digamma_op, lambda x, out: sp.polygamma(1, x))
pointwise(sp.polygamma_op, lambda x, out, *, order: sp.polygamma(order + 1, x))
pointwise(
    sp.polygamma_difference_op,
    lambda x, y, out, *, order: sp.polygamma_difference(x, y, order + 1),
    lambda x, y, out, *, order: sp.polygamma(order + 1, x + y),
)
pointwise(
    sp.beta_op,
    lambda x, y, out: -out * sp.polygamma_difference(x, y),
    lambda x, y, out: -out * sp.polygamma_difference(y, x),
)
pointwise(
    sp.betaln_op, lambda x, y, out: -sp.polygamma_difference(x, y), lambda x, y, out: -sp.polygamma_difference(y, x)
)
pointwise(sp.zeta_op, lambda x, y, out: sp.zeta_derivative(x, y), far.zeta_by_shift)
pointwise(
    sp.zeta_derivative_op,
    lambda x, y, out, *, order: sp.zeta_derivative(x, y, order + 1),
    lambda x, y, out, *, order: far.zeta_by_shift(x, y, out, order),
)
pointwise(sp.riemann_zeta_op, lambda x, out: far.riemann_zeta_slope(x))


def gammainc_partials(a: Any, x: Any) -> Any:
    """Return the partial derivatives of gammainc, as functions."""
    return lambda: sp.gammainc_derivative(a, x), lambda: _gamma_density(a, x)


def betainc_partials(a: Any, b: Any, x: Any) -> Any:
    """Return the partial derivatives of betainc, as functions."""
    return (
        lambda: sp.betainc_derivative(a, b, x, 1, 0),
        lambda: sp.betainc_derivative(a, b, x, 0, 1),
        lambda: beta_density(a, b, x),
    )


def stdtr_partials(df: Any, t: Any) -> Any:
    """Return the partial derivatives of stdtr, as functions."""
    return lambda: _stdtr_by_df(df, t), lambda: _student_density(df, t)


def _stdtr_by_df(df, t):
    """Return the derivative by df of 1/2 + sign(u) betainc(1 / 2, df / 2, u**2 / (1 + u**2)) / 2, u = t / sqrt(df)."""
    is_normal = ew.isinf(df)
    nu = ew.select(is_normal, 1, df)
    by_parameter = 0.25 * sp.student_derivative(0.5 * nu, t / ew.sqrt(nu), 1)
    size = ew.absolute(t)
    is_far = ew.gt(size, ew.lift(1, size))  # the density alone underflows earlier
    growth = ew.log(ew.select(is_far, size, 1))
    product = ew.select(is_far, ew.sign(t), t) * ew.exp(_log_student_density(nu, t) + growth)
    return ew.select(is_normal, 0, by_parameter - product / (2 * nu))


def _student_derivative_by_u(half, u, out, *, order):
    """Return the derivative, by the parameter, of 2 (1 + u**2)**(-half - 1 / 2) / beta(1 / 2, half)."""
    growth = far.log1p_of_square(u)

    def of_logarithm(k):
        value = sp.polygamma_difference(half, 0.5, k - 1)
        return value - growth if k == 1 else value

    logarithm = -(half + 0.5) * growth - sp.betaln(half, 0.5)
    return 2 * ew.exp(logarithm) * bell_polynomial(order, of_logarithm)


def _partial_of(partials, position, sign, ends, is_unbounded):
    return lambda *xs_and_out: sign * partials(*xs_and_out[:-1])[position]()


def _partial_of_inverse(partials, position, sign, ends, is_unbounded):
    """Return a partial derivative of the inverse in the last input, by the implicit rule, 0 at ends of its range.

    At the infinite end of an unbounded range it is infinite: by the value it has the sign of each further derivative.
    """

    def at_ends(out, value, x):
        for end in ends:
            x = ew.select(ew.eq(out, end), value, x)
        return x

    def derivative(*xs_and_out):
        *xs, out = xs_and_out
        is_infinite = ew.isinf(out)
        value, large = finite(*xs, ew.select(is_infinite, 1, out)), ew.log(ew.select(is_infinite, out, 1))
        return ew.select(is_infinite, sign * out if position == len(xs) - 1 else large, value)

    def finite(*xs_and_out):
        *parameters, _, out = xs_and_out
        if position == len(parameters):
            return sign / partials(*parameters, out)[-1]()
        by = partials(*parameters, at_ends(out, 0.5, out))
        return at_ends(out, 0, -by[position]() / by[-1]())

    return derivative if is_unbounded else finite


def _with_partials(
    partials, inputs, function, complement, inverse=None, inverse_of_complement=None, ends=(), is_unbounded=False
):
    """Declare a distribution function, its complement to 1, and their inverses in the last input, between `ends`."""
    for op, rule, sign in (
        (function, _partial_of, 1),
        (complement, _partial_of, -1),
        (inverse, _partial_of_inverse, 1),
        (inverse_of_complement, _partial_of_inverse, -1),
    ):
        if op is not None:
            pointwise(op, *[rule(partials, position, sign, ends, is_unbounded) for position in range(inputs)])


_with_partials(gammainc_partials, 2, sp.gammainc_op, sp.gammaincc_op, sp.gammaincinv_op, sp.gammainccinv_op, (0,), True)
_with_partials(betainc_partials, 3, sp.betainc_op, sp.betaincc_op, sp.betaincinv_op, sp.betainccinv_op, (0, 1))
_with_partials(stdtr_partials, 2, sp.stdtr_op, None, sp.stdtrit_op)


def _gammainc_derivative_by_x(a, x, out, *, order):
    """Return the derivative of the density by its parameter."""
    center = ew.log(x) - sp.digamma(a)
    polynomial = bell_polynomial(order, lambda k: center if k == 1 else -sp.polygamma(k - 1, a))
    return _gamma_density(a, x) * polynomial


def _betainc_derivative_by_x(a, b, x, out, *, order_a, order_b):
    """Return the derivative of the density by its parameters."""

    def of_logarithm(i, j):
        if i and j:
            return sp.polygamma(i + j - 1, a + b)
        value = sp.polygamma_difference(a, b, i - 1) if i else sp.polygamma_difference(b, a, j - 1)
        return value + (ew.log(x) if (i, j) == (1, 0) else ew.log1p(-x) if (i, j) == (0, 1) else 0)

    return beta_density(a, b, x) * bell_polynomial_of_two((order_a, order_b), of_logarithm)


pointwise(
    sp.student_derivative_op,
    lambda half, u, out, *, order: sp.student_derivative(half, u, order + 1),
    _student_derivative_by_u,
)
pointwise(
    sp.gammainc_derivative_op,
    lambda a, x, out, *, order: sp.gammainc_derivative(a, x, order + 1),
    _gammainc_derivative_by_x,
)
pointwise(
    sp.betainc_derivative_op,
    lambda a, b, x, out, *, order_a, order_b: sp.betainc_derivative(a, b, x, order_a + 1, order_b),
    lambda a, b, x, out, *, order_a, order_b: sp.betainc_derivative(a, b, x, order_a, order_b + 1),
    _betainc_derivative_by_x,
)

# -- logistic functions, entropies, integrals of exponentials

pointwise(sp.expit_op, sp.expit_slope)
pointwise(sp.expit_slope_op, lambda x, y, out: -out * ew.tanh(0.5 * x), None)  # y is a function of x
pointwise(sp.log_expit_op, lambda x, out: sp.expit(-x))
pointwise(sp.xlogy_op, lambda x, y, out: ew.log(y), lambda x, y, out: ew.ratio(x, y))
pointwise(sp.xlog1py_op, lambda x, y, out: ew.log1p(y), lambda x, y, out: ew.ratio(x, 1 + y))
pointwise(sp.entr_op, lambda x, out: -ew.log(x) - 1)
pointwise(sp.rel_entr_op, lambda x, y, out: far.log_of_ratio(x, y) + 1, lambda x, y, out: -ew.ratio(x, y))
pointwise(sp.kl_div_op, lambda x, y, out: far.log_of_ratio(x, y), lambda x, y, out: 1 - ew.ratio(x, y))

# -- hypergeometric functions, products of gamma functions, further integrals: DLMF, chapters 5, 6, 8, 13, 15 and 16


def _expn_derivative(n, x, out):
    """Return minus the integral of the order before; that of order 0 is exp(-x) / x."""
    is_first = ew.lt(n, ew.lift(1, n))  # an order is truncated to an integer
    first = -ew.exp(-x) * (1 / x + 1 / ew.square(x))
    return ew.select(is_first, first, -sp.expn(ew.select(is_first, 1, n) - 1, x))


pointwise(sp.rgamma_op, far.rgamma_slope)
pointwise(sp.poch_op, lambda x, y, out: far.by_divisor(x, out, x + y, gap=y), lambda x, y, out: out * sp.digamma(x + y))
pointwise(
    sp.binom_op,
    lambda x, y, out: far.by_divisor(x - y + 1, out, x + 1, y + 1, gap=y),
    lambda x, y, out: far.by_divisor(y + 1, out, x + 1, x - y + 1) - far.by_divisor(x - y + 1, out, x + 1, y + 1),
)
derivative_in_last(sp.expn_op, _expn_derivative)
derivative_in_last(sp.hyp0f1_op, lambda b, x, out: sp.hyp0f1(b + 1, x) / b)
derivative_in_last(sp.hyp1f1_op, lambda a, b, x, out: a / b * sp.hyp1f1(a + 1, b + 1, x))
derivative_in_last(sp.hyp2f1_op, lambda a, b, c, x, out: a * b / c * far.hyp2f1(a + 1, b + 1, c + 1, x))

# -- elliptic integrals (DLMF 19.4, 19.18 and 19.25), further integrals, functions of complex numbers


def _ellipkm1_derivative(p):
    return -sp.elliprd(ew.lift(0, p), ew.lift(1, p), p) / 6


def _ellipe_derivative(m):
    return -sp.elliprd(ew.lift(0, m), 1 - m, ew.lift(1, m)) / 6


def _incomplete_by_parameter(of_whole, of_part):
    """Return the derivative by m of an integral: that of whole half periods, and of the rest by Carlson's integral."""

    def derivative(phi, m, out):
        periods = ew.rint(phi / pi)
        sine, cosine = ew.sin(phi - pi * periods), ew.cos(phi)
        root = 1 - m * ew.square(sine)
        has_whole = ew.ne(periods, ew.lift(0, periods))  # otherwise m may be too large for the complete integral
        whole = 2 * periods * of_whole(ew.select(has_whole, m, 0))
        return ew.select(has_whole, whole, 0) + sine * ew.square(sine) / 6 * of_part(ew.square(cosine), root)

    return derivative


pointwise(sp.ellipk_op, lambda x, out: -_ellipkm1_derivative(1 - x))
pointwise(sp.ellipkm1_op, lambda x, out: _ellipkm1_derivative(x))
pointwise(sp.ellipe_op, lambda x, out: _ellipe_derivative(x))
ellipkinc_by_parameter = _incomplete_by_parameter(
    lambda m: -_ellipkm1_derivative(1 - m), lambda c, r: sp.elliprd(c, ew.lift(1, c), r)
)
pointwise(sp.ellipkinc_op, lambda phi, m, out: 1 / ew.sqrt(1 - m * ew.square(ew.sin(phi))), ellipkinc_by_parameter)
pointwise(
    sp.ellipeinc_op,
    lambda phi, m, out: ew.sqrt(1 - m * ew.square(ew.sin(phi))),
    _incomplete_by_parameter(_ellipe_derivative, lambda c, r: -sp.elliprd(c, r, ew.lift(1, c))),
)
pointwise(
    sp.elliprc_op,
    lambda x, y, out: far.elliprc_slopes(x, y, out)[0],
    lambda x, y, out: far.elliprc_slopes(x, y, out)[1],
)
pointwise(
    sp.elliprf_op,
    lambda x, y, z, out: -sp.elliprd(y, z, x) / 6,
    lambda x, y, z, out: -sp.elliprd(x, z, y) / 6,
    lambda x, y, z, out: -sp.elliprd(x, y, z) / 6,
)
pointwise(
    sp.elliprd_op,  # 3 / 2 times the integral with an exponent raised
    lambda x, y, z, out: -0.75 * su.carlson_integral((1, 0, 1, 0), x, y, z, z),
    lambda x, y, z, out: -0.75 * su.carlson_integral((0, 1, 1, 0), x, y, z, z),
    lambda x, y, z, out: -2.25 * su.carlson_integral((0, 0, 2, 0), x, y, z, z),
)
pointwise(sp.wofz_op, far.wofz_slope)
pointwise(sp.lambertw_op, lambda x, out, *, branch: 1 / (ew.exp(out) * (1 + out)))
zero(sp.gammasgn_op)


def _harmonic_jvp(ctx, tangents, out, theta, phi, *, degree, order):
    """Raise and lower the order for the derivative by the polar angle.

    Outside of 0 to pi SciPy takes the polar angle of the same cosine, so the harmonic has kinks at the poles.
    """
    by_theta, by_phi = tangents
    total = None
    if by_theta is not None:
        phase = ew.make_complex(ew.cos(phi), ew.sin(phi))
        raised, lowered = (sp.sph_harm_y(degree, order + step, theta, phi) for step in (1, -1))
        up, down = (sqrt((degree - sign * order) * (degree + sign * order + 1)) for sign in (1, -1))
        slope = 0.5 * up * ew.conj(phase) * raised - 0.5 * down * phase * lowered
        sine = ew.sin(theta)
        inside = ew.select(ew.lt(sine, ew.lift(0, sine)), -by_theta, by_theta)
        total = ew.convert(inside, out.dtype) * slope
    if by_phi is not None:
        total = add_tangents(total, ew.convert(by_phi, out.dtype) * (1j * order * out))
    return total


JVPS[sp.sph_harm_y_op] = _harmonic_jvp

# -- distribution functions: densities, at integers the ones of beta and gamma distributions


def poisson_density(k: Any, m: Any) -> Any:
    return _gamma_density(ew.floor(k) + 1, m)


def binomial_density(k: Any, n: Any, p: Any) -> Any:
    return beta_density(ew.floor(k) + 1, n - ew.floor(k), p)


def fdtr_partials(n: Any, d: Any, x: Any) -> Any:
    """Return the partial derivatives of fdtr, which is betainc(n / 2, d / 2, share), as functions.

    They come from the smaller one of the share and its complement, which has the digits.
    """
    total = d + n * x
    is_low, half = ew.lt(n * x, d), ew.lift(0.5, x)
    low, high = ew.select(is_low, n * x / total, half), ew.select(is_low, half, d / total)
    pairs = zip(
        betainc_partials(0.5 * n, 0.5 * d, low),
        (betainc_partials(0.5 * d, 0.5 * n, high)[k] for k in (1, 0, 2)),
        (-1, -1, 1),
        strict=True,
    )
    by_a, by_b, density = (lambda f=f, g=g, s=s: ew.select(is_low, f(), s * g()) for f, g, s in pairs)
    return (
        lambda: 0.5 * by_a() + density() * d * x / ew.square(total),
        lambda: 0.5 * by_b() - density() * n * x / ew.square(total),
        lambda: density() * n * d / ew.square(total),
    )


def chdtr_partials(v: Any, x: Any) -> Any:
    """Return the partial derivatives of chdtr, which is gammainc(v / 2, x / 2), as functions."""
    by_a, density = gammainc_partials(0.5 * v, 0.5 * x)
    return lambda: 0.5 * by_a(), lambda: 0.5 * density()


def gdtr_partials(a: Any, b: Any, x: Any) -> Any:
    """Return the partial derivatives of gdtr, which is gammainc(b, a x), as functions."""
    by_b, density = gammainc_partials(b, a * x)
    return lambda: x * density(), by_b, lambda: a * density()


derivative_in_last(sp.bdtr_op, lambda k, n, p, out: -binomial_density(k, n, p))
derivative_in_last(sp.bdtrc_op, lambda k, n, p, out: binomial_density(k, n, p))
derivative_in_last(sp.nbdtr_op, lambda k, n, p, out: beta_density(n, k + 1, p))
derivative_in_last(sp.nbdtrc_op, lambda k, n, p, out: -beta_density(n, k + 1, p))

# -- Bessel functions of real order


derivative_in_last(sp.jv_op, lambda v, x, out: 0.5 * (sp.jv(v - 1, x) - sp.jv(v + 1, x)))
derivative_in_last(sp.yv_op, lambda v, x, out: 0.5 * (sp.yv(v - 1, x) - sp.yv(v + 1, x)))
derivative_in_last(sp.iv_op, lambda v, x, out: far.iv_slope(sp.iv, v, x))
derivative_in_last(sp.kv_op, lambda v, x, out: far.kv_slope(sp.kv, v, x, out))
derivative_in_last(sp.ive_op, lambda v, x, out: far.ive_slope(sp.ive, v, x, out))
derivative_in_last(sp.kve_op, lambda v, x, out: far.kve_slope(sp.kve, v, x, out))

# -- Bessel functions of integer order, and sinc


def _half_difference(function, order, x):
    """Return half the difference of the neighbouring orders."""
    return 0.5 * (function(order - 1, x) - function(order + 1, x))


def _bessel_y_derivative(x, out, *, order):
    """Return half the difference of the neighbouring orders; at the pole, where both are infinite, it is -out."""
    return ew.select(ew.isinf(out), -out, _half_difference(sp.bessel_y, order, x))


pointwise(sp.bessel_j_op, lambda x, out, *, order: _half_difference(sp.bessel_j, order, x))
pointwise(sp.bessel_y_op, _bessel_y_derivative)
pointwise(sp.bessel_i_op, lambda x, out, *, order: far.iv_slope(sp.bessel_i, order, x))
pointwise(sp.bessel_k_op, lambda x, out, *, order: far.kv_slope(sp.bessel_k, order, x, out))
pointwise(sp.scaled_bessel_i_op, lambda x, out, *, order: far.ive_slope(sp.scaled_bessel_i, order, x, out))
pointwise(sp.scaled_bessel_k_op, lambda x, out, *, order: far.kve_slope(sp.scaled_bessel_k, order, x, out))
pointwise(sp.sinc_op, lambda x, out, *, order: sp.sinc(x, order + 1))

one_more_axis(*[op for op in vars(sp).values() if isinstance(op, Op)])

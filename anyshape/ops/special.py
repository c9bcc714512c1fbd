"""Special functions: elementwise ops named as in `scipy.special`.

Orders of Bessel and polygamma functions are literal integers, so each derivative is the same op at an adjacent order.
"""

import functools
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.ops import elementwise as ew
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import apply

_unary = functools.partial(ew.unary, family="special")
_binary = functools.partial(ew.binary, family="special")
_ternary = functools.partial(ew.ternary, family="special")


def _ordered(name: str) -> Op:
    """Define an op of one operand with a literal order."""
    return ew.define_pointwise(name, ew.same_type, (1, 1), family="special", order=kinds.order)


def _harmonic_type(
    ctx: ShapeGuardContext, theta: TensorMeta, phi: TensorMeta, *, degree: int, order: int
) -> TensorMeta:
    """Return complex numbers of the precision of the angles."""
    like = ew.same_type(ctx, theta, phi)
    if like.dtype.char not in "fd":
        raise ctx.bad_dtype(f"the angles are {like.dtype}", "convert them with astype")
    return TensorMeta(np.dtype(like.dtype.char.upper()), like.extents)


# -- error functions and the normal distribution

erf_op, erf = _unary("erf", "Return the error function.")
erfc_op, erfc = _unary("erfc", "Return 1 - erf(x), accurate for large x.")
erfcx_op, erfcx = _unary("erfcx", "Return exp(x**2) * erfc(x).")
ndtr_op, ndtr = _unary("ndtr", "Return the cumulative distribution of the standard normal.")
ndtri_op, ndtri = _unary("ndtri", "Return the quantile of the standard normal.")
owens_t_op, owens_t = _binary("owens_t", "Return Owen's T function: P(X > x, 0 < Y < y X) of standard normals X and Y.")
log_ndtr_op, log_ndtr = _unary("log_ndtr", "Return log(ndtr(x)), accurate for very negative x.")

# -- gamma and beta functions

gamma_op, gamma = _unary("gamma", "Return the gamma function.")
gammaln_op, gammaln = _unary("gammaln", "Return log(|gamma(x)|).")
digamma_op, digamma = _unary("digamma", "Return the derivative of gammaln.")
polygamma_op: Op = _ordered("polygamma")
polygamma_difference_op: Op = ew.define_pointwise(
    "polygamma_difference", ew.same_type, (2, 2), family="special", order=kinds.order
)
beta_op, beta = _binary("beta", "Return gamma(x) * gamma(y) / gamma(x + y).")
betaln_op, betaln = _binary("betaln", "Return log(|beta(x, y)|).")
zeta_op, zeta = _binary("zeta", "Return Hurwitz's zeta function: the sum of (k + y)**-x.")
zeta_derivative_op: Op = ew.define_pointwise(
    "zeta_derivative", ew.same_type, (2, 2), family="special", order=kinds.order
)
riemann_zeta_op, riemann_zeta = _unary("riemann_zeta", "Return Riemann's zeta function, also below 1.")
gammainc_op, gammainc = _binary(
    "gammainc", "Return the regularised lower incomplete gamma function of y, of parameter x."
)
gammaincc_op, gammaincc = _binary("gammaincc", "Return 1 - gammainc(x, y).")
betainc_op, betainc = _ternary(
    "betainc", "Return the regularised incomplete beta function of z, with parameters x and y."
)
gammainc_derivative_op: Op = ew.define_pointwise(
    "gammainc_derivative", ew.same_type, (2, 2), family="special", order=kinds.order
)
betainc_derivative_op: Op = ew.define_pointwise(
    "betainc_derivative", ew.same_type, (3, 3), family="special", order_a=kinds.order, order_b=kinds.order
)
student_derivative_op: Op = ew.define_pointwise(
    "student_derivative", ew.same_type, (2, 2), family="special", order=kinds.order
)
betaincc_op, betaincc = _ternary("betaincc", "Return 1 - betainc(x, y, z).")
gammaincinv_op, gammaincinv = _binary("gammaincinv", "Return the y whose gammainc(x, y) is the second operand.")
gammainccinv_op, gammainccinv = _binary("gammainccinv", "Return the y whose gammaincc(x, y) is the second operand.")
betaincinv_op, betaincinv = _ternary("betaincinv", "Return the number whose betainc with parameters x and y is z.")
betainccinv_op, betainccinv = _ternary("betainccinv", "Return the number whose betaincc with parameters x and y is z.")
stdtr_op, stdtr = _binary("stdtr", "Return the distribution function of Student's t at y, with x degrees of freedom.")
stdtrit_op, stdtrit = _binary(
    "stdtrit", "Return the quantile of Student's t at the probability y, with x degrees of freedom."
)

# -- logistic functions, entropies, integrals of exponentials

expit_op, expit = _unary("expit", "Return 1 / (1 + exp(-x)).")
expit_slope_op, expit_slope = _binary("expit_slope", "Return y (1 - y) for y = expit(x), with all digits.")
log_expit_op, log_expit = _unary("log_expit", "Return log(expit(x)), accurate for very negative x.")
xlogy_op, xlogy = _binary("xlogy", "Return x * log(y), and 0 where x is 0.")
xlog1py_op, xlog1py = _binary("xlog1py", "Return x * log(1 + y), and 0 where x is 0.")
entr_op, entr = _unary("entr", "Return -x * log(x), 0 at 0 and -inf below.")
rel_entr_op, rel_entr = _binary("rel_entr", "Return x * log(x / y), the terms of the relative entropy.")
kl_div_op, kl_div = _binary("kl_div", "Return x * log(x / y) - x + y, the terms of the Kullback-Leibler divergence.")

# -- hypergeometric functions, products of gamma functions, further integrals

rgamma_op, rgamma = _unary("rgamma", "Return 1 / gamma(x), which is 0 at the poles of gamma.")
poch_op, poch = _binary("poch", "Return gamma(x + y) / gamma(x), the rising factorial.")
binom_op, binom = _binary("binom", "Return the binomial coefficient of x over y, for real numbers.")
expn_op, expn = _binary("expn", "Return the exponential integral of y, of order x.")
hyp0f1_op, hyp0f1 = _binary("hyp0f1", "Return the confluent hypergeometric limit function 0F1(; x; y).")
hyp1f1_op, hyp1f1 = _ternary("hyp1f1", "Return Kummer's confluent hypergeometric function 1F1(x; y; z).")
hyp2f1_op: Op = ew.define_pointwise("hyp2f1", ew.same_type, (4, 4), family="special")

# -- elliptic integrals, the trigonometric and hyperbolic ones, functions of complex numbers

ellipk_op, ellipk = _unary("ellipk", "Return the complete elliptic integral of the first kind, of parameter x.")
ellipkm1_op, ellipkm1 = _unary("ellipkm1", "Return ellipk(1 - x), accurate near its pole.")
ellipe_op, ellipe = _unary("ellipe", "Return the complete elliptic integral of the second kind, of parameter x.")
ellipkinc_op, ellipkinc = _binary("ellipkinc", "Return the elliptic integral of the first kind up to x, parameter y.")
ellipeinc_op, ellipeinc = _binary("ellipeinc", "Return the elliptic integral of the second kind up to x, parameter y.")
elliprc_op, elliprc = _binary("elliprc", "Return Carlson's degenerate elliptic integral, elliprf(x, y, y).")
elliprf_op, elliprf = _ternary("elliprf", "Return Carlson's elliptic integral of the first kind.")
elliprd_op, elliprd = _ternary("elliprd", "Return Carlson's elliptic integral of the second kind.")
gammasgn_op, gammasgn = _unary("gammasgn", "Return the sign of the gamma function.")
wofz_op, wofz = _unary("wofz", "Return exp(-x**2) * erfc(-i x) for complex x.")
lambertw_op: Op = ew.define_pointwise("lambertw", ew.same_type, (1, 1), family="special", branch=kinds.integer)
sph_harm_y_op: Op = ew.define_pointwise(
    "sph_harm_y", _harmonic_type, (2, 2), family="special", degree=kinds.order, order=kinds.order
)


def lambertw(x: Any, branch: int = 0) -> Any:
    """Return the branch of Lambert's W function of complex x: the w with w exp(w) = x."""
    return apply(lambertw_op, x, branch=branch)


def sph_harm_y(degree: int, order: int, theta: Any, phi: Any) -> Any:
    """Return the spherical harmonic of a polar and an azimuthal angle, complex; 0 for orders beyond the degree."""
    theta, phi = ew.broadcast_operands("sph_harm_y", theta, phi)
    if abs(order) > degree:
        return ew.make_complex(ew.mul(theta, ew.lift(0, theta)), ew.mul(phi, ew.lift(0, phi)))
    if order >= 0:
        return apply(sph_harm_y_op, theta, phi, degree=degree, order=order)
    mirrored = ew.conj(apply(sph_harm_y_op, theta, phi, degree=degree, order=-order))
    return ew.neg(mirrored) if order % 2 else mirrored


# -- distribution functions by the names of Cephes

bdtr_op, bdtr = _ternary("bdtr", "Return the probability of up to x successes in y trials of probability z.")
bdtrc_op, bdtrc = _ternary("bdtrc", "Return 1 - bdtr(x, y, z).")
nbdtr_op, nbdtr = _ternary("nbdtr", "Return the probability of up to x failures before y successes of probability z.")
nbdtrc_op, nbdtrc = _ternary("nbdtrc", "Return 1 - nbdtr(x, y, z).")

# -- Bessel functions of real order

jv_op, jv = _binary("jv", "Return the Bessel function of the first kind of y, of real order x.")
yv_op, yv = _binary("yv", "Return the Bessel function of the second kind of y, of real order x.")
iv_op, iv = _binary("iv", "Return the modified Bessel function of the first kind of y, of real order x.")
kv_op, kv = _binary("kv", "Return the modified Bessel function of the second kind of y, of real order x.")
ive_op, ive = _binary("ive", "Return exp(-|y|) * iv(x, y).")
kve_op, kve = _binary("kve", "Return exp(y) * kv(x, y).")

# -- Bessel functions of integer order, and sinc

bessel_j_op: Op = _ordered("bessel_j")
bessel_y_op: Op = _ordered("bessel_y")
bessel_i_op: Op = _ordered("bessel_i")
bessel_k_op: Op = _ordered("bessel_k")
scaled_bessel_i_op: Op = _ordered("scaled_bessel_i")
scaled_bessel_k_op: Op = _ordered("scaled_bessel_k")
sinc_op: Op = _ordered("sinc")


def polygamma(order: int, x: Any) -> Any:
    """Return the derivative of digamma of this order; digamma itself for order 0."""
    return apply(polygamma_op, x, order=order) if order else digamma(x)


def polygamma_difference(x: Any, y: Any, order: int = 0) -> Any:
    """Return polygamma(order, x + y) - polygamma(order, x), with all digits where y is small beside x."""
    return apply(polygamma_difference_op, *ew.broadcast_operands("polygamma", x, y), order=order)


def zeta_derivative(x: Any, y: Any, order: int = 1) -> Any:
    """Return the derivative of zeta(x, y) by x, of this order; zeta itself for order 0. Its pole is at x = 1."""
    operands = ew.broadcast_operands("zeta", x, y)
    return apply(zeta_derivative_op, *operands, order=order) if order else zeta(x, y)


def gammainc_derivative(a: Any, x: Any, order: int = 1) -> Any:
    """Return the derivative of gammainc(a, x) by a, of this order; gammainc itself for order 0."""
    operands = ew.broadcast_operands("gammainc", a, x)
    return apply(gammainc_derivative_op, *operands, order=order) if order else gammainc(a, x)


def betainc_derivative(a: Any, b: Any, x: Any, order_a: int, order_b: int) -> Any:
    """Return the partial derivative of betainc(a, b, x) by a and b, of these orders; betainc itself for 0 and 0."""
    if not order_a and not order_b:
        return betainc(a, b, x)
    operands = ew.broadcast_operands("betainc", a, b, x)
    return apply(betainc_derivative_op, *operands, order_a=order_a, order_b=order_b)


def student_derivative(half: Any, u: Any, order: int) -> Any:
    """Return the derivative, of this order, by `half` of sign(u) betainc(1 / 2, half, u**2 / (1 + u**2)).

    It is a smooth function of u, and 2 stdtr(2 half, sqrt(2 half) u) - 1 for order 0.
    """
    return apply(student_derivative_op, *ew.broadcast_operands("stdtr", half, u), order=order)


def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Return Gauss's hypergeometric function 2F1(a, b; c; x)."""
    return apply(hyp2f1_op, *ew.broadcast_operands("hyp2f1", a, b, c, x))


def bessel_j(order: int, x: Any) -> Any:
    """Return the Bessel function of the first kind."""
    value = apply(bessel_j_op, x, order=abs(order))
    return ew.neg(value) if order < 0 and order % 2 else value


def bessel_y(order: int, x: Any) -> Any:
    """Return the Bessel function of the second kind."""
    value = apply(bessel_y_op, x, order=abs(order))
    return ew.neg(value) if order < 0 and order % 2 else value


def bessel_i(order: int, x: Any) -> Any:
    """Return the modified Bessel function of the first kind."""
    return apply(bessel_i_op, x, order=abs(order))


def bessel_k(order: int, x: Any) -> Any:
    """Return the modified Bessel function of the second kind."""
    return apply(bessel_k_op, x, order=abs(order))


def scaled_bessel_i(order: int, x: Any) -> Any:
    """Return exp(-|x|) * bessel_i(order, x)."""
    return apply(scaled_bessel_i_op, x, order=abs(order))


def scaled_bessel_k(order: int, x: Any) -> Any:
    """Return exp(x) * bessel_k(order, x)."""
    return apply(scaled_bessel_k_op, x, order=abs(order))


def sinc(x: Any, order: int = 0) -> Any:
    """Return sin(pi x) / (pi x), or its derivative of this order; smooth at 0."""
    return apply(sinc_op, x, order=order)

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

_pointwise = functools.partial(ew.pointwise, family="special")


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

erf_op: Op = _pointwise("erf", 1)
erf: ew.Unary = ew.unary(erf_op, "Return the error function.")
erfc_op: Op = _pointwise("erfc", 1)
erfc: ew.Unary = ew.unary(erfc_op, "Return 1 - erf(x), accurate for large x.")
erfcx_op: Op = _pointwise("erfcx", 1)
erfcx: ew.Unary = ew.unary(erfcx_op, "Return exp(x**2) * erfc(x).")
ndtr_op: Op = _pointwise("ndtr", 1)
ndtr: ew.Unary = ew.unary(ndtr_op, "Return the cumulative distribution of the standard normal.")
ndtri_op: Op = _pointwise("ndtri", 1)
ndtri: ew.Unary = ew.unary(ndtri_op, "Return the quantile of the standard normal.")
owens_t_op: Op = _pointwise("owens_t", 2)
owens_t: ew.Binary = ew.binary(
    owens_t_op, "Return Owen's T function: P(X > x, 0 < Y < y X) of standard normals X and Y."
)
log_ndtr_op: Op = _pointwise("log_ndtr", 1)
log_ndtr: ew.Unary = ew.unary(log_ndtr_op, "Return log(ndtr(x)), accurate for very negative x.")

# -- gamma and beta functions

gamma_op: Op = _pointwise("gamma", 1)
gamma: ew.Unary = ew.unary(gamma_op, "Return the gamma function.")
gammaln_op: Op = _pointwise("gammaln", 1)
gammaln: ew.Unary = ew.unary(gammaln_op, "Return log(|gamma(x)|).")
digamma_op: Op = _pointwise("digamma", 1)
digamma: ew.Unary = ew.unary(digamma_op, "Return the derivative of gammaln.")
polygamma_op: Op = _ordered("polygamma")
polygamma_difference_op: Op = ew.define_pointwise(
    "polygamma_difference", ew.same_type, (2, 2), family="special", order=kinds.order
)
beta_op: Op = _pointwise("beta", 2)
beta: ew.Binary = ew.binary(beta_op, "Return gamma(x) * gamma(y) / gamma(x + y).")
betaln_op: Op = _pointwise("betaln", 2)
betaln: ew.Binary = ew.binary(betaln_op, "Return log(|beta(x, y)|).")
zeta_op: Op = _pointwise("zeta", 2)
zeta: ew.Binary = ew.binary(zeta_op, "Return Hurwitz's zeta function: the sum of (k + y)**-x.")
zeta_derivative_op: Op = ew.define_pointwise(
    "zeta_derivative", ew.same_type, (2, 2), family="special", order=kinds.order
)
riemann_zeta_op: Op = _pointwise("riemann_zeta", 1)
riemann_zeta: ew.Unary = ew.unary(riemann_zeta_op, "Return Riemann's zeta function, also below 1.")
gammainc_op: Op = _pointwise("gammainc", 2)
gammainc: ew.Binary = ew.binary(
    gammainc_op, "Return the regularised lower incomplete gamma function of y, of parameter x."
)
gammaincc_op: Op = _pointwise("gammaincc", 2)
gammaincc: ew.Binary = ew.binary(gammaincc_op, "Return 1 - gammainc(x, y).")
betainc_op: Op = _pointwise("betainc", 3)
betainc: ew.Ternary = ew.ternary(
    betainc_op, "Return the regularised incomplete beta function of z, with parameters x and y."
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
betaincc_op: Op = _pointwise("betaincc", 3)
betaincc: ew.Ternary = ew.ternary(betaincc_op, "Return 1 - betainc(x, y, z).")
gammaincinv_op: Op = _pointwise("gammaincinv", 2)
gammaincinv: ew.Binary = ew.binary(gammaincinv_op, "Return the y whose gammainc(x, y) is the second operand.")
gammainccinv_op: Op = _pointwise("gammainccinv", 2)
gammainccinv: ew.Binary = ew.binary(gammainccinv_op, "Return the y whose gammaincc(x, y) is the second operand.")
betaincinv_op: Op = _pointwise("betaincinv", 3)
betaincinv: ew.Ternary = ew.ternary(betaincinv_op, "Return the number whose betainc with parameters x and y is z.")
betainccinv_op: Op = _pointwise("betainccinv", 3)
betainccinv: ew.Ternary = ew.ternary(betainccinv_op, "Return the number whose betaincc with parameters x and y is z.")
stdtr_op: Op = _pointwise("stdtr", 2)
stdtr: ew.Binary = ew.binary(
    stdtr_op, "Return the distribution function of Student's t at y, with x degrees of freedom."
)
stdtrit_op: Op = _pointwise("stdtrit", 2)
stdtrit: ew.Binary = ew.binary(
    stdtrit_op, "Return the quantile of Student's t at the probability y, with x degrees of freedom."
)

# -- logistic functions, entropies, integrals of exponentials

expit_op: Op = _pointwise("expit", 1)
expit: ew.Unary = ew.unary(expit_op, "Return 1 / (1 + exp(-x)).")
expit_slope_op: Op = _pointwise("expit_slope", 2)
expit_slope: ew.Binary = ew.binary(expit_slope_op, "Return y (1 - y) for y = expit(x), with all digits.")
log_expit_op: Op = _pointwise("log_expit", 1)
log_expit: ew.Unary = ew.unary(log_expit_op, "Return log(expit(x)), accurate for very negative x.")
xlogy_op: Op = _pointwise("xlogy", 2)
xlogy: ew.Binary = ew.binary(xlogy_op, "Return x * log(y), and 0 where x is 0.")
xlog1py_op: Op = _pointwise("xlog1py", 2)
xlog1py: ew.Binary = ew.binary(xlog1py_op, "Return x * log(1 + y), and 0 where x is 0.")
entr_op: Op = _pointwise("entr", 1)
entr: ew.Unary = ew.unary(entr_op, "Return -x * log(x), 0 at 0 and -inf below.")
rel_entr_op: Op = _pointwise("rel_entr", 2)
rel_entr: ew.Binary = ew.binary(rel_entr_op, "Return x * log(x / y), the terms of the relative entropy.")
kl_div_op: Op = _pointwise("kl_div", 2)
kl_div: ew.Binary = ew.binary(kl_div_op, "Return x * log(x / y) - x + y, the terms of the Kullback-Leibler divergence.")

# -- hypergeometric functions, products of gamma functions, further integrals

rgamma_op: Op = _pointwise("rgamma", 1)
rgamma: ew.Unary = ew.unary(rgamma_op, "Return 1 / gamma(x), which is 0 at the poles of gamma.")
poch_op: Op = _pointwise("poch", 2)
poch: ew.Binary = ew.binary(poch_op, "Return gamma(x + y) / gamma(x), the rising factorial.")
binom_op: Op = _pointwise("binom", 2)
binom: ew.Binary = ew.binary(binom_op, "Return the binomial coefficient of x over y, for real numbers.")
expn_op: Op = _pointwise("expn", 2)
expn: ew.Binary = ew.binary(expn_op, "Return the exponential integral of y, of order x.")
hyp0f1_op: Op = _pointwise("hyp0f1", 2)
hyp0f1: ew.Binary = ew.binary(hyp0f1_op, "Return the confluent hypergeometric limit function 0F1(; x; y).")
hyp1f1_op: Op = _pointwise("hyp1f1", 3)
hyp1f1: ew.Ternary = ew.ternary(hyp1f1_op, "Return Kummer's confluent hypergeometric function 1F1(x; y; z).")
hyp2f1_op: Op = ew.define_pointwise("hyp2f1", ew.same_type, (4, 4), family="special")

# -- elliptic integrals, the trigonometric and hyperbolic ones, functions of complex numbers

ellipk_op: Op = _pointwise("ellipk", 1)
ellipk: ew.Unary = ew.unary(ellipk_op, "Return the complete elliptic integral of the first kind, of parameter x.")
ellipkm1_op: Op = _pointwise("ellipkm1", 1)
ellipkm1: ew.Unary = ew.unary(ellipkm1_op, "Return ellipk(1 - x), accurate near its pole.")
ellipe_op: Op = _pointwise("ellipe", 1)
ellipe: ew.Unary = ew.unary(ellipe_op, "Return the complete elliptic integral of the second kind, of parameter x.")
ellipkinc_op: Op = _pointwise("ellipkinc", 2)
ellipkinc: ew.Binary = ew.binary(ellipkinc_op, "Return the elliptic integral of the first kind up to x, parameter y.")
ellipeinc_op: Op = _pointwise("ellipeinc", 2)
ellipeinc: ew.Binary = ew.binary(ellipeinc_op, "Return the elliptic integral of the second kind up to x, parameter y.")
elliprc_op: Op = _pointwise("elliprc", 2)
elliprc: ew.Binary = ew.binary(elliprc_op, "Return Carlson's degenerate elliptic integral, elliprf(x, y, y).")
elliprf_op: Op = _pointwise("elliprf", 3)
elliprf: ew.Ternary = ew.ternary(elliprf_op, "Return Carlson's elliptic integral of the first kind.")
elliprd_op: Op = _pointwise("elliprd", 3)
elliprd: ew.Ternary = ew.ternary(elliprd_op, "Return Carlson's elliptic integral of the second kind.")
gammasgn_op: Op = _pointwise("gammasgn", 1)
gammasgn: ew.Unary = ew.unary(gammasgn_op, "Return the sign of the gamma function.")
wofz_op: Op = _pointwise("wofz", 1)
wofz: ew.Unary = ew.unary(wofz_op, "Return exp(-x**2) * erfc(-i x) for complex x.")
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

bdtr_op: Op = _pointwise("bdtr", 3)
bdtr: ew.Ternary = ew.ternary(bdtr_op, "Return the probability of up to x successes in y trials of probability z.")
bdtrc_op: Op = _pointwise("bdtrc", 3)
bdtrc: ew.Ternary = ew.ternary(bdtrc_op, "Return 1 - bdtr(x, y, z).")
nbdtr_op: Op = _pointwise("nbdtr", 3)
nbdtr: ew.Ternary = ew.ternary(
    nbdtr_op, "Return the probability of up to x failures before y successes of probability z."
)
nbdtrc_op: Op = _pointwise("nbdtrc", 3)
nbdtrc: ew.Ternary = ew.ternary(nbdtrc_op, "Return 1 - nbdtr(x, y, z).")

# -- Bessel functions of real order

jv_op: Op = _pointwise("jv", 2)
jv: ew.Binary = ew.binary(jv_op, "Return the Bessel function of the first kind of y, of real order x.")
yv_op: Op = _pointwise("yv", 2)
yv: ew.Binary = ew.binary(yv_op, "Return the Bessel function of the second kind of y, of real order x.")
iv_op: Op = _pointwise("iv", 2)
iv: ew.Binary = ew.binary(iv_op, "Return the modified Bessel function of the first kind of y, of real order x.")
kv_op: Op = _pointwise("kv", 2)
kv: ew.Binary = ew.binary(kv_op, "Return the modified Bessel function of the second kind of y, of real order x.")
ive_op: Op = _pointwise("ive", 2)
ive: ew.Binary = ew.binary(ive_op, "Return exp(-|y|) * iv(x, y).")
kve_op: Op = _pointwise("kve", 2)
kve: ew.Binary = ew.binary(kve_op, "Return exp(y) * kv(x, y).")

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

"""Derivatives of special functions. `x, y` are inputs, `out` the output."""

import functools
from math import log, pi, sqrt

from anyshape.autodiff.rule_tables import JVPS, no_shift, pointwise
from anyshape.errors import MissingRuleError
from anyshape.ops import elementwise as ew
from anyshape.ops import special as sp

TWO_BY_ROOT_PI = 2 / sqrt(pi)
ROOT_TWO_PI = sqrt(2 * pi)


def _gauss(x):
    """Return exp(-x**2)."""
    return ew.exp(-ew.square(x))


def _no_rule(op, inputs="any input but the last"):
    """Return the error for a derivative by a parameter that has no closed form."""
    return MissingRuleError(op.name, f"JVP (in {inputs})", "autodiff/rules/special.py")


def partial_derivatives(op, *derivatives):
    """Declare an elementwise op with closed derivatives in some inputs: `derivative(*inputs, out)`, or None."""

    def jvp(ctx, tangents, out, *xs):
        terms = []
        for position, (tangent, derivative) in enumerate(zip(tangents, derivatives, strict=True)):
            if tangent is not None:
                if derivative is None:
                    raise _no_rule(op, f"input {position}")
                terms.append(tangent * derivative(*xs, out))
        return functools.reduce(ew.add, terms)

    JVPS[op] = jvp


def derivative_in_last(op, derivative):
    """Declare an elementwise op with a closed derivative in its last input alone: `derivative(*inputs, out)`."""

    def jvp(ctx, tangents, out, *xs):
        if any(t is not None for t in tangents[:-1]):
            raise _no_rule(op)
        return tangents[-1] * derivative(*xs, out)

    JVPS[op] = jvp


def _gamma_density(x, y):
    """Return y**(x - 1) exp(-y) / gamma(x)."""
    return ew.exp(sp.xlogy(x - 1, y) - y - sp.gammaln(x))


def _beta_density(a, b, x):
    """Return x**(a - 1) (1 - x)**(b - 1) / beta(a, b)."""
    return ew.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


def _student_density(df, t):
    """Return the density of Student's t with df degrees of freedom; the standard normal for infinitely many."""
    is_normal = ew.isinf(df)
    nu = ew.select(is_normal, 1, df)  # both choices are computed, and differentiated again
    logarithm = -0.5 * (nu + 1) * ew.log1p(ew.square(t) / nu) - 0.5 * ew.log(nu) - sp.betaln(0.5 * nu, 0.5)
    return ew.select(is_normal, ew.exp(-0.5 * ew.square(t)) / ROOT_TWO_PI, ew.exp(logarithm))


# -- error functions and the normal distribution

pointwise(sp.erf_op, lambda x, out: TWO_BY_ROOT_PI * _gauss(x))
pointwise(sp.erfc_op, lambda x, out: -TWO_BY_ROOT_PI * _gauss(x))
pointwise(sp.erfcx_op, lambda x, out: 2 * x * out - TWO_BY_ROOT_PI)
pointwise(sp.erfi_op, lambda x, out: TWO_BY_ROOT_PI * ew.exp(ew.square(x)))
pointwise(sp.erfinv_op, lambda x, out: ew.exp(ew.square(out)) / TWO_BY_ROOT_PI)
pointwise(sp.erfcinv_op, lambda x, out: -ew.exp(ew.square(out)) / TWO_BY_ROOT_PI)
pointwise(sp.dawsn_op, lambda x, out: 1 - 2 * x * out)
pointwise(sp.ndtr_op, lambda x, out: ew.exp(-0.5 * ew.square(x)) / ROOT_TWO_PI)
pointwise(sp.ndtri_op, lambda x, out: ROOT_TWO_PI * ew.exp(0.5 * ew.square(out)))
pointwise(sp.log_ndtr_op, lambda x, out: sqrt(2 / pi) / sp.erfcx(-sqrt(0.5) * x))
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
    sp.beta_op,
    lambda x, y, out: out * (sp.digamma(x) - sp.digamma(x + y)),
    lambda x, y, out: out * (sp.digamma(y) - sp.digamma(x + y)),
)
pointwise(
    sp.betaln_op,
    lambda x, y, out: sp.digamma(x) - sp.digamma(x + y),
    lambda x, y, out: sp.digamma(y) - sp.digamma(x + y),
)
derivative_in_last(sp.zeta_op, lambda x, y, out: -x * sp.zeta(x + 1, y))
derivative_in_last(sp.gammainc_op, lambda x, y, out: _gamma_density(x, y))
derivative_in_last(sp.gammaincc_op, lambda x, y, out: -_gamma_density(x, y))
derivative_in_last(sp.betainc_op, lambda a, b, x, out: _beta_density(a, b, x))
derivative_in_last(sp.betaincc_op, lambda a, b, x, out: -_beta_density(a, b, x))
derivative_in_last(sp.stdtr_op, lambda df, t, out: _student_density(df, t))
# inverse functions
derivative_in_last(sp.gammaincinv_op, lambda x, y, out: 1 / _gamma_density(x, out))
derivative_in_last(sp.gammainccinv_op, lambda x, y, out: -1 / _gamma_density(x, out))
derivative_in_last(sp.betaincinv_op, lambda a, b, y, out: 1 / _beta_density(a, b, out))
derivative_in_last(sp.betainccinv_op, lambda a, b, y, out: -1 / _beta_density(a, b, out))
derivative_in_last(sp.stdtrit_op, lambda df, p, out: 1 / _student_density(df, out))

# -- logistic functions, entropies, integrals of exponentials

pointwise(sp.expit_op, lambda x, out: out * (1 - out))
pointwise(sp.logit_op, lambda x, out: 1 / (x * (1 - x)))
pointwise(sp.log_expit_op, lambda x, out: sp.expit(-x))
pointwise(sp.xlogy_op, lambda x, y, out: ew.log(y), lambda x, y, out: ew.ratio(x, y))
pointwise(sp.xlog1py_op, lambda x, y, out: ew.log1p(y), lambda x, y, out: ew.ratio(x, 1 + y))
pointwise(sp.entr_op, lambda x, out: -ew.log(x) - 1)
pointwise(sp.rel_entr_op, lambda x, y, out: ew.log(x / y) + 1, lambda x, y, out: -ew.ratio(x, y))
pointwise(sp.kl_div_op, lambda x, y, out: ew.log(x / y), lambda x, y, out: 1 - ew.ratio(x, y))
pointwise(sp.exp10_op, lambda x, out: log(10) * out)
pointwise(sp.exp1_op, lambda x, out: -ew.exp(-x) / x)
pointwise(sp.expi_op, lambda x, out: ew.exp(x) / x)

# -- hypergeometric functions, products of gamma functions, further integrals: DLMF, chapters 5, 6, 8, 13, 15 and 16


def _rgamma_derivative(x, out):
    """Return -psi(x) / gamma(x), or on the side of the poles the derivative of sin(pi x) gamma(1 - x) / pi."""
    is_left = ew.lt(x, ew.lift(0.5, x))
    left, right = ew.select(is_left, x, 0), ew.select(is_left, 1, x)
    turned = ew.cos(pi * left) - ew.sin(pi * left) * sp.digamma(1 - left) / pi
    return ew.select(is_left, turned * sp.gamma(1 - left), -sp.digamma(right) * out)


def _expn_derivative(n, x, out):
    """Return minus the integral of the order before; that of order 0 is exp(-x) / x."""
    is_first = ew.eq(n, ew.lift(0, n))
    before = sp.expn(ew.select(is_first, 1, n) - 1, x)
    return ew.select(is_first, -ew.exp(-x) * (1 / x + 1 / ew.square(x)), -before)


pointwise(sp.rgamma_op, _rgamma_derivative)
pointwise(
    sp.poch_op,
    lambda x, y, out: out * (sp.digamma(x + y) - sp.digamma(x)),
    lambda x, y, out: out * sp.digamma(x + y),
)
pointwise(
    sp.binom_op,
    lambda x, y, out: out * (sp.digamma(x + 1) - sp.digamma(x - y + 1)),
    lambda x, y, out: out * (sp.digamma(x - y + 1) - sp.digamma(y + 1)),
)
pointwise(sp.exprel_op, lambda x, out: 0.5 * sp.hyp1f1(2.0, 3.0, x))
pointwise(sp.spence_op, lambda x, out: -sp.hyp2f1(1.0, 1.0, 2.0, 1 - x))
derivative_in_last(sp.expn_op, _expn_derivative)
derivative_in_last(sp.hyp0f1_op, lambda b, x, out: sp.hyp0f1(b + 1, x) / b)
derivative_in_last(sp.hyp1f1_op, lambda a, b, x, out: a / b * sp.hyp1f1(a + 1, b + 1, x))
derivative_in_last(sp.hyp2f1_op, lambda a, b, c, x, out: a * b / c * sp.hyp2f1(a + 1, b + 1, c + 1, x))

# -- distribution functions: densities, at integers the ones of beta and gamma distributions; powers of Box and Cox


def _poisson_density(k, m):
    return _gamma_density(ew.floor(k) + 1, m)


def _binomial_density(k, n, p):
    return _beta_density(ew.floor(k) + 1, n - ew.floor(k), p)


def _chi_squared_density(v, x):
    return 0.5 * _gamma_density(0.5 * v, 0.5 * x)


def _f_density(n, d, x):
    share = n * x / (d + n * x)
    return _beta_density(0.5 * n, 0.5 * d, share) * n * d / ew.square(d + n * x)


derivative_in_last(sp.pdtr_op, lambda k, m, out: -_poisson_density(k, m))
derivative_in_last(sp.pdtrc_op, lambda k, m, out: _poisson_density(k, m))
derivative_in_last(sp.bdtr_op, lambda k, n, p, out: -_binomial_density(k, n, p))
derivative_in_last(sp.bdtrc_op, lambda k, n, p, out: _binomial_density(k, n, p))
derivative_in_last(sp.nbdtr_op, lambda k, n, p, out: _beta_density(n, k + 1, p))
derivative_in_last(sp.nbdtrc_op, lambda k, n, p, out: -_beta_density(n, k + 1, p))
derivative_in_last(sp.chdtr_op, lambda v, x, out: _chi_squared_density(v, x))
derivative_in_last(sp.chdtrc_op, lambda v, x, out: -_chi_squared_density(v, x))
derivative_in_last(sp.fdtr_op, lambda n, d, x, out: _f_density(n, d, x))
derivative_in_last(sp.fdtrc_op, lambda n, d, x, out: -_f_density(n, d, x))
partial_derivatives(
    sp.gdtr_op,
    lambda a, b, x, out: x * _gamma_density(b, a * x),
    None,
    lambda a, b, x, out: a * _gamma_density(b, a * x),
)
partial_derivatives(
    sp.gdtrc_op,
    lambda a, b, x, out: -x * _gamma_density(b, a * x),
    None,
    lambda a, b, x, out: -a * _gamma_density(b, a * x),
)


def _boxcox_by_power(logarithm, power):
    """Return the derivative by the power of log(x) exprel(power log(x)), which is smooth at 0."""
    return 0.5 * ew.square(logarithm) * sp.hyp1f1(2.0, 3.0, power * logarithm)


def _inv_boxcox_by_power(x, power):
    """Return the derivative by the power of log(1 + power x) / power, which is smooth at 0."""
    return -0.5 * ew.square(x) * sp.hyp2f1(2.0, 2.0, 3.0, -(power * x))


pointwise(
    sp.boxcox_op,
    lambda x, y, out: x ** (y - 1),
    lambda x, y, out: _boxcox_by_power(ew.log(x), y),
)
pointwise(
    sp.boxcox1p_op,
    lambda x, y, out: (1 + x) ** (y - 1),
    lambda x, y, out: _boxcox_by_power(ew.log1p(x), y),
)
pointwise(
    sp.inv_boxcox_op,
    lambda x, y, out: out ** (1 - y),
    lambda x, y, out: out * _inv_boxcox_by_power(x, y),
)
pointwise(
    sp.inv_boxcox1p_op,
    lambda x, y, out: (1 + out) ** (1 - y),
    lambda x, y, out: (1 + out) * _inv_boxcox_by_power(x, y),
)

# -- Bessel functions of real order

derivative_in_last(sp.jv_op, lambda v, x, out: 0.5 * (sp.jv(v - 1, x) - sp.jv(v + 1, x)))
derivative_in_last(sp.yv_op, lambda v, x, out: 0.5 * (sp.yv(v - 1, x) - sp.yv(v + 1, x)))
derivative_in_last(sp.iv_op, lambda v, x, out: 0.5 * (sp.iv(v - 1, x) + sp.iv(v + 1, x)))
derivative_in_last(sp.kv_op, lambda v, x, out: -0.5 * (sp.kv(v - 1, x) + sp.kv(v + 1, x)))
derivative_in_last(sp.ive_op, lambda v, x, out: 0.5 * (sp.ive(v - 1, x) + sp.ive(v + 1, x)) - ew.sign(x) * out)
derivative_in_last(sp.kve_op, lambda v, x, out: out - 0.5 * (sp.kve(v - 1, x) + sp.kve(v + 1, x)))

# -- Bessel functions of integer order, and sinc


def _mean(function, order, x):
    """Return the mean of the neighbouring orders."""
    return 0.5 * (function(order - 1, x) + function(order + 1, x))


def _half_difference(function, order, x):
    """Return half the difference of the neighbouring orders."""
    return 0.5 * (function(order - 1, x) - function(order + 1, x))


def _bessel_y_derivative(x, out, *, order):
    """Return half the difference of the neighbouring orders; at the pole, where both are infinite, it is -out."""
    return ew.select(ew.isinf(out), -out, _half_difference(sp.bessel_y, order, x))


pointwise(sp.bessel_j_op, lambda x, out, *, order: _half_difference(sp.bessel_j, order, x))
pointwise(sp.bessel_y_op, _bessel_y_derivative)
pointwise(sp.bessel_i_op, lambda x, out, *, order: _mean(sp.bessel_i, order, x))
pointwise(sp.bessel_k_op, lambda x, out, *, order: -_mean(sp.bessel_k, order, x))
pointwise(sp.scaled_bessel_i_op, lambda x, out, *, order: _mean(sp.scaled_bessel_i, order, x) - ew.sign(x) * out)
pointwise(sp.scaled_bessel_k_op, lambda x, out, *, order: out - _mean(sp.scaled_bessel_k, order, x))
pointwise(sp.sinc_op, lambda x, out, *, order: sp.sinc(x, order + 1))

# -- shifts of operands

no_shift(sp.erf_op, sp.erfc_op, sp.erfcx_op, sp.erfi_op, sp.erfinv_op, sp.erfcinv_op, sp.dawsn_op, sp.ndtr_op)
no_shift(
    sp.ndtri_op, sp.log_ndtr_op, sp.owens_t_op, sp.gamma_op, sp.gammaln_op, sp.digamma_op, sp.polygamma_op, sp.beta_op
)
no_shift(sp.betaln_op, sp.zeta_op, sp.gammainc_op, sp.gammaincc_op, sp.betainc_op, sp.expit_op, sp.logit_op)
no_shift(sp.log_expit_op, sp.xlogy_op, sp.xlog1py_op, sp.entr_op, sp.rel_entr_op, sp.kl_div_op, sp.exp10_op)
no_shift(sp.betaincc_op, sp.gammaincinv_op, sp.gammainccinv_op, sp.betaincinv_op, sp.betainccinv_op)
no_shift(sp.stdtr_op, sp.stdtrit_op, sp.rgamma_op, sp.poch_op, sp.binom_op, sp.exprel_op, sp.spence_op, sp.expn_op)
no_shift(sp.hyp0f1_op, sp.hyp1f1_op, sp.hyp2f1_op, sp.jv_op, sp.yv_op, sp.iv_op, sp.kv_op, sp.ive_op, sp.kve_op)
no_shift(
    sp.pdtr_op,
    sp.pdtrc_op,
    sp.chdtr_op,
    sp.chdtrc_op,
    sp.boxcox_op,
    sp.boxcox1p_op,
    sp.inv_boxcox_op,
    sp.inv_boxcox1p_op,
)
no_shift(sp.bdtr_op, sp.bdtrc_op, sp.nbdtr_op, sp.nbdtrc_op, sp.gdtr_op, sp.gdtrc_op, sp.fdtr_op, sp.fdtrc_op)
no_shift(sp.exp1_op, sp.expi_op, sp.bessel_j_op, sp.bessel_y_op, sp.bessel_i_op, sp.bessel_k_op)
no_shift(sp.scaled_bessel_i_op, sp.scaled_bessel_k_op, sp.sinc_op)

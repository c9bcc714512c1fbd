"""Traits of special functions: elementwise, expensive, and as slow for singles as for doubles, as measured of SciPy."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.c_expressions import CExpression, Elementary, by_kind, slope_by_share
from anyshape.backend.compiler.op_traits import ElementTime, declare
from anyshape.backend.compiler.traits.elementwise import ELEMENTWISE
from anyshape.ops import special as sp

SPECIAL = ELEMENTWISE._replace(time=ElementTime(7.0, 7.0))
# of 256 elements at once: up to 24 arrays of 64 points for each
QUADRATURE = ELEMENTWISE._replace(time=ElementTime(1500.0, 1500.0), scratch=op_traits.by_blocks(24 * 64 * 256 * 8))

declare(SPECIAL._replace(c_expression=Elementary("erf", 1)), sp.erf_op)
declare(SPECIAL._replace(c_expression=Elementary("erfc", 2)), sp.erfc_op)
declare(SPECIAL, sp.erfcx_op, sp.erfi_op, sp.erfinv_op, sp.erfcinv_op, sp.dawsn_op)
declare(SPECIAL, sp.ndtr_op, sp.ndtri_op, sp.log_ndtr_op, sp.owens_t_op)
declare(SPECIAL, sp.gamma_op, sp.gammaln_op, sp.digamma_op, sp.polygamma_op, sp.beta_op, sp.betaln_op, sp.zeta_op)
declare(SPECIAL, sp.polygamma_difference_op, sp.riemann_zeta_op)
declare(SPECIAL._replace(time=ElementTime(500.0, 500.0)), sp.zeta_derivative_op)
declare(SPECIAL, sp.gammainc_op, sp.gammaincc_op, sp.betainc_op)
declare(QUADRATURE, sp.gammainc_derivative_op, sp.betainc_derivative_op, sp.student_derivative_op)
declare(SPECIAL, sp.betaincc_op, sp.stdtr_op, sp.stdtrit_op)
declare(SPECIAL, sp.gammaincinv_op, sp.gammainccinv_op, sp.betaincinv_op, sp.betainccinv_op)
declare(SPECIAL, sp.rgamma_op, sp.poch_op, sp.binom_op, sp.exprel_op, sp.spence_op, sp.expn_op)
declare(SPECIAL, sp.ellipk_op, sp.ellipkm1_op, sp.ellipe_op, sp.ellipkinc_op, sp.ellipeinc_op)
declare(SPECIAL, sp.elliprc_op, sp.elliprf_op, sp.elliprd_op, sp.sinint_op, sp.cosint_op, sp.sinhint_op, sp.coshint_op)
declare(SPECIAL, sp.fresnels_op, sp.fresnelc_op, sp.gammasgn_op, sp.wofz_op, sp.lambertw_op, sp.sph_harm_y_op)
declare(SPECIAL, sp.hyp0f1_op, sp.hyp1f1_op, sp.hyp2f1_op)
declare(SPECIAL, sp.jv_op, sp.yv_op, sp.iv_op, sp.kv_op, sp.ive_op, sp.kve_op)
declare(
    SPECIAL,
    sp.pdtr_op,
    sp.pdtrc_op,
    sp.chdtr_op,
    sp.chdtrc_op,
    sp.boxcox_op,
    sp.boxcox1p_op,
    sp.inv_boxcox_op,
    sp.inv_boxcox1p_op,
)
declare(SPECIAL, sp.bdtr_op, sp.bdtrc_op, sp.nbdtr_op, sp.nbdtrc_op, sp.gdtr_op, sp.gdtrc_op, sp.fdtr_op, sp.fdtrc_op)
declare(SPECIAL._replace(c_expression=Elementary("expit", 2)), sp.expit_op)
EXPIT_SLOPE = slope_by_share("{1}", "(1 - {1}) * {1}", "__builtin_fabs{f}({0})")
declare(ELEMENTWISE._replace(c_expression=EXPIT_SLOPE), sp.expit_slope_op)
declare(SPECIAL, sp.logit_op)
declare(
    SPECIAL._replace(
        c_expression=by_kind("((as_bits{f}({0}) < 0 ? {0} : 0) - as_log1p{f}(as_exp{f}(-__builtin_fabs{f}({0}))))")
    ),
    sp.log_expit_op,
)


def _times(function: str) -> CExpression:
    """Return the rule of x f(y), which is 0 for x = 0 unless y is NaN."""
    zero = "(({0} == 0) & ({1} == {1}))"
    return by_kind(f"({zero} ? 0 : {{0}} * as_{function}{{f}}({zero} ? 1 : {{1}}))")


declare(SPECIAL._replace(c_expression=_times("log")), sp.xlogy_op)
declare(SPECIAL._replace(c_expression=_times("log1p")), sp.xlog1py_op)
declare(SPECIAL, sp.entr_op, sp.rel_entr_op, sp.kl_div_op, sp.exp10_op, sp.exp1_op, sp.expi_op)
declare(SPECIAL, sp.bessel_j_op, sp.bessel_y_op, sp.bessel_i_op, sp.bessel_k_op)
declare(SPECIAL, sp.scaled_bessel_i_op, sp.scaled_bessel_k_op, sp.sinc_op)

"""Kernels of special functions: the ufunc of SciPy where there is one.

Traits of special functions: elementwise, expensive, and as slow for singles as for doubles, as measured of SciPy.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.c_expressions import CExpression, Elementary, by_kind, slope_by_share
from anyshape.backend.compiler.op_traits import ElementTime, declare
from anyshape.backend.numpy import _parameter_derivatives
from anyshape.backend.numpy.elementwise import ELEMENTWISE, logistic_slope, saturated
from anyshape.graph.ir.graph import Op
from anyshape.ops import special as sp
from anyshape.ops.core.apply import kernel

_NAMED_ALIKE = (
    sp.erf_op, sp.erfc_op, sp.erfcx_op, sp.ndtr_op,
    sp.ndtri_op, sp.log_ndtr_op, sp.owens_t_op, sp.gamma_op, sp.gammaln_op, sp.digamma_op, sp.beta_op,
    sp.betaln_op, sp.gammainc_op, sp.gammaincc_op, sp.betainc_op, sp.betaincc_op, sp.gammaincinv_op,
    sp.gammainccinv_op, sp.betaincinv_op, sp.betainccinv_op, sp.stdtr_op, sp.stdtrit_op, sp.nbdtr_op,
    sp.nbdtrc_op, sp.rgamma_op, sp.poch_op, sp.binom_op, sp.expn_op, sp.hyp0f1_op,
    sp.hyp2f1_op, sp.jv_op, sp.yv_op, sp.iv_op, sp.kv_op, sp.ive_op, sp.kve_op, sp.ellipk_op, sp.ellipkm1_op,
    sp.ellipe_op, sp.ellipkinc_op, sp.ellipeinc_op, sp.elliprc_op, sp.elliprf_op, sp.elliprd_op, sp.gammasgn_op,
    sp.wofz_op, sp.log_expit_op, sp.xlogy_op, sp.xlog1py_op, sp.entr_op, sp.rel_entr_op,
    sp.kl_div_op,
)  # fmt: skip
UFUNCS: dict[Op, Callable[..., Any]] = {op: getattr(sc, op.name) for op in _NAMED_ALIKE}
for _op, _ufunc in UFUNCS.items():
    kernel(_op, _ufunc, out=True)


def _of_trials(ufunc):
    """Return the kernel of a function of k, of a whole number n of trials, and of a probability."""

    def run(k, n, p):
        is_number = np.isfinite(n)
        trials = np.where(is_number, n, 0).astype(np.int64)  # SciPy warns of numbers in the dtype of floats
        return np.where(is_number, ufunc(k, trials, p), np.nan).astype(p.dtype)

    return run


def _harmonic(theta, phi, *, degree, order):
    return sc.sph_harm_y(degree, order, theta, phi).astype(theta.dtype.char.upper(), copy=False)


kernel(sp.lambertw_op, lambda x, *, branch: sc.lambertw(x, branch).astype(x.dtype, copy=False))
kernel(sp.sph_harm_y_op, _harmonic)

_LARGE = 1e8  # e**x has overflowed long before


def _hyp1f1(a, b, x):
    """Call SciPy, whose function does not return from some larger arguments, unless it is a polynomial."""
    is_polynomial = (a <= 0) & (np.floor(a) == a)
    return sc.hyp1f1(a, b, np.where(is_polynomial, x, np.minimum(x, _LARGE)).astype(x.dtype))


kernel(sp.hyp1f1_op, _hyp1f1)
kernel(sp.bdtr_op, _of_trials(sc.bdtr))
kernel(sp.bdtrc_op, _of_trials(sc.bdtrc))

FEW = 512


def _expit(x, out=None):
    """Call SciPy for few elements; for many, NumPy's exponential is several times faster."""
    return sc.expit(x, out) if x.size <= FEW else _expit_of_many(x, out)


def _expit_of_many(x, out=None):
    power = np.negative(x, out)
    with np.errstate(over="ignore"):
        np.exp(power, power)
    np.add(power, 1, power)
    return np.reciprocal(power, power)


def _expit_slope(x, y, out=None):
    if x.shape != y.shape:
        x, y = np.broadcast_arrays(x, y)
    far = saturated(y, x, logistic_slope)  # before `out`, which may be the memory of x
    slope = np.asarray(np.multiply(np.subtract(1, y), y, out))
    if far:
        slope.put(*far)
    return slope


def _polygamma(x, *, order):
    if x.dtype.kind == "c":
        return _parameter_derivatives.complex_polygamma(x, order)
    return float((-1) ** (order + 1) * math.factorial(order)) * sc.zeta(x.dtype.type(order + 1), x)


kernel(sp.expit_op, _expit, out=True, run_tiled=_expit_of_many)
kernel(sp.expit_slope_op, _expit_slope, out=True)
kernel(sp.zeta_op, sc.zeta)
kernel(sp.zeta_derivative_op, _parameter_derivatives.zeta_derivative)
kernel(sp.riemann_zeta_op, sc.zeta)


LOWEST = 200  # steps of a recurrence from negative numbers


def _polygamma_difference(x, y, *, order):
    x, y = np.broadcast_arrays(x, y)
    of_order = lambda z: _polygamma(z, order=order) if order else sc.digamma(z)
    difference = np.asarray(of_order(x + y) - of_order(x))
    distance = np.where(x > 0, x, np.where(x > -LOWEST, np.absolute(x - np.rint(x)), 0))
    is_near = np.asarray(np.absolute(y) < 0.5 * distance)
    if is_near.any():
        difference[is_near] = _parameter_derivatives.polygamma_difference(x[is_near], y[is_near], order)
    return difference


kernel(sp.polygamma_op, _polygamma)
kernel(sp.polygamma_difference_op, _polygamma_difference)
kernel(sp.gammainc_derivative_op, _parameter_derivatives.gammainc_derivative)
kernel(sp.betainc_derivative_op, _parameter_derivatives.betainc_derivative)
kernel(sp.student_derivative_op, _parameter_derivatives.student_derivative)

# -- Bessel functions of integer order, and sinc


def bessel(op: Any, general: Any, *special: Any) -> Any:
    """Make the functions of the first orders and `general(order, x)` the kernel of op."""
    table = dict(enumerate(special))

    def run(x, *, order):
        return table[order](x) if order in table else general(x.dtype.type(order), x)

    kernel(op, run, specialise=lambda params, metas: table.get(params["order"]))


SERIES_UP_TO, TERMS = 3.0, 30


_sinc_of_numpy = np.sinc


def _sinc_series(z, order):
    """Return the derivative of sin(z) / z of this order, by its Taylor series; for |z| up to 3."""
    total, square, first = np.zeros_like(z), np.square(z), order % 2
    for power in reversed(range(first, TERMS, 2)):
        half = (power + order) // 2
        total = total * square + (-1) ** half / (math.factorial(power) * (2 * half + 1))
    return total * z if first else total


def _sinc_recurrence(z, order):
    """Return it from z f_k + k f_(k-1) = sin(z + k pi / 2), for larger |z|."""
    value = np.sin(z) / z
    for k in range(1, order + 1):
        value = (np.sin(z + k * (math.pi / 2)) - k * value) / z
    return value


def _sinc(x, *, order):
    if order == 0:
        return _sinc_of_numpy(x)
    z = np.multiply(x, math.pi, dtype=np.result_type(x, np.float64))
    small = np.abs(z) <= SERIES_UP_TO
    series = _sinc_series(np.where(small, z, 0), order)
    value = np.where(small, series, _sinc_recurrence(np.where(small, 1, z), order))
    return (value * math.pi**order).astype(x.dtype)


bessel(sp.bessel_j_op, sc.jv, sc.j0, sc.j1)
bessel(sp.bessel_y_op, sc.yv, sc.y0, sc.y1)
bessel(sp.bessel_i_op, sc.iv, sc.i0, sc.i1)
bessel(sp.bessel_k_op, sc.kv, sc.k0, sc.k1)
bessel(sp.scaled_bessel_i_op, sc.ive, sc.i0e, sc.i1e)
bessel(sp.scaled_bessel_k_op, sc.kve, sc.k0e, sc.k1e)
kernel(sp.sinc_op, _sinc, specialise=lambda params, metas: np.sinc if params["order"] == 0 else None)


SPECIAL = ELEMENTWISE._replace(time=ElementTime(7.0, 7.0))
# of 256 elements at once: up to 24 arrays of 64 points for each
QUADRATURE = ELEMENTWISE._replace(time=ElementTime(1500.0, 1500.0), scratch=op_traits.by_blocks(24 * 64 * 256 * 8))

EXPIT_SLOPE = slope_by_share("{1}", "(1 - {1}) * {1}", "__builtin_fabs{f}({0})")
_LOG_EXPIT = by_kind("((as_bits{f}({0}) < 0 ? {0} : 0) - as_log1p{f}(as_exp{f}(-__builtin_fabs{f}({0}))))")


def _times(function: str) -> CExpression:
    """Return the rule of x f(y), which is 0 for x = 0 unless y is NaN."""
    zero = "(({0} == 0) & ({1} == {1}))"
    return by_kind(f"({zero} ? 0 : {{0}} * as_{function}{{f}}({zero} ? 1 : {{1}}))")


_OWN: dict[Op, op_traits.Traits] = {  # of ops that differ from the others
    sp.erf_op: SPECIAL._replace(c_expression=Elementary("erf", 1)),
    sp.erfc_op: SPECIAL._replace(c_expression=Elementary("erfc", 2)),
    sp.expit_op: SPECIAL._replace(c_expression=Elementary("expit", 2)),
    sp.expit_slope_op: ELEMENTWISE._replace(c_expression=EXPIT_SLOPE),
    sp.log_expit_op: SPECIAL._replace(c_expression=_LOG_EXPIT),
    sp.xlogy_op: SPECIAL._replace(c_expression=_times("log")),
    sp.xlog1py_op: SPECIAL._replace(c_expression=_times("log1p")),
    sp.zeta_derivative_op: SPECIAL._replace(time=ElementTime(500.0, 500.0)),
    **dict.fromkeys((sp.gammainc_derivative_op, sp.betainc_derivative_op, sp.student_derivative_op), QUADRATURE),
}
for _op, _traits in _OWN.items():
    declare(_traits, _op)
declare(SPECIAL, *[op for op in vars(sp).values() if isinstance(op, Op) and op not in _OWN])

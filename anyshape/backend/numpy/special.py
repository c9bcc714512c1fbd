"""Kernels of special functions: the ufunc of SciPy where there is one."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.backend.numpy._parameter_derivatives import (
    betainc_derivative,
    complex_polygamma,
    gammainc_derivative,
    polygamma_difference,
    student_derivative,
    zeta_derivative,
)
from anyshape.backend.numpy.elementwise import logistic_slope, saturated
from anyshape.graph.ir.graph import Op
from anyshape.ops import special as sp
from anyshape.ops.core.apply import kernel

UFUNCS: dict[Op, Callable[..., Any]] = {
    sp.erf_op: sc.erf,
    sp.erfc_op: sc.erfc,
    sp.erfcx_op: sc.erfcx,
    sp.erfi_op: sc.erfi,
    sp.erfinv_op: sc.erfinv,
    sp.erfcinv_op: sc.erfcinv,
    sp.dawsn_op: sc.dawsn,
    sp.ndtr_op: sc.ndtr,
    sp.ndtri_op: sc.ndtri,
    sp.log_ndtr_op: sc.log_ndtr,
    sp.owens_t_op: sc.owens_t,
    sp.gamma_op: sc.gamma,
    sp.gammaln_op: sc.gammaln,
    sp.digamma_op: sc.digamma,
    sp.beta_op: sc.beta,
    sp.betaln_op: sc.betaln,
    sp.gammainc_op: sc.gammainc,
    sp.gammaincc_op: sc.gammaincc,
    sp.betainc_op: sc.betainc,
    sp.betaincc_op: sc.betaincc,
    sp.gammaincinv_op: sc.gammaincinv,
    sp.gammainccinv_op: sc.gammainccinv,
    sp.betaincinv_op: sc.betaincinv,
    sp.betainccinv_op: sc.betainccinv,
    sp.stdtr_op: sc.stdtr,
    sp.stdtrit_op: sc.stdtrit,
    sp.pdtr_op: sc.pdtr,
    sp.pdtrc_op: sc.pdtrc,
    sp.chdtr_op: sc.chdtr,
    sp.chdtrc_op: sc.chdtrc,
    sp.boxcox_op: sc.boxcox,
    sp.boxcox1p_op: sc.boxcox1p,
    sp.inv_boxcox_op: sc.inv_boxcox,
    sp.inv_boxcox1p_op: sc.inv_boxcox1p,
    sp.nbdtr_op: sc.nbdtr,
    sp.nbdtrc_op: sc.nbdtrc,
    sp.gdtr_op: sc.gdtr,
    sp.gdtrc_op: sc.gdtrc,
    sp.fdtr_op: sc.fdtr,
    sp.fdtrc_op: sc.fdtrc,
    sp.rgamma_op: sc.rgamma,
    sp.poch_op: sc.poch,
    sp.binom_op: sc.binom,
    sp.exprel_op: sc.exprel,
    sp.spence_op: sc.spence,
    sp.expn_op: sc.expn,
    sp.hyp0f1_op: sc.hyp0f1,
    sp.hyp2f1_op: sc.hyp2f1,
    sp.jv_op: sc.jv,
    sp.yv_op: sc.yv,
    sp.iv_op: sc.iv,
    sp.kv_op: sc.kv,
    sp.ive_op: sc.ive,
    sp.kve_op: sc.kve,
    sp.ellipk_op: sc.ellipk,
    sp.ellipkm1_op: sc.ellipkm1,
    sp.ellipe_op: sc.ellipe,
    sp.ellipkinc_op: sc.ellipkinc,
    sp.ellipeinc_op: sc.ellipeinc,
    sp.elliprc_op: sc.elliprc,
    sp.elliprf_op: sc.elliprf,
    sp.elliprd_op: sc.elliprd,
    sp.gammasgn_op: sc.gammasgn,
    sp.wofz_op: sc.wofz,
    sp.logit_op: sc.logit,
    sp.log_expit_op: sc.log_expit,
    sp.xlogy_op: sc.xlogy,
    sp.xlog1py_op: sc.xlog1py,
    sp.entr_op: sc.entr,
    sp.rel_entr_op: sc.rel_entr,
    sp.kl_div_op: sc.kl_div,
    sp.exp10_op: sc.exp10,
    sp.exp1_op: sc.exp1,
    sp.expi_op: sc.expi,
}
for _op, _ufunc in UFUNCS.items():
    kernel(_op, _ufunc, out=True)


def _of_trials(ufunc):
    """Return the kernel of a function of k, of a whole number n of trials, and of a probability."""

    def run(k, n, p):
        is_number = np.isfinite(n)
        trials = np.where(is_number, n, 0).astype(np.int64)  # SciPy warns of numbers in the dtype of floats
        return np.where(is_number, ufunc(k, trials, p), np.nan).astype(p.dtype)

    return run


_OLD_HARMONIC = "sph_harm"  # before SciPy 1.15


def _harmonic(theta, phi, *, degree, order):
    if hasattr(sc, "sph_harm_y"):
        value = sc.sph_harm_y(degree, order, theta, phi)
    else:
        value = getattr(sc, _OLD_HARMONIC)(order, degree, phi, theta)
    return value.astype(theta.dtype.char.upper(), copy=False)


for _op, _pair, _position in (
    (sp.sinint_op, sc.sici, 0),
    (sp.cosint_op, sc.sici, 1),
    (sp.sinhint_op, sc.shichi, 0),
    (sp.coshint_op, sc.shichi, 1),
    (sp.fresnels_op, sc.fresnel, 0),
    (sp.fresnelc_op, sc.fresnel, 1),
):
    kernel(_op, lambda x, pair=_pair, position=_position: pair(x)[position])
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
        return complex_polygamma(x, order)
    return float((-1) ** (order + 1) * math.factorial(order)) * sc.zeta(x.dtype.type(order + 1), x)


kernel(sp.expit_op, _expit, out=True, run_tiled=_expit_of_many)
kernel(sp.expit_slope_op, _expit_slope, out=True)
kernel(sp.zeta_op, sc.zeta)
kernel(sp.zeta_derivative_op, zeta_derivative)
kernel(sp.riemann_zeta_op, sc.zeta)


LOWEST = 200  # steps of a recurrence from negative numbers


def _polygamma_difference(x, y, *, order):
    x, y = np.broadcast_arrays(x, y)
    of_order = lambda z: _polygamma(z, order=order) if order else sc.digamma(z)
    difference = np.asarray(of_order(x + y) - of_order(x))
    distance = np.where(x > 0, x, np.where(x > -LOWEST, np.absolute(x - np.rint(x)), 0))
    is_near = np.asarray(np.absolute(y) < 0.5 * distance)
    if is_near.any():
        difference[is_near] = polygamma_difference(x[is_near], y[is_near], order)
    return difference


kernel(sp.polygamma_op, _polygamma)
kernel(sp.polygamma_difference_op, _polygamma_difference)
kernel(sp.gammainc_derivative_op, gammainc_derivative)
kernel(sp.betainc_derivative_op, betainc_derivative)
kernel(sp.student_derivative_op, student_derivative)

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

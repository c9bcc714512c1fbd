"""Kernels of special functions: the library's by SciPy's names, and compositions of elementary functions."""

import math

from anyshape.backend.numpy.special import SERIES_UP_TO, TERMS
from anyshape.backend.xp.elementwise import logistic_slope, saturated
from anyshape.backend.xp.libraries import alike, kernel
from anyshape.ops import special as sp

alike(
    {op: f"special_{op.name}" for op in (
        sp.erf_op, sp.erfc_op, sp.erfcx_op, sp.ndtr_op, sp.ndtri_op, sp.log_ndtr_op, sp.zeta_op,
        sp.gammainc_op, sp.gammaincc_op, sp.betainc_op, sp.hyp1f1_op, sp.hyp2f1_op, sp.expn_op, sp.ellipk_op,
        sp.poch_op, sp.beta_op, sp.betaln_op,
    )}
)  # fmt: skip
alike({sp.digamma_op: "special_psi", sp.riemann_zeta_op: "special_riemann_zeta"})
for _op, _name in (
    (sp.bessel_j_op, "j{}"), (sp.bessel_y_op, "y{}"), (sp.bessel_i_op, "i{}"), (sp.bessel_k_op, "k{}"),
    (sp.scaled_bessel_i_op, "i{}e"), (sp.scaled_bessel_k_op, "k{}e"),
):  # fmt: skip
    kernel(_op, None, alike=lambda params, _name=_name: f"special_{_name.format(params['order'])}")


def _zero_times(xp, x, y, value):
    """Return a product with a function of y that is 0 where x is 0, unless y is NaN."""
    return xp.where((x == 0) & (y == y), xp.zeros_like(x), xp.where(x == 0, xp.ones_like(x), x) * value)


def _xlogy(xp, x, y):
    return _zero_times(xp, x, y, xp.log(y))


def _entr(xp, x):
    positive = x > 0
    logs = xp.log(xp.where(positive, x, xp.ones_like(x)))
    return xp.where(positive | (x != x), -x * logs, xp.where(x == 0, xp.zeros_like(x), xp.full_like(x, -math.inf)))


def _rel_entr(xp, x, y):
    usual = (x > 0) & (y > 0)
    x_, y_ = (xp.where(usual, v, xp.ones_like(v)) for v in (x, y))
    ratio = x_ / y_
    is_plain = (ratio > 0) & xp.isfinite(ratio)
    logs = xp.where(is_plain, xp.log(xp.where(is_plain, ratio, xp.ones_like(x))), xp.log(x_) - xp.log(y_))
    ends = xp.where((x == 0) & (y >= 0), xp.zeros_like(x), xp.full_like(x, math.inf))
    value = xp.where(usual, x_ * logs, ends)
    return xp.where((x != x) | (y != y), xp.full_like(value, math.nan), value)


def _kl_div(xp, x, y):
    usual = (x > 0) & (y > 0)
    x_, y_ = (xp.where(usual, v, xp.ones_like(v)) for v in (x, y))
    ends = xp.where((x == 0) & (y >= 0), y, xp.full_like(y, math.inf))
    value = xp.where(usual, x_ * xp.log(x_ / y_) - x_ + y_, ends)
    return xp.where((x != x) | (y != y), xp.full_like(value, math.nan), value)


def _sinc(xp, x, *, order):
    """Return a derivative of sinc: near 0 by its series, and else by z f_k + k f_(k-1) = sin(z + k pi / 2)."""
    z = math.pi * x
    small = xp.abs(z) <= SERIES_UP_TO
    near, far = xp.where(small, z, xp.zeros_like(z)), xp.where(small, xp.ones_like(z), z)
    series, first = xp.zeros_like(z), order % 2
    for power in reversed(range(first, TERMS, 2)):
        half = (power + order) // 2
        series = series * near * near + (-1) ** half / (math.factorial(power) * (2 * half + 1))
    value = xp.sin(far) / far
    for k in range(1, order + 1):
        value = (xp.sin(far + k * (math.pi / 2)) - k * value) / far
    return xp.where(small, series * near if first else series, value) * math.pi**order


def _sign_of_gamma(xp, x):
    floor = xp.floor(x)
    odd = xp.remainder(floor, xp.full_like(x, 2)) != 0
    signs = xp.where((x > 0) | ~odd, xp.ones_like(x), xp.full_like(x, -1))
    at_pole = (x < 0) & (floor == x)
    return xp.where(at_pole, xp.full_like(x, math.nan), xp.where(x == 0, xp.copysign(xp.ones_like(x), x), signs))


def _gammaln(xp, x):
    return xp.where(x == -math.inf, x, xp.special_gammaln(x))


def _gamma(xp, x):
    return _sign_of_gamma(xp, x) * xp.exp(xp.special_gammaln(x))


def _polygamma(xp, x, *, order):
    if order == 0:
        return xp.special_psi(x)
    return (-1) ** (order + 1) * float(math.factorial(order)) * xp.special_zeta(xp.full_like(x, order + 1), x)


def _expit(xp, x):
    small = xp.exp(-xp.abs(x))
    return xp.where(x >= 0, xp.ones_like(x), small) / (1 + small)


def _expit_slope(xp, x, y):
    return saturated(xp, y, x, lambda y: (1 - y) * y, lambda x: logistic_slope(xp, x))


kernel(sp.expit_op, _expit, alike="special_expit")
kernel(sp.log_expit_op, lambda xp, x: xp.minimum(x, xp.zeros_like(x)) - xp.log1p(xp.exp(-xp.abs(x))))
kernel(sp.expit_slope_op, _expit_slope)
kernel(sp.xlogy_op, _xlogy, alike="special_xlogy")
kernel(sp.xlog1py_op, lambda xp, x, y: _zero_times(xp, x, y, xp.log1p(y)), alike="special_xlog1py")
kernel(sp.entr_op, _entr)
kernel(sp.rel_entr_op, _rel_entr)
kernel(sp.kl_div_op, _kl_div)
kernel(sp.sinc_op, _sinc)
kernel(sp.gammasgn_op, _sign_of_gamma)
kernel(sp.gammaln_op, _gammaln)
kernel(sp.gamma_op, _gamma, alike="special_gamma")
kernel(sp.rgamma_op, lambda xp, x: xp.where((x <= 0) & (xp.floor(x) == x), xp.zeros_like(x), 1 / _gamma(xp, x)))
kernel(sp.polygamma_op, _polygamma)
kernel(sp.betaincc_op, lambda xp, a, b, x: xp.special_betainc(b, a, 1 - x))

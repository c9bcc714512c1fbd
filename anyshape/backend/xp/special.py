"""Kernels of special functions: the library's by SciPy's names, and compositions of elementary functions."""

import functools
import math

import numpy as np

from anyshape.backend.numpy._parameter_derivatives import gammainc_slope, zeta_slope
from anyshape.backend.numpy.special import SERIES_UP_TO, TERMS
from anyshape.backend.xp.elementwise import logistic_slope, saturated
from anyshape.backend.xp.libraries import alike, kernel, numpy_dtype
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


# -- integrals and sums, as for NumPy

BLOCK = 4096  # elements at once, of 64 points or more each


class _Functions:
    """Special functions of a library under SciPy's names, as attributes."""

    def __init__(self, xp):
        self._xp = xp

    def polygamma(self, order, x):
        return _polygamma(self._xp, x, order=order)

    def __getattr__(self, name):
        return getattr(self._xp, f"special_{name}")


def by_blocks(compute):
    """Return a kernel that calls `compute(xp, *vectors, **params)` with vectors of float64 for a block at a time."""

    def run(xp, *xs, **params):
        shape, wide = np.broadcast_shapes(*[tuple(x.shape) for x in xs]), np.dtype(float)
        flat = [xp.reshape(xp.broadcast_to(xp.convert(x, wide), shape), (-1,)) for x in xs]
        count = math.prod(shape)
        blocks = [slice(i, min(i + BLOCK, count)) for i in range(0, count, BLOCK)]
        parts = [compute(xp, *[x[block] for x in flat], **params) for block in blocks]
        joined = xp.concat(parts) if parts else flat[0]
        return xp.convert(xp.reshape(joined, shape), numpy_dtype(xs[-1]))

    return run


DUPLICATIONS = 30  # each takes differences to a quarter, and errors are their squares


def _carlson(xp, x, y, z, *, is_second=False):
    """Return Carlson's integral of the first or the second kind, by duplication: DLMF 19.36."""
    least = float(np.finfo(numpy_dtype(x)).tiny)  # SciPy takes denormal numbers for 0
    weights = zip((x, y, z), (1, 1, 1 + is_second), strict=True)
    zeros = sum([xp.where(v < least, xp.full_like(v, weight), xp.zeros_like(v)) for v, weight in weights])
    inside, far = (x >= 0) & (y >= 0) & (z >= 0), xp.isinf(x) | xp.isinf(y) | xp.isinf(z)
    total, factor = xp.zeros_like(x + y + z), 1.0
    for _ in range(DUPLICATIONS):
        a, b, c = xp.sqrt(x), xp.sqrt(y), xp.sqrt(z)
        shift = a * (b + c) + b * c
        if is_second:
            total = total + factor / (c * (z + shift))
            factor /= 4
        x, y, z = (x + shift) / 4, (y + shift) / 4, (z + shift) / 4
    mean = (x + y + 3 * z) / 5 if is_second else (x + y + z) / 3
    value = 3 * total + factor / (mean * xp.sqrt(mean)) if is_second else 1 / xp.sqrt(mean)
    value = xp.where(zeros > 1, math.inf, xp.where(far, 0.0, value))
    return xp.where(inside, value, math.nan)


def _degenerate(xp, x, y):
    """Return Carlson's elliprc; its principal value for negative y: DLMF 19.20.14."""
    is_left = y < 0
    first, second = xp.where(is_left, x - y, x), xp.abs(y)
    value = _carlson(xp, first, second, second)
    return xp.where(y == 0, math.nan, xp.where(is_left, xp.sqrt(x / first) * value, value))


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
kernel(sp.elliprf_op, _carlson)
kernel(sp.elliprd_op, functools.partial(_carlson, is_second=True))
kernel(sp.elliprc_op, _degenerate)
kernel(
    sp.gammainc_derivative_op,
    by_blocks(lambda xp, a, x, *, order: gammainc_slope(xp, _Functions(xp), order, a, x)),
)
kernel(sp.zeta_derivative_op, by_blocks(lambda xp, x, y, *, order: zeta_slope(xp, order, x, y)))

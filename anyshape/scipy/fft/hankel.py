"""Define the fast Hankel transforms of `scipy.fft`, of any number of points that are even in their logarithm.

Source: A. Hamilton, Uncorrelated modes of the non-linear power spectrum, Mon. Not. R. Astron. Soc. 312, 2000.
"""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy import special
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import is_traced
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_fft

_fft = falls_through(scipy_fft)


def _coefficients(n: Any, dln: Any, mu: Any, offset: Any, bias: Any, *, inverse: bool) -> Any:
    """Return the coefficients of the transform; where one is singular the constant part is left off."""
    high, low = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    k = xp.arange(n // 2 + 1)
    y = pi * k / (n * dln)
    is_zero = k == 0
    usual = [xp.where(is_zero, 1.0, x) + 1j * y for x in (high, low)]
    above, below = (special.loggamma(z) for z in usual)
    angle = xp.imag(above) + xp.imag(below) + 2 * (log(2) - offset) * y
    size = xp.exp(xp.real(above) - xp.real(below) + log(2) * bias)
    first = 2.0**bias * special.poch(low, high - low)
    first = xp.where(first == 0, xp.inf, first) if inverse else xp.where(xp.isinf(first), 0.0, first)
    turned = xp.cos(angle) + 1j * xp.where(2 * k == n, 0.0, xp.sin(angle))  # the last of an even number is real
    return xp.where(is_zero, first, size * turned)


def _biased(x: Any, exponent: Any) -> Any:
    """Return samples times the exponential of a multiple of their distance from the middle."""
    n = x.shape[-1]
    return x * xp.exp(exponent * (xp.arange(n) - (n - 1) / 2))


def _dtype(a: Any, bias: Any) -> np.dtype:
    """Return the dtype of a transform: single precision stays where there is no bias."""
    is_single = xp.asarray(a).dtype == np.float32 and not is_traced(bias) and np.all(bias == 0)
    return np.dtype(np.float32 if is_single else np.float64)


@_fft
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the Hankel transform of order mu of samples along the last axis, whose logarithms are `dln` apart.

    Where the transform is singular SciPy warns, and the result is SciPy's without a warning.
    """
    dtype, x = _dtype(a, bias), real_floats(a)
    dln, mu, offset, bias = (real_floats(v).reshape(()) for v in (dln, mu, offset, bias))
    n = x.shape[-1]
    spectrum = xp.fft.rfft(_biased(x, -bias * dln)) * _coefficients(n, dln, mu, offset, bias, inverse=False)
    return (_biased(xp.fft.irfft(spectrum, n)[..., ::-1], -bias * dln) * xp.exp(-bias * offset)).astype(dtype)


@_fft
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the inverse of `fht` along the last axis."""
    dtype, x = _dtype(A, bias), real_floats(A)
    dln, mu, offset, bias = (real_floats(v).reshape(()) for v in (dln, mu, offset, bias))
    n = x.shape[-1]
    factors = xp.conj(_coefficients(n, dln, mu, offset, bias, inverse=True))
    spectrum = xp.fft.rfft(_biased(x, bias * dln) * xp.exp(bias * offset)) / factors
    return _biased(xp.fft.irfft(spectrum, n)[..., ::-1], bias * dln).astype(dtype)


@_fft
def fhtoffset(dln: Any, mu: Any, initial: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the offset near an initial one for which `fht` rings least."""
    dln, mu, initial, bias = (real_floats(v) for v in (dln, mu, initial, bias))
    y = pi / (2 * dln)
    angles = [xp.imag(special.loggamma((mu + 1 + q) / 2 + 1j * y)) for q in (bias, -bias)]
    turns = (log(2) - initial) / dln + (angles[0] + angles[1]) / pi
    return initial + (turns - xp.round(turns)) * dln

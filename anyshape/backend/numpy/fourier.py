"""Kernels of Fourier transforms by NumPy and SciPy, in the precision of their operand.

Traits of Fourier transforms: whole lines at a time.
"""

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_fft


def _fft(x, *, axis, norm, inverse):
    """Call NumPy, or SciPy for real numbers: it computes half of their transform and mirrors it."""
    module = np.fft if x.dtype.kind == "c" else scipy_fft
    return (module.ifft if inverse else module.fft)(x, axis=axis, norm=norm)


kernel(fo.fft_op, _fft)
kernel(fo.rfft_op, lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm))
kernel(fo.irfft_op, lambda x, *, axis, norm, length: np.fft.irfft(x, length, axis, norm))
kernel(
    fo.dct_op,
    lambda x, *, type, axis, norm, orthogonal: scipy_fft.dct(x, type, None, axis, norm, orthogonalize=orthogonal),
)
kernel(
    fo.dst_op,
    lambda x, *, type, axis, norm, orthogonal: scipy_fft.dst(x, type, None, axis, norm, orthogonalize=orthogonal),
)


TRANSFORM = OPAQUE._replace(scratch=op_traits.like_first_operand(3))

declare(TRANSFORM, fo.fft_op, fo.rfft_op, fo.irfft_op, fo.dct_op, fo.dst_op)

"""Kernels of Fourier transforms: NumPy's own, which work in the precision of their operand."""

import numpy as np

from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import kernel


def _fft(x, *, axis, norm, inverse):
    return (np.fft.ifft if inverse else np.fft.fft)(x, axis=axis, norm=norm)


kernel(fo.fft_op, _fft)
kernel(fo.rfft_op, lambda x, *, axis, norm: np.fft.rfft(x, axis=axis, norm=norm))
kernel(fo.irfft_op, lambda x, *, axis, norm, length: np.fft.irfft(x, length, axis, norm))

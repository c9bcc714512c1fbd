"""Kernels of Fourier transforms by NumPy and SciPy, in the precision of their operand."""

import numpy as np

from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_fft

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _fft(x, *, axis, norm, inverse):
    if x.dtype.kind == "c":
        return (np.fft.ifft if inverse else np.fft.fft)(x, axis=axis, norm=norm)
    return _of_real(x, axis, _SWAPPED[norm] if inverse else norm, inverse)


def _of_real(x, axis, norm, conjugate):
    """Return the transform of real numbers: the second half has the conjugates of the first in falling order.

    It takes half of the time. The inverse transform is the conjugate of the transform.
    """
    count = x.shape[axis]
    first = count // 2 + 1
    result = np.empty(x.shape, x.dtype.char.upper())
    before = (slice(None),) * axis
    half, rest = result[(*before, slice(first))], result[(*before, slice(first, None))]
    half[...] = np.fft.rfft(x, axis=axis, norm=norm)
    mirrored = half[(*before, slice(count - first, 0, -1))]
    if conjugate:
        rest[...] = mirrored
        np.conjugate(half, out=half)
    else:
        np.conjugate(mirrored, out=rest)
    return result


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

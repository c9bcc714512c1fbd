"""Kernels of Fourier transforms by SciPy, in the precision of their operand. NumPy's are the same and slower.

Traits of Fourier transforms: whole lines at a time.
"""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_fft

kernel(
    fo.fft_op,
    lambda x, *, axis, norm, inverse: (scipy_fft.ifft if inverse else scipy_fft.fft)(x, axis=axis, norm=norm),
)
kernel(fo.rfft_op, lambda x, *, axis, norm: scipy_fft.rfft(x, axis=axis, norm=norm))
kernel(fo.irfft_op, lambda x, *, axis, norm, length: scipy_fft.irfft(x, length, axis, norm))
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

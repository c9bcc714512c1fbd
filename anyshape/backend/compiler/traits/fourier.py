"""Traits of Fourier transforms: whole lines at a time."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import fourier as fo

TRANSFORM = OPAQUE._replace(scratch=op_traits.like_first_operand(3))

declare(TRANSFORM, fo.fft_op, fo.rfft_op, fo.irfft_op, fo.dct_op, fo.dst_op)

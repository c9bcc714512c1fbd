"""Batching of Fourier transforms: the axis moves one place on."""

from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.ops import fourier as fo

BATCHERS[fo.fft_op] = lambda ctx, size, batched, x, *, axis, norm, inverse: fo.fft(x, axis + 1, norm, inverse=inverse)
BATCHERS[fo.rfft_op] = lambda ctx, size, batched, x, *, axis, norm: fo.rfft(x, axis + 1, norm)
BATCHERS[fo.irfft_op] = lambda ctx, size, batched, x, *, axis, norm, length: fo.irfft(x, axis + 1, length, norm)
BATCHERS[fo.dct_op] = lambda ctx, size, batched, x, *, axis, **params: fo.dct(x, axis=axis + 1, **params)
BATCHERS[fo.dst_op] = lambda ctx, size, batched, x, *, axis, **params: fo.dst(x, axis=axis + 1, **params)

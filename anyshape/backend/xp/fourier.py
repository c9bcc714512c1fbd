"""Kernels of Fourier transforms, and of the trigonometric ones as products of matrices."""

import functools

import numpy as np

from anyshape.backend.xp.libraries import kernel, numpy_dtype
from anyshape.graph.ir.graph import Op
from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import KERNELS


def _fft(xp, x, *, axis, norm, inverse):
    if xp.kind(x) == "f":
        x = xp.convert(x, np.result_type(numpy_dtype(x), np.complex64))
    return (xp.fft.ifft if inverse else xp.fft.fft)(x, axis=axis, norm=norm or "backward")


kernel(fo.fft_op, _fft)
kernel(fo.rfft_op, lambda xp, x, *, axis, norm: xp.fft.rfft(x, axis=axis, norm=norm or "backward"))
kernel(fo.irfft_op, lambda xp, x, *, axis, norm, length: xp.fft.irfft(x, n=length, axis=axis, norm=norm or "backward"))


@functools.lru_cache(maxsize=64)
def _matrix(op: Op, n: int, dtype: np.dtype, params: tuple[tuple[str, object], ...]) -> np.ndarray:
    matrix: np.ndarray = KERNELS[op].run(np.eye(n, dtype=dtype), axis=0, **dict(params))
    return matrix


def along_axis(op: Op) -> None:
    """Make a product with a matrix the kernel of an op that is linear along one axis, and keeps its length."""

    def run(xp, x, *, axis, **params):
        matrix = xp.array(_matrix(op, x.shape[axis], numpy_dtype(x), tuple(params.items())))
        moved = xp.moveaxis(x, axis, -1)
        return xp.moveaxis(xp.matmul(moved, xp.matrix_transpose(matrix)), -1, axis)

    kernel(op, run)


along_axis(fo.dct_op)
along_axis(fo.dst_op)

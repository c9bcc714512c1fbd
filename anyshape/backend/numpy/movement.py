"""Kernels of movement ops: views wherever NumPy has one."""

import numpy as np

from anyshape.ops import movement as mv
from anyshape.ops.core import kernel


def _broadcast_in_dim(x, *, shape, axes):
    rank, offset = len(shape), len(shape) - len(axes)
    if axes != tuple(range(offset, rank)):
        sizes = dict(zip(axes, np.shape(x), strict=True))
        x = np.reshape(x, [sizes.get(axis, 1) for axis in range(rank)])
    return np.broadcast_to(x, shape)


kernel(mv.broadcast_in_dim_op, _broadcast_in_dim, view=True, stretch=True)
kernel(mv.reshape_op, lambda x, *, shape: x.reshape(shape), view=True)
kernel(mv.transpose_op, lambda x, *, axes: x.transpose(axes), view=True)

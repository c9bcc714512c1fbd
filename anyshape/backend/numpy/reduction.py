"""Kernels of reductions."""

import numpy as np

from anyshape.ops import reduction as rd
from anyshape.ops.core import kernel


def _sum_to(x, *, shape, axes):
    """Sum what was stretched: axes not in `axes`, and those that have size 1 in `shape` and not in x."""
    kept = {axis for axis, size in zip(axes, shape, strict=True) if size == x.shape[axis]}
    summed = tuple([axis for axis in range(x.ndim) if axis not in kept])
    return x.sum(axis=summed, dtype=x.dtype).reshape(shape) if summed else x


kernel(rd.reduce_sum_op, lambda x, *, axes: np.add.reduce(x, axis=axes, dtype=x.dtype))
kernel(rd.reduce_max_op, lambda x, *, axes: np.maximum.reduce(x, axis=axes))
kernel(rd.sum_to_op, _sum_to, view=True)

"""Derivatives of movement ops: all are linear; each one's transpose is another movement op or a sum."""

import numpy as np

from anyshape.autodiff.tables import linear
from anyshape.ops import movement as mv
from anyshape.ops.reduction import sum_to

linear(
    mv.broadcast_in_dim_op, lambda ctx, ct, x, *, shape, axes, sources=(): sum_to(ct, ctx.shape(x), axes)
)
linear(mv.reshape_op, lambda ctx, ct, x, *, shape, sources=(): mv.reshape(ct, ctx.shape(x)))
linear(mv.transpose_op, lambda ctx, ct, x, *, axes: mv.transpose(ct, np.argsort(axes).tolist()))

"""Derivatives of reductions."""

from anyshape.autodiff.tables import linear
from anyshape.graph.shapes import free_axes
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd


def spread(ctx, reduced, x, axes):
    """A reduced array repeated along the reduced axes, in the shape of x."""
    return mv.broadcast_in_dim(reduced, ctx.shape(x), free_axes(ctx.rank(x), axes))


linear(rd.reduce_sum_op, lambda ctx, ct, x, *, axes: spread(ctx, ct, x, axes))
linear(rd.sum_to_op, lambda ctx, ct, x, *, shape, axes, sources=(): mv.broadcast_in_dim(ct, ctx.shape(x), axes))

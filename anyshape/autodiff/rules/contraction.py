"""Derivatives of dot_general: bilinear; each transpose is another dot_general and a permutation."""

import numpy as np

from anyshape.autodiff.tables import bilinear
from anyshape.graph.shapes import free_axes
from anyshape.ops.contraction import dot_general, dot_general_op
from anyshape.ops.movement import transpose


def _back(ctx, ct, x, y, contract, batch, *, first):
    """The cotangent of x, where `first` says whether x was the first operand of the product."""
    (cx, cy), (bx, by) = contract, batch
    free_x, free_y = free_axes(ctx.rank(x), cx, bx), free_axes(ctx.rank(y), cy, by)
    batch_ct = range(len(bx))
    start = len(bx) + (len(free_x) if first else 0)
    out = dot_general(ct, y, (range(start, start + len(free_y)), free_y), (batch_ct, by))
    # the axes of `out` are: batch, the free axes of x, and the contracted ones in the order of y's axes
    remaining = sorted(cy)
    order = (*bx, *free_x, *[cx[cy.index(axis)] for axis in remaining])
    return transpose(out, np.argsort(order).tolist())


bilinear(
    dot_general_op,
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, x, y, contract, batch, first=True),
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, y, x, contract[::-1], batch[::-1], first=False),
)

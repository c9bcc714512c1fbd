"""Derivatives of dot_general: bilinear; each transpose is another dot_general, and a permutation if it needs one."""

from anyshape.autodiff.tables import bilinear
from anyshape.graph.shapes import free_axes
from anyshape.ops.contraction import dot_general, dot_general_op
from anyshape.ops.movement import transpose


def _back(ctx, ct, x, y, contract, batch, *, first):
    """The cotangent of x, where `first` says whether x was the first operand of the product."""
    (cx, cy), (bx, by) = contract, batch
    free_x, free_y = free_axes(ctx.rank(x), cx, bx), free_axes(ctx.rank(y), cy, by)
    batch_ct = tuple(range(len(bx)))
    start = len(bx) + (len(free_x) if first else 0)
    free_ct = tuple(range(start, start + len(free_y)))
    # what is left of y are its contracted axes in the order of y: these are the axes of x that they met
    met = [cx[cy.index(axis)] for axis in sorted(cy)]
    if [*bx, *met, *free_x] == sorted([*bx, *met, *free_x]):  # y first, and nothing is left to permute
        return dot_general(y, ct, (free_y, free_ct), (by, batch_ct))
    out = dot_general(ct, y, (free_ct, free_y), (batch_ct, by))
    order = (*bx, *free_x, *met)
    return transpose(out, sorted(range(len(order)), key=order.__getitem__))


bilinear(
    dot_general_op,
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, x, y, contract, batch, first=True),
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, y, x, contract[::-1], batch[::-1], first=False),
)

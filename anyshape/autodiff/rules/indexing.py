"""Derivatives of indexing ops: `take` and `put_add` are linear in their first input, and each other's transpose."""

from anyshape.autodiff.cotangents import TakenPart
from anyshape.autodiff.rule_tables import ADD, FILL, MOVE, linear_in_first, no_shift, zero, zeros
from anyshape.ops import indexing as ix


def _take_back(ctx, ct, x, *indices, axes):
    return TakenPart(ct, indices, axes, [ctx.exact(x, axis, field="sizes") for axis in axes])


linear_in_first(ix.take_op, _take_back)
linear_in_first(ix.put_add_op, lambda ctx, ct, x, *indices, axes, sizes, sources=(): ix.take_at(ct, indices, axes))
zero(ix.index_bounds_op)
zero(ix.window_bounds_op)

# -- zeros by construction

zeros(MOVE, ADD, ix.take_op)
zeros(FILL, MOVE, ix.put_add_op)

# -- shifts of operands

no_shift(ix.take_op, ix.put_add_op, ix.index_bounds_op, ix.window_bounds_op)

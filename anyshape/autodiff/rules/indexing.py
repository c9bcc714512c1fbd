"""Derivatives of indexing ops: `take` and `put_add` are linear in their first input, and each other's transpose.

Batching of take and put_add: where the indices carry the batch, its positions are one more index array.
"""

from anyshape.autodiff.cotangents import TakenPart
from anyshape.autodiff.rule_tables import ADD, BATCHERS, FILL, MOVE, linear_in_first, stretch_all, zero, zeros
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.creation import iota


def _take_back(ctx, ct, x, *indices, axes):
    return TakenPart(ct, indices, axes, [ctx.exact(x, axis, field="sizes") for axis in axes])


linear_in_first(ix.take_op, _take_back)
linear_in_first(ix.put_add_op, lambda ctx, ct, x, *indices, axes, sizes, sources=(): ix.take_at(ct, indices, axes))
zero(ix.index_bounds_op, ix.window_bounds_op)

# -- zeros by construction

zeros(MOVE, ADD, ix.take_op)
zeros(FILL, MOVE, ix.put_add_op)


def _batch_index(ctx, size, index):
    """Return the positions in the batch, in the shape of a batched index array."""
    shape = (size, *ctx.shape(index, field="indices")[1:])
    return mv.broadcast_in_dim(iota(size), shape, (0,))


def _take_batch(ctx, size, batched, x, *indices, axes):
    """Move the axes of the indices from where NumPy puts them to where one example has them."""
    later = tuple([axis + 1 for axis in axes])
    at = ix.first_index_axis(axes)
    if not any(batched[1:]):
        out = ix.take_at(x, indices, later)
        rank = ctx.rank(indices[0])
        return ix.reposition(out, rank, ix.first_index_axis(later), at + 1)
    stretched = stretch_all(ctx, size, batched[1:], indices)
    rank = ctx.rank(stretched[0])
    if not batched[0]:
        return ix.reposition(ix.take_at(x, stretched, axes), 1, at, 0)
    out = ix.take_at(x, (_batch_index(ctx, size, stretched[0]), *stretched), (0, *later))
    return ix.reposition(out, rank - 1, 1, at + 1)


def _put_add_batch(ctx, size, batched, updates, *indices, axes, sizes):
    later = tuple([axis + 1 for axis in axes])
    at = ix.first_index_axis(axes)
    if not any(batched[1:]):
        rank = ctx.rank(indices[0])
        return ix.put_add_at(ix.reposition(updates, rank, at + 1, ix.first_index_axis(later)), indices, later, sizes)
    stretched = stretch_all(ctx, size, batched[1:], indices)
    (updates,) = stretch_all(ctx, size, batched[:1], (updates,))
    updates = ix.reposition(updates, ctx.rank(stretched[0]) - 1, at + 1, 1)
    return ix.put_add_at(updates, (_batch_index(ctx, size, stretched[0]), *stretched), (0, *later), (size, *sizes))


BATCHERS[ix.take_op] = _take_batch
BATCHERS[ix.put_add_op] = _put_add_batch
BATCHERS[ix.index_bounds_op] = lambda ctx, size, batched, index, **params: ix.index_bounds(index, **params)
BATCHERS[ix.window_bounds_op] = lambda ctx, size, batched, indices, *, vector, **params: ix.window_bounds(
    indices, vector + 1, **params
)

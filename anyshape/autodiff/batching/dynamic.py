"""Batching of ops whose results have sizes that depend on data: examples would have different sizes, so there is none.

Where what they read carries no batch, they are not batched at all. Parts of a given size at places that depend on data
are batched: by the same part of each example, or by the position of each element.
"""

from anyshape.autodiff.batching.movement import spread
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.graph.shapes.array_type import Unknown
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv


def _ragged(ctx, size, batched, *inputs, **params):
    """The error: each example has a size of its own."""
    raise ctx.unsupported("the batch", None, Unknown(), "one size for all examples")


def _first():
    """The start of the axis of the batch, all of which is read."""
    return cr.full((), 0, "int64")


def _number(n, shape):
    return mv.broadcast_to(cr.size_value(n), shape)


def _clamped(ctx, start, whole, size):
    """The starts of all examples as the kernel takes them."""
    shape = ctx.shape(start)
    zero = cr.full(shape, 0, "int64")
    start = ew.select(ew.lt(start, zero), ew.add(start, _number(whole, shape)), start)
    return ew.minimum(ew.maximum(start, zero), _number(whole - size, shape))


def _positions(ctx, count, starts, whole, sizes):
    """For each axis the position of each element of each example, in the shape of the batch of parts."""
    shape = (count, *sizes)
    found = []
    for axis, start in enumerate(starts):
        first = mv.broadcast_in_dim(_clamped(ctx, start, whole[axis], sizes[axis]), shape, (0,))
        found.append(ew.add(first, mv.broadcast_in_dim(cr.iota(sizes[axis]), shape, (axis + 1,))))
    return found


def _dynamic_slice(ctx, count, batched, x, *starts, sizes):
    if not any(batched[1:]):
        return dy.slice_at(x, (_first(), *starts), (count, *sizes))
    starts = spread(ctx, count, batched[1:], starts)
    whole = ctx.shape(x)[batched[0] :]
    found = _positions(ctx, count, starts, whole, sizes)
    if batched[0]:
        found = [mv.broadcast_in_dim(cr.iota(count), (count, *sizes), (0,)), *found]
    return ix.take_at(x, found, range(len(found)))


def _dynamic_update_slice(ctx, count, batched, x, update, *starts):
    """Each example has its own part replaced: by what is put there, where something is put."""
    x, update = spread(ctx, count, batched[:2], (x, update))
    if not any(batched[2:]):
        return dy.update_at(x, update, (_first(), *starts))
    starts = spread(ctx, count, batched[2:], starts)
    (_, *whole), (_, *sizes) = ctx.shape(x), ctx.shape(update)
    shape = (count, *sizes)
    found = _positions(ctx, count, starts, whole, sizes)
    found = [mv.broadcast_in_dim(cr.iota(count), shape, (0,)), *found]
    axes = range(len(found))
    put = ix.put_add_at(update, found, axes, (count, *whole))
    inside = ix.put_add_at(cr.full(shape, 1, "int64"), found, axes, (count, *whole))
    return ew.select(ew.ne(inside, ew.lift(0, inside)), put, x)


for _op in (dy.nonzero_op, dy.size_token_op, dy.repeated_op, dy.unique_op):
    BATCHERS[_op] = _ragged
BATCHERS[dy.dynamic_slice_op] = _dynamic_slice
BATCHERS[dy.dynamic_update_slice_op] = _dynamic_update_slice

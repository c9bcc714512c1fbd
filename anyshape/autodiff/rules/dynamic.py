"""Derivatives of ops with run-time sizes or positions: positions and sizes have none, and parts are linear.

Batching of ops with run-time sizes: examples must agree in size, which is checked when they run.

Nodes whose operands carry no batch are not batched. Slices of a known size at run-time positions are: as the same slice
of each example, or by the position of each element.
"""

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.cotangents import Rest
from anyshape.autodiff.rule_tables import linear_in_first, stretch_all, zero, zeros, zeros_like
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv

zero(dy.nonzero_op, dy.size_token_op, dy.repeated_op, dy.unique_op, *dy.EACH.values())


linear_in_first(
    dy.dynamic_slice_op, lambda ctx, ct, x, *starts, sizes, sources=(): dy.update_at(zeros_like(ctx, x), ct, starts)
)


def _update_jvp(ctx, tangents, out, x, update, *starts):
    tx, tu = tangents[:2]
    if tx is None and tu is None:
        return None
    return dy.update_at(ew.lift(0, x) if tx is None else tx, ew.lift(0, update) if tu is None else tu, starts)


def _update_transpose(ctx, ct, x, update, *starts):
    """Return the cotangent without the part that was replaced, and this part for the update."""
    clear = lambda total: dy.update_at(total, zeros_like(ctx, update), starts)
    rest = Rest(ct, clear) if isinstance(x, tables.Linear) else None
    part = dy.slice_at(ct, starts, ctx.shape(update)) if isinstance(update, tables.Linear) else None
    return rest, part, *[None] * len(starts)


tables.JVPS[dy.dynamic_update_slice_op] = _update_jvp
tables.TRANSPOSES[dy.dynamic_update_slice_op] = _update_transpose
tables.WRITES[dy.dynamic_update_slice_op] = tables.Write(
    1,
    lambda ctx, x, array, part, *starts: dy.slice_at(x, starts, ctx.shape(part)),
    lambda ctx, x, new, array, part, *starts: dy.update_at(x, new, starts),
)

# -- zeros by construction

zeros(tables.FILL, tables.ADD, dy.dynamic_slice_op)
zeros(tables.ADD, tables.ADD, dy.dynamic_update_slice_op)


def _for_each(op):
    """Return the rule for an op with run-time sizes: it runs for each example."""

    def rule(ctx, size, batched, x, *, batch=0, **params):
        outputs = dy.of_each_example(op, x, batch + 1, params)
        if op is dy.size_token_op:  # one token for all examples, stretched as if each had its own
            (n,) = ctx.shape(outputs[0])
            return mv.broadcast_in_dim(outputs[0], (size, n), (1,))
        return outputs if len(outputs) > 1 else outputs[0]

    return rule


def _first():
    """Return the start along the batch, which is read as a whole."""
    return cr.full((), 0, "int64")


def _number(n, shape):
    return mv.broadcast_to(cr.size_value(n), shape)


def _clamped(ctx, start, whole, size):
    """Return the starts of all examples, clamped as the kernel does."""
    shape = ctx.shape(start)
    zero = cr.full(shape, 0, "int64")
    start = ew.select(ew.lt(start, zero), ew.add(start, _number(whole, shape)), start)
    return ew.minimum(ew.maximum(start, zero), _number(whole - size, shape))


def _positions(ctx, count, starts, whole, sizes):
    """Return for each axis the position of each element of each example, in the shape of the batch of slices."""
    shape = (count, *sizes)
    positions = []
    for axis, start in enumerate(starts):
        first = mv.broadcast_in_dim(_clamped(ctx, start, whole[axis], sizes[axis]), shape, (0,))
        positions.append(ew.add(first, mv.broadcast_in_dim(cr.iota(sizes[axis]), shape, (axis + 1,))))
    return positions


def _dynamic_slice(ctx, count, batched, x, *starts, sizes):
    if not any(batched[1:]):
        return dy.slice_at(x, (_first(), *starts), (count, *sizes))
    starts = stretch_all(ctx, count, batched[1:], starts)
    positions = _positions(ctx, count, starts, ctx.shape(x)[batched[0] :], sizes)
    if batched[0]:
        positions = [mv.broadcast_in_dim(cr.iota(count), (count, *sizes), (0,)), *positions]
    return ix.take_at(x, positions, range(len(positions)))


def _dynamic_update_slice(ctx, count, batched, x, update, *starts):
    """Replace a slice of its own in each example, by scattering the updates and a mask of them."""
    x, update = stretch_all(ctx, count, batched[:2], (x, update))
    if not any(batched[2:]):
        return dy.update_at(x, update, (_first(), *starts))
    starts = stretch_all(ctx, count, batched[2:], starts)
    (_, *whole), (_, *sizes) = ctx.shape(x), ctx.shape(update)
    shape = (count, *sizes)
    positions = _positions(ctx, count, starts, whole, sizes)
    positions = [mv.broadcast_in_dim(cr.iota(count), shape, (0,)), *positions]
    axes = range(len(positions))
    put = ix.put_add_at(update, positions, axes, (count, *whole))
    inside = ix.put_add_at(cr.full(shape, 1, "int64"), positions, axes, (count, *whole))
    return ew.select(ew.ne(inside, ew.lift(0, inside)), put, x)


for _op, _each in dy.EACH.items():
    tables.BATCHERS[_op] = tables.BATCHERS[_each] = _for_each(_op)
tables.BATCHERS[dy.dynamic_slice_op] = _dynamic_slice
tables.BATCHERS[dy.dynamic_update_slice_op] = _dynamic_update_slice

"""Derivatives of ops on segments: like reductions, from the contribution of each element to its segment."""

from anyshape.autodiff.argmax_sets import ABOVE_MIN, BELOW_MAX, in_argmax_set, sharers
from anyshape.autodiff.rule_tables import ADD, JVPS, MIX, REACH, no_shift, zeros
from anyshape.graph.sizes.expr import add
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops import segments as sg
from anyshape.ops import sorting as so


def _extreme(misses):
    """Return the JVP rule of an extreme: the mean tangent of all elements of a segment that attain it."""

    def jvp(ctx, tangents, out, x, ids, *, size, sources=()):
        count = ctx.shape(out)[0]
        in_set = in_argmax_set(x, ix.take(out, ids), misses)
        count_in_set = sg.add_segments(ew.convert(in_set, x.dtype), ids, count)
        total = sg.add_segments(ew.select(in_set, tangents[0], ew.lift(0, x)), ids, count)
        return total / sharers(ew.maximum(count_in_set, ew.lift(1, count_in_set)), out)

    return jvp


def _along_rows(row, shape):
    """Repeat one value for each element of the first axis along the other axes of a shape."""
    return mv.broadcast_in_dim(row, shape, (0,))


def _before(ctx, x, starts):
    """Return for each element the product of the elements before it in its segment, which begin at `starts`."""
    zeros, ones = ew.lift(0, x), ew.lift(1, x)
    step = ew.select(starts, zeros, x)  # the factor of element k, or 0 where a product begins anew
    drive = ew.select(starts, ones, zeros)
    head = ctx.shape(x)
    first = (1, *head[1:])
    step = mv.concatenate([cr.full(first, 0, x.dtype), step], 0)
    drive = mv.concatenate([cr.full(first, 1, x.dtype), drive], 0)
    states = rd.recurrence(step, drive, 0)
    return mv.strided(states, [1, *[0] * (len(head) - 1)], head)


def _others(ctx, x, ids):
    """Return for each element the product of the others of its segment: before it times after it."""
    shape = ctx.shape(x)
    order = so.argsort(ids, 0, stable=True)
    rows = _along_rows(order, shape)
    ordered, keys = so.permute(x, rows, 0), so.permute(ids, order, 0)
    (n,) = ctx.shape(ids)
    position = cr.iota(n)
    neighbour = ew.minimum(ew.add(position, ew.lift(1, position)), mv.broadcast_to(cr.size_value(add(n, -1)), (n,)))
    changes = ew.ne(keys, ix.take(keys, neighbour))
    before = _before(ctx, ordered, _along_rows(changes, shape))
    previous = ew.maximum(ew.sub(position, ew.lift(1, position)), ew.lift(0, position))
    begins = mv.rev(ew.ne(keys, ix.take(keys, previous)), (0,))
    after = mv.rev(_before(ctx, mv.rev(ordered, (0,)), _along_rows(begins, shape)), (0,))
    return so.permute(before * after, rows, 0, inverse=True)


def _prod_jvp(ctx, tangents, out, x, ids, *, size, sources=()):
    return sg.add_segments(tangents[0] * _others(ctx, x, ids), ids, ctx.shape(out)[0])


JVPS[sg.segment_max_op], JVPS[sg.segment_min_op] = _extreme(BELOW_MAX), _extreme(ABOVE_MIN)
JVPS[sg.segment_prod_op] = _prod_jvp

# -- zeros by construction

zeros(ADD, ADD, sg.segment_max_op, sg.segment_min_op)
zeros(REACH, MIX, sg.segment_prod_op)

# -- shifts of operands

no_shift(sg.segment_max_op, sg.segment_min_op, sg.segment_prod_op)

"""Batching of dot_general: one batched operand has one more free axis, two have one more batch axis."""

from anyshape.autodiff.tables import BATCHERS
from anyshape.graph.shapes import free_axes
from anyshape.ops.contraction import dot_general, dot_general_op
from anyshape.ops.movement import transpose


def _later(axes):
    return tuple([a + 1 for a in axes])


def _dot_general(ctx, size, batched, x, y, *, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    if all(batched):
        return dot_general(x, y, (_later(cx), _later(cy)), ((0, *_later(bx)), (0, *_later(by))))
    if batched[0]:
        out = dot_general(x, y, (_later(cx), cy), (_later(bx), by))
        place = len(bx)  # the new axis is the first free one of x
    else:
        out = dot_general(x, y, (cx, _later(cy)), (bx, _later(by)))
        place = len(bx) + len(free_axes(ctx.rank(x), cx, bx))
    rank = ctx.rank(out)
    return transpose(out, (place, *[a for a in range(rank) if a != place]))


BATCHERS[dot_general_op] = _dot_general

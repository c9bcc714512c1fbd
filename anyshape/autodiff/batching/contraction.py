"""Batching of products: a batched operand has one more axis, and so has the result."""

from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.graph.shapes.shape_context import free_axes
from anyshape.ops.contraction import (
    LETTERS,
    dot_general,
    dot_general_op,
    einsum,
    einsum_op,
    terms_of,
)
from anyshape.ops.movement import transpose


def _later(axes):
    return tuple([a + 1 for a in axes])


def _dot_general(ctx, size, batched, x, y, *, contract, batch):
    (cx, cy), (bx, by) = contract, batch
    if all(batched):
        return dot_general(x, y, (_later(cx), _later(cy)), ((0, *_later(bx)), (0, *_later(by))))
    if batched[0]:
        out = dot_general(x, y, (_later(cx), cy), (_later(bx), by))
        axis = len(bx)  # the batch is the first free axis of x
    else:
        out = dot_general(x, y, (cx, _later(cy)), (bx, _later(by)))
        axis = len(bx) + len(free_axes(ctx.rank(x), cx, bx))
    rank = ctx.rank(out)
    return transpose(out, (axis, *[a for a in range(rank) if a != axis]))


def _einsum(ctx, size, batched, *xs, equation):
    terms, out = terms_of(equation)
    new = next(a for a in LETTERS if a not in equation)
    terms = [new + labels if flag else labels for labels, flag in zip(terms, batched, strict=True)]
    return einsum(xs, f"{','.join(terms)}->{new}{out}")


BATCHERS[dot_general_op] = _dot_general
BATCHERS[einsum_op] = _einsum

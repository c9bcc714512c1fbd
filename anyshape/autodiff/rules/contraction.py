"""Derivatives of products, which are linear in each operand.

The transpose of a `dot_general` is another one, followed by a permutation where axes are out of order. The transpose of
an einsum is the einsum with the cotangent in place of the operand, and the labels of the operand for the result.

Batching of products: a batched operand has one more axis, and so has the result.
"""

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff import shift_invariance as shifts
from anyshape.autodiff.rule_tables import add_tangents, bilinear, lines, shift
from anyshape.graph.shapes.array_type import free_axes
from anyshape.ops.contraction import LETTERS, dot_general, dot_general_op, einsum, einsum_op, terms_of
from anyshape.ops.movement import transpose


def _back(ctx, ct, x, y, contract, batch, *, first):
    """Return the cotangent of x; `first` tells whether x was the first operand of the product."""
    (cx, cy), (bx, by) = contract, batch
    free_x, free_y = free_axes(ctx.rank(x), cx, bx), free_axes(ctx.rank(y), cy, by)
    batch_ct = tuple(range(len(bx)))
    start = len(bx) + (len(free_x) if first else 0)
    free_ct = tuple(range(start, start + len(free_y)))
    # the contracted axes of y remain, in the order of y; in terms of x these are:
    contracted = [cx[cy.index(axis)] for axis in sorted(cy)]
    if [*bx, *contracted, *free_x] == sorted([*bx, *contracted, *free_x]):  # with y first, no permutation is needed
        return dot_general(y, ct, (free_y, free_ct), (by, batch_ct))
    out = dot_general(ct, y, (free_ct, free_y), (batch_ct, by))
    order = (*bx, *free_x, *contracted)
    return transpose(out, sorted(range(len(order)), key=order.__getitem__))


bilinear(
    dot_general_op,
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, x, y, contract, batch, first=True),
    lambda ctx, ct, x, y, *, contract, batch: _back(ctx, ct, y, x, contract[::-1], batch[::-1], first=False),
)


def _einsum_jvp(ctx, tangents, out, *xs, equation):
    total = None
    for i, t in enumerate(tangents):
        if t is not None:
            total = add_tangents(total, einsum((*xs[:i], t, *xs[i + 1 :]), equation))
    return total


def _einsum_back(ctx, ct, *xs, equation):
    (i,) = [i for i, x in enumerate(xs) if isinstance(x, tables.Linear)]
    terms, out = terms_of(equation)
    back = f"{','.join([*terms[:i], out, *terms[i + 1 :]])}->{terms[i]}"
    return (*[None] * i, einsum((*xs[:i], ct, *xs[i + 1 :]), back), *[None] * (len(xs) - i - 1))


tables.JVPS[einsum_op] = _einsum_jvp
tables.TRANSPOSES[einsum_op] = _einsum_back

# -- zeros by construction


def _product_lines(ranks, *, contract, batch):
    """Return labels for the axes of the batch: a product mixes the others. None if there are none."""
    axes = (*batch, range(len(batch[0])))
    labels = [[own.index(a) if a in own else None for a in range(rank)] for own, rank in zip(axes, ranks, strict=True)]
    return labels if batch[0] else None


def _einsum_lines(ranks, *, equation):
    """Return the labels that all operands and the result have; None if there are none."""
    terms, out = terms_of(equation)
    common = set(out).intersection(*terms)
    return [[a if a in common else None for a in term] for term in (*terms, out)] if common else None


lines(_product_lines, dot_general_op)
lines(_einsum_lines, einsum_op)

# -- shifts of operands

shift(dot_general_op, shifts.dot_general)


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


tables.BATCHERS[dot_general_op] = _dot_general
tables.BATCHERS[einsum_op] = _einsum

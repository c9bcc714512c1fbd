"""Derivatives of ops with run-time sizes or positions: positions and sizes have none, and parts are linear."""

from anyshape.autodiff.cotangents import Rest
from anyshape.autodiff.rule_tables import (
    ADD,
    FILL,
    JVPS,
    TRANSPOSES,
    Linear,
    linear_in_first,
    no_shift,
    zero,
    zeros,
    zeros_like,
)
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew

zero(dy.nonzero_op)
zero(dy.size_token_op)
zero(dy.repeated_op)
zero(dy.unique_op)
for _op in dy.EACH.values():
    zero(_op)
    no_shift(_op)


linear_in_first(
    dy.dynamic_slice_op,
    lambda ctx, ct, x, *starts, sizes, sources=(): dy.update_at(zeros_like(ctx, x), ct, starts),
)


def _update_jvp(ctx, tangents, out, x, update, *starts):
    tx, tu = tangents[:2]
    if tx is None and tu is None:
        return None
    return dy.update_at(ew.lift(0, x) if tx is None else tx, ew.lift(0, update) if tu is None else tu, starts)


def _update_transpose(ctx, ct, x, update, *starts):
    """Return the cotangent without the part that was replaced, and this part for the update."""
    clear = lambda total: dy.update_at(total, zeros_like(ctx, update), starts)
    rest = Rest(ct, clear) if isinstance(x, Linear) else None
    part = dy.slice_at(ct, starts, ctx.shape(update)) if isinstance(update, Linear) else None
    return rest, part, *[None] * len(starts)


JVPS[dy.dynamic_update_slice_op] = _update_jvp
TRANSPOSES[dy.dynamic_update_slice_op] = _update_transpose

# -- zeros by construction

zeros(FILL, ADD, dy.dynamic_slice_op)
zeros(ADD, ADD, dy.dynamic_update_slice_op)

# -- shifts of operands

no_shift(dy.nonzero_op, dy.size_token_op, dy.repeated_op, dy.unique_op, dy.dynamic_slice_op)
no_shift(dy.dynamic_update_slice_op)

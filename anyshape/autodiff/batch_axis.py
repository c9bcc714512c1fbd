"""Operands with the batch as their first axis, for batching rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size, mul
from anyshape.ops.movement import broadcast_in_dim, reshape


def stretch(ctx: ShapeGuardContext, size: Size, x: Any) -> Any:
    """Return a value that carries no batch, repeated along a new first axis."""
    return broadcast_in_dim(x, (size, *ctx.shape(x)), range(1, ctx.rank(x) + 1))


def stretch_all(ctx: ShapeGuardContext, size: Size, batched: Sequence[bool], xs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operands, each with the batch as its first axis."""
    return tuple([x if carries else stretch(ctx, size, x) for x, carries in zip(xs, batched)])


def merged(ctx: ShapeGuardContext, x: Any, sizes: tuple[Size, Size], flags: tuple[bool, bool]) -> Any:
    """Return an operand with a row for each example of a batch of batches, which has the flagged ones of both axes."""
    one = ctx.shape(x)[sum(flags) :]
    if not all(flags):
        axes = [i for i, flag in enumerate(flags) if flag]
        x = broadcast_in_dim(x, (*sizes, *one), (*axes, *range(2, 2 + len(one))))
    return reshape(x, (mul(*sizes), *one))

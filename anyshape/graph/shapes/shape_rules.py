"""Type arithmetic: the sizes that broadcasting, reshaping, contracting, slicing and padding give. No ops, no arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from anyshape.graph.prover.constraints import Claim, at_least, equal
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size

Sizes = tuple[Size, ...]


def broadcast_size(ctx: ShapeGuardContext, a: Size, b: Size) -> Size:
    """The size that two axes broadcast to; asserts that they do when that is not proved."""
    if a is b or ctx.same(a, b):
        return a
    if b == 1:
        return a
    if a == 1:
        return b
    claim = Claim("broadcasts", a, b)
    if not ctx.scope.proves(claim):
        ctx.require(claim, f"sizes {a} and {b} differ and neither is 1")
    return ctx.scope.normal(expr.broadcast(a, b))


def broadcast_sizes(ctx: ShapeGuardContext, shapes: Sequence[Sizes]) -> Sizes:
    """NumPy's broadcasting of any number of shapes, aligned at the last axis."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, size in enumerate(shape):
            result[offset + axis] = broadcast_size(ctx, result[offset + axis], size)
    return tuple(result)


def numel(sizes: Sequence[Size]) -> Size:
    """The number of elements."""
    return math.prod(sizes, start=1)


def infer_reshape(ctx: ShapeGuardContext, old: Sizes, new: Sizes) -> Sizes:
    """The sizes of a reshape, with one -1 resolved; the numbers of elements must agree."""
    unknown = [i for i, s in enumerate(new) if isinstance(s, int) and s == -1]
    if len(unknown) > 1:
        raise ctx.fail("only one size of a reshape can be -1")
    total = numel(old)
    if unknown:
        others = numel([s for i, s in enumerate(new) if i not in unknown])
        ctx.require(at_least(others, 1), "a reshape with -1 needs the other sizes to be at least 1")
        whole = expr.divide_exactly(total, others)
        if whole is None:
            left = ctx.scope.normal(expr.mod(total, others))
            remainder = f": remainder {left}" if isinstance(left, int) and left else ""
            why = f"{total} elements do not divide into rows of {others}{remainder}"
            ctx.require(equal(expr.mod(total, others), 0), why)
            whole = expr.floordiv(total, others)
        return tuple(ctx.scope.normal(whole) if i in unknown else s for i, s in enumerate(new))
    for size in new:
        ctx.require_at_least(size, 0, "a size cannot be negative")
    if not ctx.same(total, numel(new)):
        ctx.require(equal(total, numel(new)), f"cannot reshape {_tuple(old)} to {_tuple(new)}")
    return new


def _tuple(sizes: Sizes) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def free_axes(rank: int, *taken: Sequence[int]) -> tuple[int, ...]:
    """The axes that are in none of the given groups."""
    used = {a for group in taken for a in group}
    return tuple(a for a in range(rank) if a not in used)


def strided_size(size: Size, step: Size) -> Size:
    """How many elements of `size` in a row a positive step visits."""
    return size if step == 1 else expr.ceildiv(size, step)


def dilated_size(size: Size, interior: Size) -> Size:
    """The length of `size` elements with `interior` elements between neighbours."""
    return size if interior == 0 else size + expr.maximum(size - 1, 0) * interior


def slice_bounds(ctx: ShapeGuardContext, part: slice, size: Size) -> tuple[Size, Size, Size]:
    """(start, length, step) of a Python slice of an axis, step never 0; as `slice.indices`, on symbolic sizes."""
    step: Size = 1 if part.step is None else part.step
    ctx.require(Claim("!=", step, 0), "a slice step cannot be zero")
    forward = _not_negative(ctx, step, "step")
    low, high = (0, size) if forward else (-1, size - 1)
    first, last = (part.start, part.stop) if forward else (part.stop, part.start)
    smallest = [low] if first is None else _bound(ctx, first, size, low, forward, upper=False)
    largest = [high] if last is None else _bound(ctx, last, size, high, forward, upper=True)
    span = expr.minimum(*[b - a for a in smallest for b in largest])
    count = strided_size(expr.maximum(span, 0), step if forward else -step)
    if forward:
        within = all(expr.minimum(a, high) is a for a in smallest)
        return expr.maximum(*smallest) if within else expr.minimum(expr.maximum(*smallest), high), count, step
    within = all(expr.maximum(b, low) is b for b in largest)
    return expr.minimum(*largest) if within else expr.maximum(expr.minimum(*largest), low), count, step


def _bound(ctx: ShapeGuardContext, bound: Size, size: Size, limit: Size, forward: bool, *, upper: bool) -> list[Size]:
    """Sizes whose smallest (`upper`) or largest one bounds the slice.

    A limit that can only matter when the slice is empty is left out, so that lengths stay simple.
    """
    gap = bound - size
    near = isinstance(gap, int) and (-2 if forward else -1) <= gap < 0  # negative only where clamping gives the same
    if near or _not_negative(ctx, bound, "bound"):
        return [bound, limit] if upper or near else [bound]
    return [bound + size] if upper else [bound + size, limit]


def _not_negative(ctx: ShapeGuardContext, size: Size, what: str) -> bool:
    """Whether the size is at least 0, decided if it must be."""
    low, high = expr.bounds(size)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    return ctx.scope.ask(at_least(size, 0, f"slice {what} {size} >= 0"), ctx.where)

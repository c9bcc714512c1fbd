"""Shape arithmetic shared by the ops: broadcasting, reshaping, slicing and dilation. No ops and no arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from anyshape.graph.prover.claim_text import OperandAxes
from anyshape.graph.prover.constraints import Claim, Verdict, at_least, equal
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size

Sizes = tuple[Size, ...]
Extremum = Callable[..., Size]  # `expr.minimum` or `expr.maximum`


def broadcast_size(ctx: ShapeGuardContext, a: Size, b: Size, axes: OperandAxes | None = None) -> Size:
    """Return the size that two axes broadcast to; assert that they broadcast unless it is proved.

    `axes` are the axes of the operands that have the sizes, for the message of that assertion.
    """
    if a is b or ctx.same(a, b):
        return a
    if b == 1:
        return a
    if a == 1:
        return b
    claim = Claim("broadcasts", a, b)
    if not ctx.scope.proves(claim):
        ctx.require(claim, f"sizes {a} and {b} differ and neither is 1", axes)
    return ctx.scope.normal(expr.broadcast(a, b))


def broadcast_sizes(ctx: ShapeGuardContext, shapes: Sequence[Sizes]) -> Sizes:
    """Return the shape that shapes broadcast to, aligned at the last axis as in NumPy."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Size] = [1] * rank
    owners = [(0, 0)] * rank  # operand and axis of each size of the result
    for operand, shape in enumerate(shapes):
        offset = rank - len(shape)
        for axis, size in enumerate(shape):
            before = result[offset + axis]
            if before is not size:
                axes = OperandAxes(len(shapes), owners[offset + axis], (operand, axis))
                result[offset + axis] = broadcast_size(ctx, before, size, axes)
            if isinstance(before, int) and before == 1:
                owners[offset + axis] = operand, axis
    return tuple(result)


def numel(sizes: Sequence[Size]) -> Size:
    """Return the number of elements."""
    return math.prod(sizes, start=1)


def infer_reshape(ctx: ShapeGuardContext, old: Sizes, new: Sizes) -> Sizes:
    """Return the sizes of a reshape, with one -1 resolved; require equal numbers of elements."""
    unknown = [i for i, s in enumerate(new) if isinstance(s, int) and s == -1]
    if len(unknown) > 1:
        raise ctx.fail("only one size of a reshape can be -1")
    if unknown:
        (axis,) = unknown
        return _resolve_minus_one(ctx, numel(old), new[:axis], new[axis + 1 :])
    for size in new:
        ctx.require_at_least(size, 0, "a size cannot be negative")
    total = numel(old)
    if not ctx.same(total, wanted := numel(new)):
        problem = f"cannot reshape {shape_text(old)} to {shape_text(new)}"
        if isinstance(total, int) and isinstance(wanted, int):
            elements = "1 element" if total == 1 else f"{total} elements"
            raise ctx.fail(problem, f"pass a shape of {elements}: {shape_text(new)} has {wanted}")
        ctx.require(equal(total, wanted), problem)
    return new


def _resolve_minus_one(ctx: ShapeGuardContext, total: Size, before: Sizes, after: Sizes) -> Sizes:
    """Return the sizes `before`, `total` divided by all other sizes, and the sizes `after`."""
    others = numel([*before, *after])
    ctx.require(at_least(others, 1), "a reshape with -1 needs the other sizes to be at least 1")
    quotient = expr.divide_exactly(total, others)
    if quotient is None:
        remainder = ctx.scope.normal(expr.mod(total, others))
        detail = f": remainder {remainder}" if isinstance(remainder, int) and remainder else ""
        why = f"{total} elements do not divide into rows of {others}{detail}"
        ctx.require(equal(expr.mod(total, others), 0), why)
        quotient = expr.floordiv(total, others)
    return (*before, ctx.scope.normal(quotient), *after)


def shape_text(sizes: Sequence[object]) -> str:
    """Return sizes as Python prints a tuple: `(n, 3)`, `(n,)`."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def free_axes(rank: int, *groups: Sequence[int]) -> tuple[int, ...]:
    """Return the axes that are in none of the groups."""
    used = {a for group in groups for a in group}
    return tuple(a for a in range(rank) if a not in used)


def strided_size(size: Size, step: Size) -> Size:
    """Return the number of elements that a positive step visits along an axis."""
    return size if step == 1 else expr.ceildiv(size, step)


def dilated_size(size: Size, interior: Size) -> Size:
    """Return the length of an axis with `interior` elements put between neighbours."""
    return size if interior == 0 else size + expr.maximum(size - 1, 0) * interior


def slice_bounds(ctx: ShapeGuardContext, part: slice, size: Size) -> tuple[Size, Size, Size]:
    """Return (start, length, step) of a Python slice of an axis; require a step other than 0."""
    step: Size = 1 if part.step is None else part.step
    ctx.require(Claim("!=", step, 0), "a slice step cannot be zero")
    forward = _is_nonnegative(ctx, step, "step")
    low, high = (0, size) if forward else (-1, size - 1)
    first, last = (part.start, part.stop) if forward else (part.stop, part.start)
    lowest = [low] if first is None else _bound(ctx, first, size, low, forward, upper=False)
    highest = [high] if last is None else _bound(ctx, last, size, high, forward, upper=True)
    span = expr.minimum(*[b - a for a in lowest for b in highest])
    count = strided_size(expr.maximum(span, 0), step if forward else -step)
    if forward:
        return _clamp(expr.maximum, lowest, expr.minimum, high), count, step
    return _clamp(expr.minimum, highest, expr.maximum, low), count, step


def _clamp(extremum: Extremum, candidates: Sequence[Size], clamp: Extremum, limit: Size) -> Size:
    """Return the extremum of the candidates, clamped to a limit unless all of them are proved within it."""
    within = all(clamp(candidate, limit) is candidate for candidate in candidates)
    return extremum(*candidates) if within else clamp(extremum(*candidates), limit)


def _bound(ctx: ShapeGuardContext, bound: Size, size: Size, limit: Size, forward: bool, *, upper: bool) -> list[Size]:
    """Return sizes whose minimum (`upper`) or maximum bounds the slice.

    A limit that matters only for empty slices is left out: lengths stay simple.
    """
    gap = bound - size
    near = isinstance(gap, int) and (-2 if forward else -1) <= gap < 0  # clamping a negative bound changes nothing
    counted = None if near else counted_from_start(ctx, bound, size)
    if counted is not None:
        return [counted, limit]
    if near or _is_nonnegative(ctx, bound, "bound"):
        return [bound, limit] if upper or near else [bound]
    return [bound + size] if upper else [bound + size, limit]


def counted_from_start(ctx: ShapeGuardContext, position: Size, size: Size) -> Size | None:
    """Return a position that counts from the end of an axis where it is negative, which only the run knows.

    None: it is known before, or Python decides on it in this call.
    """
    claim = at_least(position, 0)
    if not ctx.scope.is_of_run(claim) or ctx.scope.decide(claim) is not Verdict.UNKNOWN:
        return None
    return position + size * claim.negated().indicator()


def _is_nonnegative(ctx: ShapeGuardContext, size: Size, role: str) -> bool:
    """Return True if the size is at least 0; branch on it where bounds do not settle it."""
    low, high = expr.bounds(size)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    return ctx.scope.branch_on(at_least(size, 0, f"slice {role} {size} >= 0"), ctx.where)

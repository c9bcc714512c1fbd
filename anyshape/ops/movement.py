"""Movement ops, which move elements and compute nothing."""

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.builder import Reader, Traced, Writer
from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, dilated_size, infer_reshape
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import (
    Operand,
    Sized,
    apply,
    apply_sized,
    context_of,
    expressions,
    meta_of,
    result_sizes,
    sizes_of,
)
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, define
from anyshape.ops.core.flop_counts import MOVES, PER_LAST_OPERAND, PICKS
from anyshape.support.true_types import has_type


def _broadcast_in_dim_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...], axes: tuple[int, ...]
) -> TensorMeta:
    """Make axis i of x axis axes[i] of the result; its size must be that of the result, or 1."""
    extents = tuple([ctx.resolve(s) for s in shape])
    for extent, axis in zip(x.extents, axes, strict=True):
        new = extents[axis]
        if isinstance(extent, Exact) and isinstance(new, Exact) and not ctx.stretches(extent.size, new.size):
            claim = Claim("stretches", extent.size, new.size)
            ctx.require(claim, f"an axis of size {extent.size} cannot be broadcast to size {new.size}")
    return TensorMeta(x.dtype, extents)


def _reshape_type(ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...]) -> TensorMeta:
    extents = tuple([ctx.resolve(s) for s in shape])
    new = TensorMeta(x.dtype, extents)
    if x.sizes is not None and new.sizes is not None:
        infer_reshape(ctx, x.sizes, new.sizes)
    return new


def _slice_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, starts: tuple[Size, ...], sizes: tuple[Size, ...], steps: tuple[Size, ...]
) -> TensorMeta:
    """Take `size` elements start, start + step, ... along each axis; the caller keeps them in range."""
    if not x.rank == len(starts) == len(sizes) == len(steps):
        raise ctx.fail("a slice needs a start, a size and a step for each axis")
    return TensorMeta(x.dtype, tuple([ctx.resolve(s) for s in sizes]))


def _rev_type(ctx: ShapeGuardContext, x: TensorMeta, *, axes: tuple[int, ...]) -> TensorMeta:
    return x


def _slice_update_type(
    ctx: ShapeGuardContext, x: TensorMeta, part: TensorMeta, *, starts: tuple[Size, ...], steps: tuple[Size, ...]
) -> TensorMeta:
    """Replace or increase the elements start, start + step, ... along each axis, as many as `part` has."""
    if not x.rank == part.rank == len(starts) == len(steps):
        raise ctx.fail("an update needs a part of as many axes, and a start and a step for each")
    if x.dtype != part.dtype:
        raise ctx.bad_dtype(f"the part is {part.dtype}, the array {x.dtype}", "convert it with astype")
    return x


def _pad_type(
    ctx: ShapeGuardContext,
    x: TensorMeta,
    *,
    low: tuple[Size, ...],
    high: tuple[Size, ...],
    interior: tuple[Size, ...],
    value,
) -> TensorMeta:
    """Put `low` fills before each axis, `high` after it, and `interior` between neighbours."""
    extents = []
    for axis, (before, after, between) in enumerate(zip(low, high, interior, strict=True)):
        extents.append(ctx.resolve(before + dilated_size(expr.input_axis(0, axis), between) + after))
    return TensorMeta(x.dtype, tuple(extents))


def _concatenate_type(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta, axis: int) -> TensorMeta:
    for other in others:
        if other.dtype != x.dtype:
            raise ctx.bad_dtype(f"operands are {x.dtype} and {other.dtype}", "convert them to one dtype with astype")
        if other.rank != x.rank:
            raise ctx.fail("all operands must have the same number of axes")
    extents = list(x.extents)
    for i, extent in enumerate(extents):
        for other in others if i != axis else ():
            further = other.extents[i]
            if isinstance(extent, Exact) and isinstance(further, Exact):
                ctx.require_equal(extent.size, further.size, f"axes {i} have sizes {extent} and {further}")
            elif isinstance(further, Exact):
                extents[i] = extent = further
    axes: list[Size] = [expr.input_axis(k, axis) for k in range(1 + len(others))]
    extents[axis] = ctx.resolve(sum(axes[1:], axes[0]))
    return TensorMeta(x.dtype, tuple(extents))


# -- legal params


def _has_params_per_axis(node: Node, params: dict[str, Any]) -> bool:
    return {len(param) for param in params.values()} == {node.inputs[0].meta.rank}


def _slice_claims(ctx: ShapeGuardContext, node: Node, params: dict[str, Any]) -> list[Claim]:
    """Claim that every element exists."""
    claims = []
    for axis, (start, size, step) in enumerate(zip(params["starts"], params["sizes"], params["steps"], strict=True)):
        claims += [at_least(start, 0), at_least(size, 0), at_least(step, 1)]
        if not has_type(step, int) or step > 0:
            whole = ctx.exact(node.inputs[0], axis, field="starts")
            claims.append(at_least(expr.maximum(expr.ceildiv(whole - start, step), 0), size))
    return claims


def _slice_update_claims(ctx: ShapeGuardContext, node: Node, params: dict[str, Any]) -> list[Claim]:
    """Claim that every element exists."""
    sizes = tuple([ctx.exact(node.inputs[1], axis, field="starts") for axis in range(len(params["starts"]))])
    return _slice_claims(ctx, node, params | {"sizes": sizes})


def _pad_claims(ctx: ShapeGuardContext, node: Node, params: dict[str, Any]) -> list[Claim]:
    return [at_least(amount, 0) for name in ("low", "high", "interior") for amount in params[name]]


def _pads_each_axis(node: Node, params: dict[str, Any]) -> bool:
    (x,) = node.inputs
    one_each = all(len(params[name]) == x.meta.rank for name in ("low", "high", "interior"))
    return one_each and kinds.is_literal(x.meta.dtype, params["value"])


# -- ops

broadcast_in_dim_op: Op = define(
    "broadcast_in_dim",
    _broadcast_in_dim_type,
    params={"shape": kinds.sizes, "axes": kinds.axes},
    jointly=lambda node, params: kinds.are_increasing_axes(
        params["axes"], node.inputs[0].meta.rank, len(params["shape"])
    ),
    cost=MOVES,
    **NO_PROBE,
)
reshape_op: Op = define("reshape", _reshape_type, params={"shape": kinds.sizes}, cost=MOVES, **NO_CHECKS)
transpose_op: Op = define(
    "transpose",
    lambda ctx, x, *, axes: TensorMeta(x.dtype, tuple([x.extents[a] for a in axes])),
    params={"axes": kinds.axes},
    jointly=lambda node, params: sorted(params["axes"]) == list(range(node.inputs[0].meta.rank)),
    cost=MOVES,
    **NO_PROBE,
)
slice_op: Op = define(
    "slice",
    _slice_type,
    params={"starts": kinds.sizes, "sizes": kinds.sizes, "steps": kinds.sizes},
    jointly=_has_params_per_axis,
    claims=_slice_claims,
    probe=None,
    cost=PICKS,
)
_UPDATE: dict[str, Any] = {
    "params": {"starts": kinds.sizes, "steps": kinds.sizes},
    "jointly": _has_params_per_axis,
    "claims": _slice_update_claims,
    "probe": None,
}
slice_update_op: Op = define("slice_update", _slice_update_type, cost=MOVES, **_UPDATE)
slice_add_op: Op = define("slice_add", _slice_update_type, cost=PER_LAST_OPERAND, **_UPDATE)
rev_op: Op = define(
    "rev", _rev_type, params={"axes": kinds.axes}, jointly=kinds.has_increasing_axes, cost=MOVES, **NO_PROBE
)
pad_op: Op = define(
    "pad",
    _pad_type,
    params={"low": kinds.sizes, "high": kinds.sizes, "interior": kinds.sizes, "value": kinds.number},
    jointly=_pads_each_axis,
    claims=_pad_claims,
    probe=None,
    cost=MOVES,
)
concatenate_op: Op = define(
    "concatenate", _concatenate_type, operands=(1, 10_000), params={"axis": kinds.axis}, cost=MOVES, **NO_CHECKS
)


def viewed(result: Any, x: Operand, read: Reader, write: Writer | None, key: Any, certain: bool = True) -> Any:
    """Return a result that is a view of x; see `Traced.view_of`. Views of plain arrays are NumPy's own."""
    if isinstance(result, Traced) and isinstance(x, Traced):
        return result.view_of(x, read, write, key, certain)
    return result


def broadcast_in_dim(x: Operand, shape: Sequence[Size], axes: Sequence[int]) -> Any:
    """Return x with axis i as axis axes[i] of an array of this shape, repeated along all other axes."""
    return _repeated(x, result_sizes("broadcast_in_dim", tuple(shape)), tuple(axes))


def _repeated(x: Operand, shape: tuple[Size, ...], axes: tuple[int, ...]):
    result = apply_sized(broadcast_in_dim_op, x, sizes={"shape": shape}, axes=axes)
    return viewed(result, x, lambda base: _repeated(base, shape, axes), None, ("broadcast_in_dim", axes))


def broadcast_to(x: Operand, shape: Sequence[Size]) -> Any:
    """Return x broadcast to this shape, aligned at the last axis as in NumPy; x itself if it has that shape."""
    sizes: tuple[Size, ...] = result_sizes("broadcast_to", tuple(shape))
    meta = meta_of(x)
    if meta.sizes == sizes:
        return x
    if (offset := len(sizes) - meta.rank) < 0:
        why = f"an array of {meta.rank} axes cannot be broadcast to {len(sizes)} axes"
        raise context_of("broadcast_to", x).fail(why, "drop axes first, as with x[0]")
    return _repeated(x, sizes, tuple(range(offset, len(sizes))))


def reshape(x: Operand, shape: Sequence[Size]) -> Any:
    """Return the elements of x, in C order, in another shape; one size may be -1."""
    ctx = context_of("reshape", x)
    old = sizes_of(ctx, x)
    if (new := infer_reshape(ctx, old, expressions(tuple(shape)))) == old:
        return x
    result = apply_sized(reshape_op, x, sizes={"shape": new})
    read, write = lambda base: reshape(base, new), lambda base, part: reshape(part, old)
    return viewed(result, x, read, write, ("reshape", new), certain=splits_axes(old, new))


def splits_axes(old: Sequence[Size], new: Sequence[Size]) -> bool:
    """Return whether a reshape splits axes alone: each axis becomes a run of new ones, and axes of size 1 come or go.

    Such a reshape needs no copy, whatever the strides. One that is not known to do so may need one.
    """
    rest = [s for s in new if not (has_type(s, int) and s == 1)]
    for size in [s for s in old if not (has_type(s, int) and s == 1)]:
        product: Size = 1
        while rest and product != size:
            product = expr.mul(product, rest.pop(0))
        if product != size:
            return False
    return not rest


def transpose(x: Operand, axes: Sequence[int] | None = None) -> Any:
    """Return x with its axes in this order, reversed by default."""
    rank = meta_of(x).rank
    order = tuple(range(rank)[::-1]) if axes is None else tuple(axes)
    if order == tuple(range(rank)):
        return x
    result, back = apply(transpose_op, x, axes=order), _inverse(order)
    return viewed(
        result, x, lambda base: transpose(base, order), lambda base, part: transpose(part, back), ("transpose", order)
    )


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    """Return the permutation that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def strided(x: Operand, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size] | None = None) -> Any:
    """Return the elements start, start + step, ... along each axis; the caller ensures that they exist."""
    meta = meta_of(x)
    steps = (1,) * meta.rank if steps is None else tuple(steps)
    starts, sizes = tuple(starts), tuple(sizes)
    if meta.sizes == sizes and all(has_type(s, int) and s == 1 for s in steps):
        return x  # all elements of an axis in order can only start at 0
    result = apply_sized(slice_op, x, sizes={"starts": starts, "sizes": sizes, "steps": steps})
    read = lambda base: strided(base, starts, sizes, steps)
    write = lambda base, part: slice_update(base, part, starts, steps)
    return viewed(result, x, read, write, ("slice", starts, sizes, steps))


def slice_update(x: Operand, part: Operand, starts: Sequence[Size], steps: Sequence[Size] | None = None) -> Any:
    """Return x with `part` in place of the elements start, start + step, ...; the caller ensures that they exist."""
    meta = meta_of(x)
    steps = (1,) * meta.rank if steps is None else tuple(steps)
    if meta.sizes == meta_of(part).sizes and all(has_type(s, int) and s == 1 for s in steps):
        return part  # all elements of each axis in order can only start at 0
    return apply_sized(slice_update_op, x, part, sizes={"starts": tuple(starts), "steps": steps})


def repeated_scalar(x: Traced) -> Traced | None:
    """Return the scalar that a traced array repeats along all axes, None if no node says so."""
    node = next((node for node in reversed(x.builder.nodes) if x.value in node.outputs), None)
    if node is None or node.op is not broadcast_in_dim_op or dict(node.params)["axes"]:
        return None
    return x.builder.handle(x.builder, node.inputs[0])


def slice_add(x: Operand, part: Operand, starts: Sequence[Size], steps: Sequence[Size]) -> Any:
    """Return x with `part` added to the elements start, start + step, ...; the caller ensures that they exist."""
    return apply_sized(slice_add_op, x, part, sizes={"starts": tuple(starts), "steps": tuple(steps)})


def slice(x: Operand, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size] | None = None) -> Any:
    """Return `size` elements start, start + step, ... along each axis; an element out of range is an error."""
    ctx = context_of("slice", x)
    starts, sizes = expressions(tuple(starts)), expressions(tuple(sizes))
    steps = (1,) * len(starts) if steps is None else expressions(tuple(steps))
    for axis, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        whole = ctx.exact(Sized(x), axis, field="starts")
        ctx.require_at_least(start, 0, f"the start of axis {axis} is negative")
        ctx.require_at_least(size, 0, f"the size of axis {axis} is negative")
        ctx.require_at_least(step, 1, f"the step of axis {axis} is not positive")
        ctx.require_at_least(whole, start + dilated_size(size, step - 1), f"axis {axis} ends before the slice does")
    return strided(x, starts, sizes, steps)


def rev(x: Operand, axes: Sequence[int]) -> Any:
    """Return x with the elements along the axes in reverse order."""
    if not axes:
        return x
    backwards = apply(rev_op, x, axes=tuple(sorted(axes)))
    return viewed(backwards, x, lambda base: rev(base, axes), lambda base, part: rev(part, axes), ("rev", axes))


def pad(x: Operand, low: Sequence[Size], high: Sequence[Size], interior: Sequence[Size] | None = None, value=0) -> Any:
    """Return x with a literal before and after each axis and between its elements; no amount may be negative."""
    ctx = context_of("pad", x)
    interior = (0,) * len(low) if interior is None else tuple(interior)
    amounts = tuple(map(expressions, (tuple(low), tuple(high), interior)))
    for amount in (a for group in amounts for a in group):
        ctx.require(at_least(amount, 0), f"a pad of {amount} is negative")
    if all(has_type(a, int) and a == 0 for group in amounts for a in group):
        return copied(x)
    return pad_unchecked(x, amounts[0], amounts[1], amounts[2], value)


def pad_unchecked(x: Operand, low: Sequence[Size], high: Sequence[Size], interior: Sequence[Size], value=0) -> Any:
    """Pad by amounts that the caller ensures are not negative."""
    sizes = {"low": tuple(low), "high": tuple(high), "interior": tuple(interior)}
    return apply_sized(pad_op, x, sizes=sizes, value=meta_of(x).dtype.type(value).item())


def concatenate(operands: Sequence[Operand], axis: int) -> Any:
    """Return the operands joined along an axis that they have, many of them in parts: a sum of sizes has a limit."""
    while len(operands) > _MOST_JOINED:
        operands = [concatenate(operands[k : k + _MOST_JOINED], axis) for k in range(0, len(operands), _MOST_JOINED)]
    return copied(operands[0]) if len(operands) == 1 else apply(concatenate_op, *operands, axis=axis)


_MOST_JOINED = 500


def copied(x: Operand) -> Any:
    """Return x as an array that shares no memory; see `Traced.as_copy`."""
    return x.as_copy() if isinstance(x, Traced) else x


def expand(x: Operand, axes: Sequence[int]) -> Any:
    """Return x with new axes of size 1 at these positions of the result."""
    if not axes:
        return x
    old = iter(sizes_of(context_of("reshape", x), x))
    rank = meta_of(x).rank + len(axes)
    return reshape(x, [1 if axis in axes else next(old) for axis in range(rank)])


def drop(x: Operand, axes: Sequence[int]) -> Any:
    """Return x without these axes, which have size 1."""
    shape = [s for axis, s in enumerate(sizes_of(context_of("reshape", x), x)) if axis not in axes]
    return reshape(x, shape) if axes else x


def move_axes(x: Operand, old: Sequence[int], new: Sequence[int]) -> Any:
    """Return x with its axes `old` at the positions `new`, the others in order."""
    rank = meta_of(x).rank
    source = dict(zip(new, old, strict=True))
    rest = iter([axis for axis in range(rank) if axis not in old])
    return transpose(x, [source[axis] if axis in source else next(rest) for axis in range(rank)])

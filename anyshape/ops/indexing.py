"""Indexing ops: take reads elements at index arrays, and put_add, its transpose, adds to them.

Both follow NumPy: a negative index counts from the end, and an index out of range is an IndexError of the call.
`index_bounds` and `window_bounds` check indices alone, for reads and writes whose result is not used.
"""

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.ir.op_local import refusal
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, free_axes
from anyshape.graph.sizes.expr import Size, input_axis
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_sized, context_of, meta_of, result_sizes, sizes_of
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, define, refuse
from anyshape.ops.core.flop_counts import PICKS, per_operand
from anyshape.ops.creation import iota
from anyshape.ops.movement import broadcast_in_dim, move_axes

Axes = tuple[int, ...]


def first_index_axis(axes: Axes) -> int:
    """Return the first axis of the result that is one of the indices, as NumPy puts them.

    It is the first indexed axis if these are adjacent, and 0 otherwise.
    """
    return axes[0] if axes == tuple(range(axes[0], axes[0] + len(axes))) else 0


def _check_indices(ctx: ShapeGuardContext, indices: tuple[TensorMeta, ...], axes: Axes) -> None:
    if not axes or len(axes) != len(indices) or list(axes) != sorted(set(axes)):
        raise ctx.fail("each index needs one axis, in increasing order")
    for index in indices:
        if index.dtype.kind not in "iu":
            raise ctx.bad_dtype(f"an index array is {index.dtype}", "convert it to integers with astype(int)")
        ctx.require_same_extents(index, indices[0], "the index arrays of a core op must have equal shapes")


def _take_type(ctx: ShapeGuardContext, x: TensorMeta, *indices: TensorMeta, axes: Axes) -> TensorMeta:
    _check_indices(ctx, indices, axes)
    rest = [x.extents[axis] for axis in free_axes(x.rank, axes)]
    at = first_index_axis(axes)
    return TensorMeta(x.dtype, (*rest[:at], *indices[0].extents, *rest[at:]))


def _put_add_type(
    ctx: ShapeGuardContext, updates: TensorMeta, *indices: TensorMeta, axes: Axes, sizes: tuple[Size, ...]
) -> TensorMeta:
    """Return the type of x if `take(x, indices, axes)` has the type of the updates; x has `sizes` at `axes`."""
    _check_indices(ctx, indices, axes)
    at, rank = first_index_axis(axes), indices[0].rank
    for mine, theirs in zip(updates.extents[at : at + rank], indices[0].extents, strict=True):
        if isinstance(mine, Exact) and isinstance(theirs, Exact):
            ctx.require_equal(mine.size, theirs.size, f"updates of size {mine} for indices of size {theirs}")
    rest = iter((*updates.extents[:at], *updates.extents[at + rank :]))
    new = dict(zip(axes, [ctx.resolve(s) for s in sizes], strict=True))
    total = updates.rank - rank + len(axes)
    return TensorMeta(updates.dtype, tuple([new[a] if a in new else next(rest) for a in range(total)]))


def _takes_indexed_axes(node: Node, params: dict[str, Any]) -> bool:
    return kinds.are_increasing_axes(params["axes"], len(node.inputs) - 1, node.inputs[0].meta.rank)


def _puts_at_indexed_axes(node: Node, params: dict[str, Any]) -> bool:
    """Accept an axis of the result, and its size, per index array; the updates have the axes of the indices."""
    updates, index, count = node.inputs[0].meta.rank, node.inputs[1].meta.rank, len(node.inputs) - 1
    rank = updates - index + len(params["axes"])
    return index <= updates and len(params["sizes"]) == count and kinds.are_increasing_axes(params["axes"], count, rank)


def _index_bounds_type(ctx: ShapeGuardContext, index: TensorMeta, *, axis: int, extent: Size, name: str) -> TensorMeta:
    ctx.resolve(extent)
    return _integers(ctx, index)


def _window_bounds_type(
    ctx: ShapeGuardContext,
    indices: TensorMeta,
    *,
    vector: int,
    axes: Axes,
    sizes: tuple[Size, ...],
    windows: tuple[Size, ...],
    mode: str,
    name: str,
) -> TensorMeta:
    for size in (*sizes, *windows):
        ctx.resolve(size)
    return _integers(ctx, indices)


def _integers(ctx: ShapeGuardContext, index: TensorMeta) -> TensorMeta:
    if index.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"an index array is {index.dtype}", "convert it to integers with astype(int)")
    return index


def _bounds_each_axis(node: Node, params: dict[str, Any]) -> bool:
    return params["vector"] <= node.inputs[0].meta.rank and len(params["axes"]) == len(params["sizes"]) == len(
        params["windows"]
    )


take_op: Op = define(
    "take",
    _take_type,
    operands=(2, kinds.MAX_RANK),
    params={"axes": kinds.axes},
    jointly=_takes_indexed_axes,
    cost=PICKS,
    **NO_PROBE,
)
put_add_op: Op = define(
    "put_add",
    _put_add_type,
    operands=(2, kinds.MAX_RANK),
    params={"axes": kinds.axes, "sizes": kinds.sizes},
    jointly=_puts_at_indexed_axes,
    cost=per_operand(1),
    **NO_PROBE,
)

index_bounds_op: Op = define(
    "index_bounds",
    _index_bounds_type,
    params={"axis": kinds.count, "extent": kinds.size, "name": kinds.text},
    cost=per_operand(1),
    raises=True,
    **NO_CHECKS,
)
window_bounds_op: Op = define(
    "window_bounds",
    _window_bounds_type,
    params={
        "vector": kinds.count,
        "axes": kinds.axes,
        "sizes": kinds.sizes,
        "windows": kinds.sizes,
        "mode": kinds.text,
        "name": kinds.text,
    },
    jointly=_bounds_each_axis,
    cost=per_operand(1),
    raises=True,
    **NO_PROBE,
)


def refuse_indices(node: Node, axes: Axes, sizes: Sequence[Size] = ()) -> list[Node]:
    """Return the check of each index array of a node, for axes of these sizes, or of the first operand."""
    sizes = sizes or [input_axis(0, axis) for axis in axes]
    return [
        refusal(index_bounds_op, node, index, {"axis": axis, "extent": size, "name": node.op.name})
        for index, axis, size in zip(node.inputs[1:], axes, sizes, strict=True)
    ]


def refuse_windows(node: Node, vector: int, axes: Axes, windows: tuple[Size, ...], mode: str) -> list[Node]:
    """Return the check of the index vectors of a gather or a scatter: see `window_bounds`."""
    sizes = tuple([input_axis(0, axis) for axis in axes])
    params = {"vector": vector, "axes": axes, "sizes": sizes, "windows": windows, "mode": mode, "name": node.op.name}
    return [refusal(window_bounds_op, node, node.inputs[1], params)]


refuse(lambda node: refuse_indices(node, dict(node.params)["axes"]), take_op)
refuse(lambda node: refuse_indices(node, dict(node.params)["axes"], dict(node.params)["sizes"]), put_add_op)


def index_bounds(index: Operand, axis: int, extent: Size, name: str) -> Any:
    """Return the indices; the program raises for one that is not a position along an axis of this size."""
    return apply_sized(index_bounds_op, index, sizes={"extent": extent}, axis=axis, name=name)


def window_bounds(
    indices: Operand, vector: int, axes: Axes, sizes: Sequence[Size], windows: Sequence[Size], mode: str, name: str
) -> Any:
    """Return index vectors; the program raises for one whose window a gather or a scatter would refuse.

    Axis `vector` holds the vectors. Their numbers start windows of these sizes along the first of `axes`, which have
    `sizes`; along the other axes, windows start at 0.
    """
    params = {"vector": vector, "axes": axes, "mode": mode, "name": name}
    return apply_sized(window_bounds_op, indices, sizes={"sizes": tuple(sizes), "windows": tuple(windows)}, **params)


def take_at(x: Operand, indices: Sequence[Operand], axes: Sequence[int]) -> Any:
    """Return x[i, j, ...]: index arrays of equal shapes at increasing axes, and all of every other axis."""
    return apply(take_op, x, *indices, axes=tuple(axes))


def take(x: Operand, indices: Operand, axis: int = 0) -> Any:
    """Return the slices of x at these positions along an axis."""
    return take_at(x, (indices,), (axis,))


def put_add_at(updates: Operand, indices: Sequence[Operand], axes: Sequence[int], sizes: Sequence[Size]) -> Any:
    """Return zeros with the updates added where `take_at` would read; `axes` of the result have `sizes`."""
    operands = (updates, *indices)
    return apply_sized(put_add_op, *operands, sizes={"sizes": result_sizes("put_add", tuple(sizes))}, axes=tuple(axes))


def put_add(updates: Operand, indices: Operand, size: Size, axis: int = 0) -> Any:
    """Return zeros, of this size along the axis, with slices of updates added; repeated positions accumulate."""
    return put_add_at(updates, (indices,), (axis,), (size,))


def take_along_axis(x: Operand, indices: Operand, axis: int) -> Any:
    """Return the elements of x at the positions along the axis that `indices` gives; other axes are shared."""
    return take_at(x, along_axis(indices, axis), range(meta_of(x).rank))


def put_add_along_axis(updates: Operand, indices: Operand, size: Size, axis: int) -> Any:
    """Return zeros, of this size along the axis, with the updates added where `take_along_axis` would read."""
    shape = list(sizes_of(context_of("put_add", updates), updates))
    shape[axis] = size
    return put_add_at(updates, along_axis(indices, axis), range(len(shape)), shape)


def along_axis(indices: Operand, axis: int) -> list[Any]:
    """Return an index array for each axis: `indices` for this one, the position itself for every other."""
    shape = sizes_of(context_of("iota", indices), indices)
    return [indices if i == axis else broadcast_in_dim(iota(size), shape, (i,)) for i, size in enumerate(shape)]


def reposition(x: Operand, rank: int, old: int, new: int) -> Any:
    """Return x with its `rank` adjacent axes from `old` on moved, so that they start at `new`."""
    return move_axes(x, range(old, old + rank), range(new, new + rank)) if old != new else x

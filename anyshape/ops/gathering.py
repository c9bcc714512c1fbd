"""Windows of an array at places that an index array gives: gather reads them, scatter writes them.

The dimension numbers are StableHLO's. An index vector gives the start of a window in some axes of the operand; the
window starts at 0 in all others. Along batching axes, operand and indices go together. An index is a position from the
first element on: none counts from the end. Beyond what StableHLO says, an axis from which windows take one element may
be empty as long as nothing is read or written there.

Modes say what an index out of range means, one for which the whole window does not fit. "error": the call fails, and
nothing has been written. "clip": the nearest window that fits. "fill": a window of the fill value; "drop": no write.

Scatters write one window after the other, in C order of the index vectors: of several updates that one element is set
to, the last one stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Node, Op, has_local
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import param_kinds as kinds
from anyshape.ops.apply import Operand, apply, context_of, localise, meta_of, sizes_of
from anyshape.ops.creation import size_value
from anyshape.ops.definition import define
from anyshape.ops.flop_counts import MOVES, PICKS, OpCost, per_update
from anyshape.ops.indexing import place

Axes: TypeAlias = tuple[int, ...]
GATHER = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "index_vector_dim",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
SCATTER = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "index_vector_dim",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)


@dataclass(frozen=True, slots=True)
class Windows:
    """The dimension numbers of a gather, and of the scatter that writes where it reads, in the order of `GATHER`.

    `offset`: the axes of what is read or written that run over a window. `collapsed`: axes of the operand that windows
    have one element of, and what is read has not. `starts`: the axis that each number of an index vector is about.
    `vector`: the axis of the indices that holds the vectors; one beyond the last: each index is a vector of one number.
    """

    offset: Axes
    collapsed: Axes
    starts: Axes
    vector: int
    operand_batch: Axes = ()
    indices_batch: Axes = ()

    def kept(self, rank: int) -> Axes:
        """The axes of an operand of this rank that the axes `offset` run over."""
        return free_axes(rank, self.collapsed, self.operand_batch)

    def batch(self, rank: int) -> Axes:
        """The axes of indices of this rank that run over index vectors."""
        return free_axes(rank, (self.vector,))

    def outer(self, rank: int) -> Axes:
        """The axes of what is read by indices of this rank that run over index vectors."""
        return free_axes(len(self.batch(rank)) + len(self.offset), self.offset)

    def params(self, names: Sequence[str]) -> dict[str, Any]:
        """As params, under the names that gather or scatter has for them."""
        values = (self.offset, self.collapsed, self.starts, self.vector, self.operand_batch, self.indices_batch)
        return dict(zip(names, values, strict=True))


def windows_of(params: dict[str, Any], names: Sequence[str]) -> Windows:
    """The dimension numbers among the params of a gather or a scatter, which are taken out."""
    return Windows(*[params.pop(name) for name in names])


# -- shape rules -------------------------------------------------------------------------------------------------


def _check(
    ctx: ShapeGuardContext, w: Windows, names: Sequence[str], operand: TensorMeta, indices: TensorMeta, rank: int
) -> None:
    """Whether the dimension numbers fit an operand and indices; `rank` is that of what is read or written."""
    if indices.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"indices are {indices.dtype}, not integers", "convert them with astype(int)")
    named = w.params(names)
    for name, bound in zip(names, (rank, operand.rank, operand.rank, None, operand.rank, indices.rank), strict=True):
        axes = named[name]
        if bound is not None and not (len(set(axes)) == len(axes) and all(0 <= a < bound for a in axes)):
            raise ctx.fail(f"{name} = {axes} are not different axes of {bound}")
    for name in (names[0], names[1], names[4]):
        if list(named[name]) != sorted(named[name]):
            raise ctx.fail(f"{name} = {named[name]} must be in increasing order")
    if not 0 <= w.vector <= indices.rank:
        raise ctx.fail(f"{names[3]} = {w.vector} is not in 0..{indices.rank}")
    if operand.rank != len(w.offset) + len(w.collapsed) + len(w.operand_batch):
        raise ctx.fail(f"{names[0]}, {names[1]} and {names[4]} must name {operand.rank} axes together")
    if set(w.operand_batch) & {*w.collapsed, *w.starts}:
        raise ctx.fail(f"{names[4]} = {w.operand_batch} cannot be in {names[1]} or {names[2]} too")
    if w.vector in w.indices_batch:
        raise ctx.fail(f"{names[5]} = {w.indices_batch} cannot hold {names[3]}")
    if len(w.operand_batch) != len(w.indices_batch):
        raise ctx.fail(f"{names[4]} and {names[5]} must have the same number of axes")
    _check_sizes(ctx, w, names, operand, indices)


def _check_sizes(
    ctx: ShapeGuardContext, w: Windows, names: Sequence[str], operand: TensorMeta, indices: TensorMeta
) -> None:
    count: ShapeExtent = indices.extents[w.vector] if w.vector < indices.rank else Exact(1)
    why = f"index vectors of {count} numbers for {names[2]} = {w.starts}"
    _agree(ctx, count, Exact(len(w.starts)), w.vector, why)
    for a, b in zip(w.operand_batch, w.indices_batch, strict=True):
        why = f"batching axes {a} of the operand and {b} of the indices differ"
        _agree(ctx, operand.extents[a], indices.extents[b], a, why)


def _agree(ctx: ShapeGuardContext, a: ShapeExtent, b: ShapeExtent, axis: int, why: str) -> None:
    """The two sizes are equal; both must be exact."""
    ctx.require_equal(_exact(ctx, a, axis), _exact(ctx, b, axis), why)


def _exact(ctx: ShapeGuardContext, extent: ShapeExtent, axis: int) -> Size:
    if isinstance(extent, Exact):
        return extent.size
    raise ctx.unsupported("windows", axis, extent)


def _fits(ctx: ShapeGuardContext, window: ShapeExtent, extent: ShapeExtent, axis: int) -> None:
    size, whole = _exact(ctx, window, axis), _exact(ctx, extent, axis)
    if size is not whole and not ctx.same(size, whole):
        ctx.require_at_least(size, 0, f"a window of {size} along axis {axis} is negative")
        ctx.require_at_least(whole, size, f"a window of {size} does not fit axis {axis} of size {whole}")


def _gather_type(
    ctx: ShapeGuardContext,
    operand: TensorMeta,
    indices: TensorMeta,
    *,
    offset_dims: Axes,
    collapsed_slice_dims: Axes,
    start_index_map: Axes,
    index_vector_dim: int,
    slice_sizes: tuple[Size, ...],
    operand_batching_dims: Axes,
    start_indices_batching_dims: Axes,
    mode: str,
    fill_value: Any,
) -> TensorMeta:
    w = Windows(
        offset_dims,
        collapsed_slice_dims,
        start_index_map,
        index_vector_dim,
        operand_batching_dims,
        start_indices_batching_dims,
    )
    batch = [e for i, e in enumerate(indices.extents) if i != w.vector]
    rank = len(batch) + len(w.offset)
    _check(ctx, w, GATHER, operand, indices, rank)
    _known(ctx, mode, ("error", "clip", "fill"))
    if len(slice_sizes) != operand.rank:
        raise ctx.fail(f"slice_sizes holds {len(slice_sizes)} sizes for {operand.rank} axes")
    sizes = [ctx.resolve(s) for s in slice_sizes]
    for axis in (*w.collapsed, *w.operand_batch):
        why = f"slice_sizes[{axis}] = {sizes[axis]} must be 1, as what is read lacks the axis"
        _agree(ctx, sizes[axis], Exact(1), axis, why)
    for axis in w.kept(operand.rank):
        _fits(ctx, sizes[axis], operand.extents[axis], axis)
    inner = dict(zip(w.offset, [sizes[axis] for axis in w.kept(operand.rank)], strict=True))
    outer = iter(batch)
    return TensorMeta(operand.dtype, tuple([inner[a] if a in inner else next(outer) for a in range(rank)]))


def _scatter_type(
    ctx: ShapeGuardContext,
    operand: TensorMeta,
    indices: TensorMeta,
    updates: TensorMeta,
    *,
    update_window_dims: Axes,
    inserted_window_dims: Axes,
    scatter_dims_to_operand_dims: Axes,
    index_vector_dim: int,
    input_batching_dims: Axes,
    scatter_indices_batching_dims: Axes,
    mode: str,
    unique_indices: bool,
) -> TensorMeta:
    w = Windows(
        update_window_dims,
        inserted_window_dims,
        scatter_dims_to_operand_dims,
        index_vector_dim,
        input_batching_dims,
        scatter_indices_batching_dims,
    )
    if updates.dtype != operand.dtype:
        why = f"operands are {operand.dtype} and {updates.dtype}"
        raise ctx.bad_dtype(why, "convert them to one dtype with astype")
    _check(ctx, w, SCATTER, operand, indices, updates.rank)
    _known(ctx, mode, ("error", "clip", "drop"))
    batch = [e for i, e in enumerate(indices.extents) if i != w.vector]
    if updates.rank != len(batch) + len(w.offset):
        raise ctx.fail(f"updates have {updates.rank} axes, not {len(batch)} of indices and {len(w.offset)} of windows")
    for axis, extent in zip(w.outer(indices.rank), batch, strict=True):
        found = updates.extents[axis]
        _agree(ctx, found, extent, axis, f"axis {axis} of the updates has size {found}, not {extent} as the indices")
    for axis, position in zip(w.kept(operand.rank), w.offset, strict=True):
        _fits(ctx, updates.extents[position], operand.extents[axis], axis)
    return operand


def _known(ctx: ShapeGuardContext, mode: str, modes: Sequence[str]) -> None:
    if mode not in modes:
        raise ctx.fail(f"mode {mode!r} is not {', '.join(map(repr, modes[:-1]))} or {modes[-1]!r}")


_GATHER_KINDS = dict.fromkeys(GATHER, kinds.axes) | {
    "index_vector_dim": kinds.count,
    "slice_sizes": kinds.sizes,
    "mode": kinds.text,
    "fill_value": kinds.number,
}
_SCATTER_KINDS = dict.fromkeys(SCATTER, kinds.axes) | {
    "index_vector_dim": kinds.count,
    "mode": kinds.text,
    "unique_indices": kinds.flag,
}


def _fills_with_literal(node: Node, params: dict[str, Any]) -> bool:
    return kinds.is_literal(node.inputs[0].meta.dtype, params["fill_value"])


def _define_gather(name: str) -> Op:
    return define(
        name,
        _gather_type,
        params=_GATHER_KINDS,
        jointly=_fills_with_literal,
        claims=None,
        probe=None,
        cost=PICKS,
    )


def _define_scatter(name: str, cost: OpCost) -> Op:
    return define(name, _scatter_type, params=_SCATTER_KINDS, jointly=None, claims=None, probe=None, cost=cost)


gather_op = _define_gather("gather")
gather_dynamic_op = _define_gather("gather_dynamic")  # the same, with window sizes that arrays give
scatter_add_op = _define_scatter("scatter_add", per_update(1))
scatter_set_op = _define_scatter("scatter_set", MOVES)
scatter_mul_op = _define_scatter("scatter_mul", per_update(1))
scatter_min_op = _define_scatter("scatter_min", per_update(1))
scatter_max_op = _define_scatter("scatter_max", per_update(1))
SCATTERS: dict[str, Op] = {
    "add": scatter_add_op,
    "set": scatter_set_op,
    "mul": scatter_mul_op,
    "min": scatter_min_op,
    "max": scatter_max_op,
}

# -- functions -----------------------------------------------------------------------------------------------------


def gather(
    operand: Operand,
    indices: Operand,
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    start_index_map: Sequence[int],
    index_vector_dim: int,
    slice_sizes: Sequence[Any],
    operand_batching_dims: Sequence[int] = (),
    start_indices_batching_dims: Sequence[int] = (),
    mode: str = "error",
    fill_value: Any = None,
) -> Any:
    """The windows of the operand that start at the index vectors, as StableHLO's gather; sizes may be symbolic.

    Without a fill value, that of mode "fill" is NaN, the least signed integer, the largest unsigned one or True.
    """
    w = Windows(
        tuple(offset_dims),
        tuple(collapsed_slice_dims),
        tuple(start_index_map),
        index_vector_dim,
        tuple(operand_batching_dims),
        tuple(start_indices_batching_dims),
    )
    return gather_windows(operand, indices, w, [_as_size(s) for s in slice_sizes], mode, fill_value)


def scatter(
    operand: Operand,
    indices: Operand,
    updates: Operand,
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    input_batching_dims: Sequence[int] = (),
    scatter_indices_batching_dims: Sequence[int] = (),
    mode: str = "error",
    kind: str = "add",
    unique_indices: bool = False,
) -> Any:
    """The operand with windows of updates combined into it, as StableHLO's scatter; `kind`: add, set, mul, min or max.

    `unique_indices` promises that no two updates meet in one element, which saves work; a broken promise gives what it
    gives.
    """
    w = Windows(
        tuple(update_window_dims),
        tuple(inserted_window_dims),
        tuple(scatter_dims_to_operand_dims),
        index_vector_dim,
        tuple(input_batching_dims),
        tuple(scatter_indices_batching_dims),
    )
    if kind not in SCATTERS:
        raise context_of("scatter", operand).fail(f"kind {kind!r} is not one of {', '.join(SCATTERS)}")
    return scatter_windows(kind, operand, indices, updates, w, mode, unique_indices)


def gather_windows(
    operand: Operand,
    indices: Operand,
    windows: Windows,
    sizes: Sequence[Size],
    mode: str = "error",
    fill_value: Any = None,
    primal: bool = False,
) -> Any:
    """`gather`. With `primal`, sizes that are not ints are read from the inputs that have them, not from operands."""
    operands = (operand, indices)
    local, sources = localise(tuple(sizes), operands, primal)
    value = _fill(meta_of(operand).dtype, fill_value) if mode == "fill" else 0
    params = windows.params(GATHER) | {"slice_sizes": local, "mode": mode}
    op = gather_dynamic_op if has_local(local) else gather_op
    return apply(op, *operands, sources=sources, fill_value=_literal(meta_of(operand).dtype, value), **params)


def scatter_windows(
    kind: str,
    operand: Operand,
    indices: Operand,
    updates: Operand,
    windows: Windows,
    mode: str = "error",
    unique: bool = False,
) -> Any:
    """`scatter`, with the dimension numbers in one piece."""
    params = windows.params(SCATTER) | {"mode": mode, "unique_indices": unique}
    return apply(SCATTERS[kind], operand, indices, updates, **params)


def _as_size(size: Any) -> Size:
    return size.expr if isinstance(size, SymbolicSize) else size if isinstance(size, DimExpr) else int(size)


def _fill(dtype: np.dtype, value: Any) -> Any:
    if value is not None:
        return value
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if dtype.kind == "u" else np.iinfo(dtype).min
    return True if dtype.kind == "b" else float("nan")


def _literal(dtype: np.dtype, value: Any) -> Any:
    return dtype.type(value).item()


# -- updates at index arrays, as NumPy counts --------------------------------------------------------------------


def from_start(index: Operand, size: Size) -> Any:
    """Positions from the first element on, for ones that count from the end where they are negative."""
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and (not index.size or index.min() >= 0):
        return index.astype(np.int64)
    if index.dtype.kind == "u":
        return index
    index = ew.convert(index, np.int64)
    below = ew.lt(index, ew.lift(0, index))
    return ew.select(below, ew.add(index, mv.broadcast_to(size_value(size), sizes_of(_context(index), index))), index)


def _context(x: Operand) -> ShapeGuardContext:
    return context_of("scatter", x)


def vectors(parts: Sequence[Operand]) -> Any:
    """Index vectors of the given numbers, which have equal shapes, along a last axis of their own."""
    rank = meta_of(parts[0]).rank
    if all(isinstance(p, np.ndarray) for p in parts):
        return np.stack([np.asarray(p, np.int64) for p in parts], axis=-1)
    return mv.concatenate([mv.expand(ew.convert(p, np.int64), (rank,)) for p in parts], rank)


def _indexed(
    kind: str, x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None, mode: str
) -> Any:
    axes = tuple(range(len(indices)) if axes is None else axes)
    shape, rank = sizes_of(_context(x), x), meta_of(indices[0]).rank
    found = [from_start(i, shape[a]) for i, a in zip(indices, axes, strict=True)]
    at = place(axes)
    offset = free_axes(len(shape) - len(axes) + rank, range(at, at + rank))
    alone = len(found) == 1
    w = Windows(offset, axes, axes, rank)
    return scatter_windows(kind, x, found[0] if alone else vectors(found), updates, w, mode)


def index_update(
    x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
) -> Any:
    """x with the elements that `take_at(x, indices, axes)` reads replaced; of repeated ones the last update stays."""
    return _indexed("set", x, indices, updates, axes, mode)


def index_add(
    x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
) -> Any:
    """x with the updates added to the elements that `take_at(x, indices, axes)` reads; repeated ones accumulate."""
    return _indexed("add", x, indices, updates, axes, mode)


def index_mul(
    x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
) -> Any:
    """x with the elements that `take_at(x, indices, axes)` reads multiplied by the updates; repeated ones by each."""
    return _indexed("mul", x, indices, updates, axes, mode)


def index_min(
    x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
) -> Any:
    """x with the smaller of each update and the element that `take_at(x, indices, axes)` reads; NaN if either is."""
    return _indexed("min", x, indices, updates, axes, mode)


def index_max(
    x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
) -> Any:
    """x with the larger of each update and the element that `take_at(x, indices, axes)` reads; NaN if either is."""
    return _indexed("max", x, indices, updates, axes, mode)

"""Gather and scatter: read or write windows of an array at positions that an index array gives.

The dimension numbers are StableHLO's. An index vector gives the start of a window along some axes of the operand; along
all others the window starts at 0. Along batching axes, operand and indices advance together. An index is a position
from the first element on; none counts from the end. Unlike in StableHLO, an axis along which windows have one element
may be empty if nothing is read or written there.

The mode says what happens where a whole window does not fit:

- "error": the call fails, and nothing has been written.
- "clip": the nearest window that fits is taken.
- "fill": gather gives a window of the fill value.
- "drop": scatter writes nothing.

Scatters write one window after the other, in C order of the index vectors, so the last update of an element stays.

Segment reductions: combine elements along the first axis that have the same id.

The core ops take ids in 0..size-1. The public functions drop elements with other ids, as JAX does: these go to one more
segment, which the result leaves out.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, free_axes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size, input_axis
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_sized, context_of, localise, meta_of, sizes_of
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, define, itself, refuse
from anyshape.ops.core.flop_counts import MOVES, PICKS, OpCost, per_operand, per_update
from anyshape.ops.creation import size_value
from anyshape.ops.dynamic import LARGEST, count_beyond, nonnegative_size
from anyshape.ops.reduction import reduce_max
from anyshape.support.lazy_dataclass import dataclass

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
    """Dimension numbers of a gather, and of the scatter that writes where it reads, in the order of `GATHER`.

    The windows are the result of a gather, or the updates of a scatter.

    - `offset`: axes of the windows that run over one window.
    - `collapsed`: axes of the operand that windows lack, as they have one element there.
    - `starts`: the axis of the operand for each number of an index vector.
    - `vector`: the axis of the indices that holds the vectors; beyond the last axis, each index is a vector of its own.
    - `operand_batch`, `indices_batch`: the batching axes.
    """

    offset: Axes
    collapsed: Axes
    starts: Axes
    vector: int
    operand_batch: Axes = ()
    indices_batch: Axes = ()

    def window_axes(self, rank: int) -> Axes:
        """Return the axes of an operand of this rank that the axes `offset` run over."""
        return free_axes(rank, self.collapsed, self.operand_batch)

    def batch(self, rank: int) -> Axes:
        """Return the axes of indices of this rank that run over index vectors."""
        return free_axes(rank, (self.vector,))

    def outer(self, rank: int) -> Axes:
        """Return the axes of the windows that run over index vectors, for indices of this rank."""
        return free_axes(len(self.batch(rank)) + len(self.offset), self.offset)

    def params(self, names: Sequence[str]) -> dict[str, Any]:
        """Return them as params, under the names that gather or scatter has for them."""
        values = (self.offset, self.collapsed, self.starts, self.vector, self.operand_batch, self.indices_batch)
        return dict(zip(names, values, strict=True))


def windows_of(params: dict[str, Any], names: Sequence[str]) -> Windows:
    """Take the dimension numbers out of the params of a gather or a scatter."""
    return Windows(*[params.pop(name) for name in names])


# -- shape rules -------------------------------------------------------------------------------------------------


def _check(
    ctx: ShapeGuardContext, w: Windows, names: Sequence[str], operand: TensorMeta, indices: TensorMeta, rank: int
) -> None:
    """Require that dimension numbers fit an operand and indices; `rank` is the rank of the windows."""
    if indices.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"indices are {indices.dtype}, not integers", "convert them with astype(int)")
    _check_axes(ctx, w, names, (rank, operand.rank, operand.rank, None, operand.rank, indices.rank))
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


def _check_axes(ctx: ShapeGuardContext, w: Windows, names: Sequence[str], ranks: Sequence[int | None]) -> None:
    """Require different axes of arrays of these ranks, in increasing order where StableHLO wants that."""
    named = w.params(names)
    for name, rank in zip(names, ranks, strict=True):
        axes = named[name]
        if rank is not None and not (len(set(axes)) == len(axes) and all(0 <= a < rank for a in axes)):
            raise ctx.fail(f"{name} = {axes} are not different axes of {rank}")
    for name in (names[0], names[1], names[4]):
        if list(named[name]) != sorted(named[name]):
            raise ctx.fail(f"{name} = {named[name]} must be in increasing order")


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
    """Require two equal sizes, which must be exact."""
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
    slice_sizes: tuple[Size, ...],
    mode: str,
    **params,
) -> TensorMeta:
    w = windows_of(params, GATHER)
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
    for axis in w.window_axes(operand.rank):
        _fits(ctx, sizes[axis], operand.extents[axis], axis)
    inner = dict(zip(w.offset, [sizes[axis] for axis in w.window_axes(operand.rank)], strict=True))
    outer = iter(batch)
    return TensorMeta(operand.dtype, tuple([inner[a] if a in inner else next(outer) for a in range(rank)]))


def _scatter_type(
    ctx: ShapeGuardContext, operand: TensorMeta, indices: TensorMeta, updates: TensorMeta, *, mode: str, **params
) -> TensorMeta:
    w = windows_of(params, SCATTER)
    if updates.dtype != operand.dtype:
        why = f"operands are {operand.dtype} and {updates.dtype}"
        raise ctx.bad_dtype(why, "convert them to one dtype with astype")
    _check(ctx, w, SCATTER, operand, indices, updates.rank)
    _known(ctx, mode, ("error", "clip", "drop"))
    batch = [e for i, e in enumerate(indices.extents) if i != w.vector]
    if updates.rank != len(batch) + len(w.offset):
        raise ctx.fail(f"updates have {updates.rank} axes, not {len(batch)} of indices and {len(w.offset)} of windows")
    for axis, extent in zip(w.outer(indices.rank), batch, strict=True):
        actual = updates.extents[axis]
        _agree(ctx, actual, extent, axis, f"axis {axis} of the updates has size {actual}, not {extent} as the indices")
    for axis, position in zip(w.window_axes(operand.rank), w.offset, strict=True):
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
    return define(name, _gather_type, params=_GATHER_KINDS, jointly=_fills_with_literal, cost=PICKS, **NO_PROBE)


def _define_scatter(name: str, cost: OpCost) -> Op:
    return define(name, _scatter_type, params=_SCATTER_KINDS, jointly=None, claims=None, probe=None, cost=cost)


gather_op: Op = _define_gather("gather")
gather_dynamic_op: Op = _define_gather("gather_dynamic")  # the same, with window sizes that arrays give
scatter_add_op: Op = _define_scatter("scatter_add", per_update(1))
scatter_set_op: Op = _define_scatter("scatter_set", MOVES)
scatter_mul_op: Op = _define_scatter("scatter_mul", per_update(1))
scatter_min_op: Op = _define_scatter("scatter_min", per_update(1))
scatter_max_op: Op = _define_scatter("scatter_max", per_update(1))
_SCATTER_OPS = scatter_add_op, scatter_set_op, scatter_mul_op, scatter_min_op, scatter_max_op
SCATTERS: dict[str, Op] = {op.name.removeprefix("scatter_"): op for op in _SCATTER_OPS}


def _refusals(node: Node) -> list[Node]:
    """Return the check of the windows of a node, which have the sizes of its slices or of its updates."""
    params, rank = dict(node.params), node.inputs[0].meta.rank
    w = windows_of(params, SCATTER if len(node.inputs) == 3 else GATHER)
    updated = {axis: input_axis(2, at) for axis, at in zip(w.window_axes(rank), w.offset, strict=True)}
    sizes = params.get("slice_sizes") or [updated.get(axis, 1) for axis in range(rank)]
    first = [axis for axis in w.collapsed if axis not in w.starts]  # where windows start at 0, in every mode
    if params["mode"] in ("fill", "drop") and not first:
        return []
    axes = (*w.starts, *first)
    return ix.refuse_windows(node, w.vector, axes, tuple([sizes[a] for a in axes]), params["mode"])


refuse(_refusals, gather_op, gather_dynamic_op, *SCATTERS.values())

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
    """Return the windows of the operand that start at the index vectors, as StableHLO's gather; sizes may be symbolic.

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
    """Combine windows of updates into the operand, as StableHLO's scatter; `kind`: add, set, mul, min or max.

    `unique_indices` promises that no element gets two updates, which saves work. The result is undefined where the
    promise is broken.
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
    """Gather, with the dimension numbers in one piece; if `primal`, sizes are read from sources, not from operands."""
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
    """Scatter, with the dimension numbers in one piece."""
    params = windows.params(SCATTER) | {"mode": mode, "unique_indices": unique}
    return apply(SCATTERS[kind], operand, indices, updates, **params)


def _as_size(size) -> Size:
    return size.expr if isinstance(size, SymbolicSize) else size if isinstance(size, DimExpr) else int(size)


def _fill(dtype: np.dtype, value):
    if value is not None:
        return value
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if dtype.kind == "u" else np.iinfo(dtype).min
    return True if dtype.kind == "b" else float("nan")


def _literal(dtype: np.dtype, value):
    return dtype.type(value).item()


# -- updates at index arrays, as NumPy counts --------------------------------------------------------------------


def from_start(index: Operand, size: Size) -> Any:
    """Return indices with negative ones, which count from the end, as positions from the first element on."""
    if not isinstance(index, Traced) and index.dtype.kind in "iu" and (not index.size or index.min() >= 0):
        return index.astype(np.int64)
    if index.dtype.kind == "u":
        return index
    index = ew.convert(index, np.int64)
    below = ew.lt(index, ew.lift(0, index))
    return ew.select(below, ew.add(index, mv.broadcast_to(size_value(size), sizes_of(_context(index), index))), index)


def _context(x: Operand) -> ShapeGuardContext:
    return context_of("scatter", x)


def vectors(parts: Sequence[Operand]) -> Any:
    """Stack numbers of equal shapes into index vectors, along a new last axis."""
    rank = meta_of(parts[0]).rank
    if not any(isinstance(p, Traced) for p in parts):
        return np.stack([np.asarray(p, np.int64) for p in parts], axis=-1)
    return mv.concatenate([mv.expand(ew.convert(p, np.int64), (rank,)) for p in parts], rank)


def _indexed(kind: str, name: str) -> Callable[..., Any]:
    """Return the function that combines updates with the elements that `take_at(x, indices, axes)` reads."""

    def function(
        x: Operand, indices: Sequence[Operand], updates: Operand, axes: Sequence[int] | None = None, mode: str = "error"
    ):
        axes = tuple(range(len(indices)) if axes is None else axes)
        shape, rank = sizes_of(_context(x), x), meta_of(indices[0]).rank
        positions = [from_start(i, shape[a]) for i, a in zip(indices, axes, strict=True)]
        at = ix.first_index_axis(axes)
        offset = free_axes(len(shape) - len(axes) + rank, range(at, at + rank))
        starts = positions[0] if len(positions) == 1 else vectors(positions)
        return scatter_windows(kind, x, starts, updates, Windows(offset, axes, axes, rank), mode)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return x with the elements that `take_at(x, indices, axes)` reads combined with updates: {kind}."
    )
    return function


index_update = _indexed("set", "index_update")  # the last update of each element stays
index_add = _indexed("add", "index_add")  # repeated ones accumulate
index_mul = _indexed("mul", "index_mul")
index_min, index_max = _indexed("min", "index_min"), _indexed("max", "index_max")  # NaN if either is


_ID = np.dtype(np.int64)


def _segment_type(ctx: ShapeGuardContext, x: TensorMeta, ids: TensorMeta, *, size: Size) -> TensorMeta:
    if not x.rank or ids.rank != 1:
        raise ctx.fail("an array and one id for each element of its first axis are needed")
    if ids.dtype != _ID:
        raise ctx.bad_dtype(f"the ids are {ids.dtype}", "convert them with astype(int)")
    if isinstance(x.extents[0], Exact) and isinstance(ids.extents[0], Exact):
        mine, theirs = x.extents[0].size, ids.extents[0].size
        ctx.require_equal(mine, theirs, f"{theirs} ids for {mine} elements")
    return TensorMeta(x.dtype, (ctx.resolve(size), *x.extents[1:]))


def _define_segments(name: str) -> Op:
    return define(name, _segment_type, params={"size": kinds.size}, cost=per_operand(1), **NO_CHECKS)


segment_max_op: Op = _define_segments("segment_max")
segment_min_op: Op = _define_segments("segment_min")
segment_prod_op: Op = _define_segments("segment_prod")
segment_sum_op: Op = _define_segments("segment_sum")  # unlike put_add, it makes no zeros by construction
refuse(itself, segment_max_op, segment_min_op, segment_prod_op, segment_sum_op)


def apply_segments(op: Op, x: Operand, ids: Operand, size: Size) -> Any:
    """Apply one of the core ops to ids in 0..size-1."""
    return apply_sized(op, x, ids, sizes={"size": size})


def add_segments(x: Operand, ids: Operand, size: Size) -> Any:
    """Return the sums of segments, for ids in 0..size-1."""
    return ix.put_add(x, ids, size)


def _prepare_ids(data: Operand, segment_ids: Operand, num_segments, function: str) -> tuple[Any, Size]:
    """Return ids and the number of segments; ids out of range become this number."""
    ctx = context_of(function, data, segment_ids)
    if meta_of(segment_ids).rank != 1 or not meta_of(data).rank:
        raise ctx.fail("an array and one id for each element of its first axis are needed")
    if segment_ids.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"the ids are {segment_ids.dtype}", "convert them with astype(int)")
    mine, theirs = sizes_of(ctx, data)[0], sizes_of(ctx, segment_ids)[0]
    ctx.require_equal(mine, theirs, f"{theirs} ids for {mine} elements")
    ids = segment_ids
    if ids.dtype == np.uint64:  # no int64 is beyond these
        ids = ew.minimum(ids, ew.lift(LARGEST, ids))
    ids = ew.convert(ids, _ID)
    if num_segments is None:
        size = count_beyond(reduce_max(ids, (0,), empty=True))
    else:
        size = nonnegative_size(num_segments, function)
    last = mv.broadcast_to(cr.size_value(size), sizes_of(ctx, ids))
    valid = ew.logical_and(ew.ge(ids, ew.lift(0, ids)), ew.lt(ids, last))
    return ew.select(valid, ids, last), size


def _drop_last_segment(x, size: Size):
    shape = sizes_of(context_of("segment", x), x)
    return mv.strided(x, [0] * len(shape), (size, *shape[1:]))


def _segments(name: str, result: str, empty: str, compute: Callable[[Any, Any, Size], Any]) -> Callable[..., Any]:
    def function(data: Operand, segment_ids: Operand, num_segments=None):
        ids, size = _prepare_ids(data, segment_ids, num_segments, name)
        return _drop_last_segment(compute(data, ids, expr.add(size, 1)), size)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the {result} of each segment of the first axis, {empty} for none. Ids out of range are dropped. The "
        f"number of segments may be an int, a size, or an integer scalar; by default it is the largest id plus 1."
    )
    return function


segment_sum = _segments("segment_sum", "sum", "0", add_segments)
segment_max = _segments("segment_max", "maximum", "the least value", partial(apply_segments, segment_max_op))
segment_min = _segments("segment_min", "minimum", "the largest value", partial(apply_segments, segment_min_op))
segment_prod = _segments("segment_prod", "product", "1", partial(apply_segments, segment_prod_op))


def segment_mean(data: Operand, segment_ids: Operand, num_segments: Any = None) -> Any:
    """Return the mean of each segment of the first axis, NaN for none. Otherwise as `segment_sum`."""
    ids, size = _prepare_ids(data, segment_ids, num_segments, "segment_mean")
    x = data if data.dtype.kind in "fc" else ew.convert(data, np.float64)
    sums = _drop_last_segment(add_segments(x, ids, expr.add(size, 1)), size)
    real = np.dtype(np.empty(0, x.dtype).real.dtype)
    ones = cr.full(sizes_of(context_of("segment", ids), ids), 1, real)
    counts = _drop_last_segment(add_segments(ones, ids, expr.add(size, 1)), size)
    some = ew.gt(counts, ew.lift(0, counts))
    counts = ew.convert(ew.select(some, counts, ew.lift(1, counts)), x.dtype)
    shape = sizes_of(context_of("segment", sums), sums)
    counts, some = (mv.broadcast_in_dim(v, shape, (0,)) for v in (counts, some))
    return ew.select(some, ew.div(sums, counts), ew.lift(float("nan"), sums))

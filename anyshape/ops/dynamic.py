"""Ops whose results have sizes or positions that depend on data.

Each run-time size is a new dimension variable with the bounds that are known. A size that a program computes as a
number becomes the size of a token, an array that has no other use. So all sizes are read from arrays.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.errors import AxisError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.graph import Node, Op, ShapeRule
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, exact_size, numel, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, context_of, localise, meta_of, sizes_of
from anyshape.ops.core.definition import DEFINITIONS, NO_CHECKS, NO_PROBE, define, itself, refuse
from anyshape.ops.core.flop_counts import COSTS, MERGE_SORT, MOVES, PICKS, per_operand, per_result
from anyshape.support.true_types import has_type

_POSITION = np.dtype(np.int64)
LARGEST = 2**62  # beyond every size

# -- shape rules -------------------------------------------------------------------------------------------------


def _nonzero_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta | tuple[TensorMeta, ...]:
    if not x.rank:
        raise ctx.fail("a scalar has no positions")
    count = ctx.new_size("count", numel(x.sizes) if x.sizes is not None else None)
    positions = tensor(_POSITION, [count])
    return (positions,) * x.rank if x.rank > 1 else positions


def _size_token_type(ctx: ShapeGuardContext, x: TensorMeta, *, limit: Size | None, rounds: bool) -> TensorMeta:
    if x.rank:
        raise ctx.fail("a size is a scalar")
    if x.dtype.kind not in ("iuf" if rounds else "iu"):
        raise ctx.bad_dtype(f"a size is {x.dtype}", "convert it to integers with astype(int)")
    upper = None if limit in (None, LARGEST) else exact_size(ctx.resolve(limit))
    return tensor(np.dtype(bool), [ctx.new_size("size", upper)])


def _repeated_type(ctx: ShapeGuardContext, counts: TensorMeta) -> TensorMeta:
    if counts.rank != 1:
        raise ctx.fail("counts must have one axis")
    if counts.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"counts are {counts.dtype}", "convert them to integers with astype(int)")
    return tensor(_POSITION, [ctx.new_size("total")])


def _unique_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, equal_nan: bool) -> tuple[TensorMeta, ...]:
    """Return the types of first positions, of the kind of each slice, and of counts; a kind is a distinct slice."""
    if not x.rank:
        raise ctx.fail("an array with at least one axis is needed")
    per_kind = tensor(_POSITION, [ctx.new_size("kinds", exact_size(x.extents[axis]))])
    return per_kind, TensorMeta(_POSITION, (x.extents[axis],)), per_kind


def _check_starts(ctx: ShapeGuardContext, x: TensorMeta, starts: Sequence[TensorMeta]) -> None:
    if len(starts) != x.rank:
        raise ctx.fail(f"{len(starts)} starts for {x.rank} axes")
    for start in starts:
        if start.rank or start.dtype != _POSITION:
            raise ctx.bad_dtype(f"a start is {start}", "make it an integer scalar")


def _fit(ctx: ShapeGuardContext, whole: Sequence[Any], part: Sequence[Any]) -> None:
    for axis, (outer, inner) in enumerate(zip(whole, part, strict=True)):
        if isinstance(outer, Exact) and isinstance(inner, Exact):
            ctx.require_at_least(inner.size, 0, f"the size of axis {axis} is negative")
            ctx.require_at_least(outer.size, inner.size, f"axis {axis} of size {outer} has no {inner} elements")


def _dynamic_slice_type(
    ctx: ShapeGuardContext, x: TensorMeta, *starts: TensorMeta, sizes: tuple[Size, ...]
) -> TensorMeta:
    """Return the type of `sizes` elements of each axis; starts move so that these exist."""
    _check_starts(ctx, x, starts)
    if len(sizes) != x.rank:
        raise ctx.fail(f"{len(sizes)} sizes for {x.rank} axes")
    extents = tuple([ctx.resolve(s) for s in sizes])
    _fit(ctx, x.extents, extents)
    return TensorMeta(x.dtype, extents)


def _dynamic_update_slice_type(
    ctx: ShapeGuardContext, x: TensorMeta, update: TensorMeta, *starts: TensorMeta
) -> TensorMeta:
    """Return the type of x, which the update must fit."""
    _check_starts(ctx, x, starts)
    if update.dtype != x.dtype:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {update.dtype}", "convert them to one dtype with astype")
    if update.rank != x.rank:
        raise ctx.fail("array and update must have the same number of axes")
    _fit(ctx, x.extents, update.extents)
    return x


def _may_refuse(params: dict[str, Any]) -> bool:
    """Return whether some value is not a size: a negative one without a limit, or NaN."""
    return params["limit"] is None or params["rounds"]


nonzero_op: Op = define("nonzero", _nonzero_type, params={}, cost=per_operand(1), makes_sizes=True, **NO_CHECKS)
size_token_op: Op = define(
    "size_token",
    _size_token_type,
    params={"limit": lambda node, param: param is None or kinds.size(node, param), "rounds": kinds.flag},
    cost=MOVES,
    makes_sizes=True,
    **NO_CHECKS,
)
repeated_op: Op = define("repeated", _repeated_type, params={}, cost=per_result(1), makes_sizes=True, **NO_CHECKS)
unique_op: Op = define(
    "unique",
    _unique_type,
    params={"axis": kinds.axis, "equal_nan": kinds.flag},
    cost=MERGE_SORT,
    makes_sizes=True,
    **NO_CHECKS,
)


def _each(infer: ShapeRule) -> ShapeRule:
    """Return the shape rule of the results for each example; the first `batch` axes of x count examples."""

    def of_each(ctx: ShapeGuardContext, x: TensorMeta, *, batch: int, **params):
        if x.rank < batch:
            raise ctx.fail(f"an array of {x.rank} axes has no {batch} axes of examples")
        front, one = x.extents[:batch], TensorMeta(x.dtype, x.extents[batch:])
        results = infer(ctx, one, **params)
        if infer is _size_token_type:  # a token has no other use than its size
            return results
        metas = results if isinstance(results, tuple) else (results,)
        batched = tuple([TensorMeta(m.dtype, (*front, *m.extents)) for m in metas])
        return batched if isinstance(results, tuple) else batched[0]

    return of_each


def _define_each(name: str, op: Op, infer: ShapeRule) -> Op:
    """Define the op that applies one with run-time sizes to each example of a batch, all of one size."""
    definition = DEFINITIONS[op]
    params = {"batch": kinds.count, **definition.params}
    return define(
        name, _each(infer), params=params, jointly=_axis_of_example, cost=COSTS[op], makes_sizes=True, **NO_PROBE
    )


def _axis_of_example(node: Node, params: dict[str, Any]) -> bool:
    """Return whether an axis, if there is one, is an axis of each example."""
    return params.get("axis", 0) < max(node.inputs[0].meta.rank - params["batch"], 1)


EACH = {
    nonzero_op: _define_each("nonzero_each", nonzero_op, _nonzero_type),
    size_token_op: _define_each("size_token_each", size_token_op, _size_token_type),
    repeated_op: _define_each("repeated_each", repeated_op, _repeated_type),
    unique_op: _define_each("unique_each", unique_op, _unique_type),
}
refuse(itself, repeated_op, EACH[repeated_op])
refuse(lambda node: itself(node) if _may_refuse(dict(node.params)) else (), size_token_op, EACH[size_token_op])
dynamic_slice_op: Op = define(
    "dynamic_slice",
    _dynamic_slice_type,
    operands=(1, 1 + kinds.MAX_RANK),
    params={"sizes": kinds.sizes},
    cost=PICKS,
    **NO_CHECKS,
)
dynamic_update_slice_op: Op = define(
    "dynamic_update_slice",
    _dynamic_update_slice_type,
    operands=(2, 2 + kinds.MAX_RANK),
    params={},
    cost=MOVES,
    **NO_CHECKS,
)

# -- sizes -------------------------------------------------------------------------------------------------------


def size_token(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Any:
    """Return a token whose size is the value of a scalar, clamped to 0..limit; without a limit it must be >= 0.

    With `rounds`, a float is rounded half to even, and NaN is an error.
    """
    local, sources = localise(limit, (x,))
    return apply(size_token_op, x, sources=sources, limit=local, rounds=rounds)


def runtime_size(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Size:
    """Return the value of a scalar as a size; see `size_token`."""
    return meta_of(size_token(x, limit, rounds=rounds)).sizes[0]


def size_from_count(x: Operand) -> Size:
    """Return the value of an integer scalar as a size: 0 if it is negative."""
    return runtime_size(x, LARGEST)


def count_beyond(largest: Operand) -> Size:
    """Return the number of positions up to the largest, an int64 scalar: 0 if that is negative."""
    return size_from_count(ew.add(ew.minimum(largest, cr.full((), LARGEST, _POSITION)), cr.full((), 1, _POSITION)))


def nonnegative_size(x: Any, function: str) -> Size:
    """Return an int, a size of the program or an integer scalar as a size; a negative one is an error."""
    if isinstance(x, Traced):
        if x.meta.rank or x.dtype.kind not in "iu":
            raise context_of(function).bad_dtype(f"a size is {x.meta}, not an integer", "use astype(int)")
        count = size_from_count(x)
        if x.dtype.kind == "i":
            size_token(x)  # refuses a negative one
        return count
    size = plain_size(x, function)
    context_of(function).require(at_least(size, 0), "a size cannot be negative")
    return size


def plain_size(x: Any, function: str) -> Size:
    """Return an int or a size of the program as ops take it."""
    if isinstance(x, DimExpr):
        return x
    if isinstance(x, SymbolicSize):
        return x.scope.normal(x.expr)
    if has_type(x, (bool, np.bool_)) or not hasattr(type(x), "__index__"):
        raise context_of(function).bad_dtype(f"a size is {x!r}", "pass an int or an entry of x.shape")
    return int(type(x).__index__(x))


def _clamped(x, limit: Size, function: str) -> Size:
    """Return a number as a size clamped to 0..limit; floats are rounded half to even first."""
    if isinstance(x, Traced):
        if x.meta.rank or x.dtype.kind not in "iuf":
            raise context_of(function).bad_dtype(f"a size is {x.meta}", "pass an integer or a float without axes")
        return runtime_size(x, limit, rounds=x.dtype.kind == "f")
    if has_type(x, (np.ndarray, np.generic)) and not x.ndim and x.dtype.kind in "iuf":
        x = x.item()
    if has_type(x, float):
        if math.isnan(x):
            raise context_of(function).fail("a size is NaN")
        x = round(x) if math.isfinite(x) else math.copysign(LARGEST, x).__int__()
    return expr.minimum(expr.maximum(plain_size(x, function), 0), limit)


# -- examples ----------------------------------------------------------------------------------------------------


def of_each_example(op: Op, x: Operand, batch: int, params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the results of an op with run-time sizes for each example; examples of different sizes are an error.

    The first `batch` axes of x count examples.
    """
    local, sources = localise(params.get("limit"), (x,))
    rest = {**params, "limit": local} if "limit" in params else params
    return apply_all(EACH[op], x, sources=sources, batch=batch, **rest)


# -- positions ---------------------------------------------------------------------------------------------------


def nonzero(x: Operand) -> tuple[Any, ...]:
    """Return the positions of nonzero elements in C order: an index array for each axis, all of one size."""
    return apply_all(nonzero_op, x)


def repeated(counts: Operand) -> Any:
    """Return 0, 1, ..., each as often as its count says; a negative count is an error."""
    return apply(repeated_op, counts)


def unique(x: Operand, axis: int = 0, *, equal_nan: bool = True) -> tuple[Any, ...]:
    """Return the distinct slices along an axis, in sorted order: positions, kinds and counts.

    The three are the position of the first slice of each kind, the kind of each slice, and the number of slices of each
    kind.
    """
    return apply_all(unique_op, x, axis=axis, equal_nan=equal_nan)


def top_k(x: Operand, k: Any) -> tuple[Any, Any]:
    """Return the k largest elements along the last axis, in descending order, and their positions.

    Among equals, the first comes first. NaN counts as the largest. k is an int, a size or an integer scalar, and must
    be in 0..n.
    """
    rank = meta_of(x).rank
    ctx = context_of("top_k", x)
    if not rank:
        raise ctx.fail("an array with at least one axis is needed")
    size, shape = nonnegative_size(k, "top_k"), list(sizes_of(ctx, x))
    ctx.require(at_least(shape[-1], size), f"an axis of size {shape[-1]} has no {size} elements")
    last, zeros = (rank - 1,), [0] * rank
    ascending = mv.rev(rd.argsort(mv.rev(x, last), rank - 1, stable=True), last)
    from_end = mv.strided(ascending, zeros, [*shape[:-1], size])
    top = mv.broadcast_to(cr.size_value(shape[-1] - 1), sizes_of(ctx, from_end))
    positions = ew.sub(top, from_end)
    return ix.take_along_axis(x, positions, rank - 1), positions


# -- parts -------------------------------------------------------------------------------------------------------


def dynamic_truncate(x: Operand, size: Any, axis: int = 0) -> Any:
    """Return the first min(max(size, 0), n) of n elements along an axis; the size may be a scalar of the program.

    A float is rounded half to even first; NaN, complex numbers and booleans are errors. The size has no gradient.
    """
    rank = meta_of(x).rank
    if not -rank <= axis < rank:
        raise AxisError("dynamic_truncate", axis, rank, user_line())
    shape = list(sizes_of(context_of("dynamic_truncate", x), x))
    shape[axis] = _clamped(size, shape[axis], "dynamic_truncate")
    return mv.strided(x, [0] * rank, shape)


def _starts(x: Operand, starts, function: str) -> list[Any]:
    """Return a start for each axis, as int64 scalars."""
    rank = meta_of(x).rank
    if has_type(starts, (Traced, np.ndarray)):
        if meta_of(starts).rank != 1 or sizes_of(context_of(function, starts), starts) != (rank,):
            raise context_of(function, x, starts).fail(f"one start for each of {rank} axes is needed")
        starts = [mv.reshape(mv.strided(starts, (i,), (1,)), ()) for i in range(rank)]
    return [_start(s, function) for s in starts]


def _start(x, function: str):
    if not has_type(x, (Traced, np.ndarray)):
        size = plain_size(x, function)
        return cr.size_value(size) if isinstance(size, DimExpr) else cr.full((), size, _POSITION)
    if x.dtype.kind not in "iu":
        raise context_of(function).bad_dtype(f"a start is {meta_of(x)}, not an integer", "use astype(int)")
    if x.dtype == np.uint64:  # beyond the largest int64 is beyond the end
        x = ew.minimum(x, cr.full((), LARGEST, x.dtype))
    return ew.convert(x, _POSITION)


def dynamic_slice(x: Operand, start_indices: Any, slice_sizes: Sequence[Any]) -> Any:
    """Return `slice_sizes` elements of each axis from its start on; starts and sizes may be scalars of the program.

    A negative start counts from the end. A start that leaves too few elements moves until there are enough.
    """
    starts = _starts(x, start_indices, "dynamic_slice")
    return slice_at(x, starts, [nonnegative_size(s, "dynamic_slice") for s in slice_sizes])


def slice_at(x: Operand, starts: Sequence[Operand], sizes: Sequence[Size]) -> Any:
    """Return `dynamic_slice` from starts that are int64 scalars."""
    local, sources = localise(tuple(sizes), (x, *starts))
    return apply(dynamic_slice_op, x, *starts, sources=sources, sizes=local)


def window_at(x: Operand, starts: Sequence[Operand], sizes: Sequence[Size]) -> Any:
    """Return `slice_at` as a view of x: what is written to it is written to x."""
    read, write = lambda base: slice_at(base, starts, sizes), lambda base, part: update_at(base, part, starts)
    key = "window", tuple([getattr(start, "value", start) for start in starts]), tuple(sizes)
    return mv.viewed(read(x), x, read, write, key)


def dynamic_update_slice(x: Operand, update: Operand, start_indices: Any) -> Any:
    """Return x with the update in place of the elements that `dynamic_slice` would read with its sizes."""
    return update_at(x, update, _starts(x, start_indices, "dynamic_update_slice"))


def update_at(x: Operand, update: Operand, starts: Sequence[Operand]) -> Any:
    """Return `dynamic_update_slice` from starts that are int64 scalars."""
    return apply(dynamic_update_slice_op, x, update, *starts)


def place(x: Operand, mask: Operand, values: Operand) -> Any:
    """Return x with the elements where the mask holds replaced, in C order, by the values, which repeat."""
    ctx = context_of("place", x, mask, values)
    shape = sizes_of(ctx, x)
    if mask.dtype.kind != "b":
        raise ctx.bad_dtype(f"the mask is {mask.dtype}", "compare it to make it bool")
    if meta_of(mask).rank != len(shape):
        raise ctx.fail(f"a mask of {meta_of(mask).rank} axes for an array of {len(shape)}")
    for axis, (mine, theirs) in enumerate(zip(shape, sizes_of(ctx, mask), strict=True)):
        ctx.require_equal(mine, theirs, f"axis {axis} of the mask has another size than that of the array")
    total, count = numel(shape), numel(sizes_of(ctx, values))
    source = mv.reshape(ew.convert(values, x.dtype), (count,))
    source = mv.concatenate([source, cr.full((1,), 0, x.dtype)], 0)  # so that there is something to read
    selected = mv.reshape(mask, (total,))
    none = ew.logical_not(rd.reduce_or(selected, (0,)))
    check(ew.logical_or(none, ew.ge(cr.size_value(count), cr.full((), 1, _POSITION))), "place: there are no values")
    before = rd.cumsum(ew.convert(selected, _POSITION), 0, exclusive=True)
    period = mv.broadcast_to(cr.size_value(expr.maximum(count, 1)), (total,))
    new = mv.reshape(ix.take(source, ew.remainder(before, period)), shape)
    return ew.select(mask, new, x)

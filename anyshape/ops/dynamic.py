"""Ops whose results have sizes or places that depend on data. Each such size is a variable of its own, bound by what is
known.

A size that is computed as a number becomes the size of a token: an array that is there for its size alone, so that
sizes are read from arrays everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import AxisError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.graph import Node
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact, TensorMeta, exact_size, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import param_kinds as kinds
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.apply import Operand, apply, apply_all, context_of, localise, meta_of, sizes_of
from anyshape.ops.control import check
from anyshape.ops.definition import define
from anyshape.ops.flop_counts import MERGE_SORT, MOVES, PICKS, per_operand, per_result

_POSITION = np.dtype(np.int64)
LARGEST = 2**62  # beyond every size

# -- shape rules -------------------------------------------------------------------------------------------------


def _nonzero_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta | tuple[TensorMeta, ...]:
    if not x.rank:
        raise ctx.fail("a scalar has no positions")
    count = ctx.new_size("count", numel(x.sizes) if x.sizes is not None else None)
    found = tensor(_POSITION, [count])
    return (found,) * x.rank if x.rank > 1 else found


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
    """The positions of the first of each kind, the kind of each, and how many there are of each kind."""
    if not x.rank:
        raise ctx.fail("an array with at least one axis is needed")
    found = tensor(_POSITION, [ctx.new_size("kinds", exact_size(x.extents[axis]))])
    return found, TensorMeta(_POSITION, (x.extents[axis],)), found


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
    """`sizes` elements of each axis from its start on, which is moved so that they exist."""
    _check_starts(ctx, x, starts)
    if len(sizes) != x.rank:
        raise ctx.fail(f"{len(sizes)} sizes for {x.rank} axes")
    extents = tuple([ctx.resolve(s) for s in sizes])
    _fit(ctx, x.extents, extents)
    return TensorMeta(x.dtype, extents)


def _dynamic_update_slice_type(
    ctx: ShapeGuardContext, x: TensorMeta, update: TensorMeta, *starts: TensorMeta
) -> TensorMeta:
    """x with the update in place of what `dynamic_slice` would read."""
    _check_starts(ctx, x, starts)
    if update.dtype != x.dtype:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {update.dtype}", "convert them to one dtype with astype")
    if update.rank != x.rank:
        raise ctx.fail("array and update must have the same number of axes")
    _fit(ctx, x.extents, update.extents)
    return x


def _is_limit(node: Node, param: Any) -> bool:
    """A size, or None for no limit."""
    return param is None or kinds.size(node, param)


nonzero_op = define(
    "nonzero", _nonzero_type, params={}, jointly=None, claims=None, probe=None, cost=per_operand(1), mints=True
)
size_token_op = define(
    "size_token",
    _size_token_type,
    params={"limit": _is_limit, "rounds": kinds.flag},
    jointly=None,
    claims=None,
    probe=None,
    cost=MOVES,
    mints=True,
)
repeated_op = define(
    "repeated", _repeated_type, params={}, jointly=None, claims=None, probe=None, cost=per_result(1), mints=True
)
unique_op = define(
    "unique",
    _unique_type,
    params={"axis": kinds.axis, "equal_nan": kinds.flag},
    jointly=None,
    claims=None,
    probe=None,
    cost=MERGE_SORT,
    mints=True,
)
dynamic_slice_op = define(
    "dynamic_slice",
    _dynamic_slice_type,
    operands=(1, 1 + kinds.MAX_RANK),
    params={"sizes": kinds.sizes},
    jointly=None,
    claims=None,
    probe=None,
    cost=PICKS,
)
dynamic_update_slice_op = define(
    "dynamic_update_slice",
    _dynamic_update_slice_type,
    operands=(2, 2 + kinds.MAX_RANK),
    params={},
    jointly=None,
    claims=None,
    probe=None,
    cost=MOVES,
)

# -- sizes -------------------------------------------------------------------------------------------------------


def size_token(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Any:
    """A token of the size that a scalar gives by its value, brought into 0..limit; without a limit it must be >= 0.

    With `rounds`, a float is rounded half to even; NaN is an error.
    """
    local, sources = localise(limit, (x,))
    return apply(size_token_op, x, sources=sources, limit=local, rounds=rounds)


def runtime_size(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Size:
    """The size that a scalar gives by its value, as sizes are written."""
    return meta_of(size_token(x, limit, rounds=rounds)).sizes[0]


def count_of(x: Operand) -> Size:
    """The size that an integer scalar gives by its value: 0 where that is negative."""
    return runtime_size(x, LARGEST)


def count_beyond(largest: Operand) -> Size:
    """How many positions there are up to a largest one, an int64 scalar: none if that is negative."""
    return count_of(ew.add(ew.minimum(largest, cr.full((), LARGEST, _POSITION)), cr.full((), 1, _POSITION)))


def given_size(x: Any, function: str) -> Size:
    """A size that is an int, a size of a program, or an integer scalar, none of which may be negative."""
    if isinstance(x, Traced):
        if x.meta.rank or x.dtype.kind not in "iu":
            raise context_of(function).bad_dtype(f"a size is {x.meta}, not an integer", "use astype(int)")
        if x.dtype.kind == "i":
            check(ew.ge(x, cr.full((), 0, x.dtype)), f"{function}: a size cannot be negative")
        return count_of(x)
    size = plain_size(x, function)
    context_of(function).require(at_least(size, 0), "a size cannot be negative")
    return size


def plain_size(x: Any, function: str) -> Size:
    """An int or a size of a program as ops take it."""
    if isinstance(x, DimExpr):
        return x
    if isinstance(x, SymbolicSize):
        return x.scope.normal(x.expr)
    if isinstance(x, (bool, np.bool_)) or not hasattr(x, "__index__"):
        raise context_of(function).bad_dtype(f"a size is {x!r}", "pass an int or an entry of x.shape")
    return int(x.__index__())


def _clamped(x: Any, limit: Size, function: str) -> Size:
    """A size scalar brought into 0..limit: integers clamp; floats are rounded half to even, then clamp."""
    if isinstance(x, Traced):
        if x.meta.rank or x.dtype.kind not in "iuf":
            raise context_of(function).bad_dtype(f"a size is {x.meta}", "pass an integer or a float without axes")
        return runtime_size(x, limit, rounds=x.dtype.kind == "f")
    if isinstance(x, (np.ndarray, np.generic)) and not x.ndim and x.dtype.kind in "iuf":
        x = x.item()
    if isinstance(x, float):
        if math.isnan(x):
            raise context_of(function).fail("a size is NaN")
        x = round(x) if math.isfinite(x) else math.copysign(LARGEST, x).__int__()
    return expr.minimum(expr.maximum(plain_size(x, function), 0), limit)


# -- positions ---------------------------------------------------------------------------------------------------


def nonzero(x: Operand) -> tuple[Any, ...]:
    """The positions of the elements that are not 0, in C order: an index array for each axis, all of one size."""
    return apply_all(nonzero_op, x)


def repeated(counts: Operand) -> Any:
    """0, 1, ..., each as often as its count says, which may not be negative: the positions that a repetition reads."""
    return apply(repeated_op, counts)


def unique(x: Operand, axis: int = 0, *, equal_nan: bool = True) -> tuple[Any, Any, Any]:
    """Of the slices along an axis, in sorted order: the position of the first of each kind, the kind of each slice,
    and how many there are of each kind.
    """
    first, kind, counts = apply_all(unique_op, x, axis=axis, equal_nan=equal_nan)
    return first, kind, counts


def top_k(x: Operand, k: Any) -> tuple[Any, Any]:
    """The k largest elements along the last axis, in descending order, and their positions; of equal ones the first.

    NaN counts as the largest. k may be an int, a size, or an integer scalar; it must be in 0..n.
    """
    rank = meta_of(x).rank
    ctx = context_of("top_k", x)
    if not rank:
        raise ctx.fail("an array with at least one axis is needed")
    size, shape = given_size(k, "top_k"), list(sizes_of(ctx, x))
    ctx.require(at_least(shape[-1], size), f"an axis of size {shape[-1]} has no {size} elements")
    last, zeros = (rank - 1,), [0] * rank
    ascending = mv.rev(so.argsort(mv.rev(x, last), rank - 1, stable=True), last)
    found = mv.strided(ascending, zeros, [*shape[:-1], size])
    top = mv.broadcast_to(cr.size_value(shape[-1] - 1), sizes_of(ctx, found))
    positions = ew.sub(top, found)
    return ix.take_along_axis(x, positions, rank - 1), positions


# -- parts -------------------------------------------------------------------------------------------------------


def dynamic_truncate(x: Operand, size: Any, axis: int = 0) -> Any:
    """The first elements along an axis, min(max(size, 0), n) of n; the size may be a scalar of the program.

    A float is rounded half to even first; NaN, complex numbers and booleans are errors. The size has no gradient.
    """
    rank = meta_of(x).rank
    if not -rank <= axis < rank:
        raise AxisError("dynamic_truncate", axis, rank, user_line())
    shape = list(sizes_of(context_of("dynamic_truncate", x), x))
    shape[axis] = _clamped(size, shape[axis], "dynamic_truncate")
    return mv.strided(x, [0] * rank, shape)


def _starts(x: Operand, given: Any, function: str) -> list[Any]:
    """A start for each axis, as int64 scalars."""
    rank = meta_of(x).rank
    if isinstance(given, (Traced, np.ndarray)):
        if meta_of(given).rank != 1 or sizes_of(context_of(function, given), given) != (rank,):
            raise context_of(function, x, given).fail(f"one start for each of {rank} axes is needed")
        given = [mv.reshape(mv.strided(given, (i,), (1,)), ()) for i in range(rank)]
    return [_start(s, function) for s in given]


def _start(x: Any, function: str) -> Any:
    if not isinstance(x, (Traced, np.ndarray)):
        size = plain_size(x, function)
        return cr.size_value(size) if isinstance(size, DimExpr) else cr.full((), size, _POSITION)
    if x.dtype.kind not in "iu":
        raise context_of(function).bad_dtype(f"a start is {meta_of(x)}, not an integer", "use astype(int)")
    if x.dtype == np.uint64:  # beyond the largest int64 is beyond the end
        x = ew.minimum(x, cr.full((), LARGEST, x.dtype))
    return ew.convert(x, _POSITION)


def dynamic_slice(x: Operand, start_indices: Any, slice_sizes: Sequence[Any]) -> Any:
    """`slice_sizes` elements of each axis from its start on; starts and sizes may be scalars of the program.

    A negative start counts from the end; one that leaves too few elements is moved until there are enough.
    """
    starts = _starts(x, start_indices, "dynamic_slice")
    return slice_at(x, starts, [given_size(s, "dynamic_slice") for s in slice_sizes])


def slice_at(x: Operand, starts: Sequence[Operand], sizes: Sequence[Size]) -> Any:
    """`dynamic_slice` from int64 scalars on."""
    local, sources = localise(tuple(sizes), (x, *starts))
    return apply(dynamic_slice_op, x, *starts, sources=sources, sizes=local)


def dynamic_update_slice(x: Operand, update: Operand, start_indices: Any) -> Any:
    """x with the update in place of the elements that `dynamic_slice` would read with its sizes."""
    return update_at(x, update, _starts(x, start_indices, "dynamic_update_slice"))


def update_at(x: Operand, update: Operand, starts: Sequence[Operand]) -> Any:
    """`dynamic_update_slice` from int64 scalars on."""
    return apply(dynamic_update_slice_op, x, update, *starts)


def place(x: Operand, mask: Operand, values: Operand) -> Any:
    """x with the elements where the mask holds replaced, in C order, by the values, which begin anew when they end."""
    ctx = context_of("place", x, mask, values)
    shape = sizes_of(ctx, x)
    if mask.dtype.kind != "b":
        raise ctx.bad_dtype(f"the mask is {mask.dtype}", "compare it to make it bool")
    if meta_of(mask).rank != len(shape):
        raise ctx.fail(f"a mask of {meta_of(mask).rank} axes for an array of {len(shape)}")
    for axis, (mine, theirs) in enumerate(zip(shape, sizes_of(ctx, mask), strict=True)):
        ctx.require_equal(mine, theirs, f"axis {axis} of the mask has another size than that of the array")
    total, count = numel(shape), numel(sizes_of(ctx, values))
    given = mv.reshape(ew.convert(values, x.dtype), (count,))
    given = mv.concatenate([given, cr.full((1,), 0, x.dtype)], 0)  # so that there is something to read
    chosen = mv.reshape(mask, (total,))
    none = ew.logical_not(rd.reduce_or(chosen, (0,)))
    check(ew.logical_or(none, ew.ge(cr.size_value(count), cr.full((), 1, _POSITION))), "place: there are no values")
    before = rd.cumsum(ew.convert(chosen, _POSITION), 0, exclusive=True)
    turn = mv.broadcast_to(cr.size_value(expr.maximum(count, 1)), (total,))
    new = mv.reshape(ix.take(given, ew.remainder(before, turn)), shape)
    return ew.select(mask, new, x)

"""Define NumPy's functions that leave out, insert, order and compare elements, as compositions of takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.shape_context import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import dynamic, joining, movement, reduction
from anyshape.numpy.elementwise import equal as equal_elements
from anyshape.numpy.elementwise import isnan, logical_or
from anyshape.numpy.movement import slice_axis
from anyshape.numpy.operands.memory import makes_copy
from anyshape.numpy.operands.promotion import as_traced, axis_of, is_traced, size_of, sizes
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as so
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of
from anyshape.ops.subgraph_call import maps_over_rows
from anyshape.support.true_types import has_type

_POSITION = np.dtype(np.int64)

# -- elements left out and inserted ------------------------------------------------------------------------------


def _edited(name: str, arr: Any, axis: Any) -> tuple[Any, int]:
    """Return the array and the axis to edit; without an axis the elements are flattened."""
    x = as_traced(arr)
    return (movement.ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, name))


def _single(name: str, obj: Any, size: Size, beyond: int) -> Size | None:
    """Return the position that an int or a size names, from 0 on; None where `obj` names none or several."""
    if has_type(obj, (bool, np.bool_)) or not has_type(obj, (int, np.integer, SymbolicSize)):
        return None
    position = size_of(obj)
    ctx = context_of(name)
    if has_type(position, int) and position < 0:
        position = expr.add(position, size)
    ctx.require(at_least(position, 0), f"position {position} is out of bounds for size {size}")
    ctx.require(at_least(size, expr.add(position, 1 - beyond)), f"position {position} is out of bounds for size {size}")
    return position


def _positions(name: str, obj: Any, size: Size, beyond: int) -> Any:
    """Return the positions that a slice, integers or a mask name, as a vector of numbers from 0 on."""
    if isinstance(obj, slice):
        return cr.iota(size)[obj]
    positions = as_traced(obj)
    if positions.ndim > 1:
        raise context_of(name, positions).fail("positions must be a vector, or one of them")
    if positions.dtype.kind == "b":
        if not positions.ndim:
            raise context_of(name, positions).fail("a mask must be a vector")
        context_of(name, positions).require_equal(sizes(positions)[0], size, f"a mask for {size} elements")
        return dynamic.flatnonzero(positions)
    if positions.dtype.kind not in "iu" and sizes(positions) != (0,):
        raise context_of(name, positions).bad_dtype(f"positions are {positions.dtype}", "convert them with astype(int)")
    positions = ew.convert(movement.ravel(positions), _POSITION)
    whole = mv.broadcast_to(cr.size_value(size), sizes(positions))
    last = ew.add(whole, ew.lift(beyond, whole))
    inside = ew.logical_and(ew.ge(positions, ew.neg(whole)), ew.lt(positions, last))
    check(inside, f"{name}: a position is out of bounds")
    return ew.select(ew.lt(positions, ew.lift(0, positions)), ew.add(positions, whole), positions)


@makes_copy
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Return an array without the elements at positions along an axis, or of the flattened array without one.

    `obj` is an int, a size, a slice, integers or a mask. Several positions give a run-time size.
    """
    if not is_traced(arr, obj):
        return np.delete(arr, obj, axis)
    x, along = _edited("delete", arr, axis)
    size = sizes(x)[along]
    position = _single("delete", obj, size, 0)
    if position is not None:
        after = expr.add(position, 1)
        parts = [slice_axis(x, along, 0, position), slice_axis(x, along, after, expr.sub(size, after))]
        return mv.concatenate(parts, along)
    if isinstance(obj, Traced) and obj.dtype.kind == "b" and obj.meta.rank == 1:
        context_of("delete", obj).require_equal(sizes(obj)[0], size, f"a mask for {size} elements")
        return dynamic.compress(ew.logical_not(obj), x, along)
    positions = _positions("delete", obj, size, 0)
    if isinstance(obj, slice):  # no element is named twice
        return _without(x, positions, along, expr.sub(size, sizes(positions)[0]))
    if isinstance(obj, Traced) and not obj.meta.rank:
        return _without(x, positions, along, expr.sub(size, 1))
    return dynamic.compress(ew.logical_not(_named(positions, size)), x, along)


def _named(positions: Any, size: Size) -> Any:
    """Return the mask of the positions that are named, of so many."""
    return ew.gt(ix.put_add(cr.full(sizes(positions), 1, _POSITION), positions, size), cr.full((size,), 0, _POSITION))


def _without(x: Any, positions: Any, axis: int, rest: Size) -> Any:
    """Return the elements that no position names; their number is `rest`."""
    order = so.argsort(_named(positions, sizes(x)[axis]), 0, stable=True)
    return ix.take(x, slice_axis(order, 0, 0, rest), axis)


@makes_copy
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return an array with values inserted before positions along an axis, or of the flattened array without one.

    `obj` is an int, a size, a slice, integers or a mask. Values are converted to the dtype of the array.
    """
    if not is_traced(arr, obj, values):
        return np.insert(arr, obj, values, axis)
    x, along = _edited("insert", arr, axis)
    size, new = sizes(x)[along], as_traced(values, x.dtype)
    position = _single("insert", obj, size, 1)
    positions = None if position is not None else _positions("insert", obj, size, 1)
    new, count = _values_at(new, x.ndim, along, position is not None or _is_scalar(obj), positions)
    new = mv.broadcast_to(new, (*sizes(x)[:along], count, *sizes(x)[along + 1 :]))
    if position is not None:
        parts = [slice_axis(x, along, 0, position), new, slice_axis(x, along, position, expr.sub(size, position))]
        return mv.concatenate(parts, along)
    return _merged(x, new, mv.broadcast_to(positions, (count,)), along)


def _is_scalar(obj: Any) -> bool:
    """Return whether positions are one number."""
    return not isinstance(obj, slice) and not as_traced(obj).ndim


def _values_at(new: Any, rank: int, axis: int, is_scalar: bool, positions: Any) -> tuple[Any, Size]:
    """Return values with as many axes as the array, and how many go in along the axis.

    One position takes as many as there are. Where it is a number, the first axis of the values is the edited one.
    """
    ctx = context_of("insert", new)
    if new.ndim > rank:
        raise ctx.fail(f"the values have {new.ndim} axes, and the array has {rank}")
    new = mv.expand(new, range(rank - new.ndim)) if new.ndim < rank else new
    if is_scalar:
        new = movement.moveaxis(new, 0, axis)
    mine = sizes(new)[axis]
    count = 1 if positions is None else sizes(positions)[0]
    if has_type(mine, int) and mine == 1:
        return new, count
    is_single = is_scalar or ctx.scope.branch_on(equal(count, 1, f"number of positions {count} == 1"), ctx.where)
    return new, mine if is_single else count


def _merged(x: Any, new: Any, positions: Any, axis: int) -> Any:
    """Return the elements of x, and before the one at each position a new element."""
    order = so.argsort(positions, 0, stable=True)
    ordered = so.permute(positions, order, 0)
    (size,), (count,) = sizes(x)[axis : axis + 1], sizes(positions)
    old = cr.iota(size)
    old = ew.add(old, so.searchsorted(ordered, old, "right"))
    new_places = so.permute(ew.add(ordered, cr.iota(count)), order, 0, inverse=True)
    source = so.argsort(mv.concatenate([new_places, old], 0), 0)
    return ix.take(mv.concatenate([new, x], axis), source, axis)


# -- orders ------------------------------------------------------------------------------------------------------


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Return the positions that sort by the last of the keys, equal ones by the key before it, and so on."""
    if not is_traced(keys):
        return np.lexsort(keys, axis)
    members = [as_traced(key) for key in (joining.unstack(keys) if isinstance(keys, Traced) else keys)]
    if not members:
        raise ArgumentError("lexsort", "keys", "is empty", "pass a key or more")
    members = movement.broadcast_arrays(*members)
    along = axis_of(axis, members[0].ndim, "lexsort")
    order = so.argsort(members[0], along, stable=True)
    for key in members[1:]:
        order = so.permute(order, so.argsort(so.permute(key, order, along), along, stable=True), along)
    return order


# -- comparisons -------------------------------------------------------------------------------------------------


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have one shape and equal elements; with `equal_nan`, NaN equals NaN.

    Sizes that may differ are compared by a guard.
    """
    if not is_traced(a1, a2):
        return np.array_equal(a1, a2, equal_nan)
    x, y = as_traced(a1), as_traced(a2)
    ctx = context_of("array_equal", x, y)
    pairs = zip(sizes(x), sizes(y))
    if x.ndim != y.ndim or not all(ctx.scope.branch_on(equal(m, n, f"{m} == {n}"), ctx.where) for m, n in pairs):
        return cr.full((), False, bool)
    same = equal_elements(x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = logical_or(same, isnan(x) & isnan(y))
    return reduction.all(same)


# -- functions along axes ----------------------------------------------------------------------------------------


def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the results of a function of vectors for each vector along an axis, in place of that axis.

    The function is traced once for all vectors. Each of them decides on its own values: `if v[0] > 0` has two branches.
    Python calls the function for each vector where it goes on by values, as in a `while`.
    """
    if active() is None:
        return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)
    if not is_traced(arr, *args, *kwargs.values()) and not _gives_traced(func1d, axis, arr, args, kwargs):
        return np.apply_along_axis(func1d, axis, arr, *args, **kwargs)
    x = as_traced(arr)
    along = axis_of(axis, x.ndim, "apply_along_axis")
    vectors = movement.moveaxis(x, along, -1)
    *counts, length = sizes(vectors)
    count = numel(counts)
    context_of("apply_along_axis", x).require(at_least(count, 1), "the array has no vectors")
    rows = mv.reshape(vectors, (count, length))
    call = lambda row: [func1d(row, *args, **kwargs)]
    mapped = maps_over_rows().map_rows(call, (func1d, args, kwargs), "apply_along_axis", [rows], count)
    result = joining.stack([as_traced(y) for y in _for_each(call, vectors)]) if mapped is None else mapped[0]
    result = mv.reshape(result, (*counts, *sizes(result)[1:]))
    rank, others = len(sizes(result)), len(counts)
    moved = [*range(along), *range(others, rank), *range(along, others)]
    return mv.transpose(result, moved).as_ndarray()


def _gives_traced(func1d: Callable[..., Any], axis: Any, arr: Any, args: Any, kwargs: Any) -> bool:
    """Return whether a function of a vector that is known while tracing reads traced values."""
    vectors = np.moveaxis(np.asanyarray(arr), axis, -1)
    if not vectors.size:
        return False
    return is_traced(func1d(vectors[(0,) * (vectors.ndim - 1)], *args, **kwargs))


def _for_each(call: Callable[..., Any], vectors: Any) -> list[Any]:
    """Return the results of a function for each vector; their number is one of the path of the program."""
    return [call(vectors[index])[0] for index in np.ndindex(*[int(n) for n in vectors.shape[:-1]])]


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Return an array to which a function of an array and an axis was applied along each axis in turn."""
    if not is_traced(a):
        return np.apply_over_axes(func, a, axes)
    value = as_traced(a)
    rank = value.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        along = axis_of(axis, rank, "apply_over_axes")
        result = as_traced(func(value, along))
        value = result if result.ndim == rank else movement.expand_dims(result, along)
        if value.ndim != rank:
            raise ArgumentError("apply_over_axes", "func", "gives another number of axes", "keep the axes or drop one")
    return value

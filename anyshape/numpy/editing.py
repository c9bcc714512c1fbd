"""Define NumPy's functions that leave out, insert, order and compare elements, as compositions of takes.

Define NumPy's partitions, choices between arrays, windows that slide, repetitions to a size, and sets of two.
"""

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.shapes.strided_view import row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import dynamic, indexing, matrices, movement, reduction, sorting
from anyshape.numpy.elementwise import equal as equal_elements
from anyshape.numpy.elementwise import isnan, logical_or, not_equal
from anyshape.numpy.movement import slice_axis
from anyshape.numpy.operands.memory import makes_copy, owned, writes_out
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    axis_of,
    choice_of,
    is_traced,
    new_shape,
    result_type,
    shape_of,
    size_of,
    sizes,
    static_int,
)
from anyshape.numpy.operands.reduction_args import flat_if_no_axis
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as so
from anyshape.ops import windows as wd
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of
from anyshape.ops.subgraph_call import maps_over_rows
from anyshape.support.true_types import has_type

_POSITION = np.dtype(np.int64)

# -- elements left out and inserted ------------------------------------------------------------------------------


def _edited(name: str, arr, axis) -> tuple[Any, int]:
    """Return the array and the axis to edit; without an axis the elements are flattened."""
    x = as_traced(arr)
    return (movement.ravel(x), 0) if axis is None else (x, axis_of(axis, x.ndim, name))


def _single(name: str, obj, size: Size, beyond: int) -> Size | None:
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


def _positions(name: str, obj, size: Size, beyond: int):
    """Return the positions that a slice, integers or a mask name, as a vector of numbers from 0 on."""
    if isinstance(obj, slice):
        return cr.iota(size)[obj]
    positions = as_traced(obj)
    if positions.ndim > 1 and positions.dtype.kind in "iu" and name == "delete":
        positions = movement.ravel(positions)  # as np.where gives them
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
    x, along = _edited("delete", arr, axis)
    size = sizes(x)[along]
    if (position := _single("delete", obj, size, 0)) is not None:
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


def _named(positions, size: Size):
    """Return the mask of the positions that are named, of so many."""
    return ew.gt(ix.put_add(cr.full(sizes(positions), 1, _POSITION), positions, size), cr.full((size,), 0, _POSITION))


def _without(x, positions, axis: int, rest: Size):
    """Return the elements that no position names; their number is `rest`."""
    order = so.argsort(_named(positions, sizes(x)[axis]), 0, stable=True)
    return ix.take(x, slice_axis(order, 0, 0, rest), axis)


@makes_copy
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Return an array with values inserted before positions along an axis, or of the flattened array without one.

    `obj` is an int, a size, a slice, integers or a mask. Values are converted to the dtype of the array.
    """
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


def _is_scalar(obj) -> bool:
    """Return whether positions are one number."""
    return not isinstance(obj, slice) and not as_traced(obj).ndim


def _values_at(new, rank: int, axis: int, is_scalar: bool, positions) -> tuple[Any, Size]:
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


def _merged(x, new, positions, axis: int):
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
    members = [as_traced(key) for key in (matrices.unstack(keys) if isinstance(keys, Traced) else keys)]
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
    if getattr(axis, "ndim", 0):
        advice = "write np.apply_along_axis(f, axis, x): the axis comes before the array"
        raise ArgumentError("apply_along_axis", "axis", f"is of type {type(axis).__name__}, not an int", advice)
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
    result = matrices.stack([as_traced(y) for y in _for_each(call, vectors)]) if mapped is None else mapped[0]
    result = mv.reshape(result, (*counts, *sizes(result)[1:]))
    rank, others = len(sizes(result)), len(counts)
    moved = [*range(along), *range(others, rank), *range(along, others)]
    return mv.transpose(result, moved).as_ndarray()


def _gives_traced(func1d: Callable[..., Any], axis, arr, args, kwargs) -> bool:
    """Return whether a function of a vector that is known while tracing reads traced values."""
    vectors = np.moveaxis(np.asanyarray(arr), axis, -1)
    if not vectors.size:
        return False
    return is_traced(func1d(vectors[(0,) * (vectors.ndim - 1)], *args, **kwargs))


def _for_each(call: Callable[..., Any], vectors) -> list[Any]:
    """Return the results of a function for each vector; their number is one of the path of the program."""
    return [call(vectors[index])[0] for index in np.ndindex(*[int(n) for n in vectors.shape[:-1]])]


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Return an array to which a function of an array and an axis was applied along each axis in turn."""
    value = as_traced(a)
    rank = value.ndim
    for axis in axes if isinstance(axes, (tuple, list)) else (axes,):
        along = axis_of(axis, rank, "apply_over_axes")
        result = as_traced(func(value, along))
        value = result if result.ndim == rank else movement.expand_dims(result, along)
        if value.ndim != rank:
            raise ArgumentError("apply_over_axes", "func", "gives another number of axes", "keep the axes or drop one")
    return value


# -- orders ------------------------------------------------------------------------------------------------------


def _to_divide(name: str, a, kth, axis, kind: str) -> tuple[Any, int]:
    """Return an array and the axis to sort along; require that positions at which to divide it are in its bounds."""
    choice_of(name, "kind", kind, ("introselect",))
    x, along = flat_if_no_axis(name, asarray(a), axis)
    positions = as_traced(kth)
    ctx = context_of(name, positions)
    if positions.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"positions are {positions.dtype}", "pass ints")
    count = mv.broadcast_to(cr.size_value(sizes(x)[along]), sizes(positions))
    positions = ew.convert(positions, _POSITION)
    inside = ew.logical_and(ew.ge(positions, ew.neg(count)), ew.lt(positions, count))
    check(inside, f"{name}: kth is out of bounds")
    return x, along


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Return an array whose elements along an axis are sorted, which divides them at every position `kth`.

    NumPy promises the order at `kth` alone, and leaves the elements on either side as they come. None flattens first.
    A position out of bounds is a CheckError of the run.
    """
    return sorting.sort(*_to_divide("partition", a, kth, axis, kind), order=order)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Return the positions that sort an array along an axis, which divide it at every position `kth`.

    See `partition`.
    """
    return sorting.argsort(*_to_divide("argpartition", a, kth, axis, kind), order=order)


def sort_complex(a: Any) -> Any:
    """Return the elements along the last axis as complex numbers, sorted by real part, then by imaginary part."""
    x = sorting.sort(asarray(a))
    return ew.convert(x, np.sort_complex(np.empty(0, x.dtype)).dtype)


# -- choices -----------------------------------------------------------------------------------------------------


@writes_out
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return for each element of integers `a` the element that stands there in the array of `choices` it numbers.

    All broadcast. A number out of bounds is a CheckError of the run, unless `mode` is "wrap" or "clip".
    """
    choice_of("choose", "mode", mode, ("raise", "wrap", "clip"))
    number = as_traced(a)
    if number.dtype.kind not in "biu":
        raise context_of("choose", number).bad_dtype(f"numbers of arrays are {number.dtype}", "pass integers")
    members = matrices.unstack(as_traced(choices)) if not isinstance(choices, (list, tuple)) else choices
    dtype = result_type(*members)
    first, *arrays = movement.broadcast_arrays(ew.convert(number, _POSITION), *[asarray(x, dtype) for x in members])
    zero, last = ew.lift(0, first), ew.lift(len(arrays) - 1, first)
    if mode == "wrap":
        first = ew.remainder(first, ew.lift(len(arrays), first))
    elif mode == "clip":
        first = ew.minimum(ew.maximum(first, zero), last)
    else:
        inside = ew.logical_and(ew.ge(first, zero), ew.le(first, last))
        check(inside, "choose: a number is out of bounds for the choices")
    return mv.drop(indexing.take_along_axis(matrices.stack(arrays), mv.expand(first, (0,)), 0), (0,))


# -- shapes ------------------------------------------------------------------------------------------------------


def resize(a: Any, new_shape: Any) -> Any:
    """Return the elements in C order in another shape, from the start again where they are too few.

    Sizes may be symbolic. Without elements the result is zeros.
    """
    return _resized(as_traced(a), new_shape)


def _resized(x, shape):
    target = new_shape(shape, "resize")
    flat = movement.ravel(x)
    (count,) = sizes(flat)
    flat = mv.pad_unchecked(flat, (0,), (expr.maximum(expr.sub(1, count), 0),), (0,))
    position = cr.iota(numel(target))
    by = mv.broadcast_to(cr.size_value(expr.maximum(count, 1)), sizes(position))
    return mv.reshape(ix.take(flat, ew.remainder(position, by), 0), target)


def sliding_window_view(x, window_shape, axis=None, *, subok: bool = False, writeable: bool = False) -> Any:
    """Return all windows of a shape into an array, whose axes come last; sizes may be symbolic.

    `axis` names the axes that the window slides along, by default all. In a program the windows are a read-only view:
    `writeable` raises UnsupportedFunctionError.
    """
    if writeable:
        problem, advice = "a program cannot write through windows that overlap", "write to the array itself"
        raise UnsupportedFunctionError("sliding_window_view(x, ..., writeable=True)", problem, advice, user_line())
    base, lengths = as_traced(x), new_shape(window_shape, "sliding_window_view")
    array = base.unshared()
    ctx = context_of("sliding_window_view", array)
    named = range(array.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of(a, array.ndim, "sliding_window_view") for a in named]
    if len(axes) != len(lengths):
        raise ctx.fail(f"the window has {len(lengths)} axes, and slides along {len(axes)}", "give a length for each")
    for along, length in zip(axes, lengths, strict=True):
        size = sizes(array)[along]
        ctx.require(at_least(size, length), f"a window of {length} is longer than axis {along}, of {size}")
        array = wd.sliding(array, along, length)
    read = lambda base: sliding_window_view(base, window_shape, axis)
    return mv.viewed(array.unshared(), base, read, None, ("sliding_window_view", lengths, tuple(axes)))


def as_strided(x, shape=None, strides=None, subok: bool = False, writeable: bool = True, **options) -> Any:
    """Return the elements of an array, in C order, at steps in bytes along new axes; sizes may be symbolic.

    A traced array has no gaps, and its first element is the first one of the result. Sizes and steps that would read
    outside of it are a SizeMismatchError. The result is a read-only view: a write raises.
    """
    base = as_traced(x)
    array = base.unshared()
    new_sizes = sizes(array) if shape is None else new_shape(shape, "as_strided")
    ctx = context_of("as_strided", array)
    steps = _steps(ctx, array, strides)
    if len(steps) != len(new_sizes):
        raise ctx.fail(f"there are {len(new_sizes)} sizes and {len(steps)} strides", "give a stride for each size")
    last = expr.total(expr.mul(expr.sub(n, 1), step) for n, step in zip(new_sizes, steps, strict=True))
    count: Size = expr.add(last, 1)
    for n in new_sizes:
        count = expr.mul(count, expr.minimum(n, 1))
    elements = numel(sizes(array))
    ctx.require(at_least(elements, count), f"the strides reach over {count} elements, and the array has {elements}")
    position = mv.broadcast_to(cr.size_value(0), new_sizes)
    for axis, (n, step) in enumerate(zip(new_sizes, steps, strict=True)):
        along = ew.mul(cr.iota(n), cr.size_value(step))
        position = ew.add(position, mv.broadcast_in_dim(along, new_sizes, (axis,)))
    result = ix.take(movement.ravel(array), position, 0)
    read = lambda base: as_strided(base, shape, strides)
    return mv.viewed(result.unshared(), base, read, None, ("as_strided", new_sizes, steps))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return x as an array that shares its memory; with `copy=True` a copy."""
    if not isinstance(x, Traced):
        raise AttributeError(f"{type(x).__name__!r} object has no attribute '__dlpack__'", name="__dlpack__", obj=x)
    np.empty(0, device=device)  # NumPy's own error for other devices than its own
    return owned(x, x) if copy else x


def _steps(ctx, array, strides) -> tuple[Size, ...]:
    """Return strides counted in elements, by default the ones of an array in C order."""
    if strides is None:
        return row_major(sizes(array))
    itemsize, in_bytes = array.dtype.itemsize, shape_of(strides, "as_strided")
    steps = tuple(expr.floordiv(step, itemsize) for step in in_bytes)
    for step, whole in zip(in_bytes, steps, strict=True):
        ctx.require(at_least(step, 0), f"a stride of {step} bytes starts before the array")
        ctx.require(equal(step, expr.mul(whole, itemsize)), f"a stride of {step} bytes splits elements of {itemsize}")
    return steps


# -- comparisons -------------------------------------------------------------------------------------------------


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the distinct elements that just one of two arrays has, in sorted order.

    For traced arrays their number is a new symbolic size.
    """
    parts = [movement.ravel(x) if assume_unique else dynamic.unique(x) for x in (ar1, ar2)]
    ordered = so.sort(as_traced(matrices.concatenate(parts)), 0)
    position = cr.iota(sizes(ordered)[0])
    end = mv.broadcast_to(cr.size_value(expr.sub(sizes(ordered)[0], 1)), sizes(position))
    zero, one = ew.lift(0, position), ew.lift(1, position)
    before = ix.take(ordered, ew.maximum(ew.sub(position, one), zero), 0)
    after = ix.take(ordered, ew.minimum(ew.add(position, one), end), 0)
    is_first = logical_or(ew.eq(position, zero), not_equal(ordered, before))
    is_last = logical_or(ew.eq(position, end), not_equal(ordered, after))
    return dynamic.compress(ew.logical_and(is_first, is_last), ordered)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether two arrays broadcast to one shape, and are equal there.

    Sizes that may differ are compared by a guard.
    """
    x, y = as_traced(a1), as_traced(a2)
    scope, where = context_of("array_equiv", x, y).scope, user_line()
    for m, n in zip(sizes(x)[::-1], sizes(y)[::-1]):
        if not any(scope.branch_on(equal(a, b, f"{a} == {b}"), where) for a, b in ((m, n), (m, 1), (n, 1))):
            return cr.full((), False, bool)
    return reduction.all(x == y)


def real_if_close(a: Any, tol: Any = 100) -> Any:
    """Return real arrays as they are.

    Whether the imaginary part of a complex array is near 0 depends on values, so UnsupportedFunctionError is raised.
    """
    x = as_traced(a)
    if x.dtype.kind == "c":
        problem = "the dtype of the result depends on values"
        raise UnsupportedFunctionError("real_if_close", problem, "write x.real if it is real", user_line())
    return x


# -- bits --------------------------------------------------------------------------------------------------------


def _places(bitorder, name: str):
    """Return how far each bit of a byte is shifted."""
    choice_of(name, "bitorder", bitorder, ("big", "little"))
    return np.arange(7, -1, -1, dtype=np.uint8) if bitorder == "big" else np.arange(8, dtype=np.uint8)


def packbits(a: Any, axis: Any = None, bitorder: str = "big") -> Any:
    """Return bytes whose bits say which elements along an axis are not 0; None flattens first."""
    x, along = flat_if_no_axis("packbits", asarray(a), axis)
    if x.dtype.kind not in "biu":
        raise context_of("packbits", x).bad_dtype(f"the elements are {x.dtype}", "pass integers or bools")
    bits = mv.move_axes(ew.convert(ew.convert(x, np.dtype(bool)), np.uint8), (along,), (x.ndim - 1,))
    *front, count = sizes(bits)
    number = expr.ceildiv(count, 8)
    last = (*[0] * len(front), expr.sub(expr.mul(number, 8), count))
    padded = mv.pad_unchecked(bits, (0,) * bits.ndim, last, (0,) * bits.ndim)
    shifted = mv.reshape(padded, (*front, number, 8)) << _places(bitorder, "packbits")
    return mv.move_axes(reduction.sum(shifted, -1, dtype=np.uint8), (x.ndim - 1,), (along,))


def unpackbits(a: Any, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """Return the bits of bytes along an axis, as bytes of 0 or 1; None flattens first.

    `count` is the number of bits to return, and zeros fill up. A negative one says how many to leave out.
    """
    x, along = flat_if_no_axis("unpackbits", asarray(a), axis)
    if x.dtype != np.uint8:
        raise context_of("unpackbits", x).bad_dtype(f"the elements are {x.dtype}", "convert them to uint8")
    moved = mv.move_axes(x, (along,), (x.ndim - 1,))
    bits = (mv.expand(moved, (x.ndim,)) >> _places(bitorder, "unpackbits")) & np.uint8(1)
    *front, number = sizes(moved)
    flat = mv.reshape(bits, (*front, expr.mul(number, 8)))
    if count is not None:
        keep = static_int(count, "unpackbits", "count")
        total = expr.mul(number, 8)
        few = f"there are {total} bits, and {max(-keep, 0)} are to be left out"
        context_of("unpackbits", x).require(at_least(expr.add(total, min(keep, 0)), 0), few)
        more = expr.maximum(expr.sub(keep, total), 0) if keep >= 0 else 0
        flat = mv.pad_unchecked(flat, (0,) * x.ndim, (*[0] * len(front), more), (0,) * x.ndim)
        flat = flat[..., :keep]
    return mv.move_axes(flat, (x.ndim - 1,), (along,))


serve(__name__)
_TRICKS = types.SimpleNamespace(as_strided=as_strided, sliding_window_view=sliding_window_view)
_LIB = {name: getattr(np.lib, name) for name in np.lib.__all__} | {"stride_tricks": _TRICKS}
lib: Any = types.SimpleNamespace(**_LIB)  # as_strided of NumPy reads the memory of what it gets

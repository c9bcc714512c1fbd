"""Define NumPy's partitions, choices between arrays, windows that slide, repetitions to a size, and sets of two."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import at_least, equal
from anyshape.graph.shapes.shape_context import numel
from anyshape.graph.shapes.strided_view import row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import dynamic, indexing, joining, movement, reduction, sorting
from anyshape.numpy.elementwise import logical_or, not_equal
from anyshape.numpy.operands.memory import owned, writes_out
from anyshape.numpy.operands.promotion import (
    as_traced,
    asarray,
    axis_of,
    choice_of,
    is_traced,
    new_shape,
    result_type,
    shape_of,
    sizes,
    static_int,
)
from anyshape.numpy.operands.reduction_args import flat_if_no_axis, refuse_out
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as so
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of

_POSITION = np.dtype(np.int64)

# -- orders ------------------------------------------------------------------------------------------------------


def _check_positions(name: str, kth: Any, size: Any) -> None:
    """Require that positions at which to divide an axis are in its bounds."""
    positions = as_traced(kth)
    ctx = context_of(name, positions)
    if positions.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"positions are {positions.dtype}", "pass ints")
    count = mv.broadcast_to(cr.size_value(size), sizes(positions))
    positions = ew.convert(positions, _POSITION)
    inside = ew.logical_and(ew.ge(positions, ew.neg(count)), ew.lt(positions, count))
    check(inside, f"{name}: kth is out of bounds")


def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Return an array whose elements along an axis are sorted, which divides them at every position `kth`.

    NumPy promises the order at `kth` alone, and leaves the elements on either side as they come. None flattens first.
    A position out of bounds is a CheckError of the run.
    """
    if not is_traced(a, kth):
        return np.partition(a, kth, axis, kind, order)
    choice_of("partition", "kind", kind, ("introselect",))
    x, along = flat_if_no_axis("partition", asarray(a), axis)
    _check_positions("partition", kth, sizes(x)[along])
    return sorting.sort(x, along, order=order)


def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """Return the positions that sort an array along an axis, which divide it at every position `kth`.

    See `partition`.
    """
    if not is_traced(a, kth):
        return np.argpartition(a, kth, axis, kind, order)
    choice_of("argpartition", "kind", kind, ("introselect",))
    x, along = flat_if_no_axis("argpartition", asarray(a), axis)
    _check_positions("argpartition", kth, sizes(x)[along])
    return sorting.argsort(x, along, order=order)


def sort_complex(a: Any) -> Any:
    """Return the elements along the last axis as complex numbers, sorted by real part, then by imaginary part."""
    if not is_traced(a):
        return np.sort_complex(a)
    x = sorting.sort(asarray(a))
    return ew.convert(x, np.sort_complex(np.empty(0, x.dtype)).dtype)


# -- choices -----------------------------------------------------------------------------------------------------


@writes_out
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return for each element of integers `a` the element that stands there in the array of `choices` it numbers.

    All broadcast. A number out of bounds is a CheckError of the run, unless `mode` is "wrap" or "clip".
    """
    if not is_traced(a, choices):
        return np.choose(a, choices, out, mode)
    refuse_out("choose", out)
    choice_of("choose", "mode", mode, ("raise", "wrap", "clip"))
    number = as_traced(a)
    if number.dtype.kind not in "biu":
        raise context_of("choose", number).bad_dtype(f"numbers of arrays are {number.dtype}", "pass integers")
    members = joining.unstack(as_traced(choices)) if not isinstance(choices, (list, tuple)) else choices
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
    stacked = joining.stack(arrays)
    return mv.drop(indexing.take_along_axis(stacked, mv.expand(first, (0,)), 0), (0,))


# -- shapes ------------------------------------------------------------------------------------------------------


def resize(a: Any, new_shape: Any) -> Any:
    """Return the elements in C order in another shape, from the start again where they are too few.

    Sizes may be symbolic. Without elements the result is zeros.
    """
    if not is_traced(a, new_shape):
        return np.resize(a, new_shape)
    return _resized(as_traced(a), new_shape)


def _resized(x: Any, shape: Any) -> Any:
    target = new_shape(shape, "resize")
    flat = movement.ravel(x)
    (count,) = sizes(flat)
    flat = mv.pad_unchecked(flat, (0,), (expr.maximum(expr.sub(1, count), 0),), (0,))
    position = cr.iota(numel(target))
    by = mv.broadcast_to(cr.size_value(expr.maximum(count, 1)), sizes(position))
    return mv.reshape(ix.take(flat, ew.remainder(position, by), 0), target)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return all windows of a shape into an array, whose axes come last; sizes may be symbolic.

    `axis` names the axes that the window slides along, by default all. In a program the windows are a read-only view:
    `writeable` raises UnsupportedFunctionError.
    """
    if not is_traced(x, window_shape):
        return np.lib.stride_tricks.sliding_window_view(x, window_shape, axis, subok=subok, writeable=writeable)
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
        shape = (expr.add(expr.sub(size, length), 1), length)
        start, step = (mv.broadcast_in_dim(cr.iota(n), shape, (i,)) for i, n in enumerate(shape))
        array = ix.take(array, ew.add(start, step), along)
        array = mv.move_axes(array, (along + 1,), (array.ndim - 1,))
    read = lambda base: sliding_window_view(base, window_shape, axis)
    return mv.viewed(array.unshared(), base, read, None, ("sliding_window_view", lengths, tuple(axes)))


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **options: Any
) -> Any:
    """Return the elements of an array, in C order, at steps in bytes along new axes; sizes may be symbolic.

    A traced array has no gaps, and its first element is the first one of the result. Sizes and steps that would read
    outside of it are a SizeMismatchError. The result is a read-only view: a write raises.
    """
    if not is_traced(x, shape, strides):
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok=subok, writeable=writeable, **options)
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
    if not is_traced(x):
        return np.from_dlpack(x, device=device, copy=copy)
    if not isinstance(x, Traced):
        raise AttributeError(f"{type(x).__name__!r} object has no attribute '__dlpack__'", name="__dlpack__", obj=x)
    np.empty(0, device=device)  # NumPy's own error for other devices than its own
    return owned(x, x) if copy else x


def _steps(ctx: Any, array: Any, strides: Any) -> tuple[Size, ...]:
    """Return strides counted in elements, by default the ones of an array in C order."""
    if strides is None:
        return row_major(sizes(array))
    itemsize, in_bytes = array.dtype.itemsize, shape_of(strides, "as_strided")
    steps = tuple(expr.floordiv(step, itemsize) for step in in_bytes)
    for step, whole in zip(in_bytes, steps, strict=True):
        ctx.require(at_least(step, 0), f"a stride of {step} bytes starts before the array")
        ctx.require(equal(step, expr.mul(whole, itemsize)), f"a stride of {step} bytes splits elements of {itemsize}")
    return steps


_TRICKS = types.SimpleNamespace(as_strided=as_strided, sliding_window_view=sliding_window_view)
_LIB = {name: getattr(np.lib, name) for name in np.lib.__all__} | {"stride_tricks": _TRICKS}
OBJECTS = {"lib": types.SimpleNamespace(**_LIB)}  # as_strided of NumPy reads the memory of what it gets


# -- comparisons -------------------------------------------------------------------------------------------------


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the distinct elements that just one of two arrays has, in sorted order.

    For traced arrays their number is a new symbolic size.
    """
    if not is_traced(ar1, ar2):
        return np.setxor1d(ar1, ar2, assume_unique)
    parts = [movement.ravel(x) if assume_unique else dynamic.unique(x) for x in (ar1, ar2)]
    ordered = so.sort(as_traced(joining.concatenate(parts)), 0)
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
    if not is_traced(a1, a2):
        return np.array_equiv(a1, a2)
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
    if not is_traced(a):
        return np.real_if_close(a, tol)
    x = as_traced(a)
    if x.dtype.kind == "c":
        problem = "the dtype of the result depends on values"
        raise UnsupportedFunctionError("real_if_close", problem, "write x.real if it is real", user_line())
    return x


# -- bits --------------------------------------------------------------------------------------------------------


def _places(bitorder: Any, name: str) -> Any:
    """Return how far each bit of a byte is shifted."""
    choice_of(name, "bitorder", bitorder, ("big", "little"))
    return np.arange(7, -1, -1, dtype=np.uint8) if bitorder == "big" else np.arange(8, dtype=np.uint8)


def packbits(a: Any, axis: Any = None, bitorder: str = "big") -> Any:
    """Return bytes whose bits say which elements along an axis are not 0; None flattens first."""
    if not is_traced(a):
        return np.packbits(a, axis, bitorder)
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
    if not is_traced(a, count):
        return np.unpackbits(a, axis, count, bitorder)
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

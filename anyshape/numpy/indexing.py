"""Define the functions that read parts of arrays: indexing, `take`, diagonals and differences.

`index_parser` reads the keys.
"""

from typing import Any

import numpy as np

from anyshape.errors import DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import broadcast_sizes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import elementwise, reduction
from anyshape.numpy.at_update import Indexed
from anyshape.numpy.creation import asarray
from anyshape.numpy.matrices import concatenate, diagonal_matrix
from anyshape.numpy.movement import along_axis, broadcast_to, ravel, slice_axis
from anyshape.numpy.operands.index_parser import Key
from anyshape.numpy.operands.memory import owned, writes_out
from anyshape.numpy.operands.promotion import as_traced, axis_of, is_traced, refuse_kinds, size_of, sizes, static_int
from anyshape.numpy.operands.reduction_args import as_arrays
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

# -- x[key] ------------------------------------------------------------------------------------------------------


def getitem(x: Any, key: Any) -> Any:
    """Return x[key] as NumPy reads it.

    A key mixes integers, slices, `...`, None, integer arrays and masks.
    """
    if not is_traced(x, key):
        return x[key]
    keys = key if isinstance(key, tuple) else (key,)
    part = _part(as_traced(x), keys)
    if any(k is Ellipsis for k in keys):
        return as_arrays(part)
    return part if part.is_array else part.unshared()


def _part(x, keys: tuple[Any, ...]):
    """Return the part of x that a key names: a view, or a copy if the key has an index array, also without axes."""
    key = Key(x, keys)
    part = key.read()
    if any(has_type(k, np.ndarray) for k in keys):
        return owned(part)
    if not key.indices or not all(isinstance(i, Traced) and not i.is_array for i in key.indices.values()):
        return part
    read, write = lambda base: Key(base, keys).read().unshared(), lambda base, new: Indexed(base, keys).set(new)
    return mv.viewed(part.unshared(), x, read, write, ("getitem", *map(_identity, keys)))


def _identity(item):
    """Return what is equal for items of keys that name the same elements; its comparison decides nothing."""
    if isinstance(item, Traced):
        return item.value
    if isinstance(item, SymbolicSize):
        return item.expr
    if isinstance(item, slice):
        return slice, _identity(item.start), _identity(item.stop), _identity(item.step)
    return item


# -- take -------------------------------------------------------------------------------------------------------


def _as_index(x):
    """Return indices as a traced array of integers; they may be lists or Python ints."""
    index = as_traced(asarray(x))
    if index.dtype.kind == "b":
        raise context_of("take").bad_dtype("indices are bool", "convert them with astype(int), or use np.where")
    return index


def _as_positions(x):
    """Return the indices of `take` as a traced array of int64: arrays are cast as NumPy casts, numbers truncated."""
    index = as_traced(asarray(x))
    if index.dtype.kind in "fc" and has_type(x, (Traced, np.ndarray)):
        raise context_of("take", index).bad_dtype(f"indices are {index.dtype}", "convert them with astype(int)")
    return ew.convert(index, np.int64)


@writes_out
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Return the elements of an array at positions along an axis; None flattens it first.

    The axes of `indices` take the place of the axis; negative positions count from the end. With mode "raise", one out
    of range is NumPy's IndexError when the program runs; "wrap" and "clip" bring it into range.
    With traced operands `out` must be traced too.
    """
    x, taken_axis = along_axis("take", a, axis)
    index = _as_positions(indices)
    if mode != "raise":
        index = into_range(index, sizes(x)[taken_axis], mode)
    return ix.take(x, index, taken_axis)


def into_range(index: Any, size: Size, mode: str) -> Any:
    """Return positions brought into 0..size-1 by clipping or wrapping."""
    top = cr.size_value(size)
    if mode == "clip":
        return ew.maximum(ew.minimum(index, top - 1), cr.full((), 0, np.int64))
    if mode == "wrap":
        return elementwise.remainder(index, top)
    raise context_of("take").fail(f"mode {mode!r} is not 'raise', 'wrap' or 'clip'")


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Return the elements at positions along an axis that each vector along it has of its own.

    `arr` and `indices` broadcast on the other axes; None flattens both. The result has the dtype of `arr`.
    """
    x, index = ravel(arr) if axis is None else as_traced(arr), _as_index(indices)
    taken_axis = axis_of(0 if axis is None else axis, x.meta.rank, "take_along_axis")
    ctx = context_of("take_along_axis", x, index)
    if index.meta.rank != x.meta.rank:
        raise ctx.fail("indices and array must have the same number of axes")
    shapes = [[1 if i == taken_axis else s for i, s in enumerate(sizes(v))] for v in (x, index)]
    shape = broadcast_sizes(ctx, [tuple(s) for s in shapes])
    x, index = (
        mv.broadcast_to(v, [sizes(v)[taken_axis] if i == taken_axis else s for i, s in enumerate(shape)])
        for v in (x, index)
    )
    return ix.take_along_axis(x, index, taken_axis)


# -- diagonals ---------------------------------------------------------------------------------------------------


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """Return diagonal `offset` of the matrices in two axes, as the last axis of the result.

    The offset may be symbolic. The diagonal is every (columns + 1)-th element of a matrix written in a row.
    """
    x = as_traced(a)
    i, j = (axis_of(axis, x.meta.rank, "diagonal") for axis in (axis1, axis2))
    if i == j:
        raise context_of("diagonal", x).fail("the two axes must differ")
    x = mv.move_axes(x, (i, j), (x.meta.rank - 2, x.meta.rank - 1))
    *outer, rows, columns = sizes(x)
    k = size_of(offset)
    right, down = expr.maximum(k, 0), expr.maximum(-k, 0)
    total = expr.mul(rows, columns)
    start = expr.minimum(right + expr.mul(down, columns), total)
    count = expr.maximum(expr.minimum(rows - down, columns - right), 0)
    flat = mv.reshape(x, (*outer, total))
    zeros, ones = [0] * len(outer), [1] * len(outer)
    part = mv.strided(flat, (*zeros, start), (*outer, count), (*ones, columns + 1)).unshared()
    return mv.viewed(part, as_traced(a), lambda base: diagonal(base, offset, axis1, axis2), None, ("diagonal", k, i, j))


def diag(v: Any, k: Any = 0) -> Any:
    """Return diagonal k of a matrix, or a matrix with a vector on diagonal k; k may be symbolic."""
    x = as_traced(v)
    if x.meta.rank not in (1, 2):
        raise context_of("diag", x).fail("an array of 1 or 2 axes is needed")
    return diagonal_matrix(x, size_of(k)) if x.meta.rank == 1 else diagonal(x, k)


@writes_out
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Any:
    """Return the sum of diagonal `offset` of the matrices in two axes.

    Small integers are added in the default integer. With traced operands `out` must be traced too.
    """
    return reduction.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


# -- differences -------------------------------------------------------------------------------------------------


def diff(a: Any, n: int = 1, axis: Any = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """Return the n-th differences along an axis; booleans are compared instead of subtracted.

    `prepend` and `append` are joined to the axis first, a scalar as one element. n is an int known while tracing.
    The axis gets shorter by n, and is empty rather than negative.
    """
    x, n = as_traced(a), static_int(n, "diff", "the order")
    if n == 0:
        return x
    if x.meta.rank == 0 or n < 0:
        raise context_of("diff", x).fail("an axis and an order that is not negative are needed")
    diff_axis = axis_of(axis, x.meta.rank, "diff")
    ends = [_end(v, x, diff_axis) for v in (prepend, append)]
    x = concatenate([p for p in [*ends[:1], x, *ends[1:]] if p is not None], diff_axis)
    for _ in range(n):
        size = expr.maximum(sizes(x)[diff_axis] - 1, 0)
        first = slice_axis(x, diff_axis, 0, size)
        second = slice_axis(x, diff_axis, expr.minimum(sizes(x)[diff_axis], 1), size)
        x = elementwise.not_equal(second, first) if x.dtype.kind == "b" else ew.sub(second, first)
    return x


def _end(value, x, axis: int):
    """Return what is joined to an axis before differences are taken; a scalar stands for one element."""
    if value is np._NoValue:
        return None
    end = as_traced(value)
    if end.meta.rank:
        return end
    return broadcast_to(end, tuple([1 if i == axis else s for i, s in enumerate(sizes(x))]))


def _of_same_kind(name: str, value, dtype: np.dtype):
    """Return an end of differences in their dtype, if it is of the same kind; a Python int counts as an int64."""
    end = as_traced(np.asanyarray(value) if not is_traced(value) else value)
    if not np.can_cast(end.dtype, dtype, "same_kind"):
        advice = f"convert it with astype({dtype})"
        raise DTypeError(name, f"an end is {end.dtype}, and the differences are {dtype}", advice, user_line())
    return ew.convert(end, dtype)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of the flattened elements, between `to_begin` and `to_end`.

    The ends are cast to the dtype of `ary`.
    """
    x = refuse_kinds("ediff1d", ravel(ary), "b", "convert it with astype(int)")
    ends = [None if v is None else ravel(_of_same_kind("ediff1d", v, x.dtype)) for v in (to_begin, to_end)]
    return concatenate([p for p in [ends[0], diff(x), ends[1]] if p is not None])


def ix_(*args: Any) -> Any:
    """Return index vectors reshaped so that together they select an open grid, as a tuple.

    A traced mask raises UnsupportedFunctionError.
    """
    arrays = [as_traced(x) for x in args]
    if any(x.dtype.kind == "b" for x in arrays):
        raise UnsupportedFunctionError("ix_", "a mask", "pass index arrays", user_line())
    if any(x.meta.rank != 1 for x in arrays):
        raise context_of("ix_", *arrays).fail("each index array must have one axis")
    return tuple(mv.expand(x, [a for a in range(len(arrays)) if a != i]) for i, x in enumerate(arrays))


serve(__name__)

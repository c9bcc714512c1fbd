"""Kernels of take and put_add, and of checks of indices. Indices are values, so kernels check them, as NumPy does.

Traits of ops that read and write at integer positions.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, Alias, Tiling, declare
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.errors import IndexRangeError, ShapeError
from anyshape.ops import indexing as ix
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_sparse

_MANY = 10_000  # updates from which on a sparse product beats np.add.at on flat positions


def _take(x, *indices, axes):
    # np.take accepts any index into no elements, and copies all of an array that is not in C order
    if len(indices) == 1 and x.size and x.flags.c_contiguous:
        return x.take(_index(indices[0]), axes[0])
    scalars = not indices[0].ndim  # then indexing gives a view
    if axes[-1] >= len(axes):
        index_of_axis = dict(zip(axes, indices, strict=True))
        indices = tuple([index_of_axis.get(axis, slice(None)) for axis in range(axes[-1] + 1)])
    out = x[indices]
    return out.copy() if scalars else out


def _inline_take(site):
    """Index at once where positions are numbers, and call np.take where that is right: most take rows in C order."""
    if not site.metas[1].rank:
        return _inline_part(site)
    if len(site.operands) != 2 or not site.metas[1].rank or site.metas[1].dtype == np.uint64:
        return None
    (x, i), axes = site.operands, site.params["axes"]
    other = site.bind(functools.partial(_take, axes=axes))
    return [f"{site.target} = {x}.take({i}, {axes[0]}) if {x}.size and {x}.flags.c_contiguous else {other}({x}, {i})"]


def _inline_part(site):
    """Read an element, or a copy of what is at one position along some axes."""
    (x, *indices), axes = site.operands, site.params["axes"]
    index_of_axis = dict(zip(axes, indices, strict=True))
    key = ", ".join([index_of_axis.get(axis, ":") for axis in range(axes[-1] + 1)])
    return [f"{site.target} = {x}[{key}]{'.copy()' if len(axes) < site.metas[0].rank else ''}"]


def _index(i):
    """Convert unsigned 64-bit indices, which np.take refuses and indexing accepts."""
    return i.astype(np.int64) if i.dtype == np.uint64 else i


def _wrapped(i, size, axis=0):
    """Return positions in 0..size-1; raise NumPy's error for one out of range."""
    if i.size:
        low, high = int(i.min()), int(i.max())
        if low < -size or high >= size:
            raise IndexError(_out_of_bounds(i, axis, size))
        if low < 0:
            return np.where(i < 0, i + size, i)
    return i


def _out_of_bounds(i, axis, size):
    """Return NumPy's message for the first index out of range."""
    return f"index {np.extract((i < -size) | (i >= size), i)[0]} is out of bounds for axis {axis} with size {size}"


def _index_bounds(i, *, axis, extent, name):
    if i.size and (int(i.min()) < -extent or int(i.max()) >= extent):
        raise ShapeError(name, _out_of_bounds(i, axis, extent), (), None, IndexRangeError.advice)
    return i


def check_starts(name: Any, start: Any, axis: Any, size: Any, window: Any, mode: Any) -> Any:
    """Return whether all windows that start there fit; raise an error if one does not and the mode does not allow it.

    The mode "clip" needs an axis that can hold a window.
    """
    last = size - window
    if not start.size or not _beyond(start, last):
        return True
    if mode == "error" or (mode == "clip" and last < 0):
        low, high = int(start.min()), int(start.max())
        raise IndexRangeError(name, low if low < 0 else high, axis, size, window)
    return False


def check_first(name: Any, count: Any, axis: Any, size: Any) -> Any:
    """Raise an error for windows at the first element of an empty axis."""
    if count and not size:
        raise IndexRangeError(name, 0, axis, 0)


def _beyond(start, last):
    """Return whether an index is negative or beyond the last: one pass where negative ones can be read as large."""
    if start.dtype == np.int64 and last >= 0:
        return start.view(np.uint64).max() > last
    return start.min() < 0 or start.max() > last


def _window_bounds(indices, *, vector, axes, sizes, windows, mode, name):
    """Check windows in the order in which gather and scatter do."""
    numbers = np.moveaxis(indices, vector, 0) if vector < indices.ndim else indices[None]
    count = math.prod(numbers.shape[1:])
    for k, (axis, size, window) in enumerate(zip(axes, sizes, windows, strict=True)):
        if k < len(numbers):
            check_starts(name, numbers[k, ...], axis, size, window, mode)
        else:
            check_first(name, count, axis, size)
    return indices


def _flat(indices, axes, sizes):
    """Return the flat position of each element of the index arrays, in an array with these sizes at the axes."""
    if len(indices) == 1:
        return indices[0].ravel().astype(np.intp, copy=False)
    try:
        return np.ravel_multi_index(indices, sizes).ravel()
    except (ValueError, TypeError):  # a negative index, one out of range, or an unsigned type
        position = 0
        for i, axis, size in zip(indices, axes, sizes, strict=True):
            position = position * size + _wrapped(i.ravel().astype(np.intp, copy=False), size, axis)
        return position


def put_add(updates, *indices, axes, sizes, compiled=None):
    """Add rows of updates to rows of zeros, by one flat position for all index arrays.

    `compiled` is as for `summed_rows`.
    """
    at, rank = ix.first_index_axis(axes), indices[0].ndim
    if at:
        window = range(at, at + rank)
        updates = updates.transpose((*window, *[axis for axis in range(updates.ndim) if axis not in window]))
    rest = updates.shape[rank:]
    position = _flat(indices, axes, sizes)
    rows = updates.reshape(position.size, math.prod(rest))
    try:
        out = summed_rows(rows, position, math.prod(sizes), compiled).reshape((*sizes, *rest))
    except IndexError:
        _wrapped(position, sizes[0], axes[0])  # the error would name a flat position
        raise
    return out if axes[-1] < len(axes) else np.moveaxis(out, range(len(axes)), axes)


def _many(rows):
    return rows.size > _MANY and rows.shape[1] > 1 and rows.dtype.char in "fdFD"


def _sums(rows, position, count):
    """Return for each of `count` positions the sum of its rows: a product with a sparse matrix of ones.

    For 3000 rows of 64 that takes 0.4 of the time of np.add.at or np.bincount, and 0.2 of that of a sort and reduceat.
    """
    parts = np.ascontiguousarray(rows).view(rows.real.dtype)  # 1 + 0j times an infinity has a NaN
    ones, ends = np.ones(position.size, parts.dtype), np.arange(position.size + 1)
    sums = scipy_sparse.csc_array((ones, position, ends), shape=(count, position.size)) @ parts
    return sums.view(rows.dtype)


def summed_rows(rows: Any, position: Any, count: Any, compiled: Callable[..., Any] | None = None) -> Any:
    """Return zeros with rows[k] added at position[k]; a negative position counts from the end.

    `compiled` does so with machine code, and returns None for what it does not serve.
    """
    out = None if compiled is None else compiled(rows, position, count)
    if out is not None:
        return out
    if _many(rows):
        return _sums(rows, _wrapped(position, count), count)
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    add_rows(out, position, rows)
    return out


def add_rows(target: Any, position: Any, rows: Any) -> Any:
    """Add rows[k] to target[position[k]] in place: summed first if there are many, else element by element."""
    count, width = target.shape
    if _many(rows) and 2 * position.size > count:
        target += _sums(rows, position, count)
    else:
        flat = position if width == 1 else (position[:, None] * width + np.arange(width)).ravel()
        np.add.at(target.reshape(-1), flat, rows.ravel())


kernel(ix.take_op, _take, inline=_inline_take)
kernel(ix.put_add_op, put_add)
kernel(ix.index_bounds_op, _index_bounds)
kernel(ix.window_bounds_op, _window_bounds)


declare(
    OPAQUE._replace(tiling=Tiling(rows.take, collapse.take, combine=None), scratch=op_traits.positions(1)), ix.take_op
)
declare(OPAQUE._replace(scratch=op_traits.positions(3)), ix.put_add_op)
declare(OPAQUE._replace(alias=Alias.VIEW), ix.index_bounds_op, ix.window_bounds_op)

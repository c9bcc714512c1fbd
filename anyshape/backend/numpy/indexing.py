"""Kernels of take and put_add. Indices are values, so these two do check them, as NumPy does."""

import numpy as np
import scipy

from anyshape.ops import indexing as ix
from anyshape.ops.core import kernel

_MANY = 10_000  # updates from which on a sparse product beats np.add.at on flat positions


def _take(x, *indices, axes):
    if len(indices) == 1:
        return x.take(_index(indices[0]), axes[0])
    found = dict(zip(axes, indices, strict=True))
    return x[tuple([found.get(axis, slice(None)) for axis in range(axes[-1] + 1)])]


def _index(i):
    """np.take refuses unsigned 64-bit indices, which indexing accepts."""
    return i.astype(np.int64) if i.dtype == np.uint64 else i


def _wrapped(i, size):
    """Positions in 0..size-1; NumPy's error for what lies outside."""
    if i.size:
        low, high = int(i.min()), int(i.max())
        if low < -size or high >= size:
            worst = low if low < -size else high
            raise IndexError(f"index {worst} is out of bounds for axis of size {size}")
        if low < 0:
            return np.where(i < 0, i + size, i)
    return i


def _put_add(updates, *indices, axes, sizes):
    """Rows of updates added to rows of zeros, by one flat position for all index arrays."""
    at, rank = ix.place(axes), indices[0].ndim
    window = tuple(range(at, at + rank))
    rest = [axis for axis in range(updates.ndim) if axis not in window]
    rest_shape = tuple([updates.shape[axis] for axis in rest])
    width = int(np.prod(rest_shape, dtype=np.int64))
    count = int(np.prod(sizes, dtype=np.int64))
    position = indices[0].ravel().astype(np.intp, copy=False)
    if len(indices) > 1:
        position = _wrapped(position, sizes[0])
        for i, size in zip(indices[1:], sizes[1:], strict=True):
            position = position * size + _wrapped(i.ravel().astype(np.intp, copy=False), size)
    rows = updates.transpose((*window, *rest)).reshape(position.size, width)
    out = _add_rows(rows, position, count).reshape((*sizes, *rest_shape))
    if axes == tuple(range(len(axes))):
        return out
    return np.moveaxis(out, range(len(axes)), axes)


def _add_rows(rows, position, count):
    """out[position[k]] += rows[k]. A flat position of a negative row counts from the end, as the row does."""
    width = rows.shape[1]
    if rows.size > _MANY and width > 1 and rows.dtype.kind in "fc":
        position = _wrapped(position, count)
        ones, ends = np.ones(position.size, rows.dtype), np.arange(position.size + 1)
        return scipy.sparse.csc_array((ones, position, ends), shape=(count, position.size)) @ rows
    out = np.zeros(count * width, rows.dtype)
    flat = position if width == 1 else (position[:, None] * width + np.arange(width)).ravel()
    np.add.at(out, flat, rows.ravel())
    return out


kernel(ix.take_op, _take)
kernel(ix.put_add_op, _put_add)

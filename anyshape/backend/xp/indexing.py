"""Kernels that read and add at index arrays. Indices are values, so kernels check them, which waits for the device."""

import math

from anyshape.backend.xp.libraries import INT, kernel
from anyshape.errors import IndexRangeError, ShapeError
from anyshape.ops import indexing as ix

_READS = "whether indices are in range"


def beyond(xp, i, low, high):
    """Return whether an index is below the one number or above the other; False where there are no values."""
    return xp.checks and math.prod(i.shape) > 0 and bool(xp.any((i < low) | (i > high)))


def _out_of_bounds(xp, i, axis, size):
    numbers = xp.host(i).ravel()
    wrong = numbers[(numbers < -size) | (numbers >= size)]
    return f"index {wrong[0]} is out of bounds for axis {axis} with size {size}"


def wrapped(xp, i, size, axis):
    """Return positions in 0..size-1; raise NumPy's error for one out of range."""
    i = xp.convert(i, INT)
    if beyond(xp, i, -size, size - 1):
        raise IndexError(_out_of_bounds(xp, i, axis, size))
    return xp.where(i < 0, i + size, i)


def _flat(xp, indices, axes, sizes):
    """Return the flat position of each element of the index arrays, in an array with these sizes at the axes."""
    position = 0
    for i, axis, size in zip(indices, axes, sizes, strict=True):
        position = position * size + wrapped(xp, i, size, axis)
    return xp.reshape(position, (-1,))


def _places(axes, rank, index_rank):
    """Return the axes that stay, and the permutation from (indices, these axes) to NumPy's order of the result."""
    others = tuple([axis for axis in range(rank) if axis not in axes])
    at = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    front = tuple(range(index_rank))
    ahead, behind = range(index_rank, index_rank + at), range(index_rank + at, index_rank + len(others))
    return others, (*ahead, *front, *behind)


def _inverse(order):
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _take(xp, x, *indices, axes):
    shape = tuple(indices[0].shape)
    others, order = _places(axes, x.ndim, len(shape))
    sizes = [x.shape[axis] for axis in axes]
    flat = _flat(xp, indices, axes, sizes)
    if len(axes) == 1:
        rows = xp.take(x, flat, axis=axes[0])
        return xp.reshape(rows, (*x.shape[: axes[0]], *shape, *x.shape[axes[0] + 1 :]))
    rest = tuple([x.shape[axis] for axis in others])
    rows = xp.reshape(xp.permute_dims(x, (*axes, *others)), (math.prod(sizes), *rest))
    return xp.permute_dims(xp.reshape(xp.take(rows, flat, axis=0), (*shape, *rest)), order)


def _put_add(xp, u, *indices, axes, sizes):
    shape = tuple(indices[0].shape)
    rank = u.ndim - len(shape) + len(axes)
    others, order = _places(axes, rank, len(shape))
    rows = xp.permute_dims(u, _inverse(order))
    rest = tuple(rows.shape[len(shape) :])
    flat = _flat(xp, indices, axes, sizes)
    zeros = xp.zeros((math.prod(sizes), math.prod(rest)), dtype=u.dtype, device=xp.device)
    sums = xp.combined("add", zeros, flat, xp.reshape(rows, (math.prod(shape), math.prod(rest))))
    return xp.permute_dims(xp.reshape(sums, (*sizes, *rest)), _inverse((*axes, *others)))


def _index_bounds(xp, i, *, axis, extent, name):
    if beyond(xp, i, -extent, extent - 1):
        raise ShapeError(name, _out_of_bounds(xp, i, axis, extent), (), None, IndexRangeError.advice)
    return i


def check_starts(xp, name, start, axis, size, window):
    """Raise an error unless all windows that start there fit."""
    if beyond(xp, start, 0, size - window):
        numbers = xp.host(start)
        low, high = int(numbers.min()), int(numbers.max())
        raise IndexRangeError(name, low if low < 0 else high, axis, size, window)


def _window_bounds(xp, indices, *, vector, axes, sizes, windows, mode, name):
    """Check windows in the order in which gather and scatter do."""
    numbers = xp.moveaxis(indices, vector, 0) if vector < indices.ndim else indices[None, ...]
    for k, (axis, size, window) in enumerate(zip(axes, sizes, windows, strict=True)):
        if k >= numbers.shape[0]:
            if math.prod(numbers.shape[1:]) and not size:
                raise IndexRangeError(name, 0, axis, 0)
        elif mode == "error" or (mode == "clip" and size < window):
            check_starts(xp, name, numbers[k, ...], axis, size, window)
    return indices


kernel(ix.take_op, _take, reads=_READS)
kernel(ix.put_add_op, _put_add, reads=_READS)
kernel(ix.index_bounds_op, _index_bounds, reads=_READS)
kernel(ix.window_bounds_op, _window_bounds, reads=_READS)

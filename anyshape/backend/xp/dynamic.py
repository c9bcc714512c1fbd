"""Kernels of ops with run-time sizes: the host waits for each size."""

import math

import numpy as np

from anyshape.backend.numpy import dynamic as on_numpy
from anyshape.backend.xp.libraries import INT, kernel
from anyshape.backend.xp.reduction import order_of
from anyshape.backend.xp.write import on_host
from anyshape.errors import CheckError
from anyshape.ops import dynamic as dy
from anyshape.ops.core.apply import KERNELS

_BOOL = np.dtype(bool)


def _nonzero(xp, x):
    positions = [xp.convert(i, INT) for i in xp.nonzero(x)]
    return tuple(positions) if x.ndim > 1 else positions[0]


def _size_token(xp, x, **params):
    """Return an array that has a shape alone, with the size that NumPy's kernel reads."""
    return xp.filled((on_numpy.size_token(xp.host(x), **params).shape[0],), False, _BOOL)


def _repeated(xp, counts):
    """Return each position as often as its count says: where it lies between running sums."""
    if math.prod(counts.shape) == 0:
        return xp.filled((0,), 0, INT)
    counts = xp.convert(counts, INT)
    if (least := int(xp.min(counts, axis=(0,)))) < 0:
        raise CheckError("repeat: a count cannot be negative", str(least))
    ends = xp.cumulative_sum(counts, axis=0, dtype=xp.dtype(INT))
    return xp.searched(ends, xp.integers(int(ends[-1])), "right")


def _unique(xp, x, *, axis, equal_nan):
    """Return the first position of each kind, the kind of each element, and how many there are of each."""
    if x.ndim > 1:
        return on_host(KERNELS[dy.unique_op].run, xp, x, axis=axis, equal_nan=equal_nan)
    n = x.shape[0]
    if n == 0:
        return (xp.filled((0,), 0, INT),) * 3
    order = order_of(xp, x, 0)
    ordered = xp.take(x, order, axis=0)
    before, after = ordered[: n - 1], ordered[1:n]
    begins = before != after
    if equal_nan and xp.kind(x) in "fc":
        begins = begins & ~((before != before) & (after != after))
    begins = xp.concat((xp.filled((1,), True, _BOOL), begins))
    (starts,) = [xp.convert(i, INT) for i in xp.nonzero(begins)]
    kinds = xp.cumulative_sum(xp.convert(begins, INT), axis=0, dtype=xp.dtype(INT)) - 1
    ends = xp.concat((starts[1:], xp.filled((1,), n, INT)))
    return xp.take(order, starts, axis=0), xp.take(kinds, order_of(xp, order, 0), axis=0), ends - starts


def _start(xp, start, whole, size):
    """Return a start within the array; a negative one counts from the end."""
    start = xp.convert(start, INT)
    start = xp.where(start < 0, start + whole, start)
    return xp.minimum(xp.maximum(start, xp.zeros_like(start)), xp.full_like(start, whole - size))


def _positions(xp, shape, starts, sizes):
    for axis, (whole, start, size) in enumerate(zip(shape, starts, sizes, strict=False)):
        yield axis, _start(xp, start, whole, size) + xp.integers(size)


def _dynamic_slice(xp, x, *starts, sizes):
    for axis, positions in _positions(xp, x.shape, starts, sizes):
        x = xp.take(x, positions, axis=axis)
    return x


def _dynamic_update_slice(xp, x, update, *starts):
    """Write a part: each element reads the update where that covers it."""
    inside, values = None, update
    for axis, (whole, start, size) in enumerate(zip(x.shape, starts, update.shape, strict=False)):
        if not size or not whole:
            return x
        at = xp.integers(whole) - _start(xp, start, whole, size)
        covered = xp.reshape((at >= 0) & (at < size), tuple([-1 if i == axis else 1 for i in range(x.ndim)]))
        inside = covered if inside is None else inside & covered
        within = xp.minimum(xp.maximum(at, xp.zeros_like(at)), xp.full_like(at, size - 1))
        values = xp.take(values, within, axis=axis)
    return update if inside is None else xp.where(inside, values, x)


_SIZE = "the number of elements of a result"
kernel(dy.nonzero_op, _nonzero, reads=_SIZE)
kernel(dy.size_token_op, _size_token, reads="a size")
kernel(dy.repeated_op, _repeated, reads=_SIZE)
kernel(dy.unique_op, _unique, reads=_SIZE)
for _op in dy.EACH.values():
    kernel(_op, lambda xp, x, _op=_op, **params: on_host(KERNELS[_op].run, xp, x, **params), reads=_SIZE)
kernel(dy.dynamic_slice_op, _dynamic_slice)
kernel(dy.dynamic_update_slice_op, _dynamic_update_slice)

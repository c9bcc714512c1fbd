"""Kernels of gathers, scatters and reductions of segments: all read or combine elements at flat positions."""

import math

import numpy as np

from anyshape.backend.compiler.plan import scatter_sums_op
from anyshape.backend.numpy.gathering import layout_of
from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.backend.xp.indexing import check_starts
from anyshape.backend.xp.libraries import INT, kernel, numpy_dtype
from anyshape.errors import IndexRangeError
from anyshape.ops import gathering as ga

_READS = "whether windows are in range"


def _at(axis, rank, values, xp):
    return xp.reshape(values, tuple([-1 if i == axis else 1 for i in range(rank)]))


def _starts(xp, name, layout, indices, shape, sizes, mode):
    """Return the starts of windows along each indexed axis, and which index vectors are in range; None: all are."""
    starts, valid = {}, None
    for axis, component in zip(layout.starts, layout.components, strict=True):
        start, last = xp.convert(indices[(*component, ...)] if component else indices, INT), shape[axis] - sizes[axis]
        if mode == "error" or (mode == "clip" and last < 0):
            check_starts(xp, name, start, axis, shape[axis], sizes[axis])
        elif mode == "clip":
            start = xp.minimum(xp.maximum(start, xp.zeros_like(start)), xp.full_like(start, last))
        else:
            fits = (start >= 0) & (start <= last)
            valid = fits if valid is None else valid & fits
            start = xp.where(fits, start, xp.zeros_like(start))
        starts[axis] = start
    return starts, valid, _add_fixed(xp, name, layout, starts, indices, shape)


def _add_fixed(xp, name, layout, starts, indices, shape):
    """Add the starts along axes without numbers in index vectors, and return the lengths of the axes of these."""
    lengths = tuple([indices.shape[b] for b in layout.batch])
    for axis in layout.first:
        if math.prod(lengths) and not shape[axis]:
            raise IndexRangeError(name, 0, axis, 0)
    for axis, position in layout.batching:
        starts[axis] = xp.broadcast_to(_at(position, len(lengths), xp.integers(lengths[position]), xp), lengths)
    return lengths


def _positions(xp, layout, starts, lengths, shape, sizes):
    """Return flat positions: axes of index vectors first, then the axes `wide` and `free` of windows."""
    windowed = (*layout.wide, *layout.free)
    flat = xp.filled(lengths, 0, INT)
    for axis, start in starts.items():
        flat = flat + start * math.prod(shape[axis + 1 :])
    flat = xp.reshape(flat, (*lengths, *(1,) * len(windowed)))
    for i, axis in enumerate(windowed):
        steps = xp.integers(sizes[axis]) * math.prod(shape[axis + 1 :])
        flat = flat + _at(len(lengths) + i, len(lengths) + len(windowed), steps, xp)
    return xp.broadcast_to(flat, (*lengths, *[sizes[axis] for axis in windowed]))


def _beside(xp, valid, rank):
    """Return a test of index vectors with an axis for each axis of windows."""
    return xp.reshape(valid, (*valid.shape, *(1,) * (rank - valid.ndim)))


def _gather(xp, operand, indices, *, slice_sizes, mode, fill_value, **numbers):
    layout = layout_of(ga.windows_of(numbers, ga.GATHER), operand.ndim, indices.ndim)
    starts, valid, lengths = _starts(xp, "gather", layout, indices, operand.shape, slice_sizes, mode)
    flat = _positions(xp, layout, starts, lengths, operand.shape, slice_sizes)
    if math.prod(operand.shape) == 0:
        windows = xp.full(flat.shape, 0 if fill_value is None else fill_value, dtype=operand.dtype, device=xp.device)
    else:
        windows = xp.take(xp.reshape(operand, (-1,)), xp.reshape(flat, (-1,)), axis=0)
        windows = xp.reshape(windows, flat.shape)
        if valid is not None:
            windows = xp.where(_beside(xp, valid, windows.ndim), windows, xp.full_like(windows, fill_value))
    return xp.permute_dims(windows, layout.to_result)


def _scattered(xp, name, how, operand, indices, updates, mode, numbers):
    layout = layout_of(ga.windows_of(numbers, ga.SCATTER), operand.ndim, indices.ndim)
    sizes = [1] * operand.ndim
    for axis, position in zip(layout.windowed, layout.offset, strict=True):
        sizes[axis] = updates.shape[position]
    starts, valid, lengths = _starts(xp, name, layout, indices, operand.shape, sizes, mode)
    if math.prod(updates.shape) == 0 or math.prod(operand.shape) == 0:
        return xp.copied(operand)
    rows, count = xp.permute_dims(updates, layout.order), math.prod(operand.shape)
    flat = _positions(xp, layout, starts, lengths, operand.shape, sizes)
    target = xp.reshape(operand, (-1,))
    if valid is not None:  # what is out of range goes to an element behind the last
        flat = xp.where(_beside(xp, valid, flat.ndim), flat, xp.full_like(flat, count))
        target = xp.concat((target, target[:1]), axis=0)
    out = put(xp, how, target, xp.reshape(flat, (-1,)), xp.reshape(rows, (-1,)))
    return xp.reshape(out[:count], operand.shape)


def put(xp, how, target, positions, rows):
    """Return a target combined with rows at positions; of several that are set at one position, the last one stays."""
    if how != "set":
        return xp.combined(how, target, positions, rows)
    before = xp.filled((target.shape[0],), -1, INT)
    last = xp.combined("maximum", before, positions, xp.integers(rows.shape[0]))
    written = xp.take(rows, xp.maximum(last, xp.zeros_like(last)), axis=0)
    return xp.where(_beside(xp, last >= 0, written.ndim), written, target)


def _scatter(kind, how):
    def run(xp, operand, indices, updates, *, mode, unique_indices, **numbers):
        return _scattered(xp, f"scatter_{kind}", how, operand, indices, updates, mode, numbers)

    return run


def _scatter_sums(xp, indices, updates, *, shape, mode, unique_indices, **numbers):
    zeros = xp.zeros(tuple(shape), dtype=updates.dtype, device=xp.device)
    return _scattered(xp, "scatter_add", "add", zeros, indices, updates, mode, numbers)


def _segments(how, empty):
    def run(xp, x, ids, *, size):
        dtype = numpy_dtype(x)
        counted = np.dtype(np.int8) if dtype.kind == "b" else dtype
        out = xp.convert(xp.filled((size, *x.shape[1:]), np.asarray(empty(dtype)).item(), dtype), counted)
        if math.prod(x.shape):
            out = xp.combined(how, out, xp.convert(ids, INT), xp.convert(x, counted))
        return xp.convert(out, dtype)

    return run


for _op in (ga.gather_op, ga.gather_dynamic_op):
    kernel(_op, _gather, reads=_READS)
for _kind, _how in (("add", "add"), ("set", "set"), ("mul", "multiply"), ("min", "minimum"), ("max", "maximum")):
    kernel(ga.SCATTERS[_kind], _scatter(_kind, _how), reads=_READS)
kernel(scatter_sums_op, _scatter_sums, reads=_READS)
kernel(ga.segment_max_op, _segments("maximum", least_value))
kernel(ga.segment_min_op, _segments("minimum", largest_value))
kernel(ga.segment_prod_op, _segments("multiply", lambda dtype: 1))
kernel(ga.segment_sum_op, _segments("add", lambda dtype: 0))

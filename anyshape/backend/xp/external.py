"""Kernels of filters: windows are taken at the positions that they reach, and beyond the ends at what stands there."""

import math

import numpy as np

from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.backend.xp.fourier import along_axis
from anyshape.backend.xp.libraries import kernel, numpy_dtype
from anyshape.ops import external as ex


def _for_each(run):
    """Return a kernel that runs once, or for each example along the first axis of its operands."""

    def run_each(xp, *xs, each, axes, **params):
        if not each:
            return run(xp, *xs, axes=axes, **params)
        axes, count = tuple([a - 1 for a in axes]), xs[0].shape[0]
        parts = [[x[i, ...] for x in xs] for i in range(count)] or [[xp.zeros_like(x[:1, ...])[0] for x in xs]]
        return xp.stack([run(xp, *part, axes=axes, **params) for part in parts])[:count, ...]

    return run_each


def _inside(xp, position, n, mode):
    """Return which element of n stands at positions, as NumPy's kernels have it."""
    zero, last = xp.zeros_like(position), xp.full_like(position, n - 1)
    if mode in ("nearest", "constant"):
        return xp.minimum(xp.maximum(position, zero), last)
    if mode == "wrap":
        return position % n
    mirrors = mode == "mirror"
    period = max(2 * n - 2 * mirrors, 1)
    turned = position % period
    return xp.minimum(turned, period - turned - int(not mirrors))


def _reached(xp, axis, n, count, before, size, mode):
    """Return the elements that windows at so many positions reach along an axis, and which of them exist."""
    at = xp.integers(count)[:, None] + xp.integers(size)[None, :] - before
    return _inside(xp, at, n, mode), (at >= 0) & (at < n) if mode == "constant" else at == at


def _windows(xp, x, axes, counts, before, window, mode, fill=0):
    """Return windows of x, whose elements stand along last axes."""
    for axis, count, low, k in zip(axes, counts, before, window, strict=True):
        elements, exist = _reached(xp, axis, x.shape[axis], count, low, k, mode)
        parts = xp.take(x, xp.reshape(elements, (-1,)), axis=axis)
        parts = xp.reshape(parts, (*x.shape[:axis], count, k, *x.shape[axis + 1 :]))
        if mode == "constant":
            exist = xp.reshape(exist, (*(1,) * axis, count, k, *(1,) * (x.ndim - axis - 1)))
            parts = xp.where(exist, parts, xp.full_like(parts, fill))
        x = xp.moveaxis(parts, axis + 1, -1)
    return x


def _flat(xp, x, window):
    """Return windows with their elements in one axis."""
    return xp.reshape(x, (*x.shape[: x.ndim - len(window)], math.prod(window)))


def _correlate(xp, x, w, *, axes, before, mode, running):
    if not math.prod(x.shape):
        return x
    window = tuple(w.shape)
    parts = _windows(xp, x, axes, [x.shape[a] for a in axes], before, window, mode)
    return xp.matmul(_flat(xp, parts, window), xp.reshape(w, (-1,)))


def _added_back(xp, x, w, *, axes, before, mode, running):
    """Add each element, times the weights, to the elements that its window reaches."""
    if not math.prod(x.shape):
        return x
    rank, count = x.ndim + w.ndim, math.prod(x.shape)
    flat, exist = 0, None
    for axis, n in enumerate(x.shape):
        step = math.prod(x.shape[axis + 1 :])
        if axis not in axes:
            flat = flat + xp.reshape(xp.integers(n) * step, tuple([n if i == axis else 1 for i in range(rank)]))
            continue
        i = axes.index(axis)
        elements, inside = _reached(xp, axis, n, n, before[i], w.shape[i], mode)
        shape = tuple([n if j == axis else w.shape[i] if j == x.ndim + i else 1 for j in range(rank)])
        flat, inside = flat + xp.reshape(elements * step, shape), xp.reshape(inside, shape)
        exist = inside if exist is None else exist & inside
    values = xp.reshape(x, (*x.shape, *(1,) * w.ndim)) * w
    values = xp.where(exist, values, xp.zeros_like(values))
    flat = xp.reshape(xp.broadcast_to(flat, values.shape), (-1,))
    zeros = xp.zeros((count,), dtype=x.dtype, device=xp.device)
    return xp.reshape(xp.combined("add", zeros, flat, xp.reshape(values, (-1,))), x.shape)


def _weigh(xp, x, y, *, axes, before, window, mode):
    if not math.prod(x.shape):
        return xp.zeros(tuple(window), dtype=x.dtype, device=xp.device)
    parts = _windows(xp, x, axes, [y.shape[a] for a in axes], before, window, mode)
    sums = xp.matmul(xp.reshape(y, (1, -1)), xp.reshape(parts, (-1, math.prod(window))))
    return xp.reshape(sums, tuple(window))


def _ranked(xp, x, footprint, *, axes, before, mode, fill, rank, box):
    """Sort windows, whose other elements stand behind the ones that are asked for."""
    if not math.prod(x.shape):
        return x
    window, dtype = tuple(footprint.shape), numpy_dtype(x)
    parts = _windows(xp, x, axes, [x.shape[a] for a in axes], before, window, mode, fill)
    end = np.asarray((largest_value if rank >= 0 else least_value)(dtype)).item()
    parts = _flat(xp, xp.where(footprint, parts, xp.full_like(parts, end)), window)
    if box:
        return (xp.max if rank else xp.min)(parts, axis=(-1,))
    return xp.sort(parts, axis=-1)[..., rank]


along_axis(ex.spline_filter_op)
kernel(ex.correlate_op, _for_each(_correlate))
kernel(ex.spread_op, _for_each(_added_back))
kernel(ex.weigh_op, _for_each(_weigh))
kernel(ex.ranked_op, _ranked)

"""Kernels of functions of other libraries."""

import functools
import math
import sys

import numpy as np

from anyshape.ops import external as ex
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_ndimage, scipy_signal


def _for_each(function):
    """Return a kernel that runs once, or for each example along the first axis of its operands."""

    @functools.wraps(function)
    def run(*xs, each, **params):
        if not each:
            return function(*xs, **params)
        if "axes" in params:
            params["axes"] = tuple([a - 1 for a in params["axes"]])
        examples = list(zip(*xs)) or [tuple([np.zeros(x.shape[1:], x.dtype) for x in xs])]
        results = [function(*parts, **params) for parts in examples]
        if isinstance(results[0], tuple):
            return tuple([np.stack(parts)[: len(xs[0])] for parts in zip(*results)])
        return np.stack(results)[: len(xs[0])]

    return run


def _correlate(x, w, *, axes, before, mode, running):
    if not x.size:
        return np.zeros_like(x)
    origins = [b - k // 2 for b, k in zip(before, w.shape)]
    if running:
        out = x
        for axis, size, origin in zip(axes, w.shape, origins):
            out = scipy_ndimage.uniform_filter1d(out, size, axis, x.dtype, mode, 0.0, origin)
        return out
    scale = _scale(w)
    if scale != 1:
        whole = {"axes": axes, "before": before, "mode": mode, "running": False}
        return _correlate(x, w * w.dtype.type(scale), **whole) / x.dtype.type(scale)
    if w.dtype.kind == "c":
        w = w.conj()  # SciPy takes conjugates of weights
    if len(axes) == 1:
        return scipy_ndimage.correlate1d(x, w, axes[0], x.dtype, mode, 0.0, origins[0])
    shape, origin = [1] * x.ndim, [0] * x.ndim
    for axis, k, o in zip(axes, w.shape, origins):
        shape[axis], origin[axis] = k, o
    weights = np.transpose(w, np.argsort(axes)).reshape(shape)
    return scipy_ndimage.correlate(x, weights, x.dtype, mode, 0.0, origin)


def _scale(w):
    """Return a power of 2 for weights: SciPy takes differences of 2e-16 for symmetry, and weights of that size for 0.

    Tangents and cotangents, of any size, may stand for weights.
    """
    parts = [part.ravel().tolist() for part in ((w.real, w.imag) if w.dtype.kind == "c" else (w,))]
    if not any(_is_tiny(v) or _is_tiny(v - u) or _is_tiny(v + u) for part in parts for u, v in zip(part, part[::-1])):
        return 1.0
    largest = max(abs(v) for part in parts for v in part)
    exponent = -math.frexp(largest)[1] if math.isfinite(largest) else 0
    return 2.0 ** min(max(exponent, 0), np.finfo(w.dtype).maxexp - 1)


def _is_tiny(number):
    return 0 < abs(number) <= sys.float_info.epsilon


def _spread_weights(x, w, *, axes, before, mode, running):
    """Correlate with weights in reverse over all positions that windows reach, and add those beyond the ends."""
    if not x.size:
        return np.zeros_like(x)
    shape, inner = list(x.shape), [slice(None)] * x.ndim
    for axis, k in zip(axes, w.shape):
        inner[axis] = slice(0, shape[axis])
        shape[axis] += k - 1
    reached = np.zeros(shape, x.dtype)
    reached[tuple(inner)] = x
    last = tuple([k - 1 for k in w.shape])
    out = _correlate(reached, np.flip(w), axes=axes, before=last, mode="constant", running=running)
    for axis, low, n in zip(axes, before, [x.shape[a] for a in axes]):
        out = _folded(out, axis, low, n, mode)
    return out


def _folded(x, axis, before, n, mode):
    """Return n elements along an axis, with those beyond the ends added to the elements that they repeat, in place."""
    x = np.moveaxis(x, axis, 0)
    out = x[before : before + n]
    if mode != "constant":
        elements = _elements(n, before, len(x) - n - before, mode)
        for i in (*range(before), *range(before + n, len(x))):
            out[elements[i]] += x[i]
    return np.moveaxis(out, 0, axis)


def _elements(n, before, after, mode):
    """Return which element of n stands at each position from `before` before the first to `after` after the last."""
    position = np.arange(-before, n + after)
    if mode == "nearest":
        return np.clip(position, 0, n - 1)
    if mode == "wrap":
        return position % n
    mirrors = mode == "mirror"
    period = max(2 * n - 2 * mirrors, 1)
    turned = position % period
    return np.minimum(turned, period - turned - (not mirrors))


def _weigh(x, y, *, axes, before, window, mode):
    if x.size:
        for axis, low, k in zip(axes, before, window):
            x = _extended(x, axis, low, k - 1 - low, mode)
    sums = np.zeros(window, x.dtype)
    for at in np.ndindex(*window) if x.size else ():
        part = [slice(None)] * x.ndim
        for axis, i in zip(axes, at):
            part[axis] = slice(i, i + y.shape[axis])
        sums[at] = np.tensordot(x[tuple(part)], y, y.ndim)
    return sums


def _extended(x, axis, before, after, mode, fill=0):
    n = x.shape[axis]
    if mode != "constant":
        return np.take(x, _elements(n, before, after, mode), axis)
    fill = np.asarray(fill).astype(x.dtype)  # as C converts it
    return np.pad(x, [(before, after) if a == axis else (0, 0) for a in range(x.ndim)], constant_values=fill)


def _lfilter(x, b, c, z, *, ends, sections):
    """Run sections by SciPy. Its function for many sections takes some of second order, and passes over x once."""
    x, end = (x, z) if x.size else (x.copy(), z.copy())  # or results would be operands
    if x.size:
        a = np.concatenate([np.ones((len(c), 1), c.dtype), -c], 1)
        states = np.moveaxis(z.reshape(*z.shape[:-1], sections, z.shape[-1] // sections), -2, 0)
        if sections > 1 and b.shape[1] == a.shape[1] == 3:
            x, end = scipy_signal.sosfilt(np.concatenate([b, a], 1), x, zi=states)
        else:
            end = np.empty_like(states)
            for i, row in enumerate(b):
                x, end[i] = scipy_signal.lfilter(row, a[i], x, zi=states[i])
        end = np.moveaxis(end, 0, -2).reshape(z.shape)
    return (x, end) if ends else x


# -- ranks of windows


def _ranked(x, footprint, *, axes, before, mode, fill, rank, box):
    if not x.size:
        return x.copy()
    shape, origin = [1] * x.ndim, [0] * x.ndim
    for axis, k, low in zip(axes, footprint.shape, before):
        shape[axis], origin[axis] = k, low - k // 2
    if box:
        extreme = scipy_ndimage.maximum_filter if rank else scipy_ndimage.minimum_filter
        return extreme(x, tuple(shape), None, x.dtype, mode, fill, origin)
    order = np.argsort(axes)
    mask = np.transpose(footprint, order).reshape(shape)
    if len(axes) == 1 or rank in (0, -1):
        return scipy_ndimage.rank_filter(x, rank, None, mask, x.dtype, mode, fill, origin)
    low = [k // 2 + o for k, o in zip(shape, origin)]
    return _parted(_reached(x, mask, range(x.ndim), low, mode, fill), mask, rank, x.shape)


def _parted(x, mask, rank, shape):
    """Return the element of a rank of each window of a continued array: by NumPy, in a sixth of SciPy's time."""
    windows = np.lib.stride_tricks.sliding_window_view(x, mask.shape)
    out = np.empty(shape, x.dtype)
    rows = max(1, ex.BLOCK * len(out) // (mask.size * out.size * x.itemsize))
    for start in range(0, len(out), rows):
        block = windows[start : start + rows][..., mask]
        out[start : start + rows] = np.partition(block, rank, axis=-1)[..., rank]
    return out


def _windows(arrays, footprint, axes, counts):
    """Give the parts of continued arrays at each position of a footprint."""
    for at in np.argwhere(footprint):
        part = [slice(None)] * arrays[0].ndim
        for axis, i, n in zip(axes, at, counts):
            part[axis] = slice(i, i + n)
        yield [a[tuple(part)] for a in arrays]


def _reached(x, footprint, axes, before, mode, fill):
    for axis, low, k in zip(axes, before, footprint.shape):
        x = _extended(x, axis, low, k - 1 - low, mode, fill)
    return x


def _tied(x, y, t, footprint, *, axes, before, mode, fill, beyond):
    sums = np.zeros_like(t)
    if t.size:
        arrays = [_reached(a, footprint, axes, before, mode, end) for a, end in ((x, fill), (t, beyond))]
        add = _masked_sum(t)
        for values, part in _windows(arrays, footprint, axes, [t.shape[a] for a in axes]):
            add(sums, part, values == y)
    return sums


def _masked_sum(t):
    """Return the function that adds an array to sums where a mask is true; a product takes a third of the time."""
    if np.isfinite(t).all():
        return lambda sums, part, mask: np.add(sums, part * mask, out=sums)
    return lambda sums, part, mask: np.add(sums, part, out=sums, where=mask)


def _untied(x, y, t, footprint, *, axes, before, mode, fill, beyond):
    if not t.size:
        return np.zeros_like(t)
    values = _reached(x, footprint, axes, before, mode, fill)
    sums = np.zeros(values.shape, t.dtype)
    add = _masked_sum(t)
    for window, part in _windows([values, sums], footprint, axes, [t.shape[a] for a in axes]):
        add(part, t, window == y)
    for axis, low in zip(axes, before):
        sums = _folded(sums, axis, low, t.shape[axis], mode)
    return sums


kernel(ex.correlate_op, _for_each(_correlate))
kernel(ex.spread_op, _for_each(_spread_weights))
kernel(ex.weigh_op, _for_each(_weigh))
kernel(ex.lfilter_op, _for_each(_lfilter))
kernel(ex.ranked_op, _ranked)
kernel(ex.tied_op, _tied)
kernel(ex.untied_op, _untied)

"""Kernels of filters: windows are taken at the positions that they reach, and beyond the ends at what stands there."""

import itertools
import math

import numpy as np

from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.backend.xp.fourier import along_axis
from anyshape.backend.xp.interpolation import inside, interpolate
from anyshape.backend.xp.libraries import kernel, numpy_dtype
from anyshape.ops import external as ex


def _for_each(run):
    """Return a kernel that runs once, or for each example along the first axis of its operands."""

    def run_each(xp, *xs, each, axes=(), **params):
        if not each:
            return run(xp, *xs, axes=axes, **params)
        axes, count = tuple([a - 1 for a in axes]), xs[0].shape[0]
        parts = [[x[i, ...] for x in xs] for i in range(count)] or [[xp.zeros_like(x[:1, ...])[0] for x in xs]]
        return xp.stack([run(xp, *part, axes=axes, **params) for part in parts])[:count, ...]

    return run_each


def _reached(xp, axis, n, count, before, size, mode):
    """Return the elements that windows at so many positions reach along an axis, and which of them exist."""
    at = xp.integers(count)[:, None] + xp.integers(size)[None, :] - before
    return inside(xp, at, n, mode), (at >= 0) & (at < n) if mode == "constant" else at == at


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
    return _scattered(xp, xp.reshape(x, (*x.shape, *(1,) * w.ndim)) * w, tuple(x.shape), axes, before, mode)


def _scattered(xp, values, shape, axes, before, mode):
    """Add values of windows, whose elements stand along last axes, to the elements of an array that these reach."""
    rank, count, flat, exist = values.ndim, math.prod(shape), 0, None
    for axis, n in enumerate(shape):
        step = math.prod(shape[axis + 1 :])
        if axis not in axes:
            flat = flat + xp.reshape(xp.integers(n) * step, tuple([n if i == axis else 1 for i in range(rank)]))
            continue
        i = axes.index(axis)
        k = values.shape[len(shape) + i]
        elements, is_inside = _reached(xp, axis, n, n, before[i], k, mode)
        sides = tuple([n if j == axis else k if j == len(shape) + i else 1 for j in range(rank)])
        flat, is_inside = flat + xp.reshape(elements * step, sides), xp.reshape(is_inside, sides)
        exist = is_inside if exist is None else exist & is_inside
    values = xp.where(exist, values, xp.zeros_like(values))
    flat = xp.reshape(xp.broadcast_to(flat, values.shape), (-1,))
    zeros = xp.zeros((count,), dtype=values.dtype, device=xp.device)
    return xp.reshape(xp.combined("add", zeros, flat, xp.reshape(values, (-1,))), shape)


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


def _tied(xp, x, y, t, footprint, *, axes, before, mode, fill, beyond, back):
    """Add up the elements of t whose own elements of x equal that of y in a window, NaN being one, or back again."""
    if not math.prod(t.shape):
        return xp.zeros_like(t)
    window, counts = tuple(footprint.shape), [t.shape[a] for a in axes]
    parts = _windows(xp, x, axes, counts, before, window, mode, fill)
    y = xp.reshape(y, (*y.shape, *(1,) * len(window)))
    same = footprint & ((parts == y) | ((parts != parts) & (y != y)))
    if back:
        own = xp.reshape(t, y.shape)
        return _scattered(xp, xp.where(same, own, xp.zeros_like(own)), tuple(t.shape), axes, before, mode)
    reached = _windows(xp, t, axes, counts, before, window, mode, beyond)
    return xp.sum(_flat(xp, xp.where(same, reached, xp.zeros_like(reached)), window), axis=(-1,), dtype=t.dtype)


def _binary_steps(xp, x, mask=None, *, structure, sides, origin, steps, border, dilate):
    """Step as often as is asked, or until nothing changes, which is read after each step."""
    if not math.prod(x.shape):
        return x
    step = _binary_step(xp, np.array(structure, bool).reshape(sides), origin, border, dilate)
    for _ in range(steps) if steps else itertools.count():
        before, x = x, step(x) if mask is None else xp.where(mask, step(x), x)
        if not steps and not (xp.checks and bool(xp.any(before != x))):
            break
    return x


def _binary_step(xp, shape, origin, border, dilate):
    """Return the function that erodes or dilates once; a dilation turns the structure round."""
    low = [k // 2 + o for k, o in zip(shape.shape, origin, strict=True)]
    if dilate:
        shape, low = np.flip(shape), [k - 1 - n for k, n in zip(shape.shape, low, strict=True)]
    sides, structure = shape.shape, xp.array(shape)

    def step(x):
        parts = _windows(xp, x, tuple(range(x.ndim)), x.shape, low, sides, "constant", border)
        if dilate:
            return xp.any(_flat(xp, parts & structure, sides), axis=-1)
        return xp.all(_flat(xp, parts | ~structure, sides), axis=-1)

    return step


def _upfirdn(xp, x, h, *, axes, up, down):
    """Give each result the elements of x and of the filter that meet in it."""
    size = max((x.shape[-1] - 1) * up + h.shape[-1], 0)
    at = xp.integers(-(-size // down))[:, None] * down
    taps = xp.integers(-(-h.shape[-1] // up))[None, :]
    if not (math.prod(x.shape) and math.prod(h.shape)):
        return xp.zeros((*x.shape[:-1], at.shape[0]), dtype=x.dtype, device=xp.device)
    element, weight = at // up - taps, at % up + taps * up
    meet = (element >= 0) & (element < x.shape[-1]) & (weight < h.shape[-1])
    element, weight = (xp.reshape(xp.where(meet, v, xp.zeros_like(v)), (-1,)) for v in (element, weight))
    weights = xp.reshape(xp.take(h, weight, axis=-1), meet.shape)
    parts = xp.reshape(xp.take(x, element, axis=-1), (*x.shape[:-1], *meet.shape)) * weights
    return xp.sum(xp.where(meet, parts, xp.zeros_like(parts)), axis=(-1,), dtype=x.dtype)


def _lfilter(xp, x, b, c, z, *, axes, ends, sections):
    if not math.prod(x.shape):
        return (xp.copied(x), xp.copied(z)) if ends else xp.copied(x)
    order, states = z.shape[-1] // sections, []
    for i in range(sections):
        x, after = _section(xp, x, b[i, :], c[i, :], [z[..., i * order + j] for j in range(order)])
        states += after
    return (x, xp.stack(states, axis=-1) if states else z) if ends else x


def _section(xp, x, b, c, states):
    """Run a recursive filter, one element of the lines after the other; return its results and the last states."""
    weights = lambda row, j: row[j] if j < row.shape[0] else 0.0
    moves, values = [(weights(b, j + 1), weights(c, j)) for j in range(len(states))], []
    for t in range(x.shape[-1]):
        element = x[..., t]
        value = b[0] * element + (states[0] if states else 0)
        after = [*states[1:], xp.zeros_like(value)] if states else []
        states = [p * element + q * value + s for (p, q), s in zip(moves, after, strict=True)]
        values.append(value)
    return xp.stack(values, axis=-1), states


along_axis(ex.spline_filter_op)
kernel(ex.correlate_op, _for_each(_correlate))
kernel(ex.spread_op, _for_each(_added_back))
kernel(ex.weigh_op, _for_each(_weigh))
kernel(ex.interpolate_op, _for_each(interpolate))
kernel(ex.ranked_op, _ranked)
kernel(ex.tied_op, _tied)
kernel(ex.binary_steps_op, _binary_steps, reads="whether a step changed the image")
kernel(ex.upfirdn_op, _for_each(_upfirdn))
kernel(ex.lfilter_op, _for_each(_lfilter))

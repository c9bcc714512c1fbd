"""Kernels of convolutions and of reductions of windows: elements are taken at the positions that windows reach."""

import math

import numpy as np

from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.backend.xp.contraction import multiplied
from anyshape.backend.xp.libraries import INT, kernel, numpy_dtype
from anyshape.ops import windows as wd


def _along(axis, rank, x, xp):
    """Return a matrix with its axes at two neighbouring axes of so many."""
    return xp.reshape(x, tuple([x.shape[0] if i == axis else x.shape[1] if i == axis + 1 else 1 for i in range(rank)]))


def _windows(xp, x, window, low, sizes, strides, dilation, window_dilation):
    """Return the elements that windows reach, which of them exist, and their flat positions.

    Each spatial axis becomes two: one of results, and one of elements of a window.
    """
    first = x.ndim - len(sizes)
    rank, spatial = first + 2 * len(sizes), tuple(x.shape[first:])
    valid = flat = None
    for i, move in enumerate(zip(sizes, window, strides, window_dilation, low, dilation, spatial, strict=True)):
        n, k, stride, step, a, d, size = move
        axis = first + 2 * i
        at = xp.integers(n)[:, None] * stride + xp.integers(k)[None, :] * step - a
        source = at // d
        inside = (source * d == at) & (source >= 0) & (source < size)
        position = xp.where(inside, source, xp.zeros_like(source))
        if size:
            x = xp.take(x, xp.reshape(position, (-1,)), axis=axis)
            x = xp.reshape(x, (*x.shape[:axis], n, k, *x.shape[axis + 1 :]))
        else:
            x = xp.zeros((*x.shape[:axis], n, k, *x.shape[axis + 1 :]), dtype=x.dtype, device=xp.device)
        inside, position = (_along(axis, rank, v, xp) for v in (inside, position))
        valid = inside if valid is None else valid & inside
        flat = position if flat is None else flat * size + position
    return x, valid, flat


def _fill(xp, x, valid, value):
    return x if valid is None else xp.where(valid, x, xp.full_like(x, value))


def _behind(xp, x, spatial):
    """Return windows with their elements in one last axis."""
    first = x.ndim - 2 * spatial
    results, elements = range(first, x.ndim, 2), range(first + 1, x.ndim, 2)
    x = xp.permute_dims(x, (*range(first), *results, *elements))
    return xp.reshape(x, (*x.shape[: first + spatial], math.prod(x.shape[first + spatial :])))


def _reduction(name, value):
    def run(xp, x, *, window, low, sizes, strides, dilation, window_dilation):
        fill = np.asarray(value(numpy_dtype(x))).item()
        parts, valid, _ = _windows(xp, x, window, low, sizes, strides, dilation, window_dilation)
        if valid is None:
            return x
        parts = _behind(xp, _fill(xp, parts, valid, fill), len(sizes))
        if not math.prod(window):
            return xp.full(tuple(parts.shape[:-1]), fill, dtype=x.dtype, device=xp.device)
        if xp.kind(x) == "b":
            return (xp.all if name == "min" else xp.any)(parts, axis=-1)
        return xp.sum(parts, axis=(-1,), dtype=x.dtype) if name == "sum" else getattr(xp, name)(parts, axis=(-1,))

    return run


def _position(name, worst):
    """Return the kernel that gives where the first extreme of each window is, -1 for windows of no elements."""

    def run(xp, x, *, window, low, sizes, strides, dilation, window_dilation):
        spatial, first = len(sizes), x.ndim - len(sizes)
        parts, valid, flat = _windows(xp, x, window, low, sizes, strides, dilation, window_dilation)
        shape = (*x.shape[:first], *sizes)
        if not (math.prod(window) and math.prod(x.shape) and math.prod(sizes)):
            return xp.filled(shape, -1, INT)
        value = np.asarray(worst(numpy_dtype(x))).item()
        whole = parts.shape
        valid, flat = (_behind(xp, xp.broadcast_to(v, whole), spatial) for v in (valid, flat))
        parts = _fill(xp, _behind(xp, parts, spatial), valid, value)
        best = getattr(xp, name)(parts, axis=(-1,))[..., None]
        is_best = valid & ((parts == best) | ((parts != parts) & (best != best)))
        chosen = xp.convert(xp.argmax(xp.convert(is_best, np.dtype(np.int8)), axis=-1), INT)
        position = xp.take_along_axis(flat, chosen[..., None], axis=-1)[..., 0]
        return xp.where(xp.any(valid, axis=-1), position, xp.full_like(position, -1))

    return run


def _convolution(xp, x, w, *, batch, contract, method, low, sizes, strides, dilation, window_dilation):
    spatial = len(sizes)
    window = w.shape[w.ndim - spatial :]
    free_x, free_w = (tuple(v.shape[batch : v.ndim - spatial - contract]) for v in (x, w))
    stack = tuple(x.shape[:batch])
    shape = (*stack, *free_x, *free_w, *sizes)
    if not (math.prod(x.shape) and math.prod(w.shape) and math.prod(sizes)):
        return xp.zeros(shape, dtype=x.dtype, device=xp.device)
    parts, valid, _ = _windows(xp, x, window, low, sizes, strides, dilation, window_dilation)
    parts = _fill(xp, parts, valid, 0)
    first, outer = parts.ndim - 2 * spatial, batch + len(free_x)
    results, elements = range(first, parts.ndim, 2), range(first + 1, parts.ndim, 2)
    parts = xp.permute_dims(parts, (*range(outer), *results, *range(outer, first), *elements))
    rows, columns = math.prod(free_x) * math.prod(sizes), math.prod(free_w)
    parts = xp.reshape(parts, (*stack, rows, -1))
    weights = xp.matrix_transpose(xp.reshape(w, (*stack, columns, -1)))
    out = xp.reshape(multiplied(xp, parts, weights), (*stack, math.prod(free_x), math.prod(sizes), columns))
    return xp.reshape(xp.matrix_transpose(out), shape)


def _sliding(xp, x, *, axis, length, back):
    if not back:
        count = x.shape[axis] - length + 1
        at = xp.reshape(xp.integers(count)[:, None] + xp.integers(length)[None, :], (-1,))
        parts = xp.take(x, at, axis=axis)
        parts = xp.reshape(parts, (*x.shape[:axis], count, length, *x.shape[axis + 1 :]))
        return xp.moveaxis(parts, axis + 1, -1)
    parts = xp.moveaxis(xp.moveaxis(x, -1, 0), axis + 1, 0)
    count, length, *rest = parts.shape
    at = xp.reshape(xp.integers(count)[:, None] + xp.integers(length)[None, :], (-1,))
    zeros = xp.zeros((count + length - 1, math.prod(rest)), dtype=x.dtype, device=xp.device)
    sums = xp.combined("add", zeros, at, xp.reshape(parts, (count * length, math.prod(rest))))
    return xp.moveaxis(xp.reshape(sums, (count + length - 1, *rest)), 0, axis)


kernel(wd.convolution_op, _convolution)
kernel(wd.sliding_op, _sliding)
kernel(wd.window_sum_op, _reduction("sum", lambda dtype: dtype.type(0)))
kernel(wd.window_max_op, _reduction("max", least_value))
kernel(wd.window_min_op, _reduction("min", largest_value))
kernel(wd.window_argmax_op, _position("max", least_value))
kernel(wd.window_argmin_op, _position("min", largest_value))

"""Kernels of convolutions and of reductions of windows.

A convolution is one matrix product for each example, with windows as columns. Where windows move by one element along
the first axis, their elements along it share columns. Where a transform is cheaper, and all elements are finite,
products of transforms stand in for it.

Traits of convolutions and of reductions of windows.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from anyshape.backend.compiler.op_traits import OPAQUE, bytes_of, declare, total_bytes
from anyshape.backend.compiler.plan import Step
from anyshape.backend.numpy.creation import filled
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import kernel
from anyshape.ops.core.flop_counts import elements
from anyshape.support.packages import scipy_fft, scipy_signal

_BLOCK = 1 << 20  # bytes of columns that are made at once: they stay in the cache until their product is done


# -- operands ----------------------------------------------------------------------------------------------------


def _lengths(sizes, strides, window, window_dilation):
    """Return how many positions windows reach along each axis, from the first to the last; all sizes are above 0."""
    each = zip(sizes, strides, window, window_dilation, strict=True)
    return [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in each]


def _extended(x, low, lengths, dilation, fill):
    """Return the positions -low, -low + 1, ... of the last axes: a view of x where it has all of them."""
    first = x.ndim - len(lengths)
    source, target, is_whole = [slice(None)] * first, [slice(None)] * first, True
    for n, a, length, d in zip(x.shape[first:], low, lengths, dilation, strict=True):
        start = max(0, -(a // d))  # the first element at a position that is read
        stop = max(start, min(n, -((a - length) // d)))
        source.append(slice(start, stop))
        target.append(slice(start * d + a, (stop - 1) * d + a + 1 if stop > start else start * d + a, d))
        is_whole &= d == 1 and stop - start == length
    part = x[tuple(source)]
    if is_whole:
        return part
    result = filled((*x.shape[:first], *lengths), fill, x.dtype)
    if part.size:
        result[tuple(target)] = part
    return result


# -- convolutions ------------------------------------------------------------------------------------------------


def _convolution(x, w, *, batch, contract, method, low, sizes, strides, dilation, window_dilation):
    if not sizes:
        x, w = x[..., None], w[..., None]
        moves = {"low": (0,), "sizes": (1,), "strides": (1,), "dilation": (1,), "window_dilation": (1,)}
        return _convolution(x, w, batch=batch, contract=contract, method=method, **moves)[..., 0]
    spatial = len(sizes)
    window = w.shape[w.ndim - spatial :]
    free = (*x.shape[batch : x.ndim - spatial - contract], *w.shape[batch : w.ndim - spatial - contract])
    shape = (*x.shape[:batch], *free, *sizes)
    if not (x.size and w.size and math.prod(sizes)):
        return np.zeros(shape, x.dtype)
    if x.dtype == np.float16:  # products of halves are summed in single precision
        options = {"batch": batch, "contract": contract, "method": method, "low": low, "sizes": sizes}
        options |= {"strides": strides, "dilation": dilation, "window_dilation": window_dilation}
        return _convolution(x.astype(np.float32), w.astype(np.float32), **options).astype(np.float16)
    x, w = (_merged(v, batch, contract, spatial) for v in (x, w))
    if method == "fft" or (method == "auto" and _is_transform_cheaper(x, w, sizes)):
        return _transformed(x, w, low, sizes, strides, dilation, window_dilation).reshape(shape)
    if x.shape[1] == x.shape[2] == w.shape[1] == spatial == strides[0] == dilation[0] == window_dilation[0] == 1:
        return _rows(x[:, 0, 0], w[:, 0, 0], low[0], sizes[0]).reshape(shape)
    product = _by_results if math.prod(sizes) >= math.prod(window) else _by_windows
    x = _extended(x, low, _lengths(sizes, strides, window, window_dilation), dilation, 0)
    return product(x, w, sizes, strides, window_dilation).reshape(shape)


def _merged(x, batch, contract, spatial):
    """Return an operand with one batch axis, one free axis, one contracted axis and the spatial axes."""
    outer, last = x.ndim - spatial - contract, x.ndim - spatial
    groups = x.shape[:batch], x.shape[batch:outer], x.shape[outer:last]
    return x.reshape((*map(math.prod, groups), *x.shape[last:]))


def _rows(x, w, low, size):
    """Convolve vectors by NumPy, which moves windows by one element."""
    (count, n), k = x.shape, w.shape[1]
    inside = low <= 0 and size - low <= n - k + 1
    result = np.zeros((count, size), x.dtype)
    for row in range(count):
        if inside and n >= k:
            result[row] = np.convolve(x[row], w[row, ::-1], "valid")[-low : size - low]
        else:
            full = np.convolve(x[row], w[row, ::-1])
            start, stop = k - 1 - low, k - 1 - low + size
            part = full[max(start, 0) : max(stop, 0)]
            at = max(-start, 0)
            result[row, at : at + part.size] = part
    return result


def _blocks(outer, inner, bytes_each):
    """Return slices of two axes whose elements take about a block together."""
    if (count := max(1, _BLOCK // max(bytes_each, 1))) >= inner:
        step = max(1, count // inner)
        return [(slice(i, i + step), slice(None)) for i in range(0, outer, step)]
    return [(slice(i, i + 1), slice(j, j + count)) for i in range(outer) for j in range(0, inner, count)]


def _chunks(count, bytes_each):
    """Return the ends of parts of an axis whose elements take about a block together."""
    step = max(1, _BLOCK // max(bytes_each, 1))
    return [(i, min(i + step, count)) for i in range(0, count, step)]


class _Space:
    """Memory that holds one array after another, since fresh memory takes as long as a product."""

    def __init__(self, dtype):
        self.memory = np.empty(0, dtype)

    def array(self, shape):
        """Return an array in the memory."""
        count = math.prod(shape)
        if self.memory.size < count:
            self.memory = np.empty(count, self.memory.dtype)
        return self.memory[:count].reshape(shape)


def _columns(x, start, outer, inner, space):
    """Return windows of x as a stack of matrices: a row for each channel and `outer`, a column for each `inner`.

    Both are numbers of elements along axes, each with the strides between them. x starts at an element of its first
    spatial axis.
    """
    sizes = [n for n, _ in (*outer, *inner)]
    steps = [step for _, step in (*outer, *inner)]
    windows = as_strided(x[:, :, :, start:], (*x.shape[:3], *sizes), (*x.strides[:3], *steps))
    if outer or len(inner) > 1:  # else they are a matrix as they are
        copied = space.array(windows.shape)
        np.copyto(copied, windows)
        windows = copied
    rows = x.shape[2] * math.prod([n for n, _ in outer])
    return windows.reshape((*x.shape[:2], rows, math.prod([n for n, _ in inner])))


def _axes(x, sizes, steps):
    """Return the sizes of windows with the strides between their elements, along the spatial axes of x."""
    return [(n, stride * step) for n, stride, step in zip(sizes, x.strides[3:], steps, strict=True)]


def _by_results(x, w, sizes, strides, dilation):
    """Multiply the window, as rows, by columns that hold what each result reads."""
    (examples, frames, channels), (filters, window) = x.shape[:3], (w.shape[1], w.shape[3:])
    results, elements = _axes(x, sizes, strides), _axes(x, window, dilation)
    rows, row = channels * math.prod(window[1:]), math.prod(sizes[1:])
    shares = strides[0] == 1 and (rows >= 8 or len(window) > 1)
    repeats, reach = (1, (window[0] - 1) * dilation[0]) if shares else (window[0], 0)
    out = np.empty((examples, frames, filters, sizes[0] * row), x.dtype)
    parts = w.reshape((examples, filters, channels, *((window[0],) if shares else ()), -1))
    parts = (
        np.moveaxis(parts, 3, 1).reshape((examples, 1, -1, rows))
        if shares
        else parts.reshape((examples, 1, filters, -1))
    )
    columns_space, products_space = _Space(x.dtype), _Space(x.dtype)
    for i, j in _blocks(examples, frames, repeats * rows * row * (sizes[0] + reach) * x.itemsize):
        for a, b in _chunks(sizes[0], repeats * rows * row * x.itemsize):
            along = (b - a + reach, results[0][1])
            outer = elements[1:] if shares else elements
            columns = _columns(x[i, j], a * strides[0], outer, [along, *results[1:]], columns_space)
            into = out[i, j, :, a * row : b * row]
            if not shares:
                np.matmul(parts[i], columns, out=into)
                continue
            products = products_space.array((*columns.shape[:2], window[0] * filters, columns.shape[3]))
            np.matmul(parts[i], columns, out=products)
            _add_shifted(products.reshape((*columns.shape[:2], window[0], filters, -1)), dilation[0] * row, into)
    return out


def _add_shifted(products, step, out):
    """Add products of each element of the window along the first axis, which reads further columns each time."""
    width = out.shape[-1]
    parts = [products[:, :, k, :, k * step : k * step + width] for k in range(products.shape[2])]
    if len(parts) == 1:
        out[...] = parts[0]
        return
    np.add(parts[0], parts[1], out)
    for part in parts[2:]:
        np.add(out, part, out)


def _by_windows(x, w, sizes, strides, dilation):
    """Multiply the window, as rows, by columns that hold what each of its elements meets: for few results."""
    (examples, frames, channels), (filters, window) = x.shape[:3], (w.shape[1], w.shape[3:])
    x, w = x.swapaxes(1, 2), w.swapaxes(1, 2)
    results, elements = _axes(x, sizes, strides), _axes(x, window, dilation)
    rows, row = frames * math.prod(sizes[1:]), math.prod(window[1:])
    shares = dilation[0] == 1
    repeats, reach = (1, (sizes[0] - 1) * strides[0]) if shares else (sizes[0], 0)
    out = np.zeros((sizes[0] if shares else 1, examples, filters, rows * (1 if shares else sizes[0])), x.dtype)
    space = _Space(x.dtype)
    for i, j in _blocks(examples, channels, repeats * rows * row * (window[0] + reach) * x.itemsize):
        for a, b in _chunks(window[0], repeats * rows * row * x.itemsize):
            along = (b - a + reach, elements[0][1])
            outer = results[1:] if shares else results
            columns = _columns(x[i, j], a * dilation[0], outer, [along, *elements[1:]], space)
            part = w[i, j, :, a:b].reshape((*columns.shape[:2], filters, -1))
            for k in range(out.shape[0]):
                first = k * strides[0] * row
                products = np.matmul(part, columns[..., first : first + (b - a) * row].swapaxes(2, 3))
                out[k, i] += products.sum(1, dtype=x.dtype)
    if shares:
        out = out.reshape((sizes[0], examples, filters, frames, *sizes[1:]))
        return np.moveaxis(out, 0, 3).swapaxes(1, 2)
    return out.reshape((examples, filters, frames, *sizes)).swapaxes(1, 2)


# -- products of transforms --------------------------------------------------------------------------------------


def _is_transform_cheaper(x, w, sizes):
    """Return whether a convolution is estimated to take less time by transforms, by which NaN would spread."""
    if x.dtype.char not in "fdFD":
        return False
    (examples, frames, channels), filters = x.shape[:3], w.shape[1]
    pairs = examples * frames * channels
    points = math.prod([n + k for n, k in zip(x.shape[3:], w.shape[3:], strict=True)])
    direct = pairs * math.prod(sizes) * math.prod(w.shape[3:]) * (0.4 + 0.1 * filters)
    lines = pairs + examples * filters * (channels + frames)
    by_transforms = 1e5 + lines * points * 1.5 * math.log2(points) + 4 * pairs * filters * points
    return by_transforms < direct and bool(np.isfinite(x).all() and np.isfinite(w).all())


def _gapped(x, dilation):
    """Return x with zeros between neighbours along the spatial axes."""
    if all(d == 1 for d in dilation):
        return x
    out = np.zeros((*x.shape[:3], *[(n - 1) * d + 1 for n, d in zip(x.shape[3:], dilation, strict=True)]), x.dtype)
    out[(slice(None),) * 3 + tuple([slice(None, None, d) for d in dilation])] = x
    return out


def _transformed(x, w, low, sizes, strides, dilation, window_dilation):
    """Return the sums by discrete Fourier transforms.

    There are n + k - 1 sums along an axis. Transforms of fewer points add some to others, which no result reads.
    """
    x, w, is_real = _gapped(x, dilation), _gapped(w, window_dilation), x.dtype.kind != "c"
    axes, points, reads, writes = tuple(range(3, x.ndim)), [], [], []
    for n, k, a, count, stride in zip(x.shape[3:], w.shape[3:], low, sizes, strides, strict=True):
        start = k - 1 - a  # the sum that the first result reads
        first = max(0, -(start // stride))
        if (last := min(count, -((start - (n + k - 1)) // stride))) <= first:
            return np.zeros((*x.shape[:2], w.shape[1], *sizes), x.dtype)
        start, end = start + first * stride, start + (last - 1) * stride
        points.append(scipy_fft.next_fast_len(max(end + 1, n + k - 1 - start), is_real))
        reads.append(slice(start, end + 1, stride))
        writes.append(slice(first, last))
    forward, back = (scipy_fft.rfftn, scipy_fft.irfftn) if is_real else (scipy_fft.fftn, scipy_fft.ifftn)
    w = np.flip(w, axes)
    if x.shape[1] == x.shape[2] == w.shape[1] == 1 and 8 * min(x.size, w.size) < max(x.size, w.size):
        sums: np.ndarray = scipy_signal.oaconvolve(x, w, axes=axes)  # by parts as long as a few windows
    else:
        x, w = (_folded(v, points) for v in (x, w))
        labels = "".join(chr(ord("p") + axis) for axis in range(len(axes)))
        equation = f"bfc{labels},boc{labels}->bfo{labels}"
        sums = back(np.einsum(equation, forward(x, points, axes), forward(w, points, axes)), points, axes)
    result = sums[(..., *reads)]
    if result.shape[3:] == tuple(sizes):
        return result
    out = np.zeros((*result.shape[:3], *sizes), result.dtype)
    out[(slice(None),) * 3 + tuple(writes)] = result
    return out


def _folded(x, points):
    """Return x with elements beyond so many points added to those at their start, as a transform repeats them."""
    for axis, count in enumerate(points, 3):
        if (times := -(-x.shape[axis] // count)) > 1:
            x = np.pad(x, [(0, times * count - x.shape[i] if i == axis else 0) for i in range(x.ndim)])
            x = x.reshape((*x.shape[:axis], times, count, *x.shape[axis + 1 :])).sum(axis)
    return x


# -- reductions of windows ---------------------------------------------------------------------------------------


def _neutral(combine, dtype):
    """Return the number that changes no sum, or no extreme."""
    if combine is np.add:
        return 0
    if dtype.kind == "f":
        return -math.inf if combine is np.maximum else math.inf
    if dtype.kind == "b":
        return combine is np.minimum
    limits = np.iinfo(dtype)
    return int(limits.min if combine is np.maximum else limits.max)


def _reduction(combine):
    """Return the kernel that reduces windows along one axis after another."""

    def run(x, *, window, low, sizes, strides, dilation, window_dilation):
        first, fill = x.ndim - len(window), _neutral(combine, x.dtype)
        if not (x.size and math.prod(window) and math.prod(sizes)):
            return filled((*x.shape[:first], *sizes), fill, x.dtype)
        reach = _extended(x, low, _lengths(sizes, strides, window, window_dilation), dilation, fill)
        for axis, move in enumerate(zip(sizes, strides, window, window_dilation, strict=True), first):
            reach = _along(combine, reach, axis, *move)
        return reach if reach.base is None else reach.copy()

    return run


def _along(combine, x, axis, size, stride, window, dilation):
    """Reduce windows along an axis: element by element, or by windows of 1, 2, 4, ... elements."""
    before, count = (slice(None),) * axis, (size - 1) * stride + 1
    if window <= 2 * window.bit_length() * stride:
        out = x[(*before, slice(None, count, stride))]
        for first in range(dilation, window * dilation, dilation):
            part = x[(*before, slice(first, first + count, stride))]
            out = combine(out, part, out=out if first > dilation else None)
        return out
    return _doubled(combine, x, before, window, count, dilation)[(*before, slice(None, None, stride))]


def _doubled(combine, x, before, window, count, dilation):
    """Reduce windows that start at each of `count` elements, from windows of powers of 2."""
    out, start = None, 0
    while True:
        if window & 1:
            part = x[(*before, slice(start, start + count))]
            out = part if out is None else combine(out, part)
            start += dilation
        window >>= 1
        if not window:
            return out
        x = combine(x[(*before, slice(None, -dilation))], x[(*before, slice(dilation, None))])
        dilation *= 2


def _position(precedes):
    """Return the kernel that gives where the first extreme of each window is."""

    def run(x, *, window, low, sizes, strides, dilation, window_dilation):
        spatial = len(window)
        shape, leading = x.shape[x.ndim - spatial :], x.shape[: x.ndim - spatial]
        position = np.full((*leading, *sizes), -1, np.int64)
        if not (x.size and math.prod(window) and math.prod(sizes)):
            return position
        reach = _extended(x, low, _lengths(sizes, strides, window, window_dilation), dilation, 0)
        best = np.zeros((*leading, *sizes), x.dtype)
        for offsets in np.ndindex(*window):
            starts = [k * d for k, d in zip(offsets, window_dilation, strict=True)]
            part = reach[(..., *[slice(a, a + (n - 1) * s + 1, s) for a, n, s in zip(starts, sizes, strides)])]
            index = _flat_index(shape, starts, low, sizes, strides, dilation)
            better = (index >= 0) & ((position < 0) | precedes(part, best))
            np.copyto(best, part, where=better)
            np.copyto(position, index, where=better)
        return position

    return run


def _flat_index(shape, starts, low, sizes, strides, dilation):
    """Return for each result the position of the element at an offset of its window; -1 where there is none."""
    index, outside = np.zeros((1,) * len(sizes), np.int64), np.zeros((1,) * len(sizes), bool)
    for axis, (n, start, a, count, stride, d) in enumerate(zip(shape, starts, low, sizes, strides, dilation)):
        at = np.arange(count, dtype=np.int64) * stride + (start - a)
        at = at.reshape([count if i == axis else 1 for i in range(len(sizes))])
        index = index * n + at // d
        outside = outside | (at < 0) | (at >= n * d) | (at % d != 0)
    return np.where(outside, -1, index)


def _or_nan(compare):
    """Return a comparison in which NaN precedes all numbers."""
    return lambda x, y: compare(x, y) | ((x != x) & (y == y))


def _windows(x, *, axis, length, back):
    """Return windows, or add whole ones; or all elements of one position, where windows are shorter than many."""
    if not back:
        shape = (*x.shape[:axis], x.shape[axis] - length + 1, *x.shape[axis + 1 :], length)
        return as_strided(x, shape, (*x.strides, x.strides[axis])).copy()
    parts = np.moveaxis(x, axis, -2)
    count = parts.shape[-2]
    out = np.zeros((*parts.shape[:-2], count + length - 1), x.dtype)
    parts = parts if count <= length else np.swapaxes(parts, -1, -2)
    for i in range(min(count, length)):
        out[..., i : i + max(count, length)] += parts[..., i, :]
    return np.moveaxis(out, -1, axis)


kernel(wd.sliding_op, _windows)
kernel(wd.convolution_op, _convolution)
kernel(wd.window_sum_op, _reduction(np.add))
kernel(wd.window_max_op, _reduction(np.maximum))
kernel(wd.window_min_op, _reduction(np.minimum))
kernel(wd.window_argmax_op, _position(_or_nan(np.greater)))
kernel(wd.window_argmin_op, _position(_or_nan(np.less)))


def _reached(step: Step) -> list[Size]:
    """Return how many positions windows reach along each axis, from the first to the last."""
    params = dict(step.params)
    window = params.get("window")
    if window is None:
        shape = step.metas[1].sizes or ()
        window = shape[len(shape) - len(params["sizes"]) :]
    moves = zip(params["sizes"], params["strides"], window, params["window_dilation"], strict=True)
    return [expr.add(expr.mul(n, s), expr.mul(k, d)) for n, s, k, d in moves]


def _convolution_bytes(step: Step) -> Size | None:
    """Bound the copies of operands, the rows of the product, and the spectra of a product of transforms."""
    x, w = (m.sizes for m in step.metas)
    known = total_bytes([*map(bytes_of, step.metas), bytes_of(step.results[0])])
    if x is None or w is None or known is None or step.results[0].sizes is None:
        return None
    spatial, itemsize = len(dict(step.params)["sizes"]), step.metas[0].dtype.itemsize
    reach = elements(tuple(_reached(step)))
    window, results = elements(w[len(w) - spatial :]), elements(step.results[0].sizes[-spatial:] if spatial else ())
    operand = elements(x[: len(x) - spatial])
    rows = expr.mul(expr.mul(operand, reach), expr.total([window, results, 1]))
    others = expr.total([elements(w[: len(w) - spatial]), elements(step.results[0].sizes[: len(w) - spatial])])
    spectra = expr.mul(expr.mul(expr.total([operand, others]), reach), 2 ** (spatial + 6))
    return expr.total([expr.mul(4, known), expr.mul(rows, itemsize), spectra])


def _reduction_bytes(step: Step) -> Size | None:
    """Bound the operand with what lies beyond its ends, and what is made of it along each axis."""
    x, out = step.metas[0].sizes, step.results[0].sizes
    if x is None or out is None:
        return None
    spatial = len(dict(step.params)["sizes"])
    reach = [expr.maximum(n, r) for n, r in zip(x[len(x) - spatial :], _reached(step), strict=True)]
    per_element = max(step.metas[0].dtype.itemsize, 8)
    return expr.mul(8 * per_element, expr.mul(elements(x[: len(x) - spatial]), elements(tuple(reach))))


declare(OPAQUE._replace(scratch=_convolution_bytes), wd.convolution_op)
declare(OPAQUE, wd.sliding_op)
declare(
    OPAQUE._replace(scratch=_reduction_bytes),
    wd.window_sum_op,
    wd.window_max_op,
    wd.window_min_op,
    wd.window_argmax_op,
    wd.window_argmin_op,
)

"""Kernels of functions of other libraries.

Traits of functions of other libraries.
"""

import functools
import itertools
import math
import sys

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, declare, operands_and_results
from anyshape.backend.compiler.plan import Step
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import external as ex
from anyshape.ops.core.apply import kernel
from anyshape.ops.core.flop_counts import elements
from anyshape.support.packages import scipy_ndimage, scipy_signal, scipy_sparse

ENDS = {"reflect": "reflect", "nearest": "nearest", "grid-wrap": "wrap"}  # of splines by mode, and else "mirror"
POINTS = 1 << 14  # values that are made or deposited at once, whose weights stay in a cache
FEW = 32  # elements from which on sums over mirrored ends are exact to rounding


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
    if (scale := _scale(w)) != 1:
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
        beyond = np.r_[-before:0, n : len(x) - before]
        for position, element in zip(beyond, _inside(beyond, n, mode)):
            out[element] += x[before + position]
    return np.moveaxis(out, 0, axis)


def _inside(position, n, mode):
    """Return which element of n stands at positions."""
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
        ends = (np.take(x, _inside(np.arange(*ends), n, mode), axis) for ends in ((-before, 0), (n, n + after)))
        return np.concatenate([next(ends), x, next(ends)], axis)
    fill = np.asarray(fill).astype(np.uint8 if x.dtype == bool else x.dtype)  # as C converts it
    return np.pad(x, [(before, after) if a == axis else (0, 0) for a in range(x.ndim)], constant_values=fill)


def _lfilter(x, b, c, z, *, ends, sections):
    """Run sections by SciPy. Its function for many sections takes some of second order, and passes over x once."""
    x, end = (x, z) if x.size else (x.copy(), z.copy())  # or results would be operands
    if x.size:
        a = np.concatenate([np.ones((len(c), 1), c.dtype), -c], 1)
        states = np.moveaxis(z.reshape(*z.shape[:-1], sections, z.shape[-1] // sections), -2, 0)
        if sections > 1 and b.shape[1] == a.shape[1] == 3:
            x, end = scipy_signal.sosfilt(np.ascontiguousarray(np.concatenate([b, a], 1)), x, zi=states)
        else:
            end = np.empty_like(states)
            for i, row in enumerate(b):
                x, end[i] = scipy_signal.lfilter(row, a[i], x, zi=states[i])
        end = np.moveaxis(end, 0, -2).reshape(z.shape)
    return (x, end) if ends else x


def _upfirdn(x, h, *, up, down):
    if x.size:
        return scipy_signal.upfirdn(h, x, up, down)
    count = max((x.shape[-1] - 1) * up + len(h), 0)
    return np.zeros((*x.shape[:-1], -(-count // down)), x.dtype)


# -- splines


def _spline_filter(x, *, axis, order, mode, transposed):
    """Filter lines by SciPy. It is its own transpose where elements beyond the ends count once, as all do but mirrored.

    SciPy's sums for reflected ends are not exact for few elements, which take the matrix.
    """
    n = x.shape[axis]
    run = lambda v, axis: scipy_ndimage.spline_filter1d(v, order, axis, v.dtype, mode) if v.size else v.copy()
    if transposed and n <= FEW:
        return np.moveaxis(np.tensordot(run(np.eye(n), 0), x, (0, axis)), 0, axis)
    if not transposed or mode != "mirror":
        return run(x, axis)
    half = np.ones([n if a == axis else 1 for a in range(x.ndim)])
    np.moveaxis(half, axis, 0)[[0, -1]] = 0.5
    return run(x / half, axis) * half


def _of_parts(function):
    """Return a kernel that runs for the real and the imaginary part of its first operand."""

    def run(x, p, fill=0.0, **params):
        if x.dtype.kind != "c":
            return function(x, p, fill, **params)
        return run(x.real, p, np.real(fill), **params) + 1j * run(x.imag, p, np.imag(fill), **params)

    return run


@_of_parts
def _interpolate(x, p, fill, *, shape, form, order, mode, slopes, back):
    if not x.size or not math.prod(shape):
        return np.full(shape, 0.0 if back or any(slopes) else fill)
    if not back and not any(slopes):
        options = {"order": order, "mode": mode, "cval": fill, "prefilter": False}
        return _SCIPY[form](x, p, shape, options)
    x = x - fill if fill and mode == "grid-constant" else x
    return _weighed(x, p, *((shape, x.shape) if back else (x.shape, shape)), form, (order, mode, slopes), back)


def _affine(x, p, shape, options):
    """Transform an image by scales and offsets. SciPy divides by scales, and so a 0 among them needs a matrix."""
    matrix = p[0] if p[0].all() else np.diag(p[0])
    return scipy_ndimage.affine_transform(x, matrix, p[1], shape, **options)


_SCIPY = {
    "points": lambda x, p, shape, options: scipy_ndimage.map_coordinates(x, p, **options),
    "matrix": lambda x, p, shape, options: scipy_ndimage.affine_transform(x, p[:, :-1], p[:, -1], shape, **options),
    "diagonal": _affine,
    "shift": lambda x, p, shape, options: scipy_ndimage.shift(x, -p[1], **options),
    "zoom": lambda x, p, shape, options: scipy_ndimage.zoom(x, np.divide(shape, x.shape), **options),
    "grid": lambda x, p, shape, options: scipy_ndimage.zoom(x, np.divide(shape, x.shape), grid_mode=True, **options),
}
_COORDINATES = {
    "diagonal": lambda k, scale, offset: (k + offset / scale) * scale if scale else offset + 0 * k,
    "shift": lambda k, scale, offset: k + offset,
    "zoom": lambda k, scale, offset: k * scale,
    "grid": lambda k, scale, offset: (k + 0.5) * scale - 0.5,
}


def _weighed(x, p, sizes, shape, form, options, back):
    """Multiply an image by the matrix of weights of values, or values by its transpose; axes apart where it can be."""
    order, mode, slopes = options
    if form not in _COORDINATES:
        return _weighed_at_points(x, p, sizes, shape, form, options, back)
    for axis, (n, m, slope) in enumerate(zip(sizes, shape, slopes)):
        at = _COORDINATES[form](np.arange(m, dtype=float), *p[:, axis])
        positions, weights = _taps(at, n, order, mode, slope)
        ends = np.arange(0, positions.size + 1, order + 1)
        matrix = scipy_sparse.csr_array((weights.T.ravel(), positions.T.ravel(), ends), (m, n))
        lines = np.moveaxis(x, axis, 0)
        product = (matrix.T if back else matrix) @ lines.reshape(len(lines), -1)
        x = np.moveaxis(product.reshape(-1, *lines.shape[1:]), 0, axis)
    return x


def _weighed_at_points(x, p, sizes, shape, form, options, back):
    order, mode, slopes = options
    if form == "matrix":
        grid = np.ogrid[tuple([slice(m) for m in shape])]
        p = np.stack([np.broadcast_to(sum(a * k for a, k in zip(row, grid)) + row[-1], shape) for row in p])
    lines, values = p.reshape(len(sizes), -1), x.ravel()
    out = np.zeros(math.prod(sizes if back else shape))
    for start in range(0, lines.shape[1], POINTS):
        part = slice(start, start + POINTS)
        taps = [_taps(at, n, order, mode, slope) for at, n, slope in zip(lines[:, part], sizes, slopes)]
        for at, weights in _products(taps, sizes, 0, values[part] if back else 1.0):
            if back:
                np.add.at(out, at, weights)
            else:
                out[part] += weights * values[at]
    return out.reshape(sizes if back else shape)


def _products(taps, sizes, at, weights):
    """Give the positions in a flat image that values read, and their weights, for each position along all axes."""
    if not taps:
        yield at, weights
        return
    at = at * sizes[0]
    for own, factors in zip(*taps[0]):
        yield from _products(taps[1:], sizes[1:], at + own, weights * factors)


def _taps(at, n, order, mode, slope):
    """Return the positions of the coefficients that make values at coordinates along an axis, and their weights.

    They are uniform B-splines by the recurrence of Cox and de Boor. Derivatives are differences of lower ones.
    """
    at, sign = _turned(at, n, mode)
    base = np.floor(at if order % 2 else at + 0.5)
    t = at - base if order % 2 else at + 0.5 - base
    weights = [np.ones_like(at)]
    for q in range(1, order + 1):
        less, more = [0.0, *weights], [*weights, 0.0]
        if q > order - slope:
            weights = [a - b for a, b in zip(less, more)]
        else:
            weights = [((t + (q - j)) * a + (j + 1 - t) * b) / q for j, (a, b) in enumerate(zip(less, more))]
    positions = np.where(np.isfinite(base), base, 0).astype(np.int64) + np.arange(order + 1)[:, None] - order // 2
    factors = np.stack(weights) * (sign**slope if slope <= order else 0)
    if mode not in ("grid-constant", "nearest"):
        factors[:, np.isnan(at)] = 0
    if mode == "grid-constant":
        factors[(positions < 0) | (positions >= n)] = 0
    reaches = (positions[[0, -1]] < 0) | (positions[[0, -1]] >= n)
    return _inside(positions, n, ENDS.get(mode, "mirror")) if reaches.any() else positions, factors


def _turned(at, n, mode):
    """Return coordinates inside for ones beyond the ends, NaN for none, and how they change with these: 1, -1 or 0."""
    sign, last = np.ones_like(at), n - 1
    if mode in ("grid-constant", "nearest"):  # what positions beyond the ends mean is left to them
        return at, sign
    outside = (at < 0) | (at > last)
    if mode == "constant" or not last:
        return np.where(outside, np.nan if mode == "constant" else 0.0, at), np.where(outside, 0.0, sign)
    c = at[outside]
    is_below, whole = c < 0, mode not in ("mirror", "wrap")  # whether the period of an axis has all of its elements
    if mode in ("wrap", "grid-wrap"):
        period = last + whole
        turned = c + period * np.where(is_below, np.trunc((-whole - c) / period) + 1, -np.trunc(c / period))
        turned = np.where(c < np.inf, turned, c)
    else:
        period = 2 * (last + whole)
        c = c - period * np.trunc(c / period)
        flips = np.where(is_below, c >= -last - whole, c >= n)
        turned = np.where(flips, np.where(is_below, -c, period - c) - whole, np.where(is_below, c + period, c))
        sign[outside] = np.where(flips, -1.0, 1.0)
    at = at.copy()
    at[outside] = turned
    return at, sign


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
    mask = np.transpose(footprint, np.argsort(axes)).reshape(shape)
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


def _tied(x, y, t, footprint, *, axes, before, mode, fill, beyond, back):
    if not t.size:
        return np.zeros_like(t)
    x = _reached(x, footprint, axes, before, mode, fill)
    reached = np.zeros(x.shape, t.dtype) if back else _reached(t, footprint, axes, before, mode, beyond)
    sums, add, same = np.zeros_like(t), _masked_sum(t), _equality(y)
    for window, part in _windows([x, reached], footprint, axes, [t.shape[a] for a in axes]):
        add(*((part, t) if back else (sums, part)), same(window, y))
    if not back:
        return sums
    for axis, low in zip(axes, before):
        reached = _folded(reached, axis, low, t.shape[axis], mode)
    return reached


def _equality(y):
    """Return the function that compares elements of windows with y, among which NaN is one."""
    return (lambda x, y: (x == y) | ((x != x) & (y != y))) if np.isnan(y.min()) else np.equal


def _masked_sum(t):
    """Return the function that adds an array to sums where a mask is true; a product takes a third of the time."""
    if t.dtype == np.uint8:
        return lambda sums, part, mask: np.add(sums, part * mask.view(np.uint8), out=sums)
    if np.isfinite(t).all():
        return lambda sums, part, mask: np.add(sums, part * mask, out=sums)
    return lambda sums, part, mask: np.add(sums, part, out=sums, where=mask)


kernel(ex.correlate_op, _for_each(_correlate))
kernel(ex.spread_op, _for_each(_spread_weights))
kernel(ex.weigh_op, _for_each(_weigh))
kernel(ex.lfilter_op, _for_each(_lfilter))
kernel(ex.upfirdn_op, _for_each(_upfirdn))
kernel(ex.spline_filter_op, _spline_filter)
kernel(ex.interpolate_op, _for_each(_interpolate))


def _binary_steps(x, mask=None, *, structure, sides, origin, steps, border, dilate):
    function = scipy_ndimage.binary_dilation if dilate else scipy_ndimage.binary_erosion
    shape = np.array(structure, bool).reshape(sides)
    step = functools.partial(function, structure=shape, mask=mask, border_value=border, origin=origin)
    if steps == 1 or not any(origin):
        return step(x, iterations=steps)
    for _ in range(steps) if steps else itertools.count():  # SciPy writes beyond its memory where it takes them at once
        before, x = x, step(x)
        if np.array_equal(x, before):
            break
    return x


kernel(ex.binary_steps_op, _binary_steps)
kernel(ex.ranked_op, _ranked)
kernel(ex.tied_op, _tied)


def _continued(step: Step) -> Size | None:
    """Bound copies of the operands that go on by a window beyond both ends of each axis, and blocks of windows."""
    params, x = dict(step.params), step.metas[0]
    window = params["window"] if step.op is ex.weigh_op else step.metas[-1].sizes
    if x.sizes is None or window is None:
        return None
    sides = list(x.sizes)
    for axis, k in zip(params["axes"], window[len(window) - len(params["axes"]) :], strict=True):
        sides[axis] = expr.add(sides[axis], k)
    arrays = expr.mul(elements(tuple(sides)), 4 * max(meta.dtype.itemsize for meta in step.metas))
    if step.op is not ex.ranked_op:
        return arrays
    windows = expr.mul(expr.mul(elements(tuple(sides)), elements(window)), 3 * x.dtype.itemsize)
    row = expr.mul(expr.mul(elements(tuple(sides[1:])), elements(window)), 3 * x.dtype.itemsize)
    return expr.add(arrays, expr.minimum(windows, expr.add(3 * ex.BLOCK, row)))


def _interpolated(step: Step) -> Size | None:
    """Bound coordinates of values, weights along each axis, and images that are deposited along some axes."""
    params, x, out = dict(step.params), step.metas[0].sizes, step.results[0].sizes
    copies, weights = operands_and_results(6)(step), len(params["slopes"]) * (params["order"] + 1)
    if x is None or out is None or copies is None:
        return None
    if params["form"] in ("points", "matrix"):
        return expr.add(copies, 64 * weights * ex.BLOCK // 256)
    sides = [expr.maximum(*pair) for pair in zip(x, out, strict=True)]
    matrices = expr.mul(128 * (params["order"] + 1), expr.total(sides))
    return expr.total([copies, matrices, expr.mul(48, elements(tuple(sides)))])


_LINES = (ex.correlate_op, ex.lfilter_op, ex.upfirdn_op, ex.spline_filter_op)
declare(OPAQUE._replace(scratch=operands_and_results(3)), *_LINES, ex.binary_steps_op)
declare(OPAQUE._replace(scratch=_interpolated), ex.interpolate_op)
declare(OPAQUE._replace(scratch=_continued), ex.spread_op, ex.weigh_op, ex.ranked_op, ex.tied_op)

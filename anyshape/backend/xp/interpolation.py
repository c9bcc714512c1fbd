"""Kernels of interpolation: the coefficients that values read along each axis, and their weights."""

import math

from anyshape.backend.numpy.external import ENDS
from anyshape.backend.xp.libraries import INT


def inside(xp, position, n, mode):
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


def _diagonal(xp, k, scale, offset):
    is_flat = scale == 0
    return xp.where(is_flat, offset + 0 * k, (k + offset / xp.where(is_flat, xp.ones_like(scale), scale)) * scale)


_COORDINATES = {
    "diagonal": _diagonal,
    "shift": lambda xp, k, scale, offset: k + offset,
    "zoom": lambda xp, k, scale, offset: k * scale,
    "grid": lambda xp, k, scale, offset: (k + 0.5) * scale - 0.5,
}


def interpolate(xp, x, p, *, axes, shape, form, order, mode, fill, slopes, back):
    """Return values of splines in a shape, or if `back` the coefficients in it that values are added to."""
    shape, left = tuple(shape), 0.0 if back or any(slopes) else fill
    if not (math.prod(x.shape) and math.prod(shape)):
        return xp.full(shape, left, dtype=x.dtype, device=xp.device)
    sizes, values = (shape, tuple(x.shape)) if back else (tuple(x.shape), shape)
    fill = fill if mode == "grid-constant" else left
    taps = lambda at, axis: _taps(xp, at, sizes[axis], order, mode, slopes[axis])
    move = _deposited if back else _read
    if form not in _COORDINATES:
        p = xp.reshape(_points(xp, p, values, form), (len(sizes), -1))
        x = move(xp, xp.reshape(x, (-1, 1)), sizes, [taps(p[i, :], i) for i in range(len(sizes))], fill)
        return xp.reshape(x, shape)
    for axis, m in enumerate(values):
        at = _COORDINATES[form](xp, xp.astype(xp.integers(m), p.dtype), p[0, axis], p[1, axis])
        lines = xp.moveaxis(x, axis, 0)
        out = move(xp, xp.reshape(lines, (lines.shape[0], -1)), sizes[axis : axis + 1], [taps(at, axis)], fill)
        x = xp.moveaxis(xp.reshape(out, (out.shape[0], *lines.shape[1:])), 0, axis)
        fill = 0.0 if slopes[axis] else fill  # weights of derivatives sum to zero
    return x


def _points(xp, p, values, form):
    """Return the coordinates of all values, by the rows of a matrix with their offsets."""
    if form == "points":
        return p
    rank = len(values)
    grid = [
        xp.reshape(xp.astype(xp.integers(n), p.dtype), tuple([n if a == b else 1 for b in range(rank)]))
        for a, n in enumerate(values)
    ]
    rows = [sum([p[i, a] * k for a, k in enumerate(grid)], p[i, rank]) for i in range(p.shape[0])]
    return xp.stack([xp.broadcast_to(row, values) for row in rows])


def _choices(xp, sizes, taps):
    """Give positions in a flat image, whether they lie in it, and weights, for each choice of positions along axes."""
    if not sizes:
        yield 0, True, 1.0
        return
    for at, exists, weight in _choices(xp, sizes[:-1], taps[:-1]):
        positions, exist, weights, _ = taps[-1]
        for i in range(weights.shape[0]):
            yield at * sizes[-1] + positions[i, :], exist[i, :] & exists, weights[i, :] * weight


def _read(xp, x, sizes, taps, fill):
    """Return rows made of rows of x. What lies beyond the ends is a number, and so is what reads nothing."""
    total, left = 0.0, xp.full(x.shape[1:], fill, dtype=x.dtype, device=xp.device)
    for at, exists, weight in _choices(xp, sizes, taps):
        total = total + xp.where(exists[:, None], xp.take(x, at, axis=0), left) * weight[:, None]
    for *_, reads in taps:
        total = xp.where(reads[:, None], total, left)
    return total


def _deposited(xp, x, sizes, taps, fill):
    """Add rows of x to the rows that they are made of: the transpose of _read."""
    out = xp.zeros((math.prod(sizes), *x.shape[1:]), dtype=x.dtype, device=xp.device)
    for at, exists, weight in _choices(xp, sizes, taps):
        part = x * weight[:, None]
        out = xp.combined("add", out, at, xp.where(exists[:, None], part, xp.zeros_like(part)))
    return out


def _taps(xp, at, n, order, mode, slope):
    """Return the positions that make values at coordinates along an axis, which of them exist, and their weights.

    The last result is False where a value reads nothing. Weights are uniform B-splines by the recurrence of Cox and de
    Boor. Derivatives are differences of lower ones.
    """
    at, sign = _turned(xp, at, n, mode)
    base = xp.floor(at if order % 2 else at + 0.5)
    t, one = at - base + 0.5 * (order % 2 == 0), xp.ones_like(at)
    weights = [one]
    for q in range(1, order + 1):
        less, more = [0 * one, *weights], [*weights, 0 * one]
        if q > order - slope:
            weights = [a - b for a, b in zip(less, more, strict=True)]
        else:
            pairs = enumerate(zip(less, more, strict=True))
            weights = [((t + (q - j)) * a + (j + 1 - t) * b) / q for j, (a, b) in pairs]
    low = xp.convert(xp.where(xp.isfinite(base), base, 0 * one), INT)
    positions = low[None, :] + xp.integers(order + 1)[:, None] - order // 2
    factors = xp.stack(weights) * (sign**slope if slope <= order else 0 * one)
    reads, exist = (at == at, positions == positions)
    if mode == "grid-constant":
        exist = (positions >= 0) & (positions < n)
    if mode not in ("grid-constant", "nearest"):
        factors = xp.where(reads[None, :], factors, xp.zeros_like(factors))
    else:
        reads = reads | ~reads
    return inside(xp, positions, n, ENDS.get(mode, "mirror")), exist, factors, reads


def _turned(xp, at, n, mode):
    """Return coordinates inside for ones beyond the ends, NaN for none, and how they change with these: 1, -1 or 0."""
    one, last = xp.ones_like(at), n - 1
    if mode in ("grid-constant", "nearest"):  # what positions beyond the ends mean is left to them
        return at, one
    outside = (at < 0) | (at > last)
    if mode == "constant" or not last:
        beyond = math.nan if mode == "constant" else 0.0
        return xp.where(outside, beyond * one, at), xp.where(outside, 0 * one, one)
    below, whole = at < 0, int(mode not in ("mirror", "wrap"))  # whether the period of an axis has all of its elements
    if mode in ("wrap", "grid-wrap"):
        period = last + whole
        turned = at + period * xp.where(below, xp.trunc((-whole - at) / period) + 1, -xp.trunc(at / period))
        turned = xp.where(at < math.inf, turned, at)
        return xp.where(outside, turned, at), one
    period = 2 * (last + whole)
    c = at - period * xp.trunc(at / period)
    flips = xp.where(below, c >= -last - whole, c >= n)
    turned = xp.where(flips, xp.where(below, -c, period - c) - whole, xp.where(below, c + period, c))
    return xp.where(outside, turned, at), xp.where(outside & flips, -one, one)

"""Kernels of distances of pairs of rows, from the differences of all pairs."""

import math

import numpy as np

from anyshape.backend.xp.libraries import kernel
from anyshape.ops import distances as ds

_FLOAT = np.dtype(np.float64)


def _pairs(xp, x, y):
    return x[..., :, None, :] - y[..., None, :, :]


def _distances(xp, x, *others, power, root):
    x, *ys = (xp.convert(v, _FLOAT) for v in (x, *others))
    differences = xp.abs(_pairs(xp, x, ys[0] if ys else x))
    powers = differences if power == 1 else xp.square(differences) if power == 2 else differences**power
    sums = xp.sum(powers, axis=(-1,), dtype=x.dtype)
    result = sums if not root or power == 1 else xp.sqrt(sums) if power == 2 else sums ** (1 / power)
    return result if ys else _above(xp, result, both=False)


def _places(xp, n):
    """Return flat positions above the diagonal of a matrix, row by row."""
    rows, columns = np.triu_indices(n, 1)
    return xp.array(rows * n + columns)


def _above(xp, a, *, both):
    n = a.shape[-1]
    a = a + xp.matrix_transpose(a) if both else a
    return xp.take(xp.reshape(a, (*a.shape[:-2], n * n)), _places(xp, n), axis=-1)


def _put_above(xp, v, *, rows, both):
    count = math.prod(v.shape[:-1])
    values = xp.matrix_transpose(xp.reshape(v, (count, v.shape[-1])))
    zeros = xp.zeros((rows * rows, count), dtype=v.dtype, device=xp.device)
    whole = xp.matrix_transpose(xp.combined("add", zeros, _places(xp, rows), values))
    whole = xp.reshape(whole, (*v.shape[:-1], rows, rows))
    return whole + xp.matrix_transpose(whole) if both else whole


def _powers(xp, t, power, odd):
    sizes, zero = xp.abs(t), t == 0
    if power < 0:
        sizes = xp.where(zero, xp.zeros_like(t), xp.where(zero, xp.ones_like(t), sizes) ** power)
    else:
        sizes = xp.ones_like(t) if power == 0 else sizes**power
    return sizes * xp.sign(t) if odd else sizes


def _products(xp, x, y, u, v, *, power, odd):
    """Return for rows of x and of y the sums of phi(x - y) u v."""
    phi = _powers(xp, _pairs(xp, x, y), power, odd)
    return xp.sum(phi * u[..., :, None, :] * v[..., None, :, :], axis=(-1,), dtype=x.dtype)


def _pulls(xp, x, y, v, g, *, power, odd):
    """Return for rows of x the sums over rows of y of phi(x - y) v g."""
    phi = _powers(xp, _pairs(xp, x, y), power, odd)
    return xp.sum(phi * v[..., None, :, :] * g[..., :, :, None], axis=(-2,), dtype=x.dtype)


kernel(ds.pair_distances_op, _distances)
kernel(ds.above_op, _above)
kernel(ds.put_above_op, _put_above)
kernel(ds.nearest_op, lambda xp, x, codes: xp.astype(
    xp.argmin(_distances(xp, x, codes, power=2, root=True), axis=-1), xp.dtype(np.dtype(np.int32))))  # fmt: skip
kernel(ds.difference_products_op, _products)
kernel(ds.difference_pulls_op, _pulls)

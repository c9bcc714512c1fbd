"""Kernels of distances of pairs of rows: SciPy's, and sums of powers of differences by blocks of rows.

Traits of distances of pairs of rows: whole matrices at a time, with blocks of differences as scratch memory.
"""

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_distance, scipy_vq

BLOCK = 1 << 15  # elements of differences that are computed together: they stay in a cache of the core


def _distances(x, *y, power, root):
    n, measure = x.shape[-2], scipy_distance.cdist if y else scipy_distance.pdist
    out = np.empty((*x.shape[:-2], *((n, y[0].shape[-2]) if y else (n * (n - 1) // 2,))))
    name = {1.0: "cityblock", 2.0: "euclidean" if root else "sqeuclidean"}.get(power, "minkowski")
    options = {"p": power} if name == "minkowski" else {}
    for index in np.ndindex(x.shape[:-2] if n else (0,)):
        measure(x[index], *[v[index] for v in y], name, out=out[index], **options)
    if name == "minkowski" and not root:
        np.power(out, power, out=out)
    return out


def _nearest(x, codes):
    out = np.empty(x.shape[:-1], np.int32)
    for index in np.ndindex(x.shape[:-2]):
        out[index] = scipy_vq.vq(x[index], codes[index], check_finite=False)[0]
    return out


def _above(a, *, both):
    n = a.shape[-1]
    if n < 2:  # SciPy takes no number for one row
        return np.empty((*a.shape[:-2], 0), a.dtype)
    a = a + np.swapaxes(a, -1, -2) if both else a
    rows = [scipy_distance.squareform(a[index], "tovector", checks=False) for index in np.ndindex(a.shape[:-2])]
    return rows[0] if a.ndim == 2 else np.reshape(rows, (*a.shape[:-2], n * (n - 1) // 2)).astype(a.dtype, copy=False)


def _put_above(v, *, rows, both):
    out = np.zeros((*v.shape[:-1], rows, rows), v.dtype)
    for index in np.ndindex(v.shape[:-1] if rows > 1 else (0,)):
        whole = scipy_distance.squareform(v[index], "tomatrix", checks=False)
        if v.ndim == 1 and both:
            return whole
        out[index] = whole if both else np.triu(whole)
    return out


def _powers(t, power, odd):
    """Return phi(t), in the memory of t where that is possible."""
    if power == 1 and odd:
        return t
    sign = np.sign(t) if odd else None
    size = np.abs(t, out=t)
    if power < 0:
        zero = size == 0
        size[zero] = 1.0
        size **= power
        size[zero] = 0.0
    elif power == 0:
        return sign
    elif power != 1:
        size **= power
    return size if sign is None else np.multiply(size, sign, out=size)


def _blocks(x, y, v, power, odd):
    """Yield for blocks of rows of x the block, and phi(x - y) v with the rows of y along the last axis."""
    columns, scale = np.ascontiguousarray(y.T), np.ascontiguousarray(v.T)
    plain = bool((v == 1).all())
    step = max(1, BLOCK // max(1, y.size))
    for start in range(0, x.shape[0], step):
        block = slice(start, start + step)
        values = _powers(x[block, :, None] - columns, power, odd)
        yield block, values if plain else np.multiply(values, scale, out=values)


def _products(x, y, u, v, *, power, odd):
    out = np.zeros((*x.shape[:-1], y.shape[-2]))
    for index in np.ndindex(x.shape[:-2] if out.size else (0,)):
        for block, values in _blocks(x[index], y[index], v[index], power, odd):
            np.matmul(u[index][block, None, :], values, out=out[index][block, None, :])
    return out


def _pulls(x, y, v, g, *, power, odd):
    out = np.zeros(x.shape)
    for index in np.ndindex(x.shape[:-2] if out.size else (0,)):
        if not g[index].flags.c_contiguous:  # the transpose is, so that rows of y come in blocks
            total = out[index].T
            for block, values in _blocks(y[index], x[index], np.ones_like(x[index]), power, odd):
                values *= g[index].T[block][:, None, :]
                moved = np.einsum("bdn,bd->dn", values, v[index][block])
                total += -moved if odd else moved
            continue
        for block, values in _blocks(x[index], y[index], v[index], power, odd):
            np.matmul(values, g[index][block, :, None], out=out[index][block, :, None])
    return out


kernel(ds.pair_distances_op, _distances)
kernel(ds.nearest_op, _nearest)
kernel(ds.above_op, _above)
kernel(ds.put_above_op, _put_above)
kernel(ds.difference_products_op, _products)
kernel(ds.difference_pulls_op, _pulls)


_SLOW = OPAQUE._replace(time=ElementTime(20.0, 20.0), scratch=op_traits.by_blocks(1 << 20))

declare(OPAQUE, ds.above_op, ds.put_above_op)
declare(_SLOW, ds.pair_distances_op, ds.nearest_op, ds.difference_products_op, ds.difference_pulls_op)

"""Kernels of distances of pairs of rows: SciPy's, and sums of powers of differences by blocks of rows.

Traits of distances of pairs of rows: whole matrices at a time, with blocks of differences as scratch memory.
"""

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_distance

BLOCK = 1 << 15  # elements of differences that are computed together: they stay in a cache of the core


def _distances(x, y, *, power, root):
    out = np.empty((*x.shape[:-1], y.shape[-2]))
    name = {1.0: "cityblock", 2.0: "euclidean" if root else "sqeuclidean"}.get(power, "minkowski")
    options = {"p": power} if name == "minkowski" else {}
    for index in np.ndindex(x.shape[:-2]):
        values = scipy_distance.cdist(x[index], y[index], name, **options)
        out[index] = values if root or name != "minkowski" else values**power
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
        for block, values in _blocks(x[index], y[index], v[index], power, odd):
            np.matmul(values, g[index][block, :, None], out=out[index][block, :, None])
    return out


kernel(ds.pair_distances_op, _distances)
kernel(ds.difference_products_op, _products)
kernel(ds.difference_pulls_op, _pulls)


_SLOW = OPAQUE._replace(time=ElementTime(20.0, 20.0), scratch=op_traits.by_blocks(1 << 20))

declare(_SLOW, ds.pair_distances_op, ds.difference_products_op, ds.difference_pulls_op)

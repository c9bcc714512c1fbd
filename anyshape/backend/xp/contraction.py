"""Kernels of contractions: one product of stacks of matrices."""

import math

import numpy as np

from anyshape.backend.xp.libraries import kernel
from anyshape.graph.shapes.array_type import free_axes
from anyshape.ops.contraction import dot_general_op


def _dot_general(xp, x, y, *, contract, batch):
    return _product(xp, {"contract": contract, "batch": batch}, (x.ndim, y.ndim))(x, y)


def _order(axes):
    return None if axes == tuple(range(len(axes))) else axes


def _product(xp, params, ranks):
    """Return the function of two arrays, with the order of axes that a product of matrices needs."""
    (batch_x, batch_y), (summed_x, summed_y) = params["batch"], params["contract"]
    rows, columns = free_axes(ranks[0], batch_x, summed_x), free_axes(ranks[1], batch_y, summed_y)
    left, right = _order((*batch_x, *rows, *summed_x)), _order((*batch_y, *summed_y, *columns))
    count, is_plain = len(batch_x), len(rows) == len(columns) == len(summed_x) == 1
    if is_plain and left is right is None:
        return lambda x, y: multiplied(xp, x, y)

    def run(x, y):
        stack = tuple([x.shape[a] for a in batch_x])
        outer, inner = tuple([x.shape[a] for a in rows]), tuple([y.shape[a] for a in columns])
        summed = math.prod([x.shape[a] for a in summed_x])
        x = x if left is None else xp.permute_dims(x, left)
        y = y if right is None else xp.permute_dims(y, right)
        if is_plain:
            return multiplied(xp, x, y)
        x = xp.reshape(x, (*stack, math.prod(outer), summed))
        y = xp.reshape(y, (*stack, summed, math.prod(inner)))
        return xp.reshape(multiplied(xp, x, y), (*stack, *outer, *inner))

    return run if count + len(rows) + len(columns) + len(summed_x) else xp.multiply


def multiplied(xp, x, y):
    """Multiply matrices; of bools, ask whether any product is true."""
    if xp.kind(x) != "b":
        return xp.matmul(x, y)
    small = np.dtype(np.int64)
    return xp.matmul(xp.convert(x, small), xp.convert(y, small)) > 0


kernel(
    dot_general_op,
    _dot_general,
    specialise=lambda xp, params, metas: _product(xp, params, [m.rank for m in metas]),
    is_apart=True,
)

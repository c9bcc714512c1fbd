"""The kernel of dot_general: one np.matmul on views, with the cheapest call chosen when the plan is made."""

import numpy as np

from anyshape.graph.shapes import free_axes
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.core import kernel


def _dot_general(x, y, *, contract, batch):
    """Any contraction as a batched matrix product; sizes are read from the actual operands."""
    (cx, cy), (bx, by) = contract, batch
    free_x, free_y = free_axes(x.ndim, cx, bx), free_axes(y.ndim, cy, by)
    left = x.transpose((*bx, *free_x, *cx))
    right = y.transpose((*by, *cy, *free_y))
    nb, nx, nc = len(bx), len(free_x), len(cx)
    shape_b, shape_x = left.shape[:nb], left.shape[nb : nb + nx]
    shape_c, shape_y = left.shape[nb + nx :], right.shape[nb + nc :]
    inner = int(np.prod(shape_c, dtype=np.int64))
    rows, columns = int(np.prod(shape_x, dtype=np.int64)), int(np.prod(shape_y, dtype=np.int64))
    product = np.matmul(left.reshape(*shape_b, rows, inner), right.reshape(*shape_b, inner, columns))
    return product.reshape(shape_b + shape_x + shape_y)


def _matmul_case(params, metas):
    """np.matmul on the operands as they are or with their last two axes swapped, when that is all there is to it."""
    (cx, cy), (bx, by) = params["contract"], params["batch"]
    rx, ry = metas[0].rank, metas[1].rank
    nb = len(bx)
    if len(cx) != 1 or bx != tuple(range(nb)) or by != bx:
        return None
    if (rx, ry) == (1, 1) and nb == 0:
        return np.dot
    if (rx, ry) != (nb + 2, nb + 2):
        return _vector_case(cx[0], cy[0], rx, ry) if nb == 0 else None
    swap_x, swap_y = cx[0] == nb, cy[0] == nb + 1
    if swap_x and swap_y:
        return lambda x, y: np.matmul(x.swapaxes(-1, -2), y.swapaxes(-1, -2))
    if swap_x:
        return lambda x, y: np.matmul(x.swapaxes(-1, -2), y)
    if swap_y:
        return lambda x, y: np.matmul(x, y.swapaxes(-1, -2))
    return np.matmul


def _vector_case(cx, cy, rx, ry):
    """A matrix and a vector; np.dot contracts the last axis of x with the last but one of y."""
    if rx == 2 and ry == 1:
        return np.dot if cx == 1 else (lambda x, y: np.dot(x.T, y))
    if rx == 1 and ry == 2:
        return np.dot if cy == 0 else (lambda x, y: np.dot(x, y.T))
    return None


kernel(dot_general_op, _dot_general, specialise=_matmul_case)

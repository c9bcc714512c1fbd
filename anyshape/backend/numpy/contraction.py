"""The kernel of dot_general: one BLAS call on views wherever there is one, chosen when the plan is made.

How the axes lie is known then: it is written in the params and the ranks. Only sizes are read from the operands.
"""

import math

import numpy as np

from anyshape.graph.shapes import free_axes
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.core import kernel


def _dot_general(x, y, *, contract, batch):
    return _general(np.ndim(x), np.ndim(y), contract, batch)(x, y)


def _specialise(params, metas):
    """The cheapest function of two arrays for these params and ranks."""
    contract, batch = params["contract"], params["batch"]
    rx, ry = metas[0].rank, metas[1].rank
    if not contract[0]:
        return _products(rx, ry, batch)
    if len(contract[0]) == 1 and not batch[0] and rx <= 2 and ry <= 2:
        return _plain(rx, ry, contract[0][0], contract[1][0])
    return _batched(rx, ry, contract, batch) or _general(rx, ry, contract, batch)


def _plain(rx, ry, cx, cy):
    """Vectors and matrices: np.dot contracts the last axis of x with the last but one of y; BLAS reads either order."""
    flip_x, flip_y = rx == 2 and cx == 0, ry == 2 and cy == 1
    if flip_x and flip_y:
        return lambda x, y: np.dot(x.T, y.T)
    if flip_x:
        return lambda x, y: np.dot(x.T, y)
    if flip_y:
        return lambda x, y: np.dot(x, y.T)
    return np.dot


def _batched(rx, ry, contract, batch):
    """Matrices side by side, the batch in front: np.matmul, on views with swapped axes if need be."""
    (cx, cy), nb = contract, len(batch[0])
    front = tuple(range(nb))
    if len(cx) != 1 or nb == 0 or batch != (front, front) or (rx, ry) != (nb + 2, nb + 2):
        return None
    swap_x, swap_y = cx[0] == nb, cy[0] == nb + 1
    if swap_x and swap_y:
        return lambda x, y: np.matmul(x.swapaxes(-1, -2), y.swapaxes(-1, -2))
    if swap_x:
        return lambda x, y: np.matmul(x.swapaxes(-1, -2), y)
    if swap_y:
        return lambda x, y: np.matmul(x, y.swapaxes(-1, -2))
    return np.matmul


def _products(rx, ry, batch):
    """Nothing is summed: a product of stretched views."""
    (bx, by), nb = batch, len(batch[0])
    free_x, free_y = free_axes(rx, bx), free_axes(ry, by)
    if not nb and rx <= 1:
        return np.multiply.outer
    left, right = (*bx, *free_x), (*by, *free_y)
    ones = (1,) * len(free_y)
    middle = tuple(range(nb, nb + len(free_x)))

    def run(x, y):
        x, y = x.transpose(left), y.transpose(right)
        return np.multiply(x.reshape(x.shape + ones), np.expand_dims(y, middle))

    return run


def _general(rx, ry, contract, batch):
    """Any contraction as a (batched) matrix product: axes are brought into groups, and each group is merged."""
    (cx, cy), (bx, by) = contract, batch
    if not cx:
        return _products(rx, ry, batch)
    free_x, free_y = free_axes(rx, cx, bx), free_axes(ry, cy, by)
    # both contract groups in the order of y's axes, so that merging them leaves at least y where it is
    order = sorted(range(len(cy)), key=cy.__getitem__)
    cx, cy = [cx[i] for i in order], [cy[i] for i in order]
    left, right = (*bx, *free_x, *cx), (*by, *cy, *free_y)
    nb, nx, nc, ny = len(bx), len(free_x), len(cx), len(free_y)
    multiply = np.matmul if nb else np.dot
    if nx == nc == ny == 1:
        return lambda x, y: multiply(x.transpose(left), y.transpose(right))

    def run(x, y):
        x, y = x.transpose(left), y.transpose(right)
        outer, rows = x.shape[:nb], x.shape[nb : nb + nx]
        inner, columns = math.prod(x.shape[nb + nx :]), y.shape[nb + nc :]
        x = x.reshape(*outer, math.prod(rows), inner)
        y = y.reshape(*outer, inner, math.prod(columns))
        return multiply(x, y).reshape(outer + rows + columns)

    return run


kernel(dot_general_op, _dot_general, specialise=_specialise)

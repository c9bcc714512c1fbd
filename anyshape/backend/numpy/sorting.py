"""Kernels of sorting ops."""

import numpy as np

from anyshape.ops import sorting as so
from anyshape.ops.core.apply import kernel


def _searchsorted(row, values, *, side, batch):
    if batch == 0:
        return np.asarray(np.searchsorted(row, values, side)).astype(np.int64, copy=False)
    out = np.empty(np.shape(values), np.int64)
    for index in np.ndindex(row.shape[:batch]):
        out[index] = np.searchsorted(row[index], values[index], side)
    return out


def _permute(x, order, *, axis, inverse):
    if not inverse:
        return np.take_along_axis(x, order, axis)
    out = np.empty(x.shape, x.dtype)
    np.put_along_axis(out, order, x, axis)
    return out


kernel(so.sort_op, lambda x, *, axis: np.sort(x, axis=axis))
kernel(so.argsort_op, lambda x, *, axis, stable: np.argsort(x, axis=axis, stable=stable))
kernel(so.permute_op, _permute)
kernel(so.searchsorted_op, _searchsorted)

"""Kernels of further factorisations: NumPy's for stacks, and SciPy's for one matrix after the other."""

import numpy as np

from anyshape.backend.numpy.linalg import finite, routine
from anyshape.backend.numpy.matrix_functions import each
from anyshape.ops import factorisations as fa
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_linalg


def _raw(a):
    packed, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(packed, -1, -2), tau


def _order(a):
    out = np.broadcast_to(np.arange(a.shape[-1], dtype=np.int32), (*a.shape[:-2], a.shape[-1])).copy()
    if a.size:
        geqp3 = routine("geqp3", a)
        for index in np.ndindex(a.shape[:-2]):
            out[index] = geqp3(a[index])[1] - 1
    return out


def _polar(a):
    w, _, vh = np.linalg.svd(finite(a), full_matrices=False)
    return w @ vh


def _ldl(a, *, lower, hermitian):
    factor, middle = np.empty(a.shape, a.dtype), np.empty(a.shape, a.dtype)
    order = np.broadcast_to(np.arange(a.shape[-1]), a.shape[:-1]).copy()
    if a.size:
        for index in np.ndindex(a.shape[:-2]):
            if np.isfinite(a[index]).all():
                factor[index], middle[index], order[index] = scipy_linalg.ldl(a[index], lower, hermitian)
            else:
                factor[index], middle[index] = np.nan, np.nan
    return factor, middle, order


def _balance(a, *, permute, scale):
    scales = np.ones(a.shape[:-1])
    order = np.broadcast_to(np.arange(a.shape[-1]), a.shape[:-1]).copy()
    if a.size:
        for index in np.ndindex(a.shape[:-2]):
            if np.isfinite(a[index]).all():
                _, (scales[index], order[index]) = scipy_linalg.matrix_balance(a[index], permute, scale, separate=True)
            else:
                scales[index] = np.nan
    return scales, order


def _qz(a, b, *, output):
    out = [np.empty(a.shape, a.dtype.char.upper() if output == "complex" else a.dtype) for _ in range(4)]
    return tuple(each(lambda x, y: scipy_linalg.qz(x, y, output), out, a, b))


def _ordqz(a, b, *, output, region):
    dtype = a.dtype.char.upper() if output == "complex" else a.dtype
    aa, bb, q, z = (np.empty(a.shape, dtype) for _ in range(4))
    values = [np.empty(a.shape[:-1], a.dtype.char.upper()), np.empty(a.shape[:-1], dtype)]
    return tuple(each(lambda x, y: scipy_linalg.ordqz(x, y, region, output), [aa, bb, *values, q, z], a, b))


def _cossin(*blocks, swap_sign):
    side = blocks[0].shape[-2] + blocks[2].shape[-2]
    dtype, shape = blocks[0].dtype, (*blocks[0].shape[:-2], side, side)
    out = [np.empty(shape, d) for d in (dtype, dtype.char.lower(), dtype)]
    return tuple(each(lambda *xs: scipy_linalg.cossin(xs, swap_sign=swap_sign), out, *blocks))


def _angles(*blocks):
    count = min(*blocks[0].shape[-2:], *blocks[3].shape[-2:])
    out = [np.empty((*blocks[0].shape[:-2], count), blocks[0].dtype.char.lower())]
    return each(lambda *xs: [scipy_linalg.cossin(xs, separate=True)[1]], out, *blocks)[0]


kernel(fa.qr_complete_op, lambda a: tuple(np.linalg.qr(a, "complete")))
kernel(fa.qr_raw_op, _raw)
kernel(fa.qr_order_op, _order)
kernel(fa.polar_op, _polar)
kernel(fa.ldl_op, _ldl)
kernel(fa.balance_op, _balance)
kernel(fa.qz_op, _qz)
kernel(fa.ordqz_op, _ordqz)
kernel(fa.cossin_op, _cossin)
kernel(fa.cossin_angles_op, _angles)

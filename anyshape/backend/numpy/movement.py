"""Kernels of movement ops: views wherever NumPy has one."""

import numpy as np

from anyshape.backend import plan_ops as po
from anyshape.ops import movement as mv
from anyshape.ops.core import kernel


def _broadcast_in_dim(x, *, shape, axes):
    if not axes:  # one number, as every mean sends back; np.broadcast_to would take 3 us
        return np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    rank, offset = len(shape), len(shape) - len(axes)
    if axes != tuple(range(offset, rank)):
        sizes = dict(zip(axes, np.shape(x), strict=True))
        x = np.reshape(x, [sizes.get(axis, 1) for axis in range(rank)])
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _parts(starts, sizes, steps):
    """The key that reads `size` elements, `step` apart, from start on."""
    return tuple([slice(a, a + n * k, k) for a, n, k in zip(starts, sizes, steps)])


def _slice_case(params, metas):
    key = _parts(**params)
    return lambda x: x[key]


def _rev_key(rank, axes):
    return tuple([slice(None, None, -1 if axis in axes else 1) for axis in range(rank)])


def _rev_case(params, metas):
    key = _rev_key(metas[0].rank, params["axes"])
    return lambda x: x[key]


def _filled(shape, value, dtype):
    return np.zeros(shape, dtype) if value == 0 and "-" not in repr(value) else np.full(shape, value, dtype)


def _pad(x, *, low, high, interior, value):
    steps = [between + 1 for between in interior]
    spans = [(n - 1) * k + 1 if n else 0 for n, k in zip(x.shape, steps, strict=True)]
    shape = [a + n + b for a, n, b in zip(low, spans, high, strict=True)]
    out = _filled(shape, value, x.dtype)
    out[_parts(low, x.shape, steps)] = x
    return out


# -- movement that the planner made one view, of an operand in C order (np.ndarray takes one in Fortran order for that)


def _view(x, *, shape, strides, offset):
    """None where NumPy refuses: a window that leaves the memory of x, or one without elements that starts outside.

    np.ndarray checks that by the way, except in a buffer of no bytes; as_strided does not, and takes ten times as long.
    """
    if not x.size:
        return None
    try:
        return np.ndarray(shape, x.dtype, x, offset, strides)
    except (TypeError, ValueError):
        return None


def _padded_view(x, *, shape, strides, offset, value, starts, stops):
    part = _view(x, shape=[b - a for a, b in zip(starts, stops)], strides=strides, offset=offset)
    if part is None:
        return None
    out = _filled(shape, value, x.dtype)
    out[tuple(map(slice, starts, stops))] = part
    return out


kernel(mv.broadcast_in_dim_op, _broadcast_in_dim, view=True, stretch=True)
kernel(mv.reshape_op, lambda x, *, shape: x.reshape(shape), view=True)
kernel(mv.transpose_op, lambda x, *, axes: x.transpose(axes), view=True)
kernel(mv.slice_op, lambda x, **key: x[_parts(**key)], view=True, specialise=_slice_case)
kernel(mv.rev_op, lambda x, *, axes: x[_rev_key(x.ndim, axes)], view=True, specialise=_rev_case)
kernel(mv.pad_op, _pad)
kernel(po.view_op, _view, view=True)
kernel(po.stretched_view_op, _view, view=True, stretch=True)
kernel(po.padded_view_op, _padded_view)
kernel(mv.concatenate_op, lambda *xs, axis: np.concatenate(xs, axis))

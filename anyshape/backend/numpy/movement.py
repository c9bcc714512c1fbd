"""Kernels of movement ops: views wherever NumPy has one."""

import numpy as np

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


def _pad(x, *, low, high, interior, value):
    steps = [between + 1 for between in interior]
    spans = [(n - 1) * k + 1 if n else 0 for n, k in zip(x.shape, steps, strict=True)]
    shape = [a + n + b for a, n, b in zip(low, spans, high, strict=True)]
    out = np.zeros(shape, x.dtype) if value == 0 else np.full(shape, value, x.dtype)
    out[_parts(low, x.shape, steps)] = x
    return out


kernel(mv.broadcast_in_dim_op, _broadcast_in_dim, view=True, stretch=True)
kernel(mv.reshape_op, lambda x, *, shape: x.reshape(shape), view=True)
kernel(mv.transpose_op, lambda x, *, axes: x.transpose(axes), view=True)
kernel(mv.slice_op, lambda x, **key: x[_parts(**key)], view=True, specialise=_slice_case)
kernel(mv.rev_op, lambda x, *, axes: x[_rev_key(x.ndim, axes)], view=True, specialise=_rev_case)
kernel(mv.pad_op, _pad)
kernel(mv.concatenate_op, lambda *xs, axis: np.concatenate(xs, axis))

"""Kernels of ops on segments. NumPy combines runs of equal ids once they are sorted, and single elements in a row."""

import numpy as np

from anyshape.ops import segments as sg
from anyshape.ops.apply import kernel


def _least(dtype):
    if dtype.kind == "b":
        return False
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return complex(-np.inf, -np.inf) if dtype.kind == "c" else -np.inf


def _largest(dtype):
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return complex(np.inf, np.inf) if dtype.kind == "c" else np.inf


def _segments(ufunc, empty):
    def run(x, ids, *, size):
        out = np.full((size, *x.shape[1:]), empty(x.dtype), x.dtype)
        if x.ndim == 1:
            with np.errstate(invalid="ignore"):  # of NaN, of which NumPy's reductions do not warn either
                ufunc.at(out, ids, x)
        elif ids.size:
            order = ids.argsort(kind="stable")
            ordered = ids[order]
            starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            out[ordered[starts]] = ufunc.reduceat(x[order], starts, axis=0)
        return out

    return run


kernel(sg.segment_max_op, _segments(np.maximum, _least))
kernel(sg.segment_min_op, _segments(np.minimum, _largest))
kernel(sg.segment_prod_op, _segments(np.multiply, lambda dtype: dtype.type(1)))

"""Kernels of segment reductions: rows are sorted by id and combined in runs; elements of a vector one by one."""

import numpy as np

from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.ops import segments as sg
from anyshape.ops.core.apply import kernel


def _segments(ufunc, empty):
    def run(x, ids, *, size):
        out = np.full((size, *x.shape[1:]), empty(x.dtype), x.dtype)
        if x.ndim == 1:
            with np.errstate(invalid="ignore"):  # NaN: NumPy's reductions do not warn either
                ufunc.at(out, ids, x)
        elif ids.size:
            order = ids.argsort(kind="stable")
            ordered = ids[order]
            starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            out[ordered[starts]] = ufunc.reduceat(x[order], starts, axis=0)
        return out

    return run


kernel(sg.segment_max_op, _segments(np.maximum, least_value))
kernel(sg.segment_min_op, _segments(np.minimum, largest_value))
kernel(sg.segment_prod_op, _segments(np.multiply, lambda dtype: dtype.type(1)))

"""Kernels of ops whose results have sizes that depend on data. Their operands are values, so they do check them."""

import math

import numpy as np

from anyshape.errors import SizeMismatchError
from anyshape.ops import dynamic as dy
from anyshape.ops.core import kernel

_NOTHING = np.zeros(1, bool)


def _nonzero(x):
    return x.nonzero() if x.ndim > 1 else x.nonzero()[0]


def _size_token(x, *, limit, rounds):
    size = _rounded(x) if rounds else int(x)
    if limit is not None:
        size = min(max(size, 0), limit)
    elif size < 0:
        raise SizeMismatchError("size_token", "size >= 0", {"size": size}, "a size cannot be negative")
    return np.ndarray((size,), bool, _NOTHING, strides=(0,))


def _rounded(x):
    """The nearest integer, the even one of two; infinities are beyond every limit."""
    value = float(x)
    if math.isnan(value):
        raise SizeMismatchError("size_token", "size is a number", {}, "a size is NaN")
    return round(value) if math.isfinite(value) else (2**62 if value > 0 else -1)


kernel(dy.nonzero_op, _nonzero)
kernel(dy.size_token_op, _size_token)

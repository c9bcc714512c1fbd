"""Kernels of creation ops."""

import numpy as np

from anyshape.errors import SizeMismatchError
from anyshape.ops import creation as cr
from anyshape.ops.core import kernel


def _full(*, value, dtype, shape):
    """Zeros are memory that nothing has touched yet."""
    return np.zeros(shape, dtype) if value == 0 and "-" not in repr(value) else np.full(shape, value, dtype)


kernel(cr.full_op, _full)
kernel(cr.iota_op, lambda *, size, dtype: np.arange(size, dtype=dtype))


def _size_value(*, size: int) -> np.int64:
    """The size as an array; one that is computed from others may be too large for that."""
    try:
        return np.int64(size)
    except OverflowError:
        why = "a size is used as a number, and is too large for int64"
        raise SizeMismatchError("size_value", "size < 2**63", {"size": size}, why) from None


kernel(cr.size_value_op, _size_value)

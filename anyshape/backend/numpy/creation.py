"""Kernels of creation ops."""

import numpy as np

from anyshape.ops import creation as cr
from anyshape.ops.core import kernel

kernel(cr.full_op, lambda *, value, dtype, shape: np.full(shape, value, dtype))
kernel(cr.iota_op, lambda *, size, dtype: np.arange(size, dtype=dtype))
kernel(cr.size_value_op, lambda *, size: np.int64(size))

"""Kernels of arrays that sizes and literals make."""

from anyshape.backend.xp.libraries import INT, kernel
from anyshape.ops import creation as cr

kernel(cr.full_op, lambda xp, *, value, dtype, shape: xp.filled(shape, value, dtype))
kernel(cr.iota_op, lambda xp, *, size, dtype: xp.convert(xp.integers(size), dtype))
kernel(cr.size_value_op, lambda xp, *, size: xp.filled((), size, INT))
kernel(cr.float_of_size_op, lambda xp, *, size, dtype: xp.filled((), size, dtype))

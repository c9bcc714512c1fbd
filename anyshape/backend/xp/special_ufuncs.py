"""Kernels of further special functions: the library's by SciPy's names, and integrals as for NumPy."""

from anyshape.backend.numpy.special_ufuncs import carlson
from anyshape.backend.xp.libraries import kernel
from anyshape.backend.xp.special import by_blocks
from anyshape.ops import special_ufuncs as su

kernel(su.special_ufunc_op, None, alike=lambda params: f"special_{params['function']}")
kernel(
    su.carlson_integral_op,
    by_blocks(lambda xp, *xs, orders: carlson(xp, orders, [*xs])),
    reads="how far the operands lie apart",
)

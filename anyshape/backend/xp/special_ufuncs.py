"""Kernels of further special functions, by SciPy's names."""

from anyshape.backend.xp.libraries import kernel
from anyshape.ops import special_ufuncs as su

kernel(su.special_ufunc_op, None, alike=lambda params: f"special_{params['function']}")

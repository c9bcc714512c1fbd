"""Batching of further special functions, which are elementwise."""

from anyshape.autodiff.batching.elementwise import each_element
from anyshape.ops import special_ufuncs as su

each_element(su.special_ufunc_op)
each_element(su.carlson_integral_op)

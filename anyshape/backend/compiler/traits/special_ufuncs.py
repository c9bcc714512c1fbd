"""Traits of further special functions: elementwise and expensive."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import ElementTime, declare
from anyshape.backend.compiler.traits.elementwise import ELEMENTWISE
from anyshape.ops import special_ufuncs as su

declare(ELEMENTWISE._replace(time=ElementTime(40.0, 40.0)), su.special_ufunc_op)
# of 64 elements at once: about 8 arrays of 512 points for each
declare(
    ELEMENTWISE._replace(time=ElementTime(20000.0, 20000.0), scratch=op_traits.by_blocks(8 * 512 * 64 * 8)),
    su.carlson_integral_op,
)

"""Traits of functions of matrices: whole matrices at a time, slower than factors of them."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import matrix_functions as mf

_SLOW = OPAQUE._replace(time=ElementTime(100.0, 50.0), scratch=op_traits.like_first_operand(12))

declare(_SLOW, mf.matrix_function_op, mf.sylvester_op, mf.schur_op, mf.hessenberg_op)
declare(_SLOW._replace(scratch=op_traits.like_first_operand(48)), mf.matrix_function_derivative_op)

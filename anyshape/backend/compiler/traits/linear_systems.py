"""Traits of linear systems: whole matrices at a time."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import linear_systems as ls

_SLOW = OPAQUE._replace(time=ElementTime(10.0, 5.0), scratch=op_traits.like_first_operand(3))

declare(_SLOW, ls.lu_op, ls.banded_solve_op, ls.row_order_op)

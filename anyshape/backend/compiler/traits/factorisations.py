"""Traits of further factorisations: whole matrices at a time.

Traits of functions of matrices: whole matrices at a time, slower than factors of them.

Traits of linear systems: whole matrices at a time.
"""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import factorisations as fa

_SLOW = OPAQUE._replace(time=ElementTime(10.0, 5.0), scratch=op_traits.operands_and_results(8))

declare(
    _SLOW,
    fa.qr_complete_op, fa.qr_raw_op, fa.qr_order_op, fa.polar_op, fa.ldl_op, fa.balance_op,
)  # fmt: skip
declare(
    _SLOW._replace(time=ElementTime(100.0, 50.0)),
    fa.qz_op, fa.ordqz_op, fa.cossin_op, fa.cossin_angles_op,
)  # fmt: skip


_ITERATIVE = OPAQUE._replace(time=ElementTime(100.0, 50.0), scratch=op_traits.like_first_operand(12))

declare(_ITERATIVE, fa.matrix_function_op, fa.sylvester_op, fa.schur_op, fa.hessenberg_op)
declare(
    _ITERATIVE._replace(scratch=lambda step: op_traits.like_first_operand(12 * 4 ** (len(step.metas) - 1))(step)),
    fa.matrix_function_derivative_op,
)


_ELIMINATION = OPAQUE._replace(time=ElementTime(10.0, 5.0), scratch=op_traits.like_first_operand(3))

declare(_ELIMINATION, fa.lu_op, fa.banded_solve_op, fa.row_order_op)

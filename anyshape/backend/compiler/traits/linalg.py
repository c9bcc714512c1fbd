"""Traits of linear algebra: whole matrices at a time."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import linalg as la

_SLOW = OPAQUE._replace(time=ElementTime(10.0, 5.0))  # as measured for matrices of 30 by 30

declare(
    _SLOW._replace(scratch=op_traits.like_first_operand(3)),
    la.cholesky_op, la.cholesky_tangent_op, la.cholesky_cotangent_op,
    la.inv_op, la.det_op, la.slogdet_op, la.lu_factor_op,
)  # fmt: skip
declare(OPAQUE._replace(scratch=op_traits.like_first_operand(2)), la.mirror_op)
declare(_SLOW._replace(scratch=op_traits.like_first_operand(12)), la.adjugate_op, la.pinv_op)
declare(
    _SLOW._replace(scratch=op_traits.like_first_operand(8)),
    la.eigvals_op, la.eig_op, la.eigvalsh_op, la.eigh_op, la.svdvals_op, la.svd_op, la.qr_op,
)  # fmt: skip
declare(_SLOW._replace(scratch=op_traits.blas_copies), la.solve_op, la.lu_solve_op, la.triangular_solve_op)

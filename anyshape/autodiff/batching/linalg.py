"""Batching of linear algebra: one more leading axis; factors of one matrix serve a batch of right-hand sides."""

from typing import Any

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.ops import linalg as la
from anyshape.ops.core.apply import apply_all


def stacked(op: Any) -> Any:
    """Declare an op on matrices, whose leading axes are a batch."""

    def rule(ctx, size, batched, *xs, **params):
        results = apply_all(op, *stretch_all(ctx, size, batched, xs), **params)
        return results if len(results) > 1 else results[0]

    BATCHERS[op] = rule


for _op in (
    la.mirror_op, la.cholesky_op, la.cholesky_tangent_op, la.cholesky_cotangent_op,
    la.inv_op, la.det_op, la.adjugate_op, la.slogdet_op, la.lu_factor_op,
    la.solve_op, la.lu_solve_op, la.triangular_solve_op,
    la.eigvals_op, la.eig_op, la.eigvalsh_op, la.eigh_op, la.svdvals_op, la.svd_op, la.qr_op, la.pinv_op,
):  # fmt: skip
    stacked(_op)

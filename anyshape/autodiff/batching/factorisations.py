"""Batching of further factorisations: one more leading axis."""

from anyshape.autodiff.batching.linalg import stacked
from anyshape.ops import factorisations as fa

for _op in (
    fa.qr_complete_op, fa.qr_raw_op, fa.qr_order_op, fa.polar_op, fa.ldl_op, fa.balance_op, fa.qz_op, fa.ordqz_op,
    fa.cossin_op, fa.cossin_angles_op,
):  # fmt: skip
    stacked(_op)

"""Batching of linear systems: one more leading axis."""

from anyshape.autodiff.batching.linalg import stacked
from anyshape.ops import linear_systems as ls

stacked(ls.lu_op)
stacked(ls.row_order_op)
stacked(ls.banded_solve_op)

"""Derivatives of creation ops: without operands they have no tangents, so they are declared zero.

Batching of creation ops: without operands none carries a batch, so they are replayed unchanged.
"""

from anyshape.autodiff.rule_tables import zero
from anyshape.ops import creation as cr

zero(cr.full_op, cr.iota_op, cr.size_value_op, cr.float_of_size_op)

"""Derivatives of creation ops: they have no operand, so nothing can reach them; declared zero."""

from anyshape.autodiff.rule_tables import no_shift, zero
from anyshape.ops import creation as cr

zero(cr.full_op)
zero(cr.iota_op)
zero(cr.size_value_op)

# -- shifts of operands

no_shift(cr.full_op, cr.iota_op, cr.size_value_op)

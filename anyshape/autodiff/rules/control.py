"""Derivatives of control ops. Cotangents pass a checkpoint in reverse: they enter where values leave it."""

from anyshape.autodiff.rule_tables import STAY, linear, no_shift, zero, zeros
from anyshape.ops import control as ct

zero(ct.stop_gradient_op)
zero(ct.check_op)
zero(ct.decide_op)
zero(ct.warn_op)
zero(ct.warn_below_op)
linear(ct.enter_checkpoint_op, lambda ctx, dy, x, *, keep, turn: ct.leave_checkpoint(dy, keep))
linear(ct.leave_checkpoint_op, lambda ctx, dy, x, *, keep: ct.enter_checkpoint(dy, keep))

# -- zeros by construction

zeros(STAY, STAY, ct.enter_checkpoint_op, ct.leave_checkpoint_op)

# -- shifts of operands

no_shift(ct.stop_gradient_op, ct.check_op, ct.decide_op, ct.warn_op, ct.warn_below_op)
no_shift(ct.enter_checkpoint_op, ct.leave_checkpoint_op)

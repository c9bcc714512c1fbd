"""Traits of control ops: all of them pass their operand on."""

from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, declare
from anyshape.backend.compiler.passes import identities
from anyshape.ops import control as ct

CONTROL = OPAQUE._replace(alias=Alias.VIEW, recomputable=True)

declare(CONTROL, ct.stop_gradient_op, ct.check_op, ct.decide_op, ct.warn_op)
declare(OPAQUE, ct.warn_below_op)
declare(
    CONTROL._replace(algebra=NO_ALGEBRA._replace(identities=(identities.of_literal,))),
    ct.enter_checkpoint_op,
    ct.leave_checkpoint_op,
)

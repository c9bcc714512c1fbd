"""Traits of control ops: all of them pass their operand on."""

from dataclasses import replace

from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, declare
from anyshape.backend.compiler.passes import identities
from anyshape.ops import control as ct

CONTROL = replace(OPAQUE, alias=Alias.VIEW, recomputable=True)

declare(CONTROL, ct.stop_gradient_op, ct.check_op)
declare(
    replace(CONTROL, algebra=replace(NO_ALGEBRA, identities=(identities.of_literal,))),
    ct.enter_checkpoint_op,
    ct.leave_checkpoint_op,
)

"""Traits of control ops: all of them pass their operand on.

Traits of functions of the user and of names for sizes.

Traits of the marks around functions with derivative rules of the user. `prepare_to_run` takes them out.
"""

from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, declare
from anyshape.backend.compiler.passes import identities
from anyshape.ops import control as cb
from anyshape.ops import control as cr

CONTROL = OPAQUE._replace(alias=Alias.VIEW, recomputable=True)

declare(CONTROL, cb.stop_gradient_op, cb.check_op, cb.decide_op, cb.warn_op)
declare(OPAQUE, cb.warn_below_op)
declare(
    CONTROL._replace(algebra=NO_ALGEBRA._replace(identities=(identities.of_literal,))),
    cb.enter_checkpoint_op,
    cb.leave_checkpoint_op,
)


declare(OPAQUE._replace(runs_user_code=True), cb.callback_op)
declare(OPAQUE._replace(alias=Alias.VIEW), cb.name_sizes_op)


declare(OPAQUE._replace(alias=Alias.VIEW, recomputable=True), cr.custom_argument_op)
declare(OPAQUE, cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op, cr.custom_vjp_tangent_op)

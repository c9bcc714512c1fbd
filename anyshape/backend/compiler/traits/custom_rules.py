"""Traits of the marks around functions with derivative rules of the user. `prepare_to_run` takes them out."""

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.ops import custom_rules as cr

declare(OPAQUE._replace(alias=Alias.VIEW, recomputable=True), cr.custom_argument_op)
declare(OPAQUE, cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op, cr.custom_vjp_tangent_op)

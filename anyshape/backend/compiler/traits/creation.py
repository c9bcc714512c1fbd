"""Traits of ops that make arrays from sizes and literals."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import creation as cr

declare(OPAQUE._replace(recomputable=True), cr.full_op, cr.iota_op, cr.size_value_op, cr.float_of_size_op)

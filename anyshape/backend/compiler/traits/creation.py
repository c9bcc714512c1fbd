"""Traits of ops that make arrays from sizes and literals."""

from dataclasses import replace

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import creation as cr

declare(replace(OPAQUE, recomputable=True), cr.full_op, cr.iota_op, cr.size_value_op)

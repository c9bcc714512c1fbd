"""Traits of segment reductions."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import segments as sg

declare(OPAQUE, sg.segment_max_op, sg.segment_min_op, sg.segment_prod_op)

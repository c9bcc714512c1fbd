"""Traits of loops: one trip runs at a time, so the memory of a run is that of one trip."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import loops as lp

declare(OPAQUE, lp.scan_op, lp.while_op)

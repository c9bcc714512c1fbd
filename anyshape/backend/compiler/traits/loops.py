"""Traits of loops: one trip runs at a time, so the memory of a run is that of one trip."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import loops as lp

declare(OPAQUE._replace(inlines="body"), lp.scan_op)
declare(OPAQUE._replace(inlines="loop"), lp.while_op)
declare(OPAQUE, lp.while_each_op)

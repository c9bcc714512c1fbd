"""Traits of functions of other libraries."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.ops import external as ex

declare(OPAQUE, ex.correlate_op, ex.spread_op, ex.weigh_op, ex.ranked_op, ex.tied_op, ex.untied_op)

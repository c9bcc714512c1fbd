"""Traits of draws: they run in their order, and never twice."""

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.ops import random as rd

declare(OPAQUE, rd.draw_op)
declare(OPAQUE._replace(alias=Alias.VIEW), rd.order_draw_op)

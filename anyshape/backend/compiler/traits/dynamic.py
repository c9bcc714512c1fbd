"""Traits of ops whose results have sizes or positions that depend on data."""

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.ops import dynamic as dy

declare(OPAQUE, dy.nonzero_op, dy.size_token_op, dy.repeated_op, dy.unique_op, dy.dynamic_update_slice_op)
declare(OPAQUE, *dy.EACH.values())
declare(OPAQUE._replace(alias=Alias.VIEW), dy.dynamic_slice_op)

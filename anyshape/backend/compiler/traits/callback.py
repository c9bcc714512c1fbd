"""Traits of functions of the user and of names for sizes."""

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.ops import callback as cb

declare(OPAQUE._replace(runs_user_code=True), cb.callback_op)
declare(OPAQUE._replace(alias=Alias.VIEW), cb.name_sizes_op)

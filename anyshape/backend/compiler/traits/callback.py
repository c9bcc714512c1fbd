"""Traits of functions of the user and of names for sizes."""

from dataclasses import replace

from anyshape.backend.compiler.op_traits import OPAQUE, Alias, declare
from anyshape.ops import callback as cb

declare(replace(OPAQUE, runs_user_code=True), cb.callback_op)
declare(replace(OPAQUE, alias=Alias.VIEW), cb.name_sizes_op)

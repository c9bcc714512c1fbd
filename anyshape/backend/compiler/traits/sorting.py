"""Traits of sorts, permutations and searches."""

from dataclasses import replace

from anyshape.backend.compiler import scratch
from anyshape.backend.compiler.op_traits import OPAQUE, Tiling, declare
from anyshape.backend.compiler.passes import row_parallel as rows
from anyshape.ops import sorting as so

BEHIND_ROWS = replace(OPAQUE, tiling=Tiling(rows.behind("axis"), collapse=None, combine=None))

declare(replace(BEHIND_ROWS, scratch=scratch.like_first_operand(1)), so.sort_op)
declare(replace(BEHIND_ROWS, scratch=scratch.like_first_operand(2)), so.argsort_op)
declare(replace(BEHIND_ROWS, scratch=scratch.positions(2)), so.permute_op)
declare(replace(OPAQUE, scratch=scratch.positions(2)), so.searchsorted_op)

"""Traits of sorts, permutations and searches."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, Tiling, declare
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.ops import sorting as so

BEHIND_ROWS = OPAQUE._replace(tiling=Tiling(rows.behind("axis"), collapse=None, combine=None))

declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(1)), so.sort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(2)), so.argsort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.positions(2)), so.permute_op)
declare(OPAQUE._replace(scratch=op_traits.positions(2)), so.searchsorted_op)

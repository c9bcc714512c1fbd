"""Traits of ops that read and write at integer positions."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, Alias, Tiling, declare
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.ops import indexing as ix

declare(
    OPAQUE._replace(tiling=Tiling(rows.take, collapse.take, combine=None), scratch=op_traits.positions(1)), ix.take_op
)
declare(OPAQUE._replace(scratch=op_traits.positions(3)), ix.put_add_op)
declare(OPAQUE._replace(alias=Alias.VIEW), ix.index_bounds_op, ix.window_bounds_op)

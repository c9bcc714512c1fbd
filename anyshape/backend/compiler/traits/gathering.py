"""Traits of gathers and scatters.

Traits of segment reductions.
"""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.plan import scatter_sums_op
from anyshape.ops import gathering as ga

declare(OPAQUE._replace(scratch=op_traits.windows(5)), ga.gather_op, ga.gather_dynamic_op)
SCATTER = OPAQUE._replace(scratch=op_traits.windows(8))
declare(SCATTER._replace(updates=True), *ga.SCATTERS.values())
declare(SCATTER, scatter_sums_op)


declare(OPAQUE, ga.segment_max_op, ga.segment_min_op, ga.segment_prod_op)

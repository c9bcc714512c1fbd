"""Traits of gathers and scatters."""

from anyshape.backend.compiler import scratch
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.plan_ops import scatter_sums_op
from anyshape.ops import gathering as ga

declare(OPAQUE._replace(scratch=scratch.windows(5)), ga.gather_op, ga.gather_dynamic_op)
declare(
    OPAQUE._replace(scratch=scratch.windows(8)),
    ga.scatter_add_op,
    ga.scatter_set_op,
    ga.scatter_mul_op,
    ga.scatter_min_op,
    ga.scatter_max_op,
    scatter_sums_op,
)

"""Traits of reductions, cumulative ops, the recurrence and sum_to.

Traits of sorts, permutations and searches.
"""

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, Tiling, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.ops import reduction as rd

NOT_COMBINED = Tiling(rows.reduction, collapse.axes, combine=None)
ALONG_ONE_AXIS = OPAQUE._replace(tiling=Tiling(rows.behind("axis"), collapse.axis, combine=None))
SUM = NO_ALGEBRA._replace(identities=(identities.negation_outwards("iu"),))


def _combined(ufunc: np.ufunc) -> Tiling:
    return Tiling(rows.reduction, collapse.axes, ufunc)


declare(OPAQUE._replace(tiling=_combined(np.add), algebra=SUM), rd.reduce_sum_op)
declare(OPAQUE._replace(tiling=NOT_COMBINED), rd.reduce_prod_op)
declare(OPAQUE._replace(tiling=_combined(np.maximum)), rd.reduce_max_op)
declare(OPAQUE._replace(tiling=_combined(np.minimum)), rd.reduce_min_op)
declare(OPAQUE._replace(tiling=_combined(np.logical_and)), rd.reduce_and_op)
declare(OPAQUE._replace(tiling=_combined(np.logical_or)), rd.reduce_or_op)
declare(OPAQUE._replace(tiling=NOT_COMBINED, scratch=op_traits.like_first_operand(2)), rd.reduce_logsumexp_op)
declare(
    OPAQUE._replace(tiling=NOT_COMBINED, scratch=op_traits.like_first_operand(2)), rd.softmax_op, rd.safe_softmax_op
)

declare(ALONG_ONE_AXIS._replace(scratch=op_traits.like_first_operand(1)), rd.argmax_op, rd.argmin_op)
declare(ALONG_ONE_AXIS, rd.cumsum_op, rd.cumprod_op, rd.cummax_op, rd.cummin_op)
declare(ALONG_ONE_AXIS._replace(scratch=op_traits.like_first_operand(2)), rd.cumlogsumexp_op)
declare(ALONG_ONE_AXIS._replace(scratch=op_traits.operands_and_results(1)), rd.recurrence_op)

declare(
    OPAQUE._replace(
        alias=Alias.VIEW_OR_SUM,
        tiling=Tiling(rows.sum_to, collapse.sum_to, np.add),
        algebra=NO_ALGEBRA._replace(
            identities=(identities.same_shape, identities.plain_sum, identities.negation_outwards("iu"))
        ),
    ),
    rd.sum_to_op,
)


BEHIND_ROWS = OPAQUE._replace(tiling=Tiling(rows.behind("axis"), collapse=None, combine=None))

declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(1)), rd.sort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.like_first_operand(2)), rd.argsort_op)
declare(BEHIND_ROWS._replace(scratch=op_traits.positions(2)), rd.permute_op)
declare(OPAQUE._replace(scratch=op_traits.positions(2)), rd.searchsorted_op)

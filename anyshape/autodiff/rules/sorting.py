"""Derivatives of sorting: tangents take the order of the elements, and cotangents the inverse permutation."""

from anyshape.autodiff.rule_tables import JVPS, MOVE, linear_in_first, no_shift, zero, zeros
from anyshape.ops import sorting as so


def _sort_jvp(ctx, tangents, out, x, *, axis):
    return so.permute(tangents[0], so.argsort(x, axis), axis)


JVPS[so.sort_op] = _sort_jvp
linear_in_first(
    so.permute_op,
    lambda ctx, ct, x, order, *, axis, inverse: so.permute(ct, order, axis, inverse=not inverse),
)
zero(so.argsort_op)
zero(so.searchsorted_op)

# -- zeros by construction

zeros(MOVE, MOVE, so.sort_op, so.permute_op)

# -- shifts of operands

no_shift(so.sort_op, so.argsort_op, so.permute_op, so.searchsorted_op)

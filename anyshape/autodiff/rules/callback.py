"""Derivatives of callbacks: there are none. Naming the sizes of an array is linear."""

from anyshape.autodiff.jvp import has_tangent
from anyshape.autodiff.rule_tables import JVPS, MIX, MOVE, TRANSPOSES, no_shift, zeros
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import callback as cb
from anyshape.ops.control_flow import sized


def _callback_jvp(ctx, tangents, out, *xs, function, results, loops, vectorized, sources=()):
    """Return no tangent for integers and booleans; raise for other results, as the function is not traced."""
    if any(has_tangent(dtype) for dtype, _ in results):
        advice = "give it stop_gradient(x), so that its result is a constant, or a derivative rule with custom_jvp"
        raise UnsupportedFunctionError(f"pure_callback({function})", "has no derivative", advice, ctx.where)
    return (None,) * len(results) if len(results) > 1 else None


JVPS[cb.callback_op] = _callback_jvp


def _name_sizes_jvp(ctx, tangents, out, x):
    """Give the tangent the sizes that its array has. A run checks that it has them."""
    return sized(tangents[0], ctx.shape(out))


JVPS[cb.name_sizes_op] = _name_sizes_jvp
TRANSPOSES[cb.name_sizes_op] = lambda ctx, ct, x: (ct,)

# -- zeros by construction

zeros(MOVE, MOVE, cb.name_sizes_op)
zeros(MIX, MIX, cb.callback_op)

# -- shifts of operands

no_shift(cb.callback_op, cb.name_sizes_op)

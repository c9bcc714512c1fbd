"""Derivatives of control ops. Cotangents pass a checkpoint in reverse: they enter where values leave it.

Batching of control ops.

Derivatives of callbacks: there are none. Naming the sizes of an array is linear.

Batching of callbacks: one call per example, or one for all where the function is declared vectorized.
"""

from anyshape.autodiff.jvp import has_tangent
from anyshape.autodiff.rule_tables import (
    BATCHERS,
    JVPS,
    MIX,
    MOVE,
    STAY,
    TRANSPOSES,
    linear,
    no_shift,
    stretch_all,
    zero,
    zeros,
)
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.shapes.array_type import Unknown, UpperBound
from anyshape.ops import control as cb
from anyshape.ops.control_flow import sized

zero(cb.stop_gradient_op)
zero(cb.check_op)
zero(cb.decide_op)
zero(cb.warn_op)
zero(cb.warn_below_op)
linear(cb.enter_checkpoint_op, lambda ctx, dy, x, *, keep, turn: cb.leave_checkpoint(dy, keep))
linear(cb.leave_checkpoint_op, lambda ctx, dy, x, *, keep: cb.enter_checkpoint(dy, keep))

# -- zeros by construction

zeros(STAY, STAY, cb.enter_checkpoint_op, cb.leave_checkpoint_op)

# -- shifts of operands

no_shift(cb.stop_gradient_op, cb.check_op, cb.decide_op, cb.warn_op, cb.warn_below_op)
no_shift(cb.enter_checkpoint_op, cb.leave_checkpoint_op)


BATCHERS[cb.stop_gradient_op] = lambda ctx, size, batched, x: cb.stop_gradient(x)
BATCHERS[cb.check_op] = lambda ctx, size, batched, x, *, message: cb.check(x, message)  # of all examples
BATCHERS[cb.decide_op] = lambda ctx, size, batched, x, *live, answer, turn: cb.decide(
    x, answer, turn
)  # of all examples
BATCHERS[cb.warn_op] = lambda ctx, size, batched, x, *, message: cb.warn(x, message)  # once for all examples
BATCHERS[cb.enter_checkpoint_op] = lambda ctx, size, batched, x, *, keep, turn: cb.enter_checkpoint(x, keep, turn)
BATCHERS[cb.leave_checkpoint_op] = lambda ctx, size, batched, x, *, keep: cb.leave_checkpoint(x, keep)


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
TRANSPOSES[cb.name_sizes_op] = lambda ctx, cb, x: (cb,)

# -- zeros by construction

zeros(MOVE, MOVE, cb.name_sizes_op)
zeros(MIX, MIX, cb.callback_op)

# -- shifts of operands

no_shift(cb.callback_op, cb.name_sizes_op)


def _callback_batch(ctx, size, batched, *xs, function, results, loops, vectorized):
    promised = _in_front(ctx, size, results)
    if vectorized:
        xs = stretch_all(ctx, size, batched, xs)
        outputs = cb.callback(function, promised, *xs, loops=loops, vectorized=True)
    else:  # examples of different sizes are an error of the run
        outputs = cb.callback(function, promised, *xs, loops=(tuple(batched), *loops))
    return outputs if len(outputs) > 1 else outputs[0]


def _in_front(ctx, size, results):
    """Return the declared results with the batch as their first axis."""
    return [(dtype, (size, *map(_extent, entries))) for dtype, entries in results]


def _extent(entry):
    if isinstance(entry, tuple):
        return UpperBound(entry[1])
    return Unknown() if isinstance(entry, str) else entry


BATCHERS[cb.callback_op] = _callback_batch
BATCHERS[cb.name_sizes_op] = lambda ctx, size, batched, x: cb.name_sizes(x)

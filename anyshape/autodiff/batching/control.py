"""Batching of control ops."""

from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.ops import control as ct

BATCHERS[ct.stop_gradient_op] = lambda ctx, size, batched, x: ct.stop_gradient(x)
BATCHERS[ct.check_op] = lambda ctx, size, batched, x, *, message: ct.check(x, message)  # of all examples
BATCHERS[ct.decide_op] = lambda ctx, size, batched, x, *live, answer, turn: ct.decide(
    x, answer, turn
)  # of all examples
BATCHERS[ct.warn_op] = lambda ctx, size, batched, x, *, message: ct.warn(x, message)  # once for all examples
BATCHERS[ct.enter_checkpoint_op] = lambda ctx, size, batched, x, *, keep, turn: ct.enter_checkpoint(x, keep, turn)
BATCHERS[ct.leave_checkpoint_op] = lambda ctx, size, batched, x, *, keep: ct.leave_checkpoint(x, keep)

"""Batching of control ops."""

from anyshape.autodiff.tables import BATCHERS
from anyshape.ops import control as ct

BATCHERS[ct.stop_gradient_op] = lambda ctx, size, batched, x: ct.stop_gradient(x)
BATCHERS[ct.check_op] = lambda ctx, size, batched, x, *, message: ct.check(x, message)  # of all examples

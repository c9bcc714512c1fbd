"""Batching of ops whose results have sizes that depend on data: examples would have different sizes, so there is none.

Where what they read carries no batch, they are not batched at all.
"""

from anyshape.autodiff.tables import BATCHERS
from anyshape.graph.extents import Unknown
from anyshape.ops import dynamic as dy


def _ragged(ctx, size, batched, *inputs, **params):
    """The error: each example has a size of its own."""
    raise ctx.unsupported("the batch", None, Unknown(), "one size for all examples")


BATCHERS[dy.nonzero_op] = _ragged
BATCHERS[dy.size_token_op] = _ragged

"""Batching of functions called back: one by one, or all at once where the function says that it takes a batch."""

from anyshape.autodiff.batching.movement import spread
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.graph.shapes.array_type import Unknown, UpperBound
from anyshape.ops import callback as cb


def _callback_batch(ctx, size, batched, *xs, function, results, loops, vectorized):
    if vectorized:
        xs, promised = spread(ctx, size, batched, xs), _in_front(ctx, size, results)
        found = cb.callback(function, promised, *xs, loops=loops, vectorized=True)
    else:
        for _, entries in results:
            for axis, entry in enumerate(entries):
                if isinstance(entry, (tuple, str)):
                    raise ctx.unsupported("the batch", axis, _extent(entry), "one size for all examples")
        promised = _in_front(ctx, size, results)
        found = cb.callback(function, promised, *xs, loops=(tuple(batched), *loops))
    return found if len(found) > 1 else found[0]


def _in_front(ctx, size, results):
    """What is promised of results with the batch as their first axis."""
    return [(dtype, (size, *map(_extent, entries))) for dtype, entries in results]


def _extent(entry):
    if isinstance(entry, tuple):
        return UpperBound(entry[1])
    return Unknown() if isinstance(entry, str) else entry


BATCHERS[cb.callback_op] = _callback_batch
BATCHERS[cb.name_sizes_op] = lambda ctx, size, batched, x: cb.name_sizes(x)

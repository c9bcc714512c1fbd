"""Batching of callbacks: one call per example, or one for all where the function is declared vectorized."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.graph.shapes.array_type import Unknown, UpperBound
from anyshape.ops import callback as cb


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

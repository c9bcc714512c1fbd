"""Batching of gather and scatter. Where only the operand carries the batch, it is one more axis of every window; where
the indices do, their examples go together with those of the operand by batching axes.
"""

from anyshape.autodiff.batching.movement import spread
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.ops import gathering as ga


def _later(axes):
    return tuple([a + 1 for a in axes])


def _in_windows(w):
    """Windows of an operand with one more axis, the first, that they run over."""
    batches = (_later(w.operand_batch), w.indices_batch)
    return ga.Windows((0, *_later(w.offset)), _later(w.collapsed), _later(w.starts), w.vector, *batches)


def _in_indices(w):
    """Windows of indices with one more axis, the first."""
    batches = (w.operand_batch, _later(w.indices_batch))
    return ga.Windows(_later(w.offset), w.collapsed, w.starts, w.vector + 1, *batches)


def _in_both(w):
    """Windows of operand and indices with one more axis each, the first, along which they go together."""
    batches = ((0, *_later(w.operand_batch)), (0, *_later(w.indices_batch)))
    return ga.Windows(_later(w.offset), _later(w.collapsed), _later(w.starts), w.vector + 1, *batches)


def _gather(ctx, size, batched, operand, indices, *, slice_sizes, mode, fill_value, **numbers):
    w = ga.windows_of(numbers, ga.GATHER)
    if not batched[1]:
        w, sizes = _in_windows(w), (size, *slice_sizes)
    elif not batched[0]:
        w, sizes = _in_indices(w), slice_sizes
    else:
        w, sizes = _in_both(w), (1, *slice_sizes)
    return ga.gather_windows(operand, indices, w, sizes, mode, fill_value)


def _scatter(kind):
    def rule(ctx, size, batched, operand, indices, updates, *, mode, unique_indices, **numbers):
        w = ga.windows_of(numbers, ga.SCATTER)
        operand, updates = spread(ctx, size, batched[::2], (operand, updates))
        w = _in_both(w) if batched[1] else _in_windows(w)
        return ga.scatter_windows(kind, operand, indices, updates, w, mode, unique_indices)

    BATCHERS[ga.SCATTERS[kind]] = rule


BATCHERS[ga.gather_op] = BATCHERS[ga.gather_dynamic_op] = _gather
for _kind in ga.SCATTERS:
    _scatter(_kind)

"""Batching of gather and scatter.

Where the operand alone carries the batch, it is one more axis of every window. Where the indices carry it, batching
axes pair examples of indices and operand.
"""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.ops import gathering as ga


def _later(axes):
    return tuple([a + 1 for a in axes])


def _in_windows(w):
    """Return windows with one more axis of the operand, the first, which they cover."""
    batches = (_later(w.operand_batch), w.indices_batch)
    return ga.Windows((0, *_later(w.offset)), _later(w.collapsed), _later(w.starts), w.vector, *batches)


def _in_indices(w):
    """Return windows for indices with one more axis, the first."""
    batches = (w.operand_batch, _later(w.indices_batch))
    return ga.Windows(_later(w.offset), w.collapsed, w.starts, w.vector + 1, *batches)


def _in_both(w):
    """Return windows for operand and indices with one more axis each, the first, along which they are paired."""
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
        operand, updates = stretch_all(ctx, size, batched[::2], (operand, updates))
        w = _in_both(w) if batched[1] else _in_windows(w)
        return ga.scatter_windows(kind, operand, indices, updates, w, mode, unique_indices)

    BATCHERS[ga.SCATTERS[kind]] = rule


BATCHERS[ga.gather_op] = BATCHERS[ga.gather_dynamic_op] = _gather
for _kind in ga.SCATTERS:
    _scatter(_kind)

"""Batching of movement ops: the batch is one more axis, the first, which stays as it is."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.ops import movement as mv


def _after_batch(axes):
    return tuple([axis + 1 for axis in axes])


def _write(change):
    """Return the batching rule of an op that changes a part of an array."""

    def batch(ctx, size, batched, x, part, *, starts, steps):
        x, part = stretch_all(ctx, size, batched, (x, part))
        return change(x, part, (0, *starts), (1, *steps))

    return batch


BATCHERS[mv.broadcast_in_dim_op] = lambda ctx, size, batched, x, *, shape, axes: mv.broadcast_in_dim(
    x, (size, *shape), (0, *_after_batch(axes))
)
BATCHERS[mv.reshape_op] = lambda ctx, size, batched, x, *, shape: mv.reshape(x, (size, *shape))
BATCHERS[mv.transpose_op] = lambda ctx, size, batched, x, *, axes: mv.transpose(x, (0, *_after_batch(axes)))
BATCHERS[mv.slice_op] = lambda ctx, size, batched, x, *, starts, sizes, steps: mv.strided(
    x, (0, *starts), (size, *sizes), (1, *steps)
)
BATCHERS[mv.slice_update_op] = _write(mv.slice_update)
BATCHERS[mv.slice_add_op] = _write(mv.slice_add)
BATCHERS[mv.rev_op] = lambda ctx, size, batched, x, *, axes: mv.rev(x, _after_batch(axes))
BATCHERS[mv.pad_op] = lambda ctx, size, batched, x, *, low, high, interior, value: mv.pad_unchecked(
    x, (0, *low), (0, *high), (0, *interior), value
)
BATCHERS[mv.concatenate_op] = lambda ctx, size, batched, *xs, axis: mv.concatenate(
    stretch_all(ctx, size, batched, xs), axis + 1
)

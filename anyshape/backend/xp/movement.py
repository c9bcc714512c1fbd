"""Kernels that move elements."""

from anyshape.backend.xp.libraries import kernel
from anyshape.ops import movement as mv


def _broadcast_in_dim(xp, x, *, shape, axes):
    rank = len(shape)
    if axes != tuple(range(rank - len(axes), rank)):
        sizes = dict(zip(axes, x.shape, strict=True))
        x = xp.reshape(x, tuple([sizes.get(axis, 1) for axis in range(rank)]))
    return xp.broadcast_to(x, tuple(shape))


def part(start, size, step):
    """Return the slice that reads `size` elements, `step` apart, within the array."""
    return slice(start, start + (size - 1) * step + 1 if size else start, step)


def key(starts, sizes, steps):
    """Return the slices that read a part of an array."""
    return tuple([part(*each) for each in zip(starts, sizes, steps, strict=True)])


def _pad(xp, x, *, low, high, interior, value):
    steps = [between + 1 for between in interior]
    spans = [(n - 1) * k + 1 if n else 0 for n, k in zip(x.shape, steps, strict=True)]
    shape = [a + n + b for a, n, b in zip(low, spans, high, strict=True)]
    out = xp.full(tuple(shape), value, dtype=x.dtype, device=xp.device)
    return xp.updated(out, key(low, x.shape, steps), x)


def _updated(how):
    def run(xp, x, y, *, starts, steps):
        return getattr(xp, how)(x, (*key(starts, y.shape, steps), ...), y)

    return run


kernel(mv.broadcast_in_dim_op, _broadcast_in_dim)
kernel(mv.reshape_op, lambda xp, x, *, shape: xp.reshape(x, tuple(shape)))
kernel(mv.transpose_op, lambda xp, x, *, axes: xp.permute_dims(x, axes))
kernel(mv.slice_op, lambda xp, x, *, starts, sizes, steps: x[(*key(starts, sizes, steps), ...)])
kernel(mv.slice_update_op, _updated("updated"))
kernel(mv.slice_add_op, _updated("increased"))
kernel(mv.rev_op, lambda xp, x, *, axes: xp.flip(x, axis=axes))
kernel(mv.pad_op, _pad)
kernel(mv.concatenate_op, lambda xp, *xs, axis: xp.concat(xs, axis=axis))

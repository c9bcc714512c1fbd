"""Derivatives of movement ops: all are linear, and the transpose of each is another movement op or a sum.

Batching of movement ops: the batch is one more axis, the first, which stays as it is.
"""

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff import shift_invariance as shifts
from anyshape.autodiff.cotangents import Rest, SlicePart, SliceRead, Window, axes_left
from anyshape.autodiff.rule_tables import linear, shift, stretch_all, zeros, zeros_like
from anyshape.graph.shapes.array_type import dilated_size
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import apply, sizes_of
from anyshape.ops.reduction import sum_to
from anyshape.support.lazy_dataclass import replace

linear(mv.broadcast_in_dim_op, lambda ctx, ct, x, *, shape, axes, sources=(): sum_to(ct, ctx.shape(x), axes))
linear(mv.reshape_op, lambda ctx, ct, x, *, shape, sources=(): mv.reshape(ct, ctx.shape(x)))
linear(mv.transpose_op, lambda ctx, ct, x, *, axes: mv.transpose(ct, np.argsort(axes).tolist()))


def _slice_back(ctx, ct, x, *, starts, sizes, steps, sources=()):
    """Return the cotangent as a part of an array, with zeros for the elements that the slice left out."""
    low, counts, steps = (ctx.bind(p, field=f) for p, f in ((starts, "starts"), (sizes, "sizes"), (steps, "steps")))
    interior = [step - 1 for step in steps]
    spans = [a + dilated_size(n, k) for a, n, k in zip(low, counts, interior)]
    high = [whole - span for whole, span in zip(ctx.shape(x), spans)]
    return SlicePart(ct, ctx.scope, low, high, interior, counts)


linear(mv.slice_op, _slice_back)

# -- windows, which stay windows


def _reshape_part(ctx, part, x, *, shape, sources=()):
    before, after = ctx.shape(x), ctx.bind(shape, field="shape")
    axes, window = axes_left(ctx, before, after), part.as_window(after)
    if axes is None or window is None:
        return None
    return window.with_axes(axes, len(before), lambda read: mv.reshape(part.image(read), before))


def _slice_part(ctx, part, x, *, starts, sizes, steps, **others):
    if (window := part.as_window(ctx.bind(sizes, field="sizes"))) is None:
        return None
    back = _slice_back(ctx, None, x, starts=starts, sizes=sizes, steps=steps, **others)
    image = lambda read: replace(back, ct=part.image(read)).whole()
    return window.in_slice(ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps"), image)


def _rev_part(ctx, part, x, *, axes):
    window = part.as_window(ctx.shape(x))
    return None if window is None else window.reversed(axes, ctx.shape(x), lambda read: mv.rev(part.image(read), axes))


tables.WINDOW_TRANSPOSES[mv.reshape_op] = _reshape_part
tables.WINDOW_TRANSPOSES[mv.slice_op] = _slice_part
tables.WINDOW_TRANSPOSES[mv.rev_op] = _rev_part


def _slice_update_jvp(ctx, tangents, out, x, part, **params):
    """Update the tangent of the array; what has no tangent counts as zeros."""
    array, changed = (zeros_like(ctx, v) if t is None else t for t, v in zip(tangents, (x, part), strict=True))
    return apply(mv.slice_update_op, array, changed, **params)


def _slice_update_transpose(ctx, ct, x, part, *, starts, steps, sources=()):
    """Give the part its elements of the cotangent, and the array the others."""
    starts, steps = ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps")
    clear = lambda total: mv.slice_update(total, zeros_like(ctx, part), starts, steps)
    window = Window(ctx.scope, starts, ctx.shape(part), steps)
    of_array = Rest(ct, clear, window) if isinstance(x, tables.Linear) else None
    return of_array, SliceRead(ct, window) if isinstance(part, tables.Linear) else None


tables.JVPS[mv.slice_update_op] = _slice_update_jvp
tables.TRANSPOSES[mv.slice_update_op] = _slice_update_transpose


def _slice_add_jvp(ctx, tangents, out, x, part, *, starts, steps, sources=()):
    """Add the tangents; one may be zero."""
    array, added = tangents
    if added is None:
        return array
    starts, steps = ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps")
    return mv.slice_add(zeros_like(ctx, x) if array is None else array, added, starts, steps)


def _slice_add_transpose(ctx, ct, x, part, *, starts, steps, sources=()):
    """Give the array the cotangent, and the part its elements of it."""
    starts, steps = ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps")
    window = Window(ctx.scope, starts, ctx.shape(part), steps)
    of_part = SliceRead(ct, window) if isinstance(part, tables.Linear) else None
    return Rest(ct) if isinstance(x, tables.Linear) else None, of_part


tables.JVPS[mv.slice_add_op] = _slice_add_jvp
tables.TRANSPOSES[mv.slice_add_op] = _slice_add_transpose


def _slice_read(ctx, x, array, part, *, starts, steps, sources=()):
    starts, steps = ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps")
    return mv.strided(x, starts, ctx.shape(part), steps)


def _slice_set(ctx, x, new, array, part, *, starts, steps, sources=()):
    return mv.slice_update(x, new, ctx.bind(starts, field="starts"), ctx.bind(steps, field="steps"))


tables.WRITES |= dict.fromkeys((mv.slice_update_op, mv.slice_add_op), tables.Write(1, _slice_read, _slice_set))
linear(mv.rev_op, lambda ctx, ct, x, *, axes: mv.rev(ct, axes))


def _pad_jvp(ctx, tangents, out, x, *, low, high, interior, value, sources=()):
    zero = x.dtype.type(0).item()
    return apply(mv.pad_op, tangents[0], sources=sources, low=low, high=high, interior=interior, value=zero)


def _pad_transpose(ctx, ct, x, *, low, high, interior, value, sources=()):
    starts, between = ctx.bind(low, field="low"), ctx.bind(interior, field="interior")
    return (mv.strided(ct, starts, ctx.shape(x), [k + 1 for k in between]),)


tables.JVPS[mv.pad_op] = _pad_jvp
tables.TRANSPOSES[mv.pad_op] = _pad_transpose


def _concatenate_jvp(ctx, tangents, out, *xs, axis):
    """Concatenate the tangents: zeros between them are operands, and zeros at either end a pad."""
    live = [i for i, t in enumerate(tangents) if t is not None]
    first, last = live[0], live[-1] + 1
    joined = mv.concatenate(
        [ew.lift(0, x) if t is None else t for t, x in zip(tangents[first:last], xs[first:last])], axis
    )
    if last - first == len(xs):
        return joined
    none = (0,) * ctx.rank(out)
    sizes = [ctx.exact(x, axis, field="axis") for x in xs]
    low, high = sum(sizes[1:first], sizes[0]) if first else 0, sum(sizes[last:])
    before, after = ((*none[:axis], amount, *none[axis + 1 :]) for amount in (low, high))
    return mv.pad_unchecked(joined, before, after, none)


def _concatenate_transpose(ctx, ct, *xs, axis):
    """Return for each linear operand its part of the cotangent."""
    parts, start = [], 0
    whole = sizes_of(ctx, ct)
    for x in xs:
        size = ctx.exact(x, axis, field="axis")
        starts = [start if i == axis else 0 for i in range(len(whole))]
        sizes = [size if i == axis else s for i, s in enumerate(whole)]
        parts.append(mv.strided(ct, starts, sizes) if isinstance(x, tables.Linear) else None)
        start = start + size
    return tuple(parts)


tables.JVPS[mv.concatenate_op] = _concatenate_jvp
tables.TRANSPOSES[mv.concatenate_op] = _concatenate_transpose

# -- zeros by construction

zeros(tables.MOVE, tables.MOVE, mv.reshape_op, mv.transpose_op, mv.rev_op)
zeros(tables.MOVE, tables.ADD, mv.broadcast_in_dim_op, mv.slice_op)
zeros(tables.ADD, tables.MOVE, mv.concatenate_op)
zeros(tables.ADD, tables.ADD, mv.slice_update_op, mv.slice_add_op)
zeros(tables.FILL, tables.MOVE, mv.pad_op)

# -- shifts of operands

shift(mv.transpose_op, shifts.transpose)
shift(mv.broadcast_in_dim_op, shifts.broadcast_in_dim)
shift(mv.reshape_op, shifts.reshape)


def _after_batch(axes):
    return tuple([axis + 1 for axis in axes])


def _write(change):
    """Return the batching rule of an op that changes a part of an array."""

    def batch(ctx, size, batched, x, part, *, starts, steps):
        x, part = stretch_all(ctx, size, batched, (x, part))
        return change(x, part, (0, *starts), (1, *steps))

    return batch


tables.BATCHERS[mv.broadcast_in_dim_op] = lambda ctx, size, batched, x, *, shape, axes: mv.broadcast_in_dim(
    x, (size, *shape), (0, *_after_batch(axes))
)
tables.BATCHERS[mv.reshape_op] = lambda ctx, size, batched, x, *, shape: mv.reshape(x, (size, *shape))
tables.BATCHERS[mv.transpose_op] = lambda ctx, size, batched, x, *, axes: mv.transpose(x, (0, *_after_batch(axes)))
tables.BATCHERS[mv.slice_op] = lambda ctx, size, batched, x, *, starts, sizes, steps: mv.strided(
    x, (0, *starts), (size, *sizes), (1, *steps)
)
tables.BATCHERS[mv.slice_update_op] = _write(mv.slice_update)
tables.BATCHERS[mv.slice_add_op] = _write(mv.slice_add)
tables.BATCHERS[mv.rev_op] = lambda ctx, size, batched, x, *, axes: mv.rev(x, _after_batch(axes))
tables.BATCHERS[mv.pad_op] = lambda ctx, size, batched, x, *, low, high, interior, value: mv.pad_unchecked(
    x, (0, *low), (0, *high), (0, *interior), value
)
tables.BATCHERS[mv.concatenate_op] = lambda ctx, size, batched, *xs, axis: mv.concatenate(
    stretch_all(ctx, size, batched, xs), axis + 1
)

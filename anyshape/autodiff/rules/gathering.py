"""Derivatives of gather and scatter: each is the other's transpose. Indices and shape sources have none.

Several updates may meet in one element of the operand. The cotangent of this element then goes

- in a sum: to each of them;
- in a `set`: to the update that stayed, of the last window in C order of the index vectors;
- in a product: to each, times the product of the others;
- in an extreme: in equal parts to all that attain it, the element itself included.

Batching of gather and scatter.

Where the operand alone carries the batch, it is one more axis of every window. Where the indices carry it, batching
axes pair examples of indices and operand.

Derivatives of ops on segments: like reductions, from the contribution of each element to its segment.

Batching of ops on segments: one more axis after the first, or more segments where each example has its own ids.
"""

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.cotangents import IndexedWindows, Rest, WindowPart
from anyshape.autodiff.rule_tables import add_tangents, in_argmax_set, sharers, stretch_all, zeros, zeros_like
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes.expr import add, mul
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import apply
from anyshape.ops.creation import full, iota

_DROPPED, _FILLED = {"fill": "drop"}, {"drop": "fill"}


# -- gather


def _gather(op):
    def jvp(ctx, tangents, out, operand, indices, *, fill_value, **params):
        """Gather the tangent; filled elements have none."""
        return apply(op, tangents[0], indices, fill_value=operand.dtype.type(0).item(), **params)

    def transpose(ctx, ct, operand, indices, *, slice_sizes, mode, fill_value, sources=(), **numbers):
        windows = ga.windows_of(numbers, ga.GATHER)
        add = lambda total, part: ga.scatter_windows("add", total, indices, part, windows, _DROPPED.get(mode, mode))
        sizes = ctx.bind(slice_sizes, field="slice_sizes")
        gather = lambda x: ga.gather_windows(x, indices, windows, sizes, mode, 0)
        return WindowPart(ct, lambda: zeros_like(ctx, operand), add, gather, (indices, windows)), None

    tables.JVPS[op], tables.TRANSPOSES[op] = jvp, transpose


_gather(ga.gather_op)
_gather(ga.gather_dynamic_op)

# -- scatter: add and set


def _read(ctx, x, operand, indices, updates, params, fill=0):
    """Gather from x, which has the shape of the operand, the elements that the updates go to."""
    numbers = dict(params)
    mode: str = numbers.pop("mode")
    numbers.pop("unique_indices")
    windows = ga.windows_of(numbers, ga.SCATTER)
    sizes = [1] * ctx.rank(operand)
    for axis, position in zip(windows.window_axes(len(sizes)), windows.offset, strict=True):
        sizes[axis] = ctx.exact(updates, position, field="slice_sizes")
    return ga.gather_windows(x, indices, windows, sizes, _FILLED.get(mode, mode), fill, primal=True)


def _add_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, _, u = tangents
    if u is None:
        return t
    return apply(ga.scatter_add_op, zeros_like(ctx, operand) if t is None else t, indices, u, **params)


def _add_transpose(ctx, ct, operand, indices, updates, **params):
    return (
        Rest(ct) if isinstance(operand, tables.Linear) else None,
        None,
        _read(ctx, ct, operand, indices, updates, params) if isinstance(updates, tables.Linear) else None,
    )


def _set_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, u = (zeros_like(ctx, x) if t is None else t for t, x in zip(tangents[::2], (operand, updates), strict=True))
    return apply(ga.scatter_set_op, t, indices, u, **params)


def _set_transpose(ctx, ct, operand, indices, updates, **params):
    to_operand = to_updates = None
    if isinstance(operand, tables.Linear):
        clear = lambda total: apply(ga.scatter_set_op, total, indices, zeros_like(ctx, updates), **params)
        windows = ga.windows_of(dict(params), ga.SCATTER)
        cleared = IndexedWindows(ctx.scope, ctx.shape(operand), indices, windows, ctx.shape(updates))
        to_operand = Rest(ct, clear, windows=cleared)
    if isinstance(updates, tables.Linear):
        to_updates = _read(ctx, ct, operand, indices, updates, params)
        if not params["unique_indices"]:
            stays = _is_written(ctx, operand, indices, updates, params)
            to_updates = ew.select(stays, to_updates, zeros_like(ctx, updates))
    return to_operand, None, to_updates


def _is_written(ctx, operand, indices, updates, params):
    """Return a mask of the updates that are in the result: their numbers are, if numbers are written as they are."""
    shape = ctx.shape(updates)
    numbers = mv.reshape(iota(numel(shape)), shape)
    written = apply(ga.scatter_set_op, full(ctx.shape(operand), -1, numbers.dtype), indices, numbers, **params)
    return ew.eq(_read(ctx, written, operand, indices, updates, params, -1), numbers)


def _put_back(ctx, x, new, operand, indices, updates, *, mode, unique_indices, **numbers):
    windows = ga.windows_of(numbers, ga.SCATTER)
    return ga.scatter_windows("set", x, indices, new, windows, mode, unique_indices)


def _read_back(ctx, x, operand, indices, updates, **params):
    return _read(ctx, x, operand, indices, updates, params)


_WRITE = tables.Write(2, _read_back, _put_back)
tables.WRITES |= dict.fromkeys((ga.scatter_set_op, ga.scatter_add_op), _WRITE)
tables.JVPS[ga.scatter_add_op], tables.TRANSPOSES[ga.scatter_add_op] = _add_jvp, _add_transpose
tables.JVPS[ga.scatter_set_op], tables.TRANSPOSES[ga.scatter_set_op] = _set_jvp, _set_transpose

# -- scatter: mul, min and max


def _mul_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, _, u = tangents
    total = None
    if t is not None:
        ones = full(ctx.shape(operand), 1, operand.dtype)
        total = t * apply(ga.scatter_mul_op, ones, indices, updates, **params)
    if u is not None:
        derivative = u * _read(ctx, operand, operand, indices, updates, params)
        if not params["unique_indices"]:
            derivative = derivative * _others(ctx, operand, indices, updates, params)
        total = add_tangents(total, apply(ga.scatter_add_op, zeros_like(ctx, operand), indices, derivative, **params))
    return total


def _others(ctx, operand, indices, updates, params):
    """Return for each update the product of the others that meet it.

    No division occurs, so zeros are exact at every order. Updates are sorted by the elements that they go to. In each
    group the product of the updates before is multiplied by the product of the updates after.
    """
    shape = ctx.shape(updates)
    count = numel(shape)
    whole = ctx.shape(operand)
    positions = mv.reshape(iota(numel(whole)), whole)
    target = mv.reshape(_read(ctx, positions, operand, indices, updates, params, -1), (count,))
    order = rd.argsort(target, 0, stable=True)
    factors, target = (rd.permute(mv.reshape(x, (count,)), order, 0) for x in (updates, target))
    before, after = _neighbours(ctx, target)
    product = _product(factors, before, after) * _product(factors, after, before, reverse=True)
    return mv.reshape(rd.permute(product, order, 0, inverse=True), shape)


def _neighbours(ctx, keys):
    """Return where the key before each one of an ordered row equals it, and where the key after it does."""
    (n,) = ctx.shape(keys)
    last = mv.broadcast_to(cr.size_value(add(n, -1)), (n,))
    is_equal = ew.eq(mv.strided(mv.pad(keys, (0,), (1,)), (1,), (n,)), keys)
    after = ew.logical_and(is_equal, ew.lt(iota(n), last))
    return mv.strided(mv.pad(after, (1,), (0,)), (0,), (n,)), after


def _product(factors, before, after, *, reverse=False):
    """Return for each factor the product of the factors before it in its group.

    `before` and `after` tell whether the neighbour on that side belongs to the same group. The recurrence starts from
    0, so the initial 1 of each group is added separately.
    """
    first = ew.logical_not(before)
    second = ew.select(ew.logical_and(first, after), factors, ew.lift(0, factors))  # where a second factor follows
    states = rd.recurrence(factors, second, 0, reverse=reverse, goes_on=after)
    return states + ew.convert(first, factors.dtype)


def _extreme(misses):
    """Return the JVP rule of an extreme: the mean tangent of the element and the updates that attain it."""

    def jvp(ctx, tangents, out, operand, indices, updates, **params):
        t, u = (zeros_like(ctx, x) if t is None else t for t, x in zip(tangents[::2], (operand, updates), strict=True))
        stays = in_argmax_set(operand, out, misses)
        won = in_argmax_set(updates, _read(ctx, out, operand, indices, updates, params), misses)
        add = lambda x, y: apply(ga.scatter_add_op, x, indices, y, **params)
        count = add(ew.convert(stays, operand.dtype), ew.convert(won, operand.dtype))
        total = add(ew.select(stays, t, zeros_like(ctx, operand)), ew.select(won, u, zeros_like(ctx, updates)))
        return total / sharers(count, out)

    return jvp


tables.JVPS[ga.scatter_mul_op] = _mul_jvp
tables.JVPS[ga.scatter_min_op], tables.JVPS[ga.scatter_max_op] = _extreme(tables.ABOVE_MIN), _extreme(tables.BELOW_MAX)

# -- zeros by construction

zeros(tables.FILL, tables.ADD, ga.gather_op, ga.gather_dynamic_op)
zeros(tables.ADD, tables.ADD, ga.scatter_add_op, ga.scatter_set_op, ga.scatter_min_op, ga.scatter_max_op)
zeros(tables.REACH, tables.MIX, ga.scatter_mul_op)


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


def _batched_gather(ctx, size, batched, operand, indices, *, slice_sizes, mode, fill_value, **numbers):
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

    tables.BATCHERS[ga.SCATTERS[kind]] = rule


tables.BATCHERS[ga.gather_op] = tables.BATCHERS[ga.gather_dynamic_op] = _batched_gather
for _kind in ga.SCATTERS:
    _scatter(_kind)


def _segment_extreme(misses):
    """Return the JVP rule of an extreme: the mean tangent of all elements of a segment that attain it."""

    def jvp(ctx, tangents, out, x, ids, *, size, sources=()):
        count = ctx.shape(out)[0]
        in_set = in_argmax_set(x, ix.take(out, ids), misses)
        count_in_set = ga.add_segments(ew.convert(in_set, x.dtype), ids, count)
        total = ga.add_segments(ew.select(in_set, tangents[0], ew.lift(0, x)), ids, count)
        return total / sharers(ew.maximum(count_in_set, ew.lift(1, count_in_set)), out)

    return jvp


def _along_rows(row, shape):
    """Repeat one value for each element of the first axis along the other axes of a shape."""
    return mv.broadcast_in_dim(row, shape, (0,))


def _product_of_others(ctx, x, ids):
    """Return for each element the product of the others of its segment: before it times after it."""
    shape = ctx.shape(x)
    order = rd.argsort(ids, 0, stable=True)
    rows = _along_rows(order, shape)
    ordered = rd.permute(x, rows, 0)
    before, after = (_along_rows(side, shape) for side in _neighbours(ctx, rd.permute(ids, order, 0)))
    product = _product(ordered, before, after) * _product(ordered, after, before, reverse=True)
    return rd.permute(product, rows, 0, inverse=True)


def _prod_jvp(ctx, tangents, out, x, ids, *, size, sources=()):
    return ga.add_segments(tangents[0] * _product_of_others(ctx, x, ids), ids, ctx.shape(out)[0])


tables.JVPS[ga.segment_max_op] = _segment_extreme(tables.BELOW_MAX)
tables.JVPS[ga.segment_min_op] = _segment_extreme(tables.ABOVE_MIN)
tables.JVPS[ga.segment_prod_op] = _prod_jvp
tables.linear_in_first(ga.segment_sum_op, lambda ctx, ct, x, ids, *, size, sources=(): ix.take(ct, ids))

# -- zeros by construction

zeros(tables.ADD, tables.ADD, ga.segment_max_op, ga.segment_min_op)
zeros(tables.ADD, tables.MOVE, ga.segment_sum_op)
zeros(tables.REACH, tables.MIX, ga.segment_prod_op)


def _batched(op):
    def rule(ctx, count, batched, x, ids, *, size):
        if not batched[1]:
            return mv.move_axes(ga.apply_segments(op, mv.move_axes(x, (0,), (1,)), ids, size), (1,), (0,))
        x, ids = stretch_all(ctx, count, batched, (x, ids))
        (_, n, *rest), shape = ctx.shape(x), ctx.shape(ids)
        offset = mv.broadcast_in_dim(cr.iota(count), shape, (0,)) * mv.broadcast_to(cr.size_value(size), shape)
        flat = mv.reshape(ew.add(ids, offset), (mul(count, n),))
        out = ga.apply_segments(op, mv.reshape(x, (mul(count, n), *rest)), flat, mul(count, size))
        return mv.reshape(out, (count, size, *rest))

    tables.BATCHERS[op] = rule


for _op in (ga.segment_max_op, ga.segment_min_op, ga.segment_prod_op, ga.segment_sum_op):
    _batched(_op)

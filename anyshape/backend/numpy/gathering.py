"""Kernels of gather and scatter. Indices are values, so these do check them, before anything is written.

The dimension numbers decide what NumPy does: a slice for one window, np.take for indices into one axis, and rows at
flat positions for the rest. Axes of the operand that no index is about and that windows cover in full stay whole.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from anyshape.backend.compiler import plan_ops as po
from anyshape.backend.numpy.indexing import add_rows, summed_rows
from anyshape.errors import IndexRangeError
from anyshape.ops import gathering as ga
from anyshape.ops.apply import kernel


class _Plan(NamedTuple):
    """What dimension numbers mean for operands and indices of given ranks."""

    starts: tuple[int, ...]
    offset: tuple[int, ...]
    batch: tuple[int, ...]  # axes of the indices that run over index vectors
    indexed: tuple[int, ...]  # axes of the operand at which positions are given
    free: tuple[int, ...]  # the others: windows start at 0 there
    kept: tuple[int, ...]  # axes of the operand that windows run over
    wide: tuple[int, ...]  # those of the indexed ones
    outer: tuple[int, ...]  # axes of what is read that run over index vectors
    order: tuple[int, ...]  # those axes, then the axes of windows: first those of `wide`, then those of `free`
    placed: tuple[int, ...]  # the axes of what is read, for a transpose of an array whose axes are in that order
    taken: tuple[int, ...] | None  # the same for np.take, where that reads all
    components: tuple[tuple, ...]  # the key that takes each number out of an index vector
    shared: tuple[tuple[int, int], ...]  # batching: axis of the operand, place among the axes `batch`
    first: tuple[int, ...]  # axes of which every window has the first element alone


@functools.lru_cache(maxsize=1024)
def _plan(w, rank, indices_rank):
    indexed = tuple(sorted({*w.starts, *w.operand_batch, *w.collapsed}))
    free = tuple([a for a in range(rank) if a not in indexed])
    kept, outer, batch = w.window_axes(rank), w.outer(indices_rank), w.batch(indices_rank)
    position = dict(zip(kept, w.offset, strict=True))
    wide = tuple([a for a in kept if a in indexed])
    order = (*outer, *[position[a] for a in (*wide, *free)])
    taken = None
    if len(w.starts) == len(indexed) == 1 and not wide:
        taken = _inverse(
            [position[a] for a in free if a < indexed[0]], outer, [position[a] for a in free if a > indexed[0]]
        )
    ahead = (slice(None),) * w.vector
    components = tuple([(*ahead, k) if w.vector < indices_rank else () for k in range(len(w.starts))])
    shared = tuple([(a, batch.index(b)) for a, b in zip(w.operand_batch, w.indices_batch, strict=True)])
    placed = _inverse(order)
    first = tuple([a for a in w.collapsed if a not in w.starts])
    return _Plan(
        w.starts, w.offset, batch, indexed, free, kept, wide, outer, order, placed, taken, components, shared, first
    )


def _inverse(*orders):
    return tuple(np.argsort([axis for order in orders for axis in order]).tolist())


def _starts(name, plan, indices, shape, sizes, mode):
    """For each indexed axis the starts of windows, one for each index vector; and which vectors are in range.

    None stands for all of them.
    """
    starts, valid = {}, None
    for axis, component in zip(plan.starts, plan.components, strict=True):
        start, last = indices[component], shape[axis] - sizes[axis]
        if start.size and _beyond(start, last):
            if mode == "error" or (mode == "clip" and last < 0):
                low, high = int(start.min()), int(start.max())
                raise IndexRangeError(name, low if low < 0 else high, axis, shape[axis], sizes[axis])
            if mode == "clip":
                start = np.clip(start, 0, last)
            else:
                fits = (start >= 0) & (start <= last)
                valid = fits if valid is None else valid & fits
                start = np.where(fits, start, 0)
        starts[axis] = start.astype(np.intp, copy=False)
    lengths = [indices.shape[b] for b in plan.batch]
    for axis in plan.first:
        starts[axis] = np.zeros(lengths, np.intp)
        if not shape[axis] and starts[axis].size:
            raise IndexRangeError(name, 0, axis, 0)
    for axis, place in plan.shared:
        along = [-1 if i == place else 1 for i in range(len(lengths))]
        starts[axis] = np.broadcast_to(np.arange(lengths[place]).reshape(along), lengths)
    return starts, valid


def _beyond(start, last):
    """Whether an element is negative, or larger than the last: in one pass where negative ones can be read as large."""
    if start.dtype == np.int64 and last >= 0:
        return start.view(np.uint64).max() > last
    return start.min() < 0 or start.max() > last


def _positions(plan, starts, sizes):
    """For each indexed axis, the positions in it of the elements of windows along `wide`."""
    extra = len(plan.wide)
    found = []
    for axis in plan.indexed:
        start = starts[axis].reshape(starts[axis].shape + (1,) * extra)
        if axis in plan.wide and sizes[axis] != 1:
            steps = [-1 if a == axis else 1 for a in plan.wide]
            start = start + np.arange(sizes[axis]).reshape(steps)
        found.append(start)
    return found


def _flat(plan, positions, shape, sizes):
    """Positions in the array written in a row; and, if the free axes are together, how many elements each stands for.

    Otherwise (None) each is one element.
    """
    whole = all(sizes[a] == shape[a] for a in plan.free)
    together = whole and plan.indexed == tuple(range(len(plan.indexed)))
    width = math.prod([shape[a] for a in plan.free]) if together else 1
    flat = np.asarray(0)
    for axis, position in zip(plan.indexed, positions, strict=True):
        flat = flat + position * (math.prod(shape[axis + 1 :]) // width)
    if together:
        return flat, width
    flat = flat.reshape(flat.shape + (1,) * len(plan.free))
    for i, axis in enumerate(plan.free):
        steps = np.arange(sizes[axis]) * math.prod(shape[axis + 1 :])
        flat = flat + steps.reshape([-1 if j == i else 1 for j in range(len(plan.free))])
    return flat, None


def _window(plan, starts, sizes):
    """The key of one window."""
    first = [int(starts[axis]) if axis in starts else 0 for axis in range(len(sizes))]
    return tuple([slice(start, start + size) for start, size in zip(first, sizes, strict=True)])


# -- gather ------------------------------------------------------------------------------------------------------


def _gather(operand, indices, *, slice_sizes, mode, fill_value, **numbers):
    plan = _plan(ga.windows_of(numbers, ga.GATHER), operand.ndim, indices.ndim)
    return _gathered(operand, indices, plan, slice_sizes, mode, fill_value)


def _gather_case(params, metas):
    params = dict(params)
    sizes, mode, fill = (params.pop(name) for name in ("slice_sizes", "mode", "fill_value"))
    plan = _plan(ga.windows_of(params, ga.GATHER), metas[0].rank, metas[1].rank)
    return lambda operand, indices: _gathered(operand, indices, plan, sizes, mode, fill)


def _gathered(operand, indices, plan, sizes, mode, fill_value):
    starts, valid = _starts("gather", plan, indices, operand.shape, sizes, mode)
    batch = tuple([indices.shape[b] for b in plan.batch])
    inner = tuple([sizes[a] for a in (*plan.wide, *plan.free)])
    if valid is not None and not valid.any():
        found = np.full(batch + inner, fill_value, operand.dtype)
    elif valid is None and plan.taken is not None and batch and operand.size:
        return _ordered(_take(operand, plan, starts, sizes), plan.taken)
    else:
        found = _read(operand, plan, starts, sizes, batch, inner)
        if valid is not None:
            found[~valid] = fill_value
    return _ordered(found, plan.placed)


def _ordered(x, axes):
    return x if axes == tuple(range(len(axes))) else x.transpose(axes)


def _take(operand, plan, starts, sizes):
    """What np.take reads, with its axes."""
    (axis,) = plan.indexed
    if any(sizes[a] != operand.shape[a] for a in plan.free):
        operand = operand[tuple([slice(None) if a == axis else slice(s) for a, s in enumerate(sizes)])]
    return operand.take(starts[axis], axis)


def _read(operand, plan, starts, sizes, batch, inner):
    """What the windows hold, with the axes of index vectors first, then those of `wide` and of `free`."""
    if math.prod(batch) * math.prod(inner) == 0:
        return np.empty(batch + inner, operand.dtype)
    if not batch:
        part = operand[_window(plan, starts, sizes)].transpose((*plan.indexed, *plan.free))
        return part.copy(order="C").reshape(inner)
    flat, width = _flat(plan, _positions(plan, starts, sizes), operand.shape, sizes)
    if width is None:
        return operand.ravel().take(np.broadcast_to(flat, batch + inner))
    flat = np.broadcast_to(flat, (batch + inner)[: len(batch) + len(plan.wide)])
    return operand.reshape(-1, width).take(flat, 0).reshape(batch + inner)


# -- scatter -----------------------------------------------------------------------------------------------------


def _set(target, position, rows, unique):
    target[position] = rows


def _add(target, position, rows, unique):
    if unique:
        target[position] += rows
    else:
        add_rows(target, position, rows)


def _combining(ufunc):
    def run(target, position, rows, unique):
        if unique:
            target[position] = ufunc(target[position], rows)
        else:
            width = target.shape[1]
            flat = position if width == 1 else (position[:, None] * width + np.arange(width)).ravel()
            ufunc.at(target.reshape(-1), flat, rows.ravel())

    return run


def _scattered(how, operand, indices, updates, out, plan, mode, unique):
    name, ufunc, combine = how
    sizes = [1] * operand.ndim
    for axis, place in zip(plan.kept, plan.offset, strict=True):
        sizes[axis] = updates.shape[place]
    starts, valid = _starts(name, plan, indices, operand.shape, sizes, mode)
    if not updates.size or (valid is not None and not valid.any()):
        return _writable(operand, updates, indices, out)
    rows = updates.transpose(plan.order)
    if not plan.outer:
        out = _writable(operand, updates, indices, out)
        _inline_window(out, plan, starts, sizes, rows, ufunc)
        return out
    if valid is not None and not valid.all():
        starts = {axis: start[valid] for axis, start in starts.items()}
        rows = rows[valid]
    flat, width = _flat(plan, _positions(plan, starts, sizes), operand.shape, sizes)
    position = np.broadcast_to(flat, rows.shape if width is None else rows.shape[: rows.ndim - len(plan.free)])
    position, width = position.ravel(), width or 1
    rows = rows.reshape(position.size, width)
    if combine is None:
        return summed_rows(rows, position, operand.size // width).reshape(operand.shape)
    out = _writable(operand, updates, indices, out)
    combine(out.reshape(-1, width), position, rows, unique)
    return out


def _scatter(how):
    """The kernel of a scatter, and the case of known params.

    `how` is its name, the ufunc it applies (None: it sets), and `combine(target, position, rows, unique)`, which
    changes rows of the target (None: the operand holds zeros, and rows are added).
    """

    def run(operand, indices, updates, out=None, *, mode, unique_indices, **numbers):
        plan = _plan(ga.windows_of(numbers, ga.SCATTER), operand.ndim, indices.ndim)
        return _scattered(how, operand, indices, updates, out, plan, mode, unique_indices)

    def case(params, metas):
        params = dict(params)
        mode, unique = params.pop("mode"), params.pop("unique_indices")
        plan = _plan(ga.windows_of(params, ga.SCATTER), metas[0].rank, metas[1].rank)
        return lambda operand, indices, updates, out=None: _scattered(
            how, operand, indices, updates, out, plan, mode, unique
        )

    return run, case


def _writable(operand, updates, indices, out):
    """An array in C order that holds the operand: the operand itself where the planner says that it is not needed."""
    if out is operand and out is not updates and out.flags.c_contiguous:
        return out
    if out is None or out is updates or out is indices or not out.flags.c_contiguous:
        return operand.copy(order="C")
    np.copyto(out, operand)
    return out


def _inline_window(out, plan, starts, sizes, rows, ufunc):
    """One window, which a slice names."""
    part = out[(..., *_window(plan, starts, sizes))]  # a view also of no axes
    axes = (*plan.indexed, *plan.free)
    new = rows.reshape([part.shape[a] for a in axes]).transpose(np.argsort(axes))
    if ufunc is None:
        part[...] = new
    else:
        ufunc(part, new, out=part)


for _op in (ga.gather_op, ga.gather_dynamic_op):
    kernel(_op, _gather, specialise=_gather_case)
for _kind, _ufunc, _combine in (
    ("add", np.add, _add),
    ("set", None, _set),
    ("mul", np.multiply, _combining(np.multiply)),
    ("min", np.minimum, _combining(np.minimum)),
    ("max", np.maximum, _combining(np.maximum)),
):
    _run, _case = _scatter((f"scatter_{_kind}", _ufunc, _combine))
    kernel(ga.SCATTERS[_kind], _run, out=True, specialise=_case)


def _scatter_sums(indices, updates, *, shape, mode, unique_indices, **numbers):
    zeros = np.broadcast_to(np.zeros((), updates.dtype), shape)  # none is made, unless it is the result
    plan = _plan(ga.windows_of(numbers, ga.SCATTER), len(shape), indices.ndim)
    return _scattered(("scatter_add", np.add, None), zeros, indices, updates, None, plan, mode, unique_indices)


kernel(po.scatter_sums_op, _scatter_sums)

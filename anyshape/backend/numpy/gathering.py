"""Kernels of gather and scatter. Indices are values, so these do check them, before anything is written.

The dimension numbers decide what NumPy does: a slice for one window, np.take for indices into one axis, and rows at
flat positions for the rest. Axes of the operand that no index is about and that windows cover in full stay whole.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from anyshape.backend.numpy.indexing import add_rows
from anyshape.errors import IndexRangeError
from anyshape.ops import gathering as ga
from anyshape.ops.core import kernel


class _Plan(NamedTuple):
    """What dimension numbers mean for operands and indices of given ranks."""

    indexed: tuple[int, ...]  # axes of the operand at which positions are given
    free: tuple[int, ...]  # the others: windows start at 0 there
    kept: tuple[int, ...]  # axes of the operand that windows run over
    wide: tuple[int, ...]  # those of the indexed ones
    outer: tuple[int, ...]  # axes of what is read that run over index vectors
    order: tuple[int, ...]  # those axes, then the axes of windows: first those of `wide`, then those of `free`
    components: tuple[tuple, ...]  # the key that takes each number out of an index vector
    shared: tuple[tuple[int, int, int], ...]  # batching: axis of the operand, place among outer axes, axis of indices


@functools.lru_cache(maxsize=1024)
def _plan(w, rank, indices_rank):
    indexed = tuple(sorted({*w.starts, *w.operand_batch}))
    free = tuple([a for a in range(rank) if a not in indexed])
    kept, outer, batch = w.kept(rank), w.outer(indices_rank), w.batch(indices_rank)
    position = dict(zip(kept, w.offset, strict=True))
    wide = tuple([a for a in kept if a in indexed])
    order = (*outer, *[position[a] for a in (*wide, *free)])
    ahead = (slice(None),) * w.vector
    components = tuple([(*ahead, k) if w.vector < indices_rank else () for k in range(len(w.starts))])
    shared = tuple([(a, batch.index(b), b) for a, b in zip(w.operand_batch, w.indices_batch, strict=True)])
    return _Plan(indexed, free, kept, wide, outer, order, components, shared)


def _starts(name, w, plan, indices, shape, sizes, mode):
    """For each indexed axis the starts of windows, one for each index vector; and which vectors are in range.

    None stands for all of them.
    """
    starts, valid = {}, None
    for axis, component in zip(w.starts, plan.components, strict=True):
        start, last = indices[component], shape[axis] - sizes[axis]
        if not start.size:
            starts[axis] = start.astype(np.intp)
            continue
        low, high = int(start.min()), int(start.max())
        if low < 0 or high > last:
            if mode == "error" or (mode == "clip" and last < 0):
                raise IndexRangeError(name, low if low < 0 else high, axis, shape[axis], sizes[axis])
            if mode == "clip":
                start = np.clip(start, 0, last)
            else:
                fits = (start >= 0) & (start <= last)
                valid = fits if valid is None else valid & fits
                start = np.where(fits, start, 0)
        starts[axis] = start.astype(np.intp, copy=False)
    lengths = [indices.shape[b] for b in w.batch(indices.ndim)]
    for axis, place, _ in plan.shared:
        along = [-1 if i == place else 1 for i in range(len(lengths))]
        starts[axis] = np.broadcast_to(np.arange(lengths[place]).reshape(along), lengths)
    return starts, valid


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
    w = ga.windows_of(numbers, ga.GATHER)
    plan = _plan(w, operand.ndim, indices.ndim)
    starts, valid = _starts("gather", w, plan, indices, operand.shape, slice_sizes, mode)
    batch = tuple([indices.shape[b] for b in w.batch(indices.ndim)])
    inner = tuple([slice_sizes[a] for a in (*plan.wide, *plan.free)])
    if valid is not None and not valid.any():
        found = np.full(batch + inner, fill_value, operand.dtype)
    else:
        found = _read(operand, plan, starts, slice_sizes, batch, inner)
        if valid is not None:
            found[~valid] = fill_value
    order = plan.order
    return found if order == tuple(range(len(order))) else found.transpose(np.argsort(order))


def _read(operand, plan, starts, sizes, batch, inner):
    """What the windows hold, with the axes of index vectors first, then those of `wide` and of `free`."""
    if math.prod(batch) * math.prod(inner) == 0:
        return np.empty(batch + inner, operand.dtype)
    if not batch:
        part = operand[_window(plan, starts, sizes)].transpose((*plan.indexed, *plan.free))
        return part.copy(order="C").reshape(inner)
    if len(plan.indexed) == 1 and not plan.wide:
        (axis,) = plan.indexed
        if any(sizes[a] != operand.shape[a] for a in plan.free):
            operand = operand[tuple([slice(None) if a == axis else slice(s) for a, s in enumerate(sizes)])]
        return np.moveaxis(operand.take(starts[axis], axis), range(axis, axis + len(batch)), range(len(batch)))
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


def _scatter(name, ufunc, combine):
    """`combine(target, position, rows, unique)` changes rows of the target; `ufunc` says how it does (None: sets)."""

    def run(operand, indices, updates, out=None, *, mode, unique_indices, **numbers):
        w = ga.windows_of(numbers, ga.SCATTER)
        plan = _plan(w, operand.ndim, indices.ndim)
        sizes = [1] * operand.ndim
        for axis, place in zip(plan.kept, w.offset, strict=True):
            sizes[axis] = updates.shape[place]
        starts, valid = _starts(name, w, plan, indices, operand.shape, sizes, mode)
        out = _writable(operand, updates, indices, out)
        if not updates.size or (valid is not None and not valid.any()):
            return out
        rows = updates.transpose(plan.order)
        if not plan.outer:
            _write_window(out, plan, starts, sizes, rows, ufunc)
            return out
        if valid is not None and not valid.all():
            starts = {axis: start[valid] for axis, start in starts.items()}
            rows = rows[valid]
        positions = _positions(plan, starts, sizes)
        flat, width = _flat(plan, positions, operand.shape, sizes)
        position = np.broadcast_to(flat, rows.shape if width is None else rows.shape[: rows.ndim - len(plan.free)])
        position = position.ravel()
        combine(out.reshape(-1, width or 1), position, rows.reshape(position.size, width or 1), unique_indices)
        return out

    return run


def _writable(operand, updates, indices, out):
    """An array in C order that holds the operand: the operand itself where the planner says that it is not needed."""
    if out is operand and out is not updates and out.flags.c_contiguous:
        return out
    if out is None or out is updates or out is indices or not out.flags.c_contiguous:
        return operand.copy(order="C")
    np.copyto(out, operand)
    return out


def _write_window(out, plan, starts, sizes, rows, ufunc):
    """One window, which a slice names."""
    part = out[_window(plan, starts, sizes)]
    axes = (*plan.indexed, *plan.free)
    new = rows.reshape([part.shape[a] for a in axes]).transpose(np.argsort(axes))
    if ufunc is None:
        part[...] = new
    else:
        ufunc(part, new, out=part)


for _op in (ga.gather_op, ga.gather_dynamic_op):
    kernel(_op, _gather)
for _kind, _ufunc, _combine in (
    ("add", np.add, _add),
    ("set", None, _set),
    ("mul", np.multiply, _combining(np.multiply)),
    ("min", np.minimum, _combining(np.minimum)),
    ("max", np.maximum, _combining(np.maximum)),
):
    kernel(ga.SCATTERS[_kind], _scatter(f"scatter_{_kind}", _ufunc, _combine), out=True)

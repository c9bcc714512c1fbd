"""Kernels of gather and scatter. Indices are values, so kernels check them, before they write anything.

The dimension numbers choose the NumPy call: a slice for one window, np.take for indices into one axis, and rows at flat
positions otherwise. Axes of the operand without indices, which windows cover in full, stay whole.

Kernels of segment reductions: rows are sorted by id and combined in runs; elements of a vector one by one.

Traits of gathers and scatters.

Traits of segment reductions.
"""

import functools
import math
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.plan import scatter_sums_op
from anyshape.backend.numpy.indexing import add_rows, check_first, check_starts, put_add, summed_rows
from anyshape.backend.numpy.reduction import largest_value, least_value
from anyshape.ops import gathering as ga
from anyshape.ops.core.apply import kernel
from anyshape.support.lazy_dataclass import NamedTuple


class _Layout(NamedTuple):
    """Dimension numbers, resolved for the ranks of operand and indices."""

    starts: tuple[int, ...]
    offset: tuple[int, ...]
    batch: tuple[int, ...]  # axes of the indices that run over index vectors
    indexed: tuple[int, ...]  # axes of the operand with positions
    free: tuple[int, ...]  # other axes of the operand: windows start at 0
    windowed: tuple[int, ...]  # axes of the operand that windows run over
    wide: tuple[int, ...]  # axes that are both indexed and windowed
    outer: tuple[int, ...]  # axes of the result of a gather that run over index vectors
    order: tuple[int, ...]  # axes of the result: `outer`, then the axes of windows, `wide` before `free`
    to_result: tuple[int, ...]  # the permutation that undoes `order`
    take_to_result: tuple[int, ...] | None  # the permutation of what np.take gives; None if one call does not do
    components: tuple[tuple, ...]  # for each number of an index vector, the key that takes it out
    batching: tuple[tuple[int, int], ...]  # axis of the operand, position in `batch`
    first: tuple[int, ...]  # axes along which every window is the first element


@functools.lru_cache(maxsize=1024)
def layout_of(w, rank, indices_rank):
    indexed = tuple(sorted({*w.starts, *w.operand_batch, *w.collapsed}))
    free = tuple([a for a in range(rank) if a not in indexed])
    windowed, outer, batch = w.window_axes(rank), w.outer(indices_rank), w.batch(indices_rank)
    position = dict(zip(windowed, w.offset, strict=True))
    wide = tuple([a for a in windowed if a in indexed])
    order = (*outer, *[position[a] for a in (*wide, *free)])
    return _Layout(
        w.starts,
        w.offset,
        batch,
        indexed,
        free,
        windowed,
        wide,
        outer,
        order,
        inverse(order),
        _order_of_take(indexed, free, position, outer) if len(w.starts) == len(indexed) == 1 and not wide else None,
        _components(w, indices_rank),
        tuple([(a, batch.index(b)) for a, b in zip(w.operand_batch, w.indices_batch, strict=True)]),
        tuple([a for a in w.collapsed if a not in w.starts]),
    )


def _order_of_take(indexed, free, position, outer):
    """Return the permutation of what np.take gives for the one indexed axis."""
    (axis,) = indexed
    before, after = [position[a] for a in free if a < axis], [position[a] for a in free if a > axis]
    return inverse(before, outer, after)


def _components(w, indices_rank):
    """Return for each number of an index vector the key that takes it out of the indices."""
    ahead = (slice(None),) * w.vector
    return tuple([(*ahead, k) if w.vector < indices_rank else () for k in range(len(w.starts))])


def inverse(*orders):
    return tuple(np.argsort([axis for order in orders for axis in order]).tolist())


def _starts(name, layout, indices, shape, sizes, mode):
    """Return the starts of windows along each indexed axis, and which index vectors are in range; None: all are."""
    starts, valid = {}, None
    for axis, component in zip(layout.starts, layout.components, strict=True):
        start, last = indices[component], shape[axis] - sizes[axis]
        if not check_starts(name, start, axis, shape[axis], sizes[axis], mode):
            if mode == "clip":
                start = np.clip(start, 0, last)
            else:
                fits = (start >= 0) & (start <= last)
                valid = fits if valid is None else valid & fits
                start = np.where(fits, start, 0)
        starts[axis] = start.astype(np.intp, copy=False)
    _add_fixed_starts(name, starts, layout, [indices.shape[b] for b in layout.batch], shape)
    return starts, valid


def _add_fixed_starts(name, starts, layout, lengths, shape):
    """Add the starts along axes without numbers in index vectors: 0, and positions along batching axes."""
    for axis in layout.first:
        starts[axis] = np.zeros(lengths, np.intp)
        check_first(name, starts[axis].size, axis, shape[axis])
    for axis, position in layout.batching:
        along = [-1 if i == position else 1 for i in range(len(lengths))]
        starts[axis] = np.broadcast_to(np.arange(lengths[position]).reshape(along), lengths)


def _positions(layout, starts, sizes):
    """Return for each indexed axis the positions of the elements of windows along `wide`."""
    extra = len(layout.wide)
    positions = []
    for axis in layout.indexed:
        start = starts[axis].reshape(starts[axis].shape + (1,) * extra)
        if axis in layout.wide and sizes[axis] != 1:
            steps = [-1 if a == axis else 1 for a in layout.wide]
            start = start + np.arange(sizes[axis]).reshape(steps)
        positions.append(start)
    return positions


def _flat(layout, positions, shape, sizes):
    """Return flat positions, and the number of elements that each stands for if the free axes are whole and last.

    Otherwise that is None, and each stands for one element.
    """
    whole = all(sizes[a] == shape[a] for a in layout.free)
    has_rows = whole and layout.indexed == tuple(range(len(layout.indexed)))
    width = math.prod([shape[a] for a in layout.free]) if has_rows else 1
    flat = np.asarray(0)
    for axis, position in zip(layout.indexed, positions, strict=True):
        flat = flat + position * (math.prod(shape[axis + 1 :]) // width)
    if has_rows:
        return flat, width
    flat = flat.reshape(flat.shape + (1,) * len(layout.free))
    for i, axis in enumerate(layout.free):
        steps = np.arange(sizes[axis]) * math.prod(shape[axis + 1 :])
        flat = flat + steps.reshape([-1 if j == i else 1 for j in range(len(layout.free))])
    return flat, None


def _window(layout, starts, sizes):
    """Return the key of one window."""
    first = [int(starts[axis]) if axis in starts else 0 for axis in range(len(sizes))]
    return tuple([slice(start, start + size) for start, size in zip(first, sizes, strict=True)])


def _key_of(start, size):
    """Return the key of an axis: an element, or so many from a start on."""
    return start if size is None else f"{start}:{f'{start} + ' if start else ''}{size}"


def _named_window(site, numbers, sizes):
    """Return the lines that read the one index vector, a test of it, and the window there; None for other windows.

    `sizes` are the sources of the sizes of the window.
    """
    params, (x, indices) = dict(site.params), site.metas[:2]
    layout, (operand, index) = layout_of(ga.windows_of(params, numbers), x.rank, indices.rank), site.operands[:2]
    in_order = layout.offset == tuple(range(len(layout.windowed)))
    if params["mode"] != "error" or layout.batch or layout.first or not layout.starts or not in_order:
        return None
    start = {axis: f"{index}_i{k}" for k, axis in enumerate(layout.starts)}
    comma, method = (",", "tolist") if indices.rank else ("", "item")
    read = site.once(f"{', '.join(start.values())}{comma} = {index}.{method}()")
    size = dict(zip(layout.windowed, sizes, strict=True))
    whole = [f"{operand}.shape[{axis}]" if x.rank > 1 else f"len({operand})" for axis in range(x.rank)]
    tests = [f"0 <= {start[a]} <= {whole[a]} - {size.get(a, 1)}" for a in sorted(start)]
    key = [_key_of(start.get(axis, ""), size.get(axis)) for axis in range(x.rank)]
    return read, " and ".join(tests), f"{operand}[{', '.join(key)}]"


# -- gather ------------------------------------------------------------------------------------------------------


def _gather(operand, indices, *, slice_sizes, mode, fill_value, **numbers):
    layout = layout_of(ga.windows_of(numbers, ga.GATHER), operand.ndim, indices.ndim)
    return _gathered(operand, indices, layout, slice_sizes, mode, fill_value)


def _gather_case(params, metas):
    params = dict(params)
    sizes, mode, fill = (params.pop(name) for name in ("slice_sizes", "mode", "fill_value"))
    layout = layout_of(ga.windows_of(params, ga.GATHER), metas[0].rank, metas[1].rank)
    return lambda operand, indices: _gathered(operand, indices, layout, sizes, mode, fill)


def _inline_gather(site):
    """Read a window; what is beyond the array, the kernel refuses."""
    is_plain = site.result.rank or site.metas[0].dtype.kind in "fcb"  # scalars of integers warn where they wrap
    sizes = [site.text(n) for k, n in enumerate(site.params["slice_sizes"]) if k not in site.params[ga.GATHER[1]]]
    window = _named_window(site, ga.GATHER, sizes) if is_plain else None
    if window is None:
        return None
    read, test, here = window
    (otherwise,) = site.call(_gather_case(site.params, site.metas))
    copied = ".copy()" if site.result.rank else ""
    return [*read, f"if {test}: {site.target} = {here}{copied}", f"else: {otherwise}"]


def _gathered(operand, indices, layout, sizes, mode, fill_value):
    starts, valid = _starts("gather", layout, indices, operand.shape, sizes, mode)
    batch = tuple([indices.shape[b] for b in layout.batch])
    inner = tuple([sizes[a] for a in (*layout.wide, *layout.free)])
    if valid is not None and not valid.any():
        windows = np.full(batch + inner, fill_value, operand.dtype)
    elif valid is None and layout.take_to_result is not None and batch and operand.size:
        return _ordered(_take(operand, layout, starts, sizes), layout.take_to_result)
    else:
        windows = _read(operand, layout, starts, sizes, batch, inner)
        if valid is not None:
            windows[~valid] = fill_value
    return _ordered(windows, layout.to_result)


def _ordered(x, axes):
    return x if axes == tuple(range(len(axes))) else x.transpose(axes)


def _take(operand, layout, starts, sizes):
    """Read windows with np.take; the axes are as it gives them."""
    (axis,) = layout.indexed
    if any(sizes[a] != operand.shape[a] for a in layout.free):
        operand = operand[tuple([slice(None) if a == axis else slice(s) for a, s in enumerate(sizes)])]
    return operand.take(starts[axis], axis)


def _read(operand, layout, starts, sizes, batch, inner):
    """Read windows: axes of index vectors first, then the axes `wide` and `free`."""
    if math.prod(batch) * math.prod(inner) == 0:
        return np.empty(batch + inner, operand.dtype)
    if not batch:
        part = operand[_window(layout, starts, sizes)].transpose((*layout.indexed, *layout.free))
        return part.copy(order="C").reshape(inner)
    flat, width = _flat(layout, _positions(layout, starts, sizes), operand.shape, sizes)
    if width is None:
        return operand.ravel().take(np.broadcast_to(flat, batch + inner))
    flat = np.broadcast_to(flat, (batch + inner)[: len(batch) + len(layout.wide)])
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


def _scattered(how, operand, indices, updates, out, layout, mode, unique):
    name, ufunc, combine = how
    sizes = [1] * operand.ndim
    for axis, position in zip(layout.windowed, layout.offset, strict=True):
        sizes[axis] = updates.shape[position]
    starts, valid = _starts(name, layout, indices, operand.shape, sizes, mode)
    if not updates.size or (valid is not None and not valid.any()):
        return _writable(operand, updates, indices, out)
    rows = updates.transpose(layout.order)
    if not layout.outer:
        out = _writable(operand, updates, indices, out)
        _write_window(out, layout, starts, sizes, rows, ufunc)
        return out
    if valid is not None and not valid.all():
        starts = {axis: start[valid] for axis, start in starts.items()}
        rows = rows[valid]
    flat, width = _flat(layout, _positions(layout, starts, sizes), operand.shape, sizes)
    position = np.broadcast_to(flat, rows.shape if width is None else rows.shape[: rows.ndim - len(layout.free)])
    position, width = position.ravel(), width or 1
    rows = rows.reshape(position.size, width)
    if combine is None:
        return summed_rows(rows, position, operand.size // width).reshape(operand.shape)
    out = _writable(operand, updates, indices, out)
    combine(out.reshape(-1, width), position, rows, unique)
    return out


def _scatter(how):
    """Return the kernel of a scatter, and its `specialise`.

    `how` is its name, its ufunc (None: it sets) and `combine(target, position, rows, unique)`. `combine` changes rows
    of the target; if it is None, the operand holds zeros, and rows are added.
    """

    def run(operand, indices, updates, out=None, *, mode, unique_indices, **numbers):
        layout = layout_of(ga.windows_of(numbers, ga.SCATTER), operand.ndim, indices.ndim)
        return _scattered(how, operand, indices, updates, out, layout, mode, unique_indices)

    def case(params, metas):
        params = dict(params)
        mode, unique = params.pop("mode"), params.pop("unique_indices")
        layout = layout_of(ga.windows_of(params, ga.SCATTER), metas[0].rank, metas[1].rank)
        is_one = mode == "error" and not (layout.outer or layout.first or layout.batching)
        if is_one and layout.offset == tuple(range(len(layout.windowed))):
            return _one_window(how, layout, metas[0].rank)
        return lambda operand, indices, updates, out=None: _scattered(
            how, operand, indices, updates, out, layout, mode, unique
        )

    return run, case


def _add_into(part, update):
    np.add(part, update, part)


def _inline_scatter(case, ufunc):
    """Return what writes a window inline, where memory of the operand is free; numbers that wrap are added by NumPy.

    What is beyond the array, the kernel refuses.
    """

    def inline(site):
        (x, _, update), meta = site.operands, site.metas[2]
        wraps = not meta.rank and ufunc is not None and meta.dtype.kind not in "fc"
        sizes = [f"{update}.shape[{k}]" for k in range(meta.rank)]
        window = None if site.out != x or wraps else _named_window(site, ga.SCATTER, sizes)
        if window is None:
            return None
        read, test, here = window
        (otherwise,) = site.call(case(site.params, site.metas), x)
        written = f"{here} {'=' if ufunc is None else '+='} {update}"
        if meta.rank and ufunc is not None:
            written = f"{site.bind(_add_into)}({here}, {update})"
        return [*read, f"if {test} and {x}.flags.c_contiguous: {written}; {site.target} = {x}", f"else: {otherwise}"]

    return inline


def _one_window(how, layout, rank):
    """Return the kernel that writes one window, whose axes are in order: as an assignment to a key of NumPy."""
    name, ufunc, _ = how
    position = dict(zip(layout.windowed, layout.offset, strict=True))
    indexed = tuple([(a, c, position.get(a)) for a, c in zip(layout.starts, layout.components, strict=True)])
    free = tuple([(a, position[a]) for a in layout.free])

    def run(operand, indices, updates, out=None):
        key: list[Any] = [None] * rank
        for axis, component, of_updates in indexed:
            start, size = int(indices[component]), 1 if of_updates is None else updates.shape[of_updates]
            if not 0 <= start <= operand.shape[axis] - size:
                check_starts(name, indices[component], axis, operand.shape[axis], size, "error")
            key[axis] = start if of_updates is None else slice(start, start + size)
        for axis, of_updates in free:
            key[axis] = slice(updates.shape[of_updates])
        out = _writable(operand, updates, indices, out)
        if ufunc is None:
            out[tuple(key)] = updates
        else:
            part = out[(*key, ...)]  # a view even without axes
            ufunc(part, updates, out=part)
        return out

    return run


def _writable(operand, updates, indices, out):
    """Return an array in C order with the elements of the operand: the operand itself if the plan reuses its buffer."""
    if out is operand and out is not updates and out.flags.c_contiguous:
        return out
    if out is None or out is updates or out is indices or not out.flags.c_contiguous:
        return operand.copy(order="C")
    np.copyto(out, operand)
    return out


def _write_window(out, layout, starts, sizes, rows, ufunc):
    """Write one window, which a slice names."""
    part = out[(..., *_window(layout, starts, sizes))]  # a view even without axes
    axes = (*layout.indexed, *layout.free)
    new = rows.reshape([part.shape[a] for a in axes]).transpose(np.argsort(axes))
    if ufunc is None:
        part[...] = new
    else:
        ufunc(part, new, out=part)


for _op in (ga.gather_op, ga.gather_dynamic_op):
    kernel(_op, _gather, specialise=_gather_case, inline=_inline_gather)
for _kind, _ufunc, _combine in (
    ("add", np.add, _add),
    ("set", None, _set),
    ("mul", np.multiply, _combining(np.multiply)),
    ("min", np.minimum, _combining(np.minimum)),
    ("max", np.maximum, _combining(np.maximum)),
):
    _run, _case = _scatter((f"scatter_{_kind}", _ufunc, _combine))
    _inline = _inline_scatter(_case, _ufunc) if _kind in ("add", "set") else None
    kernel(ga.SCATTERS[_kind], _run, out=True, specialise=_case, inline=_inline)


def _scatter_sums(indices, updates, *, shape, mode, unique_indices, **numbers):
    zeros = np.broadcast_to(np.zeros((), updates.dtype), shape)  # allocated only if it is the result
    layout = layout_of(ga.windows_of(numbers, ga.SCATTER), len(shape), indices.ndim)
    return _scattered(("scatter_add", np.add, None), zeros, indices, updates, None, layout, mode, unique_indices)


kernel(po.scatter_sums_op, _scatter_sums)


def _segments(ufunc, empty):
    def run(x, ids, *, size):
        out = np.full((size, *x.shape[1:]), empty(x.dtype), x.dtype)
        if x.ndim == 1:
            with np.errstate(invalid="ignore"):  # NaN: NumPy's reductions do not warn either
                ufunc.at(out, ids, x)
        elif ids.size:
            order = ids.argsort(kind="stable")
            ordered = ids[order]
            starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            out[ordered[starts]] = ufunc.reduceat(x[order], starts, axis=0)
        return out

    return run


kernel(ga.segment_max_op, _segments(np.maximum, least_value))
kernel(ga.segment_min_op, _segments(np.minimum, largest_value))
kernel(ga.segment_prod_op, _segments(np.multiply, lambda dtype: dtype.type(1)))
kernel(ga.segment_sum_op, lambda x, ids, *, size: put_add(x, ids, axes=(0,), sizes=(size,)))


declare(OPAQUE._replace(scratch=op_traits.windows(5)), ga.gather_op, ga.gather_dynamic_op)
SCATTER = OPAQUE._replace(scratch=op_traits.windows(8))
declare(SCATTER._replace(updates=True), *ga.SCATTERS.values())
declare(SCATTER, scatter_sums_op)


declare(OPAQUE, ga.segment_max_op, ga.segment_min_op, ga.segment_prod_op, ga.segment_sum_op)

"""Rules of the flat layout, by families of ops; see `flat_examples`.

Along the ragged axis, reductions are of segments, and slices, joins and shifts are reads at computed rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.flat_examples import FLAT, Emit, Flat, Refusal, Rows, sizes_of
from anyshape.graph.ir.graph import OPS, Graph, Node, Op, Value
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.shapes.array_type import free_axes, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import contraction as ct
from anyshape.ops import control as cb
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import apply, apply_all
from anyshape.ops.loops import Layout

LARGEST = np.iinfo(np.int64).max


def flat_map(graph: Graph, layout: Layout) -> Flat | Refusal:
    """Return the flat form of a graph of one example, or what in it has none."""
    try:
        flat = Flat(graph, layout)
    except ValueError:
        return Refusal("an argument with several ragged axes")
    steps = flat.plan()
    if isinstance(steps, Refusal):
        return steps
    flat.steps = steps
    return flat


def rule(*ops: Op) -> Callable[[Any], Any]:
    """Make a function the flat rule of ops."""

    def enter(function: Any) -> Any:
        FLAT.update(dict.fromkeys(ops, function))
        return function

    return enter


# -- ops that leave the rows apart


def _again(op: Op, params: dict[str, Any]) -> Emit:
    return functools.partial(_applied, op, params)


def _applied(op: Op, params: dict[str, Any], *xs: Any) -> Any:
    return apply_all(op, *xs, **params)


def _on_each(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    """Ops on each element, whose operands have one shape."""
    return _again(node.op, params) if flat.alike(node) and not has_local(tuple(params.values())) else None


def _on_lines(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    """Ops that mix elements along some axes: the ragged one is another axis of all operands."""
    ranks = [v.meta.rank for v in (*node.inputs, *node.outputs)]
    labels = tables.LINES_OF[node.op](ranks, **params)
    if isinstance(labels, int) or labels is None or has_local(tuple(params.values())) or not flat.alike(node):
        return None
    own = {axes[a] for v, axes in zip((*node.inputs, *node.outputs), labels) if (a := flat.axis(v)) is not None}
    return _again(node.op, params) if len(own) == 1 and None not in own else None


FLAT.update(dict.fromkeys(tables.LINES_OF, _on_lines))
FLAT.update({op: _on_each for op in OPS.values() if op.family in tables.ELEMENTWISE})
rule(cb.stop_gradient_op, cb.name_sizes_op)(_on_each)


@rule(mv.transpose_op)
def _transpose(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    return _again(node.op, params)


@rule(cf.sized_op)
def _sized(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    return (lambda x: (x,)) if flat.key_of(node.inputs[0]) == flat.key_of(node.outputs[0]) else None


# -- sizes and shapes


@rule(cr.size_value_op, cr.float_of_size_op)
def _size_value(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    return lambda: (ew.convert(flat.vector(flat.key(params["size"])), node.outputs[0].meta.dtype),)


@rule(cb.warn_below_op)
def _warn_below(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    sizes = [flat.key(params[name]) for name in ("size", "least")]
    return lambda: (cb.warn(ew.lt(*map(flat.vector, sizes)), params["message"]),)


@rule(cr.full_op)
def _full(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    return lambda: (cr.full(flat.shape_of(node.outputs[0]), params["value"], params["dtype"]),)


@rule(cr.iota_op)
def _iota(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    return lambda: (ew.convert(flat.rows_of(flat.key_of(node.outputs[0])).positions, params["dtype"]),)


@rule(mv.broadcast_in_dim_op)
def _broadcast_in_dim(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), (out,), axes = node.inputs, node.outputs, params["axes"]
    at, own = flat.axis(out), flat.axis(value)
    if at is None:
        return None
    single = [i for i, a in enumerate(axes) if a == at]
    if own is not None:
        fits = axes[own] == at and flat.key_of(value) == flat.key_of(out)
    else:
        fits = not single or sizes_of(value)[single[0]] == 1
    if not fits or value not in flat.carrying:
        return (lambda x: (mv.broadcast_in_dim(x, flat.shape_of(out), axes),)) if fits else None
    return _to_rows(flat, out, at, [a for a in axes if a != at], single)


def _to_rows(flat: Flat, out: Value, at: int, others: Sequence[int], single: Sequence[int]) -> Emit:
    """Repeat what an example has for each of its rows."""
    order = sorted(range(len(others) + 1), key=[at, *others].__getitem__)

    def emit(x: Any) -> Any:
        rows = ix.take(mv.drop(x, [i + 1 for i in single]), flat.rows_of(flat.key_of(out)).owners)
        return (mv.broadcast_in_dim(mv.transpose(rows, order), flat.shape_of(out), sorted([at, *others])),)

    return emit


@rule(mv.reshape_op)
def _reshape(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), (out,) = node.inputs, node.outputs
    own, new = flat.axis(value), flat.axis(out)
    if own is None or new is None:
        return None
    before, behind = numel(sizes_of(value)[:own]), numel(sizes_of(value)[own + 1 :])
    if before == numel(sizes_of(out)[:new]):
        return lambda x: (mv.reshape(x, flat.shape_of(out)),)
    if new or behind != numel(sizes_of(out)[1:]):
        return None

    def emit(x: Any) -> Any:
        """Join the rows of each example, which have others of it in between."""
        rows, source = flat.rows_of(flat.key_of(out)), flat.rows_of(flat.key_of(value))
        at, count = rows.positions, flat.each_row(source.lengths, rows)
        block = ew.floor_divide(at, count)
        at = ew.add(ew.sub(at, ew.mul(block, count)), flat.each_row(source.starts, rows))
        at = ew.add(at, ew.mul(block, mv.broadcast_to(cr.size_value(source.total), (rows.total,))))
        whole = (expr.mul(flat.of_all(before), source.total), *flat.of_all(sizes_of(out)[1:]))
        return (ix.take(mv.reshape(x, whole), at),)

    return emit


# -- reductions


def _segments_of(flat: Flat, node: Node) -> Callable[[Any, str], Any]:
    """Return a function that combines the rows of each example."""
    rows = flat.rows_of(flat.key_of(node.inputs[0]))
    return lambda x, name: ga.apply_segments(OPS[f"segment_{name}"], x, rows.owners, flat.count)


def _all_or_any(name: str) -> Callable[[Any, Any], Any]:
    """Combine booleans as integers: of no rows, the extremes are beyond both."""

    def combined(x: Any, segments: Any) -> Any:
        y = segments(ew.convert(x, np.dtype(np.int64)), name)
        return ew.gt(y, ew.lift(0, y))

    return combined


def _logsumexp(x: Any, segments: Any, repeat: Any) -> Any:
    top = _finite(segments(cb.stop_gradient(x), "max"))
    total = segments(ew.exp(ew.sub(x, repeat(top))), "sum")
    none = ew.eq(total, ew.lift(0, total))
    log = ew.add(ew.log(ew.select(none, ew.lift(1, total), total)), top)
    return ew.select(none, ew.lift(float("-inf"), log), log)


def _softmax(x: Any, segments: Any, repeat: Any, *, safe: bool) -> Any:
    top = segments(cb.stop_gradient(x), "max")
    e = ew.exp(ew.sub(x, repeat(_finite(top) if safe else top)))
    total = repeat(segments(e, "sum"))
    if safe:
        total = ew.select(ew.eq(total, ew.lift(0, total)), ew.lift(1, total), total)
    return ew.div(e, total)


def _finite(x: Any) -> Any:
    return ew.select(ew.isfinite(x), x, ew.lift(0, x))


# without products: the slope of a segment's product is NaN where another segment holds NaN
_REDUCED: dict[Op, Callable[[Any, Any], Any]] = {
    rd.reduce_sum_op: lambda x, segments: segments(x, "sum"),
    rd.reduce_max_op: lambda x, segments: segments(x, "max"),
    rd.reduce_min_op: lambda x, segments: segments(x, "min"),
    rd.reduce_and_op: _all_or_any("min"),
    rd.reduce_or_op: _all_or_any("max"),
}


@rule(*_REDUCED)
def _reduce(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axes = node.inputs, params["axes"]
    own = flat.axis(value)
    if own not in axes:
        return _again(node.op, params)
    if value.meta.dtype == np.float16:
        return None  # NumPy adds up in float32
    others = [a for a in axes if a != own]

    def emit(x: Any) -> Any:
        y = apply(node.op, x, **params | {"axes": tuple(others)}) if others else x
        front = mv.move_axes(y, (own - sum(a < own for a in others),), (0,))
        return (_REDUCED[node.op](front, _segments_of(flat, node)),)

    return emit


_BY_EXPONENTIALS: dict[Op, Callable[..., Any]] = {
    rd.reduce_logsumexp_op: _logsumexp,
    rd.softmax_op: functools.partial(_softmax, safe=False),
    rd.safe_softmax_op: functools.partial(_softmax, safe=True),
}


@rule(*_BY_EXPONENTIALS)
def _exponentials(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axes = node.inputs, params["axes"]
    own = flat.axis(value)
    if own is None or own not in axes:
        return _again(node.op, params)
    if axes != (own,) or value.meta.dtype == np.float16:
        return None

    def emit(x: Any) -> Any:
        rows = flat.rows_of(flat.key_of(value))
        repeat = lambda y: ix.take(y, rows.owners)
        y = _BY_EXPONENTIALS[node.op](mv.move_axes(x, (own,), (0,)), _segments_of(flat, node), repeat)
        return (y if node.op is rd.reduce_logsumexp_op else mv.move_axes(y, (0,), (own,)),)

    return emit


@rule(rd.argmax_op, rd.argmin_op)
def _position(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axis = node.inputs, params["axis"]
    if flat.axis(value) != axis:
        return _again(node.op, params)

    def emit(x: Any) -> Any:
        rows, segments = flat.rows_of(flat.key_of(value)), _segments_of(flat, node)
        y = mv.move_axes(x, (axis,), (0,))
        if y.dtype.kind == "b":
            y = ew.convert(y, np.dtype(np.int64))
        best = segments(y, "max" if node.op is rd.argmax_op else "min")
        hit = ew.eq(y, ix.take(best, rows.owners))
        if y.dtype.kind in "fc":
            hit = ew.logical_or(hit, ew.isnan(y))
        at = mv.broadcast_in_dim(rows.positions, y.meta.sizes, (0,))
        return (segments(ew.select(hit, at, ew.lift(LARGEST, at)), "min"),)

    return emit


# -- along the ragged axis, in order


@rule(rd.cummax_op, rd.cummin_op, rd.cumprod_op, rd.cumlogsumexp_op, rd.recurrence_op)
def _along_others(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    is_other = flat.alike(node) and flat.axis(node.inputs[0]) != params["axis"]
    return _again(node.op, params) if is_other else None


@rule(rd.cumsum_op)
def _cumsum(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axis = node.inputs, params["axis"]
    if flat.axis(value) != axis or value.meta.dtype == np.float16:
        return _along_others(flat, node, params)

    def emit(x: Any) -> Any:
        rows = flat.rows_of(flat.key_of(value))
        position = rows.positions
        last = ew.sub(flat.each_row(rows.lengths, rows), ew.lift(1, position))
        goes_on = ew.lt(position, last) if params["reverse"] else ew.gt(position, ew.lift(0, position))
        same = mv.broadcast_in_dim(goes_on, x.meta.sizes, (axis,))
        before = rd.recurrence(same, x, axis, reverse=params["reverse"])
        sums = ew.select(same, before, ew.lift(0, x))
        return (sums if params["exclusive"] else ew.add(sums, x),)

    return emit


def _in_examples(flat: Flat, order: Any, rows: Rows, axis: int, *, back: bool = False) -> Any:
    """Return positions in examples as rows, or rows as positions."""
    starts = mv.broadcast_in_dim(flat.each_row(rows.starts, rows), order.meta.sizes, (axis,))
    return ew.sub(order, starts) if back else ew.add(order, starts)


@rule(rd.sort_op, rd.argsort_op)
def _sort(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axis = node.inputs, params["axis"]
    if flat.axis(value) != axis:
        return _again(node.op, params)
    if not params.get("stable", True):  # the order of equal elements is that of one call
        return None

    def emit(x: Any) -> Any:
        rows = flat.rows_of(flat.key_of(value))
        order = rd.argsort(x, axis, stable=True)
        owners = rd.permute(mv.broadcast_in_dim(rows.owners, x.meta.sizes, (axis,)), order, axis)
        order = rd.permute(order, rd.argsort(owners, axis, stable=True), axis)
        is_sort = node.op is rd.sort_op
        return (rd.permute(x, order, axis) if is_sort else _in_examples(flat, order, rows, axis, back=True),)

    return emit


@rule(rd.permute_op)
def _permute(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    axis = params["axis"]
    if not flat.alike(node):
        return None
    if flat.axis(node.inputs[0]) != axis:
        return _again(node.op, params)
    rows = lambda: flat.rows_of(flat.key_of(node.inputs[0]))
    return lambda x, order: (apply(node.op, x, _in_examples(flat, order, rows(), axis), **params),)


# -- reads at computed rows


@rule(mv.rev_op)
def _rev(flat: Flat, node: Node, params: dict[str, Any]) -> Emit:
    (value,), axes = node.inputs, params["axes"]
    own = flat.axis(value)
    assert own is not None

    def emit(x: Any) -> Any:
        y = mv.rev(x, [a for a in axes if a != own])
        if own not in axes:
            return (y,)
        rows = flat.rows_of(flat.key_of(value))
        ends = ew.add(rows.starts, rows.lengths)
        at = ew.sub(ew.sub(flat.each_row(ends, rows), rows.positions), ew.lift(1, rows.owners))
        return (ix.take(y, at, own),)

    return emit


@rule(mv.slice_op)
def _slice(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), (out,) = node.inputs, node.outputs
    own, new = flat.axis(value), flat.axis(out)
    if own is None or new not in (own, None):
        return None
    parts = [params[name] for name in ("starts", "sizes", "steps")]
    rest = [(*p[:own], *p[own + 1 :]) for p in parts]
    if flat.is_ragged((rest[0], rest[2])) or (new is None and flat.is_ragged(parts[2][own])):
        return None
    start, size, step = (flat.key(p[own]) for p in parts)
    is_whole = (start, step, size) == (0, 1, flat.key_of(value))

    def emit(x: Any) -> Any:
        bounds = zip(map(flat.of_all, rest), (0, x.meta.sizes[own], 1), strict=True)
        y = mv.strided(x, *[(*r[:own], whole, *r[own:]) for r, whole in bounds])
        if is_whole:
            return (y,)
        rows = flat.rows_of(flat.key_of(value))
        first = ew.add(rows.starts, flat.vector(start))
        if new is None:
            at = _table(flat, first, flat.of_all(size), flat.of_all(step))
            return (mv.move_axes(ix.take(y, at, own), (own,), (0,)),)
        result = flat.rows_of(flat.key_of(out))
        moved = ew.mul(result.positions, flat.each_row(flat.vector(step), result))
        return (ix.take(y, ew.add(flat.each_row(first, result), moved), own),)

    return emit


def _table(flat: Flat, first: Any, size: Size, step: Size) -> Any:
    """Return for each example so many rows, from a first one on."""
    shape = (flat.count, size)
    down = ew.mul(cr.iota(size), mv.broadcast_to(cr.size_value(step), (size,)))
    return ew.add(mv.broadcast_in_dim(first, shape, (0,)), mv.broadcast_in_dim(down, shape, (1,)))


@rule(mv.concatenate_op)
def _concatenate(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (out,), axis = node.outputs, params["axis"]
    if flat.axis(out) != axis:
        return _again(node.op, params) if flat.alike(node) else None
    sizes = [flat.key(sizes_of(v)[axis]) for v in node.inputs]

    def emit(*xs: Any) -> Any:
        rows = flat.rows_of(flat.key_of(out))
        parts, begins = [], []
        before: Size = 0
        for value, x, size in zip(node.inputs, xs, sizes, strict=True):
            first = flat.repeated(before)
            if flat.axis(value) is not None:
                first = ew.add(first, flat.rows_of(flat.key_of(value)).starts)
            elif value in flat.carrying:
                count = flat.of_all(size)
                first = ew.add(first, ew.mul(cr.iota(flat.count), flat.repeated(count)))
                x = _merged(x, axis)
            parts.append(x)
            begins.append(first)
            before = expr.add(before, x.meta.sizes[axis])
        return (ix.take(mv.concatenate(parts, axis), _joined(flat, rows, begins, sizes), axis),)

    return emit


def _merged(x: Any, axis: int) -> Any:
    """Return what each example has along an axis one after the other."""
    shape = x.meta.sizes
    y = mv.move_axes(x, (0,), (axis,))
    return mv.reshape(y, (*shape[1 : axis + 1], expr.mul(shape[0], shape[axis + 1]), *shape[axis + 2 :]))


def _joined(flat: Flat, rows: Rows, begins: Sequence[Any], sizes: Sequence[Size]) -> Any:
    """Return where each row of a join is among its parts; these begin at a row for each example."""
    at, passed = rows.positions, flat.vector(0)
    source = None
    for begin, size in zip(begins, sizes, strict=True):
        own = ew.add(flat.each_row(ew.sub(begin, passed), rows), at)
        source = own if source is None else ew.select(ew.lt(at, flat.each_row(passed, rows)), source, own)
        passed = ew.add(passed, flat.vector(size))
    return source


@rule(mv.pad_op)
def _pad(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), (out,) = node.inputs, node.outputs
    own, amounts = flat.axis(value), [params[name] for name in ("low", "high", "interior")]
    if own is None or own != flat.axis(out):
        return None
    low, high, interior = (flat.key(a[own]) for a in amounts)
    others = [(*a[:own], 0, *a[own + 1 :]) for a in amounts]
    if interior != 0 or any(map(flat.is_ragged, others)):
        return None

    def emit(x: Any) -> Any:
        low_of_all, high_of_all, between = map(flat.of_all, others)
        y = mv.pad_unchecked(x, low_of_all, high_of_all, between, value=params["value"])
        if (low, high) == (0, 0):
            return (y,)
        rows, source = flat.rows_of(flat.key_of(out)), flat.rows_of(flat.key_of(value))
        shape = y.meta.sizes
        fill = cr.full((*shape[:own], 1, *shape[own + 1 :]), params["value"], y.dtype)
        at = ew.sub(rows.positions, flat.each_row(flat.vector(low), rows))
        is_inside = ew.logical_and(ew.ge(at, ew.lift(0, at)), ew.lt(at, flat.each_row(source.lengths, rows)))
        behind = mv.broadcast_to(cr.size_value(shape[own]), (rows.total,))
        at = ew.select(is_inside, ew.add(at, flat.each_row(source.starts, rows)), behind)
        return (ix.take(mv.concatenate([y, fill], own), at, own),)

    return emit


@rule(ix.index_bounds_op)
def _index_bounds(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    if flat.is_ragged(params["extent"]):
        return None
    return lambda i: (ix.index_bounds(i, params["axis"], flat.of_all(params["extent"]), params["name"]),)


@rule(ix.take_op)
def _take(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    """Read a table of all examples, or rows; both where each example knows its own."""
    (value, *indices), axes = node.inputs, params["axes"]
    own = flat.axis(value)
    if own is None:
        is_table = value not in flat.carrying and flat.alike(node, *range(1, len(node.inputs)))
        return _again(node.op, params) if is_table else None
    if own not in axes:
        is_shared = all(flat.axis(i) is None for i in indices) and flat.carrying.isdisjoint(indices)
        return _again(node.op, params) if is_shared else None
    return _take_rows(flat, node, own) if axes == (own,) else None


def _take_rows(flat: Flat, node: Node, own: int) -> Emit | None:
    """Read rows at positions in their examples, which are checked: rows of another example are not read."""
    (value, index), (out,) = node.inputs, node.outputs
    at = flat.axis(index)
    if flat.axis(out) != (None if at is None else own + at):
        return None

    def emit(x: Any, i: Any) -> Any:
        rows = flat.rows_of(flat.key_of(value))
        owners = cr.iota(flat.count) if at is None else flat.rows_of(flat.key_of(index)).owners
        if at is None and index not in flat.carrying:
            i = flat.of_each(i)
        over = lambda vector: mv.broadcast_in_dim(ix.take(vector, owners), i.meta.sizes, (at or 0,))
        i, lengths = ew.convert(i, np.dtype(np.int64)), over(rows.lengths)
        i = ew.select(ew.lt(i, ew.lift(0, i)), ew.add(i, lengths), i)
        inside = ew.logical_and(ew.ge(i, ew.lift(0, i)), ew.lt(i, lengths))
        cb.check(inside, f"indices are within axis {own} of each example")
        y = ix.take(x, ew.add(i, over(rows.starts)), own)
        return (mv.move_axes(y, (own,), (0,)) if at is None else y,)

    return emit


# -- products


@rule(ct.dot_general_op)
def _dot_general(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    axes = [flat.axis(v) for v in node.inputs]
    contract, batch = params["contract"], params["batch"]
    if None not in axes:
        pair = tuple(axes)
        if not flat.alike(node):
            return None
        if pair in zip(*batch, strict=True):
            return _again(node.op, params)
        return _grouped(flat, node, contract, batch) if pair in zip(*contract, strict=True) else None
    k = 0 if axes[1] is None else 1
    if axes[k] in contract[k] or axes[k] in batch[k]:
        return None
    if node.inputs[1 - k] not in flat.carrying:
        return _again(node.op, params)
    return _own_factors(flat, node, contract, batch, k)


def _grouped(flat: Flat, node: Node, contract: Any, batch: Any) -> Emit | None:
    """Sum products over the rows of each example: each row has its own first."""
    free = [free_axes(v.meta.rank, c, b) for v, c, b in zip(node.inputs, contract, batch, strict=True)]
    if all(free) or node.inputs[0].meta.dtype == np.float16:  # products of rows would take more memory than both
        return None
    k = [*zip(*contract, strict=True)].index((flat.axis(node.inputs[0]), flat.axis(node.inputs[1])))
    pairs = [(c[k], *b) for c, b in zip(contract, batch, strict=True)]
    rest = [(*c[:k], *c[k + 1 :]) for c in contract]

    def emit(x: Any, y: Any) -> Any:
        products = ct.dot_general(x, y, (rest[0], rest[1]), (pairs[0], pairs[1]))
        return (_segments_of(flat, node)(products, "sum"),)

    return emit


def _own_factors(flat: Flat, node: Node, contract: Any, batch: Any, k: int) -> Emit | None:
    """Products with a factor of each example, which has no free axis: each row reads the one of its example."""
    value, factor = node.inputs[k], node.inputs[1 - k]
    if free_axes(factor.meta.rank, contract[1 - k], batch[1 - k]):
        return None
    (out,) = node.outputs

    def emit(*xs: Any) -> Any:
        rows = flat.rows_of(flat.key_of(value))
        repeated = ix.take(xs[1 - k], rows.owners)
        later = [tuple([a + 1 for a in axes[1 - k]]) for axes in (contract, batch)]
        own = (flat.axis(value), *batch[k])
        result = ct.dot_general(xs[k], repeated, (contract[k], later[0]), (own, (0, *later[1])))
        return (mv.move_axes(result, (0,), (flat.own_axis(out),)),)

    return emit


@rule(ct.einsum_op)
def _einsum(flat: Flat, node: Node, params: dict[str, Any]) -> Emit | None:
    terms, out = ct.terms_of(params["equation"])
    labels = {term[a] for v, term in zip(node.inputs, terms, strict=True) if (a := flat.axis(v)) is not None}
    flat_values = [i for i, v in enumerate(node.inputs) if flat.axis(v) is not None]
    is_apart = len(labels) == 1 and labels <= {*out} and flat.alike(node, *flat_values)
    others = [v for v in node.inputs if flat.axis(v) is None]
    return _again(node.op, params) if is_apart and flat.carrying.isdisjoint(others) else None

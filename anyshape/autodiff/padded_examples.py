"""Padded layout: the graph of one example, replayed on all of them, each as long as the longest.

A value that differs between examples has them as its first axis, as under `vmap`, whose rules it follows. Behind the
end of an example stand elements that mean nothing. An op that would read them gets its neutral element there, by a
select, so slopes are zero by construction. At first they repeat the last row of the example.

A rule of `PADDED` is `rule(padded, node, params)`, like one of `FLAT`. What it gives emits the node.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.flat_examples import Emit, Flat, Refusal, sizes_of
from anyshape.autodiff.replay import begin_replay
from anyshape.autodiff.vmap import apply_to_examples
from anyshape.graph.ir.builder import Builder, at_line
from anyshape.graph.ir.graph import OPS, Graph, Node, Op, Value
from anyshape.graph.prover.constraints import at_least, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops import contraction as ct
from anyshape.ops import control as cb
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.flop_counts import CeilLog2, UnknownSizeError, graph_flops
from anyshape.ops.loops import Layout

Rule: TypeAlias = Callable[["Padded", Node, dict[str, Any]], Emit | None]
PADDED: dict[Op, Rule] = {}
_HOLDS: dict[str, Callable[[Any, Any], bool]] = {"==": operator.eq, "!=": operator.ne, ">=": operator.ge}
_POSITION = np.dtype(np.int64)
FLOPS = 5  # in a nanosecond
DOUBLINGS = 10  # of a row that is sorted
MOVED_FLOPS = 15  # that take as long as an element that is filled up


class Padded(Flat):
    """Graph of one example, and all examples that it is to run on, filled up to the sizes of the longest."""

    def axes(self, x: Value) -> list[int]:
        """Return the ragged axes of a value; raise ValueError where a longer example may have a smaller size."""
        axes = [i for i, size in enumerate(sizes_of(x)) if self.is_ragged(size)]
        if not all(self._grows(sizes_of(x)[i]) for i in axes):
            raise ValueError
        return axes

    def axis(self, x: Value) -> int | None:
        """Return the first ragged axis of a value."""
        return next(iter(self.axes(x)), None)

    def _grows(self, size: Size) -> bool:
        terms = {m: factor for m, factor in expr.terms_of(size).items() if any(map(self._is_varying, dict(m)))}
        for m, factor in [*terms.items()]:
            if factor < 0:  # as in n - n // 2
                whole = self._divided(m)
                if whole not in terms or terms[whole] + factor < 0:
                    return False
                terms[whole] += factor
        return all(all(map(self._atom_grows, dict(m))) for m, factor in terms.items() if factor > 0)

    def _divided(self, monomial: Any) -> Any:
        """Return the term that a quotient by a constant is taken of; None for other terms."""
        (atom, power), *others = monomial
        is_quotient = (
            isinstance(atom, Call) and atom.function in ("floordiv", "ceildiv") and isinstance(atom.args[1], int)
        )
        if others or power != 1 or not is_quotient:
            return None
        whole = {m: factor for m, factor in expr.terms_of(atom.args[0]).items() if m}
        return next(iter(whole)) if [*whole.values()] == [1] else None

    def _is_varying(self, atom: Any) -> bool:
        return self.is_ragged(expr.from_atom(atom))

    def _atom_grows(self, atom: Any) -> bool:
        if not isinstance(atom, Call):
            return True
        divides = atom.function in ("floordiv", "ceildiv") and not self.is_ragged(atom.args[1])
        return (divides or atom.function in ("max", "min")) and all(map(self._grows, atom.args))

    def plan(self) -> list[tuple[Node, Emit]] | Refusal:
        """Return what emits each node, or the first one that has no padded form."""
        steps = super().plan()
        if not isinstance(steps, Refusal) and any(self.axes(v)[1:] or self.axis(v) for v in self.graph.outputs):
            return Refusal("a result whose rows are not its first axis")
        return steps

    def _ragged_rule(self, node: Node, params: dict[str, Any]) -> Emit | None:
        return PADDED[node.op](self, node, params) if node.op in PADDED else None

    def _plain_rule(self, node: Node) -> Emit:
        return lambda: self.emit(node)

    # -- what runs

    def begin(self, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> list[Any]:
        """Note the sizes of operands, also of the longest example; return operands."""
        flat = super().begin(operands, lengths, count)
        self.masks: dict[tuple[Size, Size], Any] = {}
        longest = {w: self._most(self.rows[expr.from_atom(w)].lengths) for w in {*self.ragged.values()}}
        self.sizes.update({v: longest[w] for v, w in self.ragged.items()})
        return flat

    def _operands(self, flat: Sequence[Any]) -> list[Any]:
        """Return operands with the rows of each example filled up."""
        return [self._filled(x, self.graph.inputs[i]) if i in self.pieces else x for i, x in enumerate(flat)]

    def cost(self, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> tuple[int, Size] | None:
        """Return the number of steps, and the nanoseconds of all that is computed: the loop's own do not count."""
        self.begin(operands, lengths, count)
        try:
            flops = graph_flops(self.graph, [self.of_all(sizes_of(v)) for v in self.graph.inputs])
        except UnknownSizeError:
            return None
        moved = expr.total([numel(self.of_all(sizes_of(self.graph.inputs[i]))) for i in self.pieces])
        flops = substitute(flops, lambda v: DOUBLINGS if isinstance(v, CeilLog2) else None)
        each = expr.add(flops, expr.mul(MOVED_FLOPS, moved))
        return 2 * len(self.steps) + 6, expr.floordiv(expr.mul(count, each), FLOPS)

    def _most(self, lengths: Any) -> Size:
        """Return the size of the longest example; without examples, a size that the graph can have."""
        most = rd.reduce_max(mv.concatenate([lengths, cr.full((1,), 0, lengths.dtype)], 0), (0,))
        if least := self._least():
            count = cr.size_value(self.count)
            none = ew.eq(count, ew.lift(0, count))
            most = ew.select(none, ew.lift(least, most), most)
        return dy.size_from_count(most)

    def _least(self) -> int:
        """Return the smallest size, if it is small, for which all conditions on ragged sizes hold."""
        claims = [c.claim for c in self.graph.conditions if self._about_rows(c)]
        put = lambda size, k: substitute(size, lambda v: k if v in self.ragged else None)
        for k in range(9):
            ends = [(c.relation, put(c.left, k), put(c.right, k)) for c in claims]
            if all(_HOLDS[r](a, b) for r, a, b in ends if isinstance(a, int) and isinstance(b, int)):
                return k
        return 0

    def _filled(self, x: Any, value: Value) -> Any:
        """Return the rows of each example, and its last row again until it has as many as the longest."""
        rows, size = self.rows[self.key_of(value)], self.of_all(sizes_of(value)[0])
        shape = (self.count, size)
        over = lambda y, axis: mv.broadcast_in_dim(y, shape, (axis,))
        one = ew.lift(1, rows.lengths)
        at = ew.minimum(over(cr.iota(size), 1), over(ew.sub(rows.lengths, one), 0))
        at = ew.add(ew.maximum(at, ew.lift(0, at)), over(rows.starts, 0))
        last = ew.sub(cr.size_value(rows.total), ew.lift(1, at))
        return ix.take(x, ew.minimum(at, mv.broadcast_to(last, shape)))

    def of_all(self, size: Any) -> Any:
        """Return a size of an example as that of the longest."""
        return tuple(map(self.of_all, size)) if isinstance(size, tuple) else substitute(size, self.sizes.get)

    def run(self, builder: Builder, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> list[Any]:
        """Replay the graph on all examples, and return its results with an axis of examples or rows."""
        self.builder, graph = builder, self.graph
        operands = self._operands(self.begin(operands, lengths, count))
        for c in graph.conditions:
            self._require(builder, c)
            if self._about_rows(c):
                builder.scope.require(substitute_claim(c.claim, self.sizes.get), c.primitive, c.why, (), c.where)
        self.carrying = {*graph.inputs[: self.layout.own]}
        self.env = begin_replay(builder, graph, operands, self.sizes, self.carrying)
        for node, emit in self.steps:
            with at_line(builder, node.where):
                emit()
        return [self._result(v) for v in graph.outputs]

    def _result(self, value: Value) -> Any:
        y = self.of_examples(value)
        if self.axis(value) is None:
            return y
        key = self.key_of(value)
        rows, size = self.rows_of(key), self.of_all(sizes_of(value)[0])
        at = ew.add(ew.mul(rows.owners, mv.broadcast_to(cr.size_value(size), (rows.total,))), rows.positions)
        return ix.take(merged(y, 1), at)

    def joined_shape(self, x: Value) -> tuple[Size, ...]:
        """Return the shape of what all examples have of a value along its first axis, one after the other."""
        first, *rest = map(self.of_all, sizes_of(x))
        total = self.rows_of(self.key_of(x)).total if self.axis(x) == 0 else expr.mul(self.count, first)
        return total, *rest

    def of_examples(self, value: Value) -> Any:
        """Return a value with an axis of examples."""
        x = self.env[value]
        return x if value in self.carrying else self.of_each(x)

    def mask(self, value: Value, axes: Sequence[int]) -> Any:
        """Return where a value has elements of an example, by these ragged axes."""
        sizes = sizes_of(value)
        shape = (self.count, *self.of_all(sizes))
        parts = [mv.broadcast_in_dim(self._mask_of(sizes[a]), shape, (0, a + 1)) for a in axes]
        return functools.reduce(ew.logical_and, parts)

    def _mask_of(self, size: Size) -> Any:
        key = self.key(size)
        if (key, self.of_all(size)) not in self.masks:
            shape = (self.count, self.of_all(size))
            over = lambda y, axis: mv.broadcast_in_dim(y, shape, (axis,))
            self.masks[key, shape[1]] = ew.lt(over(cr.iota(shape[1]), 1), over(self.vector(key), 0))
        return self.masks[key, self.of_all(size)]

    def emit(self, node: Node, fills: Mapping[Value, Any] = {}) -> None:
        """Emit a node as under vmap, with other values in place of some operands."""
        before = {v: self.env[v] for v in fills}
        shared = self.carrying.isdisjoint
        added = [v for v in fills if shared([v])]
        self.env.update(fills)
        self.carrying.update(added)
        apply_to_examples(self.builder, node, self.env, self.carrying, self.count)
        self.env.update(before)
        self.carrying.difference_update(added)

    def set(self, node: Node, result: Any) -> None:
        """Note the result of a node, which differs between examples."""
        (value,) = node.outputs
        self.env[value] = result
        self.carrying.add(value)

    def filled(self, value: Value, axes: Sequence[int], fill: Any) -> Any:
        """Return a value with a fill behind the ends of examples, along these axes."""
        x = self.of_examples(value)
        return ew.select(self.mask(value, axes), x, ew.lift(fill, x)) if axes else x

    def all_filled(self, read: Mapping[Value, Sequence[int]], fill: Callable[[np.dtype], Any]) -> dict[Value, Any]:
        """Return values with fills behind the ends of examples along the axes that are read."""
        return {v: self.filled(v, axes, fill(v.meta.dtype)) for v, axes in read.items()}

    def reduce(self, node: Node, read: Mapping[Value, Sequence[int]], fill: Callable[[np.dtype], Any]) -> None:
        """Emit a node that reads along ragged axes; of an example without elements, as of none."""
        self.emit(node, self.all_filled(read, fill))
        sizes = dict.fromkeys([self.key(sizes_of(v)[a]) for v, axes in read.items() for a in axes])
        scope = Scope(conditions=self.graph.conditions)
        empty = [size for size in sizes if not scope.proves_at_once(at_least(size, 1))]
        (out,) = node.outputs
        if not empty or out.meta.dtype.kind not in "fc" or node.op in _EXTREMES:  # which exist of elements alone
            return
        result, lengths = self.env[out], [self.vector(size) for size in empty]
        self.emit(node, {v: self._none_of(v, axes) for v, axes in read.items()})
        none = functools.reduce(ew.logical_or, [ew.eq(n, ew.lift(0, n)) for n in lengths])
        self.env[out] = ew.select(mv.broadcast_in_dim(none, result.meta.sizes, (0,)), self.env[out], result)

    def _none_of(self, value: Value, axes: Sequence[int]) -> Any:
        """Return a value without elements along some axes."""
        x = self.of_examples(value)
        sizes = [0 if i - 1 in axes else size for i, size in enumerate(x.meta.sizes)]
        return mv.strided(x, (0,) * len(sizes), sizes)

    def at(self, value: Value, axis: int, positions: Any) -> Any:
        """Return what examples have at their positions along an axis; positions have shape (examples, number)."""
        return self.at_of(self.of_examples(value), axis, positions)

    def at_of(self, x: Any, axis: int, positions: Any) -> Any:
        """Return what examples of an array have at their positions along an axis: at an end for one beyond it."""
        size, shape = cr.size_value(x.meta.sizes[axis + 1]), positions.meta.sizes
        last = mv.broadcast_to(ew.sub(size, ew.lift(1, size)), shape)
        positions = ew.maximum(ew.minimum(positions, last), ew.lift(0, positions))
        first = ew.mul(cr.iota(self.count), mv.broadcast_to(size, (self.count,)))
        front = merged(mv.move_axes(x, (axis + 1,), (1,)), 1)
        rows = ix.take(front, ew.add(positions, mv.broadcast_in_dim(first, shape, (0,))))
        return mv.move_axes(rows, (1,), (axis + 1,))

    def each(self, vector: Any, size: Size) -> Any:
        """Return a number of each example so many times."""
        return mv.broadcast_in_dim(vector, (self.count, size), (0,))

    def positions(self, size: Size) -> Any:
        """Return so many positions for each example, from 0 on."""
        return mv.broadcast_in_dim(cr.iota(size), (self.count, size), (1,))


def merged(x: Any, axis: int) -> Any:
    """Return an array with the axes of examples and of what follows, at this place, as one."""
    shape = x.meta.sizes
    return mv.reshape(x, (expr.mul(shape[0], shape[axis]), *shape[axis + 1 :]))


def padded_map(graph: Graph, layout: Layout) -> Padded | Refusal:
    """Return the padded form of a graph of one example, or what in it has none."""
    try:
        padded = Padded(graph, layout)
        steps = padded.plan()
    except ValueError:
        return Refusal("a value whose size is not known")
    if isinstance(steps, Refusal):
        return steps
    padded.steps = steps
    return padded


def rule(*ops: Op) -> Callable[[Any], Any]:
    """Make a function the padded rule of ops."""

    def enter(function: Any) -> Any:
        PADDED.update(dict.fromkeys(ops, function))
        return function

    return enter


# -- ops that leave elements behind the ends where they are


def _apart(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    """Ops that act on each element, or move it with others of its row."""
    refuses = node.op.refusals is not None and node.op.refusals(node)  # values that stand behind an end, perhaps
    return None if refuses else lambda: padded.emit(node)


def _on_lines(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    """Ops that mix elements along some axes, which are not ragged."""
    values = (*node.inputs, *node.outputs)
    labels = tables.LINES_OF[node.op]([v.meta.rank for v in values], **params)
    if isinstance(labels, int) or labels is None:
        return None
    mixes = any(own[a] is None for v, own in zip(values, labels, strict=True) for a in padded.axes(v))
    return None if mixes else _apart(padded, node, params)


PADDED.update(dict.fromkeys(tables.LINES_OF, _on_lines))
PADDED.update({op: _apart for op in OPS.values() if op.family in tables.ELEMENTWISE})
rule(cb.stop_gradient_op, cb.name_sizes_op, mv.transpose_op, mv.broadcast_in_dim_op, cr.full_op, cr.iota_op)(_apart)


@rule(OPS["sized"])
def _sized(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    keys = [[padded.key(sizes_of(v)[a]) for a in padded.axes(v)] for v in (*node.inputs, *node.outputs)]
    return (lambda: padded.emit(node)) if keys[0] == keys[1] else None


@rule(cr.size_value_op, cr.float_of_size_op)
def _size_value(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    dtype = node.outputs[0].meta.dtype
    return lambda: padded.set(node, ew.convert(padded.vector(padded.key(params["size"])), dtype))


@rule(cb.warn_below_op)
def _warn_below(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    sizes = [padded.key(params[name]) for name in ("size", "least")]
    return lambda: padded.set(node, cb.warn(ew.lt(*map(padded.vector, sizes)), params["message"]))


@rule(mv.reshape_op)
def _reshape(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), (out,) = node.inputs, node.outputs
    ends = [[(numel(sizes_of(v)[:a]), sizes_of(v)[a]) for a in padded.axes(v)] for v in (value, out)]
    old, new = ends
    if len(old) == len(new) and old[:-1] == new[:-1] and old[-1][0] == new[-1][0]:
        return lambda: padded.emit(node)
    last = max(padded.axes(value), default=0)
    behind = numel(sizes_of(value)[last + 1 :])
    if len(new) != 1 or new[0][0] != 1 or behind != numel(sizes_of(out)[1:]) or any(p != 1 for p, _ in old[:-1]):
        return None

    def emit() -> None:
        """Join what is apart: the elements of a ragged axis, once for each position before it."""
        x, size, whole = padded.of_examples(value), sizes_of(value)[last], sizes_of(out)
        most, count = padded.of_all(size), padded.of_all(whole[0])
        x = mv.reshape(x, (padded.count, numel(x.meta.sizes[1 : last + 2]), *map(padded.of_all, whole[1:])))
        number, at = padded.each(padded.vector(padded.key(size)), count), padded.positions(count)
        block = ew.floor_divide(at, ew.maximum(number, ew.lift(1, number)))
        step = ew.sub(mv.broadcast_to(cr.size_value(most), at.meta.sizes), number)
        padded.set(node, padded.at_of(x, 0, ew.add(at, ew.mul(block, step))))

    return emit


# -- ops that read along a ragged axis: behind the ends stands what changes nothing


def _lowest(dtype: np.dtype) -> Any:
    return float("-inf") if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype) -> Any:
    return float("inf") if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _last(dtype: np.dtype) -> Any:
    return float("nan") if dtype.kind in "fc" else _highest(dtype)


_EXTREMES = (rd.reduce_max_op, rd.reduce_min_op, rd.argmax_op, rd.argmin_op, rd.cummax_op, rd.cummin_op)
NEUTRAL: dict[Op, Callable[[np.dtype], Any]] = {
    **dict.fromkeys((rd.reduce_sum_op, rd.cumsum_op, rd.recurrence_op), lambda dtype: 0),
    **dict.fromkeys((rd.reduce_prod_op, rd.cumprod_op), lambda dtype: 1),
    **dict.fromkeys((rd.reduce_and_op,), lambda dtype: True),
    **dict.fromkeys((rd.reduce_or_op,), lambda dtype: False),
    **dict.fromkeys((*_EXTREMES[::2], rd.reduce_logsumexp_op, rd.cumlogsumexp_op, rd.safe_softmax_op), _lowest),
    **dict.fromkeys(_EXTREMES[1::2], _highest),
    **dict.fromkeys((rd.sort_op, rd.argsort_op), _last),
}


@rule(*NEUTRAL)
def _neutral(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    mixed = params.get("axes", (params.get("axis"),))
    axes = [a for a in padded.axes(node.inputs[0]) if a in mixed]
    dtype, fill = node.inputs[0].meta.dtype, NEUTRAL[node.op]
    has_none = dtype == np.float16 or (dtype.kind == "c" and fill in (_lowest, _highest))
    if axes and (has_none or not params.get("stable", True)):
        return None
    if not axes or params.get("reverse") is False:  # what follows does not change what was before
        return lambda: padded.emit(node)
    read = dict.fromkeys(node.inputs, axes)
    if "axes" in params and node.op is not rd.safe_softmax_op:
        return lambda: padded.reduce(node, read, fill)
    return lambda: padded.emit(node, padded.all_filled(read, fill))


@rule(rd.softmax_op)
def _softmax(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    """Fill in what adds nothing, but for examples without elements: all that they have is behind the end."""
    (value,) = node.inputs
    axes = [a for a in padded.axes(value) if a in params["axes"]]
    if axes and value.meta.dtype == np.float16:
        return None

    def emit() -> None:
        if not axes:
            return padded.emit(node)
        x, shape = padded.of_examples(value), (padded.count, *padded.of_all(sizes_of(value)))
        lengths = [padded.vector(padded.key(sizes_of(value)[a])) for a in axes]
        none = functools.reduce(ew.logical_or, [ew.eq(n, ew.lift(0, n)) for n in lengths])
        behind = ew.select(none, *[cr.full((padded.count,), v, x.dtype) for v in (0.0, float("-inf"))])
        behind = mv.broadcast_in_dim(behind, shape, (0,))
        return padded.emit(node, {value: ew.select(padded.mask(value, axes), x, behind)})

    return emit


@rule(rd.permute_op)
def _permute(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    order, axis = node.inputs[1], params["axis"]

    def emit() -> None:
        if axis not in padded.axes(order):
            return padded.emit(node)
        y = padded.of_examples(order)
        same = mv.broadcast_in_dim(ew.convert(cr.iota(y.meta.sizes[axis + 1]), y.dtype), y.meta.sizes, (axis + 1,))
        return padded.emit(node, {order: ew.select(padded.mask(order, [axis]), y, same)})

    return emit


@rule(ct.dot_general_op)
def _dot_general(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    read = [[a for a in padded.axes(v) if a in c] for v, c in zip(node.inputs, params["contract"], strict=True)]
    return _product(padded, node, read)


@rule(ct.einsum_op)
def _einsum(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    terms, out = ct.terms_of(params["equation"])
    return _product(padded, node, [[a for a in padded.axes(v) if t[a] not in out] for v, t in zip(node.inputs, terms)])


def _product(padded: Padded, node: Node, read: Sequence[Sequence[int]]) -> Emit:
    """Fill operands with zeros along the axes that a product reads."""
    axes: dict[Value, set[int]] = {}
    for v, own in zip(node.inputs, read, strict=True):
        axes.setdefault(v, set()).update(own)
    return lambda: padded.reduce(node, {v: sorted(own) for v, own in axes.items() if own}, lambda dtype: 0)


@rule(cb.check_op)
def _check(padded: Padded, node: Node, params: dict[str, Any]) -> Emit:
    (value,) = node.inputs
    return lambda: padded.emit(node, {value: padded.filled(value, padded.axes(value), True)})


# -- moves along a ragged axis


@rule(mv.rev_op)
def _rev(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,), axes = node.inputs, params["axes"]
    own = [a for a in padded.axes(value) if a in axes]
    if not own:
        return lambda: padded.emit(node)
    if len(own) > 1:
        return None

    def emit() -> None:
        size = sizes_of(value)[own[0]]
        count = padded.of_all(size)
        last = ew.sub(padded.vector(padded.key(size)), padded.repeated(1))
        y = padded.at(value, own[0], ew.sub(padded.each(last, count), padded.positions(count)))
        padded.set(node, mv.rev(y, [a + 1 for a in axes if a != own[0]]))

    return emit


@rule(mv.slice_op)
def _slice(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,) = node.inputs
    starts, sizes, steps = (params[name] for name in ("starts", "sizes", "steps"))
    if padded.is_ragged(steps):
        return None
    moved = [a for a, start in enumerate(starts) if padded.is_ragged(start)]
    if not moved:
        return lambda: padded.emit(node)
    if len(moved) > 1:
        return None
    (axis,) = moved

    def emit() -> None:
        count = padded.of_all(sizes[axis])
        first = padded.vector(padded.key(starts[axis]))
        step = mv.broadcast_to(cr.size_value(padded.of_all(steps[axis])), (padded.count, count))
        at = ew.add(padded.each(first, count), ew.mul(padded.positions(count), step))
        y = padded.at(value, axis, at)
        bounds = [
            [*map(padded.of_all, p[:axis]), whole, *map(padded.of_all, p[axis + 1 :])]
            for p, whole in ((starts, 0), (sizes, count), (steps, 1))
        ]
        padded.set(node, mv.strided(y, (0, *bounds[0]), (padded.count, *bounds[1]), (1, *bounds[2])))

    return emit


@rule(mv.concatenate_op)
def _concatenate(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    axis, sizes = params["axis"], [sizes_of(v)[params["axis"]] for v in node.inputs]
    if not padded.is_ragged(tuple(sizes[:-1])):  # what is behind the end of the last part is behind that of all
        return lambda: padded.emit(node)

    def emit() -> None:
        (out,) = node.outputs
        xs = [padded.of_examples(v) for v in node.inputs]
        whole = mv.concatenate(xs, axis + 1)
        count = padded.of_all(sizes_of(out)[axis])
        at, ended, before = padded.positions(count), padded.vector(0), padded.vector(0)
        source = at
        for x, size in zip(xs[:-1], sizes[:-1], strict=True):
            ended = ew.add(ended, padded.vector(padded.key(size)))
            before = ew.add(before, padded.repeated(x.meta.sizes[axis + 1]))
            behind = ew.add(at, padded.each(ew.sub(before, ended), count))
            source = ew.select(ew.lt(at, padded.each(ended, count)), source, behind)
        padded.set(node, padded.at_of(whole, axis, source))

    return emit


@rule(mv.pad_op)
def _pad(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    (value,) = node.inputs
    if any(padded.is_ragged(params[name]) for name in ("low", "high", "interior")):
        return None
    axes = [a for a in padded.axes(value) if params["high"][a] != 0 or params["interior"][a] != 0]
    return lambda: padded.emit(node, {value: padded.filled(value, axes, params["value"])} if axes else {})


# -- reads at computed positions


@rule(ix.index_bounds_op)
def _index_bounds(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    if padded.is_ragged(params["extent"]):
        return None
    return lambda: padded.emit(node, _safe(padded, node.inputs))


def _safe(padded: Padded, indices: Sequence[Value]) -> dict[Value, Any]:
    """Return indices with position 0 behind the ends of examples."""
    return {i: padded.filled(i, padded.axes(i), 0) for i in indices if padded.axes(i)}


@rule(ix.take_op)
def _take(padded: Padded, node: Node, params: dict[str, Any]) -> Emit | None:
    (value, *indices), axes = node.inputs, params["axes"]
    own = [a for a in padded.axes(value) if a in axes]
    if not own:
        return lambda: padded.emit(node, _safe(padded, indices))
    if axes != tuple(own) or len(own) > 1:
        return None
    (index,) = indices

    def emit() -> None:
        """Read at positions in the examples, which are checked: none behind an end is read."""
        i = ew.convert(padded.filled(index, padded.axes(index), 0), _POSITION)
        lengths = padded.vector(padded.key(sizes_of(value)[own[0]]))
        lengths = mv.broadcast_in_dim(lengths, i.meta.sizes, (0,))
        i = ew.select(ew.lt(i, ew.lift(0, i)), ew.add(i, lengths), i)
        inside = ew.logical_and(ew.ge(i, ew.lift(0, i)), ew.lt(i, lengths))
        if ragged := padded.axes(index):
            inside = ew.logical_or(inside, ew.logical_not(padded.mask(index, ragged)))
        cb.check(inside, f"indices are within axis {own[0]} of each example")
        padded.emit(node, {index: i})

    return emit

"""Expansion of logsumexp into the steps of its definition, where these are shared with other nodes.

Its derivative divides the same exponentials by the same sum. An operand that has its maximum subtracted already, as in
a log_softmax, needs no second subtraction. Values keep the bits of the kernels, and the exponentials take the memory of
an operand that nothing else reads.

Prune conditionals and loops: results that nothing reads leave the subgraphs, and so do operands that none reads.

A derivative keeps neither a value that it does not need, nor an operand alive.

Hoist shape-only steps: masks by position, weights by position, the number that a mean divides by.

A function of the plan runs them, and the shape-constant cache holds their results for calls of the same sizes. A choice
between an array and a number by a hoisted mask reads the mask as bits, which are hoisted too. It then takes one or two
operations on bits.

Read and write single elements of floats by their position: NumPy takes a fifth of the time of a view of one element.

What is read is a number of NumPy, whose arithmetic is faster than that of an array without axes too. It shares no
memory, so a later write to the array needs no copy. Results of the plan stay arrays.

Sink elementwise steps to their first use, when this extends no live range.

`1 - tanh(x)**2`, which only the derivative reads, is computed with the derivative. Nothing of it is live in between, it
can join the fusion group there, and no step runs twice.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan
from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import TRAITS, is_observable
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import NodeSizes, asserted_sizes, pass_context, pass_scope, remove_dead_code
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, free_axes, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr
from anyshape.graph.sizes.symbols import DimVar
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control_flow import cond_op
from anyshape.ops.creation import full_op
from anyshape.ops.elementwise import select_op
from anyshape.ops.loops import scan_op
from anyshape.ops.prune_inputs import PRUNERS, TOKEN, prune_cond, prune_unused_scan, with_cheap_element, with_token
from anyshape.support.lazy_dataclass import replace

_EXPANDED = (rd.reduce_logsumexp_op, rd.safe_softmax_op)
_Key = tuple[Value, tuple[int, ...]]  # an operand, and the axes of sums


def share_exponentials(graph: Graph) -> Graph:
    """Return the graph with the steps of each logsumexp that shares some of them."""
    nodes = [n for n in graph.nodes if n.op in _EXPANDED]
    expansions = _expansions(graph, nodes) if nodes else {}
    if not expansions:
        return graph
    steps = {n: expansions[_key(n)].nodes_of(n) for n in nodes if _key(n) in expansions}
    return replace(graph, nodes=tuple(itertools.chain(*[steps.get(n, (n,)) for n in graph.nodes])))


def _expansions(graph: Graph, nodes: list[Node]) -> dict[_Key, _Exponentials]:
    """Return the exponentials that several nodes read, or whose operand has its maximum subtracted already."""
    ctx = pass_context(pass_scope(graph), "share_exponentials")
    ops = Counter([key for key, _ in {(_key(n), n.op) for n in nodes}])
    shifted = {key for key in ops if _maximum_is_subtracted(ctx, graph, *key)}
    return {key: _Exponentials(ctx, *key, key in shifted) for key in ops if ops[key] > 1 or key in shifted}


def _key(node: Node) -> _Key:
    return node.inputs[0], dict(node.params)["axes"]


class _Exponentials:
    """Exponentials of one operand and their sum: what the nodes that read them share."""

    powers: Value
    total: Value  # 1 in place of 0
    is_zero: Value
    top: Value | None

    def __init__(self, ctx: ShapeGuardContext, x: Value, axes: tuple[int, ...], shifted: bool) -> None:
        self.ctx, self.x, self.axes, self.shifted = ctx, x, axes, shifted
        self.nodes, self.begun = list[Node](), False

    def nodes_of(self, node: Node) -> list[Node]:
        """Return the nodes in place of one node: the first one also has the shared nodes."""
        self.nodes, self.where = [], node.where
        if not self.begun:
            self._begin()
        if node.op is rd.safe_softmax_op:
            self._add(ew.div_op, (self.powers, self._repeated(self.total)), self.x.meta, node.outputs[0])
        else:
            self._logarithm(node.outputs[0])
        return self.nodes

    def _begin(self) -> None:
        self.begun = True
        extents = self.ctx.extents(self.x)
        self.reduced = TensorMeta(self.x.meta.dtype, tuple([extents[a] for a in free_axes(len(extents), self.axes)]))
        exponent, self.top = self.x, None
        if not self.shifted:
            largest = self._add(rd.reduce_max_op, (self.x,), self.reduced, axes=self.axes, empty=True)
            is_finite = self._add(ew.isfinite_op, (largest,), self._truth())
            self.top = self._add(ew.select_op, (is_finite, largest, self._number(0.0, largest)), self.reduced)
            exponent = self._add(ew.sub_op, (self.x, self._repeated(self.top)), self.x.meta)
        self.powers = self._add(ew.exp_op, (exponent,), self.x.meta)
        total = self._add(rd.reduce_sum_op, (self.powers,), self.reduced, axes=self.axes)
        self.is_zero = self._add(ew.eq_op, (total, self._number(0.0, total)), self._truth())
        self.total = self._add(ew.select_op, (self.is_zero, self._number(1.0, total), total), self.reduced)

    def _logarithm(self, output: Value) -> None:
        """Add the logarithm of the sum, which does not warn of 0, and the maximum."""
        least = self._number(-math.inf, self.total)
        top = self.top if self.top is not None else self._number(0.0, self.total)
        base = self._add(ew.select_op, (self.is_zero, least, top), self.reduced)
        log = self._add(ew.log_op, (self.total,), self.reduced)
        self._add(ew.add_op, (log, base), self.reduced, output)

    def _truth(self) -> TensorMeta:
        return TensorMeta(np.dtype(bool), self.ctx.extents(self.reduced))

    def _add(self, op: Op, inputs: tuple[Value, ...], meta: TensorMeta, result: Value | None = None, **params) -> Value:
        output = Value(meta) if result is None else result
        self.nodes.append(Node(op, inputs, (), params_tuple(params), (output,), self.where))
        return output

    def _like(self, op: Op, inputs: tuple[Value, ...], like: Value, **params) -> Value:
        """Add a node with the shape of a value."""
        shape = tuple([expr.input_axis(len(inputs), axis) for axis in range(self.ctx.rank(like))])
        output, every = Value(like.meta), params_tuple({**params, "shape": shape})
        self.nodes.append(Node(op, inputs, (like,), every, (output,), self.where))
        return output

    def _repeated(self, reduced: Value) -> Value:
        """Return a reduced array, repeated in the shape of the operand; NumPy repeats axes of size 1 on its own."""
        rank = self.ctx.rank(self.x)
        axes = free_axes(rank, self.axes)
        if axes != tuple(range(rank - len(axes), rank)):
            shape = tuple([expr.input_axis(0, axes.index(a)) if a in axes else 1 for a in range(rank)])
            extents = tuple([e if a in axes else Exact(1) for a, e in enumerate(self.ctx.extents(self.x))])
            reduced = self._add(mv.reshape_op, (reduced,), TensorMeta(self.x.meta.dtype, extents), shape=shape)
            axes = tuple(range(rank))
        return self._like(mv.broadcast_in_dim_op, (reduced,), self.x, axes=axes)

    def _number(self, value: float, like: Value) -> Value:
        return self._like(full_op, (), like, value=value, dtype=like.meta.dtype)


def _maximum_is_subtracted(ctx: ShapeGuardContext, graph: Graph, x: Value, axes: tuple[int, ...]) -> bool:
    """Return whether x is an array less its maximum along the axes, with 0 for a maximum that is not finite.

    Its own maximum is 0 then, or not finite.
    """
    difference = graph.made_by(x, ew.sub_op)
    top = None if difference is None else _unrepeated(ctx, graph, difference.inputs[1], axes)
    choice = graph.made_by(top, ew.select_op)
    if difference is None or choice is None:
        return False
    is_finite, largest, other = choice.inputs
    test, fill = graph.made_by(is_finite, ew.isfinite_op), graph.made_by(other, full_op)
    maximum = graph.made_by(largest, rd.reduce_max_op)
    if test is None or fill is None or maximum is None:
        return False
    computed = test.inputs, dict(fill.params)["value"], maximum.inputs, dict(maximum.params)["axes"]
    return computed == ((largest,), 0, difference.inputs[:1], axes)


def _unrepeated(ctx: ShapeGuardContext, graph: Graph, value: Value, axes: tuple[int, ...]) -> Value | None:
    """Return the reduced array that is repeated along the axes; None where the value is something else."""
    repeated, rank = graph.made_by(value, mv.broadcast_in_dim_op), ctx.rank(value)
    if repeated is None:
        return None
    (reduced,), target = repeated.inputs, dict(repeated.params)["axes"]
    if target == free_axes(rank, axes):
        return reduced
    reshaped = graph.made_by(reduced, mv.reshape_op)
    if reshaped is None or target != tuple(range(rank)) or any(ctx.extent(reduced, a) != Exact(1) for a in axes):
        return None
    return reshaped.inputs[0]


def prune_branches(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph with no unread result or operand of a conditional or of a loop."""
    if PRUNERS.keys().isdisjoint([n.op for n in graph.nodes]):
        return graph
    read = {*graph.outputs, *asserted_sizes(graph)}
    sizes = NodeSizes(graph, pass_context(pass_scope(graph, reliance_log), "prune_loops"))
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        new = _pruned(node, [v in read for v in node.outputs], sizes)
        nodes += reversed(new)
        read.update([v for n in new for v in n.operands])
    return replace(graph, nodes=tuple(reversed(nodes)))


def _pruned(node: Node, live: Sequence[bool], sizes: NodeSizes) -> list[Node]:
    """Return the nodes in place of one with these live results."""
    new = [node]
    if node.op is cond_op and not any(live):
        new = [prune_cond(_with_token(node), [True], _prune_inside)]
    elif node.op is scan_op and not any(live):
        new = prune_unused_scan(node, _prune_inside, sizes.ctx)
    elif node.op in PRUNERS:
        new = [PRUNERS[node.op](node, live, _prune_inside)]
    if node.op is not scan_op or not any(live):  # one that runs for what it refuses reads the first element alone
        return new
    (scan,) = new
    return with_cheap_element(scan, partial(_size_carrier, sizes))


def _prune_inside(graph: Graph) -> Graph:
    """Return a subgraph with no unread result or operand. Its inputs that are read for sizes alone are not read."""
    ctx = pass_context(pass_scope(graph), "prune_loops")
    values = {*graph.outputs, *[v for node in graph.nodes for v in node.inputs]}
    sizes = {v: ctx.sizes(v, field="elements") for v in graph.inputs}
    read = {sizes[v]: v for v in reversed(graph.inputs) if v in values}
    other = {v: read.get(sizes[v], v) for v in graph.inputs if v not in values and sizes[v]}
    renamed = lambda n: replace(n, sources=tuple([other.get(v, v) for v in n.sources]))
    nodes = [n if other.keys().isdisjoint(n.sources) else renamed(n) for n in graph.nodes]
    return prune_branches(replace(graph, nodes=tuple(nodes)))


def _size_carrier(sizes: NodeSizes, stack: Value) -> Node | None:
    """Return a node that makes an array of the length of a stack, None if this has no name."""
    shape, sources = sizes.ctx.sizes(stack, field="elements"), list[Value]()
    if shape is None:
        return None
    params = {"dtype": TOKEN.dtype, "shape": sizes.localise(shape[:1], sources), "value": False}
    return Node(full_op, (), tuple(sources), params_tuple(params), (Value(tensor(TOKEN.dtype, shape[:1])),))


def _with_token(node: Node) -> Node:
    """Return a conditional that runs for what it refuses alone."""
    branches = [remove_dead_code(with_token(g)) for g in dict(node.params)["branches"]]
    return replace(node, params=params_tuple({"branches": tuple(branches)}), outputs=(Value(TOKEN),))


BITS: dict[str, np.dtype[Any]] = {"f": np.dtype(np.int32), "d": np.dtype(np.int64)}


def hoist_shape_only(
    steps: Sequence[po.Step],
    outputs: Sequence[po.Slot],
    scope: Scope,
    variables: Collection[DimVar],
    numbers_alone: bool = False,
) -> tuple[list[po.Step], list[po.Step]]:
    """Return the steps that depend on sizes over `variables` alone, and the others.

    Steps that make outputs are not hoisted, as cached arrays would have to be copied. With `numbers_alone`, those whose
    results have axes are not either.
    """
    return _Hoisting(outputs, pass_context(scope, "hoist_shape_only"), variables, numbers_alone).run(steps)


class _Hoisting:
    def __init__(
        self, outputs: Sequence[po.Slot], ctx: ShapeGuardContext, variables: Collection[DimVar], numbers_alone: bool
    ) -> None:
        self.outputs, self.ctx, self.variables, self.numbers_alone = set(outputs), ctx, variables, numbers_alone
        self.hoisted: list[po.Step] = []
        self.metas: dict[str, TensorMeta] = {}  # of the results of hoisted steps
        self.masks: dict[tuple[Any, ...], str] = {}  # slots of masks as bits, by what defines them

    def run(self, steps: Sequence[po.Step]) -> tuple[list[po.Step], list[po.Step]]:
        others: list[po.Step] = []
        for step in steps:
            if self._is_shape_only(step):
                self._hoist(step)
            else:
                others.append(self._on_bits(step) if step.op is select_op else step)
        return self.hoisted, others

    def _hoist(self, step: po.Step) -> None:
        self.hoisted.append(step)
        self.metas |= dict(zip(step.outputs, step.results, strict=True))

    def _is_shape_only(self, step: po.Step) -> bool:
        """Return whether a step reads only literals, hoisted results and bound sizes, and its results have named sizes.

        Steps that the user can observe are not hoisted.
        """
        if not all(isinstance(slot, po.Literal) or slot in self.metas for slot in step.inputs):
            return False
        if step.op.makes_sizes or step.sources or not self.outputs.isdisjoint(step.outputs) or is_observable(step):
            return False
        sizes = [self.ctx.sizes(m, field="results") for m in step.results]
        if self.numbers_alone and any(sizes):
            return False
        return None not in sizes and self._is_bound((*sizes, *step.all_params()))

    def _is_bound(self, param: object) -> bool:
        if isinstance(param, tuple):
            return all(map(self._is_bound, param))
        return not isinstance(param, DimExpr) or all(v in self.variables for v in expr.variables(param))

    def _on_bits(self, step: po.Step) -> po.Step:
        """Return a choice between an array and a number by a hoisted mask, with the mask as bits."""
        mask, *sides = step.inputs
        bits = BITS.get(step.results[0].dtype.char)
        numbers = [i for i, side in enumerate(sides) if isinstance(side, po.Literal)]
        if bits is None or mask not in self.metas or len(numbers) != 1 or not self.ctx.rank(step.metas[0]):
            return step
        array, number = sides[1 - numbers[0]], sides[numbers[0]]
        chosen = self._mask(step, po.bits_op, (mask,), bits, chosen=numbers == [1])
        masks, op = [chosen], po.masked_op
        if isinstance(number, po.Literal) and number.array().view(bits).any():
            masks, op = [chosen, self._mask(step, po.rest_op, (chosen, number), bits)], po.masked_else_op
        metas = (step.metas[2 - numbers[0]], *[self.metas[m] for m in masks])
        return replace(step, op=op, inputs=(array, *masks), params=(), metas=metas)

    def _mask(self, step: po.Step, op: Op, inputs: tuple[po.Slot, ...], dtype: np.dtype, **params: bool) -> str:
        """Return the slot of a further hoisted step; equal ones are shared."""
        key = op, inputs, dtype, *params.values()
        if key not in self.masks:
            self.masks[key] = slot = plan.mask_slot(len(self.masks))
            metas = tuple([self.metas[i] if isinstance(i, str) else TensorMeta(i.dtype, ()) for i in inputs])
            meta = replace(metas[0], dtype=dtype)
            step_params = params_tuple({"dtype": dtype, **params} if op is po.bits_op else {})
            self._hoist(po.Step(op, inputs, step_params, (slot,), metas, (meta,), where=step.where))
        return self.masks[key]


_WRITES = {mv.slice_update_op: po.write_element_op, mv.slice_add_op: po.add_to_element_op}


def read_and_write_elements(steps: Sequence[po.Step], outputs: Sequence[po.Slot], scope: Scope) -> list[po.Step]:
    """Return the steps with a slice and its reshape to one number, or a reshape and its assignment, as one step."""
    if not any(step.op is mv.slice_op or step.op in _WRITES for step in steps):
        return [*steps]
    ctx = pass_context(scope, "single_elements")
    maker = _read_once(steps, outputs)
    result, merged = list[po.Step](), set[po.Slot]()
    for step in steps:
        inner = _inner(step, maker)
        one = None if inner is None else _merged(step, inner, outputs, ctx)
        if inner is not None and one is not None:
            merged.add(inner.outputs[0])
        result.append(one or step)
    return [step for step in result if step.outputs[0] not in merged]


def _read_once(steps: Sequence[po.Step], outputs: Sequence[po.Slot]) -> dict[po.Slot, po.Step]:
    """Return the slices and reshapes whose result is read once, by their result."""
    uses = Counter([slot for step in steps for slot in step.reads] + [*outputs])
    movement = [step for step in steps if step.op in (mv.slice_op, mv.reshape_op) and not step.sources]
    return {step.outputs[0]: step for step in movement if uses[step.outputs[0]] == 1}


def _inner(step: po.Step, maker: Mapping[po.Slot, po.Step]) -> po.Step | None:
    """Return the movement whose result a reshape or an assignment reads, if there is one."""
    if step.sources:
        return None
    if step.op is mv.reshape_op:
        return maker.get(step.inputs[0])
    return maker.get(step.inputs[1]) if step.op in _WRITES else None


def _merged(step: po.Step, inner: po.Step, outputs: Sequence[po.Slot], ctx: ShapeGuardContext) -> po.Step | None:
    """Return a step and the movement before it as one read or write of an element; None where they are more."""
    return _read(step, inner, outputs, ctx) if step.op is mv.reshape_op else _write(step, inner, ctx)


def _read(step: po.Step, inner: po.Step, outputs: Sequence[po.Slot], ctx: ShapeGuardContext) -> po.Step | None:
    """Return the read of the one element that a slice and its reshape give; None where that is something else."""
    # other numbers of NumPy warn where arrays wrap around
    is_number = not ctx.rank(step.results[0]) and step.results[0].dtype.kind in "fc" and step.outputs[0] not in outputs
    if inner.op is not mv.slice_op or not is_number or not _is_one(inner.results[0], ctx):
        return None
    params = (("starts", dict(inner.params)["starts"]),)
    return replace(step, op=po.read_element_op, inputs=inner.inputs, metas=inner.metas, params=params)


def _write(step: po.Step, inner: po.Step, ctx: ShapeGuardContext) -> po.Step | None:
    """Return the write of one number to an element; None where the part is something else."""
    is_number = not ctx.rank(inner.metas[0]) and isinstance(inner.inputs[0], str)
    wraps = step.op is mv.slice_add_op and inner.metas[0].dtype.kind not in "fc"  # numbers of NumPy warn of that
    if inner.op is not mv.reshape_op or not is_number or wraps or not _is_one(step.metas[1], ctx):
        return None
    params = (("starts", dict(step.params)["starts"]),)
    inputs, metas = (step.inputs[0], inner.inputs[0]), (step.metas[0], inner.metas[0])
    return replace(step, op=_WRITES[step.op], inputs=inputs, metas=metas, params=params)


def _is_one(meta: TensorMeta, ctx: ShapeGuardContext) -> bool:
    """Return whether each axis has size 1, and there is one."""
    sizes = ctx.sizes(meta, field="element")
    return bool(sizes) and all(size == 1 for size in sizes or ())


MAX_MOVED = 16  # steps moved together: the maker of an operand may have to sink with its reader


def sink(steps: Sequence[po.Step], outputs: Sequence[po.Slot], scope: Scope) -> list[po.Step]:
    """Return the same steps in another order."""
    return _Sinking(steps, outputs, pass_context(scope, "sink")).run()


class _Sinking:
    """`position` is, for each step, the step that it runs right before, or itself; ties keep their order."""

    def __init__(self, steps: Sequence[po.Step], outputs: Sequence[po.Slot], ctx: ShapeGuardContext) -> None:
        self.steps, self.ctx = steps, ctx
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.maker = {slot: i for i, step in enumerate(steps) for slot in step.outputs}
        self.readers: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            for slot in set(step.reads):
                if isinstance(slot, str):
                    self.readers.setdefault(slot, []).append(i)
        self.position: dict[int, int] = {}
        self.latest: dict[str, int] = {}  # the last position of the readers of a slot that have one
        self.placed: dict[str, int] = {}  # how many readers of a slot have a position

    def run(self) -> list[po.Step]:
        for i in range(len(self.steps) - 1, -1, -1):
            if i not in self.position:
                self._move(i, i)
                self._sink(i)
        return [self.steps[i] for i in sorted(range(len(self.steps)), key=lambda i: (self.position[i], i))]

    def _sink(self, i: int) -> None:
        """Move a step to its first reader, if it is movable and anything lies in between."""
        if not self._is_movable(i):
            return
        readers = self.readers.get(self.steps[i].outputs[0], ())
        if (first_use := min([self.position[r] for r in readers], default=len(self.steps))) > i + 1:
            for k in self._moved_together(i, first_use):
                self._move(k, first_use)

    def _move(self, i: int, position: int) -> None:
        """Note the position of a step."""
        for slot in {slot for slot in self.steps[i].reads if isinstance(slot, str)}:
            self.latest[slot] = max(position, self.latest.get(slot, -1))
            self.placed[slot] = self.placed.get(slot, 0) + (i not in self.position)
        self.position[i] = position

    def _is_movable(self, i: int) -> bool:
        """Return whether a step is elementwise with one result, which is a number or no output of the plan."""
        step = self.steps[i]
        alone = TRAITS[step.op].elementwise and len(step.outputs) == 1 and not step.fallback and not step.sources
        return alone and (not self.ctx.rank(step.results[0]) or step.outputs[0] not in self.outputs)

    def _moved_together(self, i: int, first_use: int) -> set[int]:
        """Return the steps that sink so that step i may, itself among them; none if more would be live than now.

        One array that is read later, though not as late as `first_use`, may stay live instead of the result.
        """
        moved, todo, room = {i}, [i], self.steps[i].results[0].dtype.itemsize
        while todo:
            for maker, slot, itemsize in self._same_size_operands(todo.pop()):
                if slot in self.outputs or self.latest.get(slot, -1) >= first_use:
                    continue  # it is live there without the steps that move
                inside = sum(slot in self.steps[k].reads for k in moved)
                if itemsize <= room and self.placed.get(slot, 0) > (slot in self.steps[i].reads):
                    room = 0
                elif inside < len(self.readers[slot]) or not self._is_movable(maker) or len(moved) == MAX_MOVED:
                    return set()
                else:
                    moved.add(maker)
                    todo.append(maker)
        return moved

    def _same_size_operands(self, i: int) -> Iterator[tuple[int, str, int]]:
        """Yield the maker, the slot and the item size of each computed operand with the shape of the result."""
        step = self.steps[i]
        if not self.ctx.rank(step.results[0]):
            return
        shape = self.ctx.sizes(step.results[0], field="bytes")
        for slot, meta in zip(step.inputs, step.metas, strict=True):
            computed = isinstance(slot, str) and slot in self.maker
            if computed and (shape is None or self.ctx.sizes(meta, field="bytes") == shape):
                yield self.maker[str(slot)], str(slot), meta.dtype.itemsize

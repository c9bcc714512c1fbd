"""Prune conditionals and loops: results that nothing reads leave the subgraphs, and so do operands that none reads.

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

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan
from anyshape.backend.compiler.op_traits import TRAITS, is_observable
from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.backend.compiler.plan import (
    Literal,
    Slot,
    Step,
    add_to_element_op,
    bits_op,
    masked_else_op,
    masked_op,
    read_element_op,
    rest_op,
    write_element_op,
)
from anyshape.graph.ir.dead_code import asserted_sizes, remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import NodeSizes
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr
from anyshape.graph.sizes.symbols import DimVar
from anyshape.ops import movement as mv
from anyshape.ops.control_flow import cond_op
from anyshape.ops.creation import full_op
from anyshape.ops.elementwise import select_op
from anyshape.ops.loops import scan_op
from anyshape.ops.prune_conditionals import PRUNERS, prune_cond
from anyshape.ops.prune_inputs import TOKEN, with_token
from anyshape.ops.prune_loops import prune_unused_scan, with_cheap_element


def prune_branches(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph with no unread result or operand of a conditional or of a loop."""
    if not any(n.op in PRUNERS for n in graph.nodes):
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
    nodes = [n if other.keys().isdisjoint(n.sources) else _with_sources(n, other) for n in graph.nodes]
    return prune_branches(replace(graph, nodes=tuple(nodes)))


def _with_sources(node: Node, other: Mapping[Value, Value]) -> Node:
    return replace(node, sources=tuple([other.get(v, v) for v in node.sources]))


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
    steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, variables: Collection[DimVar]
) -> tuple[list[Step], list[Step]]:
    """Return the steps that depend on sizes over `variables` alone, and the others.

    Steps that make outputs are not hoisted, as cached arrays would have to be copied.
    """
    return _Hoisting(outputs, pass_context(scope, "hoist_shape_only"), variables).run(steps)


class _Hoisting:
    def __init__(self, outputs: Sequence[Slot], ctx: ShapeGuardContext, variables: Collection[DimVar]) -> None:
        self.outputs, self.ctx, self.variables = set(outputs), ctx, variables
        self.hoisted: list[Step] = []
        self.metas: dict[str, TensorMeta] = {}  # of the results of hoisted steps
        self.masks: dict[tuple[Any, ...], str] = {}  # slots of masks as bits, by what defines them

    def run(self, steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
        others: list[Step] = []
        for step in steps:
            if self._is_shape_only(step):
                self._hoist(step)
            else:
                others.append(self._on_bits(step) if step.op is select_op else step)
        return self.hoisted, others

    def _hoist(self, step: Step) -> None:
        self.hoisted.append(step)
        self.metas |= dict(zip(step.outputs, step.results, strict=True))

    def _is_shape_only(self, step: Step) -> bool:
        """Return whether a step reads only literals, hoisted results and bound sizes, and its results have named sizes.

        Steps that the user can observe are not hoisted.
        """
        if not all(isinstance(slot, Literal) or slot in self.metas for slot in step.inputs):
            return False
        if step.op.makes_sizes or step.sources or not self.outputs.isdisjoint(step.outputs) or is_observable(step):
            return False
        sizes = [self.ctx.sizes(m, field="results") for m in step.results]
        return None not in sizes and self._is_bound((*sizes, *step.all_params()))

    def _is_bound(self, param: object) -> bool:
        if isinstance(param, tuple):
            return all(map(self._is_bound, param))
        return not isinstance(param, DimExpr) or all(v in self.variables for v in expr.variables(param))

    def _on_bits(self, step: Step) -> Step:
        """Return a choice between an array and a number by a hoisted mask, with the mask as bits."""
        mask, *sides = step.inputs
        bits = BITS.get(step.results[0].dtype.char)
        numbers = [i for i, side in enumerate(sides) if isinstance(side, Literal)]
        if bits is None or mask not in self.metas or len(numbers) != 1 or not self.ctx.rank(step.metas[0]):
            return step
        array, number = sides[1 - numbers[0]], sides[numbers[0]]
        chosen = self._mask(step, bits_op, (mask,), bits, chosen=numbers == [1])
        masks, op = [chosen], masked_op
        if isinstance(number, Literal) and number.array().view(bits).any():
            masks, op = [chosen, self._mask(step, rest_op, (chosen, number), bits)], masked_else_op
        metas = (step.metas[2 - numbers[0]], *[self.metas[m] for m in masks])
        return replace(step, op=op, inputs=(array, *masks), params=(), metas=metas)

    def _mask(self, step: Step, op: Op, inputs: tuple[Slot, ...], dtype: np.dtype, **params: bool) -> str:
        """Return the slot of a further hoisted step; equal ones are shared."""
        key = op, inputs, dtype, *params.values()
        if key not in self.masks:
            self.masks[key] = slot = plan.mask_slot(len(self.masks))
            metas = tuple([self.metas[i] if isinstance(i, str) else TensorMeta(i.dtype, ()) for i in inputs])
            meta = replace(metas[0], dtype=dtype)
            step_params = params_tuple({"dtype": dtype, **params} if op is bits_op else {})
            self._hoist(Step(op, inputs, step_params, (slot,), metas, (meta,), where=step.where))
        return self.masks[key]


_WRITES = {mv.slice_update_op: write_element_op, mv.slice_add_op: add_to_element_op}


def read_and_write_elements(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the steps with a slice and its reshape to one number, or a reshape and its assignment, as one step."""
    if not any(step.op is mv.slice_op or step.op in _WRITES for step in steps):
        return [*steps]
    ctx = pass_context(scope, "single_elements")
    maker = _read_once(steps, outputs)
    result, merged = list[Step](), set[Slot]()
    for step in steps:
        inner = _inner(step, maker)
        one = None if inner is None else _merged(step, inner, outputs, ctx)
        if inner is not None and one is not None:
            merged.add(inner.outputs[0])
        result.append(one or step)
    return [step for step in result if step.outputs[0] not in merged]


def _read_once(steps: Sequence[Step], outputs: Sequence[Slot]) -> dict[Slot, Step]:
    """Return the slices and reshapes whose result is read once, by their result."""
    uses = Counter([slot for step in steps for slot in step.reads] + [*outputs])
    movement = [step for step in steps if step.op in (mv.slice_op, mv.reshape_op) and not step.sources]
    return {step.outputs[0]: step for step in movement if uses[step.outputs[0]] == 1}


def _inner(step: Step, maker: Mapping[Slot, Step]) -> Step | None:
    """Return the movement whose result a reshape or an assignment reads, if there is one."""
    if step.sources:
        return None
    if step.op is mv.reshape_op:
        return maker.get(step.inputs[0])
    return maker.get(step.inputs[1]) if step.op in _WRITES else None


def _merged(step: Step, inner: Step, outputs: Sequence[Slot], ctx: ShapeGuardContext) -> Step | None:
    """Return a step and the movement before it as one read or write of an element; None where they are more."""
    return _read(step, inner, outputs, ctx) if step.op is mv.reshape_op else _write(step, inner, ctx)


def _read(step: Step, inner: Step, outputs: Sequence[Slot], ctx: ShapeGuardContext) -> Step | None:
    """Return the read of the one element that a slice and its reshape give; None where that is something else."""
    # other numbers of NumPy warn where arrays wrap around
    is_number = not ctx.rank(step.results[0]) and step.results[0].dtype.kind in "fc" and step.outputs[0] not in outputs
    if inner.op is not mv.slice_op or not is_number or not _is_one(inner.results[0], ctx):
        return None
    params = (("starts", dict(inner.params)["starts"]),)
    return replace(step, op=read_element_op, inputs=inner.inputs, metas=inner.metas, params=params)


def _write(step: Step, inner: Step, ctx: ShapeGuardContext) -> Step | None:
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


def sink(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the same steps in another order."""
    return _Sinking(steps, outputs, pass_context(scope, "sink")).run()


class _Sinking:
    """`position` is, for each step, the step that it runs right before, or itself; ties keep their order."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[Slot], ctx: ShapeGuardContext) -> None:
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

    def run(self) -> list[Step]:
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
        first_use = min([self.position[r] for r in readers], default=len(self.steps))
        if first_use > i + 1:
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

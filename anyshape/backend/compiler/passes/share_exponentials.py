"""Expansion of logsumexp into the steps of its definition, where these are shared with other nodes.

Its derivative divides the same exponentials by the same sum. An operand that has its maximum subtracted already, as in
a log_softmax, needs no second subtraction. Values keep the bits of the kernels, and the exponentials take the memory of
an operand that nothing else reads.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext, free_axes
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import full_op

_EXPANDED = (rd.reduce_logsumexp_op, rd.safe_softmax_op)
_Key = tuple[Value, tuple[int, ...]]  # an operand, and the axes of sums
_Makers = Mapping[Value, Node]


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
    makers = {v: n for n in graph.nodes for v in n.outputs}
    ctx = pass_context(pass_scope(graph), "share_exponentials")
    ops = Counter([key for key, _ in {(_key(n), n.op) for n in nodes}])
    shifted = {key for key in ops if _maximum_is_subtracted(ctx, *key, makers)}
    return {key: _Exponentials(ctx, *key, key in shifted) for key in ops if ops[key] > 1 or key in shifted}


def _key(node: Node) -> _Key:
    return node.inputs[0], dict(node.params)["axes"]


class _Exponentials:
    """Exponentials of one operand and their sum: what the nodes that read them share."""

    powers: Value
    total: Value  # 1 in place of 0
    is_zero: Value
    top: Value | None
    x: Value

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

    def _add(
        self, op: Op, inputs: tuple[Value, ...], meta: TensorMeta, result: Value | None = None, **params: Any
    ) -> Value:
        output = Value(meta) if result is None else result
        self.nodes.append(Node(op, inputs, (), params_tuple(params), (output,), self.where))
        return output

    def _like(self, op: Op, inputs: tuple[Value, ...], like: Value, **params: Any) -> Value:
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


def _maximum_is_subtracted(
    ctx: ShapeGuardContext, x: Value, axes: tuple[int, ...], makers: Mapping[Value, Node]
) -> bool:
    """Return whether x is an array less its maximum along the axes, with 0 for a maximum that is not finite.

    Its own maximum is 0 then, or not finite.
    """
    difference = _made_by(ew.sub_op, x, makers)
    top = None if difference is None else _unrepeated(ctx, difference.inputs[1], axes, makers)
    choice = _made_by(ew.select_op, top, makers)
    if difference is None or choice is None:
        return False
    is_finite, largest, other = choice.inputs
    test, fill = _made_by(ew.isfinite_op, is_finite, makers), _made_by(full_op, other, makers)
    maximum = _made_by(rd.reduce_max_op, largest, makers)
    if test is None or fill is None or maximum is None:
        return False
    computed = test.inputs, dict(fill.params)["value"], maximum.inputs, dict(maximum.params)["axes"]
    return computed == ((largest,), 0, difference.inputs[:1], axes)


def _unrepeated(
    ctx: ShapeGuardContext, value: Value, axes: tuple[int, ...], makers: Mapping[Value, Node]
) -> Value | None:
    """Return the reduced array that is repeated along the axes; None where the value is something else."""
    repeated, rank = _made_by(mv.broadcast_in_dim_op, value, makers), ctx.rank(value)
    if repeated is None:
        return None
    (reduced,), target = repeated.inputs, dict(repeated.params)["axes"]
    if target == free_axes(rank, axes):
        return reduced
    reshaped = _made_by(mv.reshape_op, reduced, makers)
    if reshaped is None or target != tuple(range(rank)) or any(ctx.extent(reduced, a) != Exact(1) for a in axes):
        return None
    return reshaped.inputs[0]


def _made_by(op: Op, value: Value | None, makers: _Makers) -> Node | None:
    """Return the node that makes the value, if it applies this op."""
    node = None if value is None else makers.get(value)
    return node if node is not None and node.op is op else None

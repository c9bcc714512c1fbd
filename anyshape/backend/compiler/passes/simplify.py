"""Simplification: one walk that applies identities, folds literals and merges common subexpressions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.identities import Replacement
from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import NodeSizes
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.creation import full_op
from anyshape.support.freezing import freeze
from anyshape.support.progress import count_op

MAX_ROUNDS = 8  # identities that feed each other, such as a transpose of a stretched literal, end well before


def simplify(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Apply the identities of every op and merge equal nodes. `reliance_log` records the size queries."""
    return Simplifier(graph, reliance_log).run()


class Simplifier:
    """Walks a graph and builds the simplified one. Identities ask it about values."""

    def __init__(self, graph: Graph, reliance_log: list[Any] | None = None) -> None:
        self.graph = graph
        self.scope: Scope = pass_scope(graph, reliance_log)
        self.ctx: ShapeGuardContext = pass_context(self.scope, "simplify")
        self.node_sizes: NodeSizes = NodeSizes(graph, self.ctx)
        self.replacement: dict[Value, Value] = {}
        self.producer: dict[Value, Node] = {}
        self.node_by_key: dict[Any, Node] = {}
        self.nodes: list[Node] = []
        self.uses: Counter[Value] = Counter([*[v for n in graph.nodes for v in n.inputs], *graph.outputs])

    def run(self) -> Graph:
        for node in self.graph.nodes:
            count_op()
            self._visit(self._renewed(node))
        return replace(self.graph, nodes=tuple(self.nodes), outputs=self._current(self.graph.outputs))

    def _renewed(self, node: Node) -> Node:
        """Return the node over values that replace its operands; most nodes stay as they are."""
        if self.replacement.keys().isdisjoint(node.operands):
            return node
        return replace(node, inputs=self._current(node.inputs), sources=self._current(node.sources))

    def _current(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([self.replacement.get(v, v) for v in values])

    def visit(self, node: Node) -> Value:
        """Add a node whose metadata are known, and return the value of its output."""
        self._visit(node)
        return self.replacement.get(node.outputs[0], node.outputs[0])

    def _visit(self, node: Node) -> None:
        for _ in range(MAX_ROUNDS):
            simpler = self._simpler(node)
            if isinstance(simpler, Value):
                self.replacement[node.outputs[0]] = simpler
                return
            if simpler is None:
                break
            node = simpler
        key = id(node) if node.op.makes_sizes else self._key(node)  # run-time sizes keep their names
        earlier = self.node_by_key.setdefault(key, node)
        if earlier is not node:
            self.replacement.update(zip(node.outputs, earlier.outputs, strict=True))
            return
        self.producer.update(dict.fromkeys(node.outputs, node))
        self.nodes.append(node)

    def _simpler(self, node: Node) -> Replacement:
        if len(node.outputs) > 1:
            return None
        traits = TRAITS[node.op]
        for identity in traits.algebra.identities:
            replacement: Replacement = identity(self, node)
            if replacement is not None:
                return replacement
        if traits.elementwise:
            folded = self._fold(node)
            return folded if folded is not None else self._before_stretch(node)
        return None

    def _key(self, node: Node) -> Any:
        """Return a key that nodes of the same computation share: sizes are named, whichever operand they come from."""
        unnamed = tuple([(i, v) for i, v in enumerate(node.sources) if self.ctx.sizes(v, field="key") is None])
        commutative = TRAITS[node.op].algebra.commutative
        inputs = tuple(sorted(node.inputs, key=lambda v: v.id)) if commutative else node.inputs
        return node.op, inputs, unnamed, freeze(self.node_sizes.params(node))

    # -- queries and constructors for identities

    def made_by(self, value: Value, op: Op) -> Node | None:
        """Return the node that computes a value, if it applies this op."""
        node = self.producer.get(value)
        return node if node is not None and node.op is op else None

    def literal(self, value: Value) -> Any:
        """Return the number that fills a value, or None."""
        node = self.producer.get(value)
        return dict(node.params)["value"] if node is not None and node.op is full_op else None

    def emit(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], meta: TensorMeta, where: Any) -> Value:
        """Add a node and return its output, which has these metadata."""
        return self.visit(Node(op, inputs, (), params_tuple(params), (Value(meta),), where))

    def with_shape(self, node: Node, op: Op, x: Value, sizes: tuple[Size, ...], **params: Any) -> Node:
        """Return a node that computes the output of `node` as `op` of x, with value-side sizes as its shape."""
        sources = [x]
        shape = self.node_sizes.localise(sizes, sources)
        return Node(op, (x,), tuple(sources[1:]), params_tuple({"shape": shape, **params}), node.outputs, node.where)

    def full(self, node: Node, value: Any) -> Node | None:
        """Return the output of a node as an array filled with a number; None when its sizes have no name."""
        sizes = self.ctx.sizes(node.outputs[0], field="fill")
        if sizes is None:
            return None
        sources: list[Value] = []
        shape = self.node_sizes.localise(sizes, sources)
        params = params_tuple({"value": value, "dtype": node.outputs[0].meta.dtype, "shape": shape})
        return Node(full_op, (), tuple(sources), params, node.outputs, node.where)

    # -- elementwise ops

    def _fold(self, node: Node) -> Replacement:
        """Fold an elementwise op on literals, unless it fails: then it fails where it runs, with a message."""
        literals = [self.literal(v) for v in node.inputs]
        if any(x is None for x in literals):
            return None
        arrays = [np.array(x, v.meta.dtype) for x, v in zip(literals, node.inputs, strict=True)]
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(KERNELS[node.op].run(*arrays, **dict(node.params)))
        except (ArithmeticError, ValueError):
            return None
        return self.full(node, result.item())

    def _before_stretch(self, node: Node) -> Replacement:
        """op(stretch(x)) = stretch(op(x)), on fewer elements.

        Where the result may be empty and x not, the op must never warn.
        """
        if len(node.inputs) != 1 or node.sources:
            return None
        stretch = self.made_by(node.inputs[0], mv.broadcast_in_dim_op)
        sizes = self.ctx.sizes(node.outputs[0], field="stretch") if stretch is not None else None
        if stretch is None or sizes is None:
            return None
        silent = TRAITS[node.op].algebra.silent
        if not silent and not all(self.scope.proves(at_least(size, 1)) for size in sizes):
            return None
        (x,) = stretch.inputs
        meta = TensorMeta(node.outputs[0].meta.dtype, self.ctx.extents(x))
        unstretched = self.emit(node.op, (x,), dict(node.params), meta, node.where)
        return self.with_shape(node, mv.broadcast_in_dim_op, unstretched, sizes, axes=dict(stretch.params)["axes"])

"""Products of several operands become contractions of two, in an order that is chosen here.

The order is given, for the sizes of a call, or is that which is best for usual sizes. A contraction that the products
of a program have in common, of what goes forward and of its derivatives, is merged by the rewriting that follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.contraction import dot_general_op, einsum_op, terms_of
from anyshape.ops.contraction_order import Path, chosen
from anyshape.ops.movement import transpose_op

Labelled = tuple[Value, str]


def einsum_nodes(graph: Graph) -> list[Node]:
    """The products of several operands."""
    return [node for node in graph.nodes if node.op is einsum_op]


def labelled_sizes(ctx: ShapeGuardContext, node: Node) -> dict[str, Size]:
    """The size of each label of a product."""
    terms, _ = terms_of(dict(node.params)["equation"])
    sizes = [ctx.shape(v, field="labels") for v in node.inputs]
    return {label: size for labels, shape in zip(terms, sizes, strict=True) for label, size in zip(labels, shape)}


def default_path(ctx: ShapeGuardContext, node: Node) -> Path:
    """The order that is best for usual sizes."""
    terms, out = terms_of(dict(node.params)["equation"])
    return chosen(ctx, terms, out, labelled_sizes(ctx, node)).path


def to_pairs(graph: Graph, orders: Mapping[Value, Path] | None = None) -> Graph:
    """The graph with contractions of two operands; `orders` by what products give, others in the usual order."""
    if not einsum_nodes(graph):
        return graph
    ctx = ShapeGuardContext(Scope(conditions=graph.conditions), "to_pairs", rule="pass")
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.op is not einsum_op:
            nodes.append(node)
            continue
        path = (orders or {}).get(node.outputs[0]) or default_path(ctx, node)
        nodes += _Pairs(ctx, node).run(path)
    return replace(graph, nodes=tuple(nodes))


class _Pairs:
    """The nodes in place of a product."""

    def __init__(self, ctx: ShapeGuardContext, node: Node) -> None:
        terms, self.out = terms_of(dict(node.params)["equation"])
        self.ctx, self.node, self.nodes = ctx, node, list[Node]()
        self.left: list[Labelled] = list(zip(node.inputs, terms, strict=True))

    def run(self, path: Path) -> list[Node]:
        for i, j in path:
            second, first = self.left.pop(j), self.left.pop(i)
            self.left.insert(i, self._pair(first, second))
        (value, labels), end = self.left[0], self.node.outputs[0]
        if labels == self.out:
            self.nodes[-1] = replace(self.nodes[-1], outputs=(end,))
        else:
            self._add(transpose_op, (value,), {"axes": tuple([labels.index(a) for a in self.out])}, end)
        return self.nodes

    def _pair(self, first: Labelled, second: Labelled) -> Labelled:
        (x, left), (y, right) = first, second
        needed = {*self.out, *"".join(labels for _, labels in self.left)}
        shared = [a for a in left if a in right]
        batch, summed = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        axes: Callable[[list[str]], Any] = lambda found: tuple([tuple(map(t.index, found)) for t in (left, right)])
        value = self._add(dot_general_op, (x, y), {"contract": axes(summed), "batch": axes(batch)})
        free = [a for labels in (left, right) for a in labels if a not in shared]
        return value, "".join([*batch, *free])

    def _add(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], end: Value | None = None) -> Value:
        meta = op.infer(self.ctx, *[v.meta for v in inputs], **params)
        assert isinstance(meta, TensorMeta)
        value = Value(meta) if end is None else end
        self.nodes.append(Node(op, inputs, (), params_tuple(params), (value,), self.node.where))
        return value

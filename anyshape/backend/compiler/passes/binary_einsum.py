"""Products of several operands become contractions of two, along a contraction path.

The path is given for the sizes of a call, or is the cheapest for default sizes. Simplification, which follows, merges
contractions that several products have in common, in the forward part and in derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.contraction import dot_general_op, einsum_op, terms_of
from anyshape.ops.core.contraction_order import Path, choose_path
from anyshape.ops.movement import transpose_op

Labelled = tuple[Value, str]  # an operand and the labels of its axes


def einsum_nodes(graph: Graph) -> list[Node]:
    """Return the products of several operands."""
    return [node for node in graph.nodes if node.op is einsum_op]


def labelled_sizes(ctx: ShapeGuardContext, node: Node) -> dict[str, Size]:
    """Return the size of each label of a product."""
    terms, _ = terms_of(dict(node.params)["equation"])
    sizes = [ctx.shape(v, field="labels") for v in node.inputs]
    return {label: size for labels, shape in zip(terms, sizes, strict=True) for label, size in zip(labels, shape)}


def default_path(ctx: ShapeGuardContext, node: Node) -> Path:
    """Return the contraction path that is cheapest for default sizes."""
    terms, out = terms_of(dict(node.params)["equation"])
    return choose_path(ctx, terms, out, labelled_sizes(ctx, node)).path


def to_pairs(graph: Graph, paths: Mapping[Value, Path] | None = None) -> Graph:
    """Return the graph with contractions of two operands; `paths` are by result, and by default the default paths."""
    if not einsum_nodes(graph):
        return graph
    ctx = pass_context(pass_scope(graph), "binary_einsum")
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.op is not einsum_op:
            nodes.append(node)
            continue
        path = (paths or {}).get(node.outputs[0]) or default_path(ctx, node)
        nodes += _Pairs(ctx, node).along(path)
    return replace(graph, nodes=tuple(nodes))


class _Pairs:
    """Builds the nodes that replace a product."""

    def __init__(self, ctx: ShapeGuardContext, node: Node) -> None:
        terms, self.out = terms_of(dict(node.params)["equation"])
        self.ctx, self.node, self.nodes = ctx, node, list[Node]()
        self.left: list[Labelled] = list(zip(node.inputs, terms, strict=True))

    def along(self, path: Path) -> list[Node]:
        """Return the nodes that contract the operands along a path."""
        for i, j in path:
            second, first = self.left.pop(j), self.left.pop(i)
            self.left.insert(i, self._pair(first, second))
        (value, labels), result = self.left[0], self.node.outputs[0]
        if labels == self.out:
            self.nodes[-1] = replace(self.nodes[-1], outputs=(result,))
        else:
            self._add(transpose_op, (value,), {"axes": tuple([labels.index(a) for a in self.out])}, result)
        return self.nodes

    def _pair(self, first: Labelled, second: Labelled) -> Labelled:
        """Contract two operands over the labels that nothing else has."""
        (x, left), (y, right) = first, second
        needed = {*self.out, *"".join(labels for _, labels in self.left)}
        shared = [a for a in left if a in right]
        batch, summed = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        params = {"contract": _axes(summed, left, right), "batch": _axes(batch, left, right)}
        value = self._add(dot_general_op, (x, y), params)
        free = [a for labels in (left, right) for a in labels if a not in shared]
        return value, "".join([*batch, *free])

    def _add(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], output: Value | None = None) -> Value:
        meta = op.infer(self.ctx, *[v.meta for v in inputs], **params)
        assert isinstance(meta, TensorMeta)
        value = Value(meta) if output is None else output
        self.nodes.append(Node(op, inputs, (), params_tuple(params), (value,), self.node.where))
        return value


def _axes(labels: Sequence[str], left: str, right: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the axes of both operands that have these labels."""
    return tuple(map(left.index, labels)), tuple(map(right.index, labels))

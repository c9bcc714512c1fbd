"""Batching: replay a graph with one more axis, the first, on the values that carry the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.autodiff.forward import replay_node, start
from anyshape.autodiff.tables import find_batcher
from anyshape.graph.builder import Builder, Traced, at_line
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.ir import Graph, Node, Value


def batch(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], batched: Sequence[bool], size: Size
) -> list[tuple[Traced, bool]]:
    """Each output with whether it carries the batch. Batched values have the batch, of this size, as their first axis."""
    env = start(builder, graph, inputs)
    carrying = {v for v, b in zip(graph.inputs, batched, strict=True) if b}
    for node in graph.nodes:
        with at_line(builder, node.where):
            if carrying.isdisjoint(node.inputs):
                _replay_unbatched(builder, node, env)
            else:
                _batch_node(builder, node, env, carrying, size)
    return [(env[v], v in carrying) for v in graph.outputs]


def _replay_unbatched(builder: Builder, node: Node, env: dict[Value, Any]) -> None:
    """A node whose operands carry no batch. Its sources may, so it is applied again by its sizes' names."""
    if not node.sources:
        replay_node(builder, node, env)
        return
    raise NotImplementedError


def _batch_node(builder: Builder, node: Node, env: dict[Value, Any], carrying: set[Value], size: Size) -> None:
    rule = find_batcher(node.op)
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands])
    params = {name: context.bind(p, field=name) for name, p in node.params}
    flags = [v in carrying for v in node.inputs]
    result = rule(context, size, flags, *[env[v] for v in node.inputs], **params)
    for value, out in zip(node.outputs, result if len(node.outputs) > 1 else (result,), strict=True):
        env[value] = out
        carrying.add(value)

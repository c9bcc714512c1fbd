"""Forward mode: replay a graph into the active one and add the tangent of each node beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.tables import find_jvp
from anyshape.graph.builder import Builder, Traced, at_line
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.ir import Graph, Node, Value
from anyshape.ops.core import apply_all


def has_tangent(dtype: np.dtype) -> bool:
    """Integers and booleans have no tangent."""
    return dtype.kind in "fc"


def replay_node(builder: Builder, node: Node, env: dict[Value, Any]) -> tuple[Any, ...]:
    """Emit the node again, on the values that stand for its operands."""
    inputs = [env[v] for v in node.inputs]
    sources = [env[v] for v in node.sources]
    outputs = apply_all(node.op, *inputs, sources=sources, **dict(node.params))
    env.update(zip(node.outputs, outputs, strict=True))
    return outputs


def start(builder: Builder, graph: Graph, inputs: Sequence[Any]) -> dict[Value, Any]:
    """The environment of a replay: inputs and constants."""
    env: dict[Value, Any] = dict(zip(graph.inputs, inputs, strict=True))
    for value, array in graph.constants:
        env[value] = builder.constant(array)
    return env


def inline(builder: Builder, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """Replay a graph; the values of its outputs."""
    env = start(builder, graph, inputs)
    for node in graph.nodes:
        with at_line(builder, node.where):
            replay_node(builder, node, env)
    return [env[v] for v in graph.outputs]


def push(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], tangents: Sequence[Traced | None]
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents; the values and the tangents (None: zero) of its outputs.

    Tangents may live in a graph inside the builder's; then only what is linear in them is emitted there.
    """
    env = start(builder, graph, inputs)
    slopes: dict[Value, Any] = {v: t for v, t in zip(graph.inputs, tangents, strict=True) if t is not None}
    for node in graph.nodes:
        with at_line(builder, node.where):
            outputs = replay_node(builder, node, env)
            ts = [slopes.get(v) for v in node.inputs]
            if any(t is not None for t in ts):
                _push_node(builder, node, env, ts, outputs, slopes)
    return [env[v] for v in graph.outputs], [slopes.get(v) for v in graph.outputs]


def _push_node(
    builder: Builder,
    node: Node,
    env: dict[Value, Any],
    tangents: list[Any],
    outputs: tuple[Any, ...],
    slopes: dict[Value, Any],
) -> None:
    rule = find_jvp(node.op)
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands])
    params = dict(node.params)
    if node.sources:
        params["sources"] = [env[v] for v in node.sources]
    many = len(outputs) > 1
    result = rule(context, tangents, outputs if many else outputs[0], *[env[v] for v in node.inputs], **params)
    for value, t in zip(node.outputs, result if many else (result,), strict=True):
        if t is not None and has_tangent(value.meta.dtype):
            slopes[value] = t

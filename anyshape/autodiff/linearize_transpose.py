"""Reverse mode: linearise (forward mode whose tangents live in a graph of their own), then transpose that graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.autodiff.jvp import Replay, push, replay_node, start
from anyshape.autodiff.remat_checkpoint import in_order, recomputing
from anyshape.autodiff.rule_tables import Linear, add_tangents, find_transpose
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.shapes.shape_context import ShapeGuardContext


@dataclass(frozen=True, slots=True)
class LinearMap:
    """The derivative at a point: a graph that is linear in its first inputs, the tangents; the rest are residuals.

    `live` tells for each tangent output of the function which output of the graph it is; None: zero.
    """

    graph: Graph
    tangent_count: int
    residuals: tuple[Traced, ...]
    live: tuple[int | None, ...]


def linearise(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], wrt: Sequence[int]
) -> tuple[list[Any], LinearMap]:
    """The outputs of `graph` at `inputs`, emitted into `builder`, and its derivative in the inputs `wrt`."""
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    tangents: list[Traced | None] = [None] * len(inputs)
    for i in wrt:
        tangents[i] = inner.input(inputs[i].meta)
    outputs, slopes = push(builder, graph, inputs, tangents)
    found = [t for t in slopes if t is not None]
    linear_graph = inner.finish(found, graph.name)
    order = iter(range(len(found)))
    live = tuple([None if t is None else next(order) for t in slopes])
    linear_graph, residuals = recomputing(builder, linear_graph, len(wrt), inner.captures())
    return outputs, LinearMap(linear_graph, len(wrt), residuals, live)


def transpose(
    builder: Builder, graph: Graph, linear_count: int, residuals: Sequence[Traced], cotangents: Sequence[Traced | None]
) -> list[Any]:
    """The cotangents (None: zero) of the first `linear_count` inputs of a graph that is linear in them.

    What else the graph computes is computed just before it is needed.
    """
    linear = set(graph.inputs[:linear_count])
    env = start(builder, graph, [*[None] * linear_count, *residuals])
    known: dict[Value, Node] = {}
    for node in graph.nodes:
        if linear.isdisjoint(node.inputs):
            known.update(dict.fromkeys(node.outputs, node))
        else:
            linear.update(node.outputs)
    # sizes that the known part makes of data are other ones here: types of linear values are in terms of these
    _make(builder, [value for value, _ in graph.runtime.values() if value in known], known, env)
    collected: dict[Value, Any] = {}
    for value, ct in zip(graph.outputs, cotangents, strict=True):
        if ct is not None and value in linear:
            collected[value] = add_tangents(collected.get(value), ct)
    for node in reversed(graph.nodes):
        if not linear.isdisjoint(node.inputs) and any(v in collected for v in node.outputs):
            _make(builder, node.operands, known, env)
            with at_line(builder, node.where):
                _pull_node(builder, node, env, linear, collected)
    return [collected.get(v) for v in graph.inputs[:linear_count]]


def _make(builder: Builder, wanted: Sequence[Value], known: Mapping[Value, Node], env: Replay) -> None:
    """Have these values, as far as they are computed by known nodes."""
    for value in in_order(wanted, lambda v: known[v].operands if v in known and v not in env else None):
        if value not in env:  # as another result of its node
            with at_line(builder, known[value].where):
                replay_node(builder, known[value], env)


def _pull_node(builder: Builder, node: Node, env: Replay, linear: set[Value], collected: dict[Value, Any]) -> None:
    rule = find_transpose(node.op)
    metas = [env.present_meta(v.meta) for v in node.operands]
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, metas, "transpose")
    inputs = [Linear(meta) if v in linear else env[v] for v, meta in zip(node.inputs, metas, strict=False)]
    cts = [collected.pop(v, None) for v in node.outputs]
    params = dict(node.params)
    if node.sources:
        params["sources"] = [env.get(v, Linear(env.present_meta(v.meta))) for v in node.sources]
    result = rule(context, cts if len(cts) > 1 else cts[0], *inputs, **params)
    for value, ct in zip(node.inputs, result, strict=True):
        if ct is None:
            continue
        if value not in linear:
            raise AnyshapeError(f"{node.op}: its transpose gave a cotangent to a constant input\n  fix the rule")
        collected[value] = add_tangents(collected.get(value), ct)

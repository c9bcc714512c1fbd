"""Hoist the nodes that compute a size which no trip of a loop changes: results of trips may then have this size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.builder import active, at_line
from anyshape.graph.ir.dead_code import refusals
from anyshape.graph.ir.graph import Graph, Node, Value, raises
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.packages import graph_replay
from anyshape.tracing.trace import as_value

Subgraphs = tuple[Graph, ...]


def sizes_ahead(
    graphs: Subgraphs, own: Sequence[TensorMeta], further: list[Any], names: Sequence[str], carries: int
) -> tuple[Subgraphs, list[Any]]:
    """Return the subgraphs of a loop, the body last, and the operands behind inputs of these types.

    Nodes of the body that give a run-time size of a result of trips are emitted before the loop. They read captured
    values alone and refuse none.
    """
    builder, body = active(), graphs[-1]
    steps = _steps_ahead(body, len(own), carries) if body.runtime else ()
    if not steps or builder is None:
        return graphs, further
    operands = [*map(as_value, further)]
    ahead = graph_replay.begin_replay(builder, body, [*[None] * len(own), *operands])
    for node in steps:
        with at_line(builder, node.where):
            graph_replay.replay_node(builder, node, ahead)
    made = {node: [ahead[v] for v in node.outputs] for node in steps if node.op.makes_sizes}

    def again(graph: Graph) -> Any:
        return lambda *inputs: _replayed(graph, [*inputs, *operands], made)

    return trace_subgraphs([again(graph) for graph in graphs], own, names)


def _replayed(graph: Graph, inputs: Sequence[Any], made: dict[Node, list[Any]]) -> list[Any]:
    """Replay a subgraph in the active trace, with values that were made before it."""
    builder = active()
    assert builder is not None  # a subgraph is traced in a trace
    env = graph_replay.begin_replay(builder, graph, inputs)
    for node in graph.nodes:
        with at_line(builder, node.where):
            if node in made:
                env.update(zip(node.outputs, made[node], strict=True))
                env.record_outputs(builder, node)
            else:
                graph_replay.replay_node(builder, node, env)
    return [env[v] for v in graph.outputs]


def _steps_ahead(body: Graph, own: int, carries: int) -> list[Node]:
    """Return the nodes that give the run-time sizes of results of trips and do not depend on the inputs of a trip."""
    wanted, needed = _with_sizes_of_results(body, carries), list[Node]()
    for node in reversed(_constant_steps(body, own)):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.operands)
            needed.append(node)
    return needed[::-1]


def _with_sizes_of_results(body: Graph, carries: int) -> set[Value]:
    """Return the values that have the run-time sizes of results of trips."""
    extents = [e for y in body.outputs[carries:] for e in y.meta.extents if isinstance(e, Exact)]
    named = {v for extent in extents for v in expr.variables(extent.size)}
    return {body.runtime[v][0] for v in named if v in body.runtime}


def _constant_steps(body: Graph, own: int) -> list[Node]:
    """Return the nodes that read captured values alone and refuse none."""
    constant, steps = {*body.inputs[own:]}, list[Node]()
    for node in body.nodes:
        if constant.issuperset(node.operands) and not raises(node) and not refusals(node):
            constant.update(node.outputs)
            steps.append(node)
    return steps

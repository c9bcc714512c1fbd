"""Dead code elimination: keep the nodes that outputs and conditions need, as NumPy would raise for dead code too."""

from __future__ import annotations

from dataclasses import replace

from anyshape.graph.ir.graph import Graph, Value, raises


def asserted_values(graph: Graph) -> set[Value]:
    """Return the values that must be computed for a check: of a run-time size, or by an op that raises."""
    return _asserted_sizes(graph) | {v for n in graph.nodes if raises(n) for v in n.outputs}


def _asserted_sizes(graph: Graph) -> set[Value]:
    """Return the values that have a run-time size of an assertion."""
    claims = [c.claim for c in graph.conditions if c.kind == "assertion"] if graph.runtime else []
    return {graph.runtime[v][0] for claim in claims for v in claim.variables() if v in graph.runtime}


def remove_dead_code(graph: Graph) -> Graph:
    """Return the graph without nodes that no output needs, and without constants that no node reads."""
    live: set[Value] = {*graph.outputs, *_asserted_sizes(graph)}
    nodes = []
    for node in reversed(graph.nodes):
        if not live.isdisjoint(node.outputs) or raises(node):
            nodes.append(node)
            live.update(node.operands)
    constants = tuple([(v, a) for v, a in graph.constants if v in live])
    return replace(graph, nodes=tuple(reversed(nodes)), constants=constants)

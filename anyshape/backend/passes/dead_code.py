"""Dead code elimination: keep what the outputs need. Conditions stay: NumPy would raise for dead code too."""

from __future__ import annotations

from dataclasses import replace

from anyshape.graph.ir import Graph, Value


def remove_dead_code(graph: Graph) -> Graph:
    """The graph without nodes that no output needs, and without constants that no node reads."""
    live: set[Value] = set(graph.outputs)
    kept = []
    for node in reversed(graph.nodes):
        if not live.isdisjoint(node.outputs):
            kept.append(node)
            live.update(node.operands)
    constants = tuple((v, a) for v, a in graph.constants if v in live)
    return replace(graph, nodes=tuple(reversed(kept)), constants=constants)

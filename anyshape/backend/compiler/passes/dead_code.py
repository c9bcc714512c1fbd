"""Dead code elimination: keep what the outputs and the conditions need: NumPy would raise for dead code too."""

from __future__ import annotations

from dataclasses import replace

from anyshape.graph.ir.graph import Graph, Value


def asserted(graph: Graph) -> set[Value]:
    """The values that are asserted something of: of their sizes, which depend on data, or by an op that checks them."""
    claims = [c.claim for c in graph.conditions if c.kind == "assertion"] if graph.runtime else []
    sized = {graph.runtime[v][0] for claim in claims for v in claim.variables() if v in graph.runtime}
    return sized | {v for n in graph.nodes if n.op.raises for v in n.outputs}


def remove_dead_code(graph: Graph) -> Graph:
    """The graph without nodes that no output needs, and without constants that no node reads."""
    live: set[Value] = {*graph.outputs, *asserted(graph)}
    kept = []
    for node in reversed(graph.nodes):
        if not live.isdisjoint(node.outputs):
            kept.append(node)
            live.update(node.operands)
    constants = tuple((v, a) for v, a in graph.constants if v in live)
    return replace(graph, nodes=tuple(reversed(kept)), constants=constants)

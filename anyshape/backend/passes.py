"""Passes: graph to graph, the same results with less work."""

from __future__ import annotations

from anyshape.graph.ir import Graph


def simplify(graph: Graph) -> Graph:
    """All passes in order."""
    return graph

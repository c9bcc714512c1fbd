"""Passes: graph to graph, the same results with less work. `simplify` runs them in order."""

from __future__ import annotations

from anyshape.backend.passes.dead_code import remove_dead_code
from anyshape.backend.passes.rewrite import rewrite
from anyshape.graph.ir import Graph

__all__ = ["remove_dead_code", "rewrite", "simplify"]


def simplify(graph: Graph) -> Graph:
    """The graph without dead code, repeated computations, foldable constants and operations that do nothing."""
    return remove_dead_code(rewrite(remove_dead_code(graph)))

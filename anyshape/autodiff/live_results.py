"""Leave out of a linear graph what its results of interest do not need, before it is transposed.

A carry of a loop that no such result depends on has no cotangent. Zeros that would stand for one are numbers, and an
infinite slope in the loop would make them NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyshape.graph.ir.graph import Graph, Node
from anyshape.ops.prune_loops import LOOP_PRUNERS


def with_live_loops(graph: Graph, live: Sequence[bool]) -> Graph:
    """Return a graph whose loops have the results alone that the live outputs need; outputs that are not live stay."""
    if not any(node.op in LOOP_PRUNERS for node in graph.nodes):
        return graph
    ends = [v for v, flag in zip(graph.outputs, live, strict=True) if flag]
    return replace(_pruned(replace(graph, outputs=tuple(ends))), outputs=graph.outputs)


def _pruned(graph: Graph) -> Graph:
    """Return a graph without nodes and results of loops that nothing reads.

    What they refuse is refused where the values are computed, which a graph of tangents follows.
    """
    read = {*graph.outputs, *[value for value, _ in graph.runtime.values()]}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        live = [v in read for v in node.outputs]
        if any(live):
            node = LOOP_PRUNERS[node.op](node, live, _pruned) if node.op in LOOP_PRUNERS else node
            read.update(node.operands)
            nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)))

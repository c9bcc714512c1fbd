"""Leave out of a linear graph what its results of interest do not need, before it is transposed.

A carry of a loop that no such result depends on has no cotangent, nor has such a result of a conditional. Zeros that
would stand for one are numbers, and an infinite slope would make them NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyshape.graph.ir.graph import Graph, Node
from anyshape.ops.prune_conditionals import PRUNERS


def with_live_results(graph: Graph, live: Sequence[bool]) -> Graph:
    """Return a graph whose loops and conditionals give no more than the live outputs need.

    Outputs that are not live stay, and may have no node any more.
    """
    if not any(node.op in PRUNERS for node in graph.nodes):
        return graph
    ends = [v for v, flag in zip(graph.outputs, live, strict=True) if flag]
    return replace(_pruned(replace(graph, outputs=tuple(ends))), outputs=graph.outputs)


def _pruned(graph: Graph) -> Graph:
    """Return a graph without nodes and results of loops and conditionals that nothing reads.

    What they refuse is refused where the values are computed, which a graph of tangents follows.
    """
    read = {*graph.outputs, *[value for value, _ in graph.runtime.values()]}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        live = [v in read for v in node.outputs]
        if any(live):
            node = PRUNERS[node.op](node, live, _pruned) if node.op in PRUNERS else node
            read.update(node.operands)
            nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)))

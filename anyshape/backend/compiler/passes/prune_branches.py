"""Prune conditionals and loops: results that nothing reads leave the subgraphs, and so do operands that none reads.

A derivative keeps neither a value that it does not need, nor an operand alive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.dead_code import asserted_sizes, remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.ops.control_flow import cond_op
from anyshape.ops.loops import scan_op
from anyshape.ops.prune_conditionals import PRUNERS, prune_cond
from anyshape.ops.prune_inputs import TOKEN, with_token
from anyshape.ops.prune_loops import prune_unused_scan


def prune_branches(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph with no unread result or operand of a conditional or of a loop."""
    if not any(n.op in PRUNERS for n in graph.nodes):
        return graph
    read = {*graph.outputs, *asserted_sizes(graph)}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        new = [node]
        live = [v in read for v in node.outputs]
        if node.op is cond_op and not any(live):
            new = [prune_cond(_with_token(node), [True], prune_branches)]
        elif node.op is scan_op and not any(live):
            new = prune_unused_scan(node, prune_branches, pass_context(pass_scope(graph, reliance_log), "prune_loops"))
        elif node.op in PRUNERS:
            new = [PRUNERS[node.op](node, live, prune_branches)]
        nodes += reversed(new)
        read.update([v for n in new for v in n.operands])
    return replace(graph, nodes=tuple(reversed(nodes)))


def _with_token(node: Node) -> Node:
    """Return a conditional that runs for what it refuses alone."""
    branches = [remove_dead_code(with_token(g)) for g in dict(node.params)["branches"]]
    return replace(node, params=params_tuple({"branches": tuple(branches)}), outputs=(Value(TOKEN),))

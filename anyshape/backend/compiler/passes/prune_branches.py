"""Prune conditionals and loops: results that nothing reads leave the subgraphs, and so do operands that none reads.

A derivative keeps neither a value that it does not need, nor an operand alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.dead_code import asserted_sizes, remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.graph.ir.op_local import NodeSizes
from anyshape.graph.shapes.array_type import tensor
from anyshape.ops.control_flow import cond_op
from anyshape.ops.creation import full_op
from anyshape.ops.loops import scan_op
from anyshape.ops.prune_conditionals import PRUNERS, prune_cond
from anyshape.ops.prune_inputs import TOKEN, with_token
from anyshape.ops.prune_loops import prune_unused_scan, with_cheap_element


def prune_branches(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph with no unread result or operand of a conditional or of a loop."""
    if not any(n.op in PRUNERS for n in graph.nodes):
        return graph
    read = {*graph.outputs, *asserted_sizes(graph)}
    sizes = NodeSizes(graph, pass_context(pass_scope(graph, reliance_log), "prune_loops"))
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        new = _pruned(node, [v in read for v in node.outputs], sizes)
        nodes += reversed(new)
        read.update([v for n in new for v in n.operands])
    return replace(graph, nodes=tuple(reversed(nodes)))


def _pruned(node: Node, live: Sequence[bool], sizes: NodeSizes) -> list[Node]:
    """Return the nodes in place of one with these live results."""
    new = [node]
    if node.op is cond_op and not any(live):
        new = [prune_cond(_with_token(node), [True], _prune_inside)]
    elif node.op is scan_op and not any(live):
        new = prune_unused_scan(node, _prune_inside, sizes.ctx)
    elif node.op in PRUNERS:
        new = [PRUNERS[node.op](node, live, _prune_inside)]
    if node.op is not scan_op or not any(live):  # one that runs for what it refuses reads the first element alone
        return new
    (scan,) = new
    return with_cheap_element(scan, partial(_size_carrier, sizes))


def _prune_inside(graph: Graph) -> Graph:
    """Return a subgraph with no unread result or operand. Its inputs that are read for sizes alone are not read."""
    ctx = pass_context(pass_scope(graph), "prune_loops")
    values = {*graph.outputs, *[v for node in graph.nodes for v in node.inputs]}
    sizes = {v: ctx.sizes(v, field="elements") for v in graph.inputs}
    read = {sizes[v]: v for v in reversed(graph.inputs) if v in values}
    other = {v: read.get(sizes[v], v) for v in graph.inputs if v not in values and sizes[v]}
    nodes = [n if other.keys().isdisjoint(n.sources) else _with_sources(n, other) for n in graph.nodes]
    return prune_branches(replace(graph, nodes=tuple(nodes)))


def _with_sources(node: Node, other: Mapping[Value, Value]) -> Node:
    return replace(node, sources=tuple([other.get(v, v) for v in node.sources]))


def _size_carrier(sizes: NodeSizes, stack: Value) -> Node | None:
    """Return a node that makes an array of the length of a stack, None if this has no name."""
    shape, sources = sizes.ctx.sizes(stack, field="elements"), list[Value]()
    if shape is None:
        return None
    params = {"dtype": TOKEN.dtype, "shape": sizes.localise(shape[:1], sources), "value": False}
    return Node(full_op, (), tuple(sources), params_tuple(params), (Value(tensor(TOKEN.dtype, shape[:1])),))


def _with_token(node: Node) -> Node:
    """Return a conditional that runs for what it refuses alone."""
    branches = [remove_dead_code(with_token(g)) for g in dict(node.params)["branches"]]
    return replace(node, params=params_tuple({"branches": tuple(branches)}), outputs=(Value(TOKEN),))

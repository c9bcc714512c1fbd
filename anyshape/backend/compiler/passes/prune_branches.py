"""Prune conditionals: results that nothing reads leave the branches, and so do operands that no branch reads.

A derivative keeps neither a value that it does not need, nor an operand alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anyshape.graph.ir.dead_code import asserted_values, remove_dead_code
from anyshape.graph.ir.graph import DimSource, Graph, Node, Value
from anyshape.graph.ir.subgraph import axes_of_variables
from anyshape.graph.ir.validate import variables_in_types
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.ops.control_flow import cond_op


def prune_branches(graph: Graph) -> Graph:
    """Return the graph with no unread result or operand of a conditional."""
    if not any(n.op is cond_op for n in graph.nodes):
        return graph
    read = {*graph.outputs, *asserted_values(graph)}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        kept = _pruned(node, [v in read for v in node.outputs]) if node.op is cond_op else node
        nodes.append(kept)
        read.update(kept.operands)
    return replace(graph, nodes=tuple(reversed(nodes)))


def _pruned(node: Node, live: Sequence[bool]) -> Node:
    """Return a conditional with its live results alone; one that runs to refuse keeps its first result."""
    if not any(live):
        live = [i == 0 for i in range(len(live))]
    branches: Sequence[Graph] = dict(node.params)["branches"]
    shrunk = [
        remove_dead_code(replace(g, outputs=tuple([v for v, flag in zip(g.outputs, live, strict=True) if flag])))
        for g in branches
    ]
    kept = _read_positions(shrunk)
    if all(live) and len(kept) == len(branches[0].inputs):
        return node
    index, *operands = node.inputs
    return replace(
        node,
        inputs=(index, *[operands[i] for i in kept]),
        outputs=tuple([v for v, flag in zip(node.outputs, live, strict=True) if flag]),
        params=(("branches", tuple([_with_inputs(g, kept) for g in shrunk])),),
    )


def _read_positions(graphs: Sequence[Graph]) -> list[int]:
    """Return the positions of the inputs that one of the graphs reads, as values or for a size that it has."""
    kept = {i for g in graphs for i, v in enumerate(g.inputs) if v in _values_read(g)}
    for graph in graphs:
        inputs = [v for i, v in enumerate(graph.inputs) if i in kept]
        without = replace(graph, inputs=tuple(inputs))
        missing = {*variables_in_types(without)} - axes_of_variables(inputs).keys() - graph.runtime.keys()
        kept.update([axis.operand for s in graph.dims if s.variable in missing and (axis := _axis(s)) is not None])
    return sorted(kept)


def _axis(source: DimSource) -> InputAxis | None:
    axis = expr.as_atom(source.size)
    return axis if isinstance(axis, InputAxis) else None


def _values_read(graph: Graph) -> set[Value]:
    return {*graph.outputs, *[v for n in graph.nodes for v in n.operands]}


def _with_inputs(graph: Graph, positions: Sequence[int]) -> Graph:
    """Return a subgraph with these of its inputs."""
    inputs = tuple([graph.inputs[i] for i in positions])
    dims = tuple([DimSource(v, size) for v, size in axes_of_variables(inputs).items()])
    return replace(graph, inputs=inputs, dims=dims)

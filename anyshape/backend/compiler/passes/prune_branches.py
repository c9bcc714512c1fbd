"""Prune conditionals: results that nothing reads leave the branches, and so do operands that no branch reads.

A derivative keeps neither a value that it does not need, nor an operand alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.graph.ir.dead_code import asserted_values, remove_dead_code
from anyshape.graph.ir.graph import DimSource, Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.subgraph import axes_of_variables
from anyshape.graph.ir.validate import variables_in_types
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.ops.control_flow import cond_each_op, cond_op


def prune_branches(graph: Graph) -> Graph:
    """Return the graph with no unread result or operand of a conditional."""
    if not any(n.op in _PRUNED for n in graph.nodes):
        return graph
    read = {*graph.outputs, *asserted_values(graph)}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        new = node
        if node.op in _PRUNED:
            live = [v in read for v in node.outputs]
            new = _PRUNED[node.op](node, live if any(live) else [i == 0 for i in range(len(live))])
        nodes.append(new)
        read.update(new.operands)
    return replace(graph, nodes=tuple(reversed(nodes)))


def _prune_cond(node: Node, live: Sequence[bool]) -> Node:
    """Return a conditional with its live results alone."""
    branches = _with_outputs(dict(node.params)["branches"], live)
    positions = _read_positions(branches)
    return _renewed(node, live, positions, {"branches": _with_inputs(branches, positions)})


def _prune_cond_each(node: Node, live: Sequence[bool]) -> Node:
    """Return a conditional of each example with its live results alone.

    Operands of the branches of one example come first, and stay where either kind of branch reads them.
    """
    params = dict(node.params)
    branches, batched = (_with_outputs(params[name], live) for name in ("branches", "batched"))
    count = len(params["carries"])
    in_rows = _read_positions(batched, [0])
    first = sorted({*_read_positions(branches), *[i - 1 for i in in_rows if 0 < i <= count]})
    positions = [*first, *[i - 1 for i in in_rows if i > count]]
    new = {
        "branches": _with_inputs(branches, first),
        "batched": _with_inputs(batched, [0, *[i + 1 for i in positions]]),
        "carries": tuple([params["carries"][i] for i in first]),
        "totals": tuple([flag for flag, is_live in zip(params["totals"], live, strict=True) if is_live]),
    }
    return _renewed(node, live, positions, new)


_PRUNED: dict[Op, Callable[[Node, Sequence[bool]], Node]] = {cond_op: _prune_cond, cond_each_op: _prune_cond_each}


def _renewed(node: Node, live: Sequence[bool], positions: Sequence[int], params: dict[str, Any]) -> Node:
    """Return a node with these params, the live outputs, and these operands behind the index; itself if none goes."""
    index, *operands = node.inputs
    if all(live) and len(positions) == len(operands):
        return node
    return replace(
        node,
        inputs=(index, *[operands[i] for i in positions]),
        outputs=tuple([v for v, flag in zip(node.outputs, live, strict=True) if flag]),
        params=params_tuple(params),
    )


def _with_outputs(graphs: Sequence[Graph], live: Sequence[bool]) -> list[Graph]:
    """Return subgraphs with their live outputs alone, and what these need."""
    outputs = [tuple([v for v, flag in zip(g.outputs, live, strict=True) if flag]) for g in graphs]
    return [remove_dead_code(replace(g, outputs=ends)) for g, ends in zip(graphs, outputs, strict=True)]


def _read_positions(graphs: Sequence[Graph], always: Sequence[int] = ()) -> list[int]:
    """Return the positions of the inputs that one of the graphs reads, as values or for a size that it has."""
    read = {i for g in graphs for i, v in enumerate(g.inputs) if v in _values_read(g)} | {*always}
    for graph in graphs:
        inputs = [v for i, v in enumerate(graph.inputs) if i in read]
        without = replace(graph, inputs=tuple(inputs))
        missing = {*variables_in_types(without)} - axes_of_variables(inputs).keys() - graph.runtime.keys()
        read.update([axis.operand for s in graph.dims if s.variable in missing and (axis := _axis(s)) is not None])
    return sorted(read)


def _axis(source: DimSource) -> InputAxis | None:
    axis = expr.as_atom(source.size)
    return axis if isinstance(axis, InputAxis) else None


def _values_read(graph: Graph) -> set[Value]:
    return {*graph.outputs, *[v for n in graph.nodes for v in n.operands]}


def _with_inputs(graphs: Sequence[Graph], positions: Sequence[int]) -> tuple[Graph, ...]:
    """Return subgraphs with these of their inputs."""
    return tuple([_with_inputs_of(g, [g.inputs[i] for i in positions]) for g in graphs])


def _with_inputs_of(graph: Graph, inputs: Sequence[Value]) -> Graph:
    dims = tuple([DimSource(v, size) for v, size in axes_of_variables(inputs).items()])
    return replace(graph, inputs=tuple(inputs), dims=dims)

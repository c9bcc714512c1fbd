"""Subgraphs with fewer outputs, with the inputs alone that they then read, or with no more than what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.ir.graph import DimSource, Graph, Node, Value, params_tuple
from anyshape.graph.ir.subgraph import axes_of_variables
from anyshape.graph.ir.validate import variables_in_types
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.ops.creation import full_op

TOKEN = TensorMeta(np.dtype(bool), ())  # of the result of a subgraph that runs for what it refuses


def with_outputs(graphs: Sequence[Graph], live: Sequence[bool]) -> list[Graph]:
    """Return subgraphs with their live outputs alone, and what these need."""
    outputs = [tuple([v for v, flag in zip(g.outputs, live, strict=True) if flag]) for g in graphs]
    return [remove_dead_code(replace(g, outputs=ends)) for g, ends in zip(graphs, outputs, strict=True)]


def with_first(live: Sequence[bool]) -> list[bool]:
    """Return flags of live results: the first one is live where none is, as a node has a result."""
    return [*live] if any(live) else [True, *live[1:]]


def with_token(graph: Graph, count: int = 0) -> Graph:
    """Return a subgraph with a token behind the first outputs, in place of all others."""
    token = Value(TOKEN)
    fill = Node(full_op, (), (), params_tuple({"dtype": TOKEN.dtype, "shape": (), "value": False}), (token,))
    return replace(graph, nodes=(*graph.nodes, fill), outputs=(*graph.outputs[:count], token))


def read_positions(graphs: Sequence[Graph], always: Sequence[int] = ()) -> list[int]:
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


def with_inputs(graphs: Sequence[Graph], positions: Sequence[int]) -> tuple[Graph, ...]:
    """Return subgraphs with these of their inputs."""
    return tuple([_with_inputs_of(g, [g.inputs[i] for i in positions]) for g in graphs])


def _with_inputs_of(graph: Graph, inputs: Sequence[Value]) -> Graph:
    dims = tuple([DimSource(v, size) for v, size in axes_of_variables(inputs).items()])
    return replace(graph, inputs=tuple(inputs), dims=dims)

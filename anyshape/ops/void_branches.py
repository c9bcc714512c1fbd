"""Replace void branches, which no sizes are known to take, where a graph cannot be derived from them.

Conditions that contradict themselves prove and refute all claims, though no proof may find the contradiction. So a rule
may refuse such a branch, and what it derives may not be legal. A graph that refuses to run replaces it: with inputs and
results of the same types, and the error of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import AnyshapeError, CheckError, IllegalGraphError, InconclusiveDimensionError, ShapeError
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import NodeSizes
from anyshape.graph.ir.subgraph import Closed, close
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.control import check_op
from anyshape.ops.control_flow import sized_op
from anyshape.ops.creation import full_op

T = TypeVar("T")
ERRORS: tuple[type[AnyshapeError], ...] = (ShapeError, CheckError, IllegalGraphError, InconclusiveDimensionError)
_ADVICE = "\n  "  # begins the second line of an error of anyshape
_BOOL = np.dtype(bool)


def message(error: Exception) -> str:
    """Return the text of a check that stands for an error."""
    text = error.problem if isinstance(error, IllegalGraphError) else str(error)  # without numbers of values
    return f"{type(error).__name__}: {text.partition(_ADVICE)[0] if isinstance(error, AnyshapeError) else text}"


def of_branch(derive: Callable[[Graph], T], graph: Graph) -> T:
    """Return what is derived from a branch, from a graph that refuses to run if that fails and the branch is void."""
    hidden = [(builder, builder.hidden_error) for builder in active_builders()]
    try:
        return derive(graph)
    except ERRORS as error:
        about_inputs = [c for c in graph.conditions if graph.runtime.keys().isdisjoint(c.claim.variables())]
        scope = Scope(conditions=[c for c in about_inputs if c.kind != "fact"])
        has_numbers = all(v.meta.dtype.kind in "biufc" for v in graph.outputs)
        if not (has_numbers and scope.may_be_void()):
            raise
        refusing = _refusing(graph, scope, f"no sizes were known to take this branch, and {message(error)}")
    for builder, before in hidden:
        builder.hidden_error = before
    return derive(refusing)


def close_branches(graphs: Sequence[Graph]) -> Closed:
    """Return graphs that are derived from branches as subgraphs; void ones that are not legal refuse to run."""
    try:
        return close(graphs)
    except IllegalGraphError:
        return close([of_branch(_legal, graph) for graph in graphs])


def _legal(graph: Graph) -> Graph:
    """Return a graph; raise IllegalGraphError unless it is legal as a subgraph."""
    close([graph])
    return graph


def _refusing(graph: Graph, scope: Scope, text: str) -> Graph:
    """Return a graph of the inputs and results of a branch, which raises CheckError where it runs."""
    refused = _node(full_op, [], {"dtype": _BOOL, "shape": (), "value": False}, tensor(_BOOL, ()))
    where = graph.nodes[0].where if graph.nodes else None
    check = replace(_node(check_op, refused.outputs, {"message": text}, tensor(_BOOL, ())), where=where)
    sizes = NodeSizes(graph, ShapeGuardContext(scope, "void_branch"))
    pairs = [_result(sizes, v.meta) for v in graph.outputs]
    nodes = (refused, check, *[node for pair in pairs for node in pair])
    ends = tuple([last.outputs[0] for _, last in pairs])
    return replace(graph, nodes=nodes, outputs=ends, constants=(), conditions=tuple(scope.conditions))


def _result(sizes: NodeSizes, meta: TensorMeta) -> tuple[Node, Node]:
    """Return nodes that make an array without elements, and promise that it has the exact sizes of a type."""
    none, zero = (0,) * meta.rank, meta.dtype.type(0).item()
    empty = _node(full_op, [], {"dtype": meta.dtype, "shape": none, "value": zero}, tensor(meta.dtype, none))
    shape = tuple([_size(sizes, extent) for extent in meta.extents])
    operands = [*empty.outputs]
    local = sizes.localise(shape, operands)  # adds the inputs that sizes are read off
    return empty, _node(sized_op, operands, {"shape": local}, tensor(meta.dtype, shape))


def _node(op: Op, operands: Sequence[Value], params: dict[str, Any], meta: TensorMeta) -> Node:
    """Return a node that computes with the first operand, and reads the sizes of the others."""
    return Node(op, tuple(operands[:1]), tuple(operands[1:]), params_tuple(params), (Value(meta),))


def _size(sizes: NodeSizes, extent: ShapeExtent) -> Size:
    """Return the size of an axis of a result, 0 where the inputs do not give it."""
    return extent.size if isinstance(extent, Exact) and sizes.dims.keys() >= {*expr.variables(extent.size)} else 0

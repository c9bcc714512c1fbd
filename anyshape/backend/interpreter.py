"""The naive evaluator: the meaning of a graph, which every plan must equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.signature.dim_equations import SizeBinding, input_axes
from anyshape.graph.signature.solve_binding import read_input, solve_binding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, Leaf
from anyshape.ops.apply import find_kernel, resolve


def evaluate(graph: Graph, arrays: Sequence[np.ndarray]) -> list[Any]:
    """The outputs of the graph, node by node, with every size read from the actual operands."""
    given = [*map(np.asarray, arrays)]
    env: dict[Value, Any] = dict(zip(graph.inputs, [*given, *_hidden(graph, given)], strict=True))
    env.update(graph.constants)
    for node in graph.nodes:
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        result = find_kernel(node.op).run(*[env[v] for v in node.inputs], **params)
        results = result if len(node.outputs) > 1 else (result,)
        env.update({v: np.asarray(r) for v, r in zip(node.outputs, results, strict=True)})
    return [np.array(env[v]) for v in graph.outputs]


def _hidden(graph: Graph, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The inputs that a call does not give: each has a variable as its size."""
    sizes: dict[Leaf, int] = {}
    if graph.hidden:
        for place, _ in input_axes([tensor(a.dtype, a.shape) for a in arrays], dict(graph.values)):
            sizes[place] = read_input(place, arrays)
        for source in graph.dims:
            solved = source.read or SizeBinding(source.variable, source.size)
            sizes[source.variable] = solve_binding(solved, sizes.__getitem__)
    sized = [expr.as_atom(v.meta.sizes[0]) for v in graph.inputs[len(arrays) :] if v.meta.sizes]
    return [np.zeros(sizes[v], bool) for v in sized if v is not None and not isinstance(v, Call)]

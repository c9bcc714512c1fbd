"""Interpreter of graphs: the naive evaluator, which defines their meaning. Every plan must give the same results."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.numpy.control_flow import run_branch, run_each_branch
from anyshape.backend.numpy.loops import run_rerun, run_scan, run_while
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.ir.tracebacks import raised_at
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.signature.dim_equations import SizeBinding, input_axes
from anyshape.graph.signature.prologue import read_input, solve_binding
from anyshape.graph.sizes.expr import Leaf
from anyshape.ops.control import EXAMPLE, raise_op
from anyshape.ops.control_flow import cond_each_op, cond_op
from anyshape.ops.core.apply import KERNELS, resolve
from anyshape.ops.loops import rerun_op, scan_op, while_each_op, while_op


def evaluate(graph: Graph, arrays: Sequence[np.ndarray]) -> list[Any]:
    """Return the outputs of a graph, computed node by node, with every size read off the actual operands."""
    passed = [*map(np.asarray, arrays)]
    array_of: dict[Value, Any] = dict(zip(graph.inputs, [*passed, *_hidden_inputs(graph, passed)], strict=True))
    array_of.update(graph.constants)
    for node in graph.nodes:
        array_of.update(zip(node.outputs, evaluate_node(node, [array_of[v] for v in node.operands]), strict=True))
    return [np.array(array_of[v]) for v in graph.outputs]


def evaluate_node(node: Node, operands: Sequence[Any]) -> list[np.ndarray]:
    """Return the outputs of a node, for its inputs and the sources of its sizes."""
    inputs, params = operands[: len(node.inputs)], resolve(dict(node.params), operands)
    if (run_subgraphs := _RUN_SUBGRAPHS.get(node.op)) is not None:
        results = run_subgraphs(inputs, **params)
    else:
        try:
            result = KERNELS[node.op].run(*inputs, **params)
        except Exception as error:
            if node.op is raise_op and not isinstance(error, AnyshapeError):
                vars(error).pop(EXAMPLE, None)
                error = raised_at(error, node.where)
            raise error
        results = list(result) if len(node.outputs) > 1 else [result]
    return [np.asarray(r) for r in results]


# How an op with subgraphs runs so that the evaluator runs these too.
_RUN_SUBGRAPHS: dict[Op, Callable[..., Sequence[Any]]] = {
    cond_op: lambda operands, branches: run_branch(evaluate, operands[0], operands[1:], branches),
    cond_each_op: lambda operands, batched, carries, totals, branches: run_each_branch(
        evaluate, operands[0], operands[1:], batched, carries, totals
    ),
    scan_op: lambda operands, **params: run_scan(evaluate, operands, **params),
    while_op: lambda operands, **params: run_while(evaluate, operands, **params),
    rerun_op: lambda operands, **params: run_rerun(
        lambda graph: lambda *arrays: evaluate(graph, arrays), operands, **params
    ),
    while_each_op: lambda operands, rows, one, carries: evaluate(rows[0], operands),
}


def _hidden_inputs(graph: Graph, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return an array for each hidden input: its one axis has the size of a variable."""
    if not graph.hidden:
        return []
    sizes: dict[Leaf, int] = {}
    for leaf, _ in input_axes([tensor(a.dtype, a.shape) for a in arrays], dict(graph.values)):
        sizes[leaf] = read_input(leaf, arrays)
    for source in graph.dims:
        binding = source.read or SizeBinding(source.variable, source.size)
        sizes[source.variable] = solve_binding(binding, sizes.__getitem__)
    variables = [variable for value in graph.inputs[len(arrays) :] for variable, _ in value.meta.variable_axes()]
    return [np.zeros(sizes[variable], bool) for variable in variables]

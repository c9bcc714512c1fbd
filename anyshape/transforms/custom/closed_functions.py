"""Closure conversion: a function of trees as a subgraph, with the traced values that it closes over as parameters.

A derivative rule then gets these values as arguments, so derivatives in them are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close
from anyshape.graph.sizes import expr
from anyshape.ops.subgraph_call import further_operands
from anyshape.program.inline import call_inside
from anyshape.support.packages import argument_containers, graph_replay
from anyshape.tracing.pytrees import flatten, flatten_as, structure_text, unflatten
from anyshape.tracing.trace import active_builder, as_value, trace_inner

Function = Callable[..., Any]


class ClosedFunction:
    """Function of trees as a closed graph: of the leaves of its arguments, then of the values that it closed over.

    Traces of its own call `applied`, of the arguments and then the parameters. It is one function, so what transforms
    make of it is made once.
    """

    graph: Graph
    arguments: Any
    result: Any

    def __init__(self, graph: Graph, arguments: Any, result: Any) -> None:
        self.graph, self.arguments, self.result = graph, arguments, result
        self.applied: Function = self._applied()

    def __call__(self, params: Sequence[Any], *args: Any) -> Any:
        """Return the result for these parameters and arguments, in the trace that the function was traced in."""
        leaves = flatten_as(args, self.arguments)
        if leaves is None:
            problem = f"have the structure {structure_text(flatten(args)[1])}, not {structure_text(self.arguments)}"
            raise ArgumentError(self.graph.name, "arguments", problem, "pass the trees that it was traced with")
        outputs = graph_replay.inline(active_builder(), self.graph, [*map(as_value, leaves), *params])
        return unflatten(self.result, outputs)

    def _applied(self) -> Function:
        graph, count, result = self.graph, len(self.graph.inputs), self.result

        def applied(*values: Any) -> Any:
            leaves = flatten(values)[0]
            return unflatten(result, call_inside(graph, leaves, [f"input {i}" for i in range(count)]))

        return applied


def closed_function(name: str, function: Function, *args: Any) -> tuple[ClosedFunction, list[Any]]:
    """Trace a function at arguments like these; return it, and the values that it closes over as its parameters.

    It needs an active trace.
    """
    leaves, tree = flatten(args)
    values = [as_value(x) for x in leaves]
    run = lambda handles: (argument_containers.keeping(function)(*unflatten(tree, handles)), None)
    inner = trace_inner(active_builder(), run, name, values)
    closed = close([inner.graph], [inner.captured])
    further = further_operands(closed, {v: expr.from_atom(v) for v in closed.carried})
    return ClosedFunction(closed.graphs[0], tree, inner.out_tree), [as_value(x) for x in further]

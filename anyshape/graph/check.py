"""Is this graph legal? Every value exists before it is read, and its metadata follow from its op."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.errors import AnyshapeError, IllegalGraphError
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.extents import TensorMeta, exact_size
from anyshape.graph.ir import Graph, Node, Value
from anyshape.graph.scope import Scope
from anyshape.graph.show import show_param


def check_graph(graph: Graph, tick: Callable[[], object] = bool) -> None:
    """Raise IllegalGraphError at the first node that breaks a rule of graphs. `tick` is called before each node."""
    scope = Scope(conditions=graph.conditions)
    known: set[Value] = {*graph.inputs, *[v for v, _ in graph.constants]}
    for node in graph.nodes:
        tick()
        missing = [v for v in node.operands if v not in known]
        if missing:
            raise IllegalGraphError(_text(node), f"reads {missing[0]} before it is made")
        repeated = [v for v in node.outputs if v in known]
        if repeated:
            raise IllegalGraphError(_text(node), f"makes {repeated[0]} a second time")
        _check_metadata(scope, node)
        known.update(node.outputs)
    for value in graph.outputs:
        if value not in known:
            raise IllegalGraphError("return", f"returns {value}, which nothing makes")


def _check_metadata(scope: Scope, node: Node) -> None:
    """Infer the outputs again; what the graph promises must be what the shape rule gives."""
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    before = len(scope.conditions)
    try:
        result = node.op.infer(context, *[v.meta for v in node.inputs], **dict(node.params))
    except AnyshapeError as error:
        raise IllegalGraphError(_text(node), f"its shape rule refuses: {error}") from error
    if len(scope.conditions) > before:
        raise IllegalGraphError(
            _text(node), f"relies on `{scope.conditions[-1].claim}`, which the graph does not state"
        )
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(node.outputs):
        raise IllegalGraphError(
            _text(node), f"has {len(node.outputs)} outputs, and its shape rule gives {len(results)}"
        )
    for value, meta in zip(node.outputs, results, strict=True):
        if not _agrees(scope, value.meta, meta):
            raise IllegalGraphError(_text(node), f"promises {value.meta}, but its shape rule gives {meta}")


def _agrees(scope: Scope, promised: TensorMeta, inferred: TensorMeta) -> bool:
    if promised.dtype != inferred.dtype or promised.rank != inferred.rank:
        return False
    for a, b in zip(promised.extents, inferred.extents, strict=True):
        x, y = exact_size(a), exact_size(b)
        if (a != b) if x is None or y is None else not scope.same(x, y):
            return False
    return True


def _text(node: Node) -> str:
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{', '.join(map(str, node.outputs))} = {node.op}({', '.join(map(str, node.inputs))}) {{{params}}}"

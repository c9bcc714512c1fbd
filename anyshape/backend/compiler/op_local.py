"""Conversion between op-local and value-side sizes for the nodes of a graph. Every pass and lowering use this one."""

from __future__ import annotations

from collections import deque
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Params, Value, bind_local
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.graph.sizes.symbols import DimVar, InputAxis, Leaf


def pass_scope(graph: Graph, reliance_log: list[Any] | None = None) -> Scope:
    """Return a scope of the conditions of a graph, for a pass. `reliance_log` records its size queries."""
    return Scope(conditions=graph.conditions, reliance_log=deque(maxlen=0) if reliance_log is None else reliance_log)


class NodeSizes:
    """Converts sizes of the nodes of one graph, params of each node once."""

    def __init__(self, graph: Graph, ctx: ShapeGuardContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.dims = {source.variable: source.size for source in graph.dims}
        self._params: dict[Node, Params] = {}

    def params(self, node: Node) -> Params:
        """Return the params with value-side sizes. A size without a name stays op-local."""
        params = self._params.get(node)
        if params is None:
            operands = node.operands
            read = lambda leaf: self._axis(operands[leaf.operand], leaf.axis)
            params = self._params[node] = tuple([(name, bind_local(p, read)) for name, p in node.params])
        return params

    def _axis(self, value: Value, axis: int) -> Size | None:
        extent = self.ctx.extent(value, axis, field="params")
        return self.ctx.scope.normal(extent.size) if isinstance(extent, Exact) else None

    def localise(self, sizes: tuple[Size, ...], sources: list[Value]) -> tuple[Size, ...]:
        """Return value-side sizes as op-local ones over `sources`, to which inputs of the graph are added as needed."""

        def axis_of(value: Value, axis: int) -> Size:
            if value not in sources:
                sources.append(value)
            return expr.input_axis(sources.index(value), axis)

        def of_leaf(leaf: Leaf) -> Size | None:
            if not isinstance(leaf, DimVar):
                return None
            if leaf in self.graph.runtime:
                return axis_of(*self.graph.runtime[leaf])
            read = lambda axis: axis_of(self.graph.inputs[axis.operand], axis.axis)
            local: Size = bind_local(self.dims[leaf], read)
            return local

        return tuple([substitute_leaves(size, of_leaf) for size in sizes])


def rebase(params: Params, node: Node, sources: list[Value]) -> Params:
    """Return params whose op-local sizes count `sources`, to which the operands of the node are added as needed."""

    def rebased(leaf: InputAxis) -> Size:
        value = node.operands[leaf.operand]
        if value not in sources:
            sources.append(value)
        return expr.input_axis(sources.index(value), leaf.axis)

    return tuple([(name, bind_local(param, rebased)) for name, param in params])

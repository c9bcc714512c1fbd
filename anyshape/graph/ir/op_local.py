"""Conversion between op-local and value-side sizes. No other module converts them on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op, Params, Value, params_tuple
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.graph.sizes.symbols import Leaf


def bind_local(param: Any, extent_of: Callable[[InputAxis], Size | None]) -> Any:
    """Return a param with its op-local leaves replaced. Leaves for which `extent_of` returns None stay."""
    if isinstance(param, DimExpr):
        atom = expr.as_atom(param)
        if isinstance(atom, InputAxis):  # the usual case
            size = extent_of(atom)
            return param if size is None else size
        return substitute_leaves(param, lambda a: extent_of(a) if isinstance(a, InputAxis) else None)
    if isinstance(param, tuple):
        return tuple([bind_local(p, extent_of) for p in param])
    return param


def has_local(param: Any) -> bool:
    """Return whether a param holds an op-local expression."""
    if isinstance(param, tuple):
        return any(has_local(p) for p in param)
    return isinstance(param, DimExpr)


def axes_read(param: Any) -> list[InputAxis]:
    """Return the axes of operands that a param reads."""
    if isinstance(param, tuple):
        return [axis for p in param for axis in axes_read(p)]
    return [leaf for leaf in expr.leaves_of(param) if isinstance(leaf, InputAxis)] if isinstance(param, DimExpr) else []


def over_axes(
    definition: Size | tuple[Value, int], inputs: Sequence[Value], axis_of: Callable[[Value, int], Size]
) -> Size:
    """Return a variable over axes of values, each named by `axis_of`.

    A run-time size is defined as an axis of a value, any other variable by a size over axes of the inputs.
    """
    if isinstance(definition, tuple):
        return axis_of(*definition)
    size: Size = bind_local(definition, lambda leaf: axis_of(inputs[leaf.operand], leaf.axis))
    return size


class NodeSizes:
    """Converts sizes of the nodes of one graph, params of each node once."""

    graph: Graph
    ctx: ShapeGuardContext

    def __init__(self, graph: Graph, ctx: ShapeGuardContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.dims: dict[DimVar, Size] = {source.variable: source.size for source in graph.dims}
        self._params: dict[Node, Params] = {}
        self._partly_named: set[Node] = set()

    def params(self, node: Node) -> Params:
        """Return the params with value-side sizes. A size without a name stays op-local."""
        if not node.params:
            return ()
        params = self._params.get(node)
        if params is None:
            read = lambda leaf: self._axis(node, leaf)
            params = self._params[node] = tuple([(name, bind_local(p, read)) for name, p in node.params])
        return params

    def _axis(self, node: Node, leaf: InputAxis) -> Size | None:
        extent = self.ctx.extent(node.operands[leaf.operand], leaf.axis, field="params")
        if isinstance(extent, Exact):
            return self.ctx.scope.normal(extent.size)
        self._partly_named.add(node)
        return None

    def params_over(self, node: Node, sources: list[Value]) -> Params:
        """Return the params with value-side sizes, and sizes without a name over axes of `sources`.

        Operands of the node are added to the sources as needed.
        """
        params = self.params(node)
        if node not in self._partly_named:
            return params

        def rebased(leaf: InputAxis) -> Size:
            return _axis_of_source(sources, node.operands[leaf.operand], leaf.axis)

        return tuple([(name, bind_local(param, rebased)) for name, param in params])

    def localise(self, sizes: tuple[Size, ...], sources: list[Value]) -> tuple[Size, ...]:
        """Return value-side sizes as op-local ones over `sources`, to which inputs of the graph are added as needed."""

        def of_leaf(leaf: Leaf) -> Size | None:
            if not isinstance(leaf, DimVar):
                return None
            return over_axes(
                self.graph.runtime.get(leaf) or self.dims[leaf], self.graph.inputs, partial(_axis_of_source, sources)
            )

        return tuple([substitute_leaves(size, of_leaf) for size in sizes])


def refusal(op: Op, node: Node, value: Value, params: Mapping[str, Any]) -> Node:
    """Return a node that applies `op` to an operand of another node, for the values that this refuses.

    Sizes in `params` are over the operands of the other node.
    """
    operands = [value]

    def rebased(leaf: InputAxis) -> Size:
        return _axis_of_source(operands, node.operands[leaf.operand], leaf.axis)

    local = {name: bind_local(param, rebased) for name, param in params.items()}
    return Node(op, (value,), tuple(operands[1:]), params_tuple(local), (Value(value.meta),), node.where)


def _axis_of_source(sources: list[Value], value: Value, axis: int) -> Size:
    """Return an axis of a value, which is added to the sources if it is new."""
    if value not in sources:
        sources.append(value)
    return expr.input_axis(sources.index(value), axis)

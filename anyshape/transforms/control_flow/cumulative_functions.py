"""Recognise associative functions that a cumulative op computes at once, by the nodes of their graphs."""

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import iota, size_value
from anyshape.support.lazy_dataclass import replace
from anyshape.support.packages import graph_replay

# Combination of two elements: the dtypes for which it may be reordered, and the op for all prefixes at once.
_CUMULATIVE: dict[Op, tuple[str, Any]] = {
    ew.add_op: ("iufc", rd.cumsum),
    ew.mul_op: ("iufc", rd.cumprod),
    ew.max_op: ("iuf", rd.cummax),
    ew.min_op: ("iuf", rd.cummin),
    ew.logaddexp_op: ("f", rd.cumlogsumexp),
}
_VIEWS = {mv.reshape_op, mv.broadcast_in_dim_op, mv.transpose_op}


def cumulative(
    graph: Graph, elements: Sequence[Any], further: Sequence[Any], axis: int, *, reverse: bool
) -> list[Any] | None:
    """Return all prefixes along the axis by cumulative ops, or None where the graph of the function is another one.

    The inputs of the graph are two elements of each array, then what `further` gives.
    """
    parts = _Parts(graph, len(elements))
    steps = [parts.step(i) for i in range(len(elements))]
    if any(step is None for step in steps):
        return None
    results = []
    for x, step in zip(elements, steps, strict=True):
        if isinstance(step, Value):
            (factors,) = graph_replay.inline(x.builder, parts.up_to(step), [*elements, *elements, *further])
            results.append(_linear_steps(factors, x, axis, reverse))
        else:
            results.append(step(x, axis, reverse=reverse))
    return results


def _linear_steps(factors, x, axis: int, reverse: bool):
    """Return s[k] = factors[k] * s[k - 1] + x[k]. The first factor counts for nothing, even if it is infinite."""
    size = sizes(x)[axis]
    first = ew.eq(iota(size), size_value(expr.sub(size, 1)) if reverse else ew.lift(0, iota(size)))
    factors = ew.select(mv.broadcast_in_dim(first, sizes(x), (axis,)), ew.lift(0, x), factors)
    return ew.add(ew.mul(factors, rd.recurrence(factors, x, axis, reverse=reverse)), x)


class _Parts:
    """Nodes of a function of two elements, by what they give."""

    def __init__(self, graph: Graph, count: int) -> None:
        self.graph, self.count = graph, count
        self.firsts, self.seconds = graph.inputs[:count], graph.inputs[count : 2 * count]
        self.node_of = {v: n for n in graph.nodes for v in n.outputs}

    def step(self, i: int) -> Any:
        """Return the cumulative op of an array, or the factor where it is `factor * first + second`, or None."""
        result, pair = self.graph.outputs[i], {self.firsts[i], self.seconds[i]}
        if (node := self.node_of.get(result)) is None:
            return None
        kinds, function = _CUMULATIVE.get(node.op, ("", None))
        if result.meta.dtype.kind in kinds and {*node.inputs} == pair:
            return function
        return self._factor(i, node) if result.meta.dtype.kind in "iufc" and node.op is ew.add_op else None

    def _factor(self, i: int, node: Node) -> Value | None:
        """Return the factor of a linear step, if it is a view of the second element of an array of products."""
        value = _other(node, self.seconds[i])
        product = None if value is None else self.node_of.get(value)
        if product is None or product.op is not ew.mul_op:
            return None
        factor = _other(product, self.firsts[i])
        j = self._viewed(factor)
        return factor if j is not None and self.step(j) is rd.cumprod else None

    def _viewed(self, value: Value | None) -> int | None:
        """Return the position of the array whose second element a value is a view of, row by row."""
        while value is not None and value not in self.seconds:
            node = self.node_of.get(value)
            value = node.inputs[0] if node is not None and node.op in _VIEWS and _keeps_order(node) else None
        return None if value is None else self.seconds.index(value)

    def up_to(self, value: Value) -> Graph:
        """Return the graph that gives a view alone."""
        nodes: list[Node] = []
        end = value
        while value in self.node_of:
            nodes.insert(0, self.node_of[value])
            value = nodes[0].inputs[0]
        return replace(self.graph, nodes=tuple(nodes), outputs=(end,))


def _other(node: Node, value: Value) -> Value | None:
    """Return the operand of a node of two that is not the value, None where the value is none or both of them."""
    others = [x for x in node.inputs if x is not value]
    return others[0] if len(others) == 1 and len(node.inputs) == 2 else None


def _keeps_order(node: Node) -> bool:
    """Return whether a view moves, adds or drops whole axes: a reshape may only add axes of size 1, or drop them."""
    if node.op is not mv.reshape_op:
        return True
    old, new = [[e for e in v.meta.extents if e != Exact(1)] for v in (node.inputs[0], node.outputs[0])]
    return old == new

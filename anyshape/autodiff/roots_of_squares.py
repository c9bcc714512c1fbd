"""Square roots of sums of squares: norms, however a program writes them.

Such a root is 0 only where all that is squared is 0. There the tangent of the sum is 0 too, and the infinite slope of
the root would make it NaN. The tangent of a norm is 0 there, the subgradient of least size.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.ops import contraction as co
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd

_MOVES = {mv.reshape_op, mv.transpose_op, mv.broadcast_in_dim_op, mv.slice_op, mv.rev_op, ix.take_op}
_SUMS = {*_MOVES, rd.reduce_sum_op, rd.sum_to_op, ew.convert_op, ew.select_op, ew.add_op, mv.concatenate_op, ew.max_op}


def roots_of_squares(graph: Graph, inputs: Sequence[Any]) -> set[Value]:
    """Return the square roots of a graph that are roots of sums of squares. `inputs` stand for its inputs."""
    roots = [node for node in graph.nodes if node.op is ew.sqrt_op]
    if not roots:
        return set()
    outer = {v: x for v, x in zip(graph.inputs, inputs, strict=True) if isinstance(x, Traced)}
    squares = _Squares({v: node for node in graph.nodes for v in node.outputs}, outer)
    return {node.outputs[0] for node in roots if node.inputs[0] in squares}


class _Squares:
    """Values that are sums of squares with weights that are not negative."""

    def __init__(self, makers: Mapping[Value, Node], outer: Mapping[Value, Traced]) -> None:
        self.makers, self.outer = makers, outer
        self.settled: dict[Value, bool] = {}

    def __contains__(self, value: Value) -> bool:
        stack = [value]
        while stack:
            last = stack[-1]
            terms = self._terms(last)
            waiting = [v for v in terms if v not in self.settled and v is not last]
            if not waiting:
                self.settled[stack.pop()] = all(self.settled.get(v, False) for v in terms)
            stack += waiting
        return self.settled[value]

    def _terms(self, value: Value) -> Sequence[Value]:
        """Return the values that must be sums of squares for a value to be one; itself if it cannot be one."""
        node = self.makers.get(value)
        if node is None or value.meta.dtype.kind != "f":
            return [value]
        if self._is_square(node):
            return []
        if node.op is ew.div_op:
            return node.inputs[:1] if self._is_weight(node.inputs[1]) else [value]
        skips = _SKIPS.get(node.op)
        return [value] if skips is None else [v for v in node.inputs if not skips(self, v)]

    def _is_square(self, node: Node) -> bool:
        """Return whether a node squares, or multiplies a value by itself along all of its axes."""
        if node.op is ew.square_op:
            return True
        params = dict(node.params)
        if node.op is ew.power_by_op:
            return isinstance(params["exponent"], int) and params["exponent"] > 0 and params["exponent"] % 2 == 0
        if node.op is ew.mul_op:
            return node.inputs[0] is node.inputs[1]
        if node.op is not co.dot_general_op or node.inputs[0] is not node.inputs[1]:
            return False
        (left, right), (first, second) = params["contract"], params["batch"]
        return left == right and first == second and len(left) + len(first) == node.inputs[0].meta.rank

    def _is_weight(self, value: Value) -> bool:
        """Return whether a value is a number above 0 in all programs, or a size."""
        node = self._origin(value)
        if node is not None and node.op is cr.full_op:
            return bool(dict(node.params)["value"] > 0)
        return node is not None and node.op in (cr.size_value_op, cr.float_of_size_op)

    def _is_zero(self, value: Value) -> bool:
        node = self._origin(value)
        if value.meta.dtype.kind != "f":  # a condition or an index
            return True
        return node is not None and node.op is cr.full_op and dict(node.params)["value"] == 0

    def _origin(self, value: Value) -> Node | None:
        """Return the node that makes what a value repeats, moves or converts: of the graph or of one around it."""
        makers = self.makers
        if value not in makers and value in self.outer:
            handle = self.outer[value]
            value, makers = handle.value, {v: n for n in handle.builder.nodes for v in n.outputs}
        node = makers.get(value)
        while node is not None and node.op in (*_MOVES, ew.convert_op):
            node = makers.get(node.inputs[0])
        return node


# By op, which operands need not be sums of squares for the result to be one.
_SKIPS: dict[Op, Callable[[_Squares, Value], bool]] = {
    **dict.fromkeys(_SUMS, _Squares._is_zero),
    ew.mul_op: _Squares._is_weight,
}

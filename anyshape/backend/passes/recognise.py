"""What users write with several operations and what has an operation of its own, for the sake of its derivative.

`e / sum(e)` with `e = exp(x - max(x))` is a softmax. Its value is computed by the same operations in the same order. Of
its derivative, what goes through the maximum is 0 for any x, as the softmax does not change when a number is added to
each element; computed step by step it is a rounding error that takes most of the time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anyshape.backend.passes.dead_code import remove_dead_code
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.ir import Graph, Node, Op, Value, params_tuple
from anyshape.graph.scope import Scope
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import stop_gradient_op


def recognise(graph: Graph, scope: Scope) -> Graph:
    """The graph, which is to be differentiated, with softmaxes in place of what computes them."""
    if not {ew.div_op, ew.exp_op, rd.reduce_max_op, rd.reduce_sum_op} <= {n.op for n in graph.nodes}:
        return graph
    found = _Recogniser(graph, ShapeGuardContext(scope, "recognise", rule="pass")).run()
    return graph if found is graph else remove_dead_code(found)


class _Recogniser:
    def __init__(self, graph: Graph, ctx: ShapeGuardContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.producer = {v: n for n in graph.nodes for v in n.outputs}

    def run(self) -> Graph:
        nodes = tuple([self._softmax(n) or n for n in self.graph.nodes])
        changed = any(a is not b for a, b in zip(nodes, self.graph.nodes, strict=True))
        return replace(self.graph, nodes=nodes) if changed else self.graph

    def _softmax(self, node: Node) -> Node | None:
        """div(e, stretched sum(e)) with e = exp(sub(x, stretched max(x))), along the same axes."""
        if node.op is not ew.div_op:
            return None
        powers, sums = node.inputs
        exponential = self._made_by(powers, ew.exp_op)
        shifted = None if exponential is None else self._made_by(exponential.inputs[0], ew.sub_op)
        if shifted is None:
            return None
        x, top = shifted.inputs
        axes = self._stretched(sums, rd.reduce_sum_op, powers)
        if axes is None or x.meta.dtype.kind != "f" or axes != self._stretched(top, rd.reduce_max_op, x):
            return None
        return Node(rd.softmax_op, (x,), (), params_tuple({"axes": axes}), node.outputs, node.where)

    def _made_by(self, value: Value, op: Op) -> Node | None:
        node = self.producer.get(value)
        return node if node is not None and node.op is op else None

    def _stretched(self, value: Value, reduction: Op, x: Value) -> Any:
        """The axes along which the value is a reduction of x, repeated; None if it is something else."""
        meant = self._without_stop if reduction is rd.reduce_max_op else lambda v: v
        node = self._made_by(meant(value), mv.broadcast_in_dim_op)
        shape = self.ctx.sizes(x, field="shape")
        if node is None or shape is None:
            return None
        placed, (inner,) = dict(node.params)["axes"], node.inputs
        narrow = self._made_by(meant(inner), mv.reshape_op)
        reduced = self._made_by(meant(inner if narrow is None else narrow.inputs[0]), reduction)
        if reduced is None or reduced.inputs != (x,) or dict(reduced.params).get("empty"):
            return None
        axes = dict(reduced.params)["axes"]
        kept = tuple([axis for axis in range(len(shape)) if axis not in axes])
        ones = tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
        if narrow is None:
            return axes if placed == kept else None
        whole = placed == tuple(range(len(shape))) and self.ctx.sizes(inner, field="shape") == ones
        return axes if whole else None

    def _without_stop(self, value: Value) -> Value:
        """What goes through a maximum adds nothing to the derivative, be it stopped or not."""
        node = self._made_by(value, stop_gradient_op)
        return value if node is None else node.inputs[0]

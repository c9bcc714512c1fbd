"""Order of the steps of a nest: what reads memory comes before what writes to it, where it can."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.native.nest_rules import UPDATES
from anyshape.graph.ir.graph import Graph, Node, Op, Value, happens_once
from anyshape.graph.shapes.array_type import Unknown
from anyshape.graph.sizes.expr import variables
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.loops import Layout, scan_op, while_op
from anyshape.support.lazy_dataclass import replace

PARTS: frozenset[Op] = UPDATES | {mv.pad_op, ix.put_add_op}  # whose results may be added to others in a few places


def reads_first(graph: Graph) -> Graph:
    """Return a body in which steps that read a value come before the one that writes to its memory, where they can.

    Else that one would write to a copy of all of it.
    """
    order = _Order(graph)
    for node in graph.nodes:
        for value in order.written(node):
            order.read_before(node, value)
    return graph if order.nodes == [*graph.nodes] else replace(graph, nodes=tuple(order.nodes))


class _Order:
    """Order of the steps of a graph, which changes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.nodes = graph, [*graph.nodes]
        self.maker = {v: node for node in graph.nodes for v in node.outputs}
        self.readers: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for value in dict.fromkeys(node.inputs):
                self.readers.setdefault(value, []).append(node)

    def written(self, node: Node) -> Sequence[Value]:
        """Return the operands whose memory a step writes to, or may."""
        if node.op in (scan_op, while_op):
            params = dict(node.params)
            return node.inputs[: Layout(*params["layout"]).carries if "layout" in params else params["carries"]]
        if node.op is ew.add_op:
            x, y = node.inputs
            return [v for v, other in ((x, y), (y, x)) if self._is_part(other)]
        return node.inputs[:1] if node.op in UPDATES else ()

    def _is_part(self, value: Value) -> bool:
        return value in self.maker and self.maker[value].op in PARTS

    def read_before(self, node: Node, value: Value) -> None:
        """Let later steps that read an operand of a step come before it, unless they need it."""
        others = [n for n in self.readers[value] if n is not node]
        if not others or value in self.graph.outputs or any(value in self.written(n) for n in others):
            return
        at = self.nodes.index(node)
        behind = {*self.nodes[at:]}
        needed = self._needed([n for n in others if n in behind], behind)
        if needed and node not in needed and not any(map(happens_once, needed)):
            self.nodes[at:] = sorted(self.nodes[at:], key=lambda n: n not in needed)

    def _needed(self, nodes: Sequence[Node], among: set[Node]) -> set[Node]:
        """Return these nodes, and what they need of others: operands, and run-time sizes."""
        needed: set[Node] = set()
        todo = [*nodes]
        while todo:
            node = todo.pop()
            if node in among and node not in needed:
                needed.add(node)
                todo += [self.maker[v] for v in (*node.operands, *self._sizes(node)) if v in self.maker]
        return needed

    def _sizes(self, node: Node) -> list[Value]:
        """Return the values that have the run-time sizes in the array types of a node."""
        runtime = self.graph.runtime
        extents = [e for v in (*node.operands, *node.outputs) for e in v.meta.extents] if runtime else []
        named = [v for e in extents if not isinstance(e, Unknown) for v in variables(e.size)]
        return [runtime[v][0] for v in named if v in runtime]

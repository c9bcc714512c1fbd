"""Rematerialisation: cheap values are computed again after the memory peak, instead of being kept.

The nodes are split at the peak, where the live values take the most bytes: in a gradient, between forward and backward.
A value that the late part reads is kept, at the price of its bytes, or recomputed. It is recomputed from kept values
and from inputs, which cost nothing. The cheapest choice is a minimum cut, as in "Min-cut optimal(*) recomputation (i.e.
activation checkpointing) with AOTAutograd" (H. He, 2022).

A value is recomputed just before it is read. With several segments, the values that lead from one to the next are kept.
A long chain is then not recomputed as a whole, as in "Training deep nets with sublinear memory cost" (T. Chen, B. Xu,
C. Zhang, C. Guestrin, 2016).
"""

import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple, raises
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.ops.control import enter_checkpoint_op
from anyshape.ops.movement import broadcast_in_dim_op
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import networkx

_THERE, _READ = "there", "read"  # source and sink of the flow network
Weigh = Callable[[TensorMeta], "int | None"]  # the bytes of a value, None where they are not known


def rematerialise(graph: Graph, weigh: Weigh, segments: int = 1) -> Graph | None:
    """Return the graph with values recomputed instead of kept; None where none is worth it.

    `weigh` gives the bytes of a value at the sizes that the choice is made for. The graph holds at all sizes.
    """
    split = _split(graph, weigh)
    early = range(split.peak)
    if not any(not split.readers[v].isdisjoint(early) for v in split.live if v in split.maker):
        return None  # live values are read late only: recomputing them is computing them late
    kept_values = _minimum_cut(split, weigh, _anchors(split, weigh, segments))
    result = remove_dead_code(_Recomputation(graph, split, kept_values).run())
    return result if _count_ops(result) > _count_ops(graph) else None


def _count_ops(graph: Graph) -> int:
    return sum(node.op is not enter_checkpoint_op for node in graph.nodes)


@dataclass
class _Split:
    """Nodes, split before position `peak`.

    - `maker`: the node of each value that the early part makes and that may be recomputed.
    - `free`: values that are there whatever is chosen.
    - `live`: values that the early part makes and the late part reads.
    - `readers`: positions of the early nodes that read a value.
    """

    nodes: tuple[Node, ...]
    peak: int
    maker: dict[Value, Node]
    free: set[Value]
    live: set[Value]
    readers: dict[Value, set[int]]


def _is_recomputable(node: Node, weigh: Weigh) -> bool:
    pure = TRAITS[node.op].recomputable and not raises(node) and not node.op.makes_sizes
    return pure and all(weigh(v.meta) is not None for v in (*node.operands, *node.outputs))


def _takes_no_memory(node: Node) -> bool:
    """Return whether the plan leaves the node to NumPy: filled arrays and stretches."""
    return not node.inputs or node.op is broadcast_in_dim_op


def _split(graph: Graph, weigh: Weigh) -> _Split:
    """Split the nodes at the memory peak."""
    nodes = graph.nodes
    made = {v: i for i, node in enumerate(nodes) for v in node.outputs}
    peak = _peak(graph, made, weigh)
    early, late = nodes[:peak], nodes[peak:]
    read_late = {v for node in late for v in node.inputs}
    return _Split(
        nodes,
        peak,
        maker=_recomputable_values(graph, early, weigh),
        free={v for v in made if v in graph.outputs or weigh(v.meta) is None},
        live={v for v in read_late if made.get(v, peak) < peak},
        readers=_early_readers(early, made),
    )


def _recomputable_values(graph: Graph, early: Iterable[Node], weigh: Weigh) -> dict[Value, Node]:
    nodes = [node for node in early if _is_recomputable(node, weigh)]
    return {v: node for node in nodes for v in node.outputs if v not in graph.outputs}


def _peak(graph: Graph, made: dict[Value, int], weigh: Weigh) -> int:
    """Return the position of the node at which the live values take the most bytes."""
    nodes = graph.nodes
    last = {v: i for i, node in enumerate(nodes) for v in node.inputs} | dict.fromkeys(graph.outputs, len(nodes))
    change = [0] * (len(nodes) + 2)
    for value, i in made.items():
        size = 0 if _takes_no_memory(nodes[i]) else weigh(value.meta) or 0
        change[i + 1] += size
        change[last.get(value, i) + 1] -= size
    live_bytes = list(itertools.accumulate(change))[: len(nodes)]
    peak = max(range(len(nodes)), key=lambda i: live_bytes[i], default=0)
    while peak < len(nodes) and (not nodes[peak].inputs or not _is_recomputable(nodes[peak], weigh)):
        peak += 1  # else its operands would be recomputed for this node alone
    return peak


def _early_readers(early: Collection[Node], made: Collection[Value]) -> dict[Value, set[int]]:
    readers: dict[Value, set[int]] = {v: set() for v in made}
    for i, node in enumerate(early):
        for value in node.inputs:
            if value in readers:
                readers[value].add(i)
    return readers


def _anchors(split: _Split, weigh: Weigh, segments: int) -> set[Value]:
    """Return the values that lead from one segment of the early part to the next, cut where they take least."""
    anchors: set[Value] = set()
    spans = _live_spans(split)
    for k in range(1, segments):
        middle, reach = split.peak * k // segments, split.peak // (2 * segments)
        cuts = range(max(1, middle - reach), middle + reach + 1)
        crossing = [[v for start, end, v in spans if start < cut <= end] for cut in cuts]
        if crossing:
            anchors.update(min(crossing, key=lambda values: sum(weigh(v.meta) or 0 for v in values)))
    return anchors


def _live_spans(split: _Split) -> list[tuple[int, int, Value]]:
    """Return where each early value that takes memory is made and last read, within the early part."""
    made = [
        (i, v) for i, node in enumerate(split.nodes[: split.peak]) if not _takes_no_memory(node) for v in node.outputs
    ]
    return [(i, max(split.readers[v]), v) for i, v in made if split.readers[v]]


def _minimum_cut(split: _Split, weigh: Weigh, anchors: Collection[Value]) -> set[Value]:
    """Return the early values to keep: a minimum cut between what is there and what is read."""
    values = [v for node in split.nodes[: split.peak] for v in node.outputs]
    flow: Any = networkx.DiGraph()
    flow.add_nodes_from([_THERE, _READ])
    for value in values:
        node = split.maker.get(value) if value not in anchors else None
        _add_value(flow, value, node, 0 if value in split.free else weigh(value.meta) or 0)
    flow.add_edges_from([((value, "out"), _READ) for value in values if value in split.live])
    _, (reached, _) = networkx.minimum_cut(flow, _THERE, _READ)
    return {v for v in values if (v, "in") in reached and (v, "out") not in reached}


def _add_value(flow, value: Value, node: Node | None, capacity: int) -> None:
    """Add a value whose cut costs `capacity`. It is made of the operands of its node, or is there."""
    flow.add_edge((value, "in"), (value, "out"), capacity=capacity)
    if node is None:
        flow.add_edge(_THERE, (value, "in"))
        return
    for operand in node.inputs:
        if (operand, "out") in flow:  # inputs of the program are not
            flow.add_edge((operand, "out"), (value, "in"))


class _Recomputation:
    """Builds the graph whose late part reads kept values, and recomputes the others just before.

    A recomputed value starts with a checkpoint mark, so that no other pass takes it for a common subexpression.
    """

    def __init__(self, graph: Graph, split: _Split, kept_values: set[Value]) -> None:
        self.graph, self.split, self.kept_values = graph, split, kept_values
        numbers = [dict(n.params)["turn"] for n in graph.nodes if n.op is enter_checkpoint_op]
        self.mark = params_tuple({"keep": "", "turn": 1 + max(numbers, default=0)})
        self.nodes = list(split.nodes[: split.peak])
        self.copies: dict[Value, Value] = {}  # recomputed and marked values, by the early ones

    def run(self) -> Graph:
        for node in self.split.nodes[self.split.peak :]:
            inputs = tuple([self._late(v) for v in node.inputs])
            self.nodes.append(replace(node, inputs=inputs))
        return replace(self.graph, nodes=tuple(self.nodes))

    def _maker(self, value: Value) -> Node | None:
        """Return the node that recomputes a value, or None for a value that is there."""
        return None if value in self.kept_values else self.split.maker.get(value)

    def _late(self, value: Value) -> Value:
        """Return the value that the late part reads in place of an early one."""
        if self._maker(value) is None:
            return value
        todo = [value]
        while todo:
            node = self._maker(todo[-1])
            missing = (
                [x for x in node.inputs if x not in self.copies]
                if node is not None and todo[-1] not in self.copies
                else []
            )
            if missing:
                todo.extend(missing)
            else:
                self._copy(todo.pop(), node)
        return self.copies[value]

    def _copy(self, value: Value, node: Node | None) -> None:
        """Add the node that recomputes a value, or the mark of a kept one."""
        if value in self.copies:
            return
        if node is None:
            self.copies[value] = Value(value.meta)
            self.nodes.append(Node(enter_checkpoint_op, (value,), (), self.mark, (self.copies[value],)))
            return
        self.copies.update({x: Value(x.meta) for x in node.outputs})
        inputs = tuple([self.copies[x] for x in node.inputs])
        self.nodes.append(replace(node, inputs=inputs, outputs=tuple([self.copies[x] for x in node.outputs])))

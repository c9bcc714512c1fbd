"""Rematerialisation: what is cheap is computed again behind the place where most is alive, instead of being kept.

The nodes are cut in two where the values that wait for later nodes take the most bytes: in a gradient, between forward
and backward. What the second part reads is either kept, at the price of its bytes, or computed again from what is kept
and from inputs, which cost nothing. The cheapest choice is a minimum cut, as in "Min-cut optimal(*) recomputation
(i.e. activation checkpointing) with AOTAutograd" (H. He, 2022). What is computed again is computed just before it is
read. With several segments, what leads from one to the next is kept, so that not all of a long chain is computed again
at once, as in "Training deep nets with sublinear memory cost" (T. Chen, B. Xu, C. Zhang, C. Guestrin, 2016).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.ops.control import enter_checkpoint_op
from anyshape.ops.movement import broadcast_in_dim_op
from anyshape.support.packages import networkx

Weigh = Callable[[TensorMeta], "int | None"]


def rematerialise(graph: Graph, weigh: Weigh, segments: int = 1) -> Graph | None:
    """The graph with values computed again instead of kept, None where there are none that it pays for.

    `weigh` gives the bytes of a value at the sizes that the choice is made for; the graph holds at all sizes.
    """
    split = _split(graph, weigh)
    if not any(not split.before[v].isdisjoint(split.early) for v in split.waiting if v in split.maker):
        return None  # what waits is read later only: to compute it again is to compute it later
    kept = _kept(split, weigh, _anchors(split, weigh, segments))
    found = remove_dead_code(_rewritten(graph, split, kept))
    nodes = [n for n in found.nodes if n.op is not enter_checkpoint_op]
    return found if len(nodes) > len([n for n in graph.nodes if n.op is not enter_checkpoint_op]) else None


@dataclass
class _Split:
    """The nodes before and behind the place. `waiting` are the values that are made before it and read behind it."""

    nodes: tuple[Node, ...]
    place: int
    maker: dict[Value, Node]  # of what is cheap and made before the place
    free: set[Value]  # what is there whatever is chosen
    waiting: set[Value]
    before: dict[Value, set[int]]  # who reads a value, of the nodes before the place

    @property
    def early(self) -> range:
        return range(self.place)


def _cheap(node: Node, weigh: Weigh) -> bool:
    plain = find_traits(node.op).recomputable and not node.op.raises and not node.op.mints
    return plain and all(weigh(v.meta) is not None for v in (*node.operands, *node.outputs))


def _absorbed(node: Node) -> bool:
    """It takes no memory of its own: numbers and stretches are left to NumPy."""
    return not node.inputs or node.op is broadcast_in_dim_op


def _split(graph: Graph, weigh: Weigh) -> _Split:
    """Cut the nodes where most bytes wait."""
    nodes = graph.nodes
    made = {v: i for i, node in enumerate(nodes) for v in node.outputs}
    last = {v: i for i, node in enumerate(nodes) for v in node.inputs} | dict.fromkeys(graph.outputs, len(nodes))
    change = [0] * (len(nodes) + 2)
    for v, i in made.items():
        taken = 0 if _absorbed(nodes[i]) else weigh(v.meta) or 0
        change[i + 1] += taken
        change[last.get(v, i) + 1] -= taken
    alive = list(itertools.accumulate(change))[: len(nodes)]
    place = max(range(len(nodes)), key=lambda i: alive[i], default=0)
    while place < len(nodes) and (not nodes[place].inputs or not _cheap(nodes[place], weigh)):
        place += 1  # else what it reads were computed for it behind the place alone
    early, late = nodes[:place], nodes[place:]
    read = {v for node in late for v in node.inputs}
    before: dict[Value, set[int]] = {v: set() for v in made}
    for i, node in enumerate(early):
        for v in node.inputs:
            if v in before:
                before[v].add(i)
    maker = {v: node for node in early if _cheap(node, weigh) for v in node.outputs if v not in graph.outputs}
    free = {v for v in made if v in graph.outputs or weigh(v.meta) is None}
    return _Split(nodes, place, maker, free, {v for v in read if made.get(v, place) < place}, before)


def _anchors(split: _Split, weigh: Weigh, segments: int) -> set[Value]:
    """What leads from one segment of the first part to the next, cut where that is least."""
    made = {v: i for i in split.early for v in split.nodes[i].outputs}
    spans = [(i, max(split.before[v]), v) for v, i in made.items() if split.before[v] and not _absorbed(split.nodes[i])]
    found: set[Value] = set()
    for k in range(1, segments):
        middle, reach = split.place * k // segments, split.place // (2 * segments)
        places = range(max(1, middle - reach), middle + reach + 1)
        crossing = {b: [v for start, end, v in spans if start < b <= end] for b in places}
        if crossing:
            found.update(min(crossing.values(), key=lambda vs: sum(weigh(v.meta) or 0 for v in vs)))
    return found


def _kept(split: _Split, weigh: Weigh, anchors: Collection[Value]) -> set[Value]:
    """The values to keep, of those made before the place: a minimum cut between what is there and what is read."""
    flow: Any = networkx.DiGraph()
    flow.add_nodes_from(["there", "read"])
    for node in split.nodes[: split.place]:
        for v in node.outputs:
            flow.add_edge((v, "in"), (v, "out"), capacity=0 if v in split.free else weigh(v.meta) or 0)
            again = split.maker.get(v) if v not in anchors else None
            if again is None:
                flow.add_edge("there", (v, "in"))
            for operand in again.inputs if again is not None else ():
                if (operand, "out") in flow:  # what is no input of the program
                    flow.add_edge((operand, "out"), (v, "in"))
            if v in split.waiting:
                flow.add_edge((v, "out"), "read")
    _, (reached, _) = networkx.minimum_cut(flow, "there", "read")
    return {v for v, side in (key for key in flow if isinstance(key, tuple)) if side == "in"
            and (v, "in") in reached and (v, "out") not in reached}  # fmt: skip


def _rewritten(graph: Graph, split: _Split, kept: set[Value]) -> Graph:
    """The graph whose second part reads what is kept, and computes the rest again just before."""
    turn = 1 + max([dict(n.params)["turn"] for n in graph.nodes if n.op is enter_checkpoint_op], default=0)
    params = params_tuple({"keep": "", "turn": turn})
    nodes, again = list(split.nodes[: split.place]), dict[Value, Value]()

    def make(value: Value) -> Value:
        """What stands for a value in the second part: made of what is kept, but not the same to other passes."""
        todo = [value]
        while todo:
            v = todo[-1]
            node = None if v in kept else split.maker.get(v)
            missing = [x for x in node.inputs if x not in again] if node is not None and v not in again else []
            todo.extend(missing)
            if missing:
                continue
            todo.pop()
            if v in again:
                continue
            if node is None:
                again[v] = Value(v.meta)
                nodes.append(Node(enter_checkpoint_op, (v,), (), params, (again[v],)))
            else:
                again.update({x: Value(x.meta) for x in node.outputs})
                inputs = tuple([again[x] for x in node.inputs])
                nodes.append(replace(node, inputs=inputs, outputs=tuple([again[x] for x in node.outputs])))
        return again[value]

    def read(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple([make(v) if v in split.maker and v not in kept else v for v in values])

    for node in split.nodes[split.place :]:
        inputs = read(node.inputs)
        nodes.append(replace(node, inputs=inputs))
    return replace(graph, nodes=tuple(nodes))

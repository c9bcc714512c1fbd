"""Masks of loops: a `while` makes each of its trips, so the mask of them is true, and no other loop need read it.

A derivative of a batch reads masks, as its examples may have different trips. In a graph that runs, a scan or a rerun
over the trips of one `while` so computes with a literal. What stays of a mask is its size, the number of trips.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.ops.creation import full_op
from anyshape.ops.loops import Layout, mask_position, rerun_op, scan_op, while_op
from anyshape.ops.movement import concatenate_op, slice_op

BOOL = np.dtype(bool)


def without_masks(graph: Graph) -> Graph:
    """Return a graph that runs, in which no loop reads the mask of a `while`. Its checkpoint slots have no stacks."""
    masks = {node.outputs[i] for node in graph.nodes if (i := mask_position(node)) is not None}
    if not masks:
        return graph
    rows = _Masks(graph, masks)
    nodes = tuple([rows.renewed(node) for node in graph.nodes])
    if nodes == graph.nodes:
        return graph
    return remove_dead_code(replace(graph, nodes=nodes))


class _Masks:
    """Masks of a graph, and what a rerun reads of them: whether a trip is made, and whether another one follows it.

    - `followed`: by a value that is true for all trips but the last one, the mask.
    """

    def __init__(self, graph: Graph, masks: set[Value]) -> None:
        self.masks, self.ctx = masks, pass_context(pass_scope(graph), "loop_masks")
        self.maker = {v: node for node in graph.nodes for v in node.outputs}
        self.read = {*graph.outputs, *[v for node in graph.nodes for v in node.operands]}
        self.followed = {node.outputs[0]: mask for node in graph.nodes if (mask := self._mask_behind(node)) is not None}

    def _mask_behind(self, node: Node) -> Value | None:
        """Return the mask that a node moves by one trip, with False behind the last one."""
        joined = self.maker.get(node.inputs[0]) if node.op is slice_op else None
        if joined is None or joined.op is not concatenate_op or len(joined.inputs) != 2:
            return None
        mask, end = joined.inputs
        params = dict(node.params)
        is_moved = params["starts"] == (1,) and params["steps"] == (1,) and mask in self.masks and self._is_false(end)
        return mask if is_moved and self.ctx.same_extents(node.outputs[0], mask) else None

    def _is_false(self, value: Value) -> bool:
        node = self.maker.get(value)
        return node is not None and node.op is full_op and not dict(node.params)["value"]

    def renewed(self, node: Node) -> Node:
        """Return a loop that reads no mask, and other nodes as they are."""
        params = dict(node.params)
        if node.op is while_op and params["slots"]:
            return self._without_unread(node, params)
        if node.op is scan_op:
            layout, (body,) = Layout(*params["layout"]), params["body"]
            stacks = node.inputs[layout.stacks]
            known = [i for i, x in enumerate(stacks, layout.stacks.start) if x in self.masks]
            return _with(node, node.inputs, body=(_with_true(body, known),)) if known else node
        return self._rerun(node, params) if node.op is rerun_op else node

    def _rerun(self, node: Node, params: dict[str, Any]) -> Node:
        """Return a rerun whose bodies read no mask.

        Nobody reads the carries after the last trip. So the loop may take for granted that another trip follows.
        """
        (loop, body), start, layout = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
        inputs, known = list(node.inputs), list[int]()
        for i in range(start.stacks.start, start.stacks.stop):
            mask = self.followed.get(inputs[i])
            if mask is not None and not _reads(loop, loop.inputs[i], loop.outputs[start.carries :]):
                inputs[i] = mask
            if inputs[i] in self.masks:
                known.append(i)
        first = len(inputs) - (len(body.inputs) - (len(loop.outputs) - start.carries))
        own = range(layout.carries, layout.stacks.stop - (len(loop.outputs) - start.carries - layout.pieces))
        of_scan = [i for i in own if inputs[first + i] in self.masks]
        if not known and not of_scan:
            return node
        return _with(node, tuple(inputs), bodies=(_with_true(loop, known), _with_true(body, of_scan)))

    def _without_unread(self, node: Node, params: dict[str, Any]) -> Node:
        """Return a loop with checkpoint slots without the stacks that nothing reads."""
        (test, body), count = params["loop"], params["carries"]
        ends, filled = len(body.outputs) + 1, node.outputs[len(body.outputs) + 1 :]
        stacks = node.outputs[count + 1 : ends]
        live = [v in self.read for v in stacks]
        if all(live) or params["joined"]:
            return node
        outputs = [y for y, flag in zip(body.outputs[count:], live, strict=True) if flag]
        body = remove_dead_code(replace(body, outputs=(*body.outputs[:count], *outputs)))
        results = (*node.outputs[: count + 1], *[v for v, flag in zip(stacks, live, strict=True) if flag], *filled)
        return replace(_with(node, node.inputs, loop=(test, body)), outputs=results)


def _with(node: Node, inputs: tuple[Value, ...], **params) -> Node:
    return replace(node, inputs=inputs, params=params_tuple(dict(node.params) | params))


def _with_true(body: Graph, positions: Sequence[int]) -> Graph:
    """Return a body that computes with True in place of these inputs."""
    if not positions:
        return body
    inputs, fills = list(body.inputs), list[Node]()
    for i in positions:
        params = params_tuple({"dtype": BOOL, "shape": (), "value": True})
        fills.append(Node(full_op, (), (), params, (inputs[i],)))
        inputs[i] = Value(inputs[i].meta)
    return replace(body, inputs=tuple(inputs), nodes=(*fills, *body.nodes))


def _reads(graph: Graph, value: Value, outputs: Sequence[Value]) -> bool:
    """Return whether one of these outputs depends on a value."""
    dependent = {value}
    for node in graph.nodes:
        if not dependent.isdisjoint(node.operands):
            dependent.update(node.outputs)
    return not dependent.isdisjoint(outputs)

"""Prune loops: results that nothing reads leave the body, and so do carries and operands that no other result needs.

A stack that nothing reads is not made, and a carry that nothing reads does not run. A loop whose results nothing reads
runs for what its trips refuse: once, where all trips refuse the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple, raises
from anyshape.graph.ir.op_local import axes_read, bind_local
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.loops import Layout, scan_op, while_each_op, while_op
from anyshape.ops.movement import slice_op
from anyshape.ops.prune_inputs import (
    TOKEN,
    read_positions,
    with_first,
    with_inputs,
    with_outputs,
    with_token,
)

Prune = Callable[[Graph], Graph]


def prune_while(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a loop of unknown length with its live results, and the mask of trips where it has any behind carries.

    A loop with checkpoint slots stays.
    """
    params = dict(node.params)
    (test, body), count = params["loop"], params["carries"]
    if params["slots"]:
        return node
    added = list(live[count + 1 :])
    if any(live[count : count + 1]) and not any(added):
        added[0] = True  # the mask tells how many trips add something
    carries, body = _live_body(body, live[:count], added, [test], prune)
    outputs = [*carries, *[any(added)] * bool(added), *added]
    captured = [i for i in read_positions([test, body]) if i >= count]
    positions = [*[i for i in range(count) if carries[i]], *captured]
    if all(outputs) and len(positions) == len(node.inputs):
        return node
    joined = sum(added[len(added) - params["joined"] :])
    new = {"loop": with_inputs([test, body], positions), "carries": sum(carries), "joined": joined}
    return _renewed(node, outputs, [node.inputs[i] for i in positions], new)


def prune_scan(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a loop over elements with its live carries and stacks. Joined results stay, as lengths belong to them.

    So does a loop with checkpoint slots.
    """
    params = dict(node.params)
    (body,), layout = params["body"], Layout(*params["layout"])
    if params["slots"]:
        return node
    stacked = len(body.outputs) - params["joined"]
    added = [*live[layout.carries : stacked], *[True] * params["joined"]]
    carries, body = _live_body(body, live[: layout.carries], added, [], prune)
    positions, elements = _positions_of_scan(body, layout, carries)
    outputs, count = [*carries, *added], len(params["body"][0].inputs)
    if not any(outputs) or (all(outputs) and len(positions) == count):
        return node
    new = {"body": with_inputs([body], positions), "layout": (sum(carries), elements, layout.pieces)}
    remaining = [*positions, *range(count, len(node.inputs))]
    if params["ends"]:
        ends = tuple([shape for shape, flag in zip(params["ends"], carries, strict=True) if flag])
        node, new["ends"] = _with_sizes_of(node, remaining, ends)
    return _renewed(node, outputs, [node.inputs[i] for i in remaining], new)


def _with_sizes_of(node: Node, remaining: Sequence[int], sizes: Any) -> tuple[Node, Any]:
    """Return a node, and sizes over its operands in terms of the ones that remain and of further sources."""
    first = len(node.inputs)
    lost = [*dict.fromkeys(axis.operand for axis in axes_read(sizes) if axis.operand < first)]
    lost = [i for i in lost if i not in remaining]
    order = [*remaining, *range(first, first + len(node.sources)), *lost]
    renamed = bind_local(sizes, lambda axis: expr.input_axis(order.index(axis.operand), axis.axis))
    return replace(node, sources=(*node.sources, *[node.inputs[i] for i in lost])), renamed


def prune_unused_scan(node: Node, prune: Prune, ctx: ShapeGuardContext) -> list[Node]:
    """Return the nodes that run a scan for what it refuses alone."""
    params = dict(node.params)
    if params["ends"] or params["slots"]:
        return [node]
    carries = Layout(*params["layout"]).carries
    return _first_trip(prune_scan(_with_token(node, ctx), [*[False] * carries, True], prune), ctx)


def _with_token(node: Node, ctx: ShapeGuardContext) -> Node:
    """Return a scan whose trips give carries and a token, in place of its results."""
    params = dict(node.params)
    (body,), layout = params["body"], Layout(*params["layout"])
    refusing = remove_dead_code(with_token(body, layout.carries))
    outputs = (*node.outputs[: layout.carries], Value(_tokens(node.inputs[layout.carries], ctx)))
    inputs = node.inputs[: len(body.inputs) + layout.pieces]
    return replace(
        node, inputs=inputs, params=params_tuple(params | {"body": (refusing,), "joined": 0}), outputs=outputs
    )


def _tokens(stack: Value, ctx: ShapeGuardContext) -> TensorMeta:
    """Return the type of the tokens of all trips over a stack."""
    return TensorMeta(TOKEN.dtype, (ctx.extent(stack, 0, field="elements"),))


def _first_trip(node: Node, ctx: ShapeGuardContext) -> list[Node]:
    """Return the nodes that run a scan with a token alone for one trip at most, if all trips refuse the same.

    A trip without a carry that reads no element refuses sizes and captured values alone.
    """
    params = dict(node.params)
    (body,), layout = params["body"], Layout(*params["layout"])
    stack, reads = node.inputs[layout.carries], {v for n in body.nodes for v in n.inputs}
    sizes = ctx.sizes(stack, field="elements")
    if layout.own > 1 or sizes is None or body.inputs[0] in reads or any(map(raises, body.nodes)):
        return [node]
    if _one_at_most(sizes[0]) == sizes[0]:
        return [node]
    local = [expr.input_axis(0, axis) for axis in range(len(sizes))]
    shape = {"starts": (0,) * len(sizes), "sizes": (_one_at_most(local[0]), *local[1:]), "steps": (1,) * len(sizes)}
    first = Value(tensor(stack.meta.dtype, [_one_at_most(sizes[0]), *sizes[1:]]))
    cut = Node(slice_op, (stack,), (), params_tuple(shape), (first,), node.where)
    return [cut, replace(node, inputs=(first, *node.inputs[1:]), outputs=(Value(_tokens(first, ctx)),))]


def _one_at_most(size: Size) -> Size:
    return expr.minimum(size, 1)


def _positions_of_scan(body: Graph, layout: Layout, carries: Sequence[bool]) -> tuple[list[int], int]:
    """Return the positions of the inputs of a body that stay, and how many of them are elements: one at least."""
    read, first = read_positions([body]), layout.stacks.start
    elements = [i for i in read if first <= i < layout.stacks.stop] or [first]
    live = [i for i, flag in enumerate(carries) if flag]
    captured = [i for i in read if i >= layout.own]
    return [*live, *elements, *range(layout.stacks.stop, layout.own), *captured], len(elements)


def prune_while_each(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a loop of each example with its live results."""
    live = with_first(live)
    if all(live):
        return node
    params = dict(node.params)
    new = {name: tuple(map(prune, with_outputs(params[name], live))) for name in ("one", "rows")}
    return _renewed(node, live, node.inputs, new)


LOOP_PRUNERS: dict[Op, Callable[[Node, Sequence[bool], Prune], Node]] = {
    scan_op: prune_scan,
    while_op: prune_while,
    while_each_op: prune_while_each,
}


def _live_body(
    body: Graph, carries: Sequence[bool], added: Sequence[bool], others: Sequence[Graph], prune: Prune
) -> tuple[list[bool], Graph]:
    """Return which carries are live, and the body of these: they are results, or something live reads them."""
    flags, stacked = list(carries), list(added)
    while True:
        live = prune(*with_outputs([body], [*flags, *stacked]))  # an inner loop may read what it then does not
        read = {*read_positions([*others, live])}
        after = [flag or i in read for i, flag in enumerate(flags)]
        if not any((*after, *stacked)):
            after[:1] = [True]  # a node has a result
        if after == flags:
            return flags, live
        flags = after


def _renewed(node: Node, live: Sequence[bool], inputs: Sequence[Any], params: dict[str, Any]) -> Node:
    """Return a node with these operands and the live ones of its results."""
    outputs = tuple([v for v, flag in zip(node.outputs, live, strict=True) if flag])
    merged = params_tuple(dict(node.params) | params)
    return Node(node.op, tuple(inputs), node.sources, merged, outputs, node.where)

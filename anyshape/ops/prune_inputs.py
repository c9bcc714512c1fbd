"""Subgraphs with fewer outputs, with the inputs alone that they then read, or with no more than what they refuse.

Prune loops: results that nothing reads leave the body, and so do carries and operands that no other result needs.

A stack that nothing reads is not made, and a carry that nothing reads does not run. A loop whose results nothing reads
runs for what its trips refuse: once, where all trips refuse the same.

Prune conditionals: results that nothing reads leave the branches, and so do operands that none of them reads.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import DimSource, Graph, Node, Op, Value, params_tuple, raises
from anyshape.graph.ir.op_local import axes_of_variables, axes_read, bind_local, remove_dead_code
from anyshape.graph.ir.validate import variables_in_types
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis, Size
from anyshape.ops.control_flow import cond_each_op, cond_op
from anyshape.ops.creation import full_op
from anyshape.ops.loops import Layout, changing_carries, rerun_op, scan_op, split_operands, while_each_op, while_op
from anyshape.ops.movement import slice_op
from anyshape.ops.subgraph_call import with_element
from anyshape.support.lazy_dataclass import replace

TOKEN = TensorMeta(np.dtype(bool), ())  # of the result of a subgraph that runs for what it refuses


def with_outputs(graphs: Sequence[Graph], live: Sequence[bool]) -> list[Graph]:
    """Return subgraphs with their live outputs alone, and what these need."""
    outputs = [tuple([v for v, flag in zip(g.outputs, live, strict=True) if flag]) for g in graphs]
    return [remove_dead_code(replace(g, outputs=ends)) for g, ends in zip(graphs, outputs, strict=True)]


def with_first(live: Sequence[bool]) -> list[bool]:
    """Return flags of live results: the first one is live where none is, as a node has a result."""
    return [*live] if any(live) else [True, *live[1:]]


def with_token(graph: Graph, count: int = 0) -> Graph:
    """Return a subgraph with a token behind the first outputs, in place of all others."""
    token = Value(TOKEN)
    fill = Node(full_op, (), (), params_tuple({"dtype": TOKEN.dtype, "shape": (), "value": False}), (token,))
    return replace(graph, nodes=(*graph.nodes, fill), outputs=(*graph.outputs[:count], token))


def read_positions(graphs: Sequence[Graph], always: Sequence[int] = ()) -> list[int]:
    """Return the positions of the inputs that one of the graphs reads, as values or for a size that it has."""
    read = {*always}
    for g in graphs:
        values = {*g.outputs, *[v for n in g.nodes for v in n.operands]}
        read |= {i for i, v in enumerate(g.inputs) if v in values}
    for graph in graphs:
        inputs = [v for i, v in enumerate(graph.inputs) if i in read]
        without = replace(graph, inputs=tuple(inputs))
        missing = {*variables_in_types(without)} - axes_of_variables(inputs).keys() - graph.runtime.keys()
        read.update([axis.operand for s in graph.dims if s.variable in missing and (axis := _axis(s)) is not None])
    return sorted(read)


def _axis(source: DimSource) -> InputAxis | None:
    axis = expr.as_atom(source.size)
    return axis if isinstance(axis, InputAxis) else None


def with_inputs(graphs: Sequence[Graph], positions: Sequence[int]) -> tuple[Graph, ...]:
    """Return subgraphs with these of their inputs."""
    return tuple([_with_inputs_of(g, [g.inputs[i] for i in positions]) for g in graphs])


def _with_inputs_of(graph: Graph, inputs: Sequence[Value]) -> Graph:
    dims = tuple([DimSource(v, size) for v, size in axes_of_variables(inputs).items()])
    return replace(graph, inputs=tuple(inputs), dims=dims)


Prune = Callable[[Graph], Graph]


def prune_while(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a loop of unknown length with its live results, and the mask of trips where it has any behind carries."""
    params = dict(node.params)
    (test, body), count = params["loop"], params["carries"]
    end = len(body.outputs) + 1
    if any(live[count : count + 1]) and not any(live[count + 1 :]):
        return prune_while(_with_counter(node), [*live[: count + 1], True, *live[end:]], prune)
    added, slots = list(live[count + 1 : end]), _Slots(body, Layout(count), live[end:])
    carries, body = _live_body(body, slots.live_carries(live), added, [test], prune)
    mask = [any(added) or slots.stay] * (len(node.outputs) > count)
    outputs = [*carries, *mask, *added, *slots.outputs(carries)]
    captured = [i for i in read_positions([test, body]) if i >= count]
    positions = [*[i for i in range(count) if carries[i]], *captured]
    if all(outputs) and len(positions) == len(node.inputs):
        return node
    joined = sum(added[len(added) - params["joined"] :])
    new = {"loop": with_inputs([test, body], positions), "carries": sum(carries), "joined": joined, "slots": slots.stay}
    return _renewed(node, outputs, [node.inputs[i] for i in positions], new)


def _with_counter(node: Node) -> Node:
    """Return a loop whose trips add a flag in place of other results: its mask stays while they add something."""
    params = dict(node.params)
    (test, body), count = params["loop"], params["carries"]
    at = next((i for i, v in enumerate(body.outputs) if i >= count and v.meta == TOKEN), None)
    flag = Value(node.outputs[count].meta) if at is None else node.outputs[at + 1]
    new = with_token(body, count) if at is None else replace(body, outputs=(*body.outputs[:count], body.outputs[at]))
    outputs = (*node.outputs[: count + 1], flag, *node.outputs[len(body.outputs) + 1 :])
    return replace(node, params=params_tuple(params | {"loop": (test, new), "joined": 0}), outputs=outputs)


def prune_scan(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a loop over elements with its live results. The lengths of pieces and joined results go with these."""
    params = dict(node.params)
    (body,), layout = params["body"], Layout(*params["layout"])
    end, count = len(body.outputs), len(body.inputs)
    slots, joined = _Slots(body, layout, live[end:]), live[end - params["joined"] : end]
    carries, body = _live_body(body, slots.live_carries(live), live[layout.carries : end], [], prune)
    outputs = [*carries, *live[layout.carries : end], *slots.outputs(carries)]
    positions, plan = _positions_of_scan(body, layout, carries)
    lengths = [*[i in positions for i in range(layout.stacks.stop, layout.own)], *joined]
    remaining = [*positions, *[i for i, flag in zip(range(count, len(node.inputs)), lengths, strict=False) if flag]]
    if not any(outputs) or (all(outputs) and len(remaining) == len(node.inputs)):
        return node
    new = {"body": with_inputs([body], positions), "layout": tuple(plan), "joined": sum(joined), "slots": slots.stay}
    return _with_operands(node, outputs, remaining, params | new, scan_op)


class _Slots:
    """Flags of the live checkpoint slots of a loop, none where it fills none: of their trips, then of each carry.

    They stay, all that belong to live carries, where one is live.
    """

    def __init__(self, body: Graph, layout: Layout, flags: Sequence[bool]) -> None:
        self.flags, self.stay = flags, any(flags)
        remaining = iter(flags[1:])
        counts = [1 + changes for changes in changing_carries(body, layout)] if flags else [0] * layout.carries
        self.of_carries = [[next(remaining) for _ in range(count)] for count in counts]

    def live_carries(self, live: Sequence[bool]) -> list[bool]:
        """Return which carries have a live slot, or are live themselves."""
        return [flag or any(slots) for flag, slots in zip(live, self.of_carries, strict=False)]

    def outputs(self, carries: Sequence[bool]) -> list[bool]:
        """Return the flags of the slots that stay with these carries."""
        own = [flag for flag, slots in zip(carries, self.of_carries, strict=True) for _ in slots]
        return [self.stay and flag for flag in [True, *own]] if self.flags else []


def prune_rerun(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a rerun with its live results, whose loop gives no more than its trips read: a scan if that is nothing."""
    params = dict(node.params)
    (loop, body), start, layout = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
    parts, made = split_operands(range(len(node.inputs)), loop, start), len(loop.outputs) - start.carries
    operand_of = parts.of_scan(layout, [None] * (made - layout.pieces), [None] * layout.pieces)
    carries, body = _live_body(body, live[: layout.carries], live[layout.carries :], [], prune)
    outputs = [*carries, *live[layout.carries :]]
    read = _needed_positions(body, layout, carries)
    own = [i for i in map(operand_of.__getitem__, read) if i is not None]
    is_read = [i in read for i, operand in enumerate(operand_of) if operand is None]
    elements = sum(layout.stacks.start <= i < layout.stacks.stop for i in read)
    plan = Layout(sum(carries), elements, sum(is_read[made - layout.pieces :]))
    (body,) = with_inputs([body], read)
    if not any(is_read):
        return _scan_of(node, outputs, own, body, plan)
    needed, again = _live_body(loop, [False] * start.carries, is_read, [], prune)
    positions, begin = _positions_of_scan(again, start, needed)
    slots = _Slots(loop, start, [True] * len(parts.slots)).outputs(needed)
    remaining = [*positions, *itertools.compress(parts.slots, slots), *own]
    if all(outputs) and len(remaining) == len(node.inputs):
        return node
    bodies = *with_inputs([again], positions), body
    new = {"bodies": bodies, "start": tuple(begin), "layout": tuple(plan)}
    return _with_operands(node, outputs, remaining, params | new, rerun_op)


def _scan_of(node: Node, live: Sequence[bool], own: list[int], body: Graph, plan: Layout) -> Node:
    """Return a scan in place of a rerun, over the first stack of the loop if it has no elements."""
    params, first = dict(node.params), Layout(*dict(node.params)["start"]).stacks.start
    if not plan.elements:
        own = [*own[: plan.carries], first, *own[plan.carries :]]
        body, plan = with_element(body, plan.carries, node.inputs[first].meta), plan._replace(elements=1)
    new = {"body": (body,), "layout": tuple(plan), "joined": 0, "checkpoint": params["slots"], "slots": False}
    return _with_operands(node, live, own, new | {name: params[name] for name in ("reverse", "ends")}, scan_op)


def _with_operands(node: Node, live: Sequence[bool], remaining: Sequence[int], params: dict[str, Any], op: Op) -> Node:
    """Return a scan or a rerun with these operands, and the live ones of its results, whose sizes at the end stay."""
    if params["ends"]:
        ends = tuple([shape for shape, flag in zip(params["ends"], live, strict=False) if flag])
        node, params["ends"] = _with_sizes_of(node, remaining, ends)
    inputs, outputs = tuple([node.inputs[i] for i in remaining]), tuple(itertools.compress(node.outputs, live))
    return replace(node, op=op, inputs=inputs, params=params_tuple(params), outputs=outputs)


def _with_sizes_of(node: Node, remaining: Sequence[int], sizes) -> tuple[Node, Any]:
    """Return a node, and sizes over its operands in terms of the ones that remain and of further sources."""
    first = len(node.inputs)
    lost = [*dict.fromkeys(axis.operand for axis in axes_read(sizes) if axis.operand < first)]
    lost = [i for i in lost if i not in remaining]
    order = [*remaining, *range(first, first + len(node.sources)), *lost]
    renamed = bind_local(sizes, lambda axis: expr.input_axis(order.index(axis.operand), axis.axis))
    return replace(node, sources=(*node.sources, *[node.inputs[i] for i in lost])), renamed


def with_cheap_element(node: Node, carrier_of: Callable[[Value], Node | None]) -> list[Node]:
    """Return the nodes that run a scan. Where trips read none of its elements, these come from a size carrier."""
    params = dict(node.params)
    (body,), layout = params["body"], Layout(*params["layout"])
    at, operands = layout.carries, range(len(node.inputs))
    if layout.elements > 1 or node.inputs[at].meta.dtype.kind == "b" or at in read_positions([body]):
        return [node]
    if (carrier := carrier_of(node.inputs[at])) is None:
        return [node]
    (rest,) = with_inputs([body], [i for i in range(len(body.inputs)) if i != at])
    new = {"body": (with_element(rest, at, carrier.outputs[0].meta),)}
    node, new["ends"] = _with_sizes_of(node, [-1 if i == at else i for i in operands], params["ends"])
    inputs = (*node.inputs[:at], *carrier.outputs, *node.inputs[at + 1 :])
    return [carrier, replace(node, inputs=inputs, params=params_tuple(params | new))]


def prune_unused_scan(node: Node, prune: Prune, ctx: ShapeGuardContext) -> list[Node]:
    """Return the nodes that run a scan for what it refuses alone."""
    params = dict(node.params)
    if params["ends"]:
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
    new = {"body": (refusing,), "joined": 0, "slots": False}
    return replace(node, inputs=inputs, params=params_tuple(params | new), outputs=outputs)


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


def _positions_of_scan(body: Graph, layout: Layout, carries: Sequence[bool]) -> tuple[list[int], Layout]:
    """Return the positions of the inputs of a body that stay, one element at least, and their layout."""
    read, first = _read_positions(body, layout), layout.stacks.start
    elements = [i for i in read if first <= i < layout.stacks.stop] or [first]
    live = [i for i, flag in enumerate(carries) if flag]
    others = [i for i in read if i >= layout.stacks.stop]  # pieces, then captured ones
    return [*live, *elements, *others], Layout(len(live), len(elements), sum(i < layout.own for i in others))


def _needed_positions(body: Graph, layout: Layout, carries: Sequence[bool]) -> list[int]:
    """Return the positions of all live carries, and of other inputs that trips read."""
    live = [i for i, flag in enumerate(carries) if flag]
    return [*live, *[i for i in _read_positions(body, layout) if i >= layout.carries]]


def _read_positions(body: Graph, layout: Layout) -> list[int]:
    """Return the positions of the inputs of a body that stay.

    A piece does where a value or a carry has its length, which a transpose cannot read off linear values.
    """
    pieces = range(layout.stacks.stop, layout.own)
    named = variables_in_types(replace(body, inputs=body.inputs[: layout.carries])) if pieces else set()
    variables = {i: {v for v, _ in body.inputs[i].meta.variable_axes()} for i in pieces}
    return read_positions([body], [i for i in pieces if not variables[i].isdisjoint(named)])


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
    rerun_op: prune_rerun,
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


def prune_cond(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a conditional with its live results alone."""
    branches = [*map(prune, with_outputs(dict(node.params)["branches"], live))]
    positions = read_positions(branches)
    return _renewed_conditional(node, live, positions, {"branches": with_inputs(branches, positions)})


def _prune_cond_each(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a conditional of each example with its live results alone.

    Operands of the branches of one example come first, and stay where either kind of branch reads them.
    """
    params, live = dict(node.params), with_first(live)
    branches, batched = ([*map(prune, with_outputs(params[name], live))] for name in ("branches", "batched"))
    count = len(params["carries"])
    in_rows = read_positions(batched, [0])
    first = sorted({*read_positions(branches), *[i - 1 for i in in_rows if 0 < i <= count]})
    positions = [*first, *[i - 1 for i in in_rows if i > count]]
    new = {
        "branches": with_inputs(branches, first),
        "batched": with_inputs(batched, [0, *[i + 1 for i in positions]]),
        "carries": tuple([params["carries"][i] for i in first]),
        "totals": tuple([flag for flag, is_live in zip(params["totals"], live, strict=True) if is_live]),
    }
    return _renewed_conditional(node, live, positions, new)


PRUNERS: dict[Op, Callable[[Node, Sequence[bool], Prune], Node]] = {
    cond_op: prune_cond,
    cond_each_op: _prune_cond_each,
    **LOOP_PRUNERS,
}


def _renewed_conditional(node: Node, live: Sequence[bool], positions: Sequence[int], params: dict[str, Any]) -> Node:
    """Return a node with these params, the live outputs, and these operands behind the index; itself if none goes."""
    index, *operands = node.inputs
    if all(live) and len(positions) == len(operands):
        return node
    inputs, outputs = (index, *[operands[i] for i in positions]), tuple(itertools.compress(node.outputs, live))
    return replace(node, inputs=inputs, outputs=outputs, params=params_tuple(params))

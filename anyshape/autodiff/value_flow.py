"""Find which values of a graph depend on others, through the subgraphs of loops and conditionals.

A value that is read for its shape alone does not count.
"""

from collections.abc import Callable, Iterable, Sequence

from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.ops.control_flow import cond_op
from anyshape.ops.loops import Layout, scan_op, while_op

Flags = list[bool]


def dependent_values(nodes: Iterable[Node], values: Iterable[Value]) -> set[Value]:
    """Return these values, and all results of the nodes that are computed from them."""
    dependent = set(values)
    for node in nodes:
        if not dependent.isdisjoint(node.inputs):
            flags = _FLOWS.get(node.op, _all)(node, [v in dependent for v in node.inputs])
            dependent.update(v for v, flag in zip(node.outputs, flags, strict=True) if flag)
    return dependent


def _through(graph: Graph, flags: Sequence[bool]) -> Flags:
    """Return which outputs of a subgraph depend on the inputs that are flagged."""
    dependent = dependent_values(graph.nodes, [v for v, flag in zip(graph.inputs, flags, strict=True) if flag])
    return [v in dependent for v in graph.outputs]


def _all(node: Node, flags: Flags) -> Flags:
    return [True] * len(node.outputs)


def _of_branches(node: Node, flags: Flags) -> Flags:
    if flags[0]:
        return _all(node, flags)
    branches = [_through(graph, flags[1:]) for graph in dict(node.params)["branches"]]
    return [any(column) for column in zip(*branches, strict=True)]


def _of_scan(node: Node, flags: Flags) -> Flags:
    (body,), layout = dict(node.params)["body"], Layout(*dict(node.params)["layout"])
    count = len(body.inputs)
    if any(flags[count:]):  # lengths of pieces
        return _all(node, flags)
    after = _of_trips(body, layout.carries, flags[:count])[1]
    return [*after, *_of_slots(node, len(after), any(after[: layout.carries]))]


def _of_while(node: Node, flags: Flags) -> Flags:
    (test, body), carries = dict(node.params)["loop"], dict(node.params)["carries"]
    inside, after = _of_trips(body, carries, flags)
    if any(_through(test, inside)):
        return _all(node, flags)
    if len(after) == len(node.outputs):
        return after
    after = [*after[:carries], False, *after[carries:]]  # the mask
    return [*after, *_of_slots(node, len(after), any(after[:carries]))]


def _of_slots(node: Node, first: int, flag: bool) -> Flags:
    """Return which checkpoint slots depend on flagged inputs: not the trips that they hold."""
    count = len(node.outputs) - first
    return [False, *[flag] * (count - 1)] if count else []


def _of_trips(body: Graph, carries: int, flags: Flags) -> tuple[Flags, Flags]:
    """Return which inputs of the body of a loop depend on flagged ones in some trip, and which of its results."""
    while True:
        after = _through(body, flags)
        reached = [a or b for a, b in zip(flags[:carries], after, strict=False)]
        if reached == flags[:carries]:
            return flags, [*reached, *after[carries:]]  # without trips, carries end as they begin
        flags = [*reached, *flags[carries:]]


_FLOWS: dict[Op, Callable[[Node, Flags], Flags]] = {cond_op: _of_branches, scan_op: _of_scan, while_op: _of_while}

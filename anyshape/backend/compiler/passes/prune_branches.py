"""Prune conditionals and loops: results that nothing reads leave the subgraphs, and so do operands that none reads.

A derivative keeps neither a value that it does not need, nor an operand alive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.graph.ir.dead_code import asserted_sizes, remove_dead_code
from anyshape.graph.ir.graph import Graph, Node, Op, Value, params_tuple
from anyshape.ops.control_flow import cond_each_op, cond_op
from anyshape.ops.loops import scan_op
from anyshape.ops.prune_inputs import (
    TOKEN,
    read_positions,
    with_first,
    with_inputs,
    with_outputs,
    with_token,
)
from anyshape.ops.prune_loops import LOOP_PRUNERS, prune_unused_scan


def prune_branches(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph with no unread result or operand of a conditional or of a loop."""
    if not any(n.op in _PRUNED or n.op in LOOP_PRUNERS for n in graph.nodes):
        return graph
    read = {*graph.outputs, *asserted_sizes(graph)}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        new = [node]
        live = [v in read for v in node.outputs]
        if node.op in _PRUNED:
            new = [_PRUNED[node.op](node, live)]
        elif node.op is scan_op and not any(live):
            new = prune_unused_scan(node, prune_branches, pass_context(pass_scope(graph, reliance_log), "prune_loops"))
        elif node.op in LOOP_PRUNERS:
            new = [LOOP_PRUNERS[node.op](node, live, prune_branches)]
        nodes += reversed(new)
        read.update([v for n in new for v in n.operands])
    return replace(graph, nodes=tuple(reversed(nodes)))


def _prune_cond(node: Node, live: Sequence[bool]) -> Node:
    """Return a conditional with its live results alone, or with a token where there are none."""
    branches = dict(node.params)["branches"]
    if not any(live):
        branches, live = tuple([remove_dead_code(with_token(g)) for g in branches]), [True]
        node = replace(node, params=params_tuple({"branches": branches}), outputs=(Value(TOKEN),))
    branches = with_outputs(branches, live)
    positions = read_positions(branches)
    return _renewed(node, live, positions, {"branches": with_inputs(branches, positions)})


def _prune_cond_each(node: Node, live: Sequence[bool]) -> Node:
    """Return a conditional of each example with its live results alone.

    Operands of the branches of one example come first, and stay where either kind of branch reads them.
    """
    params, live = dict(node.params), with_first(live)
    branches, batched = (with_outputs(params[name], live) for name in ("branches", "batched"))
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
    return _renewed(node, live, positions, new)


_PRUNED: dict[Op, Callable[[Node, Sequence[bool]], Node]] = {cond_op: _prune_cond, cond_each_op: _prune_cond_each}


def _renewed(node: Node, live: Sequence[bool], positions: Sequence[int], params: dict[str, Any]) -> Node:
    """Return a node with these params, the live outputs, and these operands behind the index; itself if none goes."""
    index, *operands = node.inputs
    if all(live) and len(positions) == len(operands):
        return node
    return replace(
        node,
        inputs=(index, *[operands[i] for i in positions]),
        outputs=tuple([v for v, flag in zip(node.outputs, live, strict=True) if flag]),
        params=params_tuple(params),
    )

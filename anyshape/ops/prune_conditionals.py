"""Prune conditionals: results that nothing reads leave the branches, and so do operands that none of them reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.graph.ir.graph import Node, Op, params_tuple
from anyshape.ops.control_flow import cond_each_op, cond_op
from anyshape.ops.prune_inputs import read_positions, with_first, with_inputs, with_outputs
from anyshape.ops.prune_loops import LOOP_PRUNERS, Prune


def prune_cond(node: Node, live: Sequence[bool], prune: Prune) -> Node:
    """Return a conditional with its live results alone."""
    branches = [*map(prune, with_outputs(dict(node.params)["branches"], live))]
    positions = read_positions(branches)
    return _renewed(node, live, positions, {"branches": with_inputs(branches, positions)})


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
    return _renewed(node, live, positions, new)


PRUNERS: dict[Op, Callable[[Node, Sequence[bool], Prune], Node]] = {
    cond_op: prune_cond,
    cond_each_op: _prune_cond_each,
    **LOOP_PRUNERS,
}


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

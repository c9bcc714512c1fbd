"""The order of passes over graphs."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from anyshape.backend.compiler.passes.binary_einsum import to_pairs
from anyshape.backend.compiler.passes.simplify import simplify
from anyshape.backend.runtime.config import checks_enabled
from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.ir.graph import Graph, Op, Value
from anyshape.graph.ir.validate import check_sizes_defined
from anyshape.ops.control import enter_checkpoint_op, leave_checkpoint_op, stop_gradient_op

_LOG = logging.getLogger("anyshape.passes")


def optimize(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph without dead code, common subexpressions, foldable literals and ops that do nothing.

    `reliance_log` records the size queries of passes. Under ANYSHAPE_CHECK=1 each pass must define every size it keeps.
    """
    passes: dict[str, Callable[[Graph], Graph]] = {
        "remove_dead_code": remove_dead_code,
        "simplify": partial(simplify, reliance_log=reliance_log),
    }
    for name in ("remove_dead_code", "simplify", "remove_dead_code"):
        before, graph = graph, passes[name](graph)
        if checks_enabled():
            check_sizes_defined(graph)
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s: %s: %s", graph.name, name, _difference(before, graph))
    return graph


def prepare_to_run(graph: Graph) -> Graph:
    """Return the graph that is lowered: nothing differentiates it any more, so what only derivatives need is removed.

    Products of several operands become pairs. Marks of checkpoints go last: without them, a recomputed value looks
    like a common subexpression.
    """
    pairs = to_pairs(_without(graph, (stop_gradient_op,)))
    return _without(pairs if pairs is graph else optimize(pairs), (enter_checkpoint_op, leave_checkpoint_op))


def _without(graph: Graph, ops: tuple[Op, ...]) -> Graph:
    """Return the graph with the operand of each of these ops in place of its result."""
    operand = {n.outputs[0]: n.inputs[0] for n in graph.nodes if n.op in ops}
    if not operand:
        return graph

    def follow(value: Value) -> Value:
        while value in operand:
            value = operand[value]
        return value

    def follow_all(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(map(follow, values))

    nodes = [n for n in graph.nodes if n.op not in ops]
    nodes = [replace(n, inputs=follow_all(n.inputs), sources=follow_all(n.sources)) for n in nodes]
    return replace(graph, nodes=tuple(nodes), outputs=follow_all(graph.outputs))


def _difference(before: Graph, after: Graph) -> str:
    """Return `12 nodes, 9 after: -2 mul, -2 full, +1 neg`."""
    counts = f"{len(before.nodes)} nodes, {len(after.nodes)} after"
    left, right = (Counter(n.op.name for n in g.nodes) for g in (before, after))
    changes = [f"{right[name] - left[name]:+d} {name}" for name in left | right if right[name] != left[name]]
    return f"{counts}: {', '.join(changes)}" if changes else counts

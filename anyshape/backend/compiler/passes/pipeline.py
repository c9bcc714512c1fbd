"""Passes: graph to graph, the same results with less work. `optimize` runs them in order."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.passes.binary_einsum import to_pairs
from anyshape.backend.compiler.passes.simplify import rewrite
from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.ir.graph import Graph, Op, Value
from anyshape.ops.control import enter_checkpoint_op, leave_checkpoint_op, stop_gradient_op

_LOG = logging.getLogger("anyshape.passes")

__all__ = ["optimize", "prepare_to_run", "remove_dead_code", "rewrite"]


def optimize(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """The graph without dead code, repeated computations, foldable constants and operations that do nothing.

    `reliance_log` takes up what passes were told of sizes.
    """
    for apply in (remove_dead_code, rewrite, remove_dead_code):
        before, graph = graph, apply(graph, reliance_log) if apply is rewrite else apply(graph)
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s: %s: %s", graph.name, apply.__name__, _difference(before, graph))
    return graph


def prepare_to_run(graph: Graph) -> Graph:
    """The graph to run: nothing will be differentiated any more, so what only derivatives care about is left out.

    Products of several operands become pairs. Marks of checkpoints go last: without them, what is computed again looks
    like what was computed before.
    """
    bare = to_pairs(_without(graph, (stop_gradient_op,)))
    return _without(bare if bare is graph else optimize(bare), (enter_checkpoint_op, leave_checkpoint_op))


def _without(graph: Graph, ops: tuple[Op, ...]) -> Graph:
    """The graph with the operand of each of these ops in place of its result."""
    meant = {n.outputs[0]: n.inputs[0] for n in graph.nodes if n.op in ops}
    if not meant:
        return graph

    def followed(values: tuple[Value, ...]) -> tuple[Value, ...]:
        found = list(values)
        for i in range(len(found)):
            while found[i] in meant:
                found[i] = meant[found[i]]
        return tuple(found)

    kept = [n for n in graph.nodes if n.op not in ops]
    nodes = tuple([replace(n, inputs=followed(n.inputs), sources=followed(n.sources)) for n in kept])
    return replace(graph, nodes=nodes, outputs=followed(graph.outputs))


def _difference(before: Graph, after: Graph) -> str:
    """`12 nodes, 9 after: -2 mul, -2 full, +1 neg`."""
    counts = f"{len(before.nodes)} nodes, {len(after.nodes)} after"
    left, right = (Counter(n.op.name for n in g.nodes) for g in (before, after))
    changes = [f"{right[name] - left[name]:+d} {name}" for name in left | right if right[name] != left[name]]
    return f"{counts}: {', '.join(changes)}" if changes else counts

"""Passes: graph to graph, the same results with less work. `simplify` runs them in order."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import Any

from anyshape.backend.passes.dead_code import remove_dead_code
from anyshape.backend.passes.rewrite import rewrite
from anyshape.graph.ir import Graph, Value
from anyshape.ops.control import stop_gradient_op

_LOG = logging.getLogger("anyshape.passes")

__all__ = ["remove_dead_code", "rewrite", "simplify", "without_stops"]


def simplify(graph: Graph, relied: list[Any] | None = None) -> Graph:
    """The graph without dead code, repeated computations, foldable constants and operations that do nothing.

    `relied` takes up what passes were told of sizes.
    """
    for apply in (remove_dead_code, rewrite, remove_dead_code):
        before, graph = graph, apply(graph, relied) if apply is rewrite else apply(graph)
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s: %s: %s", graph.name, apply.__name__, _difference(before, graph))
    return graph


def without_stops(graph: Graph) -> Graph:
    """The graph to run: nothing will be differentiated any more, so what only derivatives care about is left out."""
    stops = {n.outputs[0]: n.inputs[0] for n in graph.nodes if n.op is stop_gradient_op}
    if not stops:
        return graph

    def meant(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([_followed(v, stops) for v in values])

    kept = [n for n in graph.nodes if n.op is not stop_gradient_op]
    nodes = tuple([replace(n, inputs=meant(n.inputs), sources=meant(n.sources)) for n in kept])
    return simplify(replace(graph, nodes=nodes, outputs=meant(graph.outputs)))


def _followed(value: Value, stops: dict[Value, Value]) -> Value:
    while value in stops:
        value = stops[value]
    return value


def _difference(before: Graph, after: Graph) -> str:
    """`12 nodes, 9 after: -2 mul, -2 full, +1 neg`."""
    counts = f"{len(before.nodes)} nodes, {len(after.nodes)} after"
    left, right = (Counter(n.op.name for n in g.nodes) for g in (before, after))
    changes = [f"{right[name] - left[name]:+d} {name}" for name in left | right if right[name] != left[name]]
    return f"{counts}: {', '.join(changes)}" if changes else counts

"""Order of draws from random generators: each node of a graph that draws reads a mark of the draw before it.

A generator is a value that nodes advance when they run. It has one value in a graph. Each node that draws also reads
the mark of the last draw, from whichever generator, because two generators may share their bits. So no pass can change
the order of draws. A replay of a graph orders its draws after the ones that the builder already has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op, Value, graphs_in, walk

DRAWING = (np.random.Generator, np.random.RandomState)  # classes of NumPy whose objects draw random numbers
ORDER = "order_draw"  # the op that passes a generator on after a mark


class DrawOrder:
    """Draws of one graph under construction: the generators behind marks, and the mark of the last draw."""

    __slots__ = ("last", "plain")

    def __init__(self) -> None:
        self.plain: dict[Value, Value] = {}  # the generator behind a mark, without it
        self.last: Value | None = None

    def of_node(self, op: Op, params: Mapping[str, Any]) -> DrawOrder | None:
        """Return the order for a node that draws, in a subgraph perhaps, and None for others."""
        subgraphs = (graph for p in params.values() for graph in graphs_in(p))
        return self if op.draws or any(node.op.draws for graph in subgraphs for node in walk(graph)) else None

    def note(self, op: Op, outputs: Sequence[Value]) -> None:
        """Take the mark of a node that draws: its last output, or of a node with subgraphs any."""
        self.last = outputs[-1 if op.draws else 0]

    def behind_last(self, values: Sequence[Value], emit_order: Callable[[Value, Value], Value]) -> tuple[Value, ...]:
        """Return the operands of a node that draws, with each generator behind the mark of the last draw."""
        return tuple([self._behind_last(v, emit_order) if is_generator(v) else v for v in values])

    def _behind_last(self, generator: Value, emit_order: Callable[[Value, Value], Value]) -> Value:
        plain = self.plain.get(generator, generator)
        if self.last is None:
            return plain
        ordered = emit_order(plain, self.last)
        self.plain[ordered] = plain
        return ordered


def is_generator(value: Value) -> bool:
    """Return whether a value stands for random generators."""
    return value.meta.dtype.kind == "O"

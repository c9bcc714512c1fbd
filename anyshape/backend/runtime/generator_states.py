"""States of the random generators that a call draws from: a call that fails leaves them as they were before it.

Guards come before all draws, and so do most decisions. A run that one of these ends restores nothing, so that it undoes
no draw that another thread makes meanwhile. A decision after a draw restores the states: the call goes on with another
program, which draws the same numbers again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.runtime.outcome import PathLeft
from anyshape.graph.ir.draw_order import is_generator
from anyshape.graph.ir.graph import Graph, applies, draws

_FLOAT = np.dtype(float)


def has_generators(graph: Graph) -> bool:
    """Return whether random generators are among the inputs of a graph."""
    return any(map(is_generator, graph.inputs))


def restoring_generators(run: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """Return a run of a graph that restores the generators among its arguments where it raises."""
    positions = [i for i, value in enumerate(graph.inputs) if is_generator(value)]
    if not positions:
        return run

    decides_late = has_late_decision(graph)

    def restoring(*arrays: Any) -> Any:
        bits = [_bits(g) for i in positions for g in arrays[i].flat]
        before = [b.state for b in bits]
        try:
            return run(*arrays)
        except BaseException as error:  # Ctrl-C too
            if decides_late or not isinstance(error, PathLeft):
                for b, state in zip(bits, before, strict=True):
                    b.state = state
            raise

    return restoring


def has_late_decision(graph: Graph) -> bool:
    """Return whether a graph decides on a value after it has drawn."""
    first = next((i for i, node in enumerate(graph.nodes) if draws(node)), len(graph.nodes))
    return any(applies(node, lambda op: op.name == "decide") for node in graph.nodes[first:])


def unmoved(arrays: Sequence[Any]) -> list[Any]:
    """Return the arguments of a call with copies of generators, which share their bits as these do."""
    memo: dict[int, Any] = {}
    return [copy.deepcopy(a, memo) if getattr(a, "dtype", _FLOAT).kind == "O" else a for a in arrays]


def _bits(generator: Any) -> Any:
    """Return what holds the state of a generator; of anything else, which a draw refuses, the object itself."""
    return generator.bit_generator if isinstance(generator, np.random.Generator) else _Stateless()


class _Stateless:
    state = None

"""States of the random generators that a call draws from: a call that fails leaves them as they were before it.

Guards and decisions come before all draws. A run that one of them ends restores nothing, so that it undoes no draw that
another thread makes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.backend.runtime.outcome import PathLeft
from anyshape.graph.ir.draw_order import is_generator
from anyshape.graph.ir.graph import Graph


def has_generators(graph: Graph) -> bool:
    """Return whether random generators are among the inputs of a graph."""
    return any(map(is_generator, graph.inputs))


def restoring_generators(run: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """Return a run of a graph that restores the generators among its arguments where it raises."""
    positions = [i for i, value in enumerate(graph.inputs) if is_generator(value)]
    if not positions:
        return run

    def restoring(*arrays: Any) -> Any:
        bits = [_bits(g) for i in positions for g in arrays[i].flat]
        before = [b.state for b in bits]
        try:
            return run(*arrays)
        except PathLeft:
            raise
        except BaseException:  # Ctrl-C too
            for b, state in zip(bits, before, strict=True):
                b.state = state
            raise

    return restoring


def _bits(generator: Any) -> Any:
    """Return what holds the state of a generator; of anything else, which a draw refuses, the object itself."""
    return generator.bit_generator if isinstance(generator, np.random.Generator) else _Stateless()


class _Stateless:
    state = None

"""Calls that exceed `max_bytes` while they run: the function is traced again, and its loops get checkpoint slots."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from anyshape.backend.runtime.outcome import going_on
from anyshape.errors import AnyshapeError, MemoryLimitError
from anyshape.graph.ir.graph import Graph, draws
from anyshape.ops.loops import DEFAULT_POLICY

if TYPE_CHECKING:
    from anyshape.transforms.jitted import Jitted

_LOG = logging.getLogger("anyshape.trace")
_SLOTS = (512, 64, 8, 1)  # of each loop, tried from the first; fewer take more time


def call_with_slots(jitted: Jitted, args: Any, kwargs: Any, error: MemoryLimitError) -> Any:
    """Return the result of a call by a trace whose loops have checkpoint slots, as many as fit.

    Loops of the caller with a `checkpoint` of their own keep it. Raise the error where no number of slots fits. A call
    that was refused before it ran has tried slots already.
    """
    graphs = [program.graph for program in jitted.programs()]
    if error.counted is None or jitted.is_final or not _may_run_again(graphs):
        raise error
    for count in _SLOTS:
        error.__traceback__ = None  # its frames hold what the run had made
        try:
            with going_on(error):
                return _slotted(jitted, count)._call_general(args, kwargs)
        except MemoryLimitError as again:
            error = again
            _LOG.debug("%s: %d checkpoint slots of each loop: %s", jitted.name, count, again)
        except AnyshapeError:
            break  # of trips that may not run again: what has failed is the memory
    raise error from None


def _may_run_again(graphs: Sequence[Graph]) -> bool:
    """Return whether programs have loops, and none draws random numbers, which would be others."""
    return any(graph.subgraphs for graph in graphs) and not any(draws(node) for graph in graphs for node in graph.nodes)


def _slotted(jitted: Jitted, count: int) -> Jitted:
    """Return a jitted function that is traced with so many slots in its loops."""
    slotted = jitted.with_slots.get(count)
    if slotted is None:
        function = functools.partial(_traced_with_slots, jitted.function, count)
        slotted = type(jitted)(function, jitted.name, jitted.__wrapped__, jitted.options)
        slotted.is_final = True
        jitted.with_slots[count] = slotted
    return slotted


def _traced_with_slots(function: Callable[..., Any], count: int, *args, **kwargs):
    token = DEFAULT_POLICY.set(count)
    try:
        return function(*args, **kwargs)
    finally:
        DEFAULT_POLICY.reset(token)

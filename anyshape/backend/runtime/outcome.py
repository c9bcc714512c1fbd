"""Outcomes of a function that does not serve a call: a guard fails, or Python would have taken another path.

Log of calls: the sizes and the time of each, if calls are logged.

States of the random generators that a call draws from: a call that fails leaves them as they were before it.

Guards come before all draws, and so do most decisions. A run that one of these ends restores nothing, so that it undoes
no draw that another thread makes meanwhile. A decision after a draw restores the states: the call goes on with another
program, which draws the same numbers again.
"""

from __future__ import annotations

import copy
import enum
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import numpy as np

from anyshape.graph.ir.graph import Graph, applies, draws, is_generator


class GuardOutcome(enum.Enum):
    """Result of a run in place of its outputs; its one member compares by identity."""

    GUARD_FAILED = "guard failed"


GUARD_FAILED: Final = GuardOutcome.GUARD_FAILED
Outputs = list[Any] | GuardOutcome


class PathLeft(BaseException):
    """Raised by a run in which Python would have got another answer, in the turn of its decision, than in the trace.

    No handler of the user's functions, and none that translates errors, may take it for an error. `live` are values
    with which the call can go on.
    """

    turn: int
    answer: bool | int
    live: Sequence[Any]

    def __init__(self, turn: int, answer: bool | int, live: Sequence[Any] = ()) -> None:
        self.turn, self.answer, self.live = turn, answer, live
        super().__init__(f"decision {turn} is {answer}")


_RUN = logging.getLogger("anyshape.run")


def logs_calls() -> bool:
    """Return True if calls of functions that are made now are logged."""
    return _RUN.isEnabledFor(logging.DEBUG)


def log_calls(run: Callable[..., Outputs], program: str, names: Sequence[str]) -> Callable[..., Outputs]:
    """Return a function that logs the sizes and the time of each call, if calls are logged.

    That is decided here, once: without logging the function is `run` itself.
    """
    if not logs_calls():
        return run

    @functools.wraps(run)
    def log_and_run(*arrays):
        started = perf_counter()
        outputs = run(*arrays)
        taken = 1e6 * (perf_counter() - started)
        if outputs is not GUARD_FAILED and _RUN.isEnabledFor(logging.DEBUG):
            shapes = [f"{n} {np.shape(x)}" for n, x in zip(names, arrays, strict=False)]
            _RUN.debug("%s: %s in %.1f us", program, ", ".join(shapes) or "no arguments", taken)
        return outputs

    return log_and_run


_FLOAT = np.dtype(float)


def has_generators(graph: Graph) -> bool:
    """Return whether random generators are among the inputs or the constants of a graph."""
    return any(map(is_generator, graph.inputs)) or any(is_generator(value) for value, _ in graph.constants)


def restoring_generators(run: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """Return a run of a graph that restores the generators that it draws from where it raises."""
    positions = [i for i, value in enumerate(graph.inputs) if is_generator(value)]
    closed_over = [_State(array[()]) for value, array in graph.constants if is_generator(value)]
    if not positions and not closed_over:
        return run

    decides_late = has_late_decision(graph)

    def restoring(*arrays):
        states = [*closed_over, *_states(arrays, positions)]
        before = [s.read() for s in states]
        try:
            return run(*arrays)
        except BaseException as error:  # Ctrl-C too
            if decides_late or not isinstance(error, PathLeft):
                for s, state in zip(states, before, strict=True):
                    s.restore(state)
            raise

    return restoring


def has_late_decision(graph: Graph) -> bool:
    """Return whether a graph decides on a value after it has drawn."""
    first = next((i for i, node in enumerate(graph.nodes) if draws(node)), len(graph.nodes))
    return any(applies(node, lambda op: op.name == "decide") for node in graph.nodes[first:])


def unmoved(arrays: Sequence[Any], memo: dict[int, Any] | None = None) -> list[Any]:
    """Return the arguments of a call with copies of generators, which share their bits as these do.

    `memo` has the copies that were made before.
    """
    memo = {} if memo is None else memo
    return [copy.deepcopy(a, memo) if getattr(a, "dtype", _FLOAT).kind == "O" else a for a in arrays]


def with_unmoved_constants(graph: Graph, memo: dict[int, Any]) -> Graph:
    """Return a graph with copies of the generators that it closes over."""
    if not any(is_generator(value) for value, _ in graph.constants):
        return graph
    arrays = unmoved([array for _, array in graph.constants], memo)
    values = [value for value, _ in graph.constants]
    return replace(graph, constants=tuple(zip(values, arrays, strict=True)))


def _states(arrays: Sequence[Any], positions: Sequence[int]) -> list[_State]:
    return [_State(generator) for i in positions for generator in arrays[i].flat]


class _State:
    """State of a generator; of anything else, which a draw refuses, nothing."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def read(self) -> Any:
        """Return the state."""
        if isinstance(self.generator, np.random.RandomState):
            return self.generator.get_state(legacy=False)
        return self.generator.bit_generator.state if isinstance(self.generator, np.random.Generator) else None

    def restore(self, state: Any) -> None:
        """Set the state."""
        if isinstance(self.generator, np.random.RandomState):
            self.generator.set_state(state)
        elif isinstance(self.generator, np.random.Generator):
            self.generator.bit_generator.state = state

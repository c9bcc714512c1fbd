"""Outcomes of a function that does not serve a call: a guard fails, or Python would have taken another path.

Log of calls: the sizes and the time of each, if calls are logged.

Effects of a run, counted: a call that leaves the path of a program goes on with another one, from the start.

Both are the same up to the decision that parts them. So the second one begins after the effects of the first one.

States of the random generators that a call draws from: a call that fails leaves them as they were before it.

Guards come before all draws, and so do most decisions. A run that one of these ends restores nothing, so that it undoes
no draw that another thread makes meanwhile. A decision after a draw restores the states: the call goes on with another
program, which draws the same numbers again.

Warnings of a running program: NumPy's own about slices, and a collector of floating-point warnings in tiles.

The collector gives one warning per step of a call, as NumPy does for whole arrays.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import enum
import functools
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from types import FrameType
from typing import Any, Final

import numpy as np

from anyshape.graph.ir.graph import Graph, applies, draws, has_effects, is_generator
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import USER_LINE, calling_frames, is_generated, line_of, module_of
from anyshape.support.lazy_dataclass import NamedTuple, replace


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


class EffectCounts(NamedTuple):
    """Effects of a run: the first `earlier` of them happened in an earlier run of the call, and none does if `muted`.

    The next run begins after `pending` ones.
    """

    number: int = 0
    earlier: int = 0
    pending: int = 0
    muted: bool = False


class _Effects(threading.local):
    now = EffectCounts()


_EFFECTS = _Effects()


def takes_effect() -> bool:
    """Count an effect of the run that this thread makes, and return whether it is to happen."""
    counts = _EFFECTS.now = _EFFECTS.now._replace(number=_EFFECTS.now.number + 1)
    return counts.number > counts.earlier and not counts.muted


@contextlib.contextmanager
def _with_effects(**state: Any) -> Iterator[None]:
    before = _EFFECTS.now
    _EFFECTS.now = before._replace(**state)
    try:
        yield
    finally:
        _EFFECTS.now = before


def apart() -> contextlib.AbstractContextManager[None]:
    """Count effects of runs within the block by themselves: a function of the user may call other programs."""
    return _with_effects(number=0, earlier=0, pending=0)


def without_effects() -> contextlib.AbstractContextManager[None]:
    """Let runs within the block have no effects: their values are computed once more, for a decision."""
    return _with_effects(muted=True)


def going_on(error: BaseException) -> contextlib.AbstractContextManager[None]:
    """Let the next run within the block begin after the effects of the one that ended by an error."""
    return _with_effects(pending=getattr(error, "_effects", 0))


def counting_effects(run: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """Return a run of a graph that counts its effects, if it has any; an error tells how many it had."""
    if not has_effects(graph):
        return run

    def counting(*arrays):
        with _with_effects(number=0, earlier=_EFFECTS.now.pending, pending=0):
            try:
                return run(*arrays)
            except BaseException as error:
                error._effects = max(_EFFECTS.now.number, _EFFECTS.now.earlier)  # type: ignore[attr-defined]
                raise

    return counting


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


def _warnings_are_errors() -> bool:
    """Return True if a filter turns floating-point warnings into errors; the first matching filter decides."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False


_REGISTRIES: dict[str, dict[Any, Any]] = {}  # of the warnings that were given, for each file of users


def registry_of(file: str) -> dict[Any, Any]:
    """Return the registry of the warnings that programs gave at lines of a file."""
    return _REGISTRIES.setdefault(file, {})


def warn_caller(message: str) -> None:
    """Give a RuntimeWarning at the line of the user that a program computes, or at that of the call.

    The call is meant where the traced function is not one of the user: its line is then that of the first call.
    """
    caller = calling_frames(sys._getframe(1))[0]
    where = _line_of_program(sys._getframe(1))
    if caller is not None and (where is None or where.code is caller.f_code):
        _warn_at(caller.f_code.co_filename, caller.f_lineno, message)
    elif where is not None:
        _warn_at(where.file, where.line, message)
    else:
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def _line_of_program(frame: FrameType | None) -> SourceLine | None:
    """Return the line of the user that generated code computes, None if none is found on the stack."""
    frame = _frame_of_program(frame)
    where: SourceLine | None = None
    if frame is not None:
        where = frame.f_globals[USER_LINE](frame.f_code, frame.f_lasti)
    return where


def _frame_of_program(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of generated code, from a frame on."""
    while frame is not None and not is_generated(frame):
        frame = frame.f_back
    return frame


def _warn_at(file: str, line: int, message: str) -> None:
    warnings.warn_explicit(message, RuntimeWarning, file, line, module_of(file), registry_of(file))


class WarningCollector:
    """Collector of NumPy's floating-point warnings, which issues them at the end.

    Each message is issued once per step that caused it. Nothing is collected where NumPy's error mode is "call"
    or "log", or where warnings are errors: the first one then stops the run.
    """

    __slots__ = ("collected",)

    def __init__(self) -> None:
        self.collected: dict[tuple[str, int, str, int, int], None] = {}

    def run(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in a copy of the context: NumPy's error modes are as before, also after Ctrl-C."""
        contextvars.copy_context().run(self._collecting, function, *args)
        for file, line, message, *_ in sorted(self.collected):
            _warn_at(file, line, message)

    def _collecting(self, function: Callable[..., None], *args) -> None:
        modes = np.geterr()
        logged: dict[str, Any] = {kind: "log" for kind, mode in modes.items() if mode == "warn"}
        if logged and not {"call", "log"}.intersection(modes.values()) and not _warnings_are_errors():
            np.errstate(call=self, **logged).__enter__()  # until the context is left
        function(*args)

    def write(self, message: str) -> None:
        """Record a line from NumPy, such as "Warning: divide by zero encountered in log"."""
        caller = sys._getframe(1)
        frame = _frame_of_program(caller) or caller
        where = _line_of_program(frame) or line_of(frame)
        text = message.removeprefix("Warning: ").rstrip()
        self.collected.setdefault((where.file, where.line, text, frame.f_lasti, id(frame.f_globals)))

"""Outcomes of a function that does not serve a call: a guard fails, or Python would have taken another path.

Log of calls: the sizes and the time of each, if calls are logged.
"""

from __future__ import annotations

import enum
import functools
import logging
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final

import numpy as np


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
    def log_and_run(*arrays: Any) -> Any:
        started = perf_counter()
        outputs = run(*arrays)
        taken = 1e6 * (perf_counter() - started)
        if outputs is not GUARD_FAILED and _RUN.isEnabledFor(logging.DEBUG):
            shapes = [f"{n} {np.shape(x)}" for n, x in zip(names, arrays, strict=False)]
            _RUN.debug("%s: %s in %.1f us", program, ", ".join(shapes) or "no arguments", taken)
        return outputs

    return log_and_run

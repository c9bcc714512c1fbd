"""Restore the state of a thread when Ctrl-C or an error ends a trace, a plan or the generation of code.

Python may raise KeyboardInterrupt at any call. That includes the lines of a context manager written in Python, after it
has changed something and before its block begins. So the state that such context managers change is restored once more,
by a `try` around them all.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

# Functions that read a state of the thread, and that set it. Modules of context managers add theirs.
_STATES: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (np.geterr, lambda modes: np.seterr(**modes)),
    (np.geterrcall, np.seterrcall),
    (gc.isenabled, lambda was_enabled: gc.enable() if was_enabled else None),  # another thread may pause it
]


def is_thread_state(read: Callable[[], Any], write: Callable[[Any], object]) -> None:
    """Register a state of the thread, by the functions that read and set it."""
    _STATES.append((read, write))


def restores_thread(function: F) -> F:
    """Decorate a function: where an error or Ctrl-C ends it, the states of the thread are as before the call."""

    @functools.wraps(function)
    def restoring(*args: Any, **kwargs: Any) -> Any:
        before = [read() for read, _ in _STATES]
        try:
            return function(*args, **kwargs)
        except BaseException:
            for (_, write), state in zip(_STATES, before, strict=False):  # modules loaded meanwhile may add some
                write(state)
            raise

    return restoring  # type: ignore[return-value]

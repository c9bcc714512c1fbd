"""Show a first call that takes long: after a second it says what is under way, in the log and on a terminal.

The logger `anyshape.progress` has a line of level INFO after a second, and whenever that time has doubled. Where
standard error is a terminal, one line of the main thread is updated there, and cleared at the end.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import threading
from time import perf_counter
from types import TracebackType

from anyshape.support.fork_lock import is_thread_state
from anyshape.support.packages import shutil

_LOG = logging.getLogger("anyshape.progress")
FIRST = 1.0  # seconds until the first line
_REDRAW = 0.2  # seconds between two lines on a terminal
_CLEAR = "\r\x1b[K"


class _Clock:
    """Time of an outermost phase and of all phases in it."""

    def __init__(self) -> None:
        self.started: float = perf_counter()
        self.due, self.next_log = self.started + FIRST, FIRST
        self.is_drawn: bool = False

    def show(self, text: str) -> None:
        """Show a text in the log and on the terminal, where it is time for that."""
        seconds = perf_counter() - self.started
        text = f"{text}, {seconds:.1f} s"
        if seconds >= self.next_log:
            self.next_log = 2.0 * max(seconds, FIRST)
            self.clear()
            _LOG.info("%s", text)
        if terminal := _has_terminal():
            self._draw(text)
        self.due = perf_counter() + _REDRAW if terminal else self.started + self.next_log

    def _draw(self, text: str) -> None:
        self.is_drawn = True
        _write(f"{_CLEAR}anyshape: {text}"[: shutil.get_terminal_size().columns - 1 + len(_CLEAR)])

    def clear(self) -> None:
        """Clear the line on the terminal."""
        if self.is_drawn:
            _write(_CLEAR)
            self.is_drawn = False


class phase:
    """Part of a first call, such as "tracing loss": a context manager that counts the ops in its block."""

    __slots__ = ("clock", "ops", "outer", "text")
    outer: phase | None
    clock: _Clock

    def __init__(self, text: str) -> None:
        self.text, self.ops = text, 0

    def __enter__(self) -> None:
        self.outer = _THREAD.phase
        self.clock = _Clock() if self.outer is None else self.outer.clock
        _THREAD.phase = self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _leave(self.outer)

    def show(self) -> None:
        """Show what is under way."""
        self.clock.show(f"{self.text}: {self.ops:,} ops" if self.ops else self.text)


class _Thread(threading.local):
    phase: phase | None = None


_THREAD = _Thread()


def count_op() -> None:
    """Count an op in the phase that is under way, and show the phase where it is time for that."""
    if (current := _THREAD.phase) is not None:
        current.ops += 1
        if perf_counter() >= current.clock.due:
            current.show()


def show_if_due() -> None:
    """Show the phase that is under way, where it is time for that: for work that adds no op and may take long."""
    if (current := _THREAD.phase) is not None and perf_counter() >= current.clock.due:
        current.show()


def _leave(outer: phase | None) -> None:
    """Go back to an enclosing phase; without one, the line on the terminal is cleared."""
    current, _THREAD.phase = _THREAD.phase, outer
    if current is not None and outer is None:
        current.clock.due = math.inf
        current.clock.clear()


is_thread_state(lambda: _THREAD.phase, _leave)


def _has_terminal() -> bool:
    """Return whether this thread may draw on standard error."""
    if threading.current_thread() is not threading.main_thread() or os.environ.get("TERM") == "dumb":
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()

"""Warnings of a running program: NumPy's own about slices, and a collector of floating-point warnings in tiles.

The collector gives one warning per step of a call, as NumPy does for whole arrays.
"""

import contextvars
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import USER_LINE, calling_frames, is_generated, line_of, module_of


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

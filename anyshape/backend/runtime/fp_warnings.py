"""Warnings of a running program: NumPy's own about slices, and a collector of floating-point warnings in tiles.

The collector gives one warning per line of a call, as NumPy does for whole arrays.
"""

from __future__ import annotations

import contextvars
import sys
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from anyshape.graph.prover.user_stack import user_frame


def _warnings_are_errors() -> bool:
    """Return True if a filter turns floating-point warnings into errors; the first matching filter decides."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False


def warn_caller(message: str) -> None:
    """Give a RuntimeWarning at the line of the user that called the program."""
    frame = user_frame()
    if frame is None:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    else:
        _warn_at(frame.f_code.co_filename, frame.f_lineno, frame.f_globals, message)


USER_LINE = "_user_line"  # name in generated code of a function from its own lines to the user's file and line
_REGISTRIES: dict[str, dict[Any, Any]] = {}  # of the warnings that were given, for each file of users


def _warn_at(file: str, line: int, names: dict[str, Any], message: str) -> None:
    """Give a warning at a line; for one of generated code, at the line of the user that it runs."""
    user_line = names[USER_LINE](line) if USER_LINE in names else None
    if user_line is not None:
        file, line = user_line
        warnings.warn_explicit(message, RuntimeWarning, file, line, registry=_REGISTRIES.setdefault(file, {}))
        return
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, RuntimeWarning, file, line, names.get("__name__", "<unknown>"), registry)


class WarningCollector:
    """Collector of NumPy's floating-point warnings, which issues them at the end.

    Each message is issued once per line of code that caused it. Nothing is collected where NumPy's error mode is "call"
    or "log", or where warnings are errors: the first one then stops the run.
    """

    __slots__ = ("collected",)

    def __init__(self) -> None:
        self.collected: dict[tuple[CodeType, int, str], dict[str, Any]] = {}

    def run(self, function: Callable[..., None], *args: Any) -> None:
        """Call a function in a copy of the context: NumPy's error modes are as before, also after Ctrl-C."""
        contextvars.copy_context().run(self._collecting, function, *args)
        for code, line, message in sorted(self.collected, key=lambda k: (k[0].co_filename, k[1], k[2])):
            _warn_at(code.co_filename, line, self.collected[code, line, message], message)

    def _collecting(self, function: Callable[..., None], *args: Any) -> None:
        modes = np.geterr()
        logged: dict[str, Any] = {kind: "log" for kind, mode in modes.items() if mode == "warn"}
        if logged and not {"call", "log"}.intersection(modes.values()) and not _warnings_are_errors():
            np.errstate(call=self, **logged).__enter__()  # until the context is left
        function(*args)

    def write(self, message: str) -> None:
        """Record a line from NumPy, such as "Warning: divide by zero encountered in log"."""
        frame = sys._getframe(1)
        key = frame.f_code, frame.f_lineno, message.removeprefix("Warning: ").rstrip()
        self.collected.setdefault(key, frame.f_globals)

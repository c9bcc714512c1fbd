"""Warnings of a running program: NumPy's own about slices, and a collector of floating-point warnings in tiles.

The collector gives one warning per line of a call, as NumPy does for whole arrays.
"""

from __future__ import annotations

import sys
import warnings
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


def _warn_at(file: str, line: int, names: dict[str, Any], message: str) -> None:
    registry = names.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, RuntimeWarning, file, line, names.get("__name__", "<unknown>"), registry)


class WarningCollector:
    """Context manager that collects NumPy's floating-point warnings and issues them at the end.

    Each message is issued once per line of code that caused it. Nothing is collected where NumPy's error mode is "call"
    or "log", or where warnings are errors: the first one then stops the run.
    """

    __slots__ = ("collected", "state")

    def __enter__(self) -> None:
        self.collected: dict[tuple[CodeType, int, str], dict[str, Any]] = {}
        modes = np.geterr().items()
        logged: dict[str, Any] = {kind: "log" for kind, mode in modes if mode == "warn"}
        if any(mode in ("call", "log") for _, mode in modes) or _warnings_are_errors():
            logged = {}
        self.state = np.errstate(call=self, **logged) if logged else np.errstate()
        self.state.__enter__()

    def write(self, message: str) -> None:
        """Record a line from NumPy, such as "Warning: divide by zero encountered in log"."""
        frame = sys._getframe(1)
        key = frame.f_code, frame.f_lineno, message.removeprefix("Warning: ").rstrip()
        self.collected.setdefault(key, frame.f_globals)

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        self.state.__exit__(kind, *rest)
        if kind is not None or not self.collected:
            return
        for code, line, message in sorted(self.collected, key=lambda k: (k[0].co_filename, k[1], k[2])):
            _warn_at(code.co_filename, line, self.collected[code, line, message], message)

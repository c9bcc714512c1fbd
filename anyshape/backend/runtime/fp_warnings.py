"""NumPy's warnings of floating-point errors in tiles, told once for each line of a call, as for whole arrays."""

from __future__ import annotations

import sys
import warnings
from types import CodeType
from typing import Any

import numpy as np


def _raised() -> bool:
    """Whether some such warnings are made errors; the first filter that fits a warning decides."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False


class WarningCollector:
    """Notes inside what NumPy would warn of, and warns at the end: each message once for each line that it is of.

    Where NumPy is to do something else, or warnings are made errors, which stop at the first, nothing is changed.
    """

    __slots__ = ("found", "state")

    def __enter__(self) -> None:
        self.found: dict[tuple[CodeType, int, str], dict[str, Any]] = {}
        modes = np.geterr().items()
        noted: dict[str, Any] = {kind: "log" for kind, mode in modes if mode == "warn"}
        if any(mode in ("call", "log") for _, mode in modes) or _raised():
            noted = {}
        self.state = np.errstate(call=self, **noted) if noted else np.errstate()
        self.state.__enter__()

    def write(self, message: str) -> None:
        """What NumPy calls, with a line such as "Warning: divide by zero encountered in log"."""
        frame = sys._getframe(1)
        found = frame.f_code, frame.f_lineno, message.removeprefix("Warning: ").rstrip()
        self.found.setdefault(found, frame.f_globals)

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        self.state.__exit__(kind, *rest)
        if kind is not None or not self.found:
            return
        for code, line, message in sorted(self.found, key=lambda k: (k[0].co_filename, k[1], k[2])):
            names = self.found[code, line, message]
            registry = names.setdefault("__warningregistry__", {})
            module = names.get("__name__", "<unknown>")
            warnings.warn_explicit(message, RuntimeWarning, code.co_filename, line, module, registry)

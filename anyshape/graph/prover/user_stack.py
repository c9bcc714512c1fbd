"""Find the lines of the user's program on the stack: the innermost one, and its callers within a trace."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np
import scipy

from anyshape.graph.prover.constraints import SourceLine

_PACKAGE = str(Path(__file__).resolve().parents[2])
_DEMO = f"{_PACKAGE}/demo"  # counts as code of a user
_OPTREE = os.path.join(os.path.dirname(np.__path__[0]), "optree", "")  # not loaded yet
_FOLDERS = (_PACKAGE, *np.__path__, *scipy.__path__, _OPTREE)
_STANDARD = os.path.dirname(os.__file__)  # packages may be installed below it
_INSTALLED = ("site-packages", "dist-packages")  # folders of packages, the second one in Debian
_FOREIGN = (*_FOLDERS, _STANDARD, "<frozen ", "<__array_function__", "<anyshape")
_FOREIGN_FILES: set[str] = set()  # files in these folders that were met: each op of a trace looks for its line
_TRACERS: set[CodeType] = set()  # functions that call the function of the user that is traced

F = TypeVar("F", bound=Callable[..., Any])


def calls_traced_function(tracer: F) -> F:
    """Mark a function that calls the user's function in order to trace it: callers of it are not part of the trace."""
    _TRACERS.add(tracer.__code__)
    return tracer


def user_frame() -> FrameType | None:
    """Return the innermost frame on the stack outside of anyshape, NumPy, SciPy and the standard library."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename in _FOREIGN_FILES or not is_user_frame(frame)):
        frame = frame.f_back
    return frame


def is_user_frame(frame: FrameType) -> bool:
    """Return whether a frame runs code outside of anyshape, NumPy, SciPy and the standard library."""
    file = frame.f_code.co_filename
    generated = file == "<string>" and str(frame.f_globals.get("__name__")).startswith("anyshape.")
    if not (generated or file.startswith(_FOREIGN)) or file.startswith(_DEMO):
        return True
    if file.startswith(_STANDARD) and not file.startswith(_FOLDERS) and any(p in file for p in _INSTALLED):
        return True
    if not generated and not file.startswith("<"):
        _FOREIGN_FILES.add(file)
    return False


def user_line() -> SourceLine | None:
    """Return the line of `user_frame`."""
    frame = user_frame()
    if frame is None:
        return None
    return SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, frame.f_code, frame.f_lasti)


def with_callers(where: SourceLine | None) -> SourceLine | None:
    """Return the line with the lines that called it, up to the traced function; as it is if it is not on the stack."""
    lines: list[SourceLine] = []
    traced = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _TRACERS:
            traced = len(lines)
        elif is_user_frame(frame):
            lines.append(SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    is_innermost = where is not None and traced > 1 and lines[0] == where
    return where.called_from(lines[1:traced]) if is_innermost and where is not None else where

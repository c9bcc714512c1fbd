"""Warn of reads of the outside world in traced functions: clocks, the environment, files, the keyboard, the network.

A program repeats what its trace got. The walk over captured state tells from names in code whether a function may read
any of these. Only then is the trace profiled, which shows each call with its line. Lines of the user count, also where
functions of the standard library read for them. A logger asks for the time for itself.
"""

import ast
import contextlib
import datetime
import os
from collections.abc import Iterator
from types import FrameType
from typing import Any

from anyshape.errors import FrozenValueWarning
from anyshape.errors.messages import expression_at
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import line_of, tell, traced_frames
from anyshape.support import profiles
from anyshape.tracing.captured.code_origin import origin

_CLOCKS = (
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
    "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime",
)  # fmt: skip
_KINDS = {
    **dict.fromkeys(_CLOCKS, "a clock"), "open": "a file", "input": "the keyboard",
    **dict.fromkeys(("stat", "listdir", "scandir", "getcwd"), "the file system"), "urandom": "random bits",
    **dict.fromkeys(("getaddrinfo", "gethostname", "gethostbyname"), "the network"),
}  # fmt: skip
_HOMES = {"time", "posix", "nt", "io", "_io", "builtins", "_socket"}
_OF_DATES = {"now", "today", "utcnow"}
_NAMES = _OF_DATES | set(_KINDS)
_ENVIRONMENT = {id(getattr(type(os.environ), name).__code__) for name in ("__getitem__", "__iter__")}
_READERS = {  # modules whose functions read for their callers
    "os", "posixpath", "ntpath", "genericpath", "pathlib", "glob", "io", "uuid", "secrets", "random", "datetime",
    "_pydatetime", "_collections_abc", "collections", "socket", "urllib", "http", "numpy",
}  # fmt: skip


@contextlib.contextmanager
def warning_of_reads(name: str) -> Iterator[None]:
    """Warn of what a trace within the block reads, once it has succeeded. Profilers of users come first."""
    reads: dict[SourceLine, str] = {}

    def see(frame: FrameType, event: str, arg: Any) -> None:
        if event == "c_call":
            kind = _kind(arg) if getattr(arg, "__name__", "") in _NAMES else ""
        else:
            kind = "the environment" if event == "call" and id(frame.f_code) in _ENVIRONMENT else ""
        if kind and (where := _reader(frame, kind)) is not None:
            reads.setdefault(where, kind)

    with profiles.seeing(see):
        yield
    for where, kind in reads.items():
        read = f"{where.expression or 'this line'} reads {kind} while {name} is traced"
        advice = f"read it outside of {name}, and pass it as an argument"
        tell(f"{read}, and each call gets what it got then\n  {advice}", FrozenValueWarning, where)


# modules that call NumPy's functions in place of code that is read
_MEANINGS = {
    "anyshape.tracing.source.meanings", "anyshape.transforms.control_flow.kept_lists",
    "anyshape.transforms.control_flow.list_functions", "anyshape.transforms.control_flow.kept",
}  # fmt: skip


def _kind(function: Any) -> str:
    """Return what a function of C reads, "" for nothing outside."""
    if function.__name__ in _OF_DATES:
        owner = function.__self__
        return "a clock" if isinstance(owner, type) and issubclass(owner, datetime.date) else ""
    return _KINDS[function.__name__] if function.__module__ in _HOMES else ""


def _reader(frame: FrameType | None, kind: str) -> SourceLine | None:
    """Return the line of the user that reads, None where other code reads for itself, or a file is written."""
    is_file = kind == "a file"
    mode: Any = _mode(frame) if is_file else ""
    while frame is not None and (_module(frame).partition(".")[0] in _READERS or _module(frame) in _MEANINGS):
        mode = frame.f_locals.get("mode", mode)
        frame = frame.f_back
    if frame is None or origin(_module(frame), "") != "user":
        return None
    if any(_module(f).startswith("anyshape.backend") for f in traced_frames(frame)):
        return None  # a callback, which runs
    is_written = is_file and not {"w", "a", "x"}.isdisjoint(str(mode))
    return None if is_written else line_of(frame)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


def _mode(frame: FrameType | None) -> Any:
    """Return the mode in which a line opens a file, if it is written there."""
    call = None if frame is None else expression_at(frame.f_code, frame.f_lasti)
    if not isinstance(call, ast.Call):
        return "r"
    passed = [*call.args[1:2], *[k.value for k in call.keywords if k.arg == "mode"]]
    return next((n.value for n in passed if isinstance(n, ast.Constant)), "r")

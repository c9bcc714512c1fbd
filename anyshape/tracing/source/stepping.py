"""Tell whether a debugger of Python may stop in a function, which then runs statement by statement in its own frame.

Frames of the library are skipped where users step. How functions are rewritten, this module must not know.
"""

import dis
import functools
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from anyshape.graph.prover.user_stack import is_user_file, is_user_frame
from anyshape.tracing.source.rebuild import nested

F = TypeVar("F", bound=Callable[..., Any])
_LOAD = dis.opmap["LOAD_GLOBAL"]
SKIPPED = {"anyshape", "anyshape.*"}  # patterns of modules


def _debugger() -> Any:
    """Return the debugger that follows this thread, if it is one on the base of Python's."""
    own, module = getattr(sys.gettrace(), "__self__", None), sys.modules.get("bdb")
    return own if module is not None and isinstance(own, module.Bdb) else None


def _follow_users(debugger: Any, frame: types.FrameType, event: str, arg: Any) -> Any:
    """Let a debugger see the frames of users alone."""
    file = frame.f_code.co_filename
    is_users = is_user_frame(frame) and is_user_file(file, frame.f_globals) and file != "<string>"  # as of named tuples
    return debugger.trace_dispatch(frame, event, arg) if is_users else None


def skip_library() -> None:
    """Let the debugger of this thread step over the library and what it calls, until a call of a user ends."""
    if (debugger := _debugger()) is not None:
        debugger.skip = {*(debugger.skip or ()), *SKIPPED}
        sys.settrace(types.MethodType(_follow_users, debugger))


def stepped_over(function: F) -> F:
    """Return a function that debuggers step over, but for the functions of users that it calls."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        skip_library()
        try:
            return function(*args, **kwargs)
        finally:
            if getattr(sys.gettrace(), "__func__", None) is _follow_users:
                sys.settrace(_debugger().trace_dispatch)

    return run  # type: ignore[return-value]


def may_stop_in(function: Any) -> bool:
    """Return whether a debugger may stop in a function: it calls one, has a breakpoint, or is stepped into."""
    code = function.__code__
    if "breakpoint" not in function.__globals__ and any(map(_calls_debugger, nested(code))):
        return True
    if (debugger := _debugger()) is None:
        return False
    if debugger.stopframe is None and debugger.stoplineno != -1:
        return True
    ends = [end or 0 for part in nested(code) for _, end, _, _ in part.co_positions()]
    return any(code.co_firstlineno <= line <= max(ends) for line in debugger.get_file_breaks(code.co_filename))


def _calls_debugger(code: types.CodeType) -> bool:
    """Return whether code calls `breakpoint()`, not a method of this name, or `pdb.set_trace()`."""
    names, pairs = code.co_names, zip(code.co_code[::2], code.co_code[1::2], strict=True)
    is_loaded = "breakpoint" in names and (_LOAD, names.index("breakpoint")) in [(op, k >> 1) for op, k in pairs]
    return is_loaded or "set_trace" in names

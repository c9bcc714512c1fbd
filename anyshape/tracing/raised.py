"""Paths of a function that end in an exception of its own: what the program of such a path raises.

A call on a known path raises an equal exception without a trace. Its traceback ends at the line of the function, as the
first one's did.
"""

from __future__ import annotations

import contextlib
import dis
from collections.abc import Callable, Sequence
from types import CodeType, TracebackType
from typing import Any, NoReturn

import numpy as np

from anyshape.backend.runtime.outcome import PathLeft
from anyshape.graph.ir.graph import Graph, decisions_of
from anyshape.graph.prover.user_stack import is_user_frame

_ATOMS = {str, bytes, int, float, complex, bool, type(None)}
_RAISE = dis.opmap["RAISE_VARARGS"]


class Raised:
    """Exception that ends a path.

    - `error` is a copy of it without a traceback, None if it is not known to be the same in each call.
    - `original` is the exception itself, until the call that was traced has raised it.
    """

    original: Exception | None
    line: tuple[str, int, str]
    error: Exception | None

    __slots__ = ("error", "line", "original")

    def __init__(self, original: Exception | None, line: tuple[str, int, str], error: Exception | None) -> None:
        self.original, self.line, self.error = original, line, error

    @classmethod
    def of(cls, original: Exception) -> Raised:
        """Return what a program raises for an exception that a trace met."""
        line = _innermost(original)
        if line is None:
            return cls(original, ("", 1, ""), None)
        code = line.tb_frame.f_code
        position = code.co_filename, line.tb_lineno or 1, code.co_name
        return cls(original, position, _copied(original) if is_stated(original) else None)

    def again(self) -> NoReturn:
        """Raise the exception at the line of the user."""
        if self.original is not None:
            raise self.original
        assert self.error is not None
        exec(self._raising_code(), {"error": _copied(self.error)})
        raise AssertionError("the line above has raised")

    def _raising_code(self) -> CodeType:
        file, line, name = self.line
        return compile("\n" * (line - 1) + "raise error", file, "exec").replace(co_name=name, co_qualname=name)

    def __str__(self) -> str:
        return f"raises {type(self.error).__name__}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raised) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.line)

    def _key(self) -> Any:
        return self.line, type(self.error), getattr(self.error, "args", None), getattr(self.error, "__dict__", None)

    def __reduce__(self) -> Any:
        return Raised, (None, self.line, self.error)


def _innermost(error: BaseException) -> TracebackType | None:
    """Return the entry of the line that raised."""
    line = error.__traceback__
    while line is not None and line.tb_next is not None:
        line = line.tb_next
    return line


def is_stated(error: BaseException) -> bool:
    """Return whether a `raise` or `assert` of the user made an exception: not a mistake, and nothing that a call met.

    One that is raised again is as at first.
    """
    line = _innermost(error)
    return line is not None and is_user_frame(line.tb_frame) and line.tb_frame.f_code.co_code[line.tb_lasti] == _RAISE


def _copied(error: Any) -> Exception | None:
    """Return an exception like this one, None if it holds more than texts and numbers or cannot be copied."""
    if not _is_plain([error.args, vars(error)]):
        return None
    try:
        new = _rebuilt(error)
        is_same = type(new) is type(error) and new.args == error.args and str(new) == str(error)
    except Exception:  # its class asks for other arguments than it keeps
        return None
    cause = None if error.__cause__ is None else _copied(error.__cause__)
    if not is_same or (cause is None) is not (error.__cause__ is None):
        return None
    new.__cause__, new.__suppress_context__ = cause, error.__suppress_context__
    return new


def _rebuilt(error: BaseException) -> Any:
    """Return the exception as its class makes it again.

    `copy.copy` would ask `copyreg`, where packages register copies with their traceback, which holds arrays.
    """
    reduced: Any = error.__reduce_ex__(4)
    make, args, *state = reduced
    new = make(*args)
    if state and state[0]:
        new.__setstate__(state[0])
    return new


def _is_plain(x: Any) -> bool:
    if type(x) in (tuple, list):
        return all(map(_is_plain, x))
    if type(x) is dict:
        return all(map(_is_plain, [*x, *x.values()]))
    return type(x) in _ATOMS or issubclass(type(x), np.generic)


def is_one_of_several(graph: Graph) -> bool:
    """Return whether other calls may take another path of the function."""
    return bool(decisions_of(graph)) or any(c.kind == "guard" for c in graph.conditions)


def raise_first(run: Callable[..., Any] | None, raised: Raised, arrays: Sequence[Any]) -> NoReturn:
    """Raise the exception of a trace for the first time, or what lines before it raise for these arrays."""
    try:
        if run is not None:
            with contextlib.suppress(PathLeft):  # the plan and the naive evaluator differ by rounding
                run(*arrays)
        raised.again()
    finally:
        raised.original = None  # its traceback holds the arrays

"""Exceptions that a program raises where a run gets to the line of the user, with the values of the run.

A `raise` in code that is part of a program makes a note of the class and of its arguments. The exception itself is made
in the run. So the user's class sees numbers and texts, as it does in plain Python.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Builder, Traced, at_line, user_line
from anyshape.graph.ir.graph import Value
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import handles, is_in_try, is_user_frame
from anyshape.ops import control
from anyshape.ops.creation import full_op
from anyshape.support.true_types import has_type
from anyshape.tracing.effects import Operands, Text, is_known_late
from anyshape.tracing.trace import active_builder

_NUMBERS_AND_TEXTS = (str, int, float, complex, bool, type(None))
_DEEPEST = 5  # containers within containers, and causes of causes


class Stated(Exception):
    """Exception that a line of the user raises while it is traced: in the run, its class is called.

    `original` is one that was made before. A trace leaves no lines in its traceback.
    """

    def __init__(self, kind: type[Exception], args: Any, kwargs: Any, original: Exception | None = None) -> None:
        super().__init__(kind.__name__)
        self.kind, self.positional, self.named, self.original = kind, args, kwargs, original


class RaisedBefore(Exception):
    """Raised to end a branch or a path, in which the program has raised an exception of this class."""

    def __init__(self, kind: str = "") -> None:
        super().__init__(kind)


class UndescribableError(Exception):
    """Raised for an exception that a program cannot hold; the text says why."""


class Raise:
    """Exception of the user as a node: what describes it, its operands, and the line that raises it."""

    def __init__(self, error: Exception) -> None:
        self.where = _line_of(error)
        self.operands = Operands()
        self.operands.add(np.bool_(True))  # stands for the condition
        self.described = self._described(error, 0)

    def move_out(self) -> bool:
        """Take values from the enclosing graph where this one computes them again; return whether it has them all."""
        builder = active_builder()
        known = _known_outside(builder)
        is_own = [isinstance(x, Traced) and x.builder is builder for x in self.operands.values]
        pairs = [*zip(self.operands.values, is_own, strict=True)]
        if any(own and x.value not in known for x, own in pairs):
            return False
        self.operands.values = [known[x.value] if own else x for x, own in pairs]
        return True

    def emit(self, holds: Any) -> None:
        """Let the program raise the exception here unless a condition holds."""
        values = self.operands.values[1:]
        with at_line(active_builder(), self.where):
            control.raise_unless(holds, *values, error=self.described, forms=["number", *self.operands.forms[1:]])

    def _described(self, error: BaseException, depth: int) -> control.Described:
        """Return an exception as a param."""
        if not isinstance(error, Exception) or depth > _DEEPEST:
            raise UndescribableError(f"it raises {type(error).__name__}")
        outer, error = error, getattr(error, "original", None) or error
        if isinstance(error, Stated):
            kind, args, named = error.kind, error.positional, error.named
        else:
            kind, args, named = type(error), error.args, vars(error)
        is_called = isinstance(error, Stated) or (kind.__module__ == "builtins" and not named)
        parts = [self._part(x, depth) for x in (tuple(args), named, outer.__cause__ or error.__cause__)]
        hides = outer.__suppress_context__ or error.__suppress_context__
        return (*control.named_class(kind), is_called, *parts, hides)

    def _part(self, x: Any, depth: int) -> Any:
        """Return an argument of an exception as a part of a param."""
        if type(x) in _NUMBERS_AND_TEXTS:
            return x
        if isinstance(x, Text):
            return "text", *self.operands.pieces_of(x.parts)
        if is_known_late(x) or has_type(x, (np.ndarray, np.generic)):
            return "operand", self.operands.add(x)
        if isinstance(x, BaseException):
            return "exception", self._described(x, depth + 1)
        if type(x) in (tuple, list, dict) and depth < _DEEPEST:
            members = [y for pair in x.items() for y in pair] if type(x) is dict else x
            return type(x).__name__, *[self._part(y, depth + 1) for y in members]
        raise UndescribableError(f"it raises an exception that holds an object of type {type(x).__name__}")


def _known_outside(builder: Builder) -> dict[Value, Traced]:
    """Return the values of a graph that the enclosing one has too, and numbers as written."""
    outer = builder.parent
    assert outer is not None
    known = {inner: x for x, inner in builder.captured.values()}
    for node in builder.nodes:
        if known.keys() >= {*node.operands}:
            is_number = node.op is full_op and not node.operands
            params, operands = dict(node.params), [known[v] for v in node.operands]
            outputs = outer.emit(full_op, [], [], params) if is_number else outer.known(node, operands)
            known |= zip(node.outputs, outputs, strict=False)
    return known


def _line_of(error: Exception) -> SourceLine | None:
    """Return the innermost line of the user that raised, else the one that runs."""
    entries = _entries(error)
    if not entries:
        return user_line()
    code = entries[-1].tb_frame.f_code
    return SourceLine(code.co_filename, entries[-1].tb_lineno or 1, code.co_name, code, entries[-1].tb_lasti)


def _entries(error: Exception) -> list[TracebackType]:
    """Return the lines of the user that an exception has left, the innermost last."""
    entries, entry = [], error.__traceback__
    while entry is not None:
        entries += [entry] * is_user_frame(entry.tb_frame)
        entry = entry.tb_next
    return entries


def may_be_caught(error: Exception | None = None) -> bool:
    """Return whether code that is traced now, or that an exception has left, handles exceptions."""
    if error is not None and any(handles(e.tb_frame.f_code, e.tb_lasti) for e in _entries(error)):
        return True
    return is_in_try(sys._getframe(1))

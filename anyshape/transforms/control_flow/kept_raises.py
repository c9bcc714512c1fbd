"""Texts and exceptions of code that is read: a run fills in values that it alone knows.

The exceptions end a branch of the program, or a path of the function.
"""

from __future__ import annotations

import contextlib
import operator
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import active
from anyshape.graph.ir.graph import raises
from anyshape.graph.ir.op_local import refusals
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.arrays.array import SHOWN_ARRAY
from anyshape.numpy.arrays.array_methods import TextOfArray
from anyshape.numpy.operands.promotion import is_traced
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.control import formatted
from anyshape.ops.creation import full
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.effects import Text, is_late
from anyshape.tracing.raised import Raise, RaisedBefore, Stated, UndescribableError, may_be_caught
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.read import NotKept, Session
from anyshape.tracing.trace import active_builder
from anyshape.transforms.control_flow.kept_choices import raise_of
from anyshape.transforms.control_flow.kept_loops import _as_bool
from anyshape.transforms.control_flow.kept_objects import MembersFoundError, is_value, refuse
from anyshape.transforms.control_flow.tried import note_errstate


def _tracing_branch() -> Session | None:
    """Return the session if the body of a loop is traced into the program, or a branch."""
    session = reading.session() if active() is not None else None
    return session if session is not None and session.frames else None


# -- texts


def text(purpose: str, *parts: Any) -> Any:
    """Return the text of an f-string. A run fills values in that are known only then, for a `raise` or a `print`."""
    if _takes_numbers(purpose):
        parts = tuple([p if isinstance(p, str) else (_at_sizes(p[0]), *p[1:]) for p in parts])
    return Text(parts) if _waits(purpose, parts) else _joined(parts)


def text_by(purpose: str, function: Any, value: Any) -> Any:
    """Return `str(value)` or `repr(value)`, as `text` does."""
    if function in (str, repr):
        return text(purpose, (value, function.__name__[0], ""))
    return reading.as_read(function)(value)


def text_of_percent(purpose: str, template: str, values: Any) -> Any:
    """Return the text of `template % values`, as `text` does."""
    values = _at_sizes(values) if _takes_numbers(purpose) else values
    return (
        Text.of_percent(template, values)
        if _waits(purpose, [(values, "r", "")])
        else _of_arrays(template % values, values)
    )


def text_of_format(purpose: str, template: str, *args: Any, **kwargs: Any) -> Any:
    """Return the text of `template.format(*args, **kwargs)`, as `text` does."""
    args, kwargs = _at_sizes((args, kwargs)) if _takes_numbers(purpose) else (args, kwargs)
    waits = _waits(purpose, [((args, kwargs), "r", "")])
    return (
        Text.of_format(template, args, kwargs)[0]
        if waits
        else _of_arrays(template.format(*args, **kwargs), (args, kwargs))
    )


def settled(x: Any) -> Any:
    """Return a text that a variable holds: it shows what its values are now, whatever is written to them later."""
    if type(x) is not Text:
        return x
    leaves = [leaf for value in _values_of(x) for leaf in pytrees.flatten(value)[0]]
    may_change = not all(pytrees.is_array(leaf) or is_value(leaf) for leaf in leaves)
    new = _at_sizes if may_change else _as_it_is
    parts = [part if isinstance(part, str) else (new(part[0]), *part[1:]) for part in x.parts]
    return _joined(parts) if may_change else Text(parts)


def _values_of(x: Text) -> list[Any]:
    return [part[0] for part in x.parts if not isinstance(part, str)]


def _as_it_is(x: Any) -> Any:
    """Return a value with copies of its containers and arrays."""
    leaves, tree = pytrees.flatten(x)
    return pytrees.unflatten(tree, [leaf.copy() if getattr(leaf, "ndim", 0) else leaf for leaf in leaves])


def _takes_numbers(purpose: str) -> bool:
    """Return whether sizes are numbers in a text; in specifications that our functions take, they have names."""
    session = reading.session()
    if session is None or purpose in _LATE:
        return False
    names_sizes = bool(purpose) and session.called[-1]
    if purpose == "last argument":
        session.called.pop()
    return not names_sizes


_LATE = ("print", "raise")  # purposes of texts that a run fills in


def _at_sizes(value: Any) -> Any:
    """Return what Python makes a text of: a size is its number in this call, which the program is for then."""
    if isinstance(value, SymbolicSize):
        return value if value.scope.hints is None else operator.index(value)  # type: ignore[arg-type]
    if type(value) is dict:
        return {key: _at_sizes(x) for key, x in value.items()}
    if type(value) is list:
        return [*map(_at_sizes, value)]
    is_plain = has_type(value, tuple) and not hasattr(value, "_fields")  # as a shape
    return tuple(map(_at_sizes, value)) if is_plain else value


def _waits(purpose: str, parts: Sequence[Any]) -> bool:
    """Return whether a text shows values that a run fills in; raise where it may not, in a loop that is kept."""
    if reading.session() is None or not is_late(parts):
        return False
    if purpose == "print":
        return True
    if (session := _tracing_branch()) is None:
        return purpose == "raise" and _may_end()
    if purpose not in _LATE:
        raise refuse(session, None, "it makes a text of a value")
    return True


# -- exceptions


def tries() -> None:
    """Begin what a statement tries."""
    if (session := _tracing_branch()) is not None:
        builder = active_builder()
        session.tried.append((builder, len(builder.nodes), len(builder.scope.conditions)))


def tried() -> None:
    """End what a statement tries; refuse to keep a loop where a run may raise in it."""
    session = _tracing_branch()
    while session is not None and session.tried:
        builder, start, count = session.tried.pop()
        if builder is active_builder():
            tried = builder.nodes[start:]
            may_raise = any(raises(node) or refusals(node) or node.op.family in _OF_MATRICES for node in tried)
            if may_raise or any(c.may_refuse for c in builder.scope.conditions[count:]):
                raise refuse(session, None, "an operation that it tries may raise")
            return


_OF_MATRICES = {"linalg", "factorisations", "external"}  # families of ops that may refuse matrices


def handles() -> None:
    """Refuse to keep a loop that handles an exception, which no run would handle."""
    error = sys.exc_info()[1]
    if isinstance(error, (NotKept, MembersFoundError)):
        raise error
    if (session := _tracing_branch()) is not None:
        raise refuse(session, None, f"it handles exceptions: {type(error).__name__}")


def entered(context: Any) -> Any:
    """Return a context that a statement enters; a loop that is kept enters those that the run of NumPy has."""
    if type(context) is np.errstate:
        note_errstate(context)
    if (session := _tracing_branch()) is not None and type(context) not in _CONTEXTS:
        raise refuse(session, None, "it enters a context")
    return context


_CONTEXTS = (np.errstate, warnings.catch_warnings, contextlib.nullcontext)


def failed(message: Callable[[], Any]) -> Any:
    """Return the message of an assertion that does not hold."""
    value = message()
    return "" if _ended_by(AssertionError, [value], {}) else _known([value])[0]


def stated(is_apart: bool, kind: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what `raise kind(*args, **kwargs)` raises; in a loop that is kept, the run calls the class.

    `is_apart`: the exception has no cause.
    """
    session, is_class = _tracing_branch(), has_type(kind, type) and issubclass(kind, BaseException)
    if session is not None and is_class:
        if not issubclass(kind, Exception):
            raise refuse(session, None, f"it raises {kind.__name__}")
        return Stated(kind, args, kwargs)
    if is_apart and is_class and issubclass(kind, Exception) and (ended := _ended_by(kind, args, kwargs)):
        return ended
    named = dict(zip(kwargs, _known([*kwargs.values()]), strict=True))
    return kind(*_known(args), **named)


def _ended_by(kind: type[Exception], args: Sequence[Any], kwargs: dict[str, Any]) -> RaisedBefore | None:
    """Let the program raise an exception that values of the run are part of, and return what ends the trace.

    Return None where there are no such values, where the exception may be caught, and outside of calls.
    """
    values = [*args, *kwargs.values()]
    if not any(type(x) is Text for x in values) and not (_may_end() and is_late([(values, "r", "")])):
        return None
    try:
        raised = Raise(Stated(kind, args, kwargs))
    except UndescribableError:
        return None
    raised.emit(full((), False, bool))
    return RaisedBefore(kind.__name__)


def _may_end() -> bool:
    """Return whether an exception may end a path of a call, with values of the run."""
    builder = active()
    if reading.session() is None or builder is None or builder.answer is None:
        return False
    inner = [b for b in builder.chain() if b.parent is not None]
    are_part_of_path = all(b.arguments is not None and not b.takes_rows for b in inner)
    return are_part_of_path and not may_be_caught()


def _known(args: Sequence[Any]) -> list[Any]:
    """Return arguments with texts that are known now."""
    waiting = [type(x) is Text for x in args]
    if any(waiting) and (session := _tracing_branch()) is not None:
        raise refuse(session, None, "it makes a text of a value")
    return [_joined(x.parts) if waits else x for x, waits in zip(args, waiting, strict=True)]


def _joined(parts: Sequence[Any]) -> str:
    joined = "".join([part if isinstance(part, str) else formatted(*part) for part in parts])
    return _of_arrays(joined, [part[0] for part in parts if not isinstance(part, str)])


def _of_arrays(text: str, values: Any) -> str:
    """Return the text of values; one that shows a traced array is not to be read."""
    traced = [leaf for leaf in pytrees.flatten(values)[0] if is_traced(leaf)] if SHOWN_ARRAY.search(text) else []
    return TextOfArray(traced[0], text) if traced else text


def stated_before(error: Any) -> Any:
    """Return what `raise error` raises: a class, or an exception that exists."""
    if _tracing_branch() is None or not isinstance(error, Exception):
        return stated(False, error) if has_type(error, type) else error
    return Stated(type(error), (), {}, error)


def unpacked(x: Any, count: int) -> Any:
    """Return what so many targets take; in a loop that is kept, the run knows whether there are as many rows."""
    session = _tracing_branch()
    if session is None or not getattr(x, "is_array", False) or not x.ndim or has_type(length := x.shape[0], int):
        return x
    shown = Text([f"not enough values to unpack (expected {count}, got ", (length, "s", ""), ")"])
    raise_of(session, Stated(ValueError, [shown], {})).emit(_as_bool(length >= count))
    many = ValueError(f"too many values to unpack (expected {count})")
    raise_of(session, many).emit(_as_bool(length <= count))
    return [x[FUNCTIONS["minimum"](k, length - 1)] for k in range(count)]

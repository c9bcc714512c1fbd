"""Truths in code that is read: `and`, `or`, `not`, comparisons and conditional expressions, which may be choices.

They also say whether a choice on a traced value becomes part of the program where code stands.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.ops import elementwise as ew
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.read import Session
from anyshape.transforms.control_flow.iterables import is_open
from anyshape.transforms.control_flow.kept_choices import Choice, Maybe
from anyshape.transforms.control_flow.kept_lists import KeptList
from anyshape.transforms.control_flow.kept_loops import _as_bool
from anyshape.transforms.control_flow.owners import KEYED, key_of

_OPERATORS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not,
}  # fmt: skip


def current_session() -> Session | None:
    """Return the session of the active trace."""
    return reading.session() if active() is not None else None


def choosing_session(*branches: Any) -> Session | None:
    """Return the session where choices on traced values are part of the program: in loops, and where paths are many."""
    session = current_session()
    if session is None or session.frames:
        return session
    if not session.choosing or any(f is not None and f.__code__ in session.refused for f in branches):
        return None
    return session


def session_in_frame() -> Session | None:
    """Return the session if the body of a loop is traced into the program, or a branch."""
    session = current_session()
    return session if session is not None and session.frames else None


def is_undecided(x: Any) -> bool:
    """Return whether a run alone knows the truth of a value."""
    if isinstance(x, SymbolicSize) or (type(x) is KeptList and is_open(x.length)):
        return True
    return isinstance(x, Traced) and x.meta.rank == 0


def not_(x: Any) -> Any:
    """Return `not x`."""
    if isinstance(x, Maybe):
        x = x.value
    return ew.logical_not(_as_bool(x)) if choosing_session() and is_undecided(x) else not x


def clear(*flags: Any) -> Any:
    """Return whether none of some flags is set."""
    flags = tuple([f.value if isinstance(f, Maybe) else f for f in flags])
    if any(f is True for f in flags):
        return False
    open_ = [f for f in flags if f is not False]
    if not open_:
        return True
    result = _as_bool(open_[0])
    for flag in open_[1:]:
        result = ew.logical_or(result, _as_bool(flag))
    return ew.logical_not(result)


def and_(first: Any, *others: Callable[[], Any]) -> Any:
    """Return `first and others[0]() and ...`."""
    if not others:
        return first
    if choosing_session(others[0]) and is_undecided(first):
        yes = lambda: and_(others[0](), *others[1:])
        return chosen(first, yes, lambda: _if_bool(first, False), others[0].__code__)
    return and_(others[0](), *others[1:]) if first else first


def truth(x: Any) -> Any:
    """Return an operand of `and` or `or` whose truth alone is asked for."""
    return _as_bool(x) if choosing_session() and is_undecided(x) else x


def _if_bool(x: Any, known: bool) -> Any:
    """Return what a value that is a bool is known to be, which both branches may agree on; other values as they are."""
    return known if isinstance(x, Traced) and x.dtype.kind == "b" else x


def or_(first: Any, *others: Callable[[], Any]) -> Any:
    """Return `first or others[0]() or ...`."""
    if not others:
        return first
    if choosing_session(others[0]) and is_undecided(first):
        no = lambda: or_(others[0](), *others[1:])
        return chosen(first, lambda: _if_bool(first, True), no, others[0].__code__)
    return first if first else or_(others[0](), *others[1:])


def choose(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """Return `yes() if test else no()`."""
    if choosing_session(yes, no) and is_undecided(test):
        return chosen(test, yes, no, yes.__code__)
    return yes() if test else no()


def chosen(test: Any, yes: Callable[[], Any], no: Callable[[], Any], code: types.CodeType) -> Any:
    """Return what one of two functions gives; `code` is that of the user."""
    session = choosing_session()
    assert session is not None
    return Choice(session, (no, yes), {}, (), code).run(predicate_of(test))


def predicate_of(test: Any) -> Any:
    return test if isinstance(test, SymbolicSize) else _as_bool(test)


def compare(left: Any, *others: tuple[str, Callable[[], Any]]) -> Any:
    """Return a chain of comparisons, `left < others[0]() < ...`, which stops at the first that does not hold."""
    symbol, right = others[0]
    value = right()
    is_key = type(value) in KEYED and "in" in symbol and current_session() is not None
    result = _compared(symbol, key_of(left) if is_key else left, value)
    if len(others) == 1:
        return result
    return and_(result, lambda: compare(value, *others[1:]))


def _compared(symbol: str, left: Any, right: Any) -> Any:
    if symbol in _OPERATORS:
        return _OPERATORS[symbol](left, right)
    if type(right) is KeptList:
        return right.has(left) if symbol == "in" else ew.logical_not(right.has(left))
    is_listed = type(right) in (tuple, list, set, range) and len(right) > 0
    if (
        is_listed
        and choosing_session()
        and any(map(is_undecided, (left, *right)))
        and not any(map(np.ndim, (left, *right)))
    ):
        is_in = functools.reduce(ew.logical_or, [_as_bool(left == x) for x in right])
        return is_in if symbol == "in" else ew.logical_not(is_in)
    return (left in right) is (symbol == "in")

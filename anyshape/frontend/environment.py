"""What a function reads besides its arguments: variables it closes over and globals, its own and its callees'.

A program is traced once, so it holds what these were then. The cache asks, before it reuses a program, whether they
still are: a name bound anew means a new trace, never a stale answer. Arrays are held by reference, so changes made to
them in place are seen without a trace. Attributes of objects, and containers inside containers, are not watched.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_LIBRARIES = ("anyshape.", "numpy.", "scipy.", "builtins")


def watch(function: Callable[..., Any]) -> Callable[[], bool] | None:
    """A test that holds while nothing that `function` reads has been bound anew; None if there is nothing to watch."""
    tests: list[Callable[[], bool]] = []
    seen: set[int] = set()
    todo: list[Any] = [function]
    while todo:
        found = _plain_function(todo.pop())
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        for read in _variables(found):
            value = read()
            test = _unchanged(read, value)
            if test is not None:
                tests.append(test)
            todo.append(value)
    return (lambda: all(test() for test in tests)) if tests else None


def _plain_function(x: Any) -> types.FunctionType | None:
    """The user's Python function behind a function, a method or a transformed function."""
    for _ in range(100):
        if not hasattr(x, "__wrapped__"):
            break
        x = x.__wrapped__
    x = getattr(x, "__func__", x)
    if not isinstance(x, types.FunctionType) or f"{x.__module__}.".startswith(_LIBRARIES):
        return None
    return x


def _variables(function: types.FunctionType) -> Iterator[Callable[[], Any]]:
    """A reader for each variable that is bound now: cells of the closure, then globals that the code names."""
    for cell in function.__closure__ or ():
        try:
            cell.cell_contents  # noqa: B018 (an empty cell has no contents)
        except ValueError:
            continue
        yield functools.partial(getattr, cell, "cell_contents")
    names = function.__globals__
    for name in dict.fromkeys(_names(function.__code__)):
        if name in names:
            yield functools.partial(operator.getitem, names, name)


def _names(code: types.CodeType) -> Iterator[str]:
    """The names that a code object and those inside it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _unchanged(read: Callable[[], Any], value: Any) -> Callable[[], bool] | None:
    """Whether the variable still holds the value; None for what cannot change a program, such as modules."""
    if isinstance(value, (types.ModuleType, type)):
        return None
    if isinstance(value, (dict, list, tuple)):
        held = _members(value)
        return lambda: _same_container(_current(read), value, held)
    if isinstance(value, _SCALARS):
        kind = type(value)
        return lambda: (now := _current(read)) is value or (type(now) is kind and bool(now == value))
    return lambda: _current(read) is value


_UNBOUND = object()


def _current(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (KeyError, ValueError):
        return _UNBOUND


def _members(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else [*container]


def _same_container(now: Any, value: Any, held: list[Any]) -> bool:
    if now is not value:
        return False
    members = _members(now)
    return len(members) == len(held) and all(map(_is, members, held))


def _is(a: Any, b: Any) -> bool:
    return a is b

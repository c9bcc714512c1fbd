"""What a function reads besides its arguments: closure variables, globals and attributes, its own and its callees'.

A program is traced once, so it holds what these were then. The cache asks, before it reuses a program, whether they
still are: a name bound anew means a new trace, never a stale answer. Arrays are held by reference, so changes made to
them in place are seen without a trace. Containers inside containers are not watched, nor objects inside them.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_LIBRARIES = ("anyshape.", "numpy.", "scipy.", "builtins")


def watch(function: Callable[..., Any]) -> Callable[[], bool] | None:
    """A test that holds while nothing that `function` reads has been bound anew; None if there is nothing to watch."""
    return _Watch().of(function)


class _Watch:
    """Follows what is reachable: from a function to what its code names, from an object to the attributes it names."""

    def __init__(self) -> None:
        self.tests: list[Callable[[], bool]] = []
        self.seen: set[tuple[int, int]] = set()
        self.todo: list[tuple[types.FunctionType, Any]] = []  # a function, and an object whose attributes it may read

    def of(self, function: Callable[..., Any]) -> Callable[[], bool] | None:
        self.follow(function)
        while self.todo:
            code, owner = self.todo.pop()
            if (id(code), id(owner)) not in self.seen:
                self.seen.add((id(code), id(owner)))
                self.read(code, _variables(code) if owner is None else _attributes(code, owner))
        return functools.partial(_all_hold, self.tests) if self.tests else None

    def read(self, code: types.FunctionType, readers: Iterable[Callable[[], Any]]) -> None:
        """Watch what is read, and go on from there."""
        for read in readers:
            value = read()
            test = _unchanged(read, value)
            if test is not None:
                self.tests.append(test)
            self.follow(value)
            if _has_attributes(value):
                self.todo.append((code, value))

    def follow(self, value: Any) -> None:
        """The functions behind a value: its own, its method's with the object, its callees'."""
        value = _unwrapped(value)
        function = getattr(value, "__func__", value)
        owner = getattr(value, "__self__", None)
        if _has_attributes(function):
            function, owner = (type(function).__call__ if callable(function) else None), function
        if isinstance(function, types.FunctionType) and not f"{function.__module__}.".startswith(_LIBRARIES):
            self.todo.append((function, None))
            if owner is not None and _has_attributes(owner):
                self.todo.append((function, owner))


def _unwrapped(x: Any) -> Any:
    """The user's function behind transformed and partially applied ones."""
    for _ in range(100):
        if isinstance(x, functools.partial):
            x = x.func
        elif "__wrapped__" in getattr(x, "__dict__", ()):
            x = x.__wrapped__
        else:
            break
    return x


def _has_attributes(x: Any) -> bool:
    """An object of a user's class, whose attributes can be bound anew."""
    plain = isinstance(x, (types.ModuleType, type, types.FunctionType, types.MethodType, np.ndarray))
    return not plain and hasattr(x, "__dict__") and not f"{type(x).__module__}.".startswith(_LIBRARIES)


def _attributes(function: types.FunctionType, owner: Any) -> Iterator[Callable[[], Any]]:
    """A reader for each attribute of the object that the code names; methods of its class are read as bound ones."""
    for name in dict.fromkeys(_names(function.__code__)):
        if name in vars(owner):
            yield functools.partial(operator.getitem, vars(owner), name)
        elif isinstance(getattr(type(owner), name, None), types.FunctionType):
            yield functools.partial(_constant, getattr(owner, name))


def _constant(x: Any) -> Any:
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


def _all_hold(tests: list[Callable[[], bool]]) -> bool:
    try:
        for test in tests:
            if not test():
                return False
    except (KeyError, ValueError):  # a name or a closure variable that is not bound any more
        return False
    return True


def _unchanged(read: Callable[[], Any], value: Any) -> Callable[[], bool] | None:
    """Whether the variable still holds the value; None for what cannot change a program, such as modules."""
    if isinstance(value, (types.ModuleType, type, types.MethodType)):
        return None
    if isinstance(value, (dict, list, tuple)):
        held = _members(value)
        return lambda: _same_container(read(), value, held)
    if isinstance(value, _SCALARS):
        return lambda: (now := read()) is value or (type(now) is type(value) and bool(now == value))
    return lambda: read() is value


def _members(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else [*container]


def _same_container(now: Any, value: Any, held: list[Any]) -> bool:
    if now is not value:
        return False
    members = _members(now)
    return len(members) == len(held) and all(map(_is, members, held))


def _is(a: Any, b: Any) -> bool:
    return a is b

"""Watch captured state: closure variables, globals and attributes that a function and its callees read.

A program holds the values that captured state had when it was traced. Before the cache reuses a program, it tests that
each name is still bound to the same value; otherwise it traces anew. Arrays are held by reference, so programs see
changes made in place.

Attributes of objects, classes and modules are watched, except in installed packages. Containers inside containers are
not watched, nor are objects inside them.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

_SCALARS = (bool, int, float, complex, str, bytes, type(None), np.generic)
_UNBOUND = object()
_LIBRARIES = ("anyshape.", "numpy.", "scipy.", "builtins")


class Watch:
    """Test that captured state is unchanged; `changed` lists the names that are bound to another value."""

    def __init__(self, tests: Sequence[_Test]) -> None:
        self.tests = tuple(tests)
        space: dict[str, Any] = {"same": _same_container}
        terms = [t.write(i, space) for i, t in enumerate(self.tests)]
        lines = ["def unchanged():", "    try:", f"        return {' and '.join(terms)}"]
        exec("\n".join([*lines, "    except (KeyError, ValueError):", "        return False"]), space)
        self.unchanged: Callable[[], bool] = space["unchanged"]

    def __call__(self) -> bool:
        return self.unchanged()

    def changed(self) -> list[tuple[str, str, str]]:
        """Return the names with another value, each with its value before and now as text."""
        return [(t.read.label, *t.difference()) for t in self.tests if not Watch([t])()]


class _Read(NamedTuple):
    """Access path of a variable: an entry of a dict by its name, or the contents of a cell (name: None)."""

    label: str
    owner: Any
    name: str | None

    def value(self) -> Any:
        return self.owner.cell_contents if self.name is None else self.owner.get(self.name, _UNBOUND)


class _Test(NamedTuple):
    """Test that a variable holds the same value; `members` are the contents of a container that may change in place."""

    read: _Read
    value: Any
    members: list[Any] | None

    def write(self, i: int, space: dict[str, Any]) -> str:
        """Return the source of the test, and put the objects that it reads into `space`."""
        space |= {f"o{i}": self.read.owner, f"v{i}": self.value}
        if self.value is _UNBOUND:
            return f"{self.read.name!r} not in o{i}"
        now = f"o{i}.cell_contents" if self.read.name is None else f"o{i}[{self.read.name!r}]"
        if self.members is not None:
            space[f"m{i}"] = self.members
            return f"same({now}, v{i}, m{i})"
        if isinstance(self.value, _SCALARS):  # equal numbers of one type are as good as the same one
            same = f"n == v{i}" if self.value != 0 else f"repr(n) == {repr(self.value)!r}"  # 0.0 is not -0.0
            return f"((n := {now}) is v{i} or (n.__class__ is v{i}.__class__ and bool({same})))"
        return f"{now} is v{i}"

    def difference(self) -> tuple[str, str]:
        """Return the value at the trace and the value now, as texts."""
        try:
            now = self.read.value()
        except ValueError:
            now = _UNBOUND
        if self.members is None:
            before, after = _text(self.value), _text(now)
        else:
            before = _text(_container(self.value, self.members))
            after = _text(now)
        return before, f"another {after}" if before == after else after


def _text(x: Any) -> str:
    """Return a number or a small container as it prints, and anything else by its type."""
    if x is _UNBOUND:
        return "not bound"
    if isinstance(x, (*_SCALARS, dict, list, tuple)):
        text = repr(x)
        return text if len(text) <= 80 else f"{text[:77]}..."
    return getattr(x, "__name__", type(x).__name__)


def _container(value: Any, members: list[Any]) -> Any:
    """Return the members of a container as they were, in one that prints like it."""
    if isinstance(value, dict):
        return dict(zip(members[: len(members) // 2], members[len(members) // 2 :], strict=True))
    return tuple(members) if isinstance(value, tuple) else members


def watch(function: Callable[..., Any]) -> Watch | None:
    """Return a test of the captured state of a function, None if it has none."""
    return _Watcher().of(function)


class _Watcher:
    """Collect tests: from a function to the names in its code, from an object to the attributes that the code names."""

    def __init__(self) -> None:
        self.tests: list[_Test] = []
        self.seen: set[tuple[int, int]] = set()
        self.todo: list[tuple[types.FunctionType, Any]] = []  # a function, and an object whose attributes it may read

    def of(self, function: Callable[..., Any]) -> Watch | None:
        self.follow(function)
        while self.todo:
            code, owner = self.todo.pop()
            if (id(code), id(owner)) not in self.seen:
                self.seen.add((id(code), id(owner)))
                for read in _variables(code) if owner is None else _attributes(code, owner):
                    self.meet(code, read.value(), read)
                for method in () if owner is None else _methods(code, owner):
                    self.meet(code, method)
        return Watch(self.tests) if self.tests else None

    def meet(self, code: types.FunctionType, value: Any, read: _Read | None = None) -> None:
        """Add a test of a value, and follow the functions and objects behind it."""
        if read is not None and not isinstance(value, (types.ModuleType, type, types.MethodType)):
            self.tests.append(_Test(read, value, _members(value) if isinstance(value, (dict, list, tuple)) else None))
        self.follow(value)
        if _has_attributes(value) and not (isinstance(value, types.ModuleType) and _is_foreign(value, code)):
            self.todo.append((code, value))

    def follow(self, value: Any) -> None:
        """Queue the functions behind a value: a function, a method with its object, the `__call__` of an object."""
        value = _unwrapped(value)
        function = getattr(value, "__func__", value)
        owner = getattr(value, "__self__", None)
        if _has_attributes(function):
            function, owner = (type(function).__call__ if callable(function) else None), function
        if isinstance(function, types.FunctionType) and not _is_library(function.__module__):
            self.todo.append((function, None))
            if owner is not None and _has_attributes(owner):
                self.todo.append((function, owner))


def _unwrapped(x: Any) -> Any:
    """The user's function behind transformed and partially applied ones."""
    for _ in range(100):
        if isinstance(x, functools.partial):
            x = x.func
        elif isinstance(x, types.MethodType):  # what its function wraps has no object
            inside: Any = x.__func__
            if "__wrapped__" not in getattr(inside, "__dict__", ()):
                break
            x = types.MethodType(inside.__wrapped__, x.__self__)
        elif "__wrapped__" in getattr(x, "__dict__", ()):
            x = x.__wrapped__
        else:
            break
    return x


def _has_attributes(x: Any) -> bool:
    """True for a module or class of the user, or an object of one: its attributes can change."""
    if isinstance(x, (types.ModuleType, type)):
        module = x.__name__ if isinstance(x, types.ModuleType) else x.__module__
        return not _is_library(module) and module.partition(".")[0] not in sys.stdlib_module_names
    plain = isinstance(x, (types.FunctionType, types.MethodType, np.ndarray))
    return not plain and hasattr(x, "__dict__") and not _is_library(type(x).__module__)


def _is_foreign(module: types.ModuleType, code: types.FunctionType) -> bool:
    """True for an installed package other than the package of the function that names it."""
    same = module.__name__.partition(".")[0] == code.__module__.partition(".")[0]
    return not same and "site-packages" in (getattr(module, "__file__", None) or "")


def _is_library(module: str) -> bool:
    return f"{module}.".startswith(_LIBRARIES)


def _attributes(function: types.FunctionType, owner: Any) -> Iterator[_Read]:
    """Yield each attribute that the code names, in each namespace where a new binding would hide it."""
    kind = owner if isinstance(owner, (types.ModuleType, type)) else type(owner)
    classes = [k for k in getattr(kind, "__mro__", ()) if k is not owner and not _is_library(k.__module__)]
    namespaces = [owner, *classes]
    for name in dict.fromkeys(_names(function.__code__)):
        holder = next((i for i, space in enumerate(namespaces) if name in vars(space)), None)
        if holder is None:
            continue
        plain = not hasattr(vars(namespaces[holder])[name], "__get__")  # a method is seldom hidden, a default often is
        for space in namespaces[0 if plain else holder : holder + 1]:
            yield _Read(f"{kind.__name__}.{name}", vars(space), name)


def _methods(function: types.FunctionType, owner: Any) -> Iterator[types.MethodType]:
    """Yield the methods of the object's class that the code names."""
    for name in dict.fromkeys(_names(function.__code__)):
        if name not in vars(owner) and isinstance(getattr(type(owner), name, None), types.FunctionType):
            yield getattr(owner, name)


def _variables(function: types.FunctionType) -> Iterator[_Read]:
    """Yield each bound variable: cells of the closure, then globals that the code names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents  # noqa: B018 (an empty cell has no contents)
        except ValueError:
            continue
        yield _Read(name, cell, None)
    names = function.__globals__
    for name in dict.fromkeys(_names(function.__code__)):
        if name in names:
            yield _Read(name, names, name)


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that a code object and nested ones look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _members(container: Any) -> list[Any]:
    return [*container, *container.values()] if isinstance(container, dict) else [*container]


def _same_container(now: Any, value: Any, held: list[Any]) -> bool:
    if now is not value:
        return False
    members = _members(now)
    return len(members) == len(held) and all(map(operator.is_, members, held))

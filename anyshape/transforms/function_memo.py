"""Memoise what transforms make of a function, for as long as the function lives.

A closure that is made anew for each batch may hold the batch. What is made of it refers to it, so a table of the module
would hold both. The function itself holds the table instead: both are garbage together.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from anyshape.support.fork_lock import Lock
from anyshape.support.freezing import Frozen
from anyshape.support.true_types import has_type
from anyshape.transforms.caching.cache import Cache
from anyshape.transforms.jitted import Jitted

K = TypeVar("K", bound=Hashable)
_NAME = "<made by anyshape>"  # no code can name it as an attribute


class _Memo:
    """Table of one function, which is neither copied nor pickled with it."""

    __slots__ = ("entries", "function")

    def __init__(self, function: Any = None) -> None:
        self.function = None if function is None else weakref.ref(function)
        self.entries: dict[Hashable, Any] = {}

    def belongs_to(self, function: Any) -> bool:
        """Return False for the table of another function, whose attributes were copied."""
        return self.function is not None and self.function() is function

    def __deepcopy__(self, memo: dict[int, Any]) -> _Memo:
        return _Memo()

    def __reduce__(self) -> Any:
        return _Memo, ()


def memoised(function: Callable[..., Any], key: K, make: Callable[[Callable[..., Any], K], Any]) -> Any:
    """Return what `make(function, key)` gave for the same hashable function and key, or call it."""
    attributes = _attributes_of(function)
    if attributes is None:
        return _shared(Frozen(function), key, make)
    memo = attributes.get(_NAME)
    if memo is None or not memo.belongs_to(function):
        memo = attributes[_NAME] = _Memo(function)
    entry = memo.entries.get((make, key))
    return memo.entries.setdefault((make, key), make(function, key)) if entry is None else entry


def share_programs(jitted: Jitted, function: Callable[..., Any], transform: Callable[..., Any], *settings: Any) -> None:
    """Have what a transform made of a function use the programs of what it made before of the same function.

    So `vmap(grad(f))(x)` in a loop traces once. A function that can hold the programs does, for as long as it lives.
    Only settings of plain numbers tell that two results are the same.
    """
    if not all(map(_is_plain, settings)):
        return
    key: Hashable = transform, *[_with_types(x) for x in settings]
    if has_type(function, Jitted) and function.made_of is not None:
        function, before = function.made_of
        key = key, before
    if _attributes_of(function) is not None:
        jitted.use_cache(*memoised(function, key, _no_programs))
        jitted.made_of = function, key


def _is_plain(setting: Any) -> bool:
    """Return whether a setting is a number or None, or a tuple of them: these have a hash."""
    if type(setting) is tuple:
        return all(map(_is_plain, setting))
    return setting is None or has_type(setting, int)


def _with_types(setting: Any) -> Any:
    """Return a plain setting with the types of its numbers: True is not 1."""
    return tuple(map(_with_types, setting)) if type(setting) is tuple else (type(setting), setting)


def _no_programs(function: Callable[..., Any], key: Hashable) -> tuple[Cache, Lock]:
    return Cache(), Lock()


def _attributes_of(function: Any) -> dict[str, Any] | None:
    """Return the dict of a function's attributes, None for other callables and for wrappers, whose dict is compared."""
    if has_type(function, Jitted):
        return vars(function)
    return vars(function) if has_type(function, types.FunctionType) and not hasattr(function, "__wrapped__") else None


@functools.lru_cache(maxsize=64)
def _shared(function: Frozen, key: K, make: Callable[[Callable[..., Any], K], Any]) -> Any:
    return make(function.value, key)

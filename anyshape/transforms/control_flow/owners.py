"""Objects of Python that an expression takes an attribute or an item of: properties are read, and positions traced.

Python must know the key of a dict or a set, so an integer of the program makes a path for each value.
"""

from __future__ import annotations

import operator
import types
import weakref
from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.user_stack import is_user_file
from anyshape.numpy.operands.promotion import as_traced, is_traced, is_weak
from anyshape.tracing.source import read as reading
from anyshape.transforms.control_flow.list_functions import item_at

KEYED = (dict, set, frozenset, defaultdict, Counter, OrderedDict)
BY_KEY = {"get", "setdefault", "pop", "add", "discard", "remove", "move_to_end"}  # methods whose argument is a key


def key_of(x: Any) -> Any:
    """Return a key of a dict or a set as Python knows it."""
    if type(x) is tuple:
        return tuple(map(key_of, x))
    if not isinstance(x, Traced) or x.meta.rank or x.dtype.kind not in "iub":
        return x
    known = operator.index(x)  # type: ignore[arg-type]
    return x.dtype.type(known) if x.dtype.kind == "b" or not is_weak(x) else known


class Indexed:
    """Object of Python that an expression indexes."""

    __slots__ = ("_owner",)

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def __getitem__(self, key: Any) -> Any:
        owner = self._owner
        if type(owner) in KEYED:
            return owner[key_of(key)]
        if type(owner) is np.ndarray:
            return as_traced(owner)[key] if is_traced(key) else owner[key]
        session = reading.session() if active() is not None else None
        if isinstance(key, Traced) and not key.meta.rank and session is not None and session.frames:
            return item_at(owner, key, session.frames[-1].code)
        return owner[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._owner[key_of(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self._owner[key_of(key)]


_PROPERTIES: weakref.WeakKeyDictionary[type, dict[str, property]] = weakref.WeakKeyDictionary()


def of(x: Any) -> Any:
    """Return an object whose attribute is loaded: one whose properties are read, if it has any."""
    kind = type(x)
    known = _PROPERTIES.get(kind)
    if known is None:
        known = _PROPERTIES[kind] = _properties(kind)
    return _Owner(x, known) if known and reading.session() is not None and active() is not None else x


def _properties(kind: type) -> dict[str, property]:
    """Return the properties of a class that are functions of users."""
    members = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    return {n: p for n, p in members.items() if type(p) is property and is_users(p.fget)}


def is_users(function: Any) -> bool:
    """Return whether an object is a function of a user."""
    return type(function) is types.FunctionType and is_user_file(function.__code__.co_filename, function.__globals__)


class _Owner:
    """Object whose properties are run as they are read."""

    __slots__ = ("_owned", "_properties")

    def __init__(self, owned: Any, properties: dict[str, property]) -> None:
        self._owned, self._properties = owned, properties

    def __getattribute__(self, name: str) -> Any:
        owned = object.__getattribute__(self, "_owned")
        own = object.__getattribute__(self, "_properties").get(name)
        return getattr(owned, name) if own is None else reading.as_read(own.fget)(owned)

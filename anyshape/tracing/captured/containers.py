"""Contents of containers, arrays, buffers and references, for the walk over what a function reaches."""

from __future__ import annotations

import array
import collections
import ctypes
import functools
import mmap
import types
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from anyshape.tracing.captured.code_origin import is_atom
from anyshape.tracing.captured.holders import SMALL, UNBOUND, Namespace, Unwatched, dict_of, read_cell, referent


class Visitor(Protocol):
    """Walk, as the functions see it that open one value of it."""

    unwatched: list[Unwatched]

    def visit(self, label: str, value: Any) -> None:
        """Queue an object."""

    def hold(self, kind: str, label: str, owner: Any, *names: Any) -> None:
        """Record a holder."""

    def add_space(self, space: Namespace) -> None:
        """Watch the names of a namespace that matter."""

    def open_subclass(self, label: str, value: Any, plain: tuple[type, ...]) -> None:
        """Follow the attributes of a container whose class is the user's own."""


def open_dict(walk: Visitor, label: str, value: dict[Any, Any]) -> None:
    """Follow a dict to its keys and values."""
    if type(value) is dict:
        walk.hold("items", label, value)
    else:
        base: Any = collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict
        walk.hold("iterated", label, value, base.keys, base.values)
    for key, item in list(dict.items(value)):
        walk.visit(f"{label}[{_short(key)}]", item)
        walk.visit(f"{label}[{_short(key)}]", key)
    if isinstance(value, collections.defaultdict):
        walk.hold("fields", label, value, "default_factory")
        walk.visit(label, value.default_factory)
    if type(value) is not dict:
        walk.open_subclass(label, value, (dict,))


def open_sequence(walk: Visitor, label: str, value: Any) -> None:
    """Follow a list, tuple, deque or set to its items."""
    base = next(k for k in _CONTAINERS if isinstance(value, k))
    if type(value) is base:
        if not isinstance(value, (tuple, frozenset)):  # these never change: their items are watched
            walk.hold("items", label, value)
    else:
        walk.hold("iterated", label, value, base.__iter__)
    for i, item in enumerate(list(base.__iter__(value))):
        walk.visit(f"{label}[{i}]", item)
    if type(value) is not base:
        walk.open_subclass(label, value, _CONTAINERS)


def open_view(walk: Visitor, label: str, value: Any) -> None:
    """Follow the view of a dict, or a read-only proxy of one, to the items."""
    walk.hold("items", label, value)
    for i, item in enumerate(list(value)):
        walk.visit(f"{label}[{i}]", item)
    if isinstance(value, types.MappingProxyType):
        walk.hold("items", label, value.values())
        for key, item in list(value.items()):
            walk.visit(f"{label}[{_short(key)}]", item)


def open_array(walk: Visitor, label: str, value: np.ndarray) -> None:
    """Compare a small array by content; the program holds a larger one by reference."""
    walk.hold("shape", label, value)
    if value.dtype.hasobject:
        if value.size <= SMALL and value.flags.c_contiguous:
            walk.hold("items", label, value.reshape(-1))
            for i, item in enumerate(value.reshape(-1).tolist()):
                walk.visit(f"{label}[{i}]", item)
        else:
            walk.unwatched.append(Unwatched(label, "the objects in a large or strided array"))
    elif value.nbytes <= SMALL:
        walk.hold("content", label, value, np.ndarray.tobytes)
    else:
        text = f"the values of an array of {value.nbytes:,} bytes, where the function reads them while it is traced"
        walk.unwatched.append(Unwatched(label, text))
    if type(value) is not np.ndarray and dict_of(value):
        walk.add_space(Namespace(f"{label}.", dict_of(value) or {}, is_whole=True, shadowed=True))


def open_buffer(walk: Visitor, label: str, value: Any) -> None:
    """Compare a buffer of the standard library by content."""
    if memoryview(value).nbytes <= SMALL:
        walk.hold("content", label, value, bytes)
    else:
        walk.unwatched.append(Unwatched(label, "the values of a large buffer"))


def open_void(walk: Visitor, label: str, value: np.void) -> None:
    """Compare a record of an array by content: its fields can be assigned."""
    walk.hold("content", label, value, np.void.tobytes)


# -- references


def open_cell(walk: Visitor, label: str, cell: types.CellType) -> None:
    """Follow a variable of a closure; an empty one may be filled later."""
    now = read_cell(cell)
    if now is UNBOUND:
        walk.hold("call", label, functools.partial(read_cell, cell))
    else:
        walk.hold("fields", label, cell, "cell_contents")
        walk.visit(label, now)


def open_weak_reference(walk: Visitor, label: str, reference: Any) -> None:
    """Follow a weak reference."""
    walk.hold("call", label, reference)
    walk.visit(label, reference())


def open_context_variable(walk: Visitor, label: str, variable: ContextVar[Any]) -> None:
    """Follow a context variable to its value."""
    read = functools.partial(variable.get, UNBOUND)
    walk.hold("call", label, read)
    walk.visit(label, read())


def open_proxy(walk: Visitor, label: str, proxy: Any) -> None:
    """Follow a weak proxy to the object that it stands for."""
    walk.visit(label, referent(proxy))


_CTYPES: Any = ctypes.c_double.__mro__[-2]  # the base of all its data
_CONTAINERS = (list, tuple, collections.deque, set, frozenset)
_VIEWS: tuple[type, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
OPENERS: tuple[tuple[Any, Callable[[Visitor, str, Any], None]], ...] = (
    (types.CellType, open_cell),
    (np.ndarray, open_array),
    (np.void, open_void),
    ((bytearray, array.array, memoryview, mmap.mmap, _CTYPES), open_buffer),
    (weakref.ref, open_weak_reference),
    (weakref.ProxyTypes, open_proxy),
    (ContextVar, open_context_variable),
    (dict, open_dict),
    (_VIEWS, open_view),
    (_CONTAINERS, open_sequence),
)


def _short(key: Any) -> str:
    text = repr(key) if is_atom(type(key)) else type(key).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

"""Holders of objects: one record for each way to read what an object, a container or a variable holds."""

from __future__ import annotations

import abc
import struct
import types
from collections.abc import Callable
from typing import Any

from anyshape.support.lazy_namedtuple import NamedTuple

UNBOUND = object()
SMALL = 4096  # bytes of an array that is compared by content


class Holder(NamedTuple):
    """Thing that holds others: how it is read (`kind`), the path to it, itself, and the names that matter.

    - "variables" and "attributes" are names in a namespace: of globals, and of an object, a class or a module.
    - "keys" are the names in the namespace of an object or a class, "fields" attributes by `attrgetter`.
    - "items" are the members of a container, "iterated" those that an iterator from `names[0]` yields.
    - "type" is the class, "shape" the shape and dtype of an array, "content" its bytes by `names[0]`, and "call" the
      result of a call.

    `of` is the number of the thing in the walk that it was found at.
    """

    kind: str
    label: str
    owner: Any
    names: tuple[Any, ...] = ()
    of: int = 0

    def member(self, i: int) -> str:
        """Return the path to the i-th thing that it holds."""
        if self.kind in ("variables", "attributes"):
            return f"{self.label}{self.names[i]}"
        return self.label


_READERS: dict[str, Callable[[Holder], list[Any]]] = {
    "variables": lambda h: [h.owner.get(n, UNBOUND) for n in h.names],
    "attributes": lambda h: [h.owner.get(n, UNBOUND) for n in h.names],
    "keys": lambda h: list(h.owner),
    "fields": lambda h: [_field(h.owner, n) for n in h.names],
    "items": lambda h: [*h.owner, *h.owner.values()] if isinstance(h.owner, dict) else list(h.owner),
    "iterated": lambda h: [x for iterate in h.names for x in iterate(h.owner)],
    "type": lambda h: [type(h.owner)],
    "shape": lambda h: [h.owner.shape, h.owner.dtype],
    "content": lambda h: [h.names[0](h.owner)],
    "call": lambda h: [h.owner()],
}


def read_holder(holder: Holder) -> list[Any]:
    """Return what a holder holds now."""
    return _READERS[holder.kind](holder)


def _field(owner: Any, name: str) -> Any:
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):  # an empty slot, an empty cell
        return UNBOUND


class Roots(dict[str, Any]):
    """Function and static arguments of a program by name, watched together: the code of one names parts of another.

    `without` are names that do not count, each by the id of its namespace, object or cell, and its text.
    """

    def __init__(self, values: dict[str, Any], without: frozenset[tuple[int, str]] = frozenset()) -> None:
        super().__init__(values)
        self.without = without


class Unwatched(NamedTuple):
    """Thing whose changes are not noticed: the path to it, and why."""

    label: str
    why: str

    def __str__(self) -> str:
        return f"{self.label}: {self.why}"


class Namespace:
    """Names of an object, a class or a module: `names` are those that matter."""

    prefix: str
    entries: Any
    is_whole: bool
    is_class: bool
    is_of_user: bool
    is_object: bool
    shadowed: bool
    binding_only: bool

    __slots__ = (
        "binding_only", "entries", "is_class", "is_object", "is_of_user", "is_whole", "names", "of", "prefix",
        "shadowed",
    )  # fmt: skip

    def __init__(
        self,
        prefix: str, entries: Any, *,
        is_whole: bool = False,
        is_class: bool = False,
        is_object: bool = False,
        is_of_user: bool = False,
        shadowed: bool = False,
        binding_only: bool = False,
    ) -> None:  # fmt: skip
        self.prefix, self.entries, self.is_whole, self.is_class = prefix, entries, is_whole, is_class
        self.is_of_user, self.is_object, self.shadowed, self.binding_only = (
            is_of_user,
            is_object,
            shadowed,
            binding_only,
        )
        self.names: list[str] = []
        self.of: int = 0  # number of its owner in the walk

    def items(self) -> list[tuple[Any, Any]]:
        """Return names and values, by name for a class: a pickle changes the order there."""
        entries = list(self.entries.items())
        return sorted(entries, key=lambda entry: str(entry[0])) if self.is_class else entries

    @property
    def may_be_read_whole(self) -> bool:
        """True for objects that code may read without naming each attribute."""
        return self.is_object and self.shadowed


def read_cell(cell: types.CellType) -> Any:
    """Return the contents of a cell, UNBOUND for an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def read_slot(slot: Any, owner: Any) -> Any:
    """Return what a slot of an object holds, UNBOUND for an empty one."""
    try:
        return slot.__get__(owner)
    except AttributeError:
        return UNBOUND


def dict_of(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object, None if it has no dict for them."""
    try:
        entries = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return entries if isinstance(entries, dict) else None


def slots_of(kind: type) -> dict[str, Any]:
    """Return the slots of a class and its bases by name."""
    members: dict[str, Any] = {}
    for base in kind.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, types.MemberDescriptorType) and name not in members and not name.startswith("__"):
                members[name] = value
    return members


def is_public(slot: Any, value: Any) -> bool:
    """True if reading the attribute by name gives what the slot holds, by no code of the user."""
    return reads_plainly(value) and getattr(type(value), slot.__name__, None) is slot


def reads_plainly(value: Any) -> bool:
    """Return True if the class of an object does not compute each attribute."""
    kind: Any = type(value)
    return kind.__getattribute__ is object.__getattribute__


def memory_base(kind: type) -> type:
    """Return the class of C that gives objects of a class memory of their own, object for those made of attributes."""
    while kind.__basicsize__ > _PLAIN_SIZE:
        base: Any = kind.__base__
        shown = [v for name, v in vars(kind).items() if name in ("__dict__", "__weakref__") or _is_member(v)]
        if kind.__basicsize__ - base.__basicsize__ > _POINTER * len(shown):
            return kind
        kind = base
    return object


def _is_member(value: Any) -> bool:
    return isinstance(value, types.MemberDescriptorType)


_POINTER = struct.calcsize("P")
_PLAIN_SIZE = object.__basicsize__ + 2 * _POINTER  # of an object with a dict and weak references


def of_class(kind: type, name: str) -> Any:
    """Return what a class or a base of it defines under a name, None if none does; no code of a metaclass runs."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def referent(proxy: Any) -> Any:
    """Return the object that a weak proxy stands for, UNBOUND for one that is gone."""
    try:
        return proxy.__init__.__self__
    except (ReferenceError, AttributeError):
        return UNBOUND


def registered(kind: type) -> tuple[Any, ...]:
    """Return the classes that were registered with an abstract class."""
    references = _registry(kind)[0]
    return tuple(sorted([x for x in [reference() for reference in references] if x is not None], key=id))


_registry: Any = getattr(abc, "_get_dump", lambda kind: [()])

"""Contents of containers, arrays, buffers and references, for the walk over what a function reaches.

Holders of objects: one record for each way to read what an object, a container or a variable holds.
"""

import abc
import array
import collections
import ctypes
import functools
import hashlib
import mmap
import pickle
import struct
import types
import weakref
from collections.abc import Callable, Collection
from contextvars import ContextVar
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from anyshape.graph.ir.operand_sites import SMALL
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import is_atom

UNBOUND = object()
MOST_COPIED = 1 << 26  # bytes that are kept beside a large thing: comparing takes a fifth of the time of a digest


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


def _field(owner, name: str):
    try:
        return getattr(owner, name)
    except (AttributeError, ValueError):  # an empty slot, an empty cell
        return UNBOUND


class InseparableError(Exception):
    """Raised for a function whose parts are too many to compare in time, unknown, or changed while it is traced."""


class Roots(dict[str, Any]):
    """Function and static arguments of a program by name, watched together: the code of one names parts of another.

    - `without` are names that do not count, each by the id of its namespace, object or cell, and its text.
    - `in_full` are the names of values whose parts are compared by content, whatever their size.
    """

    def __init__(
        self, values: dict[str, Any], without: frozenset[tuple[int, str]] = frozenset(), in_full: Collection[str] = ()
    ) -> None:
        super().__init__(values)
        self.without, self.in_full = without, in_full


class Unwatched(NamedTuple):
    """Thing whose changes are not noticed: the path to it, and why."""

    label: str
    why: str

    def __str__(self) -> str:
        return f"{self.label}: {self.why}"


@dataclass(eq=False, slots=True)
class Namespace:
    """Names of an object, a class or a module: `names` are those that matter."""

    prefix: str
    entries: Any
    is_whole: bool = False
    is_class: bool = False
    is_object: bool = False
    is_of_user: bool = False
    shadowed: bool = False
    binding_only: bool = False
    hidden: frozenset[str] = frozenset()  # names that do not count
    names: list[str] = field(default_factory=list)
    of: int = 0  # number of its owner in the walk

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
    for base in reversed(kind.__mro__):
        members |= _unchanging_slots(base) if base.__flags__ & _IMMUTABLE else _own_slots(base)
    return members


def _own_slots(kind: type) -> dict[str, Any]:
    return {name: x for name, x in vars(kind).items() if type(x) is types.MemberDescriptorType and name[:2] != "__"}


_IMMUTABLE = 1 << 8  # flag of classes whose attributes cannot be set
_unchanging_slots = functools.lru_cache(1024)(_own_slots)


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


def _is_member(value) -> bool:
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


class Visitor(Protocol):
    """Walk, as the functions see it that open one value of it."""

    unwatched: list[Unwatched]

    @property
    def is_in_full(self) -> bool:
        """Return whether the thing that is opened is compared by content, whatever its size."""

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
        elif not (walk.is_in_full and hold_content(walk, label, value)):
            walk.unwatched.append(Unwatched(label, "the objects in a large or strided array"))
    elif value.nbytes <= SMALL:
        walk.hold("content", label, value, np.ndarray.tobytes)
    elif walk.is_in_full:
        walk.hold("content", label, value, content_of_array)
    if type(value) is not np.ndarray and dict_of(value):
        walk.add_space(Namespace(f"{label}.", dict_of(value) or {}, is_whole=True, shadowed=True))


def content_of_array(value: np.ndarray) -> bytes:
    """Return the elements of an array, as a digest if they are many."""
    return value.tobytes() if value.nbytes <= MOST_COPIED else digest(b"", [np.ascontiguousarray(value).data])


def size_in_bytes(value: Any) -> int:
    """Return the size of an array or a buffer."""
    return value.nbytes if has_type(value, np.ndarray) else memoryview(value).nbytes


def content_of_buffer(value: Any) -> bytes:
    """Return the bytes of a buffer."""
    return memoryview(value).tobytes()


def content_of(value: Any) -> bytes:
    """Return a digest of what an object says that it holds."""
    return digest(*pickled(value))


def pickled(value: Any) -> tuple[bytes, list[memoryview]]:
    """Return the pickle of an object without the memory of its arrays, and that memory."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return head, [b.raw() for b in buffers]


def digest(head: bytes, buffers: list[memoryview]) -> bytes:
    """Return a digest of a pickle and its buffers."""
    result = hashlib.sha256(head)
    for b in buffers:
        result.update(b)
    return result.digest()


def hold_content(walk: Visitor, label: str, value: Any, read: Callable[[Any], bytes] = content_of) -> bool:
    """Compare an object by content, if its content can be read; return whether it can."""
    try:
        read(value)
    except Exception:  # of any class
        return False
    walk.hold("content", label, value, read)
    return True


def caches_of(value: Any, entries: dict[str, Any]) -> frozenset[str]:
    """Return the private attributes that an object leaves out of its state, as its class says for pickles."""
    kind: Any = type(value)
    if kind.__getstate__ is object.__getstate__:
        return frozenset()
    try:
        state = value.__getstate__()
    except Exception:  # of any class
        return frozenset()
    return (
        frozenset([n for n in entries if n.startswith("_") and n not in state]) if type(state) is dict else frozenset()
    )


def content_beside_attributes(value: Any) -> bytes:
    """Return a digest of what an object says that it holds, without its attributes."""
    return content_of({name: x for name, x in value.__getstate__().items() if name not in vars(value)})


BYTES = (np.ndarray.tobytes, np.void.tobytes, content_of_array, content_of_buffer)  # without a digest


def open_buffer(walk: Visitor, label: str, value: Any) -> None:
    """Compare a buffer of the standard library by content."""
    if size_in_bytes(value) <= SMALL or walk.is_in_full:
        walk.hold("content", label, value, content_of_buffer)
    else:
        walk.unwatched.append(Unwatched(label, "the values of a large buffer"))


def open_void(walk: Visitor, label: str, value: np.void) -> None:
    """Compare a record of an array by content: its fields can be assigned."""
    walk.hold("content", label, value, np.void.tobytes)


# -- references


def open_cell(walk: Visitor, label: str, cell: types.CellType) -> None:
    """Follow a variable of a closure; an empty one may be filled later."""
    if (now := read_cell(cell)) is UNBOUND:
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
BUFFERS: tuple[type, ...] = (bytearray, array.array, memoryview, mmap.mmap, _CTYPES)
OPENERS: tuple[tuple[Any, Callable[[Visitor, str, Any], None]], ...] = (
    (types.CellType, open_cell),
    (np.ndarray, open_array),
    (np.void, open_void),
    (BUFFERS, open_buffer),
    (weakref.ref, open_weak_reference),
    (weakref.ProxyTypes, open_proxy),
    (ContextVar, open_context_variable),
    (dict, open_dict),
    (_VIEWS, open_view),
    (_CONTAINERS, open_sequence),
)


def _short(key) -> str:
    text = repr(key) if is_atom(type(key)) else type(key).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."

"""Digest of captured state: equal in two processes only if all that a function reaches there is equal.

Things count by their class, by what they hold and by their own content: numbers, texts, arrays, code. Two things are
equal if this holds at every depth, also around circles; whether they are one thing does not count.
"""

from __future__ import annotations

import array
import collections
import functools
import hashlib
import operator
import pickle
import re
import types
import weakref
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from anyshape.numpy.operands.ufuncs import Ufunc
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import MAIN, TRANSPARENT, is_scalar
from anyshape.tracing.captured.containers import SMALL, UNBOUND, Holder, Roots, slots_of
from anyshape.tracing.captured.watch import Watch

_WORD = 8  # bytes of a pointer: to the attributes of an object, to a slot, to weak references
_LABELED = 200  # things whose own digests travel along, to name the first that differs


class StateDigest(NamedTuple):
    """Digest of captured state, digests of its arrays in the order of the walk, and of the first things by their paths.

    With `has_opaque` it has objects of extension modules, which may hold arrays that no walk sees.
    """

    total: str
    arrays: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    has_opaque: bool = False

    def first_difference(self, other: StateDigest) -> str:
        """Return the path to the first thing that differs."""
        differing = [b[0] or "its code" for a, b in zip(self.parts, other.parts, strict=False) if a != b]
        return differing[0] if differing else "what it reaches"


_Text: TypeAlias = tuple[str, Sequence[int]]  # with the numbers of the things that it refers to


class _UnknownError(Exception):
    """Raised at an object whose state cannot be read."""


def state_digest(watch: Watch) -> StateDigest | None:
    """Return the digest of a snapshot, or None if it holds an object whose state cannot be read."""
    if watch.is_full:
        return None
    tokens = _Tokens(watch)
    try:
        texts = tokens.texts()
        root = tokens.of(tuple(watch.root.items()) if isinstance(watch.root, Roots) else watch.root)
    except _UnknownError:
        return None
    classes = _equal_at_every_depth(texts)
    total = _canonical((root, tokens.take_references()), texts, classes)
    arrays = [i for i, (_, thing) in enumerate(watch.things) if has_type(thing, np.ndarray)]
    of_arrays = tuple([_canonical(texts[i], texts, classes) for i in arrays])
    return StateDigest(total, of_arrays, tuple(tokens.parts[:_LABELED]), tokens.has_opaque)


def _equal_at_every_depth(texts: Sequence[_Text]) -> list[bytes]:
    """Return marks of the things: equal where their texts are, and the marks of the things that they refer to.

    Each round takes in what is one step farther, until a round tells no more things apart.
    """
    marks, count = [_combined(text, ()) for text, _ in texts], 0
    while len(set(marks)) > count:
        count = len(set(marks))
        marks = [_combined(text, [marks[i] for i in references]) for text, references in texts]
    return marks


def _canonical(start: _Text, texts: Sequence[_Text], marks: Sequence[bytes]) -> str:
    """Return the digest of all that a text refers to; equal things get one number, in the order of first reference."""
    result, numbers, waiting = hashlib.sha256(), dict[bytes, int](), collections.deque([start])
    while waiting:
        text, references = waiting.popleft()
        for i in references:
            if marks[i] not in numbers:
                numbers[marks[i]] = len(numbers)
                waiting.append(texts[i])
        result.update(_combined(f"{[numbers[marks[i]] for i in references]} {text}", ()))
    return result.hexdigest()


def _combined(text: str, parts: Sequence[bytes]) -> bytes:
    return hashlib.sha256(b"".join([text.encode(errors="backslashreplace"), *parts])).digest()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _Tokens:
    """Texts that stand for values: equal only for equal ones, in every process; # stands for a thing of the walk."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.has_opaque = watch, False
        self.parts: list[tuple[str, str]] = []  # paths of what is held, each with a short digest
        self._numbers = {id(thing): i for i, (_, thing) in enumerate(watch.things)}
        self._references: list[int] = []

    def take_references(self) -> list[int]:
        """Return the numbers of the things that # stood for since the last time."""
        references, self._references = self._references, []
        return references

    def texts(self) -> list[_Text]:
        """Return the text of each thing, with the numbers of the things that it refers to."""
        holders: dict[int, list[tuple[Holder, Sequence[Any]]]] = defaultdict(list)
        for holder, values in self.watch.readings():
            holders[holder.of].append((holder, values))
        texts: list[_Text] = []
        for i, (label, thing) in enumerate(self.watch.things):
            recipe = _recipe(thing)
            own = self._made(*recipe) if recipe else f"{_name(type(thing))}{_called(thing)} {self._parts(thing)}"
            lines = [f"{h.kind} {self._members(h, values)}" for h, values in holders[i]]
            self.parts += [(label, _short(self._array(thing)))] if has_type(thing, np.ndarray) else []
            texts.append(("\n".join([own, *lines]), self.take_references()))
        return texts

    def _members(self, holder: Holder, values: Sequence[Any]) -> Sequence[Any]:
        if holder.kind == "keys":
            return sorted(repr(n) for n in values if holder.names or n in self.watch.names)
        if holder.kind not in _NAMES:
            tokens = [self.of(x) for x in values]
            self.parts.append((holder.label, _short(str(tokens))))
            return tokens
        by_name = sorted(zip(holder.names, values, range(len(values)), strict=True), key=_first)
        pairs = [(name, "" if name == "__dict__" else self.of(x), i) for name, x, i in by_name]
        self.parts += [(holder.member(i), _short(token)) for _, token, i in pairs]
        return [(name, token) for name, token, _ in pairs]

    def _made(self, make, arguments: Sequence[Any], options: Mapping[str, Any]) -> str:
        """Return the token of a function of anyshape: of what it was made from."""
        return f"{_called(make)}({self.of(tuple(arguments))},{self.of(tuple(options.items()))})"

    # -- values

    def of(self, x: Any) -> str:
        """Return the token of a value."""
        if x is UNBOUND:
            return "unbound"
        if (kind := type(x)) is tuple or kind is frozenset:
            return f"{kind.__name__}({','.join([self.of(item) for item in x])})"
        if is_scalar(x):
            return f"{x.dtype.str}:{x.tobytes().hex()}"
        if kind in _PRINTED:
            return f"{_name(kind)}:{x!r}"
        if kind is types.CodeType:
            return self._code(x)
        if (number := self._numbers.get(id(x))) is None:
            return f"{_name(kind)}{_called(x)}"
        self._references.append(number)
        return "#"

    def _code(self, code: types.CodeType) -> str:
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        written = _digest(code.co_code + code.co_exceptiontable)
        return f"code({written},{names},{counts},{self.of(code.co_consts)})"

    # -- parts of objects that no holder reads

    def _parts(self, x) -> str:
        for kinds, parts in _PARTS:
            if isinstance(x, kinds):
                return ",".join([self.of(part) for part in parts(x)])
        if has_type(x, np.ndarray):
            return self._array(x)
        if has_type(x, (bytearray, array.array, memoryview)):
            return _digest(bytes(x))
        texts = [base.__repr__(x) for base in _IMMUTABLE if isinstance(x, base)]
        return texts[0] if texts else self._hidden(x)

    def _array(self, x: np.ndarray) -> str:
        order = f"{x.dtype.descr} {x.shape} {x.flags.c_contiguous} {x.flags.f_contiguous}"
        if not x.dtype.hasobject:
            return f"{order} {_digest(np.ndarray.tobytes(x))}"
        if x.size <= SMALL and x.flags.c_contiguous:
            return order  # its items are watched
        raise _UnknownError

    def _hidden(self, x) -> str:
        """Return a digest of what an object keeps where no walk sees it: of its pickle."""
        kind = type(x)
        if kind is object or not (kind.__module__.partition(".")[0] in TRANSPARENT or _is_of_extension(kind)):
            return ""
        self.has_opaque = True
        try:
            return _digest(pickle.dumps(x, protocol=4))
        except Exception as error:  # of any class
            raise _UnknownError from error


def _short(token: str) -> str:
    return _combined(token, ()).hex()[:12]


def _recipe(x):
    """Return the recipe of a function of anyshape, () for anything else."""
    return getattr(x, "recipe", ()) if type(x).__module__.partition(".")[0] in TRANSPARENT else ()


def _is_of_extension(kind: type) -> bool:
    """Return True if objects of a class have memory of their own in C, beside attributes and items."""
    bases = [base for base in kind.__mro__ if base is not object and not issubclass(base, _SHOWN)]
    known = any(base in _SHOWN for base in kind.__mro__)
    static = any(not base.__flags__ & _HEAP_TYPE for base in bases)
    return static or (not known and kind.__basicsize__ > object.__basicsize__ + _WORD * (2 + len(slots_of(kind))))


def _module(name) -> str:
    return "__main__" if name in MAIN else str(name)


def _name(kind) -> str:
    return f"{_module(kind.__module__)}.{kind.__qualname__}"


def _called(x) -> str:
    """Return the name of a function, class or module, as another process has it."""
    if isinstance(x, types.ModuleType):
        return f" {_module(x.__name__)} {getattr(x, '__version__', '')}"
    if isinstance(x, type):
        return f" {_name(x)}"
    if isinstance(x, _NAMED):
        name = getattr(x, "__qualname__", x.__name__)
        return f" {_module(getattr(x, '__module__', ''))}.{name}"
    return ""


_HEAP_TYPE = 1 << 9  # flag of the classes that Python code makes, and of some that C code does
_IMMUTABLE = (int, float, complex, str, bytes)
_PRINTED = (
    bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, slice, re.Pattern,
    types.GenericAlias, types.UnionType, *{type(np.dtype(c)) for c in np.typecodes["All"]},
)  # fmt: skip
_NAMED = (
    types.FunctionType, types.BuiltinFunctionType, np.ufunc, Ufunc, type(np.sum), types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType,
)  # fmt: skip
_first = operator.itemgetter(0)
_NAMES = {"variables", "attributes", "fields"}  # kinds of holders whose values have names
_WRAPPERS = ("fget", "fset", "fdel", "__func__", "func", "__wrapped__")
_PARTS: tuple[tuple[Any, Callable[[Any], Sequence[Any]]], ...] = (
    (types.FunctionType, lambda x: (x.__code__, *(x.__closure__ or ()))),
    (type, lambda x: (type(x),)),
    (types.MethodType, lambda x: (x.__self__, x.__func__)),
    ((types.BuiltinFunctionType, types.MethodWrapperType), lambda x: (getattr(x, "__self__", None),)),
    ((operator.attrgetter, operator.methodcaller, operator.itemgetter), lambda x: x.__reduce__()),
    ((functools.partial, functools.partialmethod), lambda x: (x.func,)),
    (
        (staticmethod, classmethod, property, functools.cached_property, type(functools.lru_cache(len))),
        lambda x: [getattr(x, name, None) for name in _WRAPPERS],
    ),
    ((tuple, frozenset), lambda x: (tuple(x),)),
)
# Classes of builtin objects all of whose state holders read, or parts, or their names.
_SHOWN: tuple[type, ...] = (
    dict, list, set, frozenset, tuple, collections.deque, type, types.ModuleType, types.CellType, types.SimpleNamespace,
    types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), BaseException, weakref.ref,
    ContextVar, np.ufunc, *_NAMED,
)  # fmt: skip

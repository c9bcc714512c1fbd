"""Take a function apart into a structure and the arrays that it closes over; make it again with other arrays.

Functions of one structure differ in these arrays alone, and in numbers. Both are in closures, in defaults, in partial
arguments, or in objects reached from there. All else is of the structure: texts by value, objects that do not show what
they hold by identity.
"""

from __future__ import annotations

import abc
import contextlib
import enum
import functools
import gc
import itertools
import operator
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Handle
from anyshape.numpy.operands.promotion import NUMERIC
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.true_types import has_type
from anyshape.tracing.captured import containers, tables
from anyshape.tracing.captured.code_origin import ATOMS, PLAIN_BASES, home, is_whole, origin

MOST_PARTS = 512  # of one function, which each call compares
_MOST_HELD = 2000  # objects that functions of a program hold
MEMO = "<made by anyshape>"  # attribute of functions that no code can name, and that says nothing of them
_ARRAY, _AGAIN, _IS = object(), object(), object()  # marks in a structure


class DepartedError(Exception):
    """Raised for a function that must leave its family: it has another structure now, or cannot be shared."""

    def __init__(self, has_other_structure: bool = False) -> None:
        super().__init__()
        self.has_other_structure = has_other_structure


class WithObjects(NamedTuple):
    """Function and objects that are arguments of it, by the names of the parameters."""

    function: Any
    objects: dict[str, Any]


class Rule(NamedTuple):
    """Rule of how objects of a class hold others.

    - `key` is what must agree besides the `parts`. Both take the names of attributes that code reads.
    - `make` returns a new object of the new parts. Where `fill` puts these into it afterwards, so that objects may hold
      each other, it gets a function of a part instead.
    """

    key: Callable[[Any, Collection[str] | None], Any]
    parts: Callable[[Any, Collection[str] | None], Iterable[Any]]
    make: Callable[[Any, Any], Any]
    fill: Callable[[Any, Any, Sequence[Any], Collection[str] | None], None] | None = None


class NumberPlace(NamedTuple):
    """Place of a number: the object that holds it, by id, and which of its parts it is."""

    owner: int
    part: int


class Reading:
    """Structure of a function, with the arrays in it, each once, and its numbers.

    `names` are the attributes that its code reads, None for all. A structure holds ids: it says nothing once the
    objects are gone.
    """

    __slots__ = (
        "_home", "_most", "_root", "arrays", "has_instances", "holds_objects", "names", "numbers", "places", "seen",
        "structure",
    )  # fmt: skip

    def __init__(self, function: Any, names: Collection[str] | None = None, most: int = MOST_PARTS) -> None:
        self.names, self._most, self._root = names, most, function
        self._home = home(function.function if type(function) is WithObjects else function)
        self.arrays: list[np.ndarray] = []
        self.numbers: list[Any] = []
        self.places: list[NumberPlace] = []
        self.holds_objects = self.has_instances = False  # by identity, and of classes of attributes
        self.seen: dict[int, int] = {}
        tokens: list[Any] = []
        self._read(function, tokens)
        self.structure: tuple[Any, ...] = tuple(tokens)

    def _read(self, x, tokens: list[Any]) -> None:
        kind = type(x)
        rule = rule_of(kind)
        if x is not self._root and _is_atom(x, kind, rule):
            tokens += self._atom(x, kind)
            return
        number = self.seen.get(id(x))
        if number is not None:
            tokens += (_AGAIN, number)
            return
        self.seen[id(x)] = len(tokens)
        if rule is _IS_ARRAY:
            self.arrays.append(x)
            tokens.append(_ARRAY)
            return
        names = self.names
        if rule is _OBJECT:
            self.has_instances = True
            names = self.names_of(kind)
        tokens += (id(kind), rule.key(x, names))
        if len(tokens) > self._most:
            raise containers.InseparableError
        for i, part in enumerate(rule.parts(x, names)):
            part_kind = type(part)
            if id(part_kind) in _TEXTS:
                tokens += (part_kind, part)
            elif is_number(part):
                self.numbers.append(part)
                self.places.append(NumberPlace(id(x), i))
                tokens.append(part_kind)
            else:
                self._read(part, tokens)

    def _atom(self, x, kind: type) -> tuple[Any, ...]:
        """Return what stands for a value without parts: what may change counts by identity."""
        if id(kind) in _BY_VALUE:
            return kind, x
        if kind is range or (kind is slice and _is_of_ints(x)):
            return kind, repr(x)
        if issubclass(kind, np.generic) and kind is not np.void:
            return kind, x.dtype, x.tobytes()
        is_of_program = x is containers.UNBOUND or isinstance(x, OF_THE_PROGRAM)
        self.holds_objects = self.holds_objects or not is_of_program
        return _IS, id(x)

    def names_of(self, kind: type) -> Collection[str] | None:
        """Return the attributes that code reads of objects of a class, None for all: code of a package is not known."""
        return None if _is_whole(kind, self._home) else self.names

    def values_of_numbers(self) -> tuple[Any, ...]:
        """Return the numbers by value and bits: 0.0 is not -0.0, and NaN is NaN."""
        return tuple(
            [x if type(x) is int else x.tobytes() if issubclass(type(x), np.generic) else repr(x) for x in self.numbers]
        )


class Copy:
    """Function made again, with values in place of the arrays and of some numbers of its reading."""

    def __init__(self, reading: Reading, function: Any, arrays: Iterable[Any], numbers: Mapping[int, Any]) -> None:
        self._reading, self._root = reading, function
        self._made: dict[int, Any] = dict(zip(map(id, reading.arrays), arrays, strict=True))
        self._numbers = {reading.places[i]: value for i, value in numbers.items()}
        self._queue: list[tuple[Rule, Any, Any]] = []
        self._held: list[tuple[Rule, Any, list[Any]]] = []
        self.function: Any = self._of(function)
        while self._queue:
            rule, x, new = self._queue.pop()
            if rule.fill is not None:
                rule.fill(x, new, self._parts(x, rule), self._names(x, rule))
            self._held.append((rule, new, [rule.key(new, None), *rule.parts(new, None)]))

    def _of(self, x):
        if id(x) in self._made:
            return self._made[id(x)]
        kind = type(x)
        rule = rule_of(kind)
        if x is not self._root and (rule is _IS_ARRAY or _is_atom(x, kind, rule)):
            return x
        new = self._made[id(x)] = rule.make(x, self._parts(x, rule) if rule.fill is None else self._of)
        self._queue.append((rule, x, new))
        return new

    def _names(self, x, rule: Rule) -> Collection[str] | None:
        return self._reading.names_of(type(x)) if rule is _OBJECT else None

    def _parts(self, x, rule: Rule) -> list[Any]:
        parts = list(rule.parts(x, self._names(x, rule)))
        if not self._numbers:
            return [self._of(part) for part in parts]
        keys = [NumberPlace(id(x), i) for i in range(len(parts))]
        return [self._numbers[k] if k in self._numbers else self._of(part) for k, part in zip(keys, parts, strict=True)]

    def is_reached_from(self, callbacks: Sequence[Any], takes_arrays: bool) -> bool:
        """Return whether functions that a program calls hold what was made, or hold so much that nobody looks.

        With `takes_arrays`, traced values count: some would be arrays in a trace of the function alone.
        """
        made = {id(x) for x in self._made.values() if not has_type(x, np.ndarray)}
        waiting, seen = [*callbacks], set[int]()
        while waiting and len(seen) <= _MOST_HELD:
            x = waiting.pop()
            if id(x) in made or (takes_arrays and isinstance(x, Handle)):
                return True
            if id(x) not in seen and not isinstance(x, (type, types.ModuleType, Handle)):
                seen.add(id(x))
                is_function = isinstance(x, types.FunctionType)  # whose module matters to each function alike
                waiting += gc.get_referents(x) if not is_function else _parts_of_function(x, None)
        return bool(waiting)

    def require_unchanged(self) -> None:
        """Raise InseparableError if what it holds has changed: the function that it was made of would not know."""
        for rule, new, (before, *held) in self._held:
            key, *now = rule.key(new, None), *rule.parts(new, None)
            if key != before or len(now) != len(held) or not all(map(operator.is_, now, held)):
                raise containers.InseparableError


_is_whole = functools.lru_cache(1024)(is_whole)


def _is_atom(x, kind: type, rule: Rule) -> bool:
    """Return whether an object has no parts that count."""
    if rule is _IS_ARRAY:
        return x.dtype.kind not in NUMERIC or not x.dtype.isnative
    return rule is _IS_ATOM or (kind is types.FunctionType and is_global(x)) or id(x) in _ONE_OF_A_KIND


_ONE_OF_A_KIND: dict[int, weakref.ref[Any]] = {}  # objects that code reaches besides what is taken apart


def leave_whole(x: Any) -> None:
    """Take an object by identity from here on, as long as it lives; one that has no weak references is as before."""
    number = id(x)
    with contextlib.suppress(TypeError):
        _ONE_OF_A_KIND[number] = weakref.ref(x, lambda _: _ONE_OF_A_KIND.pop(number, None))


def has_parts(x: Any) -> bool:
    """Return whether an object can be taken apart."""
    return not _is_atom(x, type(x), rule_of(type(x)))


def is_numeric(x: Any) -> bool:
    """Return whether a value is an array of numbers that may become an argument."""
    return type(x) is np.ndarray and x.dtype.kind in NUMERIC and x.dtype.isnative


def is_value(x: Any) -> bool:
    """Return whether a value may become an argument."""
    return is_number(x) or is_numeric(x)


def is_number(x: Any) -> bool:
    """Return whether a value is a number that may become an argument: of Python, or a scalar of NumPy."""
    kind = type(x)
    if kind is int:
        return _LEAST <= x <= _MOST
    return kind is float or kind is complex or (issubclass(kind, np.number) and x.dtype.kind in NUMERIC)


def _is_of_ints(x: slice) -> bool:
    return all(type(part) in (int, type(None)) for part in (x.start, x.stop, x.step))


_LEAST, _MOST = -(2**63), 2**63 - 1  # of int64
_TEXTS = frozenset(map(id, (str, bool, bytes, type(None))))  # a class may refuse to be hashed
_BY_VALUE = _TEXTS | {id(int)}
OF_THE_PROGRAM = (
    enum.Enum, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, np.ufunc, np.dtype,
    types.CodeType, type(np.sum),
)  # fmt: skip


# -- how objects hold others


def _cells(function: types.FunctionType) -> tuple[types.CellType, ...]:
    return function.__closure__ or ()


def _attributes(function: types.FunctionType) -> dict[str, Any]:
    """Return the attributes of a function without the table that transforms keep there."""
    entries = vars(function)
    if not entries or (len(entries) == 1 and MEMO in entries):
        return _NO_ATTRIBUTES
    return {name: value for name, value in entries.items() if name != MEMO}


_NO_ATTRIBUTES: dict[str, Any] = {}


def has_cells_alone(function: types.FunctionType) -> bool:
    """Return whether a function has neither defaults nor attributes."""
    return function.__defaults__ is None and function.__kwdefaults__ is None and not _attributes(function)


def _parts_of_function(function: types.FunctionType, names) -> tuple[Any, ...]:
    if has_cells_alone(function):
        return function.__closure__ or ()
    defaults = *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()
    return *_cells(function), *defaults, *_attributes(function).values()


def _key_of_function(function: types.FunctionType, names):
    called = function.__name__, function.__qualname__
    if has_cells_alone(function):
        return function.__code__, id(function.__globals__), called
    defaults = len(function.__defaults__ or ()), tuple(function.__kwdefaults__ or ())
    return function.__code__, id(function.__globals__), called, defaults, tuple(_attributes(function))


def is_global(function: types.FunctionType) -> bool:
    """Return whether a function stands in its module under its name: there is one of it."""
    return function.__closure__ is None and function.__globals__.get(function.__name__) is function


def _make_function(function: types.FunctionType, part: Callable[[Any], Any]) -> types.FunctionType:
    cells = tuple([part(cell) for cell in _cells(function)]) or None
    new = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, cells)
    new.__qualname__, new.__doc__, new.__module__ = function.__qualname__, function.__doc__, function.__module__
    return new


def _fill_function(function: types.FunctionType, new: types.FunctionType, parts: Sequence[Any], names) -> None:
    rest = iter(parts[len(_cells(function)) :])
    if function.__defaults__ is not None:
        new.__defaults__ = tuple(itertools.islice(rest, len(function.__defaults__)))
    if function.__kwdefaults__ is not None:
        new.__kwdefaults__ = {name: next(rest) for name in function.__kwdefaults__}
    vars(new).update(zip(_attributes(function), rest, strict=True))


def _fill_cell(cell: types.CellType, new: types.CellType, parts: Sequence[Any], names) -> None:
    if parts[0] is not containers.UNBOUND:
        new.cell_contents = parts[0]


def _fill_dict(x: dict[Any, Any], new: dict[Any, Any], parts: Sequence[Any], names) -> None:
    new.update(zip(x, parts, strict=True))


def _make_partial(x: functools.partial[Any], parts: Sequence[Any]) -> functools.partial[Any]:
    count = 1 + len(x.args)
    return functools.partial(parts[0], *parts[1:count], **dict(zip(x.keywords, parts[count:], strict=True)))


def _values_of(x, names: Collection[str] | None) -> list[Any]:
    """Return the attributes of an object that code reads, and all slots."""
    values = [v for name, v in (containers.dict_of(x) or {}).items() if names is None or name in names]
    slots = _slots_of(type(x))
    return values + [containers.read_slot(slot, x) for slot in slots.values()] if slots else values


def _slots_of(kind: type) -> dict[str, Any]:
    slots = _SLOTS.get(id(kind))
    return containers.slots_of(kind) if slots is None else slots


def _fill_object(x, new, parts: Sequence[Any], names: Collection[str] | None) -> None:
    rest, entries = iter(parts), containers.dict_of(x)
    if entries is not None:
        containers.dict_of(new).update(entries)  # type: ignore[union-attr]
        containers.dict_of(new).update({name: next(rest) for name in entries if names is None or name in names})  # type: ignore[union-attr]
    for slot, value in zip(containers.slots_of(type(x)).values(), rest, strict=True):
        if value is not containers.UNBOUND:
            slot.__set__(new, value)


def _key_of_object(x, names: Collection[str] | None) -> tuple[str, ...]:
    return tuple([name for name in containers.dict_of(x) or () if names is None or name in names])


def _key_of_dict(x: dict[Any, Any], names) -> tuple[Any, ...]:
    return tuple([(type(key), key) if id(type(key)) in _BY_VALUE else (_IS, id(key)) for key in x])


_nothing: Callable[[Any, Any], Any] = lambda x, names: None
_length: Callable[[Any, Any], Any] = lambda x, names: len(x)
_each: Callable[..., Iterable[Any]] = lambda x, names: x
_IS_ATOM = Rule(_nothing, _each, _nothing)
_IS_ARRAY = Rule(_nothing, _each, _nothing)
_OBJECT = Rule(_key_of_object, _values_of, lambda x, part: object.__new__(type(x)), _fill_object)
_TABLE = Rule(tables.key, tables.parts, tables.make)
_OF_KINDS: dict[type, Rule] = {
    np.ndarray: _IS_ARRAY,
    types.FunctionType: Rule(_key_of_function, _parts_of_function, _make_function, _fill_function),
    types.CellType: Rule(
        _nothing, lambda x, names: (containers.read_cell(x),), lambda x, part: types.CellType(), _fill_cell
    ),
    types.MethodType: Rule(
        _nothing, lambda x, names: (x.__func__, x.__self__), lambda x, parts: types.MethodType(*parts)
    ),
    functools.partial: Rule(
        lambda x, names: (len(x.args), tuple(x.keywords)),
        lambda x, names: (x.func, *x.args, *x.keywords.values()), _make_partial,
    ),
    tuple: Rule(_length, _each, lambda x, parts: tuple(parts)),
    list: Rule(_length, _each, lambda x, part: [], lambda x, new, parts, names: new.extend(parts)),
    types.SimpleNamespace: _OBJECT._replace(make=lambda x, part: types.SimpleNamespace()),
    dict: Rule(_key_of_dict, lambda x, names: x.values(), lambda x, part: {}, _fill_dict),
    **dict.fromkeys((tables.Table, tables.Column), _TABLE),
    **dict.fromkeys(ATOMS, _IS_ATOM),
}  # fmt: skip
_RULES: dict[int, Rule] = {id(kind): rule for kind, rule in _OF_KINDS.items()}  # a class may refuse to be hashed
_KINDS: list[type] = [*_OF_KINDS]  # whose ids stay theirs
_SLOTS: dict[int, dict[str, Any]] = {}


def has_rule(kind: type, rule: Rule) -> None:
    """Take objects of a class apart by a rule."""
    _KINDS.append(kind)
    _RULES[id(kind)] = rule
    _SLOTS[id(kind)] = containers.slots_of(kind)


def rule_of(kind: type) -> Rule:
    """Return how objects of a class hold others."""
    known = _RULES.get(id(kind))
    if known is not None:
        return known
    rule = _IS_ATOM
    if issubclass(kind, tuple) and hasattr(kind, "_make") and not kind.__dictoffset__:
        rule = Rule(_length, _each, lambda x, parts: kind._make(parts))
    elif tables.is_table_class(kind):
        rule = _TABLE
    elif _is_plain(kind):
        rule = _OBJECT
    if len(_RULES) < _MOST_KINDS:
        has_rule(kind, rule)
    return rule


_MOST_KINDS = 4096


def _is_plain(kind: type) -> bool:
    """Return whether objects of a class are made of attributes alone, which their class does not compute.

    Classes of the standard library, and those that extend them, may keep more than the attributes that code names. So
    may code that a metaclass runs: a member of an enum is one of a kind.
    """
    bases = [base.__module__ for base in kind.__mro__]
    if any(origin(m, "") in ("library", "stdlib") and m not in PLAIN_BASES for m in bases):
        return False
    getter: Any = kind.__getattribute__
    is_plain = getter is object.__getattribute__ and type(kind) in (type, abc.ABCMeta)
    return (
        is_plain
        and containers.memory_base(kind) is object
        and (kind.__dictoffset__ != 0 or bool(containers.slots_of(kind)))
    )

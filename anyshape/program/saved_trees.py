"""Structures of arguments and results as JSON data, and back: containers of Python, named tuples and dataclasses.

A file names the class of a named tuple or a dataclass, which is a record here. Loading takes the class that this
process has by that name if its fields are the same, else a stand-in. Nothing is imported, and
no constructor of a user runs.
"""

from __future__ import annotations

import copyreg
import dataclasses
import enum
import functools
import inspect
import keyword
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree

from anyshape.errors import ArgumentError
from anyshape.graph.ir.encode import Malformed, choice, encode_number, fields, items, number, text
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.ops.subgraph_call import calls_with_lists
from anyshape.support.freezing import Frozen, freeze
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing import pytrees
from anyshape.tracing.named_dims import SymbolicShape
from anyshape.tracing.pytrees import NAMESPACE, Layout, Setting, Static, class_of, flatten, made_of_fields, unflatten
from anyshape.tracing.row_lists import Inner, Rows

_FACTORIES: dict[str, Callable[[], Any]] = {
    k.__name__: k for k in (int, float, complex, bool, str, list, tuple, dict, set)
}
_KEYS = (str, bool, int, float, type(None))
_TUPLES = (Sizes, SymbolicShape)  # whose trees are tuples
_MAX_NODES, _MAX_DEPTH, _MAX_FIELDS, _MAX_RECORDS, _MAX_AXES = 100_000, 100, 1000, 200, 65
_OF_ROWS = {f"{c.__name__} {kind.__name__}": (c, kind) for c in (Rows, Inner) for kind in (list, tuple)}
_NO_RECORDS = (*_TUPLES, Setting, Static)
_LEAF = object()
_DTYPES = {np.dtype(c).str: np.dtype(c).type for c in "?bBhHiIqQlLefdFD"}  # that are the same on all machines


# -- named tuples and dataclasses


class Record(NamedTuple):
    """Class of a named tuple or a dataclass as a file names it; `static` fields belong to the structure."""

    kind: str
    module: str
    name: str
    fields: tuple[str, ...]
    static: tuple[str, ...]

    def is_legal(self) -> bool:
        """Return True if a class can have this name and these fields."""
        names = [self.name.rpartition(".")[2], *self.fields]
        start = "_" if self.kind == "namedtuple" else "__"
        return (
            all(name.isidentifier() and not keyword.iskeyword(name) for name in names)
            and len({*self.fields}) == len(self.fields)
            and not any(name.startswith(start) for name in self.fields)
            and (self.kind == "dataclass" or not self.static)
            and self.module.partition(".")[0] != "anyshape" * (self.kind == "dataclass")
        )

    def made_by(self, kind: Any) -> Callable[[Iterable[Any]], Any]:
        """Return the function that makes an instance of a class from its parts."""
        if self.kind == "namedtuple":
            return lambda parts: kind(*parts)
        return functools.partial(made_of_fields, Layout((kind, self.fields)))


class StandIn(type):
    """Class of classes that stand for a record whose own class this process does not have."""


def _class_named(module: str, name: str) -> Any:
    """Return what this process has by the name of a class."""
    known: Any = sys.modules.get(module)
    for part in name.split("."):
        known = inspect.getattr_static(known, part, None)  # runs no code of a module or a class
    return known


def class_of_record(record: Record) -> type:
    """Return the class of a record, or its stand-in."""
    known = _class_named(record.module, record.name)
    agrees = _is_namedtuple if record.kind == "namedtuple" else _is_dataclass
    return known if issubclass(type(known), type) and agrees(known, record) else _stand_in(record)


def _is_namedtuple(kind: Any, record: Record) -> bool:
    """Return True if a class is a named tuple with the fields of a record, and has no constructor of its own."""
    if not optree.is_namedtuple_class(kind) or kind._fields != record.fields or record.static:
        return False
    entry: Any = optree.register_pytree_node.get(kind, namespace=NAMESPACE)
    is_generated = str(kind.__new__.__module__).startswith("namedtuple_") and kind.__init__ is object.__init__
    return is_generated and type(kind) is type and entry.kind.name == "NAMEDTUPLE"


def _is_dataclass(kind: type, record: Record) -> bool:
    """Return True if a class is flattened by its fields, and has the ones of a record."""
    if not _flattens_by_fields(kind):
        return False
    declared = pytrees.declared_fields(kind) or {}
    values = [inspect.getattr_static(kind, name, None) for name in record.fields]
    further = values[len(declared) :]
    runs_code = any(inspect.isdatadescriptor(x) and not inspect.ismemberdescriptor(x) for x in values)  # of properties
    if runs_code or (further and (kind.__dictoffset__ == 0 or {*further} != {None})):
        return False
    static = tuple([name for name, is_static in declared.items() if is_static])
    return (record.fields[: len(declared)], record.static) == ((*declared,), static)


def _flattens_by_fields(kind: Any) -> bool:
    """Return True for a dataclass or a class of attrs whose tree is its fields, registered or not."""
    entry: Any = optree.register_pytree_node.get(kind, namespace=NAMESPACE)
    if entry is None:
        return pytrees.is_fields(kind)
    is_model = hasattr(kind, "__pydantic_fields__") and not dataclasses.is_dataclass(kind)
    by_fields = entry.flatten_func.__module__ == pytrees.__name__ and entry.path_entry_type is optree.GetAttrEntry
    return by_fields and not is_model


@functools.lru_cache(maxsize=1024)
def _stand_in(record: Record) -> type:
    """Return a class with the fields of a record, the same one for equal records."""
    name = record.name.rpartition(".")[2]
    space: dict[str, Any] = {"__module__": record.module, "__qualname__": record.name}
    if record.kind == "namedtuple":
        return StandIn(name, (namedtuple(name, record.fields),), {"__slots__": (), **space})
    space |= {static: dataclasses.field(metadata={"static": True}) for static in record.static}
    space |= {"__annotations__": dict.fromkeys(record.fields, Any), "__reduce__": _reduced}
    made: Any = StandIn(name, (), space)
    return dataclasses.dataclass(made)


def _reduced(x: Any) -> tuple[Any, ...]:
    names = [f.name for f in dataclasses.fields(x)]
    return made_of_fields, (Layout((type(x), (*names,))), [getattr(x, name) for name in names])


def _member(module: str, name: str, member: str, value: Any) -> Any:
    """Return the member of an enumeration that this process has, else of one that stands for it."""
    known = _class_named(module, name)
    if type(known) is enum.EnumMeta:
        same = known._member_map_.get(member)
        if same is not None and freeze(same._value_) == freeze(value):
            return same
    return _enumeration(module, name, member, Frozen(value))[member]


@functools.lru_cache(maxsize=1024)
def _enumeration(module: str, name: str, member: str, value: Frozen) -> Any:
    try:
        return enum.Enum(name.rpartition(".")[2], {member: value.value}, module=module, qualname=name)
    except (TypeError, ValueError):  # of names that an enumeration has for itself
        raise Malformed(f"{name!r:.50} has no member {member!r:.50}") from None


def _record_of(kind: Any, names: tuple[str, ...] | None = None) -> Record:
    """Return the record of a class; `names` are the fields of an instance."""
    if optree.is_namedtuple_class(kind):
        return Record("namedtuple", kind.__module__, kind.__qualname__, kind._fields, ())
    declared = pytrees.declared_fields(kind) or {}
    names = (*declared,) if names is None else names
    static = tuple([name for name in names if declared.get(name)])
    return Record("dataclass", kind.__module__, kind.__qualname__, names, static)


_pickled_by: Any = copyreg.pickle
_pickled_by(StandIn, lambda kind: (class_of_record, (_record_of(kind),)))


def conforming(x: Any, tree: Any) -> Any:
    """Return x with a stand-in for each object that has its fields; parts that do not fit a structure stay."""
    if tree.is_leaf() or not _has_stand_ins(tree):
        return x
    parts = dict(zip(tree.entries(), tree.children(), strict=True))
    children, make = _opened(x, class_of(tree), tree.entries())
    if {*children} != {*parts}:
        return x
    return make([conforming(child, parts[entry]) for entry, child in children.items()])


def _opened(x, kind: Any, entries: list[Any]) -> tuple[dict[Any, Any], Callable[[Any], Any]]:
    """Return the parts of x by the entries of a node, and what makes such a node of parts; none if x is another."""
    if isinstance(kind, StandIn):
        record = _record_of(kind)
        values = zip(entries, record.fields, strict=True)
        return {entry: getattr(x, name) for entry, name in values if hasattr(x, name)}, record.made_by(kind)
    if type(x) is not kind:
        return {}, type
    if not pytrees.is_fields(kind):
        one_level: Any = optree.tree_flatten_one_level
        children, rest, names, make = one_level(x, namespace=NAMESPACE)
        return dict(zip(names, children, strict=True)), functools.partial(make, rest)
    _, layout, names = pytrees.flatten_fields(x)
    return {name: getattr(x, name) for name in names}, functools.partial(made_of_fields, layout)


@functools.lru_cache(maxsize=1024)
def _has_stand_ins(tree) -> bool:
    """Return True if there are stand-ins in a structure."""
    return any(isinstance(class_of(node), StandIn) for node in pytrees.nodes_of(tree))


# -- writing


def encode_tree(tree: Any, function: str, argument: str) -> Any:
    """Return the structure as data; raise ArgumentError for one that a file cannot hold.

    `function` and `argument` name it in errors.
    """
    return _Encoder(function, argument).encode(tree)


class _Encoder:
    """Encodes one structure; errors name the function and the argument."""

    def __init__(self, function: str, argument: str) -> None:
        self.function, self.argument = function, argument

    def encode(self, tree: Any) -> Any:
        """Return a part of the structure as data."""
        kind = tree.kind.name
        if kind in ("LEAF", "NONE"):
            return "leaf" if kind == "LEAF" else None
        if kind == "NAMEDTUPLE":
            return self._record(_record_of(tree.type), tree)
        if tree.type not in _TUPLES and kind == "CUSTOM":
            return self._custom(tree)
        parts = [self.encode(part) for part in tree.children()]
        if kind in ("LIST", "TUPLE", "CUSTOM"):
            return {"list" if kind == "LIST" else "tuple": parts}
        x = unflatten(tree.one_level(), range(len(parts)))
        if kind == "DEQUE":
            return {"deque": parts, "longest": x.maxlen}
        return self._mapping(x, parts) if isinstance(x, dict) else self._refuse(tree)

    def _custom(self, tree):
        if tree.type is Static:
            return {"static": self._static(unflatten(tree, ()).value)}
        if tree.type is Setting:
            return {"setting": self._static(unflatten(tree, ()))}
        if tree.type in (Rows, Inner):
            kind = unflatten(tree, [_LEAF] * tree.num_leaves).kind
            return {"rows": self.encode(tree.child(0)), "of": f"{tree.type.__name__} {kind.__name__}"}
        if tree.type.__name__ == "Ragged" and tree.type is calls_with_lists().Ragged:
            return {"ragged": [self.encode(part) for part in tree.children()]}
        if not _flattens_by_fields(kind := class_of(tree)):
            self._refuse(tree)
        return self._record(_record_of(kind, (*tree.entries(),)), tree)

    def _refuse(self, tree):
        kind = class_of(tree)
        problem = f"holds a {kind.__module__}.{kind.__qualname__}, a class that a saved program does not know"
        advice = "take and return arrays in tuples, lists, dicts, named tuples and dataclasses"
        raise ArgumentError(self.function, self.argument, problem, advice)

    def _record(self, record: Record, tree):
        pairs = []
        for name, part in zip(record.fields, tree.children(), strict=True):
            is_static = name in record.static
            pairs.append([name, {"fixed": self._static(unflatten(part, ()))} if is_static else self.encode(part)])
        return {"record": record.kind, "module": record.module, "class": record.name, "fields": pairs}

    def _mapping(self, x, parts: list[Any]):
        pairs = []
        for key, part in zip(x, parts, strict=True):
            if type(key) not in _KEYS:
                problem = f"holds a dict with the key {key!r:.50}, of the type {type(key).__name__}"
                raise ArgumentError(self.function, self.argument, problem, "use texts and integers for keys")
            pairs.append([key if isinstance(key, str) else {"number": encode_number(key)}, part])
        if not isinstance(x, defaultdict):
            return {"ordered" if isinstance(x, OrderedDict) else "dict": pairs}
        factory = None if x.default_factory is None else getattr(x.default_factory, "__name__", "")
        if factory is not None and _FACTORIES.get(factory) is not x.default_factory:
            problem = f"holds a defaultdict of {x.default_factory!r:.50}, which a saved program does not know"
            raise ArgumentError(self.function, self.argument, problem, "return a dict")
        return {"defaultdict": pairs, "factory": factory}

    def _static(self, x):
        kind = type(x)
        if kind is str:
            return {"text": x}
        if kind in (tuple, *_TUPLES):
            return {"tuple": [self._static(part) for part in x]}
        if kind in (bool, int, float, complex, type(None)):
            return {"number": encode_number(x)}
        if isinstance(x, enum.Enum) and x.name in kind.__members__:  # no combination of flags
            names = [kind.__module__, kind.__qualname__, x.name]
            return {"enum": names, "value": self._static(x.value)}
        is_type = isinstance(x, type) and issubclass(x, np.generic)
        if (is_type or isinstance(x, np.dtype)) and _DTYPES.get(np.dtype(x).str) in (x, np.dtype(x).type):
            return {"type" if is_type else "dtype": np.dtype(x).str}
        return self._refuse_value(x)

    def _refuse_value(self, x):
        shown = getattr(x, "__qualname__", repr(x))
        problem = f"holds {shown:.50}, and a file holds arrays, numbers, texts and tuples of them"
        raise ArgumentError(self.function, self.argument, problem, "close over it instead of passing it")


def decode_tree(data: Any, subject: str, *, sort_keys: bool = False) -> Any:
    """Return the structure that the data describe, with the keys of dicts sorted if asked.

    `subject` names it in errors.
    """
    return flatten(_Decoder(subject, sort_keys).build(data, 0))[1]


def has_records(tree: Any) -> bool:
    """Return True if there is a named tuple, a dataclass or a list of rows in a structure."""
    return any(map(_is_record, pytrees.nodes_of(tree)))


def _is_record(node: Any) -> bool:
    if node.kind.name == "NAMEDTUPLE" or (node.type not in _NO_RECORDS and node.kind.name == "CUSTOM"):
        return True
    return node.type is Setting and class_of(node) is not str


def has_order(tree: Any) -> bool:
    """Return True if a structure has a dict of several keys, whose order a function can see."""
    return any(n.type in (dict, OrderedDict, defaultdict) and n.num_children > 1 for n in pytrees.nodes_of(tree))


def has_sorted_keys(tree: Any) -> bool:
    """Return True if all dicts of a structure have sorted keys."""
    dicts = [node.entries() for node in pytrees.nodes_of(tree) if node.type in (dict, defaultdict)]
    return all(keys == _sorted(keys) for keys in dicts)


def _sorted(keys: Iterable[Any]) -> list[Any]:
    """Return keys in the order of leaves in files of versions 1 and 2: by value, else by class and value."""
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (f"{type(key).__module__}.{type(key).__qualname__}", key))


class _Decoder:
    """Decodes one structure, and raises Malformed for anything that `_Encoder` does not write."""

    def __init__(self, subject: str, sort_keys: bool) -> None:
        self.subject, self.sort_keys, self.count = subject, sort_keys, 0
        self.records: set[Record] = set()

    def build(self, x: Any, depth: int) -> Any:
        """Return a part of the structure, with a marker for each leaf."""
        self.count += 1
        if depth > _MAX_DEPTH or self.count > _MAX_NODES:
            raise Malformed(f"{self.subject} is nested too deep, or too large")
        if x == "leaf":
            return _LEAF
        if x is None:
            return None
        if not isinstance(x, dict) or not x:
            raise Malformed(f"{self.subject} is not a structure")
        special = {"factory": self._defaultdict, "longest": self._deque, "record": self._record, "of": self._rows}
        kind: str = next(k for k in (*special, *x) if k in x)
        return special[kind](x, depth) if kind in special else self._container(kind, x, depth)

    def _container(self, kind: str, x: dict[str, Any], depth: int):
        builders: dict[str, Callable[[Any, int], Any]] = {
            "list": self._parts,
            "tuple": lambda parts, depth: tuple(self._parts(parts, depth)),
            "dict": self._sorted_pairs,
            "ordered": lambda pairs, depth: OrderedDict(self._pairs(pairs, depth)),
            "ragged": self._ragged,
            "setting": self._static,
            "static": lambda value, depth: Static(self._static(value, depth)),
        }
        (inside,) = fields(x, self.subject, choice(kind, self.subject, tuple(builders)))
        return builders[kind](inside, depth)

    def _ragged(self, x: Any, depth: int):
        parts = self._parts(items(x, self.subject, _MAX_AXES, 2), depth)
        if any(part is not _LEAF for part in parts):
            raise Malformed(f"{self.subject} has a batch of parts that are no arrays")
        return calls_with_lists().Ragged.of_parts(parts)

    def _defaultdict(self, x: dict[str, Any], depth: int):
        pairs, factory = fields(x, self.subject, "defaultdict", "factory")
        made = None if factory is None else _FACTORIES[choice(factory, self.subject, _FACTORIES)]
        return defaultdict(made, self._sorted_pairs(pairs, depth))

    def _deque(self, x: dict[str, Any], depth: int):
        parts, longest = fields(x, self.subject, "deque", "longest")
        return deque(self._parts(parts, depth), longest if longest is None else self._length(longest, parts))

    def _rows(self, x: dict[str, Any], depth: int):
        rows, of = fields(x, self.subject, "rows", "of")
        made, kind = _OF_ROWS[choice(of, self.subject, _OF_ROWS)]
        return made(self.build(rows, depth + 1), kind=kind)

    def _record(self, x: dict[str, Any], depth: int):
        kind, module, name, pairs = fields(x, self.subject, "record", "module", "class", "fields")
        pairs = [items(pair, self.subject, 2, 2) for pair in items(pairs, self.subject, _MAX_FIELDS)]
        is_static = [isinstance(part, dict) and part.keys() == {"fixed"} for _, part in pairs]
        names = tuple([text(field, self.subject) for field, _ in pairs])
        static = tuple([field for field, fixed in zip(names, is_static, strict=True) if fixed])
        choice(kind, self.subject, ("namedtuple", "dataclass"))
        record = Record(kind, text(module, self.subject), text(name, self.subject), names, static)
        self.records.add(record)
        if not record.is_legal() or len(self.records) > _MAX_RECORDS:
            raise Malformed(f"{self.subject} has too many classes, or the fields {names!r:.50} of {name!r:.50}")
        return record.made_by(class_of_record(record))(
            self._static(part["fixed"], depth + 1) if fixed else self.build(part, depth + 1)
            for fixed, (_, part) in zip(is_static, pairs, strict=True)
        )

    def _length(self, longest, parts: list[Any]) -> int:
        if type(longest) is not int or not len(parts) <= longest <= 2**62:
            raise Malformed(f"{self.subject} has a deque of the length {longest!r:.50}")
        return longest

    def _parts(self, x, depth: int) -> list[Any]:
        return [self.build(part, depth + 1) for part in items(x, self.subject, _MAX_NODES)]

    def _pairs(self, x, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for pair in items(x, self.subject, _MAX_NODES):
            key, value = items(pair, self.subject, 2, 2)
            key = key if isinstance(key, str) else number(fields(key, self.subject, "number")[0], self.subject)
            if key in mapping or not isinstance(key, _KEYS):
                raise Malformed(f"{self.subject} has the key {key!r:.50} twice, or no key")
            mapping[key] = self.build(value, depth + 1)
        return mapping

    def _sorted_pairs(self, x, depth: int) -> dict[Any, Any]:
        mapping = self._pairs(x, depth)
        return {key: mapping[key] for key in _sorted(mapping)} if self.sort_keys else mapping

    def _static(self, x, depth: int):
        """Return a static value, which data describe under its kind."""
        kinds = {
            "enum": self._enum,
            "text": self._text,
            "tuple": self._tuple,
            "dtype": self._dtype,
            "type": self._dtype,
        }
        kind = next((k for k in kinds if isinstance(x, dict) and k in x and depth < _MAX_DEPTH), "number")
        return kinds[kind](x, depth) if kind in kinds else number(fields(x, self.subject, "number")[0], self.subject)

    def _text(self, x: dict[str, Any], _: int):
        (value,) = fields(x, self.subject, "text")
        if not isinstance(value, str):
            raise Malformed(f"{self.subject} holds no text")
        return value

    def _tuple(self, x: dict[str, Any], depth: int):
        (parts,) = fields(x, self.subject, "tuple")
        return tuple([self._static(part, depth + 1) for part in items(parts, self.subject, _MAX_NODES)])

    def _enum(self, x: dict[str, Any], depth: int):
        names, value = fields(x, self.subject, "enum", "value")
        module, name, member = [text(n, self.subject) for n in items(names, self.subject, 3, 3)]
        if not all(n.isidentifier() for n in (*name.split("."), member)) or member.startswith("_"):
            raise Malformed(f"{self.subject} has the enumeration {name!r:.50}")
        return _member(module, name, member, self._static(value, depth + 1))

    def _dtype(self, x: dict[str, Any], _: int):
        kind = "type" if "type" in x else "dtype"
        (name,) = fields(x, self.subject, kind)
        made = _DTYPES[choice(name, self.subject, tuple(_DTYPES))]
        return np.dtype(made) if kind == "dtype" else made

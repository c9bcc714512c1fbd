"""Encode structures of arguments and results as JSON data, and decode them. Built-in containers only."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.decode import Malformed, choice, fields, items, number
from anyshape.graph.ir.encode import encode_number
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.tracing.pytrees import Static, flatten, unflatten
from anyshape.tracing.symbolic_shape import SymbolicShape
from anyshape.tracing.tree_nodes import Setting, class_of

_FACTORIES: dict[str, Callable[[], Any]] = {
    k.__name__: k for k in (int, float, complex, bool, str, list, tuple, dict, set)
}
_PLAIN = (tuple, list, dict, OrderedDict, deque, defaultdict, type(None), Sizes, SymbolicShape, Static)
_KEYS = (str, bool, int, float, type(None))
_MAX_NODES, _MAX_DEPTH = 100_000, 100
_LEAF = object()


def check_tree(tree: Any, function: str, argument: str) -> None:
    """Raise ArgumentError for a structure that a file cannot hold."""
    if tree.type is Setting and isinstance(unflatten(tree, ()), str):
        return
    if not tree.is_leaf():
        if tree.type not in _PLAIN:
            cls = class_of(tree)
            kind = f"{cls.__module__}.{cls.__qualname__}"
            problem = f"holds a {kind}, a class that a saved program does not know"
            advice = "take and return tuples, lists and dicts of arrays, such as x._asdict() or dataclasses.asdict(x)"
            raise ArgumentError(function, argument, problem, advice)
        if tree.type in (dict, OrderedDict, defaultdict):
            _check_keys(tree.entries(), function, argument)
        for child in tree.children():
            check_tree(child, function, argument)


def _check_keys(keys: list[Any], function: str, argument: str) -> None:
    for key in keys:
        if type(key) not in _KEYS:
            problem = f"holds a dict with the key {key!r:.50}, of the type {type(key).__name__}"
            raise ArgumentError(function, argument, problem, "use texts and integers for keys")


def encode_tree(tree: Any, function: str, argument: str) -> Any:
    """Return the structure as data; `function` and `argument` name it in errors."""
    check_tree(tree, function, argument)
    return _Encoder(function, argument).encode(unflatten(tree, [_LEAF] * tree.num_leaves))


class _Encoder:
    """Encodes one structure; errors name the function and the argument."""

    def __init__(self, function: str, argument: str) -> None:
        self.function, self.argument = function, argument

    def encode(self, x: Any) -> Any:
        """Return a part of the structure as data."""
        if x is _LEAF:
            return "leaf"
        if x is None:
            return None
        if isinstance(x, str):
            return {"setting": self._static(x)}
        if isinstance(x, Static):
            return {"static": self._static(x.value)}
        if isinstance(x, deque):
            return {"deque": self._parts(x), "longest": x.maxlen}
        if isinstance(x, (tuple, list)):
            return {"list" if isinstance(x, list) else "tuple": self._parts(x)}
        return self._mapping(x)

    def _parts(self, xs: Iterable[Any]) -> list[Any]:
        return [self.encode(x) for x in xs]

    def _mapping(self, x: Any) -> Any:
        pairs = [[k if isinstance(k, str) else {"number": encode_number(k)}, self.encode(v)] for k, v in x.items()]
        if not isinstance(x, defaultdict):
            return {"ordered" if isinstance(x, OrderedDict) else "dict": pairs}
        factory = None if x.default_factory is None else getattr(x.default_factory, "__name__", "")
        if factory is not None and _FACTORIES.get(factory) is not x.default_factory:
            problem = f"holds a defaultdict of {x.default_factory!r:.50}, which a saved program does not know"
            raise ArgumentError(self.function, self.argument, problem, "return a dict")
        return {"defaultdict": pairs, "factory": factory}

    def _static(self, x: Any) -> Any:
        if isinstance(x, str):
            return {"text": x}
        if isinstance(x, tuple):
            return {"tuple": [self._static(part) for part in x]}
        if x is None or isinstance(x, (bool, int, float, complex)):
            return {"number": encode_number(x)}
        problem = f"holds a {type(x).__name__} that is not an array, which a saved program does not know"
        raise ArgumentError(self.function, self.argument, problem, "close over it instead of passing it")


def decode_tree(data: Any, subject: str, *, sort_keys: bool = False) -> Any:
    """Return the structure that the data describe, with the keys of dicts sorted if asked.

    `subject` names it in errors.
    """
    return flatten(_Decoder(subject, sort_keys).build(data, 0))[1]


def has_order(tree: Any) -> bool:
    """Return True if a structure has a dict of several keys, whose order a function can see."""
    if tree.is_leaf():
        return False
    several = tree.type in (dict, OrderedDict, defaultdict) and tree.num_children > 1
    return several or any(map(has_order, tree.children()))


def has_sorted_keys(tree: Any) -> bool:
    """Return True if all dicts of a structure have sorted keys."""
    if tree.is_leaf():
        return True
    keys = tree.entries() if tree.type in (dict, defaultdict) else []
    return keys == _sorted(keys) and all(map(has_sorted_keys, tree.children()))


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
        kind = next(k for k in ("factory", "longest", *x) if k in x)
        if kind == "factory":
            return self._defaultdict(x, depth)
        if kind == "longest":
            return self._deque(x, depth)
        return self._container(kind, x, depth)

    def _container(self, kind: str, x: dict[str, Any], depth: int) -> Any:
        builders: dict[str, Callable[[Any, int], Any]] = {
            "list": self._parts,
            "tuple": lambda parts, depth: tuple(self._parts(parts, depth)),
            "dict": self._sorted_pairs,
            "ordered": lambda pairs, depth: OrderedDict(self._pairs(pairs, depth)),
            "setting": self._static,
            "static": lambda value, depth: Static(self._static(value, depth)),
        }
        (inside,) = fields(x, self.subject, choice(kind, self.subject, tuple(builders)))
        return builders[kind](inside, depth)

    def _defaultdict(self, x: dict[str, Any], depth: int) -> Any:
        pairs, factory = fields(x, self.subject, "defaultdict", "factory")
        made = None if factory is None else _FACTORIES[choice(factory, self.subject, _FACTORIES)]
        return defaultdict(made, self._sorted_pairs(pairs, depth))

    def _deque(self, x: dict[str, Any], depth: int) -> Any:
        parts, longest = fields(x, self.subject, "deque", "longest")
        return deque(self._parts(parts, depth), longest if longest is None else self._length(longest, parts))

    def _length(self, longest: Any, parts: list[Any]) -> int:
        if type(longest) is not int or not len(parts) <= longest <= 2**62:
            raise Malformed(f"{self.subject} has a deque of the length {longest!r:.50}")
        return longest

    def _parts(self, x: Any, depth: int) -> list[Any]:
        return [self.build(part, depth + 1) for part in items(x, self.subject, _MAX_NODES)]

    def _pairs(self, x: Any, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for pair in items(x, self.subject, _MAX_NODES):
            key, value = items(pair, self.subject, 2, 2)
            key = key if isinstance(key, str) else number(fields(key, self.subject, "number")[0], self.subject)
            if key in mapping or not isinstance(key, _KEYS):
                raise Malformed(f"{self.subject} has the key {key!r:.50} twice, or no key")
            mapping[key] = self.build(value, depth + 1)
        return mapping

    def _sorted_pairs(self, x: Any, depth: int) -> dict[Any, Any]:
        mapping = self._pairs(x, depth)
        return {key: mapping[key] for key in _sorted(mapping)} if self.sort_keys else mapping

    def _static(self, x: Any, depth: int) -> Any:
        if isinstance(x, dict) and "text" in x:
            (value,) = fields(x, self.subject, "text")
            if not isinstance(value, str):
                raise Malformed(f"{self.subject} holds no text")
            return value
        if isinstance(x, dict) and "tuple" in x and depth < _MAX_DEPTH:
            (parts,) = fields(x, self.subject, "tuple")
            return tuple([self._static(part, depth + 1) for part in items(parts, self.subject, _MAX_NODES)])
        return number(fields(x, self.subject, "number")[0], self.subject)

"""Structures of arguments and results as data that JSON can hold, and back. Built-in containers only."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.decode import Malformed, choice, fields, items, number
from anyshape.graph.ir.encode import encode_number
from anyshape.numpy.operands.shape_tuple import Sizes
from anyshape.tracing.pytrees import Static, flatten, unflatten
from anyshape.tracing.symbolic_shape import SymbolicShape

_FACTORIES: dict[str, Callable[[], Any]] = {
    k.__name__: k for k in (int, float, complex, bool, str, list, tuple, dict, set)
}
_PLAIN = (tuple, list, dict, OrderedDict, deque, defaultdict, type(None), Sizes, SymbolicShape, Static)
_KEYS = (str, bool, int, float, type(None))
_MOST, _DEEPEST = 100_000, 100
_LEAF = object()


def check_tree(tree: Any, function: str, what: str) -> None:
    """Refuse a structure that a file cannot hold."""
    if not tree.is_leaf():
        if tree.type not in _PLAIN:
            kind = f"{tree.type.__module__}.{tree.type.__qualname__}"
            advice = "take and return tuples, lists and dicts of arrays, such as x._asdict() or dataclasses.asdict(x)"
            raise ArgumentError(function, what, f"holds a {kind}, a class that a saved program does not know", advice)
        if tree.type in (dict, OrderedDict, defaultdict):
            _check_keys(tree.entries(), function, what)
        for child in tree.children():
            check_tree(child, function, what)


def _check_keys(keys: list[Any], function: str, what: str) -> None:
    for key in keys:
        if type(key) not in _KEYS:
            problem = f"holds a dict with the key {key!r:.50}, of the type {type(key).__name__}"
            raise ArgumentError(function, what, problem, "use texts and integers for keys")


def encode_tree(tree: Any, function: str, what: str) -> Any:
    """The structure as data."""
    check_tree(tree, function, what)
    return _encode(unflatten(tree, [_LEAF] * tree.num_leaves), function, what)


def _encode(x: Any, function: str, what: str) -> Any:
    def inner(parts: Any) -> list[Any]:
        return [_encode(p, function, what) for p in parts]

    if x is _LEAF:
        return "leaf"
    if x is None:
        return None
    if isinstance(x, Static):
        return {"static": _static(x.value, function, what)}
    if isinstance(x, deque):
        return {"deque": inner(x), "longest": x.maxlen}
    if isinstance(x, (tuple, list)):
        return {"list" if isinstance(x, list) else "tuple": inner(x)}
    keys = [[k if isinstance(k, str) else {"number": encode_number(k)}, *inner([v])] for k, v in x.items()]
    if isinstance(x, defaultdict):
        factory = None if x.default_factory is None else getattr(x.default_factory, "__name__", "")
        if factory is not None and _FACTORIES.get(factory) is not x.default_factory:
            problem = f"holds a defaultdict of {x.default_factory!r:.50}, which a saved program does not know"
            raise ArgumentError(function, what, problem, "return a dict")
        return {"defaultdict": keys, "factory": factory}
    return {"ordered" if isinstance(x, OrderedDict) else "dict": keys}


def _static(x: Any, function: str, what: str) -> Any:
    if isinstance(x, str):
        return {"text": x}
    if isinstance(x, tuple):
        return {"tuple": [_static(p, function, what) for p in x]}
    if x is None or isinstance(x, (bool, int, float, complex)):
        return {"number": encode_number(x)}
    problem = f"holds a {type(x).__name__} that is no array, which a saved program does not know"
    raise ArgumentError(function, what, problem, "close over it instead of passing it")


def decode_tree(data: Any, what: str) -> Any:
    """The structure that the data describe."""
    return flatten(_Tree(what).build(data, 0))[1]


class _Tree:
    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0

    def build(self, x: Any, depth: int) -> Any:
        self.count += 1
        if depth > _DEEPEST or self.count > _MOST:
            raise Malformed(f"{self.what} is nested too deep, or too large")
        if x == "leaf":
            return _LEAF
        if x is None:
            return None
        if not isinstance(x, dict) or not x:
            raise Malformed(f"{self.what} is no structure")
        kind = next(k for k in ("factory", "longest", *x) if k in x)
        if kind == "factory":
            pairs, factory = fields(x, self.what, "defaultdict", "factory")
            made = None if factory is None else _FACTORIES[choice(factory, self.what, _FACTORIES)]
            return defaultdict(made, self.pairs(pairs, depth))
        if kind == "longest":
            parts, longest = fields(x, self.what, "deque", "longest")
            found = deque(self.parts(parts, depth), longest if longest is None else self.length(longest, parts))
            return found
        (inside,) = fields(x, self.what, choice(kind, self.what, ("list", "tuple", "dict", "ordered", "static")))
        if kind in ("list", "tuple"):
            return self.parts(inside, depth) if kind == "list" else tuple(self.parts(inside, depth))
        if kind == "static":
            return Static(self.static(inside, depth))
        return (OrderedDict if kind == "ordered" else dict)(self.pairs(inside, depth))

    def length(self, longest: Any, parts: list[Any]) -> int:
        if type(longest) is not int or not len(parts) <= longest <= 2**62:
            raise Malformed(f"{self.what} has a deque of the length {longest!r:.50}")
        return longest

    def parts(self, x: Any, depth: int) -> list[Any]:
        return [self.build(p, depth + 1) for p in items(x, self.what, _MOST)]

    def pairs(self, x: Any, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in items(x, self.what, _MOST):
            key, value = items(pair, self.what, 2, 2)
            key = key if isinstance(key, str) else number(fields(key, self.what, "number")[0], self.what)
            if key in found or not isinstance(key, _KEYS):
                raise Malformed(f"{self.what} has the key {key!r:.50} twice, or no key")
            found[key] = self.build(value, depth + 1)
        return found

    def static(self, x: Any, depth: int) -> Any:
        if isinstance(x, dict) and "text" in x:
            (found,) = fields(x, self.what, "text")
            if not isinstance(found, str):
                raise Malformed(f"{self.what} holds no text")
            return found
        if isinstance(x, dict) and "tuple" in x and depth < _DEEPEST:
            (parts,) = fields(x, self.what, "tuple")
            return tuple([self.static(p, depth + 1) for p in items(parts, self.what, _MOST)])
        return number(fields(x, self.what, "number")[0], self.what)

"""Values of a trace that functions close over: find them, and make the functions again with others in their place.

A derivative rule runs when a transform reaches the call, which may be in another graph, or inside of a vmap. Its traced
values then have stand-ins there. The walk sees variables of closures, defaults, bound methods, partial functions,
transformed functions, linear maps, lists, tuples and dicts. It does not see attributes of objects and globals: using a
traced value from there is a LeakedTracerError.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.linear_map import LinearizedFunction


def closed_over(functions: Sequence[Any]) -> list[Any]:
    """Return the traced values and sizes that functions close over, each once, without those whose trace has ended."""
    values: dict[int, Any] = {}

    def record(x: Any) -> Any:
        if not _has_ended(x):
            values.setdefault(id(x), x)
        return x

    walk = _Walk(record)
    for function in functions:
        walk.renew(function)
    return list(values.values())


def rebound(functions: Sequence[Any], values: Sequence[Any], stand_ins: Sequence[Any]) -> list[Any]:
    """Return the functions with stand-ins for the values that they close over."""
    if not values:
        return list(functions)
    new = {id(x): y for x, y in zip(values, stand_ins, strict=True)}
    walk = _Walk(lambda x: new.get(id(x), x))
    return [walk.renew(function) for function in functions]


def _has_ended(x: Any) -> bool:
    return x.builder.closed if isinstance(x, Traced) else x.scope.closed


class HasRule:
    """Function with a derivative rule, which holds functions as attributes."""

    reads: tuple[str, ...] = ()  # the attributes that a program depends on

    def duplicate(self) -> HasRule:
        """Return another function with the same attributes."""
        raise NotImplementedError

    def set_parts(self, *parts: Any) -> None:
        """Set the attributes that `reads` names."""
        raise NotImplementedError


class _Walk:
    """Makes objects again with other leaves. What holds none that changes stays as it is."""

    def __init__(self, leaf: Callable[[Any], Any]) -> None:
        self.leaf = leaf
        self.made: dict[int, Any] = {}
        self.alive: list[Any] = []  # keeps the ids valid

    def renew(self, x: Any) -> Any:
        """Return the object with other leaves."""
        if isinstance(x, (Traced, SymbolicSize)):
            return self.leaf(x)
        rule = next((rule for kind, rule in _RULES.items() if isinstance(x, kind)), None)
        if rule is None:
            return x
        if id(x) not in self.made:
            self.alive.append(x)
            self.made[id(x)] = x
            self.made[id(x)] = rule(self, x)
        return self.made[id(x)]

    def function(self, function: types.FunctionType) -> Any:
        """Make a function again if a variable of its closure or a default changes."""
        cells = function.__closure__ or ()
        new = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, _empty(len(cells)))
        new.__dict__.update(function.__dict__)
        new.__qualname__, new.__module__ = function.__qualname__, function.__module__
        self.made[id(function)] = new  # a function may close over itself
        renewed = [self.renew(_content(cell)) for cell in cells]
        defaults, keywords = self.renew(function.__defaults__), self.renew(function.__kwdefaults__)
        for cell, value in zip(new.__closure__ or (), renewed, strict=True):
            if value is not _EMPTY:
                cell.cell_contents = value
        new.__defaults__, new.__kwdefaults__ = defaults, keywords
        return new

    def method(self, method: types.MethodType) -> Any:
        """Make a bound method again."""
        return types.MethodType(self.renew(method.__func__), self.renew(method.__self__))

    def partial(self, partial: functools.partial[Any]) -> Any:
        """Make a partial function again."""
        args, keywords = self.renew(partial.args), self.renew(partial.keywords)
        return functools.partial(self.renew(partial.func), *args, **keywords)

    def linear(self, linear: LinearizedFunction) -> Any:
        """Make a linear map again, which `vjp` and `linearize` return methods of."""
        return LinearizedFunction(linear.shape, [self.renew(x) for x in linear.values])

    def jitted(self, jitted: Jitted) -> Any:
        """Return what a transformed function does inside of a trace."""
        return self.renew(jitted.function)

    def custom(self, function: HasRule) -> Any:
        """Make a function with a derivative rule again."""
        new = self.made[id(function)] = function.duplicate()  # a rule may call its function
        new.set_parts(*[self.renew(getattr(function, name)) for name in function.reads])
        return new

    def sequence(self, xs: Any) -> Any:
        """Make a plain list or tuple again."""
        return type(xs)([self.renew(x) for x in xs]) if type(xs) in (list, tuple) else xs

    def mapping(self, xs: dict[Any, Any]) -> Any:
        """Make a plain dict again."""
        return {key: self.renew(x) for key, x in xs.items()} if type(xs) is dict else xs


_EMPTY: Any = object()


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # its variable has no value yet
        return _EMPTY


def _empty(count: int) -> tuple[Any, ...] | None:
    return tuple([types.CellType() for _ in range(count)]) if count else None


_RULES: dict[type, Callable[[_Walk, Any], Any]] = {
    types.FunctionType: _Walk.function,
    types.MethodType: _Walk.method,
    functools.partial: _Walk.partial,
    HasRule: _Walk.custom,
    Jitted: _Walk.jitted,
    LinearizedFunction: _Walk.linear,
    list: _Walk.sequence,
    tuple: _Walk.sequence,
    dict: _Walk.mapping,
}

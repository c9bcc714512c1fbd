"""Arguments that are no arrays: their values are part of what a program is looked up by, and built into it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.canonical import freeze
from anyshape.tracing.pytrees import named


@dataclass(frozen=True)
class StaticArguments:
    """Which arguments are static, by position and by keyword."""

    function: str = ""
    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()  # by position, as far as they are known

    def __bool__(self) -> bool:
        return bool(self.positions or self.names)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[int | str, Any]]:
        """The arguments with None in place of static ones, and these by position or keyword."""
        found: dict[int | str, Any] = {i: args[i] for i in sorted(self.positions) if i < len(args)}
        found |= {name: kwargs[name] for name in sorted(self.names) if name in kwargs}
        rest = tuple([None if i in found else x for i, x in enumerate(args)])
        return rest, {name: None if name in found else x for name, x in kwargs.items()}, found

    def closed_over(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], list[str]]:
        """The function of the other arguments, which holds its static ones; these arguments; their parameters."""
        _, _, found = self.split(args, kwargs)
        given = [i for i in range(len(args)) if i not in found]
        keywords = {name: x for name, x in found.items() if isinstance(name, str)}

        def of_the_rest(*rest: Any, **others: Any) -> Any:
            places: dict[int | str, Any] = found | dict(zip(given, rest, strict=True))
            return function(*[places[i] for i in range(len(args))], **keywords, **others)

        left = {name: x for name, x in kwargs.items() if name not in found}
        return of_the_rest, tuple([args[i] for i in given]), left, [n for i, n in enumerate(names) if i not in found]

    def key(self, static: dict[int | str, Any]) -> tuple[Any, ...]:
        """Static arguments as part of a key; values of different types differ (1 is not True), 0.0 is not -0.0."""
        key = tuple((place, type(value), freeze(value)) for place, value in static.items())
        for place, value in static.items():
            try:
                hash(value)
            except TypeError:
                path = place if isinstance(place, str) else named(f"args[{place}]", self.parameters)
                problem = f"is static and of type {type(value).__name__}, which cannot be hashed"
                advice = "pass something with __hash__ and __eq__, such as a tuple"
                raise ArgumentError(self.function, path, problem, advice) from None
        return key

    def bound(self) -> StaticArguments:
        """Those of a method whose object is given."""
        positions = frozenset(i - 1 for i in self.positions if i > 0)
        return replace(self, positions=positions, parameters=self.parameters[1:])


def with_static(function: Callable[..., Any], static: dict[int | str, Any]) -> Callable[..., Any]:
    """The function of the arguments that are left, which gets the static ones too."""
    if not static:
        return function

    def merged(*args: Any, **kwargs: Any) -> Any:
        positional = [static.get(i, x) for i, x in enumerate(args)]
        return function(*positional, **{name: static.get(name, x) for name, x in kwargs.items()})

    return merged


def static_arguments(function: Callable[..., Any], name: str, argnums: Any, argnames: Any) -> StaticArguments:
    """The static arguments of a function: a position or several, a name or several; each is found by both."""
    numbers = _sequence(name, "static_argnums", argnums, int)
    names = _sequence(name, "static_argnames", argnames, str)
    if not numbers and not names:
        return StaticArguments(name)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    open_ended = not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    any_name = not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters)
    for i in numbers:
        if (i < 0 and open_ended) or (not open_ended and not -len(positional) <= i < len(positional)):
            problem = f"is {i}, for {len(positional)} positional parameters"
            raise ArgumentError(name, "static_argnums", problem, "count them from 0")
    places = {i % len(positional) if positional and not open_ended else i for i in numbers}
    for text in names:
        if text not in [p.name for p in parameters] and not any_name:
            known = ", ".join(p.name for p in parameters)
            raise ArgumentError(name, "static_argnames", f"names {text!r}", f"name one of the parameters: {known}")
    keywords = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    both = {positional[i] for i in places if i < len(positional)} & keywords
    places |= {positional.index(n) for n in names if n in positional}
    return StaticArguments(name, frozenset(places), frozenset({*names, *both}), tuple(positional))


def _sequence(name: str, what: str, given: Any, kind: type) -> Sequence[Any]:
    """One or several of a kind."""
    items = (given,) if isinstance(given, kind) else () if given is None else given
    if not isinstance(items, Iterable) or not all(isinstance(x, kind) and not isinstance(x, bool) for x in items):
        word = "ints" if kind is int else "names"
        raise ArgumentError(
            name, what, f"is {given!r}", f"give {word}, as in {what}={(0, 1) if kind is int else 'k'!r}"
        )
    return tuple(items)

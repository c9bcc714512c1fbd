"""Options of `jit` for one function, and of the transforms that are jitted.

Static arguments: their values are part of the key of the cache, and are built into the program.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from anyshape.backend.runtime.config import checked_choice
from anyshape.errors import ArgumentError
from anyshape.support.freezing import freeze, frozen_setting
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import flatten, is_setting, named
from anyshape.tracing.source.read import as_read
from anyshape.transforms.arguments.dynamic_shapes import DynamicShapes, dynamic_shapes_of

GIVEN_AT_ONCE = "write {transform}(f)(...): the arguments go to the function that {transform} returns"


def refuse_arrays(name: str, in_axes: Any) -> None:
    """Raise ArgumentError where the arguments of a mapped function were given to the transform, as its axes."""
    if any(has_type(axis, np.ndarray) for axis in flatten(in_axes)[0]):
        advice = GIVEN_AT_ONCE.format(transform=name.partition("(")[0])
        raise ArgumentError(name, "in_axes", f"is {in_axes!r:.50}", advice)


@dataclass(frozen=True)
class StaticArguments:
    """Positions and keywords of the static arguments of one function."""

    function: str = ""
    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    parameters: tuple[str, ...] = ()  # positional ones, as far as they are known

    def __bool__(self) -> bool:
        return bool(self.positions or self.names)

    def __or__(self, other: StaticArguments) -> StaticArguments:
        """Return the arguments that are static here or there, for a function of the same parameters."""
        parameters = self.parameters or other.parameters
        return replace(
            self, positions=self.positions | other.positions, names=self.names | other.names, parameters=parameters
        )

    def require_other(self, argnums: int | Sequence[int]) -> None:
        """Raise ArgumentError if a derivative is taken in a static argument."""
        for a in (argnums,) if has_type(argnums, int) else argnums:
            position = a + len(self.parameters) if has_type(a, int) and a < 0 else a
            if position in self.positions:
                path = named(f"args[{position}]", self.parameters)
                advice = "leave it out of argnums, or of the static arguments"
                raise ArgumentError(self.function, path, "is static: it has no derivative", advice)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], is_static: Callable[[Any], bool] = is_setting
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[int | str, Any]]:
        """Return the arguments with None in place of static ones, and the static ones by position or keyword."""
        static: dict[int | str, Any] = {i: x for i, x in enumerate(args) if i in self.positions or is_static(x)}
        static |= {name: kwargs[name] for name in sorted(kwargs) if name in self.names or is_static(kwargs[name])}
        if not static:
            return args, kwargs, static
        rest = tuple([None if i in static else x for i, x in enumerate(args)])
        return rest, {name: None if name in static else x for name, x in kwargs.items()}, static

    def closed_over(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], list[str]]:
        """Return the function of the other arguments, these arguments by position and name, and their parameters."""
        _, _, static = self.split(args, kwargs)
        dynamic = [i for i in range(len(args)) if i not in static]
        keywords = {name: x for name, x in static.items() if isinstance(name, str)}

        def of_dynamic(*values, **others):
            by_position: dict[int | str, Any] = static | dict(zip(dynamic, values, strict=True))
            return as_read(function)(*[by_position[i] for i in range(len(args))], **keywords, **others)

        rest = {name: x for name, x in kwargs.items() if name not in static}
        parameters = [n for i, n in enumerate(names) if i not in static]
        return of_dynamic, tuple([args[i] for i in dynamic]), rest, parameters

    def key(self, static: dict[int | str, Any]) -> tuple[Any, ...]:
        """Return static arguments as part of a key, by type and value at every depth."""
        key = []
        for position, value in static.items():
            is_declared = position in self.names if isinstance(position, str) else position in self.positions
            if not is_declared or is_setting(value):
                key.append((position, frozen_setting(value)))  # known by its type to be static
                continue
            key.append((position, freeze(value)))
            try:
                hash(value)
            except TypeError:
                path = position if isinstance(position, str) else named(f"args[{position}]", self.parameters)
                problem = f"is static and of type {type(value).__name__}, which cannot be hashed"
                advice = "pass something with __hash__ and __eq__, such as a tuple"
                if has_type(value, np.ndarray):
                    advice = "leave it out of the static arguments: arrays are arguments of the program"
                raise ArgumentError(self.function, path, problem, advice) from None
        return tuple(key)

    def bound(self) -> StaticArguments:
        """Return the static arguments of a method that is bound to an object."""
        positions = frozenset(i - 1 for i in self.positions if i > 0)
        return replace(self, positions=positions, parameters=self.parameters[1:])


def with_static(function: Callable[..., Any], static: dict[int | str, Any]) -> Callable[..., Any]:
    """Return a function of the arguments as `split` leaves them, which puts the static values back."""
    if not static:
        return function

    def merged(*args, **kwargs):
        positional = [static.get(i, x) for i, x in enumerate(args)]
        return as_read(function)(*positional, **{name: static.get(name, x) for name, x in kwargs.items()})

    merged.__wrapped__ = function  # type: ignore[attr-defined]  # errors name its parameters
    return merged


def static_arguments(function: Callable[..., Any], name: str, argnums: Any, argnames: Any) -> StaticArguments:
    """Return the static arguments that a user names by position or by parameter; each is known by both."""
    numbers = _sequence(name, "static_argnums", argnums, int)
    names = _sequence(name, "static_argnames", argnames, str)
    if not numbers and not names:
        return StaticArguments(name)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    positions = _positions(name, numbers, parameters, positional)
    _check_names(name, names, parameters)
    keywords = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    by_both = {positional[i] for i in positions if i < len(positional)} & keywords
    positions |= {positional.index(n) for n in names if n in positional}
    return StaticArguments(name, frozenset(positions), frozenset({*names, *by_both}), tuple(positional))


def _positions(
    name: str, numbers: Sequence[int], parameters: Sequence[inspect.Parameter], positional: Sequence[str]
) -> set[int]:
    """Return `numbers` counted from 0; raise ArgumentError if one names no parameter."""
    any_number = not parameters or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    count = len(positional)
    for i in numbers:
        if i < 0 if any_number else not -count <= i < count:
            raise ArgumentError(
                name, "static_argnums", f"is {i}, for {count} positional parameters", "count them from 0"
            )
    return set(numbers) if any_number else {i % count for i in numbers}


def _check_names(name: str, names: Sequence[str], parameters: Sequence[inspect.Parameter]) -> None:
    """Raise ArgumentError if a name is not a parameter of the function."""
    known = [p.name for p in parameters]
    if not parameters or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    for text in names:
        if text not in known:
            advice = f"name one of the parameters: {', '.join(known)}"
            raise ArgumentError(name, "static_argnames", f"names {text!r}", advice)


def _sequence(name: str, option: str, value, kind: type) -> Sequence[Any]:
    """Return one or several values of a kind as a tuple; raise ArgumentError for anything else."""
    items = (value,) if isinstance(value, kind) else () if value is None else value
    if not isinstance(items, Iterable) or not all(isinstance(x, kind) and not has_type(x, bool) for x in items):
        word = "ints" if kind is int else "names"
        example = (0, 1) if kind is int else "k"
        raise ArgumentError(name, option, f"is {value!r}", f"give {word}, as in {option}={example!r}")
    return tuple(items)


_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class Options:
    """Options of `jit` for one function.

    `optimize`, `compile` and `read_source` are None for the modes that `anyshape.config` has at a trace.
    """

    static: StaticArguments = field(default_factory=StaticArguments)
    shapes: DynamicShapes | None = None
    max_bytes: int | None = None
    optimize: str | None = None
    compile: str | None = None
    read_source: str | None = None

    def checked(self, name: str) -> Options:
        """Return the options, or raise ArgumentError for a limit or a mode that is none."""
        if (limit := self.max_bytes) is not None:
            if has_type(limit, (bool, np.bool_)) or not has_type(limit, _NUMBERS) or not limit >= 0 or limit % 1:
                advice = "give a number of bytes, or None for no limit"
                raise ArgumentError(name, "max_bytes", f"is {limit!r}", advice)
            return replace(self, max_bytes=int(limit)).checked(name) if not has_type(limit, int) else self._modes(name)
        return self._modes(name)

    def _modes(self, name: str) -> Options:
        """Return the options, or raise ArgumentError for a mode that is none."""
        for setting in ("optimize", "compile", "read_source"):
            if (mode := getattr(self, setting)) is not None:
                checked_choice(mode, setting, name)
        return self

    def bound(self) -> Options:
        """Return the options of a method that is bound to an object."""
        return replace(self, static=self.static.bound())


_NO_OPTIONS = Options()


@dataclass(frozen=True)
class Declared:
    """Static arguments and shapes as a user declares them to a transform."""

    static_argnums: Any = None
    static_argnames: Any = None
    dynamic_shapes: Any = None

    @property
    def is_empty(self) -> bool:
        """True if nothing is declared."""
        return self.static_argnums is None and self.static_argnames is None and self.dynamic_shapes is None

    def keywords(self) -> dict[str, Any]:
        """Return the declarations as keywords of a transform."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def options(self, function: Callable[..., Any], name: str, keep: str) -> Options:
        """Return the options of a transform of a function.

        `keep` says which options of a jitted function hold too: "static" arguments, or the shapes of "all" arguments.
        When plans are optimised and compiled holds always.
        """
        own = getattr(function, "options", None)
        inherited = own if isinstance(own, Options) else _NO_OPTIONS
        if self.is_empty and (keep == "all" or inherited is _NO_OPTIONS):
            return inherited
        if keep != "all":
            static = inherited.static if keep else StaticArguments()
            inherited = Options(static, optimize=inherited.optimize, compile=inherited.compile)
        if self.is_empty:
            return inherited
        static = static_arguments(function, name, self.static_argnums, self.static_argnames) | inherited.static
        shapes = dynamic_shapes_of(function, name, self.dynamic_shapes, "guard", static.names)
        return replace(inherited, static=static, shapes=shapes or inherited.shapes)

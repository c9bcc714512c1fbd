"""Options of `jit` for one function, and of the transforms that are jitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

import numpy as np

from anyshape.backend.runtime.config import checked_compile, checked_mode
from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.transforms.arguments.dynamic_shapes import DynamicShapes, dynamic_shapes_of
from anyshape.transforms.arguments.static_args import StaticArguments, static_arguments

_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class Options:
    """Options of `jit` for one function.

    `optimize` and `compile` are None for the modes that `anyshape.config` has at a trace.
    """

    static: StaticArguments = field(default_factory=StaticArguments)
    shapes: DynamicShapes | None = None
    max_bytes: int | None = None
    optimize: str | None = None
    compile: str | None = None

    def checked(self, name: str) -> Options:
        """Return the options, or raise ArgumentError for a limit or a mode that is none."""
        limit = self.max_bytes
        if limit is not None:
            if has_type(limit, (bool, np.bool_)) or not has_type(limit, _NUMBERS) or not limit >= 0 or limit % 1:
                advice = "give a number of bytes, or None for no limit"
                raise ArgumentError(name, "max_bytes", f"is {limit!r}", advice)
            return replace(self, max_bytes=int(limit)).checked(name) if not has_type(limit, int) else self._modes(name)
        return self._modes(name)

    def _modes(self, name: str) -> Options:
        """Return the options, or raise ArgumentError for a mode that is none."""
        if self.optimize is not None:
            checked_mode(self.optimize, name)
        if self.compile is not None:
            checked_compile(self.compile, name)
        return self

    def bound(self) -> Options:
        """Return the options of a method that is bound to an object."""
        return replace(self, static=self.static.bound())


@dataclass(frozen=True)
class Declared:
    """Static arguments and shapes as a user declares them to a transform."""

    static_argnums: Any = None
    static_argnames: Any = None
    dynamic_shapes: Any = None

    def keywords(self) -> dict[str, Any]:
        """Return the declarations as keywords of a transform."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def options(self, function: Callable[..., Any], name: str, keep: str) -> Options:
        """Return the options of a transform of a function.

        `keep` says which options of a jitted function hold too: "static" arguments, or the shapes of "all" arguments.
        When plans are optimised and compiled holds always.
        """
        own = getattr(function, "options", None)
        inherited = own if isinstance(own, Options) else Options()
        if keep != "all":
            static = inherited.static if keep else StaticArguments()
            inherited = Options(static, optimize=inherited.optimize, compile=inherited.compile)
        if not self.keywords():
            return inherited
        static = static_arguments(function, name, self.static_argnums, self.static_argnames) | inherited.static
        shapes = dynamic_shapes_of(function, name, self.dynamic_shapes, "guard", static.names)
        return replace(inherited, static=static, shapes=shapes or inherited.shapes)

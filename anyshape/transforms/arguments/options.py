"""Options of `jit` for one function."""

from __future__ import annotations

from dataclasses import field, replace

from anyshape.backend.runtime.config import checked_mode
from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.transforms.arguments.dynamic_shapes import DynamicShapes
from anyshape.transforms.arguments.static_args import StaticArguments


@dataclass(frozen=True)
class Options:
    """Options of `jit` for one function; `optimize` is None for the mode that `anyshape.config` has at a trace."""

    static: StaticArguments = field(default_factory=StaticArguments)
    shapes: DynamicShapes | None = None
    max_bytes: int | None = None
    optimize: str | None = None

    def checked(self, name: str) -> Options:
        """Return the options, or raise ArgumentError for a limit or a mode that is none."""
        limit = self.max_bytes
        if limit is not None and (has_type(limit, bool) or not has_type(limit, int) or limit < 0):
            advice = "give a number of bytes, or None for no limit"
            raise ArgumentError(name, "max_bytes", f"is {limit!r}", advice)
        if self.optimize is not None:
            checked_mode(self.optimize, name)
        return self

    def bound(self) -> Options:
        """Return the options of a method that is bound to an object."""
        return replace(self, static=self.static.bound())

"""Cotangents that add up while a graph is transposed; a slice gives a part of one.

A value that is read by many slices has a cotangent of as many terms. Each one is added to its elements alone, so the
sum takes time in proportion to what the slices read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.autodiff.rule_tables import add_tangents
from anyshape.graph.sizes.expr import Size
from anyshape.ops import movement as mv
from anyshape.support.lazy_dataclass import dataclass

PADDED = 3  # so many parts are padded, where one fused step adds them all up; further ones are added in place
WAITING = 8  # so many parts wait for zeros in the array that they are added to, before these are written


@dataclass(frozen=True, slots=True)
class Part:
    """Cotangent of an array that is zero outside of some of its elements, by the zeros around and between these."""

    ct: Any
    low: Sequence[Size]
    high: Sequence[Size]
    interior: Sequence[Size]

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return mv.pad_unchecked(self.ct, self.low, self.high, self.interior)

    def added_to(self, total: Any) -> Any:
        """Return the sum with another cotangent of the array."""
        return mv.slice_add(total, self.ct, self.low, [between + 1 for between in self.interior])


@dataclass(frozen=True, slots=True)
class Rest:
    """Cotangent of an array that a part is assigned to: zeros replace its elements there. `zeros` is None for a sum."""

    ct: Any
    zeros: Any = None
    starts: Sequence[Size] = ()
    steps: Sequence[Size] = ()

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return self.ct if self.zeros is None else mv.slice_update(self.ct, self.zeros, self.starts, self.steps)


class CotangentSum:
    """Sum of the cotangents of one value. Zeros of a `Rest` are written when the sum is asked for.

    By then the other elements have been read, so the zeros need no copy of the array.
    """

    __slots__ = ("padded", "parts", "rest", "total")

    def __init__(self) -> None:
        self.total: Any = None
        self.rest: Rest | None = None
        self.parts: list[Part] = []
        self.padded = 0

    def add(self, ct: Any) -> None:
        """Add a cotangent: an array, a `Part` or a `Rest`."""
        if isinstance(ct, Rest):
            self._write_rest()
            self.rest = ct
        elif not isinstance(ct, Part):
            self.total = add_tangents(self.total, ct)
        elif self.rest is not None:
            self.parts.append(ct)
            if len(self.parts) > WAITING:
                self._write_rest()
        elif self.padded < PADDED:
            self.padded += 1
            self.total = add_tangents(self.total, ct.whole())
        else:
            self.total = ct.added_to(self.total)

    def value(self) -> Any:
        """Return the sum."""
        self._write_rest()
        return self.total

    def _write_rest(self) -> None:
        """Add what waits."""
        if self.rest is not None:
            self.total = add_tangents(self.rest.whole(), self.total)
        for part in self.parts:
            self.total = part.added_to(self.total)
        self.rest, self.parts, self.padded = None, [], PADDED if self.parts else self.padded

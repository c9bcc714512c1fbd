"""Cotangents that add up while a graph is transposed; a read gives a part of one.

A value that is read by many slices or at many indices has a cotangent of as many terms. Each one is added to its
elements alone, so the sum takes time in proportion to what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from anyshape.autodiff.indexed_windows import IndexedWindow, indexed_window
from anyshape.autodiff.rule_tables import add_tangents
from anyshape.graph.sizes.expr import Size
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.flop_counts import Shape
from anyshape.support.lazy_dataclass import dataclass

PADDED = 3  # so many parts are padded, where one fused step adds them all up; further ones are added in place
WAITING = 8  # so many parts wait for zeros in the array that they are added to, before these are written


class Part(Protocol):
    """Cotangent of an array that is zero outside of the elements that a node reads."""

    def whole(self) -> Any:
        """Return the cotangent of the array."""

    def added_to(self, total: Any) -> Any:
        """Return the sum with another cotangent of the array."""


@dataclass(frozen=True, slots=True)
class SlicePart:
    """Cotangent of an array that is zero outside of a slice, by the zeros around and between its elements."""

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
class TakenPart:
    """Cotangent of an array that is zero where no index arrays read it. `sizes` are its sizes at the axes."""

    ct: Any
    indices: Sequence[Any]
    axes: Sequence[int]
    sizes: Sequence[Size]

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return ix.put_add_at(self.ct, self.indices, self.axes, self.sizes)

    def added_to(self, total: Any) -> Any:
        """Return the sum with another cotangent of the array."""
        return ga.index_add(total, self.indices, self.ct, self.axes)

    def with_ct(self, change: Callable[[Any], Any], whole_of: Callable[[], Any]) -> TakenPart:
        """Return the part with another cotangent of its elements."""
        return replace(self, ct=change(self.ct))

    def window(self, shape: Shape) -> IndexedWindow | None:
        """Return the part as a window in an array of this shape, if it is one."""
        return indexed_window(self.ct, self.indices, self.axes, shape, self.whole)


@dataclass(frozen=True, slots=True)
class WindowPart:
    """Cotangent of an array that is zero where a gather does not read it. `add` gives the sum with an array.

    `zeros` makes an array of zeros.
    """

    zeros: Callable[[], Any]
    add: Callable[[Any], Any]

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return self.add(self.zeros())

    def added_to(self, total: Any) -> Any:
        """Return the sum with another cotangent of the array."""
        return self.add(total)


@dataclass(frozen=True, slots=True)
class Rest:
    """Cotangent of an array that a part is assigned to: `clear` writes zeros there. It is None for a sum."""

    ct: Any
    clear: Callable[[Any], Any] | None = None

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return self.ct if self.clear is None else self.clear(self.ct)


class CotangentSum:
    """Sum of the cotangents of one value. Zeros of a `Rest` are written when the sum is asked for.

    By then the other elements have been read, so the zeros need no copy of the array.
    """

    start: Callable[[], Any] | None

    __slots__ = ("first", "padded", "parts", "rest", "start", "total")

    def __init__(self, start: Callable[[], Any] | None = None) -> None:
        """Begin a sum. `start` gives an array that parts may be added to in place, if no whole array comes first."""
        self.start = start
        self.total: Any = None
        self.first: TakenPart | IndexedWindow | None = None  # waits, as it may be all
        self.rest: Rest | None = None
        self.parts: list[Part] = []
        self.padded: int = 0

    def add(self, ct: Any) -> None:
        """Add a cotangent: an array, a part or a `Rest`."""
        if self._is_empty() and isinstance(ct, (TakenPart, IndexedWindow)):
            self.first = ct
            return
        self._write_first()
        if isinstance(ct, Rest):
            self._write_rest()
            self.rest = ct
        elif not isinstance(ct, (SlicePart, TakenPart, WindowPart, IndexedWindow)):
            self.total = add_tangents(self.total, ct)
        elif self.rest is not None:
            self.parts.append(ct)
            if len(self.parts) > WAITING:
                self._write_rest()
        else:
            self._write(ct)

    def value(self) -> Any:
        """Return the sum."""
        self._write_first()
        self._write_rest()
        return self.total

    def _is_empty(self) -> bool:
        return all(x is None for x in (self.first, self.total, self.rest, self.start))

    def _write_first(self) -> None:
        """Add the part that waits for others."""
        first, self.first = self.first, None
        if first is not None:
            self._write(first)

    def _write(self, part: Part) -> None:
        """Add a part: the first slices are padded, and others added in place."""
        if self.total is None and self.start is not None:
            self.total, self.padded = self.start(), PADDED
        if isinstance(part, SlicePart) and self.padded < PADDED:
            self.padded += 1
            self.total = add_tangents(self.total, part.whole())
        else:
            self.total = part.whole() if self.total is None else part.added_to(self.total)

    def _write_rest(self) -> None:
        """Add what waits."""
        if self.rest is not None:
            self.total = add_tangents(self.rest.whole(), self.total)
        for part in self.parts:
            self.total = part.added_to(self.total)
        self.rest, self.parts, self.padded = None, [], PADDED if self.parts else self.padded

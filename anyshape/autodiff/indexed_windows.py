"""Cotangents of arrays that are read in one window, at scalar indices: `x[i, 0]` and `x[1:, i, ::-1]`.

Such a key reads slices of the array, and then an element along an axis. The cotangent of each slice would be an array
of its size. A window instead passes through slices, reversals and dropped axes, and is added to one array in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import meta_of
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full, size_value
from anyshape.support.lazy_dataclass import dataclass

Position = Callable[[], Any]  # gives an index from the first element on


@dataclass(frozen=True, slots=True)
class IndexedWindow:
    """Cotangent of an array that is zero outside of one window.

    - `ct`: the window, without the axes that were indexed.
    - `positions`: of the axes that were indexed, where the window is.
    - `starts`: where the window begins along the axes of `ct`.
    - `whole_of`: gives the cotangent of the whole array.
    """

    ct: Any
    positions: dict[int, Position]
    starts: dict[int, Size]
    whole_of: Callable[[], Any]

    def whole(self) -> Any:
        """Return the cotangent of the array."""
        return self.whole_of()

    def added_to(self, total: Any) -> Any:
        """Return the sum with another cotangent of the array."""
        axes = [a for a in range(meta_of(total).rank) if self.starts.get(a, -1) != 0]
        at = [self.positions[a]() if a in self.positions else _number(self.starts[a]) for a in axes]
        first = at[0] if len(at) == 1 else ga.vectors(at)
        indexed, own = tuple([a for a in axes if a in self.positions]), tuple(range(meta_of(self.ct).rank))
        return ga.scatter_windows("add", total, first, self.ct, ga.Windows(own, indexed, tuple(axes), 0))

    def window(self, shape: Shape) -> IndexedWindow:
        """Return this window, which is one in an array of this shape."""
        return self

    def with_ct(self, change: Callable[[Any], Any], whole_of: Callable[[], Any]) -> IndexedWindow:
        """Return the window with another cotangent of its elements."""
        return replace(self, ct=change(self.ct), whole_of=whole_of)

    def with_axes(self, axes: Sequence[int], rank: int, whole_of: Callable[[], Any]) -> IndexedWindow:
        """Return the window in an array that has the axes of this one at `axes`, and others of one element."""
        positions = {axes[a]: at for a, at in self.positions.items()}
        positions |= {a: lambda: _number(0) for a in range(rank) if a not in axes}
        return IndexedWindow(self.ct, positions, {axes[a]: n for a, n in self.starts.items()}, whole_of)

    def in_slice(
        self, starts: Sequence[Size], steps: Sequence[Size], whole_of: Callable[[], Any]
    ) -> IndexedWindow | None:
        """Return the window in an array whose slice has this one, None where it has gaps there."""
        if any(steps[a] != 1 for a in self.starts):
            return None
        positions = {a: _scaled(at, starts[a], steps[a]) for a, at in self.positions.items()}
        return IndexedWindow(self.ct, positions, {a: n + starts[a] for a, n in self.starts.items()}, whole_of)

    def reversed(self, axes: Sequence[int], shape: Shape, whole_of: Callable[[], Any]) -> IndexedWindow:
        """Return the window in an array of this shape whose axes are reversed."""
        positions = {a: _mirrored(at, shape[a]) if a in axes else at for a, at in self.positions.items()}
        sizes = dict(zip(self.starts, meta_of(self.ct).sizes, strict=True))
        starts = {a: shape[a] - n - sizes[a] if a in axes else n for a, n in self.starts.items()}
        backwards = [i for i, a in enumerate(self.starts) if a in axes]
        return replace(self, ct=mv.rev(self.ct, backwards), positions=positions, starts=starts, whole_of=whole_of)


def indexed_window(ct: Any, indices: Sequence[Any], axes: Sequence[int], shape: Shape, whole_of: Any) -> Any:
    """Return the cotangent of an array of this shape that was read at these indices, None if one has axes."""
    if any(meta_of(i).rank for i in indices):
        return None
    positions = {a: _from_start(i, shape[a]) for i, a in zip(indices, axes, strict=True)}
    starts: dict[int, Size] = {a: 0 for a in range(len(shape)) if a not in axes}
    return IndexedWindow(ct, positions, starts, whole_of)


def axes_left(ctx: ShapeGuardContext, before: Shape, after: Shape) -> list[int] | None:
    """Return the axes that a reshape leaves, if it only drops axes of one element; else None."""
    left: list[int] = []
    for axis, size in enumerate(before):
        if len(left) < len(after) and ctx.same(size, after[len(left)]):
            left.append(axis)
        elif not (isinstance(size, int) and size == 1):
            return None
    return left if len(left) == len(after) else None


def _from_start(index: Any, size: Size) -> Position:
    return lambda: ga.from_start(index, size)


def _scaled(at: Position, start: Size, step: Size) -> Position:
    if start == 0 and step == 1:
        return at
    number = lambda: ew.convert(at(), np.int64)
    return lambda: ew.add(number() if step == 1 else ew.mul(number(), _number(step)), _number(start))


def _mirrored(at: Position, size: Size) -> Position:
    return lambda: ew.sub(_number(size - 1), ew.convert(at(), np.int64))


def _number(size: Size) -> Any:
    """Return a size as an operand."""
    return full((), size, np.int64) if isinstance(size, int) else size_value(size)

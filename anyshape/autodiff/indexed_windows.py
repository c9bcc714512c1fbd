"""Cotangents of arrays that are read in one window, at scalar indices: `x[i, 0]` and `x[1:, i, ::-1]`.

Such a key reads slices of the array, and then an element along an axis. The cotangent of each slice would be an array
of its size. A window instead passes through slices, reversals and dropped axes, and is added to one array in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.autodiff.structural_zeros import Masked, Part, indicator, masked, whole
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of, meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full, size_value
from anyshape.support.lazy_dataclass import dataclass

Position = Callable[[], Any]  # gives an index from the first element on


Image = Callable[[Callable[[Any], Any]], Any]  # gives an array, from what reads the elements of a part


@dataclass(frozen=True, slots=True)
class IndexedWindow(Part):
    """Cotangent of an array that is zero outside of one window.

    - `ct`: the window, without the axes that were indexed.
    - `positions`: of the axes that were indexed, where the window is.
    - `starts`: where the window begins along the axes of `ct`.
    - `image_of`: gives the image of the whole array.
    """

    ct: Any
    positions: dict[int, Position]
    starts: dict[int, Size]
    image_of: Image

    def image(self, read: Callable[[Any], Any]) -> Any:
        return self.image_of(read)

    def ones(self) -> IndexedWindow:
        return replace(self, ct=indicator(self.ct), image_of=lambda read: self.image_of(indicator))

    def added_to(self, total: Any) -> Any:
        return self._added(total, whole(self.ct))

    def at(self, x: Any) -> Any:
        scalar = mv.repeated_scalar(x)
        sizes = sizes_of(context_of("window", x), self._type())
        if scalar is not None:
            return mv.broadcast_in_dim(scalar, sizes, ())
        first, windows = self._numbers(meta_of(x).rank)
        own = iter(sizes)
        shape = [next(own) if a in self.starts else 1 for a in range(meta_of(x).rank)]
        return ga.gather_windows(x, first, windows, shape)

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> IndexedWindow:
        return replace(self, ct=ct, image_of=lambda read: self._added(zeros(), read(ct)))

    def as_window(self, shape: Shape) -> IndexedWindow:
        return self

    def _added(self, total: Any, window: Any) -> Any:
        first, windows = self._numbers(meta_of(total).rank)
        return ga.scatter_windows("add", total, first, window, windows)

    def _numbers(self, rank: int) -> tuple[Any, ga.Windows]:
        """Return the index vector of the window in an array of this rank, and its dimension numbers."""
        axes = [a for a in range(rank) if self.starts.get(a, -1) != 0]
        at = [self.positions[a]() if a in self.positions else _number(self.starts[a]) for a in axes]
        first = at[0] if len(at) == 1 else ga.vectors(at)
        indexed, own = tuple([a for a in axes if a in self.positions]), tuple(range(len(self.starts)))
        return first, ga.Windows(own, indexed, tuple(axes), 0)

    def _type(self) -> Any:
        """Return the array that the elements are, or their mask."""
        return self.ct.ct if isinstance(self.ct, Part) else self.ct

    def with_axes(self, axes: Sequence[int], rank: int, image_of: Image) -> IndexedWindow:
        """Return the window in an array that has the axes of this one at `axes`, and others of one element."""
        positions = {axes[a]: at for a, at in self.positions.items()}
        positions |= {a: lambda: _number(0) for a in range(rank) if a not in axes}
        return IndexedWindow(self.ct, positions, {axes[a]: n for a, n in self.starts.items()}, image_of)

    def in_slice(self, starts: Sequence[Size], steps: Sequence[Size], image_of: Image) -> IndexedWindow | None:
        """Return the window in an array whose slice has this one, None where it has gaps there."""
        if any(steps[a] != 1 for a in self.starts):
            return None
        positions = {a: _scaled(at, starts[a], steps[a]) for a, at in self.positions.items()}
        return IndexedWindow(self.ct, positions, {a: n + starts[a] for a, n in self.starts.items()}, image_of)

    def reversed(self, axes: Sequence[int], shape: Shape, image_of: Image) -> IndexedWindow:
        """Return the window in an array of this shape whose axes are reversed."""
        positions = {a: _mirrored(at, shape[a]) if a in axes else at for a, at in self.positions.items()}
        sizes = dict(zip(self.starts, meta_of(self._type()).sizes, strict=True))
        starts = {a: shape[a] - n - sizes[a] if a in axes else n for a, n in self.starts.items()}
        backwards = [i for i, a in enumerate(self.starts) if a in axes]
        return replace(self, ct=_reversed(self.ct, backwards), positions=positions, starts=starts, image_of=image_of)


def indexed_window(part: Any, shape: Shape) -> IndexedWindow | None:
    """Return the cotangent of an array of this shape that was read at indices, None if one of these has axes."""
    if any(meta_of(i).rank for i in part.indices):
        return None
    positions = {a: _from_start(i, shape[a]) for i, a in zip(part.indices, part.axes, strict=True)}
    starts: dict[int, Size] = {a: 0 for a in range(len(shape)) if a not in part.axes}
    return IndexedWindow(part.ct, positions, starts, part.image)


def _reversed(ct: Any, axes: Sequence[int]) -> Any:
    """Return the elements of a window in the other order along axes, with their mask."""
    if isinstance(ct, Masked):
        return masked(mv.rev(ct.ct, axes), lambda: mv.rev(ct.mask(), axes), ct.is_clean)
    return mv.rev(whole(ct), axes)


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

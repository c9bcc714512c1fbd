"""Keys of arrays, as NumPy reads them: what each item asks of its axis, and where that puts the axes of the result.

Basic keys become slices, reversals and reshapes; integer arrays become one `take`. What is written at a key becomes one
scatter, with windows along slices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import Verdict, at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import broadcast_sizes, slice_bounds
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import asarray, size_of, sizes
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.apply import context_of, meta_of

_INDEX = np.dtype(np.int64)


class Item(NamedTuple):
    """An item of a key in order: "kept" (a slice), "index" (an array, or an integer next to arrays), "new", or "none"
    (an ellipsis for no axis, which still keeps arrays apart). An axis of the result: one of the first three.
    """

    what: str
    axis: int  # of the array, for "kept"; among those of the index arrays, for an axis "index" of the result


@dataclass(frozen=True, slots=True)
class Target:
    """Where a scatter writes at a key, or a gather reads: its indices and windows of the array.

    `shape` is what the key reads, in NumPy's order and with new axes; `new` are those, and `reversed` the axes of the
    rest that run backwards. `sizes` are those of the windows. `unique`: no element is named twice.
    """

    indices: Any
    windows: ga.Windows
    sizes: tuple[Size, ...]
    shape: tuple[Size, ...]
    new: tuple[int, ...]
    reversed: tuple[int, ...]
    unique: bool


@dataclass
class Key:
    """A key of an array, taken apart. Unless `checked`, whether indices are in range is left to others."""

    x: Any
    items: tuple[Any, ...]
    checked: bool = True
    starts: list[Size] = field(default_factory=list)  # for each axis of x, after `reversed`
    counts: list[Size] = field(default_factory=list)
    steps: list[Size] = field(default_factory=list)
    reversed: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)  # axes that an integer picks one element of
    indices: dict[int, Any] = field(default_factory=dict)  # by axis
    layout: list[Item] = field(default_factory=list)
    masks: int = 0

    def __post_init__(self) -> None:
        self.ctx = context_of("getitem", self.x)
        items = self._expanded()
        self.shape = sizes(self.x)
        fancy = any(_rank(item) for item in items)
        for item in items:
            self._item(item, fancy)

    # -- taking apart

    def _expanded(self) -> list[Any]:
        """The items with the ellipsis filled in and masks as index arrays, one for each axis or new axis."""
        items = list(map(_classified, self.items))
        rank = meta_of(self.x).rank
        count = sum(_rank(i) if _is_mask(i) else i is not None and i is not Ellipsis for i in items)
        dots = [i for i, item in enumerate(items) if item is Ellipsis]
        if count > rank or len(dots) > 1:
            raise self.ctx.fail(f"{count} indices for {rank} axes" if count > rank else "a key can hold one `...`")
        missing: list[Any] = [slice(None)] * (rank - count)
        if dots:  # one for no axis stays
            items[dots[0] : dots[0] + 1] = missing or [Ellipsis]
        else:
            items += missing
        found: list[Any] = []
        axis = 0
        for item in items:
            parts = self._positions(item, axis) if _is_mask(item) else [item]
            found.extend(parts)
            axis += sum(1 for part in parts if part is not None and part is not Ellipsis)
        return found

    def _positions(self, mask: Any, axis: int) -> list[Any]:
        """A mask as the positions it selects; its shape must be that of the axes it stands for.

        One without axes selects all or nothing of a new axis of one element.
        """
        self.masks += 1
        if not _rank(mask):
            self.x = mv.expand(self.x, (axis,))
            mask = mv.reshape(mask, (1,))
        fit_mask(self.ctx, sizes(self.x), mask, axis)
        return list(dy.nonzero(mask) if isinstance(mask, Traced) else mask.nonzero())

    def _item(self, item: Any, fancy: bool) -> None:
        axis = len(self.starts)
        if item is None:
            self.layout.append(Item("new", -1))
        elif item is Ellipsis:
            self.layout.append(Item("none", -1))
        elif isinstance(item, slice):
            self.layout.append(Item("kept", axis))
            self._slice(axis, item)
        elif isinstance(item, (Traced, np.ndarray)):
            self.layout.append(Item("index", -1))
            self.indices[axis] = item
            self._whole(0, self.shape[axis])
        else:
            if fancy:
                self.layout.append(Item("index", -1))  # next to index arrays NumPy takes an integer for one
            self.dropped.append(axis)
            self._whole(self._element(item, self.shape[axis], axis), 1)

    def _whole(self, start: Size, count: Size) -> None:
        self.starts.append(start)
        self.counts.append(count)
        self.steps.append(1)

    def _slice(self, axis: int, item: slice) -> None:
        size = self.shape[axis]
        step = _bound(item.step)
        if isinstance(step, int) and step < 0 and any(isinstance(end, Traced) for end in (item.start, item.stop)):
            ends = [_mirrored(self.ctx, end, size) for end in (item.start, item.stop)]
            start, count, step = slice_bounds(self.ctx, slice(*ends, -step), size)
            self.reversed.append(axis)
        else:
            bounds = slice(_bound(item.start, size), _bound(item.stop, size), step)
            start, count, step = slice_bounds(self.ctx, bounds, size)
        if self.ctx.scope.decide(at_least(step, 0)) is not Verdict.YES:
            self.reversed.append(axis)
            start, step = size - 1 - start, -step
        self.starts.append(start)
        self.counts.append(count)
        self.steps.append(step)

    def _element(self, item: Any, size: Size, axis: int) -> Size:
        """The position of an integer index; a negative one counts from the end."""
        index = size_of(item)
        why = f"index {index} is out of bounds for axis {axis} with size {size}"
        last = index - size
        if isinstance(last, int) and last == -1:  # size - 1 is valid wherever the axis is not empty
            self._require(size, 1, why)
            return index
        negative = index < 0 if isinstance(index, int) else not self.ctx.scope.ask(at_least(index, 0), self.ctx.where)
        self._require(size, -index if negative else index + 1, why)
        return size + index if negative else index

    def _require(self, size: Size, least: Size, why: str) -> None:
        if self.checked:
            self.ctx.require(at_least(size, least), why)

    # -- the axes of the result

    def _arranged(self, rank: int) -> list[Item]:
        """The axes of the result, those of index arrays of this rank where NumPy puts them."""
        places = [i for i, item in enumerate(self.layout) if item.what == "index"]
        together = places and places == list(range(places[0], places[0] + len(places)))
        at = places[0] if together else 0
        block = [Item("index", k) for k in range(rank)] if places else []
        found = [*self.layout[:at], *block, *[i for i in self.layout[at:] if i.what != "index"]]
        return [item for item in found if item.what != "none"]

    def _broadcast(self) -> tuple[dict[int, Any], tuple[Size, ...]]:
        """The index arrays by axis, in their common shape."""
        shape = broadcast_sizes(self.ctx, [sizes(i) for i in self.indices.values()])
        return {axis: mv.broadcast_to(i, shape) for axis, i in self.indices.items()}, shape

    # -- reading

    def read(self) -> Any:
        """The part of x that the key names."""
        backwards = mv.rev(self.x, self.reversed)
        found = mv.drop(mv.strided(backwards, self.starts, self.counts, self.steps), self.dropped)
        rank = 0
        if self.indices:
            arrays, shape = self._broadcast()
            rank = len(shape)
            axes = [axis - sum(d < axis for d in self.dropped) for axis in arrays]
            found = ix.take_at(found, list(arrays.values()), axes)
        arranged = self._arranged(rank)
        if rank:
            kept = [item for item in arranged if item.what != "new"]
            found = ix.reposition(found, rank, ix.place(tuple(axes)), kept.index(Item("index", 0)))
        return mv.expand(found, [i for i, item in enumerate(arranged) if item.what == "new"])

    # -- writing

    def target(self) -> Target:
        """Where the elements that the key names are, for a scatter."""
        arrays, shape = self._broadcast() if self.indices else ({}, ())
        arranged = self._arranged(len(shape))
        axes = [item for item in arranged if item.what != "new"]
        inside = [item.what == "kept" and _is(self.steps[item.axis], 1) for item in axes]
        batch = [item for item, window in zip(axes, inside, strict=True) if not window]
        length = {i: shape[i.axis] if i.what == "index" else self.counts[i.axis] for i in axes}
        lengths = [length[i] for i in batch]
        block = [i for i, item in enumerate(batch) if item.what == "index"]
        parts: dict[int, Any] = {}
        for axis, size in enumerate(self.shape):
            if axis in arrays:
                parts[axis] = mv.broadcast_in_dim(ga.from_start(arrays[axis], size), lengths, block)
            elif Item("kept", axis) in batch:
                parts[axis] = mv.broadcast_in_dim(self._steps(axis), lengths, (batch.index(Item("kept", axis)),))
            elif not _is(self._lowest(axis), 0) or axis in self.dropped:
                parts[axis] = _value(self._lowest(axis), lengths)
        windows = [item.axis for item, window in zip(axes, inside, strict=True) if window]
        collapsed = tuple([axis for axis in range(len(self.shape)) if axis not in windows])
        offset = tuple([i for i, window in enumerate(inside) if window])
        plain = len(parts) == 1
        return Target(
            next(iter(parts.values())) if plain else _vectors(list(parts.values()), lengths),
            ga.Windows(offset, collapsed, tuple(parts), len(lengths)),
            tuple([self.counts[axis] if axis in windows else 1 for axis in range(len(self.shape))]),
            tuple([1 if i.what == "new" else length[i] for i in arranged]),
            tuple([i for i, item in enumerate(arranged) if item.what == "new"]),
            tuple([i for i, item in enumerate(axes) if item.what == "kept" and item.axis in self.reversed]),
            not shape or (self.masks == 1 and len(shape) == 1),
        )

    def _steps(self, axis: int) -> Any:
        """The positions that a slice names, in the order of the array."""
        count = (self.counts[axis],)
        apart = ew.mul(cr.iota(count[0]), _value(self.steps[axis], count))
        return ew.add(apart, _value(self._lowest(axis), count))

    def _lowest(self, axis: int) -> Size:
        """The position of the first element, in the order of the array, that the key names along an axis."""
        start, count, step = self.starts[axis], self.counts[axis], self.steps[axis]
        if axis not in self.reversed:
            return start
        size = self.shape[axis]
        return expr.minimum(size - start - 1 - (count - 1) * step, expr.maximum(size - count, 0))  # also if it is empty


def _is(size: Size, number: int) -> bool:
    return isinstance(size, int) and size == number


def _value(size: Size, shape: Sequence[Size]) -> Any:
    """A size as an array of this shape."""
    number = np.asarray(size, _INDEX) if isinstance(size, int) else cr.size_value(size)
    return mv.broadcast_to(number, shape)


def _vectors(parts: list[Any], lengths: Sequence[Size]) -> Any:
    """Index vectors of several numbers, or of none."""
    return ga.vectors(parts) if parts else cr.full((*lengths, 0), 0, _INDEX)


# -- items -------------------------------------------------------------------------------------------------------


def _classified(item: Any) -> Any:
    """An item of a key as None, Ellipsis, a slice, an integer, a size, or an array of integers or booleans."""
    found: Any = item
    if item is None or item is Ellipsis or isinstance(item, (slice, SymbolicSize, Traced)):
        pass
    elif isinstance(item, (bool, np.bool_)):
        found = np.asarray(item)
    elif isinstance(item, (int, np.integer)):
        found = int(item)
    else:
        found = asarray(item)
        if found.dtype.kind == "f" and not isinstance(found, Traced) and found.shape == (0,) and isinstance(item, list):
            found = found.astype(np.intp)  # an empty list selects nothing
        if not isinstance(found, Traced) and found.ndim == 0 and found.dtype.kind in "iu":
            found = int(found)
    if isinstance(found, (Traced, np.ndarray)) and found.dtype.kind not in "iub":
        advice = "convert it to integers with astype(int)"
        raise context_of("getitem").bad_dtype(f"an index is {found.dtype}, not an integer", advice)
    return found


def _rank(item: Any) -> int:
    """The number of axes of an index array; 0 for anything else."""
    return item.meta.rank if isinstance(item, Traced) else item.ndim if isinstance(item, np.ndarray) else 0


def _is_mask(item: Any) -> bool:
    return isinstance(item, (Traced, np.ndarray)) and item.dtype.kind == "b"


def fit_mask(ctx: ShapeGuardContext, shape: Sequence[Size], mask: Any, axis: int = 0) -> None:
    """Require that a mask has the shape of the axes that it stands for, from this one on."""
    if axis + _rank(mask) > len(shape):
        raise ctx.fail(f"a mask of {_rank(mask)} axes for {len(shape) - axis}")
    for i, size in enumerate(sizes(mask), axis):
        ctx.require(equal(shape[i], size), f"axis {i} has another size than its mask")


def mask_alone(key: Any) -> Any:
    """The mask that is all of a key; None if the key is something else."""
    item = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(item, (tuple, slice, SymbolicSize)) or item is None or item is Ellipsis:
        return None
    found = _classified(item)
    return found if _is_mask(found) and _rank(found) else None


def _bound(x: Any, size: Size | None = None) -> Size | None:
    """A bound of a slice as a size; one that is a value counts from the end where it is negative, as NumPy counts."""
    if not isinstance(x, Traced):
        return None if x is None else size_of(x)
    if size is None:
        raise UnsupportedFunctionError(
            "getitem", f"the step of a slice is the traced value {x.meta}", "use a size or an int", user_line()
        )
    return dy.runtime_size(_from_start(x, size), size)


def _from_start(x: Traced, size: Size) -> Any:
    """A bound that is a value, from the start of the axis."""
    if x.meta.rank or x.dtype.kind not in "iu":
        raise context_of("getitem").bad_dtype(f"a slice bound is {x.meta}, not an integer", "use astype(int)")
    if x.dtype.kind == "u":
        return x
    x = ew.convert(x, _INDEX)
    return ew.select(ew.lt(x, cr.full((), 0, _INDEX)), ew.add(x, cr.size_value(size)), x)


def _mirrored(ctx: ShapeGuardContext, x: Any, size: Size) -> Size | None:
    """A bound of a slice that goes backwards, as that of one that goes forwards along the axis in reverse.

    A value before the start is then one beyond the end, and not the last element.
    """
    if isinstance(x, Traced):
        place = _from_start(x, size)
        if place.dtype.kind == "u":
            place = ew.convert(ew.minimum(place, ew.convert(cr.size_value(size), place.dtype)), _INDEX)
        return dy.runtime_size(ew.sub(cr.size_value(size - 1), place), size)
    if x is None:
        return None
    bound = size_of(x)
    negative = bound < 0 if isinstance(bound, int) else not ctx.scope.ask(at_least(bound, 0), ctx.where)
    mirrored = expr.sub(-1, bound) if negative else expr.sub(size - 1, bound)
    return expr.minimum(expr.maximum(mirrored, 0), size)

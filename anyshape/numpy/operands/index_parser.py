"""Parse index keys as NumPy does, and lower them to slices, one `take` or one scatter.

Basic items of a key become slices, reversals and reshapes; integer arrays become one `take`. A write at a key becomes
one scatter, with windows along slices.
"""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.prover.constraints import Verdict, at_least, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import ShapeGuardContext, broadcast_sizes, counted_from_start, slice_bounds
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.concrete import plain
from anyshape.numpy.operands.promotion import asarray, is_int, operator_index, size_of, sizes
from anyshape.numpy.operands.steady_windows import steady_width
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.support.foreign import is_foreign
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.true_types import has_type

_INDEX = np.dtype(np.int64)


class Item(NamedTuple):
    """Item of a key, or axis of the result of one.

    An item of kind "index" is an array, or an integer next to arrays. A "none" is an ellipsis for no axis, which still
    separates arrays. An axis of the result is of the other kinds: "slice", "index" or "new".
    """

    kind: str
    axis: int  # of the array for "slice"; among the axes of the index arrays for an axis "index" of the result


@dataclass(frozen=True, slots=True)
class Target:
    """Indices and windows of an array that a scatter writes or a gather reads.

    - `sizes` are the sizes of the windows.
    - `shape` is the shape that the key reads, in NumPy's order and with the new axes `new`.
    - `reversed` are the other axes of it that run backwards.
    - `unique` says that no element is named twice.
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
    """Parsed key of an array.

    Unless `checked`, indices may be out of range, and the caller decides what happens then.
    """

    x: Any
    items: tuple[Any, ...]
    checked: bool = True
    firsts: dict[int, Any] = field(default_factory=dict)  # by axis: where a window that depends on data starts
    spans: dict[int, Size] = field(default_factory=dict)  # sizes of these windows
    starts: list[Size] = field(default_factory=list)  # for each axis of x, after `reversed` and within its window
    counts: list[Size] = field(default_factory=list)
    steps: list[Size] = field(default_factory=list)
    reversed: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)  # axes that an integer picks one element of
    indices: dict[int, Any] = field(default_factory=dict)  # by axis
    layout: list[Item] = field(default_factory=list)
    masks: int = 0

    def __post_init__(self) -> None:
        self.ctx: ShapeGuardContext = context_of("getitem", self.x)
        items = self._expanded()
        self.shape: tuple[Size, ...] = sizes(self.x)
        fancy = any(_rank(item) for item in items)
        for item in items:
            self._item(item, fancy)

    # -- taking apart

    def _expanded(self) -> list[Any]:
        """Return one item for each axis or new axis, with the ellipsis filled in and masks as index arrays."""
        expanded: list[Any] = []
        axis = 0
        for item in self._without_ellipsis(list(map(_classified, self.items))):
            parts = self._positions(item, axis) if _is_mask(item) else [item]
            expanded.extend(parts)
            axis += sum(1 for part in parts if part is not None and part is not Ellipsis)
        return expanded

    def _without_ellipsis(self, items: list[Any]) -> list[Any]:
        """Return the items with slices for the axes that an ellipsis, or the end of the key, stands for."""
        rank = meta_of(self.x).rank
        count = sum(_rank(i) if _is_mask(i) else i is not None and i is not Ellipsis for i in items)
        dots = [i for i, item in enumerate(items) if item is Ellipsis]
        if count > rank or len(dots) > 1:
            if count > rank:
                raise self.ctx.fail(
                    f"{count} indices for an array with {rank} {'axis' if rank == 1 else 'axes'}",
                    f"give at most {rank}",
                )
            raise self.ctx.fail("a key can hold one `...`", "leave out the other ones")
        missing: list[Any] = [slice(None)] * (rank - count)
        if dots:  # one for no axis stays
            items[dots[0] : dots[0] + 1] = missing or [Ellipsis]
        else:
            items += missing
        return items

    def _positions(self, mask, axis: int) -> list[Any]:
        """Return the positions that a mask selects; its shape must be that of the axes it covers.

        A mask without axes selects all or nothing of a new axis of one element.
        """
        self.masks += 1
        if not _rank(mask):
            self.x = mv.expand(self.x, (axis,))
            mask = mv.reshape(mask, (1,))
        fit_mask(self.ctx, sizes(self.x), mask, axis)
        return list(dy.nonzero(mask) if isinstance(mask, Traced) else mask.nonzero())

    def _item(self, item, fancy: bool) -> None:
        """Add one item: its part of the layout, and its start, count and step along the axis."""
        axis = len(self.starts)
        if item is None:
            self.layout.append(Item("new", -1))
        elif item is Ellipsis:
            self.layout.append(Item("none", -1))
        elif isinstance(item, slice):
            self.layout.append(Item("slice", axis))
            self._slice(axis, item)
        elif has_type(item, (Traced, np.ndarray)):
            self.layout.append(Item("index", -1))
            self.indices[axis] = item
            self._whole(0, self.shape[axis])
        else:
            if fancy:
                self.layout.append(Item("index", -1))  # next to index arrays NumPy takes an integer for one
            self.dropped.append(axis)
            self._whole(self._element(item, self.shape[axis], axis), 1)

    def _whole(self, start: Size, count: Size) -> None:
        """Add a range of consecutive elements of the axis."""
        self._range(start, count, 1)

    def _range(self, start: Size, count: Size, step: Size) -> None:
        """Add `count` elements of the axis."""
        self.starts.append(start)
        self.counts.append(count)
        self.steps.append(step)

    def _slice(self, axis: int, item: slice) -> None:
        """Add a slice; one that runs backwards becomes a forward slice of the reversed axis."""
        step = _step(item.step)
        if any(isinstance(end, Traced) for end in (item.start, item.stop)):
            self._traced_slice(axis, item, step)
            return
        size = self.shape[axis]
        start, count, step = slice_bounds(self.ctx, slice(_size(item.start), _size(item.stop), step), size)
        if self.ctx.scope.decide(at_least(step, 0)) is not Verdict.YES:
            self.reversed.append(axis)
            start, step = size - 1 - start, -step
        self._range(start, count, step)

    def _traced_slice(self, axis: int, item: slice, step: Size | None) -> None:
        """Add a slice with a traced bound."""
        size, position = self.shape[axis], _position
        if (width := steady_width(self.ctx, item.start, item.stop, step, size)) is not None:
            self.firsts[axis], self.spans[axis] = ew.convert(item.start, _INDEX), width
            self._range(*slice_bounds(self.ctx, slice(None, None, step), width))
            return
        if step is not None and _is_negative(self.ctx, step):
            position, step = _mirrored, -step
            self.reversed.append(axis)
        ends = [position(self.ctx, end, size) for end in (item.start, item.stop)]
        if all(isinstance(end, Traced) for end in ends):
            size, ends = self._window(axis, ends, size), [None, None]
        bounds = [dy.runtime_size(end, size) if isinstance(end, Traced) else end for end in ends]
        start, count, step = slice_bounds(self.ctx, slice(*bounds, step), size)
        self._range(start, count, step)

    def _window(self, axis: int, ends: Sequence[Any], size: Size) -> Size:
        """Read the slice within a window between two traced bounds, and return the size of the window.

        It is one size, and not a bound for each side: examples of a batch whose windows agree in size may start apart.
        """
        first, last = (_within(end, size) for end in ends)
        self.firsts[axis], self.spans[axis] = first, dy.runtime_size(ew.sub(last, first), size)
        return self.spans[axis]

    def _element(self, item, size: Size, axis: int) -> Size:
        """Return the position of an integer index; a negative index counts from the end."""
        index = size_of(item)
        why = f"index {index} is out of bounds for axis {axis} with size {size}"
        last = index - size
        if has_type(last, int) and last == -1:  # size - 1 is valid wherever the axis is not empty
            self._require(size, 1, why)
            return index
        if (counted := counted_from_start(self.ctx, index, size)) is not None:
            self._require(counted, 0, why)
            self._require(size, counted + 1, why)
            return counted
        negative = _is_negative(self.ctx, index)
        self._require(size, -index if negative else index + 1, why)
        return size + index if negative else index

    def _require(self, size: Size, least: Size, why: str) -> None:
        """Require that an axis has at least this size, if the key is checked."""
        if self.checked:
            self.ctx.require(at_least(size, least), why)

    # -- the axes of the result

    def _arranged(self, rank: int) -> list[Item]:
        """Return the axes of the result, with the axes of index arrays, `rank` of them, where NumPy puts them."""
        positions = [i for i, item in enumerate(self.layout) if item.kind == "index"]
        together = positions and positions == list(range(positions[0], positions[0] + len(positions)))
        insertion = positions[0] if together else 0
        block = [Item("index", k) for k in range(rank)] if positions else []
        axes = [*self.layout[:insertion], *block, *[i for i in self.layout[insertion:] if i.kind != "index"]]
        return [item for item in axes if item.kind != "none"]

    def _broadcast(self) -> tuple[dict[int, Any], tuple[Size, ...]]:
        """Return the index arrays by axis in their common shape, and that shape."""
        shape = broadcast_sizes(self.ctx, [sizes(i) for i in self.indices.values()])
        return {axis: mv.broadcast_to(i, shape) for axis, i in self.indices.items()}, shape

    # -- reading

    def read(self) -> Any:
        """Return the part of x that the key names."""
        windows = self._in_windows(mv.rev(self.x, self.reversed))
        result = mv.drop(mv.strided(windows, self.starts, self.counts, self.steps), self.dropped)
        rank = 0
        if self.indices:
            arrays, shape = self._broadcast()
            rank = len(shape)
            taken_axes = [axis - sum(d < axis for d in self.dropped) for axis in arrays]
            result = ix.take_at(result, list(arrays.values()), taken_axes)
        arranged = self._arranged(rank)
        if rank:
            first = _old_axes(arranged).index(Item("index", 0))
            result = ix.reposition(result, rank, ix.first_index_axis(tuple(taken_axes)), first)
        return mv.expand(result, _indices_of(arranged, lambda item: item.kind == "new"))

    def _in_windows(self, x):
        """Return the part of x in the windows that depend on data; x itself if there are none."""
        if not self.firsts:
            return x
        firsts = [self.firsts.get(axis, cr.full((), 0, _INDEX)) for axis in range(len(self.shape))]
        return dy.window_at(x, firsts, [self.spans.get(axis, size) for axis, size in enumerate(self.shape)])

    # -- writing

    def target(self) -> Target:
        """Return the positions that the key names, for a scatter or a gather."""
        arrays, shape = self._broadcast() if self.indices else ({}, ())
        layout = self._arranged(len(shape))
        axes = _old_axes(layout)
        batch = [item for item in axes if not self._is_window(item)]
        lengths = [self._length(item, shape) for item in batch]
        positions = self._positions_by_axis(arrays, batch, lengths)
        windows = self._windows(axes, positions, len(lengths))
        return Target(
            _index_vectors(list(positions.values()), lengths),
            windows,
            tuple([1 if axis in windows.collapsed else count for axis, count in enumerate(self.counts)]),
            tuple([self._length(item, shape) for item in layout]),
            _indices_of(layout, lambda item: item.kind == "new"),
            _indices_of(axes, lambda item: item.kind == "slice" and item.axis in self.reversed),
            not shape or (self.masks == 1 and len(shape) == 1),
        )

    def _is_window(self, item: Item) -> bool:
        """Return whether an axis of the result is a run of consecutive elements, which a window covers."""
        return item.kind == "slice" and is_int(self.steps[item.axis], 1)

    def _length(self, item: Item, shape: Sequence[Size]) -> Size:
        """Return the size of an axis of the result; `shape` is the common shape of the index arrays."""
        if item.kind == "new":
            return 1
        return shape[item.axis] if item.kind == "index" else self.counts[item.axis]

    def _positions_by_axis(
        self, arrays: dict[int, Any], batch: Sequence[Item], lengths: Sequence[Size]
    ) -> dict[int, Any]:
        """Return the positions along each axis of x at which windows start; an axis whose windows start at 0 has none.

        `batch` are the axes of the result that no window covers, and `lengths` their sizes.
        """
        index_axes = _indices_of(batch, lambda item: item.kind == "index")
        positions: dict[int, Any] = {}
        for axis, size in enumerate(self.shape):
            own = Item("slice", axis)
            if axis in arrays:
                positions[axis] = mv.broadcast_in_dim(ga.from_start(arrays[axis], size), lengths, index_axes)
            elif own in batch:
                positions[axis] = mv.broadcast_in_dim(self._steps(axis), lengths, (batch.index(own),))
            elif axis in self.firsts or axis in self.dropped or not is_int(self._lowest(axis), 0):
                positions[axis] = self._lowest_value(axis, lengths)
        return positions

    def _windows(self, axes: Sequence[Item], positions: dict[int, Any], batch_rank: int) -> ga.Windows:
        """Return the windows that lie along slices of consecutive elements."""
        offset = _indices_of(axes, self._is_window)
        covered = {axes[i].axis for i in offset}
        collapsed = tuple([axis for axis in range(len(self.shape)) if axis not in covered])
        return ga.Windows(offset, collapsed, tuple(positions), batch_rank)

    def _steps(self, axis: int):
        """Return the positions that a slice names, in the order of the array."""
        count = (self.counts[axis],)
        apart = ew.mul(cr.iota(count[0]), _value(self.steps[axis], count))
        return ew.add(apart, self._lowest_value(axis, count))

    def _lowest_value(self, axis: int, shape: Sequence[Size]):
        """Return the first position along an axis that the key names, as an array of this shape."""
        if axis not in self.firsts:
            return _value(self._lowest(axis), shape)
        lowest = ew.add(self.firsts[axis], cr.size_value(self.starts[axis]))
        if axis in self.reversed:
            size, count = self.shape[axis], self.counts[axis]
            lowest = ew.sub(cr.size_value(size - 1 - (count - 1) * self.steps[axis]), lowest)
            lowest = ew.minimum(lowest, cr.size_value(expr.maximum(size - count, 0)))
        return mv.broadcast_to(lowest, shape)

    def _lowest(self, axis: int) -> Size:
        """Return the first position along an axis, in the order of the array, that the key names."""
        start, count, step = self.starts[axis], self.counts[axis], self.steps[axis]
        if axis not in self.reversed:
            return start
        size = self.shape[axis]
        return expr.minimum(size - start - 1 - (count - 1) * step, expr.maximum(size - count, 0))  # also if it is empty


def _value(size: Size, shape: Sequence[Size]):
    """Return a size as an array of this shape."""
    number = np.asarray(size, _INDEX) if has_type(size, int) else cr.size_value(size)
    return mv.broadcast_to(number, shape)


def _index_vectors(positions: list[Any], lengths: Sequence[Size]):
    """Return the index vectors of a scatter: of one number as it is, of several stacked, or of none."""
    if len(positions) == 1:
        return positions[0]
    return ga.vectors(positions) if positions else cr.full((*lengths, 0), 0, _INDEX)


def _old_axes(layout: Sequence[Item]) -> list[Item]:
    """Return the axes of a result without new ones."""
    return [item for item in layout if item.kind != "new"]


def _indices_of(items: Sequence[Item], holds: Callable[[Item], bool]) -> tuple[int, ...]:
    """Return the indices of the items for which a predicate holds."""
    return tuple([i for i, item in enumerate(items) if holds(item)])


# -- items -------------------------------------------------------------------------------------------------------


def _classified(item):
    """Return an item of a key as None, Ellipsis, a slice, an integer, a size, or an index or mask array."""
    item = plain(item)
    if isinstance(item, SymbolicSize) and item.python_type is bool:
        item = bool(item)  # True adds an axis, so the shape depends on the answer
    if item is None or item is Ellipsis or isinstance(item, (slice, SymbolicSize)):
        return item
    if hasattr(type(item), "__index__") and not _is_array(item):
        return operator_index(item)
    if not isinstance(array := _index_array(item), Traced) and array.ndim == 0 and array.dtype.kind in "iu":
        return int(array)
    if array.dtype.kind not in "iub":
        advice = "convert it to integers with astype(int)"
        raise context_of("getitem").bad_dtype(f"an index is {array.dtype}, not an integer", advice)
    return array


def _is_array(item) -> bool:
    return has_type(item, (bool, np.bool_, np.ndarray, Traced)) or is_foreign(item)


def _index_array(item):
    """Return an item of a key as an array; an empty list selects nothing and counts as one of integers."""
    if isinstance(item, Traced):
        return item
    if has_type(item, (bool, np.bool_)):
        return np.asarray(item)
    if has_type(item, (str, bytes)):
        advice = "index by position, and pass fields as a dict of arrays"
        raise ArgumentError("getitem", "the key", f"is {item!r:.20}, not an index", advice)
    array = asarray(item)
    is_empty_list = isinstance(item, list) and not isinstance(array, Traced) and array.shape == (0,)
    return array.astype(np.intp) if is_empty_list and array.dtype.kind == "f" else array


def _rank(item) -> int:
    """Return the number of axes of an index array, and 0 for anything else."""
    return item.meta.rank if isinstance(item, Traced) else item.ndim if has_type(item, np.ndarray) else 0


def _is_mask(item) -> bool:
    """Return whether an item is a boolean array."""
    return has_type(item, (Traced, np.ndarray)) and item.dtype.kind == "b"


def fit_mask(ctx: ShapeGuardContext, shape: Sequence[Size], mask: Any, axis: int = 0) -> None:
    """Require that a mask has the shape of the axes that it covers, from `axis` on."""
    if axis + _rank(mask) > len(shape):
        raise ctx.fail(f"a mask of {_rank(mask)} axes for {len(shape) - axis}")
    for i, size in enumerate(sizes(mask), axis):
        ctx.require(equal(shape[i], size), f"axis {i} has another size than its mask")


def mask_alone(key: Any) -> Any:
    """Return the mask that is all of a key; None for any other key."""
    item = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if isinstance(item, (tuple, slice, SymbolicSize)) or item is None or item is Ellipsis:
        return None
    parsed = _classified(item)
    return parsed if _is_mask(parsed) and _rank(parsed) else None


def _step(x) -> Size | None:
    """Return the step of a slice as a size."""
    if isinstance(x, Traced):
        raise UnsupportedFunctionError(
            "getitem", f"the step of a slice is the traced value {x.meta}", "use a size or an int", user_line()
        )
    return _size(x)


def _size(x) -> Size | None:
    """Return a bound or the step of a slice as a size."""
    return None if x is None else size_of(x)


def _position(ctx: ShapeGuardContext, x, size: Size):
    """Return a bound of a slice as a size, or as an int64 scalar that may lie outside of the axis.

    A traced bound that is negative counts from the end, as in NumPy.
    """
    if not isinstance(x, Traced):
        return _size(x)
    if x.meta.rank or x.dtype.kind not in "iu":
        raise ctx.bad_dtype(f"a slice bound is {x.meta}, not an integer", "use astype(int)")
    if x.dtype.kind == "u":
        within = ew.minimum(x, cr.full((), dy.LARGEST, x.dtype)) if x.dtype.itemsize == 8 else x
        return ew.convert(within, _INDEX)
    x = ew.convert(x, _INDEX)
    return ew.select(ew.lt(x, cr.full((), 0, _INDEX)), ew.add(x, cr.size_value(size)), x)


def _within(position, size: Size):
    """Return the nearest position in 0..size."""
    return ew.minimum(ew.maximum(position, cr.full((), 0, _INDEX)), cr.size_value(size))


def _mirrored(ctx: ShapeGuardContext, x, size: Size):
    """Return a bound of a backward slice as the `_position` of the forward slice along the reversed axis.

    A traced bound before the start becomes one beyond the end, and not the last element.
    """
    if isinstance(x, Traced):
        return ew.sub(cr.size_value(size - 1), _position(ctx, x, size))
    if x is None:
        return None
    bound = size_of(x)
    counted = counted_from_start(ctx, bound, size)
    if counted is None:
        counted = expr.add(size, bound) if _is_negative(ctx, bound) else bound
    return expr.minimum(expr.maximum(expr.sub(size - 1, counted), 0), size)


def _is_negative(ctx: ShapeGuardContext, size: Size) -> bool:
    """Return whether Python counts from the end at this size, or runs backwards; ask where it is not proved."""
    return size < 0 if has_type(size, int) else not ctx.scope.branch_on(at_least(size, 0), ctx.where)

"""Cotangents that add up while a graph is transposed; a read gives a part of one.

A value that is read by many slices or at many indices has a cotangent of as many terms. Each one is added to its
elements alone, so the sum takes time in proportion to what is read. It is zero by construction where no term reads it.

Cotangents of arrays that are read in one window, at scalar indices: `x[i, 0]` and `x[1:, i, ::-1]`.

Such a key reads slices of the array, and then an element along an axis. The cotangent of each slice would be an array
of its size. A window instead passes through slices, reversals and dropped axes, and is added to one array in place.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.rule_tables import add_tangents
from anyshape.autodiff.structural_zeros import DEEP, Mask, Masked, Part, indicator, masked, merged, nonzero, whole
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Node, Value
from anyshape.graph.ir.op_local import bind_local
from anyshape.graph.prover.constraints import Verdict, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, dilated_size
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, InputAxis, Size
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of, meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full, size_value
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.true_types import has_type

PADDED = 3  # so many parts are padded, where one fused step adds them all up; further ones are added in place
WAITING = 8  # so many parts wait for zeros in the array that they are added to, before these are written


@dataclass(frozen=True, slots=True)
class Window:
    """Slice of an array, by its first elements, sizes and steps along all axes."""

    scope: Scope
    starts: Sequence[Size]
    sizes: Sequence[Size]
    steps: Sequence[Size]

    def is_apart_from(self, other: Window) -> bool:
        """Return whether it is proved at once that two slices have no element in common."""
        mine, others = self._ends(), other._ends()
        axes = range(len(mine))
        return any(self._is_at_most(mine[a], other.starts[a]) for a in axes) or any(
            self._is_at_most(others[a], self.starts[a]) for a in axes
        )

    def is_within(self, other: Window) -> bool:
        """Return whether it is proved at once that another slice has all elements of this one."""
        if all(has_type(step, int) and step == 1 for step in other.steps):
            pairs = zip(other.starts, self.starts, strict=True), zip(self._ends(), other._ends(), strict=True)
            return all(self._is_at_most(a, b) for pair in pairs for a, b in pair)
        columns = [(w.starts, w.sizes, w.steps) for w in (self, other)]
        return all(self.scope.same(a, b) for x, y in zip(*columns, strict=True) for a, b in zip(x, y, strict=True))

    def _ends(self) -> list[Size]:
        columns = zip(self.starts, self.sizes, self.steps, strict=True)
        return [start + dilated_size(size, step - 1) for start, size, step in columns]

    def _is_at_most(self, a: Size, b: Size) -> bool:
        return _is_at_most(self.scope, a, b)


def _is_at_most(scope: Scope, a: Size, b: Size) -> bool:
    """Return whether it is proved at once that a size is at most another."""
    if has_type(a, int) and has_type(b, int):
        return a <= b
    return scope.same(expr.minimum(a, b), a) or scope.proves_at_once(at_least(b, a))


@dataclass(frozen=True, slots=True)
class IndexedWindows:
    """Windows of these sizes at indices of an array of this shape, with their dimension numbers."""

    scope: Scope
    shape: Shape
    indices: Any
    numbers: ga.Windows
    sizes: Shape

    def is_filled_by(self, part: Any) -> bool:
        """Return whether a part reaches all elements of the windows: it was read at the same indices."""
        if isinstance(part, WindowPart):
            own, ct = part.at_indices, part.ct
        elif isinstance(window := part.as_window(self.shape), IndexedWindow):
            own, ct = window.numbers(len(self.shape)), window.ct
        else:
            return False
        if own is None or isinstance(ct, Part) or own[1] != self.numbers or not isinstance(self.indices, Traced):
            return False
        sizes = meta_of(ct).sizes
        if not isinstance(own[0], Traced) or sizes is None or not all(map(self.scope.same, sizes, self.sizes)):
            return False
        maker = {v: node for node in self.indices.builder.nodes for v in node.outputs}
        return _is_equal(self.scope, own[0].value, self.indices.value, maker)


def _is_equal(scope: Scope, a: Value, b: Value, maker: dict[Value, Node]) -> bool:
    """Return whether two values are computed in the same way. Sizes may be read off other operands."""
    a, b = _of_number(a, maker), _of_number(b, maker)
    if a is b:
        return True
    first, second = maker.get(a), maker.get(b)
    if first is None or second is None or first.op is not second.op or a.meta.sizes != b.meta.sizes:
        return False
    params = [*zip(_bound(first), _bound(second), strict=False)]
    if len(params) != len(first.params) or not all(_is_same_param(scope, x, y) for x, y in params):
        return False
    return all(_is_equal(scope, x, y, maker) for x, y in zip(first.inputs, second.inputs, strict=True))


def _bound(node: Node) -> Sequence[tuple[str, Any]]:
    """Return the params of a node with the sizes of its operands."""

    def size(leaf: InputAxis) -> Size | None:
        extent = node.operands[leaf.operand].meta.extents[leaf.axis]
        return extent.size if isinstance(extent, Exact) else None

    return [(name, bind_local(param, size)) for name, param in node.params]


def _is_same_param(scope: Scope, x: tuple[str, Any], y: tuple[str, Any]) -> bool:
    are_sizes = isinstance(x[1], DimExpr) and isinstance(y[1], DimExpr)
    return x == y or (x[0] == y[0] and are_sizes and scope.same(x[1], y[1]))


def _of_number(value: Value, maker: dict[Value, Node]) -> Value:
    """Return the number that a number is made from by moves that change nothing."""
    while not value.meta.rank and (node := maker.get(value)) is not None and node.op is mv.broadcast_in_dim_op:
        (value,) = node.inputs
    return value


@dataclass(frozen=True, slots=True)
class SlicePart(Part):
    """Cotangent of an array that is zero outside of a slice of these sizes, by the zeros around and between."""

    ct: Any
    scope: Scope
    low: Sequence[Size]
    high: Sequence[Size]
    interior: Sequence[Size]
    sizes: Sequence[Size]

    def image(self, read: Callable[[Any], Any]) -> Any:
        return mv.pad_unchecked(read(self.ct), self.low, self.high, self.interior)

    def added_to(self, total: Any) -> Any:
        return mv.slice_add(total, whole(self.ct), self.low, self._steps())

    def at(self, x: Any) -> Any:
        return mv.strided(x, self.low, self.sizes, self._steps())

    def window_of(self) -> Window:
        """Return where the slice is."""
        return Window(self.scope, self.low, self.sizes, self._steps())

    def moved(self, axis: int, start: Size, size: Size) -> Window:
        """Return a slice that begins elsewhere along an axis, and has another size there."""
        starts, sizes = [*self.low], [*self.sizes]
        starts[axis], sizes[axis] = start, size
        return Window(self.scope, starts, sizes, self._steps())

    def _steps(self) -> list[Size]:
        return [between + 1 for between in self.interior]


@dataclass(frozen=True, slots=True)
class TakenPart(Part):
    """Cotangent of an array that is zero where no index arrays read it. `sizes` are its sizes at the axes."""

    ct: Any
    indices: Sequence[Any]
    axes: Sequence[int]
    sizes: Sequence[Size]

    def image(self, read: Callable[[Any], Any]) -> Any:
        return ix.put_add_at(read(self.ct), self.indices, self.axes, self.sizes)

    def added_to(self, total: Any) -> Any:
        return ga.index_add(total, self.indices, whole(self.ct), self.axes)

    def at(self, x: Any) -> Any:
        return ix.take_at(x, self.indices, self.axes)

    def as_window(self, shape: Shape) -> IndexedWindow | None:
        """Return the part as a window in an array of this shape, if it is one."""
        return indexed_window(self, shape)


@dataclass(frozen=True, slots=True)
class WindowPart(Part):
    """Cotangent of an array that is zero where a gather does not read it.

    - `zeros`: makes an array of zeros.
    - `add`: gives the sum of an array and windows.
    - `gather`: gives the windows of an array.
    - `at_indices`: the indices, and the dimension numbers.
    """

    ct: Any
    zeros: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    gather: Callable[[Any], Any]
    at_indices: tuple[Any, ga.Windows] | None = None

    def image(self, read: Callable[[Any], Any]) -> Any:
        return self.add(self.zeros(), read(self.ct))

    def added_to(self, total: Any) -> Any:
        return self.add(total, whole(self.ct))

    def at(self, x: Any) -> Any:
        return self.gather(x)

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> WindowPart:
        return replace(self, ct=ct, zeros=zeros)


@dataclass(frozen=True, slots=True)
class Rest(Part):
    """Cotangent of an array that a part is assigned to: `clear` writes zeros there. It is None for a sum.

    `window` is where, if that is a slice; `windows` if that is at indices.
    """

    ct: Any
    clear: Callable[[Any], Any] | None = None
    window: Window | None = None
    windows: IndexedWindows | None = None

    def image(self, read: Callable[[Any], Any]) -> Any:
        return read(self.ct) if self.clear is None else self.clear(read(self.ct))


@dataclass(frozen=True, slots=True)
class SliceRead(Part):
    """Slice of a cotangent: what a part that was assigned to an array takes of the array's."""

    ct: Any
    window: Window

    def image(self, read: Callable[[Any], Any]) -> Any:
        return mv.strided(read(self.ct), self.window.starts, self.window.sizes, self.window.steps)

    def of(self, ct: Part) -> Any:
        """Return the slice of another cotangent: as an array if all of its elements count, None if none does."""
        read = replace(self, ct=ct)
        if (reach := _reach(ct, self.window, 0)) is Verdict.UNKNOWN:
            return masked(read.whole(), read.support, True, ct)
        return read.whole() if reach is Verdict.YES else None


def _reach(ct, window: Window, depth: int) -> Verdict:
    """Return whether all elements of a slice of a cotangent count, or none of them, as far as their sizes say."""
    if not isinstance(ct, Part):
        return Verdict.YES
    if isinstance(ct, Summed) and depth < DEEP:
        verdicts = [_reach(term, window, depth + 1) for term in ct.terms]
        first = Verdict.YES if Verdict.YES in verdicts else verdicts[0]
        return first if first is Verdict.YES or verdicts.count(first) == len(verdicts) else Verdict.UNKNOWN
    if isinstance(ct, Rest) and ct.window is not None:
        if window.is_within(ct.window):
            return Verdict.NO
        return _reach(ct.ct, window, depth + 1) if window.is_apart_from(ct.window) else Verdict.UNKNOWN
    return Verdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class Summed(Masked):
    """Sum of parts, zero by construction where no term reaches."""

    terms: Sequence[Part] = ()

    def whole(self) -> Any:
        gaps = None if self.is_clean else _gaps(self.terms)
        if gaps is None:
            return Masked(self.ct, self.mask, self.is_clean, self.cleaner).whole()
        total = self.ct
        for gap in gaps:
            total = mv.slice_update(total, full(tuple(gap.sizes), 0, total.dtype), gap.starts)
        return total

    def indicator(self) -> Any:
        if self.mask.is_computed or all(isinstance(term, Masked) for term in self.terms):
            return Masked.indicator(self)
        return _marks(self.terms)


class CotangentSum:
    """Sum of the cotangents of one value. Zeros of a `Rest` are written when the sum is asked for.

    By then the other elements have been read, so the zeros need no copy of the array.
    """

    __slots__ = ("padded", "parts", "rest", "start", "terms", "total", "waiting")

    def __init__(self, start: Callable[[], Any] | None = None) -> None:
        """Begin a sum. `start` gives an array that parts may be added to in place, if no whole array comes first."""
        self.start = start
        self.total: Any = None
        self.waiting: list[Part] = []  # the first part, as it may be all, and windows that follow on a window
        self.rest: Rest | None = None
        self.parts: list[Part] = []
        self.padded: int = 0
        self.terms: list[Part] | None = []  # all of them; None: one reaches every element

    def add(self, ct: Any) -> None:
        """Add a cotangent: an array or a part."""
        first = self.waiting[0] if self.waiting else None
        total = merged(first, ct) if isinstance(first, Masked) and isinstance(ct, Masked) else None
        if total is not None:
            self.waiting, self.terms, ct = [], [], total
        if self.terms is not None:
            self.terms = _reached_with(self.terms, ct)
        if isinstance(ct, Part) and not isinstance(ct, Rest) and self._is_empty():
            self.waiting = [ct]
        elif first is not None and _are_windows(first, ct) and len(self.waiting) < WAITING:
            self.waiting.append(ct)
        else:
            self._write_waiting()
            self._add_term(ct)

    def _add_term(self, ct) -> None:
        """Add what does not wait to be all."""
        if isinstance(ct, Rest):
            self._write_rest()
            self.rest = ct
        elif not isinstance(ct, Part) or isinstance(ct, Masked):
            self.total = add_tangents(self.total, whole(ct))
        elif self.rest is None:
            self._write(ct)
        else:
            self.parts.append(ct)
            if len(self.parts) > WAITING:
                self._write_rest()

    def value(self) -> Any:
        """Return the sum as an array."""
        self._write_waiting()
        self._write_rest()
        return self.total

    def part(self) -> Part | None:
        """Return the sum as a part, None if it has no element that is zero by construction."""
        if len(self.waiting) == 1 or self.start is not None or not self.terms:
            return self.waiting[0] if self.waiting else None
        terms = self.terms
        return Summed(self.value(), Mask(lambda: _union(terms), *terms), is_clean=True, terms=terms)

    def end(self) -> Any:
        """Return the sum as a part, as an array if it has no element that is zero by construction."""
        part = self.part()
        return self.value() if part is None else part

    def _is_empty(self) -> bool:
        return not self.waiting and all(x is None for x in (self.total, self.rest, self.start))

    def _write_waiting(self) -> None:
        """Add the parts that wait for others."""
        waiting, self.waiting = self.waiting, []
        for part in waiting:
            self._write(part)

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


def _are_windows(*cts: Any) -> bool:
    """Return whether cotangents are windows at indices without axes."""
    taken = [index for ct in cts if isinstance(ct, TakenPart) for index in ct.indices]
    return all(isinstance(ct, (TakenPart, IndexedWindow)) for ct in cts) and not any(meta_of(i).rank for i in taken)


def _gaps(terms: Sequence[Part]) -> list[Window] | None:
    """Return the slices that terms leave out, if these are slices of one size along one axis, in a known order."""
    slices = [term for term in terms if isinstance(term, SlicePart) and not isinstance(term.ct, Part)]
    if len(slices) < len(terms) or any(step != 0 for term in slices for step in term.interior):
        return None
    axes = {a for s in slices for a, ends in enumerate(zip(s.low, s.high, strict=True)) if ends != (0, 0)}
    if len(axes) != 1:
        return None
    (axis,) = axes
    return _gaps_along(axis, slices)


def _gaps_along(axis: int, slices: list[SlicePart]) -> list[Window] | None:
    """Return what slices of one size leave out along an axis, None if their order is not known."""
    scope, first = slices[0].scope, slices[0]
    if any(not scope.same(part.sizes[axis], first.sizes[axis]) for part in slices):
        return None
    ordered = sorted(slices, key=lambda part: sum(not _is_at_most(scope, part.low[axis], s.low[axis]) for s in slices))
    starts = [part.low[axis] for part in ordered]
    if not all(_is_at_most(scope, a, b) for a, b in itertools.pairwise(starts)):
        return None
    ends = [0, *[expr.add(start, first.sizes[axis]) for start in starts]]
    amounts = [starts[0], *[expr.maximum(expr.sub(b, a), 0) for a, b in zip(ends[1:], starts[1:], strict=False)]]
    gaps = zip(ends, [*amounts, ordered[-1].high[axis]], strict=True)
    return [first.moved(axis, start, amount) for start, amount in gaps if amount != 0]


def _reached_with(terms: Sequence[Part], ct) -> list[Part] | None:
    """Return the terms of a sum with one more, None if they reach every element."""
    if not _has_zeros(ct):
        return None
    if (hole := _filled_hole((*terms, ct))) is not None:
        others = [t for t in (*terms, ct) if t is not hole]
        return [hole.ct, *others] if isinstance(hole.ct, Part) else None
    rest = terms[0] if len(terms) == 1 else None
    if isinstance(rest, Rest) and isinstance(ct, SlicePart) and _fills(ct, rest.window):
        return [rest.ct, ct] if isinstance(rest.ct, Part) else None
    return [*terms, ct]


def _filled_hole(terms: Sequence[Any]) -> Rest | None:
    """Return a term whose zeros at an index others fill, None if there is none."""
    for term in terms:
        hole = term.windows if isinstance(term, Rest) else None
        if hole is not None and any(hole.is_filled_by(t) for t in terms if t is not term):
            return term
    return None


def _fills(part: SlicePart, window: Window | None) -> bool:
    """Return whether a slice reaches all elements of a window."""
    return not isinstance(part.ct, Part) and window is not None and window.is_within(part.window_of())


def _has_zeros(ct) -> bool:
    """Return whether elements of a cotangent are zero by construction."""
    return isinstance(ct, Part) and not (isinstance(ct, Rest) and ct.clear is None and not isinstance(ct.ct, Part))


def _union(terms: Sequence[Part]):
    """Return a mask of the elements that one of the terms reaches."""
    if len(terms) <= PADDED:
        return functools.reduce(ew.logical_or, [term.support() for term in terms])
    return nonzero(_marks(terms))


def _marks(terms: Sequence[Part]):
    """Return an array that is 0 where no term reaches. Terms of a few elements are added to it in place."""
    total = CotangentSum()
    for term in terms:
        total.add(term.ones())
    return total.value()


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
        first, windows = self.numbers(meta_of(x).rank)
        own = iter(sizes)
        shape = [next(own) if a in self.starts else 1 for a in range(meta_of(x).rank)]
        return ga.gather_windows(x, first, windows, shape)

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> IndexedWindow:
        return replace(self, ct=ct, image_of=lambda read: self._added(zeros(), read(ct)))

    def as_window(self, shape: Shape) -> IndexedWindow:
        return self

    def _added(self, total, window):
        first, windows = self.numbers(meta_of(total).rank)
        return ga.scatter_windows("add", total, first, window, windows)

    def numbers(self, rank: int) -> tuple[Any, ga.Windows]:
        """Return the index vector of the window in an array of this rank, and its dimension numbers."""
        axes = [a for a in range(rank) if self.starts.get(a, -1) != 0]
        at = [self.positions[a]() if a in self.positions else _number(self.starts[a]) for a in axes]
        first = at[0] if len(at) == 1 else ga.vectors(at)
        indexed, own = tuple([a for a in axes if a in self.positions]), tuple(range(len(self.starts)))
        return first, ga.Windows(own, indexed, tuple(axes), 0)

    def _type(self):
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


def _reversed(ct, axes: Sequence[int]):
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


def _from_start(index, size: Size) -> Position:
    return lambda: ga.from_start(index, size)


def _scaled(at: Position, start: Size, step: Size) -> Position:
    if start == 0 and step == 1:
        return at
    number = lambda: ew.convert(at(), np.int64)
    return lambda: ew.add(number() if step == 1 else ew.mul(number(), _number(step)), _number(start))


def _mirrored(at: Position, size: Size) -> Position:
    return lambda: ew.sub(_number(size - 1), ew.convert(at(), np.int64))


def _number(size: Size):
    """Return a size as an operand."""
    return full((), size, np.int64) if isinstance(size, int) else size_value(size)

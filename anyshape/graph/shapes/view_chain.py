"""Views that do not merge into one: each indexes the elements of the one before, counted in C order.

Movement acts on the last view; a reshape that it cannot express in place puts a further view behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyshape.errors import ViewError
from anyshape.graph.prover.constraints import Verdict, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_rules import Sizes
from anyshape.graph.shapes.strided_view import Pairs, View, reshape_sizes
from anyshape.graph.shapes.view_reshape import Window, identical, inhabited, prover, row_major
from anyshape.graph.sizes import expr, polynomials
from anyshape.graph.sizes.expr import DimVar, Size


@dataclass(frozen=True, slots=True)
class ViewChain:
    """The first view indexes the buffer; the shape is that of the last. What is valid is so in every view."""

    views: tuple[View, ...]

    @classmethod
    def create(
        cls, shape: Sequence[Size], strides: Sequence[Size] | None = None, offset: Size = 0, mask: Pairs | None = None
    ) -> ViewChain:
        """A chain of one view."""
        return cls((View.create(shape, strides, offset, mask),))

    def __str__(self) -> str:
        return " of ".join(str(view) for view in reversed(self.views))

    # -- what it is

    @property
    def last(self) -> View:
        """The view that movement acts on."""
        return self.views[-1]

    @property
    def shape(self) -> Sizes:
        return self.last.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.last.ndim

    def numel(self) -> Size:
        """The number of elements, padding included."""
        return self.last.numel()

    def at(self, sizes: Mapping[DimVar, Size]) -> ViewChain:
        """The chain when variables have these values."""
        return ViewChain(tuple([view.at(sizes) for view in self.views]))

    def linear_index(self, indices: Sequence[Size]) -> Size:
        """Where in the buffer the element is; without meaning for padding."""
        places = list(self._places(indices))
        return self.views[0].linear_index(places[-1])

    def is_valid(self, indices: Sequence[Size], scope: Scope | None = None) -> Verdict:
        """Whether the element is in every window of every view, and so in the buffer."""
        verdicts: list[Verdict] = []
        for view, places in zip(reversed(self.views), self._places(indices)):
            verdicts.append(view.is_valid(places, scope))
            if verdicts[-1] is Verdict.NO:  # what it would be in the views before has no meaning
                return Verdict.NO
        return Verdict.YES if all(v is Verdict.YES for v in verdicts) else Verdict.UNKNOWN

    def _places(self, indices: Sequence[Size]) -> Iterator[Sequence[Size]]:
        """The indices of the element in each view, from the last view to the first."""
        yield indices
        for view, before in zip(self.views[:0:-1], self.views[-2::-1]):
            indices = _unravel(view.linear_index(indices), before.shape)
            yield indices

    def is_c_contiguous(self, scope: Scope | None = None) -> bool:
        """The elements are proved to lie in C order without gaps or padding."""
        merged = self.simplify(scope)
        return len(merged.views) == 1 and merged.last.is_c_contiguous(scope)

    def strides_opt(self, scope: Scope | None = None) -> Sizes | None:
        """The strides, when one view without padding is proved to show the same."""
        merged = self.simplify(scope)
        return merged.last.strides_opt(scope) if len(merged.views) == 1 else None

    def is_materializable(self, scope: Scope | None = None) -> bool:
        """It is proved to be an array of the buffer as it stands."""
        return self.strides_opt(scope) is not None

    # -- views of it

    def _ending(self, last: View) -> ViewChain:
        return ViewChain((*self.views[:-1], last))

    def reshape(self, shape: Sequence[Size], scope: Scope) -> ViewChain:
        """The same elements, in C order, in another shape; one size may be -1."""
        return self.reshaped(reshape_sizes(self.shape, shape, scope), scope)

    def reshaped(self, shape: Sizes, scope: Scope | None = None) -> ViewChain:
        """`reshape` to a shape that the caller knows to have as many elements."""
        try:
            return self._ending(self.last.reshaped(shape, scope))
        except ViewError:
            return ViewChain((*self.views, View(shape, row_major(shape))))

    def expand(self, shape: Sequence[Size], scope: Scope) -> ViewChain:
        """As View.expand."""
        return self._ending(self.last.expand(shape, scope))

    def permute(self, axes: Sequence[int]) -> ViewChain:
        """As View.permute."""
        return self._ending(self.last.permute(axes))

    def shrink(self, bounds: Pairs, scope: Scope) -> ViewChain:
        """As View.shrink."""
        return self._ending(self.last.shrink(bounds, scope))

    def slice(self, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size], scope: Scope) -> ViewChain:
        """As View.slice."""
        return self._ending(self.last.slice(starts, sizes, steps, scope))

    def pad(self, amounts: Pairs, scope: Scope) -> ViewChain:
        """As View.pad."""
        return self._ending(self.last.pad(amounts, scope))

    def flip(self, axes: Sequence[int]) -> ViewChain:
        """As View.flip."""
        return self._ending(self.last.flip(axes))

    def simplify(self, scope: Scope | None = None) -> ViewChain:
        """The same elements through as few views as is proved possible."""
        views = [view.simplify(scope) for view in self.views]
        if views[-1].is_empty(scope):
            return ViewChain((views[-1],))
        place = len(views) - 2
        while place >= 0:
            merged = merge(views[place], views[place + 1], scope)
            if merged is None:
                place -= 1
            else:
                views[place : place + 2] = [merged.simplify(scope)]
                place = min(place, len(views) - 2)
        return ViewChain(tuple(views))


def _unravel(index: Size, shape: Sizes) -> Sizes:
    """The indices of an element in a shape from its number in C order."""
    if any(identical(size, 0) for size in shape):
        return (0,) * len(shape)  # there is no element
    places = []
    for axis, (size, row) in enumerate(zip(shape, row_major(shape))):
        rows = expr.floordiv(index, row)
        places.append(rows if axis == 0 else expr.mod(rows, size))
    return tuple(places)


# -- merging two views


def merge(inner: View, outer: View, scope: Scope | None = None) -> View | None:
    """One view that shows what `outer` shows of the elements of `inner`; None when none is proved to."""
    if inner.is_c_contiguous(scope):
        return View(outer.shape, outer.strides, expr.add(inner.offset, outer.offset), outer.mask)
    whole = identical(outer.offset, 0) and outer.mask is None and outer.strides == row_major(outer.shape)
    if whole and prover(scope)(outer.numel(), inner.numel()):
        try:
            return inner.reshaped(outer.shape, scope)
        except ViewError:
            return None
    return _Merging(_joined(inner), outer, scope if scope is not None else Scope()).merged()


def _joined(view: View) -> View:
    """The same elements with neighbouring axes that lie in C order made one."""
    shape: list[Size] = []
    strides: list[Size] = []
    windows: list[Window] = []
    for size, stride, window in zip(view.shape, view.strides, view.windows):
        joins = shape and identical(strides[-1], expr.mul(stride, size)) and _all(window, size)
        if joins and _all(windows[-1], shape[-1]):
            size = expr.mul(shape.pop(), size)
            window = (0, size)
            strides.pop(), windows.pop()
        shape.append(size)
        strides.append(stride)
        windows.append(window)
    return View(tuple(shape), tuple(strides), view.offset, tuple(windows))


def _all(window: Window, size: Size) -> bool:
    return identical(window[0], 0) and identical(window[1], size)


class _Merging:
    """Finds for each axis of `outer` the one axis of `inner` that it walks along, and proves that it stays on it.

    Any guess will do that keeps the index of each inner axis within its size: indices in range are unique.
    """

    def __init__(self, inner: View, outer: View, scope: Scope) -> None:
        self.inner, self.outer = inner, outer
        lengths = [expr.sub(stop, start) for start, stop in outer.windows]
        self.scope = inhabited(scope, [*lengths, *inner.shape])
        self.rows = row_major(inner.shape)
        self.starts = [start for start, _ in outer.windows]
        self.reach = [expr.sub(length, 1) for length in lengths]
        self.walks: list[tuple[int, Size] | None] = []  # of each outer axis: the inner axis and the steps along it

    def merged(self) -> View | None:
        for stride in self.outer.strides:
            walk = self._walk(stride)
            if walk is None:
                return None
            self.walks.append(walk if not identical(stride, 0) else None)
        first = self._first()
        if first is None:
            return None
        mask = self._mask(first)
        if mask is None:
            return None
        strides = tuple([0 if w is None else expr.mul(w[1], self.inner.strides[w[0]]) for w in self.walks])
        offset = self.inner.linear_index(first)
        for start, stride in zip(self.starts, strides):
            offset = expr.sub(offset, expr.mul(start, stride))
        return View(self.outer.shape, strides, offset, mask if mask != self._everything() else None)

    def _everything(self) -> tuple[Window, ...]:
        return tuple([(0, size) for size in self.outer.shape])

    def _walk(self, stride: Size) -> tuple[int, Size] | None:
        """The inner axis that steps of this size walk along, and how many of its indices at a time."""
        for axis, row in enumerate(self.rows):
            steps = expr.divide_exactly(stride, row) if not identical(row, 0) else None
            if steps is not None and not self.scope.same(self.inner.shape[axis], 1):
                return axis, steps
        return None

    def _first(self) -> list[Size] | None:
        """The inner indices of the first valid element, once every axis is proved to stay in range."""
        rest = self.outer.linear_index(self.starts)
        found: list[Size] = []
        for axis, row in enumerate(self.rows):
            index = _quotient(rest, row)
            below = expr.sub(rest, expr.mul(index, row))
            if self.scope.proves(at_least(-1, below)):  # an element of the row before
                index = expr.sub(index, 1)
            rest = expr.sub(rest, expr.mul(index, row))
            found.append(index)
            if not self._stays(axis, index):
                return None
        return found

    def _stays(self, axis: int, first: Size) -> bool:
        """The walks along the inner axis, from the index of the first valid element on, are within its size."""
        low = high = first
        for walk, reach in zip(self.walks, self.reach):
            if walk is not None and walk[0] == axis:
                far = expr.mul(walk[1], reach)
                if self.scope.proves(at_least(walk[1], 0)):
                    high = expr.add(high, far)
                elif self.scope.proves(at_least(0, walk[1])):
                    low = expr.add(low, far)
                else:
                    return False
        return all(self.scope.proves(c) for c in (at_least(low, 0), at_least(self.inner.shape[axis], high + 1)))

    def _mask(self, first: Sequence[Size]) -> tuple[Window, ...] | None:
        """The valid indices of the merged view: those of `outer` that are valid in `inner`."""
        windows = list(self.outer.windows)
        for axis, (start, stop) in enumerate(self.inner.mask or ()):
            if _all((start, stop), self.inner.shape[axis]):
                continue
            walkers = [i for i, walk in enumerate(self.walks) if walk is not None and walk[0] == axis]
            if len(walkers) > 1:
                return None
            if not walkers:
                inside = (at_least(first[axis], start), at_least(stop, first[axis] + 1))
                if not all(self.scope.proves(claim) for claim in inside):
                    return None
                continue
            (walker,) = walkers
            found = self._window(walker, first[axis], start, stop)
            if found is None:
                return None
            low, high = windows[walker]
            windows[walker] = expr.maximum(low, found[0]), expr.minimum(high, found[1])
        return tuple(windows)

    def _window(self, walker: int, first: Size, start: Size, stop: Size) -> Window | None:
        """The indices of an outer axis for which the inner index is from `start` up to `stop`."""
        walk, origin = self.walks[walker], self.starts[walker]
        assert walk is not None
        steps = walk[1]
        if self.scope.proves(at_least(steps, 1)):
            return origin + expr.ceildiv(start - first, steps), origin + expr.ceildiv(stop - first, steps)
        if self.scope.proves(at_least(-1, steps)):
            back = expr.mul(-1, steps)
            return origin + expr.floordiv(first - stop, back) + 1, origin + expr.floordiv(first - start, back) + 1
        return None


def _quotient(index: Size, row: Size) -> Size:
    """A guess at how many rows lie before the element."""
    if isinstance(row, int):
        return expr.from_terms({m: c // row for m, c in expr.terms_of(index).items()})
    return expr.from_terms(polynomials.divide(expr.terms_of(index), expr.terms_of(row))[0])

"""Reshaping in place: the strides, and the windows of valid elements, that show the same elements in another shape.

Old and new axes are matched in runs of equal numbers of elements; the old axes of a run must merge into one stride,
which its new axes split. Every size may be taken as at least 1: where one is 0 there is no element to misplace. So
equal products at the right end of the shapes are as good as equal products at the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from anyshape.errors import ViewError
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_rules import Sizes, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size

Window = tuple[Size, Size]  # half-open: the indices of the valid elements along an axis
Same = Callable[[Size, Size], bool]


@dataclass(frozen=True, slots=True)
class Layout:
    """Axes with their strides and windows."""

    shape: Sizes
    strides: Sizes
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class _Failure:
    failed: str
    axes: tuple[int, ...]
    why: str


def identical(a: Size, b: Size) -> bool:
    """The same canonical form."""
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def prover(scope: Scope | None) -> Same:
    """What shows that two sizes are equal: the scope, or without one their canonical forms alone."""
    return identical if scope is None else scope.same


def row_major(shape: Sequence[Size]) -> Sizes:
    """The strides of C order without gaps."""
    strides: list[Size] = []
    stride: Size = 1
    for size in reversed(shape):
        strides.append(stride)
        stride = expr.mul(stride, size)
    return tuple(reversed(strides))


def inhabited(scope: Scope, sizes: Sequence[Size]) -> Scope:
    """What also follows when none of the sizes is 0."""
    found = Scope(conditions=scope.conditions, root=scope)
    for size in sizes:
        if isinstance(size, DimExpr):
            found.assume(Condition("constraint", at_least(size, 1), "view", "there is an element"))
    return found


def regroup(layout: Layout, new: Sizes, scope: Scope | None) -> Layout:
    """The layout of the same elements in the new shape, of as many elements; ViewError says what is in the way."""
    found = _attempt(layout, new, identical, None)
    symbolic = any(isinstance(s, DimExpr) for s in (*layout.shape, *layout.strides, *new))
    if isinstance(found, _Failure) and symbolic and scope is not None:  # most need no proof, which costs more
        if any(scope.same(size, 0) for size in layout.shape):
            return Layout(new, row_major(new), tuple([(0, size) for size in new]))
        positive = inhabited(scope, (*layout.shape, *new))
        found = _attempt(layout, new, positive.same, positive)
    if isinstance(found, _Failure):
        raise ViewError(layout.shape, layout.strides, new, found.failed, found.axes, found.why)
    return found


def _attempt(layout: Layout, new: Sizes, same: Same, scope: Scope | None) -> Layout | _Failure:
    old = [axis for axis, size in enumerate(layout.shape) if not same(size, 1)]
    left = [axis for axis, size in enumerate(new) if not same(size, 1)]
    strides: list[Size] = [0] * len(new)
    windows: list[Window] = [(0, size) for size in new]
    for axis, (size, window) in enumerate(zip(layout.shape, layout.windows)):
        if axis not in old and not _full(window, size, same):
            return _lost((axis,))
    for olds, news in _runs([layout.shape[a] for a in old], [new[a] for a in left], same):
        run, targets = [old[i] for i in olds], [left[i] for i in news]
        for a, b in pairwise(run):
            if not same(layout.strides[a], expr.mul(layout.strides[b], layout.shape[b])):
                return _not_merged(layout, run, a, b, [new[t] for t in targets], scope)
        stride: Size = layout.strides[run[-1]] if run else 0
        for axis in reversed(targets):
            strides[axis] = stride
            stride = expr.mul(stride, new[axis])
        carried = _carried(layout, run, [new[t] for t in targets], same)
        if carried is None:
            return _lost(tuple(run))
        for axis, window in zip(targets, carried, strict=True):
            windows[axis] = window
    return Layout(new, tuple(strides), tuple(windows))


# -- runs of axes


def _runs(old: Sequence[Size], new: Sequence[Size], same: Same) -> Iterator[tuple[range, range]]:
    """The shortest runs of old and of new axes that hold equally many elements."""
    i = j = 0
    while i < len(old) or j < len(new):
        k, m = _cut(old[i:], new[j:], same)
        yield range(i, i + k), range(j, j + m)
        i, j = i + k, j + m


def _cuts(old: Sequence[Size], new: Sequence[Size]) -> Iterator[tuple[int, int]]:
    """Where both may be cut, the shortest runs first."""
    for length in range(2, len(old) + len(new)):
        for k in range(max(1, length - len(new)), min(len(old), length - 1) + 1):
            yield k, length - k


def _cut(old: Sequence[Size], new: Sequence[Size], same: Same) -> tuple[int, int]:
    for k, m in _cuts(old, new):
        if same(numel(old[:k]), numel(new[:m])) or same(numel(old[k:]), numel(new[m:])):
            return k, m
    return len(old), len(new)


# -- windows


def _full(window: Window, size: Size, same: Same) -> bool:
    return same(window[0], 0) and same(window[1], size)


def _carried(layout: Layout, run: Sequence[int], new: Sequence[Size], same: Same) -> list[Window] | None:
    """The windows of the new axes of a run; None when those of the old axes are no box there."""
    if all(_full(layout.windows[a], layout.shape[a], same) for a in run):
        return [(0, size) for size in new]
    if len(run) == len(new) == 1:
        return [layout.windows[run[0]]]
    merged = _merged(layout, run, same)
    return None if merged is None else _split(merged, new, same)


def _merged(layout: Layout, run: Sequence[int], same: Same) -> Window | None:
    """The window of the axes merged into one: whole rows, or a part of one row."""
    start, stop = layout.windows[run[-1]]
    below = layout.shape[run[-1]]
    for axis in reversed(run[:-1]):
        low, high = layout.windows[axis]
        if _full((start, stop), below, same):
            start, stop = expr.mul(low, below), expr.mul(high, below)
        elif same(high, expr.add(low, 1)):
            first = expr.mul(low, below)
            start, stop = expr.add(first, start), expr.add(first, stop)
        else:
            return None
        below = expr.mul(below, layout.shape[axis])
    return start, stop


def _split(window: Window, new: Sequence[Size], same: Same) -> list[Window] | None:
    """The window of one axis on the axes that it splits into: whole rows of the first."""
    if not new:
        return [] if _full(window, 1, same) else None
    row = numel(new[1:])
    low, high = (_quotient(bound, row, same) for bound in window)
    return None if low is None or high is None else [(low, high), *[(0, size) for size in new[1:]]]


def _quotient(a: Size, b: Size, same: Same) -> Size | None:
    """a / b where it is whole. b is at least 1."""
    exact = expr.divide_exactly(a, b)
    if exact is not None or (isinstance(b, int) and b < 1):
        return exact
    quotient = expr.floordiv(a, b)
    return quotient if same(expr.mul(quotient, b), a) else None


# -- failures


def _lost(axes: tuple[int, ...]) -> _Failure:
    names = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
    return _Failure("mask", axes, f"the padding along {names} does not surround a box in the new shape")


def _not_merged(
    layout: Layout, run: Sequence[int], a: int, b: int, new: Sequence[Size], scope: Scope | None
) -> _Failure:
    """Why axes a and b would have to merge and do not.

    Contiguity: no cut between them is possible, or they might still be contiguous. Divisibility: they are certainly
    not contiguous, and it is not known whether a new axis ends where axis a does.
    """
    merge = equal(layout.strides[a], expr.mul(layout.strides[b], layout.shape[b]))
    verdict = scope.decide(merge) if scope is not None else Verdict.NO
    open_cut = _open_cut(layout, run, a, new, scope) if verdict is Verdict.NO and scope is not None else None
    if open_cut is not None:
        why = f"it is not known whether axis {a} ends where a new axis does, that is whether {open_cut}"
        return _Failure("divisibility", (a, b), why)
    known = "are not contiguous" if verdict is Verdict.NO else "are not proved contiguous"
    return _Failure("contiguity", (a, b), f"axes {a} and {b} {known}, which needs {merge}")


def _open_cut(layout: Layout, run: Sequence[int], a: int, new: Sequence[Size], scope: Scope) -> Claim | None:
    """The first claim that would separate axis a from the next one and is neither proved nor disproved."""
    left = numel([layout.shape[axis] for axis in run[: run.index(a) + 1]])
    claims = [equal(left, numel(new[:m])) for m in range(1, len(new))]
    return next((c for c in claims if scope.decide(c) is Verdict.UNKNOWN), None)

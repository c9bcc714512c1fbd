"""Reshape a strided view in place: the strides and windows that show the same elements in another shape.

Old and new axes are matched in runs with equal numbers of elements. The old axes of a run merge into one stride, which
the new axes split. Every size counts as at least 1, since a view with a size 0 has no element to misplace. Equal
products from the right end of the shapes are therefore as good as equal products from the left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from anyshape.errors import ViewError
from anyshape.graph.prover.constraints import NO, UNKNOWN, Claim, Condition, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_rules import Sizes, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.support.lazy_dataclass import dataclass

Window = tuple[Size, Size]  # half-open interval of the valid indices along an axis
Same = Callable[[Size, Size], bool]  # proves that two sizes are equal


@dataclass(frozen=True, slots=True)
class Layout:
    """Sizes, strides and windows of axes."""

    shape: Sizes
    strides: Sizes
    windows: tuple[Window, ...]


class _NotStrided(Exception):
    """Raised where no strides or no windows express the new shape; `failed`, `axes` and `why` are for ViewError."""

    def __init__(self, failed: str, axes: tuple[int, ...], why: str) -> None:
        self.failed, self.axes, self.why = failed, axes, why

    def error(self, layout: Layout, new: Sizes) -> ViewError:
        """Return the error for the caller."""
        return ViewError(layout.shape, layout.strides, new, self.failed, self.axes, self.why)


def identical(a: Size, b: Size) -> bool:
    """Return True for sizes with the same canonical form."""
    return a is b or (isinstance(a, int) and isinstance(b, int) and a == b)


def equality_prover(scope: Scope | None) -> Same:
    """Return the proof of equal sizes by the scope, or by canonical form where there is none."""
    return identical if scope is None else scope.same


def row_major(shape: Sequence[Size], innermost: Size = 1) -> Sizes:
    """Return the strides of C order without gaps, from the stride of the last axis."""
    strides: list[Size] = []
    stride = innermost
    for size in reversed(shape):
        strides.append(stride)
        stride = expr.mul(stride, size)
    return tuple(reversed(strides))


def _assume_nonempty(scope: Scope, sizes: Sequence[Size]) -> Scope:
    """Return a scope that also assumes every size to be at least 1."""
    nonempty = Scope(conditions=scope.conditions, root=scope)
    for size in sizes:
        if isinstance(size, DimExpr):
            nonempty.assume(Condition("constraint", at_least(size, 1), "view", "there is an element"))
    return nonempty


def regroup(layout: Layout, new: Sizes, scope: Scope | None) -> Layout:
    """Return the layout of the same elements in a new shape with as many elements, or raise ViewError.

    Canonical forms settle most reshapes. The scope is queried only where they do not, since proofs cost more.
    """
    try:
        return _regroup(layout, new, identical, None)
    except _NotStrided as failure:
        symbolic = any(isinstance(s, DimExpr) for s in (*layout.shape, *layout.strides, *new))
        if scope is None or not symbolic:
            raise failure.error(layout, new) from None
    if any(scope.same(size, 0) for size in layout.shape):
        return Layout(new, row_major(new), _full_windows(new))
    nonempty = _assume_nonempty(scope, (*layout.shape, *new))
    try:
        return _regroup(layout, new, nonempty.same, nonempty)
    except _NotStrided as failure:
        raise failure.error(layout, new) from None


def _regroup(layout: Layout, new: Sizes, same: Same, scope: Scope | None) -> Layout:
    """Return the regrouped layout as far as `same` proves it; the scope only words the failure."""
    old_axes, new_axes = _axes_except_ones(layout.shape, same), _axes_except_ones(new, same)
    _require_unmasked_ones(layout, old_axes, same)
    strides: list[Size] = [0] * len(new)
    windows = list(_full_windows(new))
    for old_run, new_run in _runs([layout.shape[a] for a in old_axes], [new[a] for a in new_axes], same):
        run, targets = [old_axes[i] for i in old_run], [new_axes[i] for i in new_run]
        sizes = [new[axis] for axis in targets]
        _require_mergeable(layout, run, sizes, same, scope)
        run_windows = _regroup_windows(layout, run, sizes, same)
        if run_windows is None:
            raise _mask_failure(tuple(run))
        run_strides = row_major(sizes, layout.strides[run[-1]] if run else 0)
        for axis, stride, window in zip(targets, run_strides, run_windows, strict=True):
            strides[axis], windows[axis] = stride, window
    return Layout(new, tuple(strides), tuple(windows))


def _axes_except_ones(shape: Sequence[Size], same: Same) -> list[int]:
    return [axis for axis, size in enumerate(shape) if not same(size, 1)]


def _require_unmasked_ones(layout: Layout, axes: Sequence[int], same: Same) -> None:
    """Refuse padding along an axis of size 1, which the new shape drops; `axes` are all others."""
    for axis, (size, window) in enumerate(zip(layout.shape, layout.windows)):
        if axis not in axes and not _is_full(window, size, same):
            raise _mask_failure((axis,))


def _require_mergeable(
    layout: Layout, run: Sequence[int], new: Sequence[Size], same: Same, scope: Scope | None
) -> None:
    """Refuse a run of old axes that are not proved to merge into one stride."""
    for a, b in pairwise(run):
        if not same(layout.strides[a], expr.mul(layout.strides[b], layout.shape[b])):
            raise _merge_failure(layout, run, a, b, new, scope)


# -- runs of axes


def _runs(old: Sequence[Size], new: Sequence[Size], same: Same) -> Iterator[tuple[range, range]]:
    """Yield the shortest runs of old and of new axes with equal numbers of elements."""
    i = j = 0
    while i < len(old) or j < len(new):
        k, m = _cut(old[i:], new[j:], same)
        yield range(i, i + k), range(j, j + m)
        i, j = i + k, j + m


def _cuts(old: Sequence[Size], new: Sequence[Size]) -> Iterator[tuple[int, int]]:
    """Yield the lengths of runs that may be cut off both, the shortest first."""
    for length in range(2, len(old) + len(new)):
        for k in range(max(1, length - len(new)), min(len(old), length - 1) + 1):
            yield k, length - k


def _cut(old: Sequence[Size], new: Sequence[Size], same: Same) -> tuple[int, int]:
    """Return the lengths of the first runs with proved equal numbers of elements; all axes without a proof."""
    for k, m in _cuts(old, new):
        if same(numel(old[:k]), numel(new[:m])) or same(numel(old[k:]), numel(new[m:])):
            return k, m
    return len(old), len(new)


# -- windows


def _full_windows(shape: Sequence[Size]) -> tuple[Window, ...]:
    return tuple([(0, size) for size in shape])


def _is_full(window: Window, size: Size, same: Same) -> bool:
    return same(window[0], 0) and same(window[1], size)


def _regroup_windows(layout: Layout, run: Sequence[int], new: Sequence[Size], same: Same) -> tuple[Window, ...] | None:
    """Return the windows of the new axes of a run; None where the valid elements form no box there."""
    if all(_is_full(layout.windows[axis], layout.shape[axis], same) for axis in run):
        return _full_windows(new)
    if len(run) == len(new) == 1:
        return (layout.windows[run[0]],)
    merged = _merge_windows(layout, run, same)
    return None if merged is None else _split_window(merged, new, same)


def _merge_windows(layout: Layout, run: Sequence[int], same: Same) -> Window | None:
    """Return the window of the axes merged into one: whole rows, or a part of one row."""
    start, stop = layout.windows[run[-1]]
    row = layout.shape[run[-1]]
    for axis in reversed(run[:-1]):
        low, high = layout.windows[axis]
        if _is_full((start, stop), row, same):
            start, stop = expr.mul(low, row), expr.mul(high, row)
        elif same(high, expr.add(low, 1)):
            first = expr.mul(low, row)
            start, stop = expr.add(first, start), expr.add(first, stop)
        else:
            return None
        row = expr.mul(row, layout.shape[axis])
    return start, stop


def _split_window(window: Window, new: Sequence[Size], same: Same) -> tuple[Window, ...] | None:
    """Return the windows of the axes that one axis splits into: whole rows of the first."""
    if not new:
        return () if _is_full(window, 1, same) else None
    row = numel(new[1:])
    low, high = (_quotient(bound, row, same) for bound in window)
    return None if low is None or high is None else ((low, high), *_full_windows(new[1:]))


def _quotient(a: Size, b: Size, same: Same) -> Size | None:
    """Return a / b where b is proved to divide a; b is at least 1."""
    exact = expr.divide_exactly(a, b)
    if exact is not None or (isinstance(b, int) and b < 1):
        return exact
    quotient = expr.floordiv(a, b)
    return quotient if same(expr.mul(quotient, b), a) else None


# -- failures


def _mask_failure(axes: tuple[int, ...]) -> _NotStrided:
    names = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(map(str, axes))}"
    return _NotStrided("mask", axes, f"the padding along {names} does not surround a box in the new shape")


def _merge_failure(
    layout: Layout, run: Sequence[int], a: int, b: int, new: Sequence[Size], scope: Scope | None
) -> _NotStrided:
    """Return the failure of axes a and b to merge.

    Divisibility: the axes are not contiguous, and it is undecided whether a new axis ends where axis a does.
    Contiguity: no new axis can end there, or it is undecided whether the axes are contiguous.
    """
    merge = equal(layout.strides[a], expr.mul(layout.strides[b], layout.shape[b]))
    verdict = scope.decide(merge) if scope is not None else NO
    cut = _undecided_cut(layout, run, a, new, scope) if verdict is NO and scope is not None else None
    if cut is not None:
        why = f"it is not known whether axis {a} ends where a new axis does, that is whether {cut}"
        return _NotStrided("divisibility", (a, b), why)
    known = "are not contiguous" if verdict is NO else "are not proved contiguous"
    return _NotStrided("contiguity", (a, b), f"axes {a} and {b} {known}, which needs {merge}")


def _undecided_cut(layout: Layout, run: Sequence[int], a: int, new: Sequence[Size], scope: Scope) -> Claim | None:
    """Return the first undecided claim that would end a run of axes at axis a."""
    left = numel([layout.shape[axis] for axis in run[: run.index(a) + 1]])
    claims = [equal(left, numel(new[:m])) for m in range(1, len(new))]
    return next((c for c in claims if scope.decide(c) is UNKNOWN), None)

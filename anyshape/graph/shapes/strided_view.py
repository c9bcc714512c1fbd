"""Strided views: an array as shape, strides, offset and mask over a buffer, all of them sizes. No arrays and no ops.

Movements such as `reshape` require claims of a scope: a disproved claim raises, an undecided one becomes an assertion
of the scope. Queries such as `is_c_contiguous` take an optional scope. Without one they compare canonical forms alone,
which costs next to nothing. The caller checks the assertions.

Reshape a strided view in place: the strides and windows that show the same elements in another shape.

Old and new axes are matched in runs with equal numbers of elements. The old axes of a run merge into one stride, which
the new axes split. Every size counts as at least 1, since a view with a size 0 has no element to misplace. Equal
products from the right end of the shapes are therefore as good as equal products from the left.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from anyshape.errors import ShapeError, ViewError
from anyshape.graph.prover.constraints import NO, UNKNOWN, YES, Claim, Condition, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, Sizes, dilated_size, infer_reshape, numel, shape_text
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import substitute
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
        if (run_windows := _regroup_windows(layout, run, sizes, same)) is None:
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
        yield from ((k, length - k) for k in range(max(1, length - len(new)), min(len(old), length - 1) + 1))


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
    if (exact := expr.divide_exactly(a, b)) is not None or (isinstance(b, int) and b < 1):
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


Mask = tuple[Window, ...]
Pairs = Sequence[tuple[Size, Size]]


@dataclass(frozen=True, slots=True)
class View:
    """Element (i, j, ...) is at `offset + i * strides[0] + j * strides[1] + ...`, counted in elements of the buffer.

    The `mask` has a half-open window of valid indices for each axis. All other indices are padding, outside of the
    buffer. A window that ends before it starts is empty. Without a mask every element is valid.
    """

    shape: Sizes
    strides: Sizes
    offset: Size = 0
    mask: Mask | None = None

    @classmethod
    def create(
        cls, shape: Sequence[Size], strides: Sequence[Size] | None = None, offset: Size = 0, mask: Pairs | None = None
    ) -> View:
        """Return a view of these parts; without strides in C order without gaps."""
        sizes = _sizes("create", shape)
        for size in sizes:
            if (high := expr.bounds(size)[1]) is not None and high < 0:
                raise _error("create", f"a size of {size} is negative")
        steps = row_major(sizes) if strides is None else _sizes("create", strides, len(sizes))
        windows = None if mask is None else _windows(_pairs("create", mask, len(sizes)), sizes)
        return cls(sizes, steps, _sizes("create", (offset,))[0], windows)

    def __str__(self) -> str:
        mask = f", mask {shape_text([shape_text(w) for w in self.mask])}" if self.mask is not None else ""
        return f"view {shape_text(self.shape)} with strides {shape_text(self.strides)}, offset {self.offset}{mask}"

    # -- queries

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def numel(self) -> Size:
        """Return the number of elements, padding included."""
        return numel(self.shape)

    @property
    def windows(self) -> Mask:
        """Window of valid indices along each axis."""
        return self.mask if self.mask is not None else tuple([(0, size) for size in self.shape])

    def at(self, sizes: Mapping[DimVar, Size]) -> View:
        """Return the view with variables replaced by these sizes."""

        def value(atom: Atom) -> Size | None:
            return sizes.get(atom) if isinstance(atom, DimVar) else None

        return self._map_sizes(lambda size: substitute(size, value))

    def _map_sizes(self, new: Callable[[Size], Size]) -> View:
        """Return the view with `new` applied to every size."""
        shape = tuple([new(s) for s in self.shape])
        mask = None if self.mask is None else tuple([(new(a), new(b)) for a, b in self.mask])
        return View(shape, tuple([new(s) for s in self.strides]), new(self.offset), mask)

    def linear_index(self, indices: Sequence[Size]) -> Size:
        """Return the position of the element in the buffer, without a check of range or mask."""
        positions = _sizes("linear_index", indices, self.ndim)
        return expr.total([self.offset, *map(expr.mul, positions, self.strides)])

    def is_valid(self, indices: Sequence[Size], scope: Scope | None = None) -> Verdict:
        """Decide whether the element is in the window of every axis, and so in the buffer."""
        positions = _sizes("is_valid", indices, self.ndim)
        claims = [c for i, (a, b) in zip(positions, self.mask or ()) for c in (at_least(i, a), at_least(b, i + 1))]
        decide = (scope if scope is not None else Scope()).decide
        verdicts = [decide(c) for c in claims]
        if NO in verdicts:
            return NO
        return YES if all(v is YES for v in verdicts) else UNKNOWN

    def is_c_contiguous(self, scope: Scope | None = None) -> bool:
        """Return True where the elements are proved to lie in C order without gaps or padding, from `offset` on."""
        if self.strides_opt(scope) is None:
            return False
        if self.strides == row_major(self.shape) or self.is_empty(scope):
            return True
        expected: Size = 1
        same = equality_prover(scope)
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if not same(size, 1):
                if not same(stride, expected):
                    return False
                expected = expr.mul(expected, size)
        return True

    def is_empty(self, scope: Scope | None = None) -> bool:
        """Return True where a size is proved to be 0."""
        same = equality_prover(scope)
        return any(same(size, 0) for size in self.shape)

    def strides_opt(self, scope: Scope | None = None) -> Sizes | None:
        """Return the strides where no element is proved to be padding; None otherwise."""
        same = equality_prover(scope)
        full = self.mask is None or all(same(a, 0) and same(b, size) for (a, b), size in zip(self.mask, self.shape))
        return self.strides if full or self.is_empty(scope) else None

    def is_materializable(self, scope: Scope | None = None) -> bool:
        """Return True where the view is proved to be a NumPy array over the buffer: nothing is padding."""
        return self.strides_opt(scope) is not None

    def simplify(self, scope: Scope | None = None) -> View:
        """Return the same elements with sizes in normal form, stride 0 for axes of size 1, and no mask that is full.

        An empty view gets offset 0, C order and no mask.
        """
        view = self if scope is None else self._map_sizes(scope.normal)
        same = equality_prover(scope)
        if view.is_empty(scope):
            return View(view.shape, row_major(view.shape))
        strides = [0 if same(n, 1) else s for n, s in zip(view.shape, view.strides)]
        mask = None if view.strides_opt(scope) is not None else view.mask
        return View(view.shape, tuple(strides), view.offset, mask)

    # -- movements

    def reshape(self, shape: Sequence[Size], scope: Scope) -> View:
        """Return the same elements, in C order, in another shape; one size may be -1.

        Raises ViewError where no strides or no mask are proved to express it.
        """
        context = ShapeGuardContext(scope, "view.reshape", None)
        return self.reshaped(infer_reshape(context, self.shape, _sizes("reshape", shape)), scope)

    def reshaped(self, shape: Sizes, scope: Scope | None = None) -> View:
        """Reshape to a shape that the caller has proved to have as many elements."""
        if shape == self.shape:
            return self
        if self.mask is None and self.strides == row_major(self.shape):
            return View(shape, row_major(shape), self.offset)
        if any(identical(size, 0) for size in shape):
            return View(shape, row_major(shape))
        layout = regroup(Layout(self.shape, self.strides, self.windows), shape, scope)
        return View(shape, layout.strides, self.offset, _mask(layout.windows, shape))

    def expand(self, shape: Sequence[Size], scope: Scope) -> View:
        """Return the view broadcast to a shape, as `numpy.broadcast_to` does."""
        sizes = _sizes("expand", shape)
        if len(sizes) < self.ndim:
            raise _error("expand", f"{self.ndim} axes cannot become {len(sizes)}", self)
        for axis, (old, new) in enumerate(zip(self.shape, sizes[len(sizes) - self.ndim :])):
            claim = Claim("stretches", old, new)
            self._require(scope, "expand", claim, f"axis {axis} of size {old} cannot be stretched to {new}")
        for size in sizes[: len(sizes) - self.ndim]:
            self._require(scope, "expand", at_least(size, 0), f"a size of {size} is negative")
        return self.expanded(sizes, scope)

    def expanded(self, shape: Sizes, scope: Scope | None = None) -> View:
        """Broadcast to a shape that the caller has proved to fit."""
        extra = len(shape) - self.ndim
        axes = [
            _stretch(*a, equality_prover(scope)) for a in zip(self.shape, self.strides, self.windows, shape[extra:])
        ]
        strides = (0,) * extra + tuple([stride for stride, _ in axes])
        windows = tuple([(0, n) for n in shape[:extra]]) + tuple([window for _, window in axes])
        return View(shape, strides, self.offset, _mask(windows, shape))

    def permute(self, axes: Sequence[int]) -> View:
        """Return the view with its axes in another order."""
        if sorted(axes) != list(range(self.ndim)):
            raise _error("permute", f"{tuple(axes)} is not a permutation of {self.ndim} axes", self)
        mask = None if self.mask is None else tuple([self.mask[a] for a in axes])
        return View(tuple([self.shape[a] for a in axes]), tuple([self.strides[a] for a in axes]), self.offset, mask)

    def shrink(self, bounds: Pairs, scope: Scope) -> View:
        """Return the elements from start up to, not including, stop along each axis."""
        pairs = _pairs("shrink", bounds, self.ndim)
        for axis, ((start, stop), size) in enumerate(zip(pairs, self.shape)):
            text = f"{start}:{stop} is out of bounds for axis {axis} of size {size}"
            for claim in (at_least(start, 0), at_least(stop, start), at_least(size, stop)):
                self._require(scope, "shrink", claim, text)
        return self.sliced([a for a, _ in pairs], [b - a for a, b in pairs], (1,) * self.ndim)

    def slice(self, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size], scope: Scope) -> View:
        """Return `size` elements start, start + step, ... along each axis; steps are positive."""
        parts = [_sizes("slice", part, self.ndim) for part in (starts, sizes, steps)]
        for axis, (start, size, step, whole) in enumerate(zip(*parts, self.shape)):
            text = f"{size} elements from {start} by {step} are out of bounds for axis {axis} of size {whole}"
            end = start + dilated_size(size, step - 1)
            for claim in (at_least(start, 0), at_least(size, 0), at_least(step, 1), at_least(whole, end)):
                self._require(scope, "slice", claim, text)
        return self.sliced(*parts)

    def sliced(self, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size]) -> View:
        """Slice elements that the caller has proved to exist."""
        offset = expr.total([self.offset, *map(expr.mul, starts, self.strides)])
        strides = tuple([expr.mul(k, s) for k, s in zip(steps, self.strides)])
        shape = tuple(sizes)
        moved = [
            (expr.ceildiv(low - a, k), expr.ceildiv(high - a, k))
            for a, k, (low, high) in zip(starts, steps, self.mask or ())
        ]
        return View(shape, strides, offset, _windows(moved, shape) if self.mask is not None else None)

    def pad(self, amounts: Pairs, scope: Scope) -> View:
        """Return the view with (before, after) elements of padding along each axis."""
        pairs = _pairs("pad", amounts, self.ndim)
        for amount in (amount for pair in pairs for amount in pair):
            self._require(scope, "pad", at_least(amount, 0), f"a pad of {amount} is negative")
        return self.padded(pairs)

    def padded(self, amounts: Pairs) -> View:
        """Pad by amounts that the caller has proved to be at least 0."""
        shape = tuple([a + n + b for n, (a, b) in zip(self.shape, amounts)])
        offset = expr.total([self.offset, *[expr.mul(-s, a) for s, (a, _) in zip(self.strides, amounts)]])
        windows = tuple([(low + a, high + a) for (low, high), (a, _) in zip(self.windows, amounts)])
        return View(shape, self.strides, offset, _mask(windows, shape))

    def flip(self, axes: Sequence[int]) -> View:
        """Return the view with these axes reversed; a negative axis counts from the last."""
        indices = [_index("flip", axis) for axis in axes]
        for axis in indices:
            if not -self.ndim <= axis < self.ndim:
                raise _error("flip", f"axis {axis} is out of bounds for {self.ndim} axes", self)
        flipped = {axis % self.ndim for axis in indices}
        if len(flipped) < len(indices):
            raise _error("flip", f"an axis occurs twice in {tuple(axes)}", self)
        last = [expr.mul(self.shape[axis] - 1, self.strides[axis]) for axis in flipped]
        strides = tuple([-s if axis in flipped else s for axis, s in enumerate(self.strides)])
        windows = [
            (n - b, n - a) if axis in flipped else (a, b)
            for axis, (n, (a, b)) in enumerate(zip(self.shape, self.windows))
        ]
        return View(self.shape, strides, expr.total([self.offset, *last]), _mask(tuple(windows), self.shape))

    def _require(self, scope: Scope, operation: str, claim: Claim, why: str) -> None:
        scope.require(claim, f"view.{operation}", why, (self,), None)


def _stretch(old: Size, stride: Size, window: Window, new: Size, same: Same) -> tuple[Size, Window]:
    """Return stride and window of an axis of size `old`, which is 1 or `new`, at size `new`."""
    if identical(old, new):
        return stride, window
    start, stop = window
    full = identical(start, 0) and identical(stop, old)
    if not identical(old, 1) and same(old, new):
        return stride, (0, new) if full else window
    first_valid = expr.maximum(expr.minimum(stop, 1) - expr.maximum(start, 0), 0)  # 1 when element 0 is valid, else 0
    if same(old, 1):
        return 0, (0, new) if full else (0, expr.mul(new, first_valid))
    unstretched = expr.minimum(expr.maximum(old - 1, 0), 1)  # 0 when the axis is stretched, else 1
    if full:
        return expr.mul(stride, unstretched), (0, new)
    end = expr.mul(stop, unstretched) + expr.mul(expr.mul(new, first_valid), 1 - unstretched)
    return expr.mul(stride, unstretched), (expr.mul(start, unstretched), end)


def _mask(windows: Mask, shape: Sizes) -> Mask | None:
    """Return the windows as a mask, or None where all of them are full."""
    full = all(identical(a, 0) and identical(b, n) for (a, b), n in zip(windows, shape))
    return None if full else windows


def _windows(windows: Pairs, shape: Sizes) -> Mask | None:
    """Return the windows clipped to the axes as a mask, or None where all of them are full."""
    return _mask(tuple([(expr.maximum(a, 0), expr.minimum(b, n)) for (a, b), n in zip(windows, shape)]), shape)


# -- arguments


def _error(operation: str, why: str, *operands: View) -> ShapeError:
    return ShapeError(f"view.{operation}", why, operands)


def _index(operation: str, value) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _error(operation, f"{value!r} is not a size") from None


def _sizes(operation: str, values: Sequence[Any], rank: int | None = None) -> Sizes:
    sizes = tuple([v if isinstance(v, DimExpr) else _index(operation, v) for v in values])
    if rank is not None and len(sizes) != rank:
        raise _error(operation, f"{len(sizes)} values were given for {rank} axes")
    return sizes


def _pairs(operation: str, values: Pairs, rank: int) -> tuple[tuple[Size, Size], ...]:
    pairs = tuple([_sizes(operation, pair) for pair in values])
    if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
        raise _error(operation, f"{values} must have a pair for each of {rank} axes")
    return tuple([(pair[0], pair[1]) for pair in pairs])

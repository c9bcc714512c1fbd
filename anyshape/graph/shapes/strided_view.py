"""Strided views: an array as shape, strides, offset and mask over a buffer, all of them sizes. No arrays and no ops.

Movements such as `reshape` require claims of a scope: a disproved claim raises, an undecided one becomes an assertion
of the scope. Queries such as `is_c_contiguous` take an optional scope. Without one they compare canonical forms alone,
which costs next to nothing. The caller checks the assertions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import NO, UNKNOWN, YES, Claim, Verdict, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import Sizes, dilated_size, infer_reshape, numel, shape_text
from anyshape.graph.shapes.view_reshape import Layout, Same, Window, equality_prover, identical, regroup, row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.support.lazy_dataclass import dataclass

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
            high = expr.bounds(size)[1]
            if high is not None and high < 0:
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


def _index(operation: str, value: Any) -> int:
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

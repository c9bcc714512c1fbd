"""Strided views: how the elements of a buffer are seen as an array, all sizes being expressions. No arrays, no ops.

An operation needs a scope where something must hold. What is proved wrong is an error; what is neither proved nor
disproved becomes an assertion of the scope, as everywhere (the caller sees to it that it is checked). What only asks
takes a scope if there is one; without it canonical forms alone are compared, which costs next to nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import Claim, Verdict, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import Sizes, dilated_size, infer_reshape, numel
from anyshape.graph.shapes.view_reshape import Layout, Same, Window, identical, prover, regroup, row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import substitute

Mask = tuple[Window, ...]
Pairs = Sequence[tuple[Size, Size]]


@dataclass(frozen=True, slots=True)
class View:
    """Element (i, j, ...) is at `offset + i * strides[0] + j * strides[1] + ...`, counted in elements of the buffer.

    Along each axis only the indices in the half-open window of the `mask` are valid: the others are padding and have
    no place in the buffer. A window that ends before it starts holds nothing. Without a mask every element is valid.
    """

    shape: Sizes
    strides: Sizes
    offset: Size = 0
    mask: Mask | None = None

    @classmethod
    def create(
        cls, shape: Sequence[Size], strides: Sequence[Size] | None = None, offset: Size = 0, mask: Pairs | None = None
    ) -> View:
        """A view from its parts; in C order without gaps by default."""
        sizes = _sizes("create", shape)
        for size in sizes:
            high = expr.bounds(size)[1]
            if high is not None and high < 0:
                raise _error("create", f"a size of {size} is negative")
        steps = row_major(sizes) if strides is None else _sizes("create", strides, len(sizes))
        windows = None if mask is None else _windows(_pairs("create", mask, len(sizes)), sizes)
        return cls(sizes, steps, _sizes("create", (offset,))[0], windows)

    def __str__(self) -> str:
        mask = f", mask {_text(tuple([_text(w) for w in self.mask]))}" if self.mask is not None else ""
        return f"view {_text(self.shape)} with strides {_text(self.strides)}, offset {self.offset}{mask}"

    # -- what it is

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def numel(self) -> Size:
        """The number of elements, padding included."""
        return numel(self.shape)

    @property
    def windows(self) -> Mask:
        """The valid indices along each axis."""
        return self.mask if self.mask is not None else tuple([(0, size) for size in self.shape])

    def at(self, sizes: Mapping[DimVar, Size]) -> View:
        """The view when variables have these values."""

        def value(atom: Atom) -> Size | None:
            return sizes.get(atom) if isinstance(atom, DimVar) else None

        return self._mapped(lambda size: substitute(size, value))

    def _mapped(self, new: Callable[[Size], Size]) -> View:
        shape = tuple([new(s) for s in self.shape])
        mask = None if self.mask is None else tuple([(new(a), new(b)) for a, b in self.mask])
        return View(shape, tuple([new(s) for s in self.strides]), new(self.offset), mask)

    def linear_index(self, indices: Sequence[Size]) -> Size:
        """Where in the buffer the element is. Neither the range of the indices nor their validity is looked at."""
        places = _sizes("linear_index", indices, self.ndim)
        return expr.total([self.offset, *map(expr.mul, places, self.strides)])

    def is_valid(self, indices: Sequence[Size], scope: Scope | None = None) -> Verdict:
        """Whether the element is in the window of every axis, and so in the buffer."""
        places = _sizes("is_valid", indices, self.ndim)
        claims = [c for i, (a, b) in zip(places, self.mask or ()) for c in (at_least(i, a), at_least(b, i + 1))]
        decide = (scope if scope is not None else Scope()).decide
        verdicts = [decide(c) for c in claims]
        if Verdict.NO in verdicts:
            return Verdict.NO
        return Verdict.YES if all(v is Verdict.YES for v in verdicts) else Verdict.UNKNOWN

    def is_c_contiguous(self, scope: Scope | None = None) -> bool:
        """The elements are proved to lie in C order without gaps, from `offset` on, with no padding."""
        if self.strides_opt(scope) is None:
            return False
        if self.strides == row_major(self.shape) or self.is_empty(scope):
            return True
        expected: Size = 1
        same = prover(scope)
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if not same(size, 1):
                if not same(stride, expected):
                    return False
                expected = expr.mul(expected, size)
        return True

    def is_empty(self, scope: Scope | None = None) -> bool:
        """A size is proved to be 0."""
        same = prover(scope)
        return any(same(size, 0) for size in self.shape)

    def strides_opt(self, scope: Scope | None = None) -> Sizes | None:
        """The strides, when shape, strides and offset say everything: nothing is padding. None: not proved."""
        same = prover(scope)
        full = self.mask is None or all(same(a, 0) and same(b, size) for (a, b), size in zip(self.mask, self.shape))
        return self.strides if full or self.is_empty(scope) else None

    def is_materializable(self, scope: Scope | None = None) -> bool:
        """It is proved to be an array of the buffer as it stands."""
        return self.strides_opt(scope) is not None

    def simplify(self, scope: Scope | None = None) -> View:
        """The same elements with every size in normal form, stride 0 for axes of size 1, and no mask that says nothing.

        A view of no elements has no offset, C order and no mask.
        """
        view = self if scope is None else self._mapped(scope.normal)
        same = prover(scope)
        if view.is_empty(scope):
            return View(view.shape, row_major(view.shape))
        strides = [0 if same(n, 1) else s for n, s in zip(view.shape, view.strides)]
        mask = None if view.strides_opt(scope) is not None else view.mask
        return View(view.shape, tuple(strides), view.offset, mask)

    # -- views of it

    def reshape(self, shape: Sequence[Size], scope: Scope) -> View:
        """The same elements, in C order, in another shape; one size may be -1.

        Raises ViewError where no strides, or no mask, are proved to express it.
        """
        return self.reshaped(reshape_sizes(self.shape, shape, scope), scope)

    def reshaped(self, shape: Sizes, scope: Scope | None = None) -> View:
        """`reshape` to a shape that the caller knows to have as many elements."""
        if shape == self.shape:
            return self
        if self.mask is None and self.strides == row_major(self.shape):
            return View(shape, row_major(shape), self.offset)
        if any(identical(size, 0) for size in shape):
            return View(shape, row_major(shape))
        found = regroup(Layout(self.shape, self.strides, self.windows), shape, scope)
        return View(shape, found.strides, self.offset, _mask(found.windows, shape))

    def expand(self, shape: Sequence[Size], scope: Scope) -> View:
        """Axes of size 1 stretched, and new axes put in front, as NumPy broadcasts to a shape."""
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
        """`expand` to a shape that the caller knows to fit."""
        extra = len(shape) - self.ndim
        axes = [_stretch(*a, prover(scope)) for a in zip(self.shape, self.strides, self.windows, shape[extra:])]
        strides = (0,) * extra + tuple([stride for stride, _ in axes])
        windows = tuple([(0, n) for n in shape[:extra]]) + tuple([window for _, window in axes])
        return View(shape, strides, self.offset, _mask(windows, shape))

    def permute(self, axes: Sequence[int]) -> View:
        """The axes in another order."""
        if sorted(axes) != list(range(self.ndim)):
            raise _error("permute", f"{tuple(axes)} is no order of {self.ndim} axes", self)
        mask = None if self.mask is None else tuple([self.mask[a] for a in axes])
        return View(tuple([self.shape[a] for a in axes]), tuple([self.strides[a] for a in axes]), self.offset, mask)

    def shrink(self, bounds: Pairs, scope: Scope) -> View:
        """The elements from start up to, not including, stop along each axis."""
        pairs = _pairs("shrink", bounds, self.ndim)
        for axis, ((start, stop), size) in enumerate(zip(pairs, self.shape)):
            text = f"{start}:{stop} is out of bounds for axis {axis} of size {size}"
            for claim in (at_least(start, 0), at_least(stop, start), at_least(size, stop)):
                self._require(scope, "shrink", claim, text)
        return self.sliced([a for a, _ in pairs], [b - a for a, b in pairs], (1,) * self.ndim)

    def slice(self, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size], scope: Scope) -> View:
        """The elements start, start + step, ... along each axis, `size` of them; steps are positive."""
        parts = [_sizes("slice", part, self.ndim) for part in (starts, sizes, steps)]
        for axis, (start, size, step, whole) in enumerate(zip(*parts, self.shape)):
            text = f"{size} elements from {start} by {step} are out of bounds for axis {axis} of size {whole}"
            end = start + dilated_size(size, step - 1)
            for claim in (at_least(start, 0), at_least(size, 0), at_least(step, 1), at_least(whole, end)):
                self._require(scope, "slice", claim, text)
        return self.sliced(*parts)

    def sliced(self, starts: Sequence[Size], sizes: Sequence[Size], steps: Sequence[Size]) -> View:
        """`slice` of elements that the caller knows to exist."""
        offset = expr.total([self.offset, *map(expr.mul, starts, self.strides)])
        strides = tuple([expr.mul(k, s) for k, s in zip(steps, self.strides)])
        shape = tuple(sizes)
        moved = [
            (expr.ceildiv(low - a, k), expr.ceildiv(high - a, k))
            for a, k, (low, high) in zip(starts, steps, self.mask or ())
        ]
        return View(shape, strides, offset, _windows(moved, shape) if self.mask is not None else None)

    def pad(self, amounts: Pairs, scope: Scope) -> View:
        """(before, after) elements of padding along each axis."""
        pairs = _pairs("pad", amounts, self.ndim)
        for amount in (amount for pair in pairs for amount in pair):
            self._require(scope, "pad", at_least(amount, 0), f"a pad of {amount} is negative")
        return self.padded(pairs)

    def padded(self, amounts: Pairs) -> View:
        """`pad` by amounts that the caller knows not to be negative."""
        shape = tuple([a + n + b for n, (a, b) in zip(self.shape, amounts)])
        offset = expr.total([self.offset, *[expr.mul(-s, a) for s, (a, _) in zip(self.strides, amounts)]])
        windows = tuple([(low + a, high + a) for (low, high), (a, _) in zip(self.windows, amounts)])
        return View(shape, self.strides, offset, _mask(windows, shape))

    def flip(self, axes: Sequence[int]) -> View:
        """The order of the elements reversed along these axes; a negative one counts from the last."""
        places = [_index("flip", axis) for axis in axes]
        for axis in places:
            if not -self.ndim <= axis < self.ndim:
                raise _error("flip", f"axis {axis} is out of bounds for {self.ndim} axes", self)
        flipped = {axis % self.ndim for axis in places}
        if len(flipped) < len(places):
            raise _error("flip", f"an axis occurs twice in {tuple(axes)}", self)
        last = [expr.mul(self.shape[axis] - 1, self.strides[axis]) for axis in flipped]
        strides = tuple([-s if axis in flipped else s for axis, s in enumerate(self.strides)])
        turned = [
            (n - b, n - a) if axis in flipped else (a, b)
            for axis, (n, (a, b)) in enumerate(zip(self.shape, self.windows))
        ]
        return View(self.shape, strides, expr.total([self.offset, *last]), _mask(tuple(turned), self.shape))

    def _require(self, scope: Scope, operation: str, claim: Claim, why: str) -> None:
        scope.require(claim, f"view.{operation}", why, (self,), None)


def reshape_sizes(old: Sizes, new: Sequence[Size], scope: Scope) -> Sizes:
    """The new shape with its -1 resolved; as many elements, or an error, or an assertion."""
    context = ShapeGuardContext(scope, "view.reshape", None)
    return infer_reshape(context, old, _sizes("reshape", new))


def _stretch(old: Size, stride: Size, window: Window, new: Size, same: Same) -> tuple[Size, Window]:
    """Stride and window of an axis of size `old`, 1 or `new`, at size `new`."""
    if identical(old, new):
        return stride, window
    start, stop = window
    full = identical(start, 0) and identical(stop, old)
    one = expr.maximum(expr.minimum(stop, 1) - expr.maximum(start, 0), 0)  # 1 when element 0 is valid, else 0
    if not identical(old, 1) and same(old, new):
        return stride, (0, new) if full else window
    if same(old, 1):
        return 0, (0, new) if full else (0, expr.mul(new, one))
    many = expr.minimum(expr.maximum(old - 1, 0), 1)  # 1 when it is not stretched, else 0
    if full:
        return expr.mul(stride, many), (0, new)
    kept = expr.mul(stop, many) + expr.mul(expr.mul(new, one), 1 - many)
    return expr.mul(stride, many), (expr.mul(start, many), kept)


def _mask(windows: Mask, shape: Sizes) -> Mask | None:
    """The windows, or None when they leave nothing out."""
    full = all(identical(a, 0) and identical(b, n) for (a, b), n in zip(windows, shape))
    return None if full else windows


def _windows(windows: Pairs, shape: Sizes) -> Mask | None:
    """The windows within the axes, or None when they leave nothing out."""
    return _mask(tuple([(expr.maximum(a, 0), expr.minimum(b, n)) for (a, b), n in zip(windows, shape)]), shape)


# -- what callers hand in


def _error(operation: str, why: str, *operands: View) -> ShapeError:
    return ShapeError(f"view.{operation}", why, operands)


def _index(operation: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise _error(operation, f"{value!r} is no size") from None


def _sizes(operation: str, values: Sequence[Any], rank: int | None = None) -> Sizes:
    found = tuple([v if isinstance(v, DimExpr) else _index(operation, v) for v in values])
    if rank is not None and len(found) != rank:
        raise _error(operation, f"{len(found)} values were given for {rank} axes")
    return found


def _pairs(operation: str, values: Pairs, rank: int) -> tuple[tuple[Size, Size], ...]:
    found = tuple([_sizes(operation, pair) for pair in values])
    if len(found) != rank or any(len(pair) != 2 for pair in found):
        raise _error(operation, f"{values} is no pair for each of {rank} axes")
    return tuple([(pair[0], pair[1]) for pair in found])


def _text(sizes: Sequence[object]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"

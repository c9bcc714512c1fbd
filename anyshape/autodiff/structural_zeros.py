"""Tangents and cotangents that are zero by construction where a select, a mask, an index or an update leaves out.

Such a zero is not a number. It stays 0 where it meets an infinite slope, as the element does not take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import apply
from anyshape.ops.core.flop_counts import Shape
from anyshape.support.lazy_dataclass import dataclass

DEEP = 40  # masks that wait for one another, before one is computed: each calls the one below


class Mask:
    """Mask that is computed when it is first called for. `below` are the tangents or cotangents that it depends on.

    `condition` is the operand of a choice that it is, or with `chosen` False the inverse of.
    """

    __slots__ = ("_make", "_mask", "chosen", "condition", "depth")

    def __init__(self, make: Callable[[], Any], *below: Any, condition: Any = None, chosen: bool = True) -> None:
        self._make, self._mask = make, None
        self.condition, self.chosen = condition, chosen
        self.depth: int = 1 + max(map(_depth, below), default=0)
        if self.depth > DEEP:
            self()
            self.depth = 0

    def __call__(self) -> Any:
        if self._mask is None:
            self._mask = self._make()
        return self._mask

    def has_condition_of(self, other: Mask) -> bool:
        """Return whether both are of choices by one condition."""
        mine, others = self.condition, other.condition
        return mine is not None and others is not None and (mine is others or _value(mine) is _value(others))


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Traced) else x


def _depth(x: Any) -> int:
    while isinstance(x, Part) and not isinstance(x, Masked):
        x = x.ct
    return x.mask.depth if isinstance(x, Masked) else 0


class Part:
    """Tangent or cotangent of an array that is zero by construction where `indicator` is 0.

    `ct` holds its elements, which may be a part themselves.
    """

    ct: Any

    __slots__ = ()

    def image(self, read: Callable[[Any], Any]) -> Any:
        """Return what the part makes of `read(ct)`, an array in place of its elements."""
        raise NotImplementedError

    def whole(self) -> Any:
        """Return the part as an array."""
        return self.image(whole)

    def indicator(self) -> Any:
        """Return an array of the same type that is 0 at the zeros, and not 0 elsewhere."""
        return self.image(indicator)

    def support(self) -> Any:
        """Return a mask of the elements that are not zero by construction."""
        return nonzero(self.indicator())

    def ones(self) -> Part:
        """Return the part with 1 in place of its elements, and 0 where these are zero by construction."""
        return replace(self, ct=indicator(self.ct))  # type: ignore[type-var]

    def of(self, ct: Part) -> Any:
        """Return the part that has this one's place in a part `ct` of its elements."""
        return replace(self, ct=ct)  # type: ignore[type-var]

    def added_to(self, total: Any) -> Any:
        """Return the sum with another tangent or cotangent of the array."""
        return ew.add(total, self.whole())

    def as_window(self, shape: Shape) -> Any:
        """Return the part as a window in an array of this shape, None if it is none."""
        return None

    def at(self, x: Any) -> Any:
        """Return the elements of an array that the elements of the part belong to."""
        raise NotImplementedError

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> Part:
        """Return the part with other elements.

        - `keeps_zeros`: whether a number 0 among the old elements is one among the new.
        - `zeros`: makes an array of zeros for the whole.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Masked(Part):
    """Tangent or cotangent that is zero by construction where a mask is False.

    - `mask`: gives the mask, which is computed only if it is needed.
    - `is_clean`: whether `ct` is 0 there; else it may be anything.
    - `cleaner`: the mask where it may be anything, if that is not `mask`.
    """

    ct: Any
    mask: Mask
    is_clean: bool
    cleaner: Mask | None = None

    def whole(self) -> Any:
        if self.is_clean:
            return self.ct
        mask, zeros = self.cleaner or self.mask, _of_its_type(0, self.ct)
        if mask.condition is not None and not mask.chosen:
            return apply(ew.select_op, mask.condition, zeros, self.ct)
        return apply(ew.select_op, mask(), self.ct, zeros)

    def indicator(self) -> Any:
        return ew.convert(self.mask(), self.ct.dtype)

    def support(self) -> Any:
        return self.mask()

    def ones(self) -> Part:
        return Masked(self.indicator(), self.mask, is_clean=True)

    def at(self, x: Any) -> Any:
        return x

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> Masked:
        if isinstance(ct, Masked):
            cleaner = (ct.cleaner or ct.mask) if self.is_clean else None
            both = Mask(lambda: ew.logical_and(self.mask(), ct.mask()), self, ct)
            return Masked(ct.ct, both, is_clean=False, cleaner=cleaner)
        cleaner = self.cleaner if keeps_zeros else None
        return replace(self, ct=ct, is_clean=self.is_clean and keeps_zeros, cleaner=cleaner)


@dataclass(frozen=True, slots=True)
class Marked(Masked):
    """Tangent or cotangent with an indicator that is an array already, whose elements need not be 1."""

    mark: Any = None

    def indicator(self) -> Any:
        return ew.convert(self.mark, self.ct.dtype)


def masked(ct: Any, mask: Callable[[], Any], is_clean: bool, *below: Any) -> Masked:
    """Return a tangent or cotangent with a mask that is computed once, when it is needed."""
    return Masked(ct, Mask(mask, *below), is_clean)


def chosen(condition: Any, ct: Any) -> Masked:
    """Return a tangent or cotangent of what a condition chooses."""
    return Masked(ct, Mask(lambda: condition, condition=condition), is_clean=False)


def not_chosen(condition: Any, ct: Any) -> Masked:
    """Return a tangent or cotangent of what is chosen where a condition is False."""
    return Masked(ct, Mask(lambda: ew.logical_not(condition), condition=condition, chosen=False), is_clean=False)


def merged(a: Masked, b: Masked) -> Any:
    """Return the sum of two that have one mask, or complementary ones; None if they have others."""
    if a.mask is b.mask or (a.mask.has_condition_of(b.mask) and a.mask.chosen is b.mask.chosen):
        cleaner = a.cleaner if a.cleaner is b.cleaner else None
        return replace(a, ct=ew.add(a.ct, b.ct), is_clean=a.is_clean and b.is_clean, cleaner=cleaner)
    if not a.mask.has_condition_of(b.mask):
        return None
    first, second = (a, b) if a.mask.chosen else (b, a)
    return ew.select(a.mask.condition, first.ct, second.ct)


def whole(x: Any) -> Any:
    """Return a tangent or cotangent as an array; None, which is zero, stays."""
    return x.whole() if isinstance(x, Part) else x


def indicator(x: Any) -> Any:
    """Return an array that is 0 where a tangent or cotangent is zero by construction; None stays."""
    return x.indicator() if isinstance(x, Part) else None if x is None else _of_its_type(1, x)


# -- at the ends of subgraphs, where an array stands for a mask


def with_indicators(xs: Sequence[Any], flags: Sequence[bool], marks: Iterable[Any]) -> list[Any]:
    """Return arrays as tangents or cotangents: flagged ones are zero by construction where the next mark is 0."""
    remaining = iter(marks)
    return [_with_indicator(x, next(remaining)) if flag else x for x, flag in zip(xs, flags, strict=True)]


def _with_indicator(x: Any, mark: Any) -> Marked:
    return Marked(x, Mask(lambda: nonzero(mark)), is_clean=True, mark=mark)


def resized(x: Any, of_size: Callable[[Any], Any]) -> Any:
    """Return a tangent or cotangent in sizes that a function gives an array, and its mask in the same."""
    if not isinstance(x, Masked):
        return of_size(x)
    ct = x.whole()
    result = of_size(ct)
    return x if result is ct else masked(result, lambda: of_size(x.mask()), True, x)


def nonzero(x: Any) -> Any:
    """Return a mask of the elements that are not 0."""
    return ew.convert(x, np.dtype(bool)) if x.meta.sizes is None else ew.ne(x, ew.lift(0, x))


def _of_its_type(number: int, x: Any) -> Any:
    """Return an array of 0 or 1 of the type of x, of whose sizes only bounds may be known."""
    if x.meta.sizes is not None:
        return ew.lift(number, x)
    mask = nonzero(x)
    op = ew.logical_or_op if number else ew.logical_and_op
    return ew.convert(apply(op, mask, ew.logical_not(mask)), x.dtype)

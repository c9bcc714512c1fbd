"""Iterables of loops that are read: ranges whose ends are sizes or traced values, and rows of traced arrays.

Each has a length, an item at each position, and plain Python's own iteration for loops that are unrolled.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.serve import FUNCTIONS
from anyshape.numpy.sizes.symdim import max_dim, min_dim
from anyshape.support.true_types import has_type


def is_open(x: Any) -> bool:
    """Return whether a run alone knows a value: it is traced, or a size."""
    return isinstance(x, (Traced, SymbolicSize))


class Items:
    """Items at positions from `first` to `first + length - 1`, and the Python iteration that they stand for.

    `batches` are those whose examples differ in size, which a loop reads one by one.
    """

    def __init__(
        self, length: Any, item: Callable[[Any], Any], plain: Callable[[], Iterator[Any]], batches: Sequence[Any] = ()
    ) -> None:
        self.length, self.item, self._plain, self.batches = length, item, plain, tuple(batches)

    def __iter__(self) -> Iterator[Any]:
        return self._plain()

    def rest(self) -> Items:
        """Return all items but the first."""
        return Items(self.length - 1, lambda k: self.item(k + 1), lambda: iter([*self][1:]))

    def __len__(self) -> int:
        return operator.index(self.length)

    def __getitem__(self, k: Any) -> Any:
        return self.item(k)


class Examples(Items):
    """Examples of a batch whose sizes differ. In a trip of a loop that reads its rows, the example is there."""

    def __init__(self, batch: Any, length: Any) -> None:
        self.batch = batch
        self._here: tuple[Any, Any] = (None, None)  # position of a trip, and its example
        super().__init__(length, self._of, lambda: iter(batch), (self,))

    def _of(self, k: Any) -> Any:
        position, example = self._here
        return example if k is position else self.batch.at(k)

    def enter(self, k: Any, example: Any) -> None:
        """Let the item at position k be an example that the trip reads."""
        self._here = (k, example)


def is_batch(x: Any) -> bool:
    """Return whether x is a batch of examples."""
    return has_type(getattr(x, "items", None), Examples)


def items_of(x: Any) -> Items | None:
    """Return the items of what a loop runs over, None for what Python alone iterates."""
    if isinstance(x, Items):
        return x
    if has_type(own := getattr(x, "items", None), Items):  # of a list that a loop made
        return own
    if has_type(x, builtins.range):
        return Items(len(x), lambda k: x.start + k * x.step, lambda: iter(x))
    is_traced: bool = isinstance(x, Traced) and getattr(x, "is_array", False) and bool(x.meta.rank)
    if is_traced or (has_type(x, np.ndarray) and x.ndim):
        count = x.shape[0]  # of rows: as many as this call has, where the loop stays as it is written
        positions = lambda: builtins.range(operator.index(count))
        is_size = isinstance(count, SymbolicSize)
        return Items(count, lambda k: x[k], lambda: map(x.__getitem__, positions()) if is_size else iter(x))
    return None


def _may_be_open(x: Any) -> bool:
    """Return whether a run alone may know how many items there are: of an array, or of a list that a loop made."""
    return isinstance(x, (Items, Traced)) or has_type(getattr(x, "items", None), Items)


def range_(*ends: Any) -> Any:
    """Return `range(*ends)`; with open ends, the items of one."""
    if not any(map(is_open, ends)) or len(ends) not in (1, 2, 3):
        return builtins.range(*ends)
    first, last, step = (0, ends[0], 1) if len(ends) == 1 else (*ends, 1)[:3]
    length = _length(first, last, step)

    def item(k: Any) -> Any:
        k = k if type(step) is int and step == 1 else k * step
        return k if type(first) is int and first == 0 else first + k

    if has_type(length, int):  # as range(n - 1, n)
        return Range(length, item, lambda: iter([item(k) for k in builtins.range(length)]))
    return Range(length, item, lambda: iter(builtins.range(*map(operator.index, ends))))


class Range(Items):
    """Items of a range whose ends are open, which NumPy takes for an array."""

    def as_operand(self) -> Any:
        """Return the array of the items."""
        return FUNCTIONS["asarray"](self.item(FUNCTIONS["arange"](self.length)))


def _length(first: Any, last: Any, step: Any) -> Any:
    """Return the number of items of a range."""
    if isinstance(step, Traced):
        by: Any = step
        up, down = -((first - last) // by), -((last - first) // -by)
        return FUNCTIONS["maximum"](FUNCTIONS["where"](by > 0, up, down), 0)
    distance, step = (last - first, step) if step > 0 else (first - last, -step)
    count = distance if has_type(step, int) and step == 1 else (distance + step - 1) // step
    if has_type(count, int):
        return max(count, 0)
    return max_dim(count, 0) if isinstance(count, SymbolicSize) else FUNCTIONS["maximum"](count, 0)


def enumerate_(x: Any, start: Any = 0) -> Any:
    """Return `enumerate(x, start)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    plain = lambda: builtins.enumerate(x if items is None else items, start)
    return plain() if items is None else Items(items.length, lambda k: (k + start, items.item(k)), plain, items.batches)


def reversed_(x: Any) -> Any:
    """Return `reversed(x)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    if items is None:
        return builtins.reversed(x)
    last = lambda k: items.item(items.length - 1 - k)
    plain = lambda: map(last, builtins.range(operator.index(items.length)))
    return Items(items.length, last, plain)


def pairwise_(x: Any) -> Any:
    """Return `itertools.pairwise(x)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    if items is None:
        return itertools.pairwise(x)
    pair = lambda k: (items.item(k), items.item(k + 1))
    return Items(_length(0, items.length - 1, 1), pair, lambda: itertools.pairwise(items))


def zip_(*xs: Any, strict: bool = False) -> Any:
    """Return `zip(*xs)`; of open items, the items of one, as many as the shortest has."""
    plain = lambda: builtins.zip(*xs, strict=strict)
    if strict or not any(map(_may_be_open, xs)):
        return plain()
    each = [items_of(x) for x in xs]
    if any(items is None for items in each):
        return plain()
    return _together([items for items in each if items is not None])


def _together(each: Sequence[Items]) -> Items:
    """Return the tuples of several items, as many as the shortest has; batches where all have the same number."""
    batches = [batch for items in each for batch in items.batches]
    lengths = [items.length for items in each]
    if batches and all(lengths[0] == n for n in lengths[1:]):
        length = lengths[0]
    else:
        length, batches = functools.reduce(_shorter, lengths), []
    return Items(length, lambda k: tuple([items.item(k) for items in each]), lambda: builtins.zip(*each), batches)


def _shorter(a: Any, b: Any) -> Any:
    if a is b or not (is_open(a) or is_open(b)):
        return a if a is b else min(a, b)
    if isinstance(a, Traced) or isinstance(b, Traced):
        return FUNCTIONS["minimum"](a, b)
    return min_dim(a, b)


ITERATIONS: dict[Any, Callable[..., Any]] = {
    range: range_, enumerate: enumerate_, reversed: reversed_, zip: zip_, itertools.pairwise: pairwise_,
}  # fmt: skip

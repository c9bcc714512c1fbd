"""Iterables of loops that are read: ranges whose ends are sizes or traced values, and rows of traced arrays.

Each has a length, an item at each position, and plain Python's own iteration for loops that are unrolled.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import slice_bounds
from anyshape.numpy.operands.memory import memory_of
from anyshape.numpy.operands.promotion import size_of
from anyshape.numpy.serve import FUNCTIONS
from anyshape.numpy.sizes.symdim import max_dim, min_dim, symdim
from anyshape.ops.core.apply import context_of
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.true_types import has_type
from anyshape.tracing.source import read as reading
from anyshape.tracing.source.read import NotKept


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
        return Once(self.length - 1, lambda k: self.item(k + 1), lambda: iter([*self][1:]), (), [self])

    def taken(self, by: types.CodeType) -> None:
        """Note that a loop of the program takes all items, where they are there once."""

    def run(self, body: Callable[[Any], None], k: Any) -> None:
        """Run the body of a loop for the item at a position."""
        body(self.item(k))

    def __len__(self) -> int:
        return operator.index(self.length)

    def __getitem__(self, k: Any) -> Any:
        return self.item(k)


class Once(Items):
    """Items of an iterator, which are there once; it takes them from `others`.

    What takes them by another loop than the first, or in another one than that which made them, runs as it is written.
    """

    def __init__(
        self,
        length: Any,
        item: Callable[[Any], Any],
        plain: Callable[[], Iterator[Any]],
        batches: Sequence[Any] = (),
        others: Sequence[Any] = (),
        arrays: Sequence[Any] = (),
    ) -> None:
        super().__init__(length, item, plain, batches)
        self._arrays = arrays  # that its items are copies of
        self._others = [x for x in others if isinstance(x, Once)]
        self._taken_by: types.CodeType | None = None
        self._iterator: Iterator[Any] | None = None
        self._depth = _depth()

    def __iter__(self) -> Iterator[Any]:
        self._check()
        if self._iterator is None:
            self._iterator = self._plain()
        return self._iterator

    def __next__(self) -> Any:
        return next(iter(self))

    def _check(self) -> None:
        if self._taken_by is not None:
            raise NotKept(self._taken_by, "an iterator that it runs over is used later, too")
        if self._depth != _depth() and (session := reading.session()) is not None:
            raise NotKept(session.frames[-1].code, "it goes on with an iterator that is made outside of it")

    @property
    def is_new(self) -> bool:
        """True if nothing took an item yet."""
        self._check()
        return self._iterator is None and all(x.is_new for x in self._others)

    def taken(self, by: types.CodeType) -> None:
        """Note that a loop of the program takes all items."""
        self._taken_by = by
        for x in self._arrays:
            memory_of(x).frozen = NotKept(by, "an array that it runs over in a chain is written to")
        for x in self._others:
            x.taken(by)


class Sifted(Once):
    """Iterator of a value for each item that passes a test; the first one that does not may be the end."""

    def __init__(self, of: Items, value: Callable[[Any], Any], passes: Callable[[Any], Any], *, ends: bool) -> None:
        self.of, self.value, self.passes, self.ends = of, value, passes, ends
        super().__init__(of.length, of.item, self._passing, others=[of])

    def _passing(self) -> Iterator[Any]:
        for x in self.of:
            if self.passes(x):
                yield self.value(x)
            elif self.ends:
                return

    def __len__(self) -> int:
        raise TypeError("object of type 'filter' has no len()")


class Yielded(Items):
    """Items of a generator that was run to its end. `check` raises if what it read is changed by an iteration."""

    def __init__(self, items: Any, check: Callable[[], None]) -> None:
        super().__init__(items.length, items.item, self._checked)
        self._items, self._check = items, check

    def _checked(self) -> Iterator[Any]:
        for x in self._items:
            yield x
            self._check()

    def run(self, body: Callable[[Any], None], k: Any) -> None:
        """Run the body of a loop for the item at a position."""
        super().run(body, k)
        self._check()


def _depth() -> int:
    """Return the number of loops and branches around, and 0 outside of traces."""
    session = reading.session()
    return len(session.frames) if session is not None else 0


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
        return None if type(x) is Sifted or (type(x) is Once and not x.is_new) else x
    if has_type(own := getattr(x, "items", None), Items):  # of a list that a loop made
        return own
    if has_type(x, builtins.range):
        return Items(len(x), lambda k: x.start + k * x.step, lambda: iter(x))
    return _rows_of(x)


def _rows_of(x: Any) -> Items | None:
    """Return the rows of an array, None for other objects and arrays without axes."""
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
        return range_of([item(k) for k in builtins.range(length)])
    return Range(length, item, lambda: iter(builtins.range(*map(operator.index, ends))))


class Range(Items):
    """Items of a range whose ends are open, which NumPy takes for an array."""

    def as_operand(self) -> Any:
        """Return the array of the items."""
        return FUNCTIONS["asarray"](self.item(FUNCTIONS["arange"](self.length)))

    def __getitem__(self, k: Any) -> Any:
        if has_type(k, slice):
            return self._part(k)
        k = k + self.length if k < 0 else k
        if not 0 <= k < self.length:
            raise IndexError("range object index out of range")
        return self.item(k)

    def _part(self, k: slice) -> Range:
        length = self.length
        if not isinstance(length, SymbolicSize):
            return range_of([self.item(i) for i in builtins.range(operator.index(length))[k]])
        ends = slice(*[None if x is None else size_of(x) for x in (k.start, k.stop, k.step)])
        first, count, step = [symdim(x, length.scope) for x in slice_bounds(context_of("range"), ends, length.expr)]
        item = lambda i: self.item(first + i * step)
        return Range(count, item, lambda: map(item, builtins.range(operator.index(count))))


def range_of(items: list[Any]) -> Range:
    """Return the items of a range, all of them known."""
    return Range(len(items), items.__getitem__, lambda: iter(items))


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
    if items is None:
        return builtins.enumerate(x, start)
    plain = lambda: builtins.enumerate(items, start)
    return Once(items.length, lambda k: (k + start, items.item(k)), plain, items.batches, [items])


def reversed_(x: Any) -> Any:
    """Return `reversed(x)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    if items is None:
        return builtins.reversed(x)
    last = lambda k: items.item(items.length - 1 - k)
    plain = lambda: map(last, builtins.range(operator.index(items.length)))
    return Once(items.length, last, plain)


def pairwise_(x: Any) -> Any:
    """Return `itertools.pairwise(x)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    if items is None:
        return itertools.pairwise(x)
    pair = lambda k: (items.item(k), items.item(k + 1))
    return Once(_length(0, items.length - 1, 1), pair, lambda: itertools.pairwise(items), (), [items])


def zip_(*xs: Any, strict: bool = False) -> Any:
    """Return `zip(*xs)`; of open items, the items of one, as many as the shortest has."""
    plain = lambda: builtins.zip(*xs, strict=strict)
    if not any(map(_may_be_open, xs)):
        return plain()
    each = [items for x in xs if (items := items_of(x)) is not None]
    may_be = len(each) == len(xs) and (not strict or all(items.length == each[0].length for items in each[1:]))
    return together(each) if may_be else plain()


def together(each: Sequence[Items]) -> Items:
    """Return the tuples of several items, as many as the shortest has; batches where all have the same number."""
    batches = [batch for items in each for batch in items.batches]
    lengths = [items.length for items in each]
    if batches and all(lengths[0] == n for n in lengths[1:]):
        length = lengths[0]
    else:
        length, batches = functools.reduce(_shorter, lengths), []
    return Once(length, lambda k: tuple([items.item(k) for items in each]), lambda: builtins.zip(*each), batches, each)


def _shorter(a: Any, b: Any) -> Any:
    if a is b or not (is_open(a) or is_open(b)):
        return a if a is b else min(a, b)
    if isinstance(a, Traced) or isinstance(b, Traced):
        return FUNCTIONS["minimum"](a, b)
    return min_dim(a, b)


def map_(function: Any, *xs: Any) -> Any:
    """Return `map(function, *xs)`; of open items, the items of one."""
    run = code_that_is_read().call(function)
    each = [items_of(x) if _may_be_open(x) else None for x in xs]
    if not each or any(items is None for items in each):
        return builtins.map(run, *xs)
    tuples = together([items for items in each if items is not None])
    plain = lambda: builtins.map(run, *xs)
    return Once(tuples.length, lambda k: run(*tuples.item(k)), plain, tuples.batches, [tuples])


def filter_(function: Any, x: Any) -> Any:
    """Return `filter(function, x)`; of open items, the items of one."""
    items = items_of(x) if _may_be_open(x) else None
    run = bool if function is None else code_that_is_read().call(function)
    return builtins.filter(run, x) if items is None else Sifted(items, lambda item: item, run, ends=False)


def takewhile_(function: Any, x: Any) -> Any:
    """Return `itertools.takewhile(function, x)`; of open items, the items of one."""
    items, run = items_of(x) if _may_be_open(x) else None, code_that_is_read().call(function)
    if items is None or isinstance(items, Once):  # it leaves the rest to others
        return itertools.takewhile(run, x)
    return Sifted(items, lambda item: item, run, ends=True)


def starmap_(function: Any, x: Any) -> Any:
    """Return `itertools.starmap(function, x)`; of open items, the items of one."""
    return map_(lambda item: code_that_is_read().call(function)(*item), x)


def islice_(x: Any, *ends: Any) -> Any:
    """Return `itertools.islice(x, *ends)`; of open items, the items of one."""
    plain = lambda: itertools.islice(x, *ends)
    items = items_of(x) if _may_be_open(x) else None
    if items is None or isinstance(items, Once):  # it leaves the rest to others
        return plain()
    first, last, step = [*ends, 1][:3] if len(ends) > 1 else (0, ends[0], 1)
    first, step = first or 0, step or 1
    last = items.length if last is None else _shorter(last, items.length)
    return Once(_length(first, last, step), lambda k: items.item(first + k * step), plain)


def zip_longest_(*xs: Any, fillvalue: Any = None) -> Any:
    """Return `itertools.zip_longest(*xs, fillvalue=fillvalue)`; of vectors whose lengths are open, the items of one."""
    pools: list[Any] = [_pool(x) if isinstance(x, Traced) else None for x in xs]
    are_floats = type(fillvalue) in (int, float) and all(x is not None and x.dtype == np.float64 for x in pools)
    if not are_floats or not any(map(_may_be_open, xs)):  # the filling has the dtype of the array
        return itertools.zip_longest(*xs, fillvalue=fillvalue)
    length, fill = functools.reduce(max_dim, [x.shape[0] for x in pools]), FUNCTIONS["asarray"](float(fillvalue))
    filling = lambda x: FUNCTIONS["broadcast_to"](fill, (length - x.shape[0],))
    padded = [FUNCTIONS["concatenate"]([x, filling(x)]) for x in pools]
    plain = lambda: itertools.zip_longest(*xs, fillvalue=fillvalue)
    return Once(length, lambda k: tuple([x[k] for x in padded]), plain, arrays=xs)


def chain_(*xs: Any) -> Any:
    """Return `itertools.chain(*xs)`; of vectors whose lengths are open, the elements of one."""
    pools = [_pool(x) for x in xs]
    if not any(map(_may_be_open, xs)) or any(not isinstance(x, Traced) for x in pools):
        return itertools.chain(*xs)
    rows, arrays = FUNCTIONS["concatenate"](pools), [x for x in xs if isinstance(x, Traced)]
    return Once(rows.shape[0], lambda k: rows[k], lambda: itertools.chain(*xs), arrays=arrays)


def product_(*xs: Any, repeat: int = 1) -> Any:
    """Return `itertools.product(*xs, repeat=repeat)`; of open items, the items of one."""
    pools = [_pool(x) for x in xs] * repeat
    if not any(map(_may_be_open, xs)) or not pools or any(x is None for x in pools):
        return itertools.product(*xs, repeat=repeat)
    each = [items for items in map(items_of, pools) if items is not None]

    def item(k: Any) -> tuple[Any, ...]:
        parts: list[Any] = []
        for items in reversed(each):
            parts.insert(0, items.item(k % items.length))
            k = k // items.length
        return tuple(parts)

    length = functools.reduce(operator.mul, [items.length for items in each])
    return Once(length, item, lambda: itertools.product(*pools))


def combinations_(x: Any, r: int) -> Any:
    """Return `itertools.combinations(x, r)`; of pairs of open items, the items of one."""
    pool = _pool(x) if _may_be_open(x) else None
    if pool is None or type(r) is not int or r != 2 or (items := items_of(pool)) is None:
        return itertools.combinations(x, r)
    first, second = FUNCTIONS["triu_indices"](items.length, 1)
    pair = lambda k: (items.item(first[k]), items.item(second[k]))
    return Once(items.length * (items.length - 1) // 2, pair, lambda: itertools.combinations(pool, 2))


def ndindex_(*shape: Any) -> Any:
    """Return `np.ndindex(*shape)`; of sizes, the items of one."""
    shape = shape[0] if len(shape) == 1 and has_type(shape[0], tuple) else shape
    return product_(*map(range_, shape)) if any(map(is_open, shape)) else np.ndindex(*shape)


def ndenumerate_(x: Any) -> Any:
    """Return `np.ndenumerate(x)`; of traced arrays, the items of one."""
    if not isinstance(x, Traced):
        return np.ndenumerate(x)
    keys = ndindex_(*x.shape)  # type: ignore[attr-defined]
    pair = lambda key: (key, x[key])  # type: ignore[index]
    if has_type(keys, np.ndindex):
        return map(pair, keys)
    return Once(keys.length, lambda k: pair(keys.item(k)), lambda: map(pair, keys), (), [keys])


def repeat_(x: Any, *times: Any) -> Any:
    """Return `itertools.repeat(x, *times)`; of open times, the items of a loop."""
    if not times or not is_open(times[0]):
        return itertools.repeat(x, *times)
    return Once(_length(0, times[0], 1), lambda k: x, lambda: itertools.repeat(x, operator.index(times[0])))


def _pool(x: Any) -> Any:
    """Return the items that a function takes at once, which no later write changes; None for other objects."""
    is_vector = isinstance(x, Traced) and getattr(x, "is_array", False) and x.meta.rank == 1
    if is_vector or (has_type(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "biufc"):
        return FUNCTIONS["array"](x)
    return x if has_type(x, (Range, builtins.range)) else None


ITERATIONS: dict[Any, Callable[..., Any]] = {
    range: range_, enumerate: enumerate_, reversed: reversed_, zip: zip_, map: map_,
    itertools.pairwise: pairwise_, itertools.starmap: starmap_, itertools.islice: islice_, itertools.chain: chain_,
    filter: filter_, itertools.takewhile: takewhile_, itertools.zip_longest: zip_longest_, itertools.product: product_,
    itertools.combinations: combinations_, itertools.repeat: repeat_,
    np.ndindex: ndindex_, np.ndenumerate: ndenumerate_,
}  # fmt: skip

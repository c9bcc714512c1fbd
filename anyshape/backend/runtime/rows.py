"""Rows of a batch whose examples choose between branches: which choose each, and their results at their positions.

Checkpoint slots: carries of a loop that are held, from which the trips between them are made again.

While a loop runs, nobody knows how many trips are to come. Which slots are filled follows "Minimal repetition dynamic
checkpointing algorithm for unsteady adjoint calculation" (Q. Wang, P. Moin, G. Iaccarino, 2009). On the way back the
number of trips is known, and slots are filled as in "Algorithm 799: revolve" (A. Griewank, A. Walther, 2000).

Pieces of joined arrays that the trips of a loop read, and results of trips, stacked or joined.

Live bytes of a run, counted while it goes on, where no bound of them is known before.

A run that counts has one `LiveBytes`. Bodies that kernels run, such as the trips of a rerun, count with it.
"""

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import comb, inf
from typing import Any

import numpy as np

from anyshape.errors import MemoryLimitError, RaggedBatchError, ShapeError

_ADVICE = "let all branches give results of equal sizes"


class Rows:
    """Rows of one batch, in their order, and what the branches gave for them so far."""

    __slots__ = ("chosen", "count", "index", "is_whole", "positions", "totals")

    def __init__(self, index: np.ndarray, count: int, totals: Sequence[bool]) -> None:
        self.index, self.count, self.totals, self.positions = index, count, totals, index
        self.chosen: list[Any] = [None] * len(totals)
        self.is_whole: bool = False

    def choose(self, branch: int) -> bool:
        """Find the rows that choose a branch; return whether there are any."""
        index, last = self.index, self.count - 1
        if index.dtype.kind == "b":
            mask = index if branch else ~index
        elif not last:
            mask = np.ones(len(index), bool)
        else:
            mask = index <= 0 if not branch else index >= last if branch == last else index == branch
        self.positions = np.flatnonzero(mask)
        self.is_whole = len(self.positions) == len(index)
        return len(self.positions) > 0

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the chosen rows of an operand."""
        return x if self.is_whole else x[self.positions]

    def put(self, results: Sequence[Any]) -> None:
        """Put the results for the chosen rows at their positions, and add up totals."""
        for i, (result, is_total) in enumerate(zip(results, self.totals, strict=True)):
            before = self.chosen[i]
            if is_total or self.is_whole:
                self.chosen[i] = result if before is None else before + result
                continue
            shape = (len(self.index), *result.shape[1:])
            if before is None:
                self.chosen[i] = before = np.empty(shape, result.dtype)
            if before.shape != shape:
                sizes: dict[tuple[int, ...], tuple[int, ...]] = {
                    (int(self.positions[0]),): result.shape[1:],
                    (self._other(),): before.shape[1:],
                }
                raise RaggedBatchError("cond", sizes, advice=_ADVICE)
            before[self.positions] = result

    def _other(self) -> int:
        """Return the first row that another branch has."""
        rows = np.ones(len(self.index), bool)
        rows[self.positions] = False
        return int(np.flatnonzero(rows)[0])

    def results(self, kinds: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the results; where there are no rows, zeros of these dtypes and shapes."""
        return self.chosen if len(self.index) else [np.zeros(shape, dtype) for dtype, shape in kinds]


NO_TRIP = -1
SLOT_BYTES = 96  # of Python's objects for each slot, at most: tuples of its trip, level and row
Carries = Sequence[Any]


class Slots:
    """Slots of a loop that runs, each with the carries before a trip. Carries that change size stand in lists.

    Each slot has a level. A slot may be given up once a later one has a higher level.
    """

    def __init__(self, count: int, carries: Carries, changes: Sequence[bool]) -> None:
        self.trips = np.full(count, NO_TRIP)
        self.stores = [
            [np.empty(0, np.asarray(x).dtype)] * count if flag else np.empty((count, *np.shape(x)), np.asarray(x).dtype)
            for x, flag in zip(carries, changes, strict=True)
        ]
        self.ranks: list[int] = [np.ndim(x) for x in carries]
        self.used: int = 0
        self.levels: list[tuple[float, int]] = []  # of slots that are needed, none above an earlier one, with their row
        self.spare: list[int] = []  # rows of slots that may be given up

    def offer(self, trip: int, *carries: Any) -> None:
        """Take the carries before a trip, if a slot may hold them. Trips are offered in their order."""
        if self.used < len(self.trips):
            level, row = (0.0 if self.used else inf), self.used
            self.used += 1
        elif self.spare:
            level, row = 0.0, self.spare.pop()
        elif len(self.levels) > 1:
            level, row = self.levels.pop()
            level += 1
            while self.levels[-1][0] < level:
                self.spare.insert(0, self.levels.pop()[1])  # the latest is given up first
        else:
            return  # the only slot holds the first carries
        self.levels.append((level, row))
        self.trips[row] = trip
        for store, x in zip(self.stores, carries, strict=True):
            store[row] = np.array(x) if isinstance(store, list) else x

    def arrays(self) -> list[np.ndarray]:
        """Return the arrays that hold carries which keep their sizes."""
        return [store for store in self.stores if isinstance(store, np.ndarray)]

    def results(self) -> list[Any]:
        """Return the trip of each slot, then the carries: stacked, or joined with the shape of each."""
        parts: list[Any] = [self.trips]
        for store, rank in zip(self.stores, self.ranks, strict=True):
            if isinstance(store, list):
                shapes = [
                    x.shape if trip != NO_TRIP else (0,) * rank for x, trip in zip(store, self.trips, strict=True)
                ]
                parts += [np.concatenate([x.ravel() for x in store]), np.array(shapes, np.int64)]
            else:
                parts.append(store)
        return parts


class FilledSlots:
    """Slots that a loop has filled, on the way back."""

    def __init__(self, trips: np.ndarray, parts: Sequence[Any], changes: Sequence[bool], owned: bool) -> None:
        """Take what `Slots` gives. Where it is `owned`, free slots are filled in place."""
        remaining = iter(parts)
        self.stores = []
        for flag in changes:
            part = next(remaining)
            self.stores.append(_pieces(part, next(remaining)) if flag else part if owned else part.copy())
        filled = [row for row in np.argsort(trips, kind="stable").tolist() if trips[row] != NO_TRIP]
        self.held: list[tuple[int, Any]] = [(int(trips[row]), row) for row in filled]  # by trip
        self.free: list[int] = [row for row in range(len(trips)) if trips[row] == NO_TRIP]

    def add(self, trip: int, carries: Carries) -> None:
        """Fill a free slot with the carries before a trip later than all that are held."""
        row = self.free.pop()
        self.held.append((trip, row))
        for store, x in zip(self.stores, carries, strict=True):
            store[row] = np.array(x) if isinstance(store, list) else x

    def last(self) -> tuple[int, Carries]:
        """Return the last trip that is held, and the carries before it."""
        trip, row = self.held[-1]
        return trip, [np.array(store[row]) for store in self.stores]

    def drop_last(self) -> None:
        """Free the slot of the last trip."""
        self.free.append(self.held.pop()[1])


def _pieces(joined: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    """Return the arrays of these shapes whose elements stand one after the other."""
    ends = np.cumsum(shapes.prod(axis=1)).tolist()
    return [joined[a:b].reshape(s) for a, b, s in zip([0, *ends], ends, shapes.tolist(), strict=False)]


def from_the_last(
    count: int, slots: FilledSlots, advance: Callable[[int, Carries], Carries]
) -> Iterator[tuple[int, Carries]]:
    """Give each of `count` trips with the carries before it, from the last trip to the first.

    `advance` gives the carries after a trip. Free slots are filled on the way, so that fewest trips are made again.
    """
    for trip in range(count - 1, -1, -1):
        at, carries = slots.last()
        while at < trip:
            free = len(slots.free)
            end = at + stride(trip + 1 - at, free + 1) if free else trip
            for i in range(at, end):
                carries = advance(i, carries)
            at = end
            if free:
                slots.add(at, carries)
        if slots.held[-1][0] == trip:
            slots.drop_last()
        yield trip, carries


def stride(length: int, slots: int) -> int:
    """Return after how many of `length` trips the next slot is filled, so that fewest trips are made again.

    There are this many slots, with the one that holds the first trip.
    """
    repeats = 0
    while comb(slots + repeats, slots) < length:
        repeats += 1
    least = comb(slots + repeats - 2, slots) if repeats > 1 else 0
    return min(max(1, least, length - comb(slots + repeats - 1, slots - 1)), length - 1)


def pieces(joined: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Return the parts of a joined array, of as many rows as the lengths say."""
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(joined) or (len(lengths) and lengths.min() < 0):
        why = f"the lengths of pieces add up to {ends[-1] if ends else 0}, and there are {len(joined)} rows"
        raise ShapeError("scan", why, (), None, "let the lengths be those of the pieces that were joined")
    return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def mask_of(trips: int) -> np.ndarray:
    """Return the mask of so many trips, which is true for each: one element stands for all."""
    return np.broadcast_to(np.True_, trips)


def stacked(parts: Sequence[Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return arrays of one shape as one array, with an axis for the trips in front."""
    result = np.empty((len(parts), *shape), dtype)
    if parts and shape:
        np.stack(parts, out=result)
    elif parts:
        result[...] = parts
    return result


def joined(parts: Sequence[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return pieces one after the other in one array; `shape` is that of a row."""
    return np.concatenate(parts) if parts else np.empty((0, *shape), dtype)


def check_ends(carries: Sequence[Any], ends: Sequence[tuple[int, ...]]) -> None:
    """Raise ShapeError unless the last carries have these shapes."""
    for x, shape in zip(carries, ends, strict=False):
        if np.shape(x) != shape:
            why = f"a carry ends with the shape {np.shape(x)} where one of the shape {shape} is needed"
            raise ShapeError("scan", why, (), None, "let tangents have the sizes of their values")


def owned(carries: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Return carries as arrays of their own: a loop may give an operand, a view, or one array twice.

    Later steps may write into what a loop gives.
    """
    taken = {id(x) for x in operands}
    result = []
    for x in carries:
        is_own = not isinstance(x, np.ndarray) or (x.base is None and id(x) not in taken)
        result.append(x if is_own else x.copy())
        taken.add(id(x))
    return result


class _Held(weakref.ref[np.ndarray]):
    """Reference to an array that is counted until it dies."""

    __slots__ = ("key", "nbytes")

    key: int
    nbytes: int


class LiveBytes:
    """Count of the bytes of arrays that a run has made and that still live.

    Memory that views share counts once, and that of arguments and constants not at all. MemoryLimitError refuses more
    than `limit` bytes.
    """

    def __init__(self, program: str, limit: int, arguments: Sequence[Any]) -> None:
        self.program, self.limit, self.now = program, limit, 0
        self.held: dict[int, _Held] = {}
        self.outside = {id(_owner(x)): x for x in arguments if isinstance(x, np.ndarray)}

    def add(self, *values: Any) -> None:
        """Count the new arrays among these values."""
        for x in values:
            if not isinstance(x, np.ndarray):
                continue
            owner = _owner(x)
            if (key := id(owner)) in self.held or key in self.outside:
                continue
            held = self.held[key] = _Held(owner, self._free)
            held.key, held.nbytes = key, owner.nbytes
            self.now += owner.nbytes
        if self.now > self.limit:
            self.require(0)

    def _free(self, held: _Held) -> None:
        self.now -= held.nbytes
        del self.held[held.key]

    def require(self, more: int) -> None:
        """Raise MemoryLimitError if so many further bytes exceed the limit."""
        if self.now + more > self.limit:
            raise MemoryLimitError(self.program, None, self.limit, "", {}, counted=self.now + more)

    def stacked(self, parts: Sequence[Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return arrays of one shape as one array; see `trips.stacked`."""
        self.require(len(parts) * math.prod(shape) * dtype.itemsize)
        return stacked(parts, dtype, shape)

    def joined(self, parts: Sequence[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return pieces one after the other in one array; see `trips.joined`."""
        self.require(sum(part.nbytes for part in parts))
        return joined(parts, dtype, shape)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return a new array that is counted from now on."""
        self.require(math.prod(shape) * dtype.itemsize)
        result = np.empty(shape, dtype)
        self.add(result)
        return result


def _owner(x: np.ndarray) -> np.ndarray:
    """Return the array that holds the memory of an array."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


_CURRENT = threading.local()


def current() -> LiveBytes | None:
    """Return the count of the run of this thread, None where it does not count."""
    return getattr(_CURRENT, "count", None)


def add(*values: Any) -> None:
    """Count the new arrays among these values, if the run of this thread counts."""
    if (count := current()) is not None:
        count.add(*values)


@contextmanager
def counting(count: LiveBytes) -> Iterator[None]:
    """Count what plans that this thread runs in the block make."""
    before, _CURRENT.count = current(), count
    try:
        yield
    finally:
        _CURRENT.count = before
        count.held.clear()  # results live on, uncounted

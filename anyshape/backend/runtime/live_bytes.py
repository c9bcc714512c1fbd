"""Live bytes of a run, counted while it goes on, where no bound of them is known before.

A run that counts has one `LiveBytes`. Bodies that kernels run, such as the trips of a rerun, count with it.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from anyshape.backend.runtime import trips
from anyshape.errors import MemoryLimitError


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

    outside: dict[int, np.ndarray]
    program: str
    limit: int
    now: int

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
            key = id(owner)
            if key in self.held or key in self.outside:
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
        return trips.stacked(parts, dtype, shape)

    def joined(self, parts: Sequence[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Return pieces one after the other in one array; see `trips.joined`."""
        self.require(sum(part.nbytes for part in parts))
        return trips.joined(parts, dtype, shape)

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
    count = current()
    if count is not None:
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

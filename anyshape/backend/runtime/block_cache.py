"""Block cache: memory blocks of large results, reused once nobody holds them.

Fresh memory is slow. The system clears its pages first, and the C library returns large arrays to the system as soon
as they are free. A new array costs about as much as adding two existing ones.

The results of fusion groups therefore live in cached blocks. A result references its block, and so does a view of a
view. A block that only the cache references is handed out again. Each thread has its own cache, bounded in bytes and
in number of blocks.

Smaller arrays come from the heap of the C library, which `keep_heap_end` makes larger.

Shape-constant cache: results of shape-only steps, keyed by the sizes of a call.

A generated function makes its values at the first call with some sizes. `anyshape.config.shape_cache_bytes` bounds the
bytes that all functions hold together, and the oldest entry is evicted first. The arrays are read-only. Values whose
making raises a NumPy warning are not cached, so that every call warns; the cache remembers that they warn.
"""

import functools
import math
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.support.fork_lock import Lock

MIN_BYTES = 1 << 18  # of one array; the C library itself reuses the memory of smaller ones
MAX_THREAD_BYTES = 1 << 27  # that a thread caches, blocks in use included
MAX_BLOCKS = 64  # that a thread caches
SLACK = 4  # a block serves a request that fills at least 1 - 1 / SLACK of it

HEAP_BYTES = 1 << 24  # glibc then takes smaller arrays from the heap, and leaves twice as much at its end


@functools.cache
def keep_heap_end() -> None:
    """Make glibc keep free memory at the end of its heap.

    By default glibc returns it to the system from 128 kB on. Freeing a large array raises that threshold to twice the
    size of the array. Fresh pages take 1.4 us each, a fifth of the time of attention over 300 tokens.

    Calling it from several threads is harmless, and a forked process inherits the threshold.
    """
    np.empty(HEAP_BYTES, np.uint8)  # freed at once; its pages are never touched


class _ThreadBlocks(threading.local):
    """Blocks of one thread, the most recently used last.

    `busy` is set during a request: a signal handler or a finalizer may make another one meanwhile.
    """

    def __init__(self) -> None:
        self.blocks: list[np.ndarray] = []
        self.held_bytes, self.busy = 0, False

    def take(self, size: int) -> np.ndarray:
        """Return a block of at least `size` bytes that nobody references."""
        blocks = self.blocks
        for i in range(len(blocks) - 1, -1, -1):
            if size <= blocks[i].nbytes <= size + size // (SLACK - 1) and _references(blocks, i) == _UNUSED:
                blocks.append(blocks.pop(i))
                return blocks[-1]
        try:
            block = np.empty(size, np.uint8)
        except MemoryError:
            self.clear()
            block = np.empty(size, np.uint8)
        blocks.append(block)
        self.held_bytes += size
        while self.held_bytes > MAX_THREAD_BYTES or len(blocks) > MAX_BLOCKS:
            self.held_bytes -= blocks.pop(0).nbytes  # a result that references it keeps it alive
        return block

    def clear(self) -> None:
        """Drop every block."""
        self.blocks.clear()
        self.held_bytes = 0


def _references(blocks: list[np.ndarray], i: int) -> int:
    return sys.getrefcount(blocks[i])


_UNUSED = _references([np.empty(1, np.uint8)], 0)
_HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()  # without it another thread may take a reference meanwhile
_BLOCKS = _ThreadBlocks()


def clear() -> None:
    """Free the cached memory of this thread that nobody references."""
    _BLOCKS.clear()


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an uninitialised array, in a cached block if it is large."""
    if (size := dtype.itemsize * math.prod(shape)) < MIN_BYTES or _BLOCKS.busy or not _HAS_GIL:
        return np.empty(shape, dtype)
    _BLOCKS.busy = True
    try:
        return np.ndarray(shape, dtype, _BLOCKS.take(size))
    except MemoryError:
        return np.empty(shape, dtype)  # its error names the shape and dtype of the array
    finally:
        _BLOCKS.busy = False


MAX_CALL_BYTES = 1 << 23  # of one call; larger shape-only values are made at each call, in tiles where that pays
ENTRY_BYTES = 500  # estimate of the objects that hold the values of one entry

Sizes = tuple[int, ...]
Values = tuple[Any, ...]
_WARNS: Values = ()  # stands for values that are not cached because making them warns


class ShapeConstants:
    """Shape constants of one generated function; `make` computes them from sizes."""

    def __init__(self, make: Callable[..., Values]) -> None:
        self.make = make
        self.values: dict[Sizes, Values] = {}

    def new(self, sizes: Sizes) -> Values:
        """Make the values for sizes that `values` has no usable entry for, and cache them unless making them warns."""
        if self.values.get(sizes) == _WARNS:
            return self.make(*sizes)
        try:
            with np.errstate(all="raise"):
                values = self.make(*sizes)
        except ArithmeticError:
            CACHE.add(self, sizes, _WARNS)
            return self.make(*sizes)
        for value in values:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        CACHE.add(self, sizes, values)
        return values


class ShapeConstantCache:
    """Entries of all functions, oldest first, and the bytes that they hold."""

    def __init__(self) -> None:
        self.lock: Lock = Lock()
        self.entries: OrderedDict[tuple[ref[ShapeConstants], Sizes], int] = OrderedDict()
        self.held_bytes: int = 0

    def add(self, owner: ShapeConstants, sizes: Sizes, values: Values) -> None:
        """Add an entry, then evict the oldest ones until the bound holds."""
        size = ENTRY_BYTES + sum(_owned_bytes(v) for v in values)
        with self.lock:
            if sizes in owner.values:
                return
            owner.values[sizes] = values
            self.entries[ref(owner), sizes] = size
            self.held_bytes += size
            while self.held_bytes > config.shape_cache_bytes and self.entries:
                self._evict_oldest()
            if not self.entries:
                self.held_bytes = 0  # corrects the sum after Ctrl-C or a fork between an entry and its bytes

    def clear(self) -> None:
        """Evict every entry."""
        with self.lock:
            while self.entries:
                self._evict_oldest()

    def _evict_oldest(self) -> None:
        (reference, sizes), size = self.entries.popitem(last=False)
        self.held_bytes -= size
        if (owner := reference()) is not None:
            owner.values.pop(sizes, None)


def _owned_bytes(value) -> int:
    """Bytes of the memory that a value keeps alive: of the array that a view is of."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return int(getattr(value, "nbytes", 0))


CACHE = ShapeConstantCache()

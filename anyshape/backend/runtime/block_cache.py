"""Memory of large results that is used again as soon as nobody holds it.

The system gives fresh memory in pages that it clears first, and the C library hands large arrays back to it as soon as
they are free: a new array costs about as much as a sum of two that there are. So the memory of the results of groups is
kept: an array that is given out holds its block, as do views of views, and a block that has no holder but this file is
given out again. Each thread keeps its own, bounded in bytes and in number.

Smaller arrays come from the heap of the C library. That of glibc gives its end back too, when 128 kB of it are free,
unless the program has let go of something larger: it then leaves twice as much as that. Fresh pages take 1.4 us each,
a fifth of the time of attention over 300 tokens, so something larger is let go of when this is imported.
"""

from __future__ import annotations

import math
import sys
import threading

import numpy as np

LEAST = 1 << 18  # bytes; memory for less is kept by the C library
MOST = 1 << 27  # bytes that a thread keeps, those that are in use among them
COUNT = 64  # blocks that it keeps, at most
SPARE = 4  # a block is taken for what has at least 1 - 1 / SPARE of its bytes

UNUSED = 1 << 24  # bytes: the heap may leave twice as many at its end, and takes arrays that are smaller

np.empty(UNUSED, np.uint8)  # of pages that nobody touches


class _Kept(threading.local):
    """The blocks of a thread; those used last are last. `busy`: a signal, or a finalizer, may call in between."""

    def __init__(self) -> None:
        self.blocks: list[np.ndarray] = []
        self.held, self.busy = 0, False

    def take(self, size: int) -> np.ndarray:
        """A block of at least so many bytes that nobody holds."""
        blocks = self.blocks
        for i in range(len(blocks) - 1, -1, -1):
            if size <= blocks[i].nbytes <= size + size // (SPARE - 1) and _holders(blocks, i) == _ALONE:
                blocks.append(blocks.pop(i))
                return blocks[-1]
        try:
            block = np.empty(size, np.uint8)
        except MemoryError:
            self.forget()
            block = np.empty(size, np.uint8)
        blocks.append(block)
        self.held += size
        while self.held > MOST or len(blocks) > COUNT:
            self.held -= blocks.pop(0).nbytes  # whoever holds it keeps it
        return block

    def forget(self) -> None:
        """Keep nothing."""
        self.blocks.clear()
        self.held = 0


def _holders(blocks: list[np.ndarray], i: int) -> int:
    return sys.getrefcount(blocks[i])


_ALONE = _holders([np.empty(1, np.uint8)], 0)
_COUNTS = getattr(sys, "_is_gil_enabled", lambda: True)()  # else another thread may take hold of a block meanwhile
_KEPT = _Kept()


def forget() -> None:
    """Give back the memory that this thread keeps and nobody holds."""
    _KEPT.forget()


def empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array of no particular values."""
    size = dtype.itemsize * math.prod(shape)
    if size < LEAST or _KEPT.busy or not _COUNTS:
        return np.empty(shape, dtype)
    _KEPT.busy = True
    try:
        return np.ndarray(shape, dtype, _KEPT.take(size))
    except MemoryError:
        return np.empty(shape, dtype)  # its error names the array
    finally:
        _KEPT.busy = False

"""Shape-constant cache: results of shape-only steps, keyed by the sizes of a call.

A generated function makes its values at the first call with some sizes. `anyshape.config.shape_cache_bytes` bounds the
bytes that all functions hold together, and the oldest entry is evicted first. The arrays are read-only. Values whose
making raises a NumPy warning are not cached, so that every call warns; the cache remembers that they warn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.support.fork_lock import Lock

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
        owner = reference()
        if owner is not None:
            owner.values.pop(sizes, None)


def _owned_bytes(value: Any) -> int:
    """Bytes of the memory that a value keeps alive: of the array that a view is of."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return int(getattr(value, "nbytes", 0))


CACHE = ShapeConstantCache()

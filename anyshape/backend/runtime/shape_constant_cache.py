"""What depends on the sizes of a call alone, kept for further calls of these sizes.

A function makes it at the first call of its sizes. All that is kept, by all programs, is bounded by
`anyshape.config.kept_bytes`: what was made first goes first. Nothing may write to it. What made NumPy warn is not kept,
so that every call warns; that it did is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.support.fork_lock import Lock

LARGEST = 1 << 23  # bytes that are made for sizes that are kept; for others all is made anew, in tiles where that pays
ENTRY = 500  # bytes of what holds the values, about

Sizes = tuple[int, ...]
Values = tuple[Any, ...]


class ShapeConstants:
    """What is kept for one function that runs a plan; `make` is to be set to what makes it from sizes."""

    def __init__(self) -> None:
        self.values: dict[Sizes, Values] = {}
        self.make: Callable[..., Values] | None = None

    def new(self, sizes: Sizes) -> Values:
        """What is made for sizes of which nothing is kept, or that making it warns, as () tells."""
        assert self.make is not None
        if self.values.get(sizes) == ():
            return self.make(*sizes)
        try:
            with np.errstate(all="raise"):
                values = self.make(*sizes)
        except ArithmeticError:
            TABLE.add(self, sizes, ())
            return self.make(*sizes)
        for value in values:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        TABLE.add(self, sizes, values)
        return values


class Table:
    """The entries of all functions, in the order in which they were made, and the bytes that they hold."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.entries: OrderedDict[tuple[ref[ShapeConstants], Sizes], int] = OrderedDict()
        self.held = 0

    def add(self, kept: ShapeConstants, sizes: Sizes, values: Values) -> None:
        size = ENTRY + sum(_bytes(v) for v in values)
        with self.lock:
            if sizes in kept.values:
                return
            kept.values[sizes] = values
            self.entries[ref(kept), sizes] = size
            self.held += size
            while self.held > config.kept_bytes and self.entries:
                self._drop_first()
            if not self.entries:
                self.held = 0  # also where Ctrl-C or a fork came between an entry and its bytes

    def forget(self) -> None:
        """Keep nothing."""
        with self.lock:
            while self.entries:
                self._drop_first()

    def _drop_first(self) -> None:
        (owner, sizes), size = self.entries.popitem(last=False)
        self.held -= size
        kept = owner()
        if kept is not None:
            kept.values.pop(sizes, None)


def _bytes(value: Any) -> int:
    """Of the memory that a value keeps alive."""
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return int(getattr(value, "nbytes", 0))


TABLE = Table()

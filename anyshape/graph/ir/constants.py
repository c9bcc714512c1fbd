"""Constants of a graph that is built: arrays by reference, unless the function changes them while it is traced.

A program reads the array itself, so that a change between two calls is seen. A change during the trace is another
matter: what was computed before it has read the earlier elements, as it does without a trace.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from anyshape.errors import MutationError
from anyshape.graph.ir.graph import Value
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import user_line
from anyshape.graph.shapes.array_type import tensor

_KEPT = 1 << 16  # bytes of an array whose elements are kept; of a larger one a checksum is


class _Entry(NamedTuple):
    """Constant: its value, its array, and its elements when it was read, if these can change."""

    value: Value
    array: np.ndarray
    elements: bytes | int | None
    where: SourceLine | None = None


def _elements(array: np.ndarray) -> bytes | int | None:
    """Return the bytes of an array, a checksum of many, or None for what nobody can change."""
    if not array.flags.writeable and array.base is None:
        return None
    if array.nbytes <= _KEPT:
        return array.tobytes()
    return zlib.crc32(np.ascontiguousarray(array).data.cast("B"))


class Constants:
    """Constants of one graph, by the identity of their arrays."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._earlier: list[_Entry] = []  # of arrays that changed since

    def value_of(self, array: np.ndarray, *, is_settled: bool) -> tuple[Value, bool]:
        """Return the value of an array with its present elements, and whether it is new.

        An array of a graph that is finished is settled: its elements are not looked at if they are many.
        """
        entry = self._entries.get(id(array))
        if entry is not None and (type(entry.elements) is not bytes or entry.elements == array.tobytes()):
            return entry.value, False
        if entry is not None:
            self._earlier.append(_as_read(entry))
        many = array.nbytes > _KEPT
        elements = None if many and is_settled else _elements(array)
        value = Value(tensor(array.dtype, array.shape))
        self._entries[id(array)] = _Entry(
            value, array, elements, user_line() if many and elements is not None else None
        )
        return value, True

    def pairs(self) -> Iterator[tuple[Value, np.ndarray]]:
        """Return the values with their arrays."""
        return ((entry.value, entry.array) for entry in (*self._entries.values(), *self._earlier))

    def settle(self) -> tuple[tuple[Value, np.ndarray], ...]:
        """Return the values with their arrays as they were read; raise MutationError if one is lost."""
        for key, entry in self._entries.items():
            if entry.elements is not None and entry.elements != _elements(entry.array):
                self._entries[key] = _as_read(entry)
        return tuple(self.pairs())


def _as_read(entry: _Entry) -> _Entry:
    """Return a constant with a read-only copy of the elements that it had when it was read."""
    array = entry.array
    if type(entry.elements) is not bytes:
        problem = f"an array of NumPy of shape {array.shape} is changed after it was read, while the function is traced"
        raise MutationError("", problem, "write to a copy of it, or make it with anyshape.numpy", entry.where)
    copy = np.frombuffer(entry.elements, array.dtype).reshape(array.shape)
    return entry._replace(array=copy, elements=None)

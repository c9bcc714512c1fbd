"""Define the attributes of ndarray that tell of memory, and the flat view.

A value of a program has no memory until the program runs, and then its layout is the program's choice. So these
attributes are refused, and the flat view reads elements in C order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from anyshape.errors import MutationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.arrays.dispatch import NAMESPACE
from anyshape.numpy.arrays.writes import set_flat
from anyshape.numpy.operands.memory import owned
from anyshape.support.true_types import has_type


def _refused(request: str, instead: str) -> UnsupportedFunctionError:
    """Return the error for an attribute that tells of memory."""
    return UnsupportedFunctionError(request, "a traced array has no memory layout", instead, user_line())


def _memory(name: str, instead: str) -> property:
    """Return a property of ndarray that tells of memory."""

    def attribute(self: Any) -> NoReturn:
        raise _refused(f"x.{name}", instead)

    def assign(self: Any, value: Any) -> NoReturn:
        raise MutationError(f"x.{name} = v", "a traced array has no memory layout", instead, user_line())

    attribute.__doc__ = f"Refuse `{name}`, which tells of memory."
    return property(attribute, assign)


_OUTSIDE = "read it from the NumPy array, outside the traced function"


class FlatView:
    """View of the elements of an array in C order, as `x.flat` in NumPy: it is indexed, iterated and measured."""

    __slots__ = ("_next", "base")

    def __init__(self, base: Any) -> None:
        self.base: Any = base
        self._next: Iterator[Any] | None = None

    def __getitem__(self, key: Any) -> Any:
        if has_type(key, tuple) and len(key) == 1:
            key = key[0]
        if has_type(key, tuple) or key is None:
            raise IndexError("unsupported iterator index")
        flat = self.copy()
        if has_type(key, list):
            key = np.asarray(key, None if key else int)
        return flat[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if has_type(key, tuple) and len(key) != 1:
            raise IndexError("unsupported iterator index")
        set_flat(self.base, key, value)

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.copy())

    def __next__(self) -> Any:
        if self._next is None:
            self._next = iter(self)
        return next(self._next)

    def copy(self) -> Any:
        """Return a copy of the elements along one axis."""
        return owned(NAMESPACE["ravel"](self.base), self.base)

    __array__ = copy


class MemoryAttributes:
    """Attributes of ndarray that tell of memory, for the traced array."""

    __slots__ = ()

    strides: property = _memory("strides", "index, transpose and reshape say which elements are read")
    flags: property = _memory("flags", _OUTSIDE)
    base: property = _memory("base", _OUTSIDE)
    data: property = _memory("data", _OUTSIDE)
    ctypes: property = _memory("ctypes", _OUTSIDE)

    @property
    def flat(self) -> FlatView:
        """View of the elements in C order; it is indexed, and iterated where the size is fixed."""
        return FlatView(self)

    @flat.setter
    def flat(self, values: Any) -> None:
        set_flat(self, ..., values)

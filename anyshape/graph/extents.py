"""What is guaranteed of each axis of a value, and the metadata of a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from anyshape.graph import dims
from anyshape.graph.dims import DimVar, Size


@dataclass(frozen=True, slots=True)
class Exact:
    """The axis has exactly this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """The axis has at most this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return f"<={self.size}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known of the size of the axis."""

    def __repr__(self) -> str:
        return "?"


ShapeExtent: TypeAlias = Exact | UpperBound | Unknown


def as_extent(size: Size | ShapeExtent) -> ShapeExtent:
    """A size means exactly that size."""
    return size if isinstance(size, (Exact, UpperBound, Unknown)) else Exact(size)


def exact_size(extent: ShapeExtent) -> Size | None:
    """The size that is guaranteed, or None."""
    return extent.size if isinstance(extent, Exact) else None


def join(a: ShapeExtent, b: ShapeExtent) -> ShapeExtent:
    """The strongest extent that both satisfy: what is known where two control paths meet."""
    if a == b:
        return a
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown()
    return UpperBound(dims.maximum(a.size, b.size))


_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def short_dtype(dtype: np.dtype) -> str:
    """f64, i32, c128, bool: the dtype as programs print it."""
    name = dtype.name
    stem = name.rstrip("0123456789")
    return _SHORT[stem] + name[len(stem) :] if stem in _SHORT else name


@dataclass(frozen=True)
class TensorMeta:
    """The dtype and the extents of a value. Belongs to the value and is derived by the shape rule of its op."""

    dtype: np.dtype
    extents: tuple[ShapeExtent, ...]

    @property
    def rank(self) -> int:
        return len(self.extents)

    @cached_property
    def sizes(self) -> tuple[Size, ...] | None:
        """Every size, when all are exact; None otherwise."""
        found = tuple([e.size for e in self.extents if isinstance(e, Exact)])
        return found if len(found) == len(self.extents) else None

    def named(self) -> list[tuple[DimVar, int]]:
        """The axes whose size is a variable alone."""
        alone = [(dims.as_atom(e.size) if isinstance(e, Exact) else None, i) for i, e in enumerate(self.extents)]
        return [(atom, axis) for atom, axis in alone if isinstance(atom, DimVar)]

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}[{', '.join(map(str, self.extents))}]"


def tensor(dtype: np.dtype, sizes: Sequence[Size | ShapeExtent]) -> TensorMeta:
    """Metadata from a dtype and sizes or extents."""
    return TensorMeta(dtype, tuple([as_extent(s) for s in sizes]))

"""What is guaranteed of each axis of a value, and the metadata of a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import TypeAlias

import numpy as np

from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimVar, Leaf, Size
from anyshape.graph.sizes.polynomials import Monomial
from anyshape.graph.sizes.substitute import leaves_of, substitute_leaves


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
    return UpperBound(expr.maximum(a.size, b.size))


def bind(size: Size, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """The extent that a size means where its leaves have these extents (None: a leaf stands for itself).

    Never stronger than they are: a bound on the leaves gives a bound where the size grows with them, else nothing.
    """
    found = {leaf: extent_of(leaf) for leaf in leaves_of(size)}
    if all(isinstance(e, (Exact, NoneType)) for e in found.values()):
        return Exact(substitute_leaves(size, lambda leaf: exact_size(found[leaf] or Unknown())))
    high = _Limits(found).of(size)[1]
    return Unknown() if high is None else UpperBound(high)


def project(extent: ShapeExtent, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """The strongest extent that can be said without the leaves for which `extent_of` gives an extent."""
    if isinstance(extent, Unknown):
        return extent
    found = bind(extent.size, extent_of)
    return UpperBound(found.size) if isinstance(extent, UpperBound) and isinstance(found, Exact) else found


Limits: TypeAlias = tuple[Size | None, Size | None]


class _Limits:
    """Sizes that are never above, and never below, an expression whose leaves have the given extents."""

    def __init__(self, extents: Mapping[Leaf, ShapeExtent | None]) -> None:
        self.extents = extents

    def of(self, size: Size) -> Limits:
        low: Size | None = 0
        high: Size | None = 0
        for monomial, coefficient in expr.terms_of(size).items():
            below, above = self._monomial(monomial)
            if coefficient < 0:
                below, above = above, below
            low = None if low is None or below is None else expr.add(low, expr.mul(coefficient, below))
            high = None if high is None or above is None else expr.add(high, expr.mul(coefficient, above))
        return low, high

    def _monomial(self, monomial: Monomial) -> Limits:
        if len(monomial) == 1 and monomial[0][1] == 1:
            return self._atom(monomial[0][0])
        low: Size = 1
        high: Size | None = 1
        for atom, power in monomial:
            least = atom.bounds()[0]
            if least is None or least < 0:
                return None, None
            below, above = self._atom(atom)
            if below is None or not _not_negative(below):
                below = least
            low = expr.mul(low, expr.power(below, power))
            high = None if high is None or above is None else expr.mul(high, expr.power(above, power))
        return low, high

    def _atom(self, atom: Atom) -> Limits:
        if isinstance(atom, Call):
            return self._call(atom)
        extent = self.extents[atom]
        if extent is None:
            return expr.from_atom(atom), expr.from_atom(atom)
        if isinstance(extent, Exact):
            return extent.size, extent.size
        return atom.bounds()[0], extent.size if isinstance(extent, UpperBound) else atom.bounds()[1]

    def _call(self, call: Call) -> Limits:
        args = [self.of(a) for a in call.args]
        lows, highs = [a[0] for a in args if a[0] is not None], [a[1] for a in args if a[1] is not None]
        all_low, all_high = len(lows) == len(args), len(highs) == len(args)
        if call.function == "max":
            return expr.maximum(*lows) if lows else None, expr.maximum(*highs) if all_high else None
        if call.function == "min":
            return expr.minimum(*lows) if all_low else None, expr.minimum(*highs) if highs else None
        if call.function == "broadcast":
            return call.limits[0], expr.maximum(*highs) if all_high else None
        by = call.args[1]
        if not isinstance(by, int) or by < 1:
            return call.limits
        if call.function == "mod":
            return 0, by - 1
        (low, high), _ = args
        return None if low is None else expr.floordiv(low, by), None if high is None else expr.floordiv(high, by)


def _not_negative(size: Size) -> bool:
    low = expr.bounds(size)[0]
    return low is not None and low >= 0


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

    @property
    def meta(self) -> TensorMeta:
        """This: a context takes metadata as it takes a value."""
        return self

    @cached_property
    def sizes(self) -> tuple[Size, ...] | None:
        """Every size, when all are exact; None otherwise."""
        found = tuple([e.size for e in self.extents if isinstance(e, Exact)])
        return found if len(found) == len(self.extents) else None

    def named(self) -> list[tuple[DimVar, int]]:
        """The axes whose size is a variable alone."""
        alone = [(expr.as_atom(e.size) if isinstance(e, Exact) else None, i) for i, e in enumerate(self.extents)]
        return [(atom, axis) for atom, axis in alone if isinstance(atom, DimVar)]

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}[{', '.join(map(str, self.extents))}]"


def tensor(dtype: np.dtype, sizes: Sequence[Size | ShapeExtent]) -> TensorMeta:
    """Metadata from a dtype and sizes or extents."""
    return TensorMeta(dtype, tuple([as_extent(s) for s in sizes]))

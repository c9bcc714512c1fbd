"""Array types: the guarantee for each axis of a value (its extent), and `TensorMeta`, dtype and extents together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import TypeAlias

import numpy as np

from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimVar, Leaf, Size, leaves_of
from anyshape.graph.sizes.polynomials import Monomial
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Exact:
    """Axis has exactly this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """Axis has at most this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return f"<={self.size}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Axis may have any size."""

    def __repr__(self) -> str:
        return "?"


ShapeExtent: TypeAlias = Exact | UpperBound | Unknown


def as_extent(size: Size | ShapeExtent) -> ShapeExtent:
    """Return the extent of a size: `Exact`. Extents stay."""
    return size if isinstance(size, (Exact, UpperBound, Unknown)) else Exact(size)


def exact_size(extent: ShapeExtent) -> Size | None:
    """Return the size that the extent guarantees, or None."""
    return extent.size if isinstance(extent, Exact) else None


def bind(size: Size, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """Return the extent of a size whose leaves have extents of their own (None: a leaf stands for itself).

    The result is never stronger than the extents of the leaves. Upper bounds of leaves give an upper bound where the
    size grows with them, and `Unknown` elsewhere.
    """
    extents = {leaf: extent_of(leaf) for leaf in leaves_of(size)}
    if all(isinstance(e, (Exact, NoneType)) for e in extents.values()):
        return Exact(substitute_leaves(size, lambda leaf: exact_size(extents[leaf] or Unknown())))
    high = _LeafBounds(extents).of(size)[1]
    return Unknown() if high is None else UpperBound(high)


def project(extent: ShapeExtent, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """Return the strongest extent without the leaves for which `extent_of` gives an extent."""
    if isinstance(extent, Unknown):
        return extent
    bound = bind(extent.size, extent_of)
    return UpperBound(bound.size) if isinstance(extent, UpperBound) and isinstance(bound, Exact) else bound


Bounds: TypeAlias = tuple[Size | None, Size | None]  # lower and upper; None where there is none


class _LeafBounds:
    """Symbolic lower and upper bounds of expressions, from the extents of their leaves."""

    def __init__(self, extents: Mapping[Leaf, ShapeExtent | None]) -> None:
        self.extents = extents

    def of(self, size: Size) -> Bounds:
        """Return bounds of a polynomial, added up over its terms."""
        low: Size | None = 0
        high: Size | None = 0
        for monomial, coefficient in expr.terms_of(size).items():
            below, above = self._monomial(monomial)
            if coefficient < 0:
                below, above = above, below
            low = None if low is None or below is None else expr.add(low, expr.mul(coefficient, below))
            high = None if high is None or above is None else expr.add(high, expr.mul(coefficient, above))
        return low, high

    def _monomial(self, monomial: Monomial) -> Bounds:
        if len(monomial) == 1 and monomial[0][1] == 1:
            return self._atom(monomial[0][0])
        low: Size = 1
        high: Size | None = 1
        for atom, power in monomial:
            least = atom.interval[0]
            if least is None or least < 0:
                return None, None
            below, above = self._atom(atom)
            if below is None or not _is_nonnegative(below):
                below = least
            low = expr.mul(low, expr.power(below, power))
            high = None if high is None or above is None else expr.mul(high, expr.power(above, power))
        return low, high

    def _atom(self, atom: Atom) -> Bounds:
        if isinstance(atom, Call):
            return self._call(atom)
        extent = self.extents[atom]
        if extent is None:
            return expr.from_atom(atom), expr.from_atom(atom)
        if isinstance(extent, Exact):
            return extent.size, extent.size
        return atom.interval[0], extent.size if isinstance(extent, UpperBound) else atom.interval[1]

    def _call(self, call: Call) -> Bounds:
        lows, highs = zip(*[self.of(argument) for argument in call.args])
        if call.function == "max":
            return _of_known(expr.maximum, lows), _of_all(expr.maximum, highs)
        if call.function == "min":
            return _of_all(expr.minimum, lows), _of_known(expr.minimum, highs)
        if call.function == "broadcast":
            return call.interval[0], _of_all(expr.maximum, highs)
        return _quotient_bounds(call, lows[0], highs[0])


def _quotient_bounds(call: Call, low: Size | None, high: Size | None) -> Bounds:
    """Return bounds of a quotient or remainder whose dividend has these bounds."""
    divisor = call.args[1]
    if not isinstance(divisor, int) or divisor < 1:
        return call.interval
    if call.function == "mod":
        return 0, divisor - 1
    return None if low is None else expr.floordiv(low, divisor), None if high is None else expr.floordiv(high, divisor)


def _of_known(extremum: Callable[..., Size], sizes: Sequence[Size | None]) -> Size | None:
    """Return the extremum of the bounds that exist."""
    known = [size for size in sizes if size is not None]
    return extremum(*known) if known else None


def _of_all(extremum: Callable[..., Size], sizes: Sequence[Size | None]) -> Size | None:
    """Return the extremum of the bounds, or None where one is missing."""
    known = [size for size in sizes if size is not None]
    return extremum(*known) if len(known) == len(sizes) else None


def _is_nonnegative(size: Size) -> bool:
    low = expr.bounds(size)[0]
    return low is not None and low >= 0


_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def short_dtype(dtype: np.dtype) -> str:
    """Return the name of a dtype as programs print it: f64, i32, c128, bool."""
    name = dtype.name
    stem = name.rstrip("0123456789")
    return _SHORT[stem] + name[len(stem) :] if stem in _SHORT else name


@dataclass(frozen=True)
class TensorMeta:
    """Array type of a value: dtype and extents, derived by the shape rule of its op."""

    dtype: np.dtype
    extents: tuple[ShapeExtent, ...]

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.extents)

    @property
    def meta(self) -> TensorMeta:
        """Array type itself, so that a context takes array types like values."""
        return self

    @cached_property
    def sizes(self) -> tuple[Size, ...] | None:
        """Sizes of all axes, or None unless every extent is exact."""
        exact = tuple([e.size for e in self.extents if isinstance(e, Exact)])
        return exact if len(exact) == len(self.extents) else None

    def variable_axes(self) -> list[tuple[DimVar, int]]:
        """Return (variable, axis) for each axis whose size is a single dimension variable."""
        atoms = [expr.as_atom(e.size) if isinstance(e, Exact) else None for e in self.extents]
        return [(atom, axis) for axis, atom in enumerate(atoms) if isinstance(atom, DimVar)]

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}[{', '.join(map(str, self.extents))}]"


def tensor(dtype: np.dtype, sizes: Sequence[Size | ShapeExtent]) -> TensorMeta:
    """Return the array type of a dtype and sizes or extents."""
    return TensorMeta(dtype, tuple([as_extent(s) for s in sizes]))

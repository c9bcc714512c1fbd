"""Classes of equal sizes: what is proved of one size holds for all sizes of its class."""

from __future__ import annotations

import contextlib

from anyshape.errors import SizeLimitError
from anyshape.graph.prover.solvers.equalities import occurs
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, Size
from anyshape.graph.sizes.substitute import Replace, substitute
from anyshape.graph.sizes.symbols import memoised
from anyshape.support.lazy_namedtuple import NamedTuple


class Clamped(NamedTuple):
    """Size as `max(core - offset, 0)`, where the core has no constant: what a slice leaves of an axis."""

    core: DimExpr
    offset: int

    def less(self, by: int) -> Size:
        """Return this size less a number, at least 0."""
        return expr.maximum(expr.sub(self.core, self.offset + by), 0)


class EqualClasses:
    """Union-find over sizes. The shortest size of a class stands for it.

    Sizes that divide by a size are left out, as they are undefined where the others are not. Where what two slices
    leave is equal, so is what longer slices leave: `max(n - 2, 0) == max(m - 2, 0)` proves the same of 3, 4 and so on.
    """

    def __init__(self) -> None:
        self.has_joined: bool = False  # else each size stands for itself
        self._shorter: dict[Size, Size] = {}  # an equal size, which is shorter or was first
        self._slices: dict[
            DimExpr, tuple[int, Clamped]
        ] = {}  # by a core: from which offset on, and what equals it there
        self._order: dict[Size, int] = {}  # in which sizes were seen
        self._joined: list[tuple[Size, Size]] = []  # pairs that the tables above do not have yet

    def copy(self) -> EqualClasses:
        """Return a copy that grows on its own."""
        self._enter_joined()
        new = EqualClasses()
        new.has_joined = self.has_joined
        new._shorter, new._slices, new._order = dict(self._shorter), dict(self._slices), dict(self._order)
        return new

    def shortest(self, size: Size) -> Size:
        """Return the shortest size of the class."""
        if self._joined:
            self._enter_joined()
        first = size
        while (shorter := self._next(size)) is not None:
            size = shorter
        if first is not size:
            self._shorter[first] = size
        return size

    def _next(self, size: Size) -> Size | None:
        """Return a size of the class that is shorter or was first, if there is one."""
        shorter = self._shorter.get(size)
        if shorter is None and self._slices:
            clamped = _clamped(size)
            start, equal = self._slices.get(clamped.core, (0, None)) if clamped is not None else (0, None)
            if clamped is not None and equal is not None and clamped.offset >= start:
                shorter = equal.less(clamped.offset - start)
                return shorter if self._rank(shorter) < self._rank(size) else None
        return shorter

    def shortest_inside(self, size: Size) -> Size:
        """Return the shortest size of the class; that of a broadcast has the shortest of its sizes in their places."""
        if not self.has_joined:
            return size
        size = self.shortest(size)
        atom = expr.as_atom(size)
        if isinstance(atom, Call) and atom.function == "broadcast":
            args = [self.shortest(a) for a in atom.args]
            if any(a is not b for a, b in zip(args, atom.args, strict=True)):
                size = self.shortest(expr.broadcast(*args))
        return size

    def join(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes. The tables get the pair when a size is looked up next."""
        self.has_joined = True
        self._joined.append((a, b))

    def rewrite(self, replace: Replace, atom: Atom | None = None) -> None:
        """Join each size to its form after replacements; with an atom, only sizes that contain it.

        Queries are about sizes after all replacements. Without this they would miss what was proved of older forms.
        """
        if not self.has_joined:
            return
        self._enter_joined()
        sizes = dict.fromkeys([*self._shorter, *self._shorter.values()])
        for size in [s for s in sizes if atom is None or occurs(atom, s)]:
            with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                new = substitute(size, replace)
                if new is not size and new != size:
                    self.join(size, new)

    def _enter_joined(self) -> None:
        """Put the pairs that were joined into the tables."""
        joined, self._joined = self._joined, []
        for a, b in joined:
            self._enter(a, b)

    def _enter(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes in the tables."""
        if _divides(a) or _divides(b):
            return
        if self._shorter:
            a, b = self.shortest(a), self.shortest(b)
        if a is not b and a != b:
            longer, shorter = (a, b) if self._rank(a) > self._rank(b) else (b, a)
            self._shorter[longer] = shorter
            self._join_slices(_clamped(longer), _clamped(shorter))

    def _join_slices(self, longer: Clamped | None, shorter: Clamped | None) -> None:
        """Note from which offset on longer slices of the two are equal."""
        if longer is not None and shorter is not None and longer.core is not shorter.core:
            known = self._slices.get(longer.core)
            if known is None or longer.offset < known[0]:
                self._slices[longer.core] = longer.offset, shorter

    def _rank(self, size: Size) -> tuple[int, int]:
        """Return what falls from a size to the one that stands for it: the length, then when it was seen first."""
        if not isinstance(size, DimExpr):
            return 0, 0
        clamped = _clamped(size)
        seen = size if clamped is None else clamped.core
        return size.nodes, self._order.setdefault(seen, len(self._order))


@memoised
def _clamped(size: Size) -> Clamped | None:
    """Return a size that is at least 0 as a difference that is clamped to 0; None if it is not of that form."""
    if isinstance(size, int):
        return None
    atom, inner = size.atom, size
    if isinstance(atom, Call) and atom.function == "max" and len(atom.args) == 2 and atom.args[1] == 0:
        inner = atom.args[0]  # type: ignore[assignment]
    else:
        low = expr.bounds(size)[0]
        if low is None or low < 0:
            return None
    monomial, constant = inner.terms[-1]
    if monomial:
        return Clamped(inner, 0)
    core = expr.add(inner, -constant)
    return Clamped(core, -constant) if isinstance(core, DimExpr) else None


def _divides(size: Size) -> bool:
    return isinstance(size, DimExpr) and size.divides

"""Decide claims about one variable exactly, where their sides are linear between points: slices of one axis are such.

Each side is a list of pieces along the variable, and each claim a list of intervals where it holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Size
from anyshape.support.lazy_dataclass import NamedTuple

_MOST_PIECES = 64  # of one side
_EXTREMA = ("max", "min")

Piece: TypeAlias = tuple[int, int, int]  # where it begins, its slope, and its value at 0
Interval: TypeAlias = tuple[int, float]  # from a size up to another, which is left out
Intervals: TypeAlias = list[Interval]


class Cases(NamedTuple):
    """Size of the variable at which the claim is false and one at which it is true; None where there is none."""

    variable: DimVar
    false: int | None
    true: int | None


class _ManyPiecesError(Exception):
    """Raised where a size has very many pieces."""


def is_about_one_variable(claims: Sequence[Claim]) -> bool:
    """Return whether the claims mention one variable alone."""
    variables: tuple[DimVar, ...] = ()
    for claim in claims:
        own = claim.variables()
        if len(own) > 1 or (own and variables and own != variables):
            return False
        variables = variables or own
    return bool(variables)


def cases_over_one_variable(claim: Claim, facts: Sequence[Claim]) -> Cases | None:
    """Return the cases of a claim among the sizes that satisfy the facts; None if this module cannot tell."""
    claims = (claim, *facts)
    if not is_about_one_variable(claims) or not all(_is_piecewise_linear(s) for c in claims for s in (c.left, c.right)):
        return None
    variable = next(v for c in claims for v in c.variables())
    try:
        line = _Line(variable)
        allowed = line.all
        for fact in facts:
            allowed = _intersection(allowed, line.where(fact))
        holds = line.where(claim)
    except _ManyPiecesError:
        return None
    false, true = _intersection(allowed, line.complement(holds)), _intersection(allowed, holds)
    return Cases(variable, *(part[0][0] if part else None for part in (false, true)))


def _is_piecewise_linear(size: Size) -> bool:
    """Return whether a size of one variable is linear between points: it has no product, and no call but extrema."""
    for monomial, _ in () if isinstance(size, int) else size.terms:
        if len(monomial) > 1 or (monomial and monomial[0][1] > 1):
            return False
        atom = monomial[0][0] if monomial else None
        if isinstance(atom, Call) and (atom.function not in _EXTREMA or not all(map(_is_piecewise_linear, atom.args))):
            return False
    return True


class _Line:
    """Values that the bounds of a variable allow."""

    def __init__(self, variable: DimVar) -> None:
        self.variable, self.start = variable, variable.lower
        self.all: Intervals = [(self.start, math.inf if variable.upper is None else variable.upper + 1)]

    def where(self, claim: Claim) -> Intervals:
        """Return where the claim holds."""
        a, b = self._pieces(claim.left), self._pieces(claim.right)
        if claim.relation == ">=":
            return _intersection(self.all, [*_where_at_least_0(_sum(a, b, -1))])
        equal = self._where_equal(a, b)
        if claim.relation == "!=":
            return self.complement(equal)
        one = [(self.start, 0, 1)]
        if claim.relation != "==":
            equal = self._union(equal, self._where_equal(a, one))
        return self._union(equal, self._where_equal(b, one)) if claim.relation == "broadcasts" else equal

    def _where_equal(self, a: list[Piece], b: list[Piece]) -> Intervals:
        at_least, at_most = ([*_where_at_least_0(_sum(*sides, -1))] for sides in ((a, b), (b, a)))
        return _intersection(self.all, _intersection(at_least, at_most))

    def complement(self, intervals: Intervals) -> Intervals:
        """Return the values outside of the intervals."""
        gaps, start = [], self.start
        for begin, end in [*intervals, (math.inf, math.inf)]:
            if begin > start:
                gaps.append((start, begin))
            start = end  # type: ignore[assignment]
        return _intersection(self.all, gaps)

    def _union(self, a: Intervals, b: Intervals) -> Intervals:
        return self.complement(_intersection(self.complement(a), self.complement(b)))

    def _pieces(self, size: Size) -> list[Piece]:
        """Return the pieces of a size."""
        pieces = [(self.start, 0, 0)]
        for monomial, coefficient in expr.terms_of(size).items():
            pieces = _sum(pieces, self._pieces_of_product(monomial), coefficient)
        return pieces

    def _pieces_of_product(self, monomial: tuple[tuple[expr.Atom, int], ...]) -> list[Piece]:
        if not monomial:
            return [(self.start, 0, 1)]
        atom = monomial[0][0]
        if not isinstance(atom, Call):
            return [(self.start, 1, 0)]
        first, *rest = [self._pieces(arg) for arg in atom.args]
        for other in rest:
            first = _extremum(first, other, 1 if atom.function == "max" else -1)
        return first


def _overlaps(a: list[Piece], b: list[Piece]) -> Iterator[tuple[int, float, Piece, Piece]]:
    """Yield the intervals on which both are linear, with the piece of each."""
    i = j = 0
    while i < len(a) and j < len(b):
        ends = [pieces[k + 1][0] if k + 1 < len(pieces) else math.inf for pieces, k in ((a, i), (b, j))]
        end = min(ends)
        yield max(a[i][0], b[j][0]), end, a[i], b[j]
        i, j = i + (ends[0] == end), j + (ends[1] == end)


def _sum(a: list[Piece], b: list[Piece], factor: int) -> list[Piece]:
    """Return a + factor * b."""
    return _limited([(begin, p[1] + factor * q[1], p[2] + factor * q[2]) for begin, _, p, q in _overlaps(a, b)])


def _extremum(a: list[Piece], b: list[Piece], sign: int) -> list[Piece]:
    """Return the larger of both, or the smaller if the sign is -1."""
    result: list[Piece] = []
    for begin, end, p, q in _overlaps(a, b):
        slope, constant = sign * (p[1] - q[1]), sign * (p[2] - q[2])
        low, high = _root_interval(begin, end, slope, constant)
        parts = ((begin, low, q), (low, high, p), (high, end, q)) if low < high else ((begin, end, q),)
        result += [(int(start), piece[1], piece[2]) for start, stop, piece in parts if start < stop]
    return _limited(result)


def _where_at_least_0(pieces: list[Piece]) -> Iterator[Interval]:
    """Yield the intervals where a size is at least 0, in order."""
    ends = [*[p[0] for p in pieces[1:]], math.inf]
    for (begin, slope, constant), end in zip(pieces, ends, strict=True):
        low, high = _root_interval(begin, end, slope, constant)
        if low < high:
            yield low, high


def _root_interval(begin: int, end: float, slope: int, constant: int) -> Interval:
    """Return where slope * v + constant >= 0 in an interval; it may be empty."""
    if slope == 0:
        return begin, end if constant >= 0 else begin
    if slope > 0:
        return max(begin, -(constant // slope)), end
    return begin, min(end, constant // -slope + 1)


def _intersection(a: Intervals, b: Intervals) -> Intervals:
    """Return what is in both."""
    common = [(max(s, t), min(e, f)) for s, e in a for t, f in b]
    return [(begin, end) for begin, end in common if begin < end]


def _limited(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces, neighbours of one line joined; raise _ManyPiecesError if there are very many."""
    joined = pieces[:1]
    joined += [p for before, p in itertools.pairwise(pieces) if p[1:] != before[1:]]
    if len(joined) > _MOST_PIECES:
        raise _ManyPiecesError
    return joined

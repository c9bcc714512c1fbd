"""Decide claims about one variable exactly, where their sides are linear between points: slices of one axis are such.

Each side is a list of pieces along the variable, and each claim a list of intervals where it holds.

Points, many at once: sizes at which facts hold, as arrays. One that breaks a claim refutes it at little cost.

Stencils make many false claims: sizes that may stretch differ from the sizes that they stretch to. Integer sets take
milliseconds to refute each of them. Values may overflow here, so a point counts as a candidate alone.

Decide claims about few sizes by trying out all small ones, where that is a proof.

Slices and broadcasts compare sizes that are a variable plus a constant, in each case. Such a comparison cannot tell a
gap between two variables, or between one and 0, from a smaller one that exceeds all constants. So a claim that small
sizes do not break holds for all.

Sizes and claims at many points at once: an array of values for each size, and where it is defined.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

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


_MOST_POINTS = 1 << 15
_FUNCTIONS = ("max", "min", "broadcast")


class SmallCases(NamedTuple):
    """Sizes that satisfy the facts: some at which the claim is false, some at which it is true; None without any."""

    false: dict[DimVar, int] | None
    true: dict[DimVar, int] | None


class _OtherSizeError(Exception):
    """Raised where a size is not, in each case, a variable plus a constant."""


def cases_at_small_sizes(claim: Claim, facts: Sequence[Claim]) -> SmallCases | None:
    """Return cases of a claim among the sizes that satisfy the facts; None if small sizes do not tell."""
    try:
        constants = [_reach(size) for c in (claim, *facts) for size in (c.left, c.right)]
    except _OtherSizeError:
        return None
    variables = list(dict.fromkeys(v for c in (claim, *facts) for v in c.variables()))
    lowest = min([v.lower for v in variables], default=-1)
    if lowest < 0:
        return None
    reach = max(*constants, *[v.lower for v in variables], *[v.upper or 0 for v in variables])
    gap = 2 * reach + 2  # two such constants differ by twice the reach at most, or one of them and 1 by one more
    ends = len(variables) * gap + 1
    return _cases(claim, facts, variables, ends) if ends ** len(variables) <= _MOST_POINTS else None


def _cases(claim: Claim, facts: Sequence[Claim], variables: Sequence[DimVar], ends: int) -> SmallCases | None:
    columns = np.indices((ends,) * len(variables)).reshape(len(variables), -1)
    points = Points(dict(zip(variables, columns, strict=True)))
    allowed = np.ones(columns.shape[1], bool)
    for variable, column in points.columns.items():
        allowed &= (column >= variable.lower) & (column <= (ends if variable.upper is None else variable.upper))
    for fact in facts:
        holds, defined = points.truth(fact)
        allowed &= holds & defined
    holds, defined = points.truth(claim)
    allowed &= defined
    if not allowed.any():
        return None

    def first(where: np.ndarray) -> dict[DimVar, int] | None:
        at = int(np.argmax(where))
        return {v: int(c[at]) for v, c in points.columns.items()} if where[at] else None

    return SmallCases(first(allowed & ~holds), first(allowed & holds))


def _reach(size: Size) -> int:
    """Return the largest constant that a size adds to a variable in any case, without its sign."""
    if isinstance(size, int):
        return abs(size)
    (monomial, coefficient), *rest = size.terms
    if coefficient != 1 or len(monomial) != 1 or monomial[0][1] != 1 or len(rest) > 1 or (rest and rest[0][0]):
        raise _OtherSizeError
    atom = monomial[0][0]
    constant = abs(rest[0][1]) if rest else 0
    if isinstance(atom, DimVar):
        return constant
    if not isinstance(atom, Call) or atom.function not in _FUNCTIONS:
        raise _OtherSizeError
    return constant + max(map(_reach, atom.args))


_MOST_VALUES = 256  # of sizes, kept in arrays

Values: TypeAlias = Any  # an array of ints, and one of bools that says where they are defined
_TRUE = np.ones(1, bool)


def _broadcast(a: Values, b: Values) -> Values:
    (x, x_defined), (y, y_defined) = a, b
    return np.where(x == 1, y, x), x_defined & y_defined & ((x == y) | (x == 1) | (y == 1))


def _divided(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    def divide(a: Values, b: Values) -> Values:
        (x, x_defined), (y, y_defined) = a, b
        return function(x, np.where(y == 0, 1, y)), x_defined & y_defined & (y != 0)

    return divide


def _total(function: Callable[..., Any]) -> Callable[[Values, Values], Values]:
    return lambda a, b: (function(a[0], b[0]), a[1] & b[1])


_EVALUATORS: dict[str, Callable[[Values, Values], Values]] = {
    "floordiv": _divided(np.floor_divide),
    "mod": _divided(np.mod),
    "max": _total(np.maximum),
    "min": _total(np.minimum),
    "broadcast": _broadcast,
}
_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    ">=": np.greater_equal,
    "broadcasts": lambda a, b: (a == b) | (a == 1) | (b == 1),
    "stretches": lambda a, b: (a == b) | (a == 1),
}


class Points:
    """Points, with an array of values for each variable. Values may overflow."""

    def __init__(self, columns: Mapping[DimVar, Any]) -> None:
        self.columns: dict[DimVar, Any] = dict(columns)
        self._values: dict[Size, Values] = {}

    def truth(self, claim: Claim) -> Values:
        """Return where the claim holds, and where it is defined."""
        (a, a_defined), (b, b_defined) = self.value(claim.left), self.value(claim.right)
        return _HOLDS[claim.relation](a, b), a_defined & b_defined

    def value(self, size: Size) -> Values:
        """Return the values of a size, and where they are defined."""
        if isinstance(size, int):
            return size, _TRUE
        values = self._values.get(size)
        if values is None:
            if len(self._values) >= _MOST_VALUES:
                self._values.clear()
            values = self._values[size] = self._evaluated(size)
        return values

    def _evaluated(self, size: Size) -> Values:
        total: Any = 0
        defined = _TRUE
        for monomial, coefficient in expr.terms_of(size).items():
            product: Any = coefficient
            for atom, power in monomial:
                value, is_defined = self._atom(atom)
                product, defined = product * value**power, defined & is_defined
            total = total + product
        return total, defined

    def _atom(self, atom) -> Values:
        if isinstance(atom, Call):
            return functools.reduce(_EVALUATORS[atom.function], [self.value(a) for a in atom.args])
        return self.columns[atom], _TRUE


_POINTS = 512
_FEW = 24  # points, below which others are sampled
_MOST_VARIABLES = 24
_MOST_FACTS = 64
_MOST_SAMPLES = 4
_SMALL = (1, 2, 3, 0)  # sizes that matter by themselves, beside those near a known model
_MIX = (0x9E3779B1, 0x85EBCA77)  # of a hash that spreads the choices: random numbers need not differ from run to run


class SampledPoints(Points):
    """Points near a known model at which facts hold, which are added one by one."""

    near: Mapping[DimVar, int]
    seed: int

    def __init__(self, near: Mapping[DimVar, int], facts: Sequence[Claim], seed: int) -> None:
        self.near, self.seed = near, seed
        super().__init__({})
        self.alive: Any = np.ones(_POINTS, bool)
        self.facts: dict[Claim, None] = {}
        self.narrow(facts)
        self.sampled_for: int = len(self.facts)

    def narrow(self, facts: Sequence[Claim]) -> None:
        """Drop the sampled points at which one of these facts is false."""
        for fact in facts:
            if fact not in self.facts:
                self.facts[fact] = None
                self._sample_fresh(fact)
                holds, defined = self.truth(fact)
                self.alive &= holds & defined

    def counterexample(self, claim: Claim) -> dict[DimVar, int] | None:
        """Return a point at which the claim is false, {} if there is none, None if there are few points."""
        for variable in [v for v in claim.variables() if v not in self.columns]:
            self._sample(variable)
        holds, defined = self.truth(claim)
        breaks = self.alive & defined & ~holds
        at = int(np.argmax(breaks))
        if breaks[at]:
            return {v: int(column[at]) for v, column in self.columns.items()}
        return None if self.are_few else {}

    @property
    def are_few(self) -> bool:
        """True if few points are left."""
        return int(np.count_nonzero(self.alive)) < _FEW

    # -- sampling

    def _sample_fresh(self, fact: Claim) -> None:
        """Sample the variables that no fact before mentions, one that is a side of this fact so that it often holds."""
        fresh = [v for v in fact.variables() if v not in self.columns]
        for side, other in ((fact.left, fact.right), (fact.right, fact.left)):
            shifted = _shifted_variable(side)
            if shifted is None or shifted[0] not in fresh:
                continue
            variable, shift = shifted
            for v in [v for v in fresh if v is not variable]:
                self._sample(v)
            if variable not in expr.variables(other):
                fitting = self.value(other)[0] + shift
                self._sample(variable, (fitting, fitting, 1 + shift))
                return
        for variable in fresh:
            self._sample(variable)

    def _sample(self, variable: DimVar, fitting: Sequence[Any] = ()) -> None:
        """Choose among fitting sizes, the one in the known model and small ones."""
        near = self.near[variable]
        choices = [*fitting, *fitting, near, *_SMALL] if fitting else [near, near, near + 1, *_SMALL]
        choice = (np.arange(_POINTS, dtype=np.uint32) + self.seed) * _MIX[0] ^ (
            (len(self.columns) + 1) * _MIX[1] & 0xFFFFFFFF
        )
        choice = (((choice >> 15) ^ choice) * _MIX[1] >> 7) % len(choices)
        column = np.choose(choice, choices).astype(np.int64)
        self.columns[variable] = np.clip(column, variable.lower, variable.upper)


def _shifted_variable(size: Size) -> tuple[DimVar, int] | None:
    """Return the variable and its shift of `n - 2` or `max(n - 2, 0)`, which is n and 2; None for any other size."""
    atom = expr.as_atom(size)
    if isinstance(atom, Call) and atom.function == "max" and len(atom.args) == 2 and atom.args[1] == 0:
        return _shifted_variable(atom.args[0])
    if isinstance(size, int):
        return None
    (variable,) = expr.variables(size) if len(expr.variables(size)) == 1 else (None,)
    shift = None if variable is None else expr.sub(expr.from_atom(variable), size)
    return (variable, shift) if variable is not None and isinstance(shift, int) else None


class PointSamples:
    """Sampled points by the sizes that they are of."""

    def __init__(self) -> None:
        self._by_variables: dict[frozenset[DimVar], SampledPoints] = {}

    def counterexample(
        self, claim: Claim, facts: Sequence[Claim], near: Mapping[DimVar, int]
    ) -> dict[DimVar, int] | None:
        """Return a candidate: sizes at which the facts seem to hold and the claim does not, {} if there is none.

        None where too few points are known at which the facts hold.
        """
        variables = frozenset(v for c in (claim, *facts) for v in c.variables())
        if len(variables) > _MOST_VARIABLES or len(facts) > _MOST_FACTS:
            return None
        facts = sorted(facts, key=lambda f: _nodes(f.left) + _nodes(f.right))  # a size comes with a short fact
        points = self._by_variables.pop(variables, None)
        with np.errstate(all="ignore"):
            if points is not None:
                points.narrow(facts)
            if points is None or (points.are_few and len(points.facts) > points.sampled_for):
                points = SampledPoints(near, facts, 0 if points is None else points.seed + _POINTS)
            self._by_variables[variables] = points
            for oldest in list(self._by_variables)[:-_MOST_SAMPLES]:
                del self._by_variables[oldest]
            return points.counterexample(claim)


def _nodes(size: Size) -> int:
    return 0 if isinstance(size, int) else size.nodes

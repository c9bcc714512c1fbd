"""Sizes and claims at many points at once: an array of values for each size, and where it is defined.

Small sizes decide some claims. Slices and broadcasts compare sizes that are a variable plus a constant, in each case.
Such a comparison cannot tell a gap between two variables, or between one and 0, from a smaller one that exceeds all
constants. Nor does a claim about one variable change beyond the points where its pieces meet. So a claim that small
sizes do not break holds for all.

Samples refute claims at little cost: sizes at which facts hold, and a claim may not. Stencils make many false claims,
as sizes that may stretch differ from the sizes that they stretch to. Integer sets take milliseconds to refute each of
them. Values may overflow there, so a sampled point counts as a candidate alone.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Size
from anyshape.support.lazy_dataclass import NamedTuple


def is_about_one_variable(claims: Sequence[Claim]) -> bool:
    """Return whether the claims mention one variable alone."""
    variables: tuple[DimVar, ...] = ()
    for claim in claims:
        own = claim.variables()
        if len(own) > 1 or (own and variables and own != variables):
            return False
        variables = variables or own
    return bool(variables)


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
    claims = (claim, *facts)
    variables = list(dict.fromkeys(v for c in claims for v in c.variables()))
    is_one = len(variables) == 1
    try:
        constants = [_reach(size, is_one=is_one) for c in claims for size in (c.left, c.right)]
    except _OtherSizeError:
        return None
    if min([v.lower for v in variables], default=-1) < 0:
        return None
    reach = max(*constants, *[v.lower if is_one else max(v.lower, v.upper or 0) for v in variables])
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


def _reach(size: Size, *, is_one: bool) -> int:
    """Return the largest constant that a size adds to a variable in any case, without its sign.

    Where sizes are of one variable, they may be sums of multiples, and their slopes count as constants too.
    """
    if isinstance(size, int):
        return abs(size)
    reach = 0
    for monomial, coefficient in size.terms:
        if len(monomial) > 1 or (monomial and monomial[0][1] > 1):
            raise _OtherSizeError
        if not is_one and monomial and (coefficient != 1 or monomial is not size.terms[0][0]):
            raise _OtherSizeError
        reach += abs(coefficient) * (_reach_of_atom(monomial[0][0], is_one=is_one) if monomial else 1)
    return reach


def _reach_of_atom(atom: expr.Atom, *, is_one: bool) -> int:
    if isinstance(atom, DimVar):
        return int(is_one)
    if not isinstance(atom, Call) or atom.function not in _FUNCTIONS:
        raise _OtherSizeError
    return max([_reach(a, is_one=is_one) for a in atom.args])


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
            if (shifted := _shifted_variable(side)) is None or shifted[0] not in fresh:
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

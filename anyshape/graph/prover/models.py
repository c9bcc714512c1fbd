"""Sizes tried out: examples of what is believed, and candidates for witnesses of a claim and of its opposite."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import Claim, substitute_claim
from anyshape.graph.prover.integer_sets import IntegerSet, OutOfBudgetError, out_of_time
from anyshape.graph.prover.linear_constraints import Alternatives, denial_of, rows_of
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import to_mapping
from anyshape.graph.sizes.expr import Call, DimExpr, DimVar, Size

_PROBES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 1000)
_PROBE_WORK = 300_000  # parts of claims that are evaluated
_FIXED = 12  # values of a factor that are tried from its least one on
_FACTORS = 6
_OPERATIONS_FOR_FIXED = 500  # of isl, for each combination
_FIXED_LIMIT = 60  # combinations of them for each factor that is left free

Valuation = dict[DimVar, int]


class Example(Valuation):
    """Sizes of variables, with one for each that is asked for: `make` gives it from the number of those before."""

    def __init__(self, sizes: Mapping[DimVar, int] = {}, make: Callable[[int], int] = lambda i: 6) -> None:
        super().__init__(sizes)
        self.make = make

    def __missing__(self, variable: DimVar) -> int:
        size = self[variable] = nearest(variable, self.make(len(self)))
        return size


def first_examples() -> list[Example]:
    """Sizes to begin with: all alike, rising, falling, ones, and as small as can be."""
    rules: list[Callable[[int], int]] = [
        lambda i: 6,
        lambda i: 7 + 2 * i,
        lambda i: max(1000 - 7 * i, 0),
        lambda i: 1,
        lambda i: 0,
    ]
    return [Example(make=rule) for rule in rules]


def apart(claim: Claim, facts: Sequence[Claim]) -> Iterator[Example]:
    """Sizes that tell the left side from the right, as they broadcast together; and one variable from all others."""
    first = _first_of_equals(claim, facts)  # variables that are stated to be equal go together
    left, right = ({first[v] for v in expr.variables(s)} for s in (claim.left, claim.right))
    for rest in (1, 7):  # `broadcast(a, b)` and `broadcast(a, c)` differ where a and all other sizes are 1
        sizes = {**dict.fromkeys(left, 6), **dict.fromkeys(right - left, 7)}
        sizes |= dict.fromkeys(left & right, 1) if rest == 1 else {}
        yield Example({v: nearest(v, sizes.get(f, rest)) for v, f in first.items()}, _always(rest))
    for alone, rest in ((6, 1), (1, 6)):
        for one in dict.fromkeys(first.values()):
            yield Example({v: nearest(v, alone if f is one else rest) for v, f in first.items()}, _always(rest))


def _first_of_equals(claim: Claim, facts: Sequence[Claim]) -> dict[DimVar, DimVar]:
    """For each variable the first of those that it is stated to be equal to."""
    first = {v: v for c in [claim, *facts] for v in c.variables()}
    for fact in facts:
        a, b = expr.as_atom(fact.left), expr.as_atom(fact.right)
        if fact.relation == "==" and isinstance(a, DimVar) and isinstance(b, DimVar):
            old, new = first[b], first[a]
            first = {v: new if f is old else f for v, f in first.items()}
    return first


def _always(size: int) -> Callable[[int], int]:
    return lambda _: size


def refuted(claim: Claim, facts: Sequence[Claim]) -> bool:
    """Sizes that satisfy the facts make the claim false."""
    return any(truth(claim, e) is False and all(truth(f, e) for f in facts) for e in apart(claim, facts))


def nearest(variable: DimVar, size: int) -> int:
    """The size of the variable that is nearest to this one."""
    low = max(size, variable.lower)
    return low if variable.upper is None else min(low, variable.upper)


def truth(claim: Claim, at: Mapping[DimVar, int]) -> bool | None:
    """Whether the claim is true there; None where a size is missing, a division is by zero, or a broadcast fails."""
    try:
        return claim.holds(to_mapping(at))
    except (KeyError, ZeroDivisionError, ShapeError):
        return None


def candidates(claim: Claim, facts: Sequence[Claim], names: Sequence[DimVar]) -> Iterator[Valuation]:
    """Sizes to try: points of integer sets, small sizes in turn, and points where factors of products are fixed."""
    for asked in ([rows_of(claim)], denial_of(claim)):
        yield from _points(facts, asked, names)
    ranges = [[p for p in _PROBES if p == nearest(v, p)] or [v.lower] for v in names]
    parts = sum([s.nodes for c in (claim, *facts) for s in (c.left, c.right) if isinstance(s, DimExpr)])
    for sizes in itertools.islice(itertools.product(*ranges), _PROBE_WORK // (parts + 1)):
        yield dict(zip(names, sizes, strict=True))
    factors = [v for v in names if _is_factor(v, [claim, *facts])]
    for free in [*factors, None] if len(factors) <= _FACTORS else []:
        fixed = [v for v in factors if v is not free]
        values = [_first_values(v, facts) for v in fixed]
        for sizes in itertools.islice(itertools.product(*values), _FIXED_LIMIT):
            if out_of_time():
                return
            yield from _with_fixed(claim, facts, names, dict(zip(fixed, sizes, strict=True)))


def _first_values(variable: DimVar, facts: Sequence[Claim]) -> range:
    """The least sizes that the facts without products allow."""
    size = expr.from_atom(variable)
    try:
        low = (IntegerSet([f for f in facts if not _is_factor(variable, [f])]).range(size) or (0, 0))[0]
    except OutOfBudgetError:
        low = None
    start = variable.lower if low is None else max(low, variable.lower)
    return range(start, start + _FIXED if variable.upper is None else min(start + _FIXED, variable.upper + 1))


def _with_fixed(
    claim: Claim, facts: Sequence[Claim], names: Sequence[DimVar], fixed: Mapping[DimVar, int]
) -> Iterator[Valuation]:
    """Points where these variables have these sizes, which makes products of them linear."""
    try:
        known = [substitute_claim(f, fixed.get) for f in facts]  # type: ignore[arg-type]
        asked_here = substitute_claim(claim, fixed.get)  # type: ignore[arg-type]
    except ZeroDivisionError:
        return
    for asked in ([rows_of(asked_here)], denial_of(asked_here)):
        for point in _points(known, asked, names, operations=_OPERATIONS_FOR_FIXED):
            yield {**point, **fixed}


def _points(
    facts: Sequence[Claim], asked: Sequence[Alternatives], names: Sequence[DimVar], **budget: int
) -> Iterator[Valuation]:
    try:
        for point in itertools.islice(IntegerSet(facts).points(asked, small=True, **budget), 6):
            yield {v: point.get(v, v.lower) for v in names}
    except OutOfBudgetError:
        return


def _is_factor(variable: DimVar, claims: Sequence[Claim]) -> bool:
    """The variable is multiplied with another size, or divides one, somewhere."""
    return any(_in_product(variable, s) for c in claims for s in (c.left, c.right))


def _in_product(variable: DimVar, size: Size) -> bool:
    for monomial in expr.terms_of(size):
        product = len(monomial) > 1 or any(p > 1 for _, p in monomial)
        for atom, _ in monomial:
            inside = [atom] if not isinstance(atom, Call) else [w for a in atom.args for w in expr.variables(a)]
            divisor = isinstance(atom, Call) and variable in expr.variables(atom.args[-1])
            if (product or (divisor and atom.function in ("floordiv", "mod"))) and variable in inside:
                return True
            if isinstance(atom, Call) and any(_in_product(variable, a) for a in atom.args):
                return True
    return False

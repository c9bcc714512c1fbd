"""From claims about sizes to linear constraints over integer columns: one column for each leaf, call and product.

A quotient, remainder or extremum becomes a column with the constraints that define it: exact, so that nothing is lost.
A product of sizes becomes a column with constraints that hold of it: sound, so that nothing false is shown.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from anyshape.graph import dims, polynomials, term_bounds
from anyshape.graph.conditions import Claim
from anyshape.graph.dims import Call, Size
from anyshape.graph.polynomials import Monomial

Form: TypeAlias = tuple[dict[int, int], int]  # coefficients by column, and the constant


class Row(NamedTuple):
    """size == other or size >= other."""

    size: Size
    relation: Literal["==", ">="] = ">="
    other: Size = 0  # apart, where the canonical form of the difference would hide what is stated


Alternatives: TypeAlias = list[list[Row]]  # at least one of the lists holds

_PRODUCT_LIMIT = 30
_MONOMIAL_LIMIT = 10
_PATTERN_LIMIT = 5
_DEGREE_LIMIT = 4


@functools.lru_cache(maxsize=1 << 12)
def products_in(size: Size) -> int:
    """How many products of sizes, and divisions by sizes, the size is made of."""
    count = 0
    for monomial in dims.terms_of(size):
        count += sum([p for _, p in monomial]) > 1
        for call in [a for a, _ in monomial if isinstance(a, Call)]:
            count += call.function in ("floordiv", "mod") and not isinstance(call.args[1], int)
            count += sum([products_in(a) for a in call.args])
    return count


def divides_by_size(claim: Claim) -> bool:
    """The claim means something only where some size is not 0."""
    return _divides(claim.left) or _divides(claim.right)


@functools.lru_cache(maxsize=1 << 12)
def _divides(size: Size) -> bool:
    calls = [a for m in dims.terms_of(size) for a, _ in m if isinstance(a, Call)]
    by_size = any(c.function in ("floordiv", "mod") and not isinstance(c.args[1], int) for c in calls)
    return by_size or any(_divides(x) for c in calls for x in c.args)


def rows_of(claim: Claim) -> Alternatives:
    """The claim as alternatives, each a conjunction."""
    left, right = claim.left, claim.right
    gap = dims.sub(left, right)
    if claim.relation == ">=":
        return [[Row(gap)]]
    if claim.relation == "==":
        return [[Row(gap, "==")]]
    if claim.relation == "!=":
        return [[Row(gap - 1)], [Row(-gap - 1)]]
    ones = [left] if claim.relation == "stretches" else [left, right]
    return [[Row(gap, "==")], *[[Row(dims.sub(x, 1), "==")] for x in ones]]


def denial_of(claim: Claim) -> list[Alternatives]:
    """What holds exactly when the claim does not: a conjunction of alternatives."""
    if claim.relation == ">=":
        return [[[Row(dims.sub(claim.right, claim.left) - 1)]]]
    if claim.relation == "!=":
        return [[[Row(dims.sub(claim.left, claim.right), "==")]]]
    return [[[Row(row.size - 1)], [Row(-row.size - 1)]] for (row,) in rows_of(claim)]


@dataclass
class LinearForms:
    """Columns, what defines them, and the forms of rows over them."""

    columns: dict[Any, int] = field(default_factory=dict)
    definitions: list[Row] = field(default_factory=list)
    cases: list[Alternatives] = field(default_factory=list)
    products: list[Monomial] = field(default_factory=list)

    def form(self, size: Size) -> Form:
        """The size as a linear form; its columns are made where they are new."""
        coefficients: dict[int, int] = {}
        constant = 0
        for monomial, coefficient in dims.terms_of(size).items():
            if monomial:
                coefficients[self._column(monomial)] = coefficient
            else:
                constant = coefficient
        return coefficients, constant

    def row(self, row: Row) -> Form:
        """The difference that is to be 0 or not negative."""
        coefficients, constant = self.form(row.size)
        if not isinstance(row.other, int) or row.other:
            more, subtracted = self.form(row.other)
            constant -= subtracted
            for column, coefficient in more.items():
                coefficients[column] = coefficients.get(column, 0) - coefficient
        return coefficients, constant

    def _column(self, monomial: Monomial) -> int:
        found = self.columns.get(monomial)
        if found is None:
            found = self.columns[monomial] = len(self.columns)
            size = dims.from_terms({monomial: 1})
            self._bound(size, term_bounds.of_monomial(monomial))
            if len(monomial) == 1 and monomial[0][1] == 1:
                if isinstance(monomial[0][0], Call):
                    self._define(monomial[0][0], size)
            else:
                self.products.append(monomial)
                for atom, _ in monomial:
                    self._column(((atom, 1),))
        return found

    def _hold(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.row(row)
            self.definitions.append(row)

    def _either(self, alternatives: Alternatives) -> None:
        for row in itertools.chain(*alternatives):
            self.row(row)
        self.cases.append(alternatives)

    def _bound(self, size: Size, bounds: tuple[int | None, int | None]) -> None:
        self._hold([Row(size - bounds[0])] if bounds[0] is not None else [])
        self._hold([Row(bounds[1] - size)] if bounds[1] is not None else [])

    # -- what calls are

    def _define(self, call: Call, size: Size) -> None:
        if call.function in ("floordiv", "mod"):
            self._divide(call, size)
        elif call.function == "broadcast":
            self._broadcast(call.args, size)
        else:
            sign = 1 if call.function == "max" else -1
            self._hold([Row((size - a) * sign) for a in call.args])
            self._either([[Row(size - a, "==")] for a in call.args])

    def _divide(self, call: Call, size: Size) -> None:
        """a == b * q + r with 0 <= r < b, or b < r <= 0 for a negative b; a division is by something but 0."""
        a, b = call.args
        quotient = size if call.function == "floordiv" else dims.from_atom(Call("floordiv", (a, b)))
        remainder = dims.sub(a, dims.mul(b, quotient))
        if call.function == "mod":
            self._hold([Row(remainder, "==", size)])
        low, high = dims.bounds(b)
        after = [Row(b - 1), Row(remainder), Row(b - 1 - remainder)]
        before = [Row(-1 - b), Row(-remainder), Row(remainder - b - 1)]
        if low is not None and low >= 0:
            self._hold(after)
        elif high is not None and high <= 0:
            self._hold(before)
        else:
            self._either([after, before])

    def _broadcast(self, args: Sequence[Size], size: Size) -> None:
        """Each argument is the size or 1; not all differ from it."""
        if len(args) > _PATTERN_LIMIT:
            self._either([[Row(size - a, "==")] for a in args])
            return
        patterns = [p for p in itertools.product((True, False), repeat=len(args)) if any(p)]
        self._either(
            [[Row(dims.sub(a, size if same else 1), "==") for a, same in zip(args, p, strict=True)] for p in patterns]
        )

    # -- what is known of products

    def multiply(self, facts: Sequence[Row]) -> list[Row]:
        """What follows from the facts for the products among the columns: f * g >= 0 where f >= 0 and g >= 0."""
        found: dict[Row, None] = {}
        highest = max(map(_degree, self.products))
        parts = self._parts()
        for monomial in parts:
            self._multiply(monomial, facts, found, highest)
        new = dict.fromkeys(m for row in found for m in dims.terms_of(row.size) if _degree(m) > 1 and m not in parts)
        for monomial in list(new)[:_MONOMIAL_LIMIT]:  # of these, what the ranges of their factors say
            self._multiply(monomial, (), found, highest)
        return list(found)

    def _multiply(self, monomial: Monomial, facts: Sequence[Row], found: dict[Row, None], highest: int) -> None:
        """Add what follows for one product from facts about its factors."""
        for atom, power in monomial:
            self._square(atom, power, found)
            rest = polynomials.quotient(monomial, ((atom, 1),)) or ()
            firsts = [f for f in [*facts, *_limits(((atom, 1),))] if _has(f, ((atom, 1),))]
            seconds = [f for f in [*facts, *found, *_limits(rest)] if _has(f, rest)]
            others = [(f, Row(dims.from_terms({rest: 1}))) for f in firsts if f.relation == "=="]
            for f, g in [*itertools.product(firsts, seconds), *others]:
                product = dims.mul(f.size, g.size)
                if len(found) < _PRODUCT_LIMIT and 0 < _degree_of(product) <= highest:
                    found[Row(product, f.relation if g.relation == ">=" else "==")] = None

    def _parts(self) -> list[Monomial]:
        """The products among the columns and the products within them, those of lower degree first."""
        found = dict.fromkeys(self.products)
        for monomial in list(found):
            if _degree(monomial) <= _DEGREE_LIMIT:
                for size in range(2, _degree(monomial)):
                    factors = [a for a, p in monomial for _ in range(p)]
                    for part in itertools.combinations(factors, size):
                        found[_monomial(part)] = None
        return sorted(found, key=_degree)[:_MONOMIAL_LIMIT]

    def _square(self, atom: Any, power: int, found: dict[Row, None]) -> None:
        """An integer is not above its square."""
        if power > 1:
            x, square = dims.from_atom(atom), dims.from_terms({((atom, 2),): 1})
            found[Row(square - x)] = found[Row(square + x)] = None


def _degree(monomial: Monomial) -> int:
    return sum([p for _, p in monomial])


def _degree_of(size: Size) -> int:
    return max(map(_degree, dims.terms_of(size)), default=0)


def _monomial(factors: Iterable[Any]) -> Monomial:
    result: Monomial = ()
    for atom in factors:
        result = polynomials.join(result, ((atom, 1),))
    return result


def _has(row: Row, monomial: Monomial) -> bool:
    return monomial in dims.terms_of(row.size)


def _limits(monomial: Monomial) -> list[Row]:
    """The bounds of a monomial as rows."""
    low, high = term_bounds.of_monomial(monomial)
    size = dims.from_terms({monomial: 1})
    rows = [Row(dims.sub(size, low))] if low is not None else []
    return rows + ([Row(dims.sub(high, size))] if high is not None else [])

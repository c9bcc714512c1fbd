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

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr, polynomial_bounds, polynomials
from anyshape.graph.sizes.expr import Call, DimExpr, Size
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.polynomials import Monomial, Terms

Form: TypeAlias = tuple[dict[int, int], int]  # coefficients by column, and the constant
Relation: TypeAlias = Literal["==", ">="]


class Row(NamedTuple):
    """size + plus == other, or size + plus >= other."""

    size: Size
    relation: Relation = ">="
    other: Size = 0
    plus: int = 0

    @property
    def gap(self) -> Size:
        """What is to be 0 or not negative."""
        return expr.add(expr.sub(self.size, self.other), self.plus)


class Constraint(NamedTuple):
    """A linear form over columns that is to be 0 or not negative."""

    coefficients: dict[int, int]
    constant: int
    relation: Relation


Alternatives: TypeAlias = list[list[Row]]  # at least one of the lists holds

_PRODUCT_LIMIT = 30
_MONOMIAL_LIMIT = 10
_PATTERN_LIMIT = 5
_DEGREE_LIMIT = 4


@functools.lru_cache(maxsize=1 << 12)
def products_in(size: Size) -> int:
    """How many products of sizes, and divisions by sizes, the size is made of."""
    return _products_of(size.terms) if isinstance(size, DimExpr) else 0


def products_of(row: Row) -> int:
    """As `products_in`, of the difference that the row is about."""
    return _products_of(expr.gap_terms(row.size, row.other).items())


def _products_of(terms: Iterable[tuple[Monomial, int]]) -> int:
    count = 0
    for monomial, _ in terms:
        count += len(monomial) > 1 or (len(monomial) == 1 and monomial[0][1] > 1)
        for atom, _ in monomial:
            if isinstance(atom, Call):
                count += atom.function in ("floordiv", "mod") and not isinstance(atom.args[1], int)
                count += sum([products_in(a) for a in atom.args])
    return count


def divides_by_size(claim: Claim) -> bool:
    """The claim means something only where some size is not 0."""
    return _divides(claim.left) or _divides(claim.right)


@functools.lru_cache(maxsize=1 << 12)
def _divides(size: Size) -> bool:
    calls = [a for m in expr.terms_of(size) for a, _ in m if isinstance(a, Call)]
    by_size = any(c.function in ("floordiv", "mod") and not isinstance(c.args[1], int) for c in calls)
    return by_size or any(_divides(x) for c in calls for x in c.args)


def rows_of(claim: Claim) -> Alternatives:
    """The claim as alternatives, each a conjunction."""
    left, right = claim.left, claim.right
    if claim.relation == ">=":
        return [[Row(left, ">=", right)]]
    if claim.relation == "==":
        return [[Row(left, "==", right)]]
    if claim.relation == "!=":
        return [[Row(left, ">=", right, -1)], [Row(right, ">=", left, -1)]]
    ones = [left] if claim.relation == "stretches" else [left, right]
    return [[Row(left, "==", right)], *[[Row(x, "==", 1)] for x in ones]]


def denial_of(claim: Claim) -> list[Alternatives]:
    """What holds exactly when the claim does not: a conjunction of alternatives."""
    if claim.relation == ">=":
        return [[[Row(claim.right, ">=", claim.left, -1)]]]
    if claim.relation == "!=":
        return [[[Row(claim.left, "==", claim.right)]]]
    equalities = [row for (row,) in rows_of(claim)]
    return [[[Row(a, ">=", b, -1)], [Row(b, ">=", a, -1)]] for a, _, b, _ in equalities]


class Mark(NamedTuple):
    """How much there was of each part of linear forms."""

    columns: int
    definitions: int
    cases: int
    products: int


@dataclass
class LinearForms:
    """Columns, what defines them, and the forms of sizes over them."""

    columns: dict[Any, int] = field(default_factory=dict)
    definitions: list[Constraint] = field(default_factory=list)
    cases: list[list[list[Constraint]]] = field(default_factory=list)
    products: list[Monomial] = field(default_factory=list)

    def form(self, size: Size) -> Form:
        """The size as a linear form; its columns are made where they are new."""
        return self._form(size.terms) if isinstance(size, DimExpr) else ({}, size)

    def _form(self, terms: Iterable[tuple[Monomial, int]]) -> Form:
        coefficients: dict[int, int] = {}
        remainders: list[tuple[Call, int]] = []
        constant = 0
        for monomial, coefficient in terms:
            if not monomial:
                constant = coefficient
            elif type(monomial[0][0]) is Call and monomial not in self.columns and _is_remainder(monomial):
                remainders.append((monomial[0][0], coefficient))
            else:
                coefficients[self._column(monomial)] = coefficient
        for call, coefficient in remainders:  # a - b * (a // b) needs no column of its own
            a, b = call.args
            columns, plus = self.form(a)
            constant += coefficient * plus
            quotient = self._column(((Call("floordiv", (a, b)), 1),))
            for column, factor in [*columns.items(), (quotient, -int(b))]:  # type: ignore[arg-type]
                coefficients[column] = coefficients.get(column, 0) + coefficient * factor
        return coefficients, constant

    def mark(self) -> Mark:
        """Where to go back to."""
        return Mark(len(self.columns), len(self.definitions), len(self.cases), len(self.products))

    def forget(self, mark: Mark) -> None:
        """Go back to the mark."""
        while len(self.columns) > mark.columns:
            self.columns.popitem()
        del self.definitions[mark.definitions :], self.cases[mark.cases :], self.products[mark.products :]

    def constraint(self, row: Row) -> Constraint:
        """The row over the columns."""
        terms = expr.gap_terms(row.size, row.other)
        coefficients, constant = self._form(terms.items())
        return Constraint(coefficients, constant + row.plus, row.relation)

    def _column(self, monomial: Monomial) -> int:
        found = self.columns.get(monomial)
        if found is None:
            found = self.columns[monomial] = len(self.columns)
            low, high = polynomial_bounds.of_monomial(monomial)
            if low is not None:
                self.definitions.append(Constraint({found: 1}, -low, ">="))
            if high is not None:
                self.definitions.append(Constraint({found: -1}, high, ">="))
            if len(monomial) == 1 and monomial[0][1] == 1:
                if isinstance(monomial[0][0], Call):
                    self._define(monomial[0][0], ({found: 1}, 0))
            else:
                self.products.append(monomial)
                for atom, _ in monomial:
                    self._column(((atom, 1),))
        return found

    # -- what calls are

    def _define(self, call: Call, size: Form) -> None:
        if call.function in ("floordiv", "mod"):
            self._divide(call, size)
        elif call.function == "broadcast":
            self._broadcast([self.form(a) for a in call.args], size)
        else:
            sign = 1 if call.function == "max" else -1
            args = [self.form(a) for a in call.args]
            self.definitions += [_sum(">=", 0, (size, sign), (a, -sign)) for a in args]
            self.cases.append([[_sum("==", 0, (size, 1), (a, -1))] for a in args])

    def _divide(self, call: Call, size: Form) -> None:
        """a == b * q + r with 0 <= r < b, or b < r <= 0 for a negative b; a division is by something but 0."""
        a, b = call.args
        if call.function == "mod":
            floor = Call("floordiv", (a, b))
            self._column(((floor, 1),))
            whole = self._times(b, floor)
            self.definitions.append(_sum("==", 0, (self.form(a), 1), (whole, -1), (size, -1)))
            return
        dividend, divisor, whole = self.form(a), self.form(b), self._times(b, call)
        after = [_sum(">=", 0, (dividend, 1), (whole, -1)), _sum(">=", -1, (divisor, 1), (dividend, -1), (whole, 1))]
        before = [_sum(">=", 0, (dividend, -1), (whole, 1)), _sum(">=", -1, (divisor, -1), (dividend, 1), (whole, -1))]
        low, high = expr.bounds(b)
        if isinstance(b, int) and b > 0:
            self.definitions += after
            return
        after.append(_sum(">=", -1, (divisor, 1)))
        before.append(_sum(">=", -1, (divisor, -1)))
        if low is not None and low >= 0:
            self.definitions += after
        elif high is not None and high <= 0:
            self.definitions += before
        else:
            self.cases.append([after, before])

    def _times(self, b: Size, quotient: Call) -> Form:
        if isinstance(b, int):
            return {self._column(((quotient, 1),)): b}, 0
        return self.form(expr.mul(b, expr.from_atom(quotient)))

    def _broadcast(self, args: Sequence[Form], size: Form) -> None:
        """Each argument is the size or 1; not all differ from it."""
        same = [_sum("==", 0, (a, 1), (size, -1)) for a in args]
        if len(args) > _PATTERN_LIMIT:
            self.cases.append([[row] for row in same])
            return
        ones = [_sum("==", -1, (a, 1)) for a in args]
        patterns = itertools.product(*zip(same, ones, strict=True))
        self.cases.append([list(p) for p in patterns if list(p) != ones])

    # -- what is known of products

    def multiply(self, facts: Sequence[Row]) -> list[Row]:
        """What follows from the facts for the products among the columns: f * g >= 0 where f >= 0 and g >= 0."""
        facts = [Row(f.gap, f.relation) for f in facts]
        found = dict.fromkeys([row for f in facts for row in _factors_within(f)])
        facts += found
        highest = max(map(_degree, self.products))
        parts = self._parts()
        for monomial in parts:
            self._multiply(monomial, facts, found, highest)
        new = dict.fromkeys(m for row in found for m in expr.terms_of(row.size) if _degree(m) > 1 and m not in parts)
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
            others = [(f, Row(expr.from_terms({rest: 1}))) for f in firsts if f.relation == "=="]
            for f, g in [*itertools.product(firsts, seconds), *others]:
                product = expr.mul(f.size, g.size)
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
            x, square = expr.from_atom(atom), expr.from_terms({((atom, 2),): 1})
            found[Row(square - x)] = found[Row(square + x)] = None


def _sum(relation: Relation, constant: int, *parts: tuple[Form, int]) -> Constraint:
    """The constraint on the constant and forms, each times its factor."""
    coefficients: dict[int, int] = {}
    for (columns, plus), factor in parts:
        constant += factor * plus
        for column, coefficient in columns.items():
            coefficients[column] = coefficients.get(column, 0) + factor * coefficient
    return Constraint(coefficients, constant, relation)


def _is_remainder(monomial: Monomial) -> bool:
    """The monomial is a remainder by a positive constant."""
    atom, power = monomial[0]
    return len(monomial) == power == 1 and atom.function == "mod" and isinstance(atom.args[1], int) and atom.args[1] > 0


def _degree(monomial: Monomial) -> int:
    return sum([p for _, p in monomial])


def _degree_of(size: Size) -> int:
    return max(map(_degree, expr.terms_of(size)), default=0)


def _monomial(factors: Iterable[Any]) -> Monomial:
    result: Monomial = ()
    for atom in factors:
        result = polynomials.join(result, ((atom, 1),))
    return result


def _has(row: Row, monomial: Monomial) -> bool:
    return monomial in expr.terms_of(row.size)


def _factors_within(row: Row) -> list[Row]:
    """Ranges of the factors of a product, where the row says in which range the product is."""
    terms = expr.terms_of(row.size)
    found: list[Row] = []
    for monomial in [m for m in terms if _degree(m) > 1]:
        lows = [atom.bounds()[0] for atom, _ in monomial]
        if any(low is None or low < 0 for low in lows):
            continue
        low, high = _range_in(terms, monomial, row.relation)
        positive, alone = low is not None and low >= 1, len(monomial) == 1
        for atom, power in monomial:
            size = expr.from_atom(atom)
            if low is not None and positive:
                found.append(Row(expr.sub(size, _root(low - 1, power) + 1 if alone else 1)))
            if high is not None and high >= 0 and (alone or positive):
                found.append(Row(expr.sub(_root(high, power), size)))
    return found


def _range_in(terms: Terms, monomial: Monomial, relation: Relation) -> Interval:
    """The range that `terms >= 0`, or `terms == 0`, leaves to one of its monomials."""
    factor = terms[monomial]
    below, above = polynomial_bounds.of_terms({m: -c for m, c in terms.items() if m != monomial})  # factor * monomial
    if relation == ">=":
        above = None
    if factor < 0:
        below, above = (None if b is None else -b for b in (above, below))
    factor = abs(factor)
    return None if below is None else -(-below // factor), None if above is None else above // factor


def _root(number: int, power: int) -> int:
    """The largest integer whose power is at most the number."""
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= number else (low, middle)
    return low


def _limits(monomial: Monomial) -> list[Row]:
    """The bounds of a monomial as rows."""
    low, high = polynomial_bounds.of_monomial(monomial)
    size = expr.from_terms({monomial: 1})
    rows = [Row(expr.sub(size, low))] if low is not None else []
    return rows + ([Row(expr.sub(high, size))] if high is not None else [])

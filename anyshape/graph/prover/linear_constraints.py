"""Linearise claims about sizes: constraints over integer columns, one for each leaf, call and product.

A quotient, remainder or extremum becomes a column with the constraints that define it, which is exact.
A product of sizes becomes a column with constraints that hold of it, which is sound.

Derive equalities `atom == size` from claims; the prover replaces the atoms by the sizes.

Rewrite sizes by what is known of divisions: divisors that are not 0, and remainders.
"""

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, TypeAlias

from anyshape.errors import SizeLimitError
from anyshape.graph.prover.constraints import Claim, at_least, implied_broadcasts, substitute_claim
from anyshape.graph.sizes import expr, polynomials
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.substitute import BUILDERS, Replace, substitute
from anyshape.graph.sizes.symbols import memoised
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

Form: TypeAlias = tuple[dict[int, int], int]  # coefficients by column, and the constant
Relation: TypeAlias = Literal["==", ">="]


class Row(NamedTuple):
    """Linear relation `size + plus == other` or `size + plus >= other`."""

    size: Size
    relation: Relation = ">="
    other: Size = 0
    plus: int = 0

    @property
    def gap(self) -> Size:
        """Difference of the sides, which is 0 or not negative."""
        return expr.add(expr.sub(self.size, self.other), self.plus)


class Constraint(NamedTuple):
    """Linear form over columns that is 0 or not negative."""

    coefficients: dict[int, int]
    constant: int
    relation: Relation


Alternatives: TypeAlias = list[list[Row]]  # a disjunction of conjunctions

_PRODUCT_LIMIT = 30
_MONOMIAL_LIMIT = 10
_PATTERN_LIMIT = 5
_DEGREE_LIMIT = 4


@functools.lru_cache(maxsize=1 << 12)
def count_products(size: Size) -> int:
    """Return the number of products of sizes, and of divisions by sizes, in the size."""
    return _count_products(size.terms) if isinstance(size, DimExpr) else 0


def count_row_products(row: Row) -> int:
    """Return the number of products, and of divisions by sizes, in the difference of the row's sides."""
    if not count_products(row.size) and not count_products(row.other):
        return 0
    return _count_products(expr.difference_terms(row.size, row.other).items())


def _count_products(terms: Iterable[tuple[Monomial, int]]) -> int:
    count = 0
    for monomial, _ in terms:
        if len(monomial) > 1 or (monomial and monomial[0][1] > 1):
            count += 1
        for atom, _ in monomial:
            if type(atom) is Call:
                count += atom.divides and atom.function in ("floordiv", "mod") and not isinstance(atom.args[1], int)
                count += sum([count_products(a) for a in atom.args])
    return count


def divides_by_size(claim: Claim) -> bool:
    """Return whether the claim contains a division by a size, so that it is undefined where that size is 0."""
    left, right = claim.left, claim.right
    return (not isinstance(left, int) and left.divides) or (not isinstance(right, int) and right.divides)


def rows_of(claim: Claim) -> Alternatives:
    """Return the claim as alternatives, each a conjunction."""
    left, right = claim.left, claim.right
    if claim.relation == ">=":
        return [[Row(left, ">=", right)]]
    if claim.relation == "==":
        return [[Row(left, "==", right)]]
    if claim.relation == "!=":
        return [[Row(left, ">=", right, -1)], [Row(right, ">=", left, -1)]]
    ones = [left] if claim.relation == "stretches" else [left, right]
    return [[Row(left, "==", right)], *[[Row(x, "==", 1)] for x in ones]]


def negation_of(claim: Claim) -> list[Alternatives]:
    """Return the negation of the claim: a conjunction of alternatives."""
    if claim.relation == ">=":
        return [[[Row(claim.right, ">=", claim.left, -1)]]]
    if claim.relation == "!=":
        return [[[Row(claim.left, "==", claim.right)]]]
    equalities = [row for (row,) in rows_of(claim)]
    return [[[Row(a, ">=", b, -1)], [Row(b, ">=", a, -1)]] for a, _, b, _ in equalities]


class Snapshot(NamedTuple):
    """Lengths of the parts of linear forms, to roll back to."""

    columns: int
    definitions: int
    cases: int
    products: int


@dataclass
class LinearForms:
    """Columns with their definitions, and the linear forms of sizes over them.

    `monomials` has the monomial of each column. `definitions` hold unconditionally. Of each of the `cases`, at least
    one alternative holds.
    """

    columns: dict[Any, int] = field(default_factory=dict)
    monomials: list[Any] = field(default_factory=list)
    definitions: list[Constraint] = field(default_factory=list)
    cases: list[list[list[Constraint]]] = field(default_factory=list)
    products: list[Monomial] = field(default_factory=list)

    def form(self, size: Size) -> Form:
        """Return the size as a linear form; make the columns that are new."""
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

    def snapshot(self) -> Snapshot:
        """Return the state that `roll_back` restores."""
        return Snapshot(len(self.monomials), len(self.definitions), len(self.cases), len(self.products))

    def roll_back(self, snapshot: Snapshot) -> None:
        """Remove everything that was added since the snapshot."""
        for monomial in self.monomials[snapshot.columns :]:
            del self.columns[monomial]
        del self.monomials[snapshot.columns :], self.definitions[snapshot.definitions :]
        del self.cases[snapshot.cases :], self.products[snapshot.products :]

    def constraint(self, row: Row) -> Constraint:
        """Return the row over the columns."""
        coefficients, constant = self._form(expr.difference_terms(row.size, row.other).items())
        return Constraint(coefficients, constant + row.plus, row.relation)

    def _column(self, monomial: Monomial) -> int:
        column = self.columns.get(monomial)
        if column is None:
            column = self.columns[monomial] = len(self.monomials)
            self.monomials.append(monomial)
            low, high = polynomials.of_monomial(monomial)
            if low is not None:
                self.definitions.append(Constraint({column: 1}, -low, ">="))
            if high is not None:
                self.definitions.append(Constraint({column: -1}, high, ">="))
            if len(monomial) == 1 and monomial[0][1] == 1:
                if isinstance(monomial[0][0], Call):
                    self._define(monomial[0][0], ({column: 1}, 0))
            else:
                self.products.append(monomial)
                for atom, _ in monomial:
                    self._column(((atom, 1),))
        return column

    # -- definitions of calls

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
        """Define a == b * q + r with 0 <= r < b, or b < r <= 0 for a negative b. The divisor is not 0."""
        a, b = call.args
        if call.function == "mod":
            quotient = Call("floordiv", (a, b))
            self._column(((quotient, 1),))
            whole = self._times(b, quotient)
            self.definitions.append(_sum("==", 0, (self.form(a), 1), (whole, -1), (size, -1)))
            return
        x, y, whole = self.form(a), self.form(b), self._times(b, call)
        if_positive = [_sum(">=", 0, (x, 1), (whole, -1)), _sum(">=", -1, (y, 1), (x, -1), (whole, 1))]
        if_negative = [_sum(">=", 0, (x, -1), (whole, 1)), _sum(">=", -1, (y, -1), (x, 1), (whole, -1))]
        low, high = expr.bounds(b)
        if isinstance(b, int) and b > 0:
            self.definitions += if_positive
            return
        if_positive.append(_sum(">=", -1, (y, 1)))
        if_negative.append(_sum(">=", -1, (y, -1)))
        if low is not None and low >= 0:
            self.definitions += if_positive
        elif high is not None and high <= 0:
            self.definitions += if_negative
        else:
            self.cases.append([if_positive, if_negative])

    def _times(self, b: Size, quotient: Call) -> Form:
        if isinstance(b, int):
            return {self._column(((quotient, 1),)): b}, 0
        return self.form(expr.mul(b, expr.from_atom(quotient)))

    def _broadcast(self, args: Sequence[Form], size: Form) -> None:
        """Define that each argument is the size or 1, and that at least one is the size."""
        same = [_sum("==", 0, (a, 1), (size, -1)) for a in args]
        if len(args) > _PATTERN_LIMIT:
            self.cases.append([[row] for row in same])
            return
        ones = [_sum("==", -1, (a, 1)) for a in args]
        patterns = itertools.product(*zip(same, ones, strict=True))
        self.cases.append([list(p) for p in patterns if list(p) != ones])

    # -- constraints on products

    def multiply(self, facts: Sequence[Row]) -> list[Row]:
        """Return rows about the products among the columns: f * g >= 0 where the facts give f >= 0 and g >= 0."""
        facts = [Row(f.gap, f.relation) for f in facts]
        rows = dict.fromkeys([row for f in facts for row in _factor_ranges(f)])
        facts += rows
        highest = max(map(_degree, self.products))
        products = self._subproducts()
        for monomial in products:
            self._multiply(monomial, facts, rows, highest)
        new = dict.fromkeys(m for r in rows for m in expr.terms_of(r.size) if _degree(m) > 1 and m not in products)
        for monomial in list(new)[:_MONOMIAL_LIMIT]:  # new products are bounded by the ranges of their factors
            self._multiply(monomial, (), rows, highest)
        return list(rows)

    def _multiply(self, monomial: Monomial, facts: Sequence[Row], rows: dict[Row, None], highest: int) -> None:
        """Add rows about one product from facts about its factors."""
        for atom, power in monomial:
            if power > 1:
                rows.update(dict.fromkeys(_square_bounds(atom)))
            for f, g in _factor_pairs(monomial, atom, facts, rows):
                product = expr.mul(f.size, g.size)
                if len(rows) < _PRODUCT_LIMIT and 0 < max(map(_degree, expr.terms_of(product)), default=0) <= highest:
                    rows[Row(product, f.relation if g.relation == ">=" else "==")] = None

    def _subproducts(self) -> list[Monomial]:
        """Return the products among the columns and the products within them, in order of degree."""
        products = dict.fromkeys(self.products)
        for monomial in list(products):
            if _degree(monomial) <= _DEGREE_LIMIT:
                for size in range(2, _degree(monomial)):
                    factors = [a for a, p in monomial for _ in range(p)]
                    for part in itertools.combinations(factors, size):
                        products[_monomial(part)] = None
        return sorted(products, key=_degree)[:_MONOMIAL_LIMIT]


def _factor_pairs(monomial: Monomial, atom, facts: Sequence[Row], rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of rows whose product mentions the monomial: one about the atom, one about the other factors."""
    single = ((atom, 1),)
    rest = polynomials.divide_monomials(monomial, single) or ()
    firsts = [f for f in [*facts, *_bound_rows(single)] if _mentions(f, single)]
    seconds = [f for f in [*facts, *rows, *_bound_rows(rest)] if _mentions(f, rest)]
    yield from itertools.product(firsts, seconds)
    yield from [(f, Row(expr.from_terms({rest: 1}))) for f in firsts if f.relation == "=="]


def _square_bounds(atom) -> tuple[Row, Row]:
    """Return that an integer and its negative are at most its square."""
    x, square = expr.from_atom(atom), expr.from_terms({((atom, 2),): 1})
    return Row(square - x), Row(square + x)


def _sum(relation: Relation, constant: int, *parts: tuple[Form, int]) -> Constraint:
    """Return the constraint on the sum of the constant and the forms, each times its factor."""
    coefficients: dict[int, int] = {}
    for (columns, plus), factor in parts:
        constant += factor * plus
        for column, coefficient in columns.items():
            coefficients[column] = coefficients.get(column, 0) + factor * coefficient
    return Constraint(coefficients, constant, relation)


def _is_remainder(monomial: Monomial) -> bool:
    """Return whether the monomial is a remainder by a positive constant."""
    atom, power = monomial[0]
    return len(monomial) == power == 1 and atom.function == "mod" and isinstance(atom.args[1], int) and atom.args[1] > 0


def _degree(monomial: Monomial) -> int:
    return sum([p for _, p in monomial])


def _monomial(factors: Iterable[Any]) -> Monomial:
    result: Monomial = ()
    for atom in factors:
        result = polynomials.multiply_monomials(result, ((atom, 1),))
    return result


def _mentions(row: Row, monomial: Monomial) -> bool:
    return monomial in expr.terms_of(row.size)


def _factor_ranges(row: Row) -> list[Row]:
    """Return bounds of the factors of each product, from the range that the row gives to the product."""
    terms = expr.terms_of(row.size)
    ranges: list[Row] = []
    for monomial in [m for m in terms if _degree(m) > 1 and all(_is_nonnegative(atom) for atom, _ in m)]:
        interval = _range_in(terms, monomial, row.relation)
        for atom, power in monomial:
            ranges += _ranges_from_product(expr.from_atom(atom), power, interval, is_power=len(monomial) == 1)
    return ranges


def _ranges_from_product(factor: Size, power: int, product: Interval, *, is_power: bool) -> Iterator[Row]:
    """Yield bounds of factor >= 0, from the range of factor**power, or of its product with other sizes >= 0."""
    low, high = product
    is_positive = low is not None and low >= 1
    if low is not None and is_positive:
        yield Row(expr.sub(factor, _root(low - 1, power) + 1 if is_power else 1))
    if high is not None and high >= 0 and (is_power or is_positive):
        yield Row(expr.sub(_root(high, power), factor))


def _is_nonnegative(atom) -> bool:
    low = atom.interval[0]
    return low is not None and low >= 0


def _range_in(terms: Terms, monomial: Monomial, relation: Relation) -> Interval:
    """Return the range that `terms >= 0`, or `terms == 0`, leaves to one of its monomials."""
    factor = terms[monomial]
    below, above = polynomials.of_terms({m: -c for m, c in terms.items() if m != monomial})  # factor * monomial
    if relation == ">=":
        above = None
    if factor < 0:
        below, above = (None if b is None else -b for b in (above, below))
    factor = abs(factor)
    return None if below is None else -(-below // factor), None if above is None else above // factor


def _root(number: int, power: int) -> int:
    """Return the largest integer whose power is at most the number."""
    low, high = 0, 1 << (number.bit_length() // power + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= number else (low, middle)
    return low


def _bound_rows(monomial: Monomial) -> list[Row]:
    """Return the bounds of a monomial as rows."""
    low, high = polynomials.of_monomial(monomial)
    size = expr.from_terms({monomial: 1})
    rows = [Row(expr.sub(size, low))] if low is not None else []
    return rows + ([Row(expr.sub(high, size))] if high is not None else [])


_LARGEST_MODULUS = 1 << 16  # divisors of larger ones are not enumerated


def simplify_relation(claim: Claim) -> Claim:
    """Write a broadcast with a constant as the equality or the stretch that it is."""
    relation, a, b = claim.relation, claim.left, claim.right
    if relation == "broadcasts" and isinstance(a, int):
        a, b = b, a
    if relation == "broadcasts" and isinstance(b, int) and b != 1:
        return simplify_relation(Claim("stretches", a, b, claim.text))
    if relation == "stretches" and (b == 1 or (isinstance(a, int) and a != 1)):
        return Claim("==", a, b, claim.text)
    return claim


def informative_claims(claim: Claim) -> tuple[Claim, ...]:
    """Return the claim; if it relates a size to itself, only the broadcasts inside the size, as the rest is trivial."""
    return implied_broadcasts(claim) if claim.left is claim.right and claim.relation != "!=" else (claim,)


def replacements_from(claim: Claim, runtime: Mapping[DimVar, int]) -> Iterator[tuple[Atom, Size]]:
    """Yield equalities `atom == size` that follow from the claim.

    `runtime` numbers the run-time sizes in their order. The newest one in a claim is never part of a
    replacement, because a plan would read it before the step that makes it.
    """
    if claim.relation == "stretches":
        atom = expr.as_atom(expr.broadcast(claim.left, claim.right))
        if isinstance(atom, Call) and not occurs(atom, claim.right):
            yield atom, claim.right
    if claim.relation == "==":
        for equality in (_orient(claim, runtime), _remainder_of_multiple(claim)):
            if equality is not None:
                yield equality
                yield from _remainders_by_divisors(*equality)


def _remainder_of_multiple(claim: Claim) -> tuple[Atom, Size] | None:
    """Return a % b == r for a claim b*(a // b) + r == a; None for any other claim."""
    gap = expr.sub(claim.left, claim.right)
    for monomial, coefficient in expr.terms_of(gap).items():
        call = monomial[0][0] if len(monomial) == 1 else None
        if isinstance(call, Call) and call.function == "floordiv" and abs(coefficient) == call.args[1]:
            dividend, divisor = call.args
            remainder = expr.as_atom(expr.mod(dividend, divisor))
            rest = expr.add(dividend, expr.mul(-1 if coefficient < 0 else 1, gap))
            residue = expr.sub(rest, expr.mul(divisor, expr.from_atom(call)))
            if isinstance(remainder, Call) and isinstance(residue, int) and 0 <= residue < abs(coefficient):
                return remainder, residue
    return None


def _remainders_by_divisors(atom: Atom, size: Size) -> Iterator[tuple[Atom, Size]]:
    """Yield the remainders by the divisors of a modulus: n % 12 == 8 gives n % 6 == 2."""
    if not isinstance(atom, Call) or atom.function != "mod" or not isinstance(size, int):
        return
    dividend, modulus = atom.args
    if isinstance(modulus, int) and 0 <= size < modulus <= _LARGEST_MODULUS:
        small = [d for d in range(2, math.isqrt(modulus) + 1) if modulus % d == 0]
        for divisor in {*small, *[modulus // d for d in small]}:
            remainder = expr.as_atom(expr.mod(dividend, divisor))
            if isinstance(remainder, Call) and remainder.function == "mod":
                yield remainder, size % divisor


def _orient(claim: Claim, runtime: Mapping[DimVar, int]) -> tuple[Atom, Size] | None:
    """Solve an equality for an atom that does not occur in the rest; None if there is no such atom."""
    newest = max((v for v in claim.variables() if v in runtime), key=runtime.__getitem__, default=None)
    gap = expr.sub(claim.left, claim.right)
    common = math.gcd(*expr.terms_of(gap).values())
    gap = expr.divide_coefficients(gap, common) if common > 1 else gap
    candidates = []
    for monomial, coefficient in expr.terms_of(gap).items():
        if len(monomial) == 1 and monomial[0][1] == 1 and abs(coefficient) == 1:
            atom = monomial[0][0]
            rest = (gap - coefficient * expr.from_atom(atom)) * -coefficient
            if not occurs(atom, rest) and (newest is None or not occurs(newest, rest)):
                candidates.append((atom, rest))
    return max(candidates, key=lambda c: _rank(c[0]), default=None)


def _rank(atom: Atom) -> tuple[int, object]:
    """Return the sort key that prefers calls to variables, and newer variables to older ones."""
    return (1, atom.nodes) if isinstance(atom, Call) else (0, atom.sort_key()[2])


def occurs(atom: Atom, size: Size) -> bool:
    """Return whether the atom is part of the size."""
    atoms = [a for m in expr.terms_of(size) for a, _ in m]
    return any(a is atom or (isinstance(a, Call) and any(occurs(atom, x) for x in a.args)) for a in atoms)


def mentions(claim: Claim, atom: Atom) -> bool:
    """Return whether the atom is part of a side of the claim."""
    return occurs(atom, claim.left) or occurs(atom, claim.right)


def substitute_if_defined(claim: Claim, replace: Replace) -> Claim:
    """Return the claim with atoms replaced; unchanged if that would divide by zero or grow too large."""
    try:
        return substitute_claim(claim, replace)
    except (ZeroDivisionError, SizeLimitError):
        return claim


def rewritten(claims: Iterable[Claim], atom: Atom, replace: Replace) -> list[Claim]:
    """Return the claims with atoms replaced in those that mention an atom."""
    return [substitute_if_defined(c, replace) if mentions(c, atom) else c for c in claims]


def substitute_in_replacements(replacements: dict[Atom, Size], atom: Atom, size: Size) -> None:
    """Put the size in place of an atom in what replaces others."""
    single = {atom: size}
    for replaced, by in replacements.items():
        if occurs(atom, by):
            with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                replacements[replaced] = substitute(by, single.get)


def substitute_keeping_broadcasts(claim: Claim, replace: Replace) -> list[Claim]:
    """Return the claim with atoms replaced, and the broadcasts that only the original claim implied."""
    new = substitute_if_defined(claim, replace)
    implied = set(implied_broadcasts(new))
    broadcasts = dict.fromkeys([substitute_if_defined(c, replace) for c in implied_broadcasts(claim)])
    return [new, *[c for c in broadcasts if c not in implied]]


def range_claims(variable: DimVar, size: Size) -> list[Claim]:
    """Return the declared range of a variable as claims about the size that it equals."""
    claims = [at_least(size, variable.lower)]
    return claims + ([at_least(variable.upper, size)] if variable.upper is not None else [])


def divide_out(size: Size, is_nonzero: Callable[[Size], bool]) -> Size:
    """Return the size with divisions carried out that are exact, or cancelled, where the divisor is not 0.

    `(a + b) // (a + b)` is 1 there, `(a*b) // a` is b, and `(a*b) // (a*c)` is `b // c`.
    """

    def replace(atom: Atom) -> Size | None:
        simpler = _carried_out(atom) if isinstance(atom, Call) and atom.divides else None
        if simpler is None or not is_nonzero(atom.args[1]):  # type: ignore[union-attr]
            return None
        return divide_out(simpler, is_nonzero)

    return substitute(size, replace) if isinstance(size, DimExpr) and size.divides else size


@memoised
def _carried_out(call: Call) -> Size | None:
    """Return a simpler form of a division by a size, which holds where that size is not 0; None without one."""
    if call.function not in ("floordiv", "mod") or isinstance(call.args[1], int):
        return None
    a, b = call.args
    if (quotient := expr.divide_exactly(a, b)) is not None:
        return quotient if call.function == "floordiv" else 0
    reduced = polynomials.reduce(expr.terms_of(a), expr.terms_of(b), lambda atom: True)
    if reduced is None:
        return None
    p, q, factor = map(expr.from_terms, reduced)
    simpler = BUILDERS[call.function](p, q)
    return simpler if call.function == "floordiv" else expr.mul(factor, simpler)


def declare_ranges(claims: Sequence[Claim], range_of: Callable[[DimVar], Interval]) -> list[Claim]:
    """Return the claims with variables that are declared with the ranges that follow: forms depend on them."""
    ranges: dict[Atom, Size] = {}
    for variable in dict.fromkeys(v for c in claims for v in c.variables()):
        low, high = range_of(variable)
        if low is not None and (low, high) != variable.interval:
            uid = (f"{variable.uid} within {low} and {high}", 0)
            ranges[variable] = expr.from_atom(DimVar(variable.name, low, high, uid))
    return [substitute_claim(c, ranges.get) for c in claims]


def nest_quotients(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with `(a // b) // k` for `a // (b*k)` where `a // b` occurs too, which relates the two."""
    calls = dict.fromkeys([call for c in claims for size in (c.left, c.right) for call in _quotients_by_size(size)])
    nested: dict[Atom, Size] = {}
    for whole, part in itertools.permutations(sorted(calls, key=lambda call: call.nodes), 2):
        k = expr.divide_exactly(whole.args[1], part.args[1]) if whole.args[0] is part.args[0] else None
        if k is not None and expr.is_nonnegative(k):
            nested[whole] = expr.from_atom(Call("floordiv", (nested.get(part, expr.from_atom(part)), k)))
    return [substitute_claim(c, nested.get) for c in claims] if nested else list(claims)


def shift_extrema(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims with `max(n - 1, 0) + 1` for `max(n, 1)`: products of the two then have one form."""
    return [substitute_claim(c, _shifted) for c in claims]


def _shifted(atom: Atom) -> Size | None:
    """Return a maximum or minimum with the constant of its last argument outside; None for other atoms."""
    if not isinstance(atom, Call) or atom.function not in ("max", "min"):
        return None
    args = [substitute(a, _shifted) for a in atom.args]
    shift = expr.terms_of(args[-1]).get((), 0)
    return expr.add(BUILDERS[atom.function](*[expr.sub(a, shift) for a in args]), shift) if shift else None


@memoised
def _quotients_by_size(size: Size) -> tuple[Call, ...]:
    """Return the quotients by sizes in an expression."""
    calls: dict[Call, None] = {}
    for atom in [a for m in expr.terms_of(size) for a, _ in m] if isinstance(size, DimExpr) and size.divides else ():
        if isinstance(atom, Call):
            calls.update(dict.fromkeys([c for argument in atom.args for c in _quotients_by_size(argument)]))
            if atom.function == "floordiv" and not isinstance(atom.args[1], int):
                calls[atom] = None
    return tuple(calls)


# -- known remainders --------------------------------------------------------------------------------------------


def write_as_multiples(
    claims: Sequence[Claim], known: Mapping[Atom, Size], range_of: Callable[[DimVar], Interval]
) -> list[Claim]:
    """Return the claims with m*t + r for each variable with v % m == r, and the ranges of these variables.

    Products of the variable with other sizes are then multiples of m by their form.
    """
    values: dict[Atom, Size] = {}
    ranges: list[Claim] = []
    used: set[DimVar] = set()
    for variable, modulus, residue, rest in _remainders(known, {v for c in claims for v in c.variables()}):
        concerned = {variable, *expr.variables(rest)}
        total = expr.add(expr.from_atom(variable), rest)
        multiple = _multiple(variable, modulus, residue, expr.bounds(total) if rest != 0 else range_of(variable))
        if multiple is not None and used.isdisjoint(concerned):
            used |= concerned
            values[variable] = expr.sub(expr.add(multiple, residue), rest)
            ranges += range_claims(variable, values[variable])
    return [*[substitute_claim(c, values.get) for c in claims], *ranges] if values else list(claims)


def _remainders(known: Mapping[Atom, Size], mentioned: Iterable[DimVar]) -> list[tuple[DimVar, int, int, Size]]:
    """Return (v, m, r, rest) for known remainders (v + rest) % m == r, the largest modulus of each variable first."""
    wanted, remainders = set(mentioned), []
    for atom, residue in known.items():
        if not isinstance(atom, Call) or atom.function != "mod" or not isinstance(residue, int):
            continue
        dividend, modulus = atom.args
        variables = expr.variables(dividend)
        if isinstance(modulus, int) and 0 <= residue < modulus <= _LARGEST_MODULUS and not wanted.isdisjoint(variables):
            for variable in variables:
                rest = expr.sub(dividend, expr.from_atom(variable))
                if variable not in expr.variables(rest):
                    remainders.append((variable, modulus, residue, rest))
                    break
    return sorted(_joined(remainders), key=lambda remainder: -remainder[1])


def _joined(remainders: Sequence[tuple[DimVar, int, int, Size]]) -> list[tuple[DimVar, int, int, Size]]:
    """Return one remainder for each variable and rest: that by the least common multiple of the moduli."""
    joined: dict[tuple[DimVar, Size], tuple[int, int]] = {}
    for variable, modulus, residue, rest in remainders:
        m, r = joined.get((variable, rest), (1, 0))
        if (common := math.lcm(m, modulus)) <= _LARGEST_MODULUS:
            both = next((n for n in range(r, common, m) if n % modulus == residue), None)
            if both is not None:
                joined[variable, rest] = common, both
    return [(variable, m, r, rest) for (variable, rest), (m, r) in joined.items()]


def _multiple(variable: DimVar, modulus: int, residue: int, interval: Interval) -> Size | None:
    """Return modulus * t, plus the residue within the interval, for a new variable t; None without a least t."""
    low, high = interval
    if low is None:
        return None
    least, most = -((residue - low) // modulus), None if high is None else (high - residue) // modulus
    uid = (f"{variable.uid} in steps of {modulus} from {residue} within {least} and {most}", 0)
    return expr.mul(modulus, expr.from_atom(DimVar(variable.name, least, most, uid)))

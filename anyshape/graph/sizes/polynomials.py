"""Polynomials with integer coefficients, as dictionaries from monomials to coefficients.

A monomial is a tuple of (atom, power) pairs in the order of the atoms; the empty one is the constant term.
Knows only the order and the bounds of atoms.

Bound polynomials by the bounds of their atoms: sound intervals. Reads a call as a function name and arguments.

Reduce polynomials modulo a constant as functions of integers: `a**2 + a` is even, `a**3 % 3` is `a % 3`.

The canonical form is unique. It is found in the basis of falling factorials x*(x - 1)*...*(x - k + 1). As k! divides
them, each coefficient is reduced modulo the constant divided by its common factor with k!.

Calls in size expressions: floordiv, mod, max, min and broadcast of sizes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from anyshape.graph.sizes import intervals
from anyshape.graph.sizes.intervals import CALL_BOUNDS, Interval, check_limit
from anyshape.graph.sizes.symbols import Interned, show_call

if TYPE_CHECKING:
    from anyshape.graph.sizes.expr import Size

Monomial: TypeAlias = tuple[tuple[Any, int], ...]
Terms: TypeAlias = dict[Monomial, int]

_DIVISION_STEPS = 200


@functools.lru_cache(maxsize=1 << 14)
def monomial_key(monomial: Monomial) -> tuple[Any, ...]:
    """Return the sort key that puts the monomial of highest degree first (graded lexicographic order)."""
    return -sum([p for _, p in monomial]), [(a.sort_key(), -p) for a, p in monomial]


def term_key(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    """Return the sort key of a term: that of its monomial."""
    return monomial_key(term[0])


def multiply_monomials(a: Monomial, b: Monomial) -> Monomial:
    """Return a * b."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    if len(powers) == 1:
        return tuple(powers.items())
    return tuple(sorted(powers.items(), key=lambda item: item[0].sort_key()))


def divide_monomials(a: Monomial, b: Monomial) -> Monomial | None:
    """Return a / b if b divides a, else None."""
    if not b:
        return a
    powers = dict(a)
    for atom, power in b:
        if (left := powers.get(atom, 0) - power) < 0:
            return None
        powers[atom] = left
    return tuple([(atom, p) for atom, p in powers.items() if p])


def add_into(terms: Terms, more: Iterable[tuple[Monomial, int]], factor: int = 1) -> None:
    """Add factor * more to the terms, in place."""
    for monomial, coefficient in more:
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient


def product(a: Terms, b: Terms) -> Terms:
    """Return a * b."""
    terms: Terms = {}
    for m, c in a.items():
        for n, d in b.items():
            key = multiply_monomials(m, n)
            terms[key] = terms.get(key, 0) + c * d
    return terms


def divide(a: Terms, b: Terms) -> tuple[Terms, Terms]:
    """Return (q, r) with a = q * b + r, by division with the leading term of b.

    Terms that the leading term does not divide go to r.
    """
    lead = min(b, key=monomial_key)
    rest_of_b = [(m, c) for m, c in b.items() if m != lead]
    work, quotient, rest = dict(a), Terms(), Terms()
    for _ in range(_DIVISION_STEPS):
        if not work:
            return quotient, rest
        monomial = min(work, key=monomial_key) if rest_of_b else next(iter(work))
        coefficient = work.pop(monomial)
        factor = divide_monomials(monomial, lead) if coefficient % b[lead] == 0 else None
        if factor is None:
            rest[monomial] = coefficient
        elif coefficient:
            times = coefficient // b[lead]
            quotient[factor] = times
            add_into(work, [(multiply_monomials(m, factor), c) for m, c in rest_of_b], -times)
    return {}, dict(a)


def merge_division(terms: Terms, monomial: Monomial, remainder: Any, quotient: Any, a: Terms, b: Terms) -> Terms | None:
    """Write b * quotient + remainder as a in the terms; None if they do not contain that sum.

    `monomial` is a term of them and a multiple of the atom `remainder`.
    """
    if (rest := divide_monomials(monomial, ((remainder, 1),))) is None:
        return None
    times = terms[monomial]
    multiple = product({multiply_monomials(rest, ((quotient, 1),)): times}, b)
    if not all(m in terms and terms[m] * c > 0 and abs(terms[m]) >= abs(c) for m, c in multiple.items()):
        return None
    merged = dict(terms)
    add_into(merged, multiple.items(), -1)
    del merged[monomial]
    add_into(merged, product({rest: times}, a).items())
    return merged


def as_ceiling(a: Terms, b: int) -> tuple[Terms, Terms] | None:
    """Return (y, z) with a % b == z + b * (y // b), if each coefficient of a is nearer to b than to 0.

    Such coefficients are residues of negative ones: y // b is the ceiling of -z / b.
    """
    if not all(2 * c >= b for m, c in a.items() if m):
        return None
    negative = {m: c - b if m else c for m, c in a.items()}
    rounded = {m: -c for m, c in negative.items()}
    rounded[()] = rounded.get((), 0) + b - 1
    return rounded, negative


def is_positive(atom: Any) -> bool:
    """Return whether the bounds of the atom alone imply that it is at least 1."""
    return (atom.interval[0] or 0) > 0


def reduce(a: Terms, b: Terms, cancels: Callable[[Any], bool] = is_positive) -> tuple[Terms, Terms, Terms] | None:
    """Return (p, q, g) with a = g * p and b = g * q, for the largest term g of atoms that cancel; None if g is 1."""
    factor = math.gcd(*b.values(), *a.values())
    shared: Monomial = ()
    for atom, power in next(iter(b)):
        if cancels(atom):
            common = min([power, *[dict(m).get(atom, 0) for terms in (b, a) for m in terms]])
            shared += ((atom, common),) if common else ()
    if factor == 1 and not shared:
        return None
    p, q = ({divide_monomials(m, shared) or (): c // factor for m, c in terms.items()} for terms in (a, b))
    return p, q, {shared: factor}


_SEVERAL: tuple[Any, int] = (None, 0)  # of a monomial that is not one atom


def of_monomial(monomial: Monomial) -> Interval:
    """Return an interval that contains every value of the monomial."""
    if len(monomial) == 1 and monomial[0][1] == 1:
        return monomial[0][0].interval
    result: Interval = (1, 1)
    for atom, power in monomial:
        result = intervals.product(result, intervals.power(atom.interval, power))
    return result


def of_terms(terms: Terms) -> Interval:
    """Return an interval that contains every value of the polynomial."""
    calls: list[Any] = []
    low, high = _of_sum(terms, calls)
    if calls and len(terms) > 1:
        multiple = calls[0].args[1] if len(calls) == 1 else math.lcm(*[call.args[1] for call in calls])
        below, above = _of_multiple(terms, calls, multiple)
        if below is not None:
            low = -(-below // multiple) if low is None else max(low, -(-below // multiple))
        if above is not None:
            high = above // multiple if high is None else min(high, above // multiple)
    return low, high


def _of_sum(terms: Terms, quotients: list[Any]) -> Interval:
    """Bound the sum term by term, and collect the terms that are floordiv calls by constants."""
    low: intervals.Bound = 0
    high: intervals.Bound = 0
    for monomial, coefficient in terms.items():
        atom, power = monomial[0] if len(monomial) == 1 else _SEVERAL
        if power == 1:
            below, above = atom.interval
            if type(atom) is Call and _is_constant_quotient(atom):
                quotients.append(atom)
        else:
            below, above = of_monomial(monomial) if monomial else (1, 1)
        if coefficient < 0:
            below, above = above, below
        if low is not None:
            low = None if below is None else low + coefficient * below
        if high is not None:
            high = None if above is None else high + coefficient * above
    return low, high


def constant_quotients(terms: Terms) -> list[Any]:
    """Return the floordiv calls by constants that are terms of the polynomial."""
    single = [m[0][0] for m in terms if len(m) == 1 and m[0][1] == 1]
    return [a for a in single if type(a) is Call and _is_constant_quotient(a)]


def _is_constant_quotient(call: Call) -> bool:
    """Return whether the call is a floordiv by a constant."""
    return call.function == "floordiv" and isinstance(call.args[1], int)


def _of_multiple(terms: Terms, calls: Sequence[Any], multiple: int) -> Interval:
    """Bound `multiple` times the polynomial, from (a - b + 1) / b <= a // b <= a / b for each of the calls."""
    scaled = {m: c * multiple for m, c in terms.items()}
    below = above = 0
    for call, times in [(call, scaled.pop(((call, 1),)) // call.args[1]) for call in calls]:  # quotients may be nested
        a, b = call.args
        for monomial, coefficient in a.terms:
            scaled[monomial] = scaled.get(monomial, 0) + times * coefficient
        if times > 0:
            below += times * (1 - b)
        else:
            above += times * (1 - b)
    if 0 in scaled.values():
        scaled = {m: c for m, c in scaled.items() if c}
    low, high = _of_sum(scaled, [])
    return None if low is None else low + below, None if high is None else high + above


_MOST_PRODUCTS = 64  # of the powers in one monomial: it has as many terms in the other basis
_MOST_WORK = 1 << 11  # terms that are evaluated for the residues of one polynomial


def canonical(terms: Terms, modulus: int) -> Terms:
    """Return the one form, with coefficients below `modulus`, of all polynomials with these residues."""
    if not has_powers(terms) or max(map(_count, terms)) > _MOST_PRODUCTS:
        return terms
    basis: Terms = {}
    for monomial, coefficient in terms.items():
        add_into(basis, _change_basis(monomial, _falling_from_power), coefficient)
    reduced: Terms = {}
    for monomial, coefficient in basis.items():
        factorials = math.prod([math.factorial(k) for _, k in monomial])
        least = coefficient % (modulus // math.gcd(modulus, factorials))
        add_into(reduced, _change_basis(monomial, _power_from_falling), least)
    return {m: c % modulus for m, c in reduced.items() if c % modulus}


def range_of_residues(terms: Terms, modulus: int) -> tuple[int, int]:
    """Return the least and the greatest residue of a polynomial with powers; the widest range if that is much work."""
    atoms = list(dict.fromkeys(a for m in terms for a, _ in m))
    if not has_powers(terms) or modulus > _MOST_WORK or modulus ** len(atoms) * len(terms) > _MOST_WORK:
        return 0, modulus - 1
    residues = set()
    for values in itertools.product(range(modulus), repeat=len(atoms)):
        at = dict(zip(atoms, values, strict=True))
        total = sum([c * math.prod([pow(at[a], p, modulus) for a, p in m]) for m, c in terms.items()])
        residues.add(total % modulus)
    return min(residues), max(residues)


def has_powers(terms: Terms) -> bool:
    """Return whether some atom has a power above 1."""
    return any(p > 1 for m in terms for _, p in m)


def _count(monomial: Monomial) -> int:
    return math.prod([p for _, p in monomial])


_Row = tuple[tuple[int, int], ...]  # (order, coefficient)


def _change_basis(monomial: Monomial, row: Callable[[int], _Row]) -> list[tuple[Monomial, int]]:
    """Return the monomial in the other basis. `row` gives a power, or falling factorial, of one atom there."""
    result: list[tuple[Monomial, int]] = []
    for factors in itertools.product(*[row(p) for _, p in monomial]):
        powers = tuple([(atom, k) for (atom, _), (k, _) in zip(monomial, factors, strict=True)])
        result.append((powers, math.prod([c for _, c in factors])))
    return result


@functools.cache
def _falling_from_power(power: int) -> _Row:
    """Return x**power as falling factorials, by their orders: Stirling numbers of the second kind."""
    row = {1: 1}
    for _ in range(power - 1):
        row = {k: k * row.get(k, 0) + row.get(k - 1, 0) for k in range(1, max(row) + 2)}
    return tuple(row.items())


@functools.cache
def _power_from_falling(order: int) -> _Row:
    """Return the falling factorial of an order as powers: signed Stirling numbers of the first kind."""
    row = {1: 1}
    for n in range(1, order):
        row = {k: row.get(k - 1, 0) - n * row.get(k, 0) for k in range(1, n + 2)}
    return tuple(row.items())


class Call(Interned):
    """Interned application of a function to sizes: an atom of the polynomial around it."""

    __slots__ = ("_key", "args", "broadcasts", "depth", "divides", "function", "interval", "merges", "nodes")
    _instances: WeakValueDictionary[tuple[Any, ...], Call] = WeakValueDictionary()

    function: str
    args: tuple[Size, ...]
    interval: Interval
    depth: int  # of calls within calls
    nodes: int  # number of nodes of the expression written out
    divides: bool  # contains a quotient or remainder by a size that is not a constant
    merges: bool  # a sum with multiples of it may be simpler without it
    broadcasts: bool  # is or contains a broadcast
    _key: tuple[Any, ...] | None

    def __new__(cls, function: str, args: tuple[Size, ...]) -> Call:
        if (interned := cls._instances.get((function, *args))) is not None:
            return interned
        self = super().__new__(cls)
        self.function, self.args, self._key = function, args, None
        depth, nodes, divides, broadcasts = 0, 1 + len(args), False, function == "broadcast"
        intervals: list[Interval] = []
        for size in args:
            if isinstance(size, int):
                intervals.append((size, size))
                continue
            depth, nodes = max(depth, size.depth), nodes + size.nodes
            divides |= size.divides
            broadcasts |= size.broadcasts
            intervals.append(size.bounds())
        self.depth, self.nodes = depth + 1, nodes
        check_limit("calls within calls", self.depth)
        check_limit("nodes", nodes)
        self.interval = CALL_BOUNDS[function](*intervals)
        self.divides, self.merges, self.broadcasts = divides, function == "mod", broadcasts
        if function in ("floordiv", "mod"):
            self._note_division()
        return cls._instances.setdefault((function, *args), self)

    def _note_division(self) -> None:
        """Note facts about a quotient or remainder. A polynomial with powers does not have all residues."""
        dividend, divisor = self.args
        if not isinstance(divisor, int):
            self.divides = True
        elif divisor < 1 or isinstance(dividend, int) or not dividend.has_powers:
            return
        elif self.function == "floordiv":
            self.merges = canonical(dict(dividend.terms), divisor) != dict(dividend.terms)
        else:
            low, high = range_of_residues(dict(dividend.terms), divisor)
            before = self.interval[1]
            self.interval = low, high if before is None else min(before, high)

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args)

    def __repr__(self) -> str:
        return show_call(self, str)

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:  # memoised, as operands are shared: else the work doubles with each level of nesting
            args = tuple([(0, a) if isinstance(a, int) else (1, a.sort_key()) for a in self.args])
            self._key = (1, self.function, args)
        return self._key

"""Polynomials with integer coefficients, as dictionaries from monomials to coefficients.

A monomial is a tuple of (atom, power) pairs in the order of the atoms; the empty one is the constant term.
Knows only the order and the bounds of atoms.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

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
        left = powers.get(atom, 0) - power
        if left < 0:
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
    rest = divide_monomials(monomial, ((remainder, 1),))
    if rest is None:
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

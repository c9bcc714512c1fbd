"""Polynomials with integer coefficients as dictionaries from monomials to coefficients.

Knows of atoms only their order and bounds. A monomial is a tuple of (atom, power)
pairs in the order of the atoms; the empty one is the constant term.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

Monomial: TypeAlias = tuple[tuple[Any, int], ...]
Terms: TypeAlias = dict[Monomial, int]

_DIVISION_STEPS = 200


def order(monomial: Monomial) -> tuple[Any, ...]:
    """The key that puts the monomial of highest degree first (graded lexicographic order)."""
    return -sum([p for _, p in monomial]), [(a.sort_key(), -p) for a, p in monomial]


def order_of_term(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    """As `order`, of a term."""
    return order(term[0])


def join(a: Monomial, b: Monomial) -> Monomial:
    """The product of two monomials."""
    if not a or not b:
        return a or b
    powers = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    if len(powers) == 1:
        return tuple(powers.items())
    return tuple(sorted(powers.items(), key=lambda item: item[0].sort_key()))


def quotient(a: Monomial, b: Monomial) -> Monomial | None:
    """a / b, when b divides a."""
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
    """terms += factor * more."""
    for monomial, coefficient in more:
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient


def product(a: Terms, b: Terms) -> Terms:
    """a * b."""
    terms: Terms = {}
    for m, c in a.items():
        for n, d in b.items():
            key = join(m, n)
            terms[key] = terms.get(key, 0) + c * d
    return terms


def divide(a: Terms, b: Terms) -> tuple[Terms, Terms]:
    """(q, r) with a = q * b + r, by division with the leading term of b; what it does not divide is left in r."""
    lead = min(b, key=order)
    rest_of_b = [(m, c) for m, c in b.items() if m != lead]
    work, result, rest = dict(a), Terms(), Terms()
    for _ in range(_DIVISION_STEPS):
        if not work:
            return result, rest
        monomial = min(work, key=order) if rest_of_b else next(iter(work))
        coefficient = work.pop(monomial)
        factor = quotient(monomial, lead) if coefficient % b[lead] == 0 else None
        if factor is None:
            rest[monomial] = coefficient
        elif coefficient:
            times = coefficient // b[lead]
            result[factor] = times
            add_into(work, [(join(m, factor), c) for m, c in rest_of_b], -times)
    return {}, dict(a)


def reduce(a: Terms, b: Terms) -> tuple[Terms, Terms, Terms]:
    """(p, q, g) with a = g * p and b = g * q, where g > 0 is a term that divides every term of both."""
    monomials = [dict(m) for terms in (a, b) for m in terms]
    first, *others = monomials
    common = [(x, min([p, *[m.get(x, 0) for m in others]])) for x, p in first.items() if (x.bounds()[0] or 0) > 0]
    shared = tuple([(x, p) for x, p in common if p])
    factor = math.gcd(*a.values(), *b.values())
    if factor == 1 and not shared:
        return a, b, {(): 1}
    p, q = ({quotient(m, shared) or (): c // factor for m, c in terms.items()} for terms in (a, b))
    return p, q, {shared: factor}

"""Polynomials with integer coefficients as dictionaries from monomials to coefficients.

Knows of atoms only their order and bounds. A monomial is a tuple of (atom, power)
pairs in the order of the atoms; the empty one is the constant term.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, TypeAlias

Monomial: TypeAlias = tuple[tuple[Any, int], ...]
Terms: TypeAlias = dict[Monomial, int]

_DIVISION_STEPS = 200


@functools.lru_cache(maxsize=1 << 14)
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


def undivided(terms: Terms, monomial: Monomial, remainder: Any, floor: Any, a: Terms, b: Terms) -> Terms | None:
    """The terms, of which `monomial` is a multiple of the remainder, with b * floor + remainder written as a."""
    rest = quotient(monomial, ((remainder, 1),))
    if rest is None:
        return None
    times = terms[monomial]
    parts = product({join(rest, ((floor, 1),)): times}, b)
    if not all(m in terms and terms[m] * c > 0 and abs(terms[m]) >= abs(c) for m, c in parts.items()):
        return None
    result = dict(terms)
    add_into(result, parts.items(), -1)
    del result[monomial]
    add_into(result, product({rest: times}, a).items())
    return result


def rounded_up(a: Terms, b: int) -> tuple[Terms, Terms] | None:
    """(y, z) with a % b == z + b * (y // b), for coefficients of a that are those of negative ones modulo b."""
    if not all(2 * c >= b for m, c in a.items() if m):
        return None
    negative = {m: c - b if m else c for m, c in a.items()}
    up = {m: -c for m, c in negative.items()}
    up[()] = up.get((), 0) + b - 1
    return up, negative


def reduce(a: Terms, b: Terms) -> tuple[Terms, Terms, Terms] | None:
    """(p, q, g) with a = g * p and b = g * q, where g is a positive term that divides every term of both.

    None when that is 1.
    """
    factor = math.gcd(*b.values(), *a.values())
    shared: Monomial = ()
    for atom, power in next(iter(b)):
        if (atom.bounds()[0] or 0) > 0:
            common = min([power, *[dict(m).get(atom, 0) for terms in (b, a) for m in terms]])
            shared += ((atom, common),) if common else ()
    if factor == 1 and not shared:
        return None
    p, q = ({quotient(m, shared) or (): c // factor for m, c in terms.items()} for terms in (a, b))
    return p, q, {shared: factor}

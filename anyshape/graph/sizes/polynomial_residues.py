"""Reduce polynomials modulo a constant as functions of integers: `a**2 + a` is even, `a**3 % 3` is `a % 3`.

The canonical form is unique. It is found in the basis of falling factorials x*(x - 1)*...*(x - k + 1). As k! divides
them, each coefficient is reduced modulo the constant divided by its common factor with k!.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

from anyshape.graph.sizes import polynomials
from anyshape.graph.sizes.polynomials import Monomial, Terms

_MOST_PRODUCTS = 64  # of the powers in one monomial: it has as many terms in the other basis
_MOST_WORK = 1 << 11  # terms that are evaluated for the residues of one polynomial


def canonical(terms: Terms, modulus: int) -> Terms:
    """Return the one form, with coefficients below `modulus`, of all polynomials with these residues."""
    if not has_powers(terms) or max(map(_count, terms)) > _MOST_PRODUCTS:
        return terms
    basis: Terms = {}
    for monomial, coefficient in terms.items():
        polynomials.add_into(basis, _change_basis(monomial, _falling_from_power), coefficient)
    reduced: Terms = {}
    for monomial, coefficient in basis.items():
        factorials = math.prod([math.factorial(k) for _, k in monomial])
        least = coefficient % (modulus // math.gcd(modulus, factorials))
        polynomials.add_into(reduced, _change_basis(monomial, _power_from_falling), least)
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

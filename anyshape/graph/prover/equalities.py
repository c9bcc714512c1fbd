"""Equalities `atom == size`, by which atoms are replaced, that a claim amounts to."""

from __future__ import annotations

import math
from collections.abc import Iterator

from anyshape.graph.prover.constraints import Claim, broadcasts_in
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, Size

_DIVISORS = 1 << 16  # of constants up to this one are looked for


def plain(claim: Claim) -> Claim:
    """A broadcast with a constant as the equality or the stretch that it is."""
    relation, a, b = claim.relation, claim.left, claim.right
    if relation == "broadcasts" and isinstance(a, int):
        a, b = b, a
    if relation == "broadcasts" and isinstance(b, int) and b != 1:
        return plain(Claim("stretches", a, b, claim.text))
    if relation == "stretches" and (b == 1 or (isinstance(a, int) and a != 1)):
        return Claim("==", a, b, claim.text)
    return claim


def what_it_says(claim: Claim) -> tuple[Claim, ...]:
    """The claim; of a size and itself, which is true whatever that is, only what it takes for granted."""
    return broadcasts_in(claim) if claim.left is claim.right and claim.relation != "!=" else (claim,)


def replacements_by(claim: Claim) -> Iterator[tuple[Atom, Size]]:
    """The equalities `atom == size` that a claim amounts to, and others that follow from it."""
    if claim.relation == "stretches":
        atom = expr.as_atom(expr.broadcast(claim.left, claim.right))
        if isinstance(atom, Call) and not occurs(atom, claim.right):
            yield atom, claim.right
    found = _oriented(claim) if claim.relation == "==" else None
    if found is not None:
        yield found
        yield from _remainders(*found)


def _remainders(atom: Atom, size: Size) -> Iterator[tuple[Atom, Size]]:
    """What a remainder by a constant says of those by the divisors of the constant."""
    if not isinstance(atom, Call) or atom.function != "mod" or not isinstance(size, int):
        return
    dividend, by = atom.args
    if isinstance(by, int) and 0 <= size < by <= _DIVISORS:
        small = [d for d in range(2, math.isqrt(by) + 1) if by % d == 0]
        for divisor in {*small, *[by // d for d in small]}:
            rest = expr.as_atom(expr.mod(dividend, divisor))
            if isinstance(rest, Call) and rest.function == "mod":
                yield rest, size % divisor


def _oriented(claim: Claim) -> tuple[Atom, Size] | None:
    """An equality as `atom == size` where the atom occurs nowhere in the size; None when it has no such form."""
    gap = expr.sub(claim.left, claim.right)
    common = math.gcd(*expr.terms_of(gap).values())
    gap = expr.from_terms({m: c // common for m, c in expr.terms_of(gap).items()}) if common > 1 else gap
    candidates = []
    for monomial, coefficient in expr.terms_of(gap).items():
        if len(monomial) == 1 and monomial[0][1] == 1 and abs(coefficient) == 1:
            atom = monomial[0][0]
            rest = (gap - coefficient * expr.from_atom(atom)) * -coefficient
            if not occurs(atom, rest):
                candidates.append((atom, rest))
    return max(candidates, key=lambda c: _rank(c[0]), default=None)


def _rank(atom: Atom) -> tuple[int, object]:
    """Prefer to replace calls over variables, and newer variables over older ones."""
    return (1, atom.nodes) if isinstance(atom, Call) else (0, atom.sort_key()[2])


def occurs(atom: Atom, size: Size) -> bool:
    atoms = [a for m in expr.terms_of(size) for a, _ in m]
    return any(a is atom or (isinstance(a, Call) and any(occurs(atom, x) for x in a.args)) for a in atoms)

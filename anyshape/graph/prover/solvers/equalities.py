"""Derive equalities `atom == size` from claims; the prover replaces the atoms by the sizes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping

from anyshape.errors import SizeLimitError
from anyshape.graph.prover.constraints import Claim, at_least, implied_broadcasts, substitute_claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimVar, Size
from anyshape.graph.sizes.substitute import Replace, substitute

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

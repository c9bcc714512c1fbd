"""Derive equalities `atom == size` from claims; the prover replaces the atoms by the sizes.

Rewrite sizes by what is known of divisions: divisors that are not 0, and remainders.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from anyshape.errors import SizeLimitError
from anyshape.graph.prover.constraints import Claim, at_least, implied_broadcasts, substitute_claim
from anyshape.graph.sizes import expr, polynomials
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.substitute import BUILDERS, Replace, substitute
from anyshape.graph.sizes.symbols import memoised

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
    quotient = expr.divide_exactly(a, b)
    if quotient is not None:
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
        if k is not None and _is_nonnegative(k):
            nested[whole] = expr.from_atom(Call("floordiv", (nested.get(part, expr.from_atom(part)), k)))
    return [substitute_claim(c, nested.get) for c in claims] if nested else list(claims)


def _is_nonnegative(size: Size) -> bool:
    """Return whether the bounds of the variables alone imply size >= 0."""
    low = expr.bounds(size)[0]
    return low is not None and low >= 0


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
        common = math.lcm(m, modulus)
        if common <= _LARGEST_MODULUS:
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

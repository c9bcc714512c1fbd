"""Parts of equations between sizes: terms in a variable, linear factors, periods, and identities of quotients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Sequence

from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.substitute import BUILDERS, substitute

_MAX_PERIOD = 64


def atoms_of(size: Size) -> list[Atom]:
    """Return the distinct atoms of an expression, including the arguments of calls."""
    atoms: dict[Atom, None] = {}
    pending = [size]
    while pending:
        for atom in [atom for monomial in expr.terms_of(pending.pop()) for atom, _ in monomial]:
            if atom not in atoms:
                atoms[atom] = None
                pending.extend(atom.args if isinstance(atom, Call) else ())
    return list(atoms)


def split_terms(terms: Terms, variables: Collection[DimVar]) -> tuple[Terms, Terms]:
    """Return the terms that contain one of the variables, and all other terms."""
    inside: Terms = {}
    outside: Terms = {}
    for monomial, factor in terms.items():
        contains = monomial and any(v in variables for v in variables_of(monomial))
        (inside if contains else outside)[monomial] = factor
    return inside, outside


def variables_of(monomial: Monomial) -> tuple[DimVar, ...]:
    """Return the distinct variables of a monomial."""
    return expr.variables(DimExpr(((monomial, 1),)))


def terms_in(size: Size, variable: DimVar) -> Size:
    """Return the sum of the terms that contain the variable."""
    return expr.from_terms(split_terms(expr.terms_of(size), [variable])[0])


def linear_factor(curve: Size, variable: DimVar) -> Size | None:
    """Return the factor of the variable where the curve is a multiple of it; None otherwise."""
    factor = replace_variable(curve, variable, 1)
    multiple = isinstance(curve, DimExpr) and factor * expr.from_atom(variable) is curve
    return factor if multiple and variable not in expr.variables(factor) else None


def period_of(curve: Size, variable: DimVar) -> int:
    """Return a period of the quotients and remainders by constants in the variable; 1 where it is large."""
    calls = [a for a in atoms_of(curve) if isinstance(a, Call) and variable in expr.variables(expr.from_atom(a))]
    divisors = [c.args[1] for c in calls if c.function in ("floordiv", "mod")]
    period = math.lcm(*[abs(d) for d in divisors if isinstance(d, int)])
    return period if 0 < period <= _MAX_PERIOD else 1


def residue_class(period: int, start: int, low: int, high: Bound) -> Size:
    """Return the sizes `start` plus any multiple of the period, at least `low` and below `high`, as an expression."""
    least, most = -((start - low) // period), None if high is None else (high - 1 - start) // period
    return period * expr.variable("t", least, most) + start


def replace_variable(size: Size, variable: DimVar, value: Size) -> Size:
    """Return the size with the variable replaced."""
    return substitute(size, lambda atom: value if atom is variable else None)


def greatest_arguments(size: Size, scope: Scope) -> Size:
    """Return the size with extrema reduced to the arguments that the scope does not prove to be exceeded."""

    def replace(atom: Atom) -> Size | None:
        if not isinstance(atom, Call) or atom.function not in ("max", "min"):
            return None
        sign, left = (1 if atom.function == "max" else -1), list(atom.args)
        for arg in atom.args:
            if any(scope.proves(at_least(sign * other, sign * arg)) for other in left if other is not arg):
                left.remove(arg)
        return BUILDERS[atom.function](*left) if len(left) < len(atom.args) else None

    return substitute(size, replace)


def call_identities(sums: Sequence[Terms]) -> list[Terms]:
    """Return sums that are 0 for all variables and tie quotients, remainders and extrema to their operands.

    a is b*(a // b) + a % b, and it is the sum of (a + i) // b for all i < b. Likewise max(a, b) + min(a, b) is a + b.
    The identities are terms and not sizes, since their canonical form is 0.
    """
    identities = _extrema_identities(sums)
    for call in _calls(sums, "mod"):
        a, b = call.args
        quotient = expr.terms_of(b * expr.floordiv(a, b))
        identities.append(_add_terms(expr.terms_of(a), [(m, -c) for m, c in quotient.items()], [(((call, 1),), -1)]))
    shifted: dict[tuple[Size, Size], dict[int, Call]] = {}
    for call in _calls(sums, "floordiv"):
        a, b = call.args
        shift = expr.terms_of(a).get((), 0)
        shifted.setdefault((a - shift, b), {})[shift] = call
    for (a, b), calls in shifted.items():
        if isinstance(b, int) and sorted(calls) == list(range(b)):
            identities.append(_add_terms(expr.terms_of(a), [(((c, 1),), -1) for c in calls.values()]))
    return identities


def _extrema_identities(sums: Sequence[Terms]) -> list[Terms]:
    """Return max(a, b) + min(a, b) - a - b for each pair that occurs."""
    lows = {c.args: c for c in _terms_calling(sums, "min")}
    pairs = [(c, lows[c.args]) for c in _terms_calling(sums, "max") if len(c.args) == 2 and c.args in lows]
    both = [expr.combination_terms(*[(a, -1) for a in high.args]) for high, _ in pairs]
    return [_add_terms(terms, [(((c, 1),), 1) for c in pair]) for terms, pair in zip(both, pairs, strict=True)]


def _calls(sums: Iterable[Terms], function: str) -> list[Call]:
    """Return the calls by positive constants that are terms of their own."""
    return [c for c in _terms_calling(sums, function) if isinstance(c.args[1], int) and c.args[1] > 0]


def _terms_calling(sums: Iterable[Terms], function: str) -> list[Call]:
    """Return the calls of the function that are terms of their own."""
    atoms = dict.fromkeys(a for terms in sums for m in terms if len(m) == 1 for a, _ in m)
    return [a for a in atoms if isinstance(a, Call) and a.function == function]


def _add_terms(terms: Terms, *more: Iterable[tuple[Monomial, int]]) -> Terms:
    total = dict(terms)
    for monomial, factor in itertools.chain(*more):
        total[monomial] = total.get(monomial, 0) + factor
    return {m: c for m, c in total.items() if c}

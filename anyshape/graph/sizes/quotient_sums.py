"""Simplify sums with quotients: `b*(a // b) + a % b` is a, and `2*((a**2 + a) // 2)` is a**2 + a."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anyshape.graph.sizes import polynomials
from anyshape.graph.sizes.calls import Call
from anyshape.graph.sizes.polynomials import Monomial, Terms

Lookup = Callable[[tuple[tuple[Monomial, int], ...]], Any]  # the interned expression of sorted terms, or None
Remainder = Callable[[Any, int], Any]  # the size a % b


def simplify(
    items: Sequence[tuple[Monomial, int]],
    divisions: Sequence[tuple[Monomial, Call]],
    interned: Lookup,
    remainder: Remainder,
) -> Terms | None:
    """Return the terms after the first simplification; None if there is none.

    `divisions` are the calls that sums may simplify, with the monomials that contain them.
    """
    terms = dict(items)
    for monomial, call in divisions:
        if call.function == "floordiv":
            simpler = _without_quotient(terms, monomial, call, remainder)
            if simpler is not None:
                return simpler
            continue
        for quotient, a, b in _interned_quotients(call, interned):
            merged = polynomials.merge_division(terms, monomial, call, quotient, a, b) if quotient is not None else None
            if merged is not None:
                return merged
    return None


def _without_quotient(terms: Terms, monomial: Monomial, call: Call, remainder: Remainder) -> Terms | None:
    """Write b * (a // b) as a - a % b, as often as the coefficient allows; None if that is 0 times."""
    (a, b), coefficient = call.args, terms[monomial]
    assert isinstance(b, int)
    times = abs(coefficient) // b * (1 if coefficient > 0 else -1)
    rest = polynomials.divide_monomials(monomial, ((call, 1),))
    if not times or rest is None:
        return None
    whole = _terms(a)
    polynomials.add_into(whole, _terms(remainder(a, b)).items(), -1)
    new = dict(terms)
    new[monomial] = coefficient - times * b
    polynomials.add_into(new, polynomials.product({rest: times}, whole).items())
    return new


def _terms(size: Any) -> Terms:
    return {(): size} if isinstance(size, int) else dict(size.terms)


def _interned_quotients(remainder: Call, interned: Lookup) -> Iterable[tuple[Call | None, Terms, Terms]]:
    """Yield (q, a, b) with remainder + b * q == a. q is None if no such quotient exists as an expression."""
    a, b = map(_terms, remainder.args)
    yield Call._instances.get(("floordiv", *remainder.args)), a, b
    ceiling = polynomials.as_ceiling(a, b[()]) if len(b) == 1 and () in b else None
    if ceiling is not None:
        items = sorted([item for item in ceiling[0].items() if item[1]], key=polynomials.term_key)
        yield Call._instances.get(("floordiv", interned(tuple(items)), b[()])), ceiling[1], {(): -b[()]}

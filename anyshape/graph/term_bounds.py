"""Sound bounds of polynomials from the bounds of their atoms. Reads calls as data: a function name and arguments."""

from __future__ import annotations

import math
from typing import Any

from anyshape.graph import intervals, polynomials
from anyshape.graph.intervals import Interval
from anyshape.graph.polynomials import Monomial, Terms


def of_monomial(monomial: Monomial) -> Interval:
    """An interval that holds every value of the monomial."""
    if len(monomial) == 1 and monomial[0][1] == 1:
        return monomial[0][0].bounds()
    result: Interval = (1, 1)
    for atom, power in monomial:
        result = intervals.product(result, intervals.power(atom.bounds(), power))
    return result


def of_terms(terms: Terms) -> Interval:
    """An interval that holds every value of the polynomial."""
    bounds = _sum(terms)
    calls = quotients(terms) if len(terms) > 1 else None
    if calls:
        whole = math.lcm(*[call.args[1] for call in calls])
        low, high = _multiplied(terms, calls, whole)
        low = intervals.tighter(bounds[0], None if low is None else -(-low // whole), max)
        bounds = low, intervals.tighter(bounds[1], None if high is None else high // whole, min)
    return bounds


def _sum(terms: Terms) -> Interval:
    low: intervals.Bound = 0
    high: intervals.Bound = 0
    for monomial, coefficient in terms.items():
        if not coefficient:
            continue
        below, above = of_monomial(monomial)
        if coefficient < 0:
            below, above = above, below
        low = None if low is None or below is None else low + coefficient * below
        high = None if high is None or above is None else high + coefficient * above
    return low, high


def quotients(terms: Terms) -> list[Any]:
    """The quotients by constants that are terms of the polynomial."""
    found = []
    for monomial in terms:
        if len(monomial) == 1 and monomial[0][1] == 1:
            atom = monomial[0][0]
            if getattr(atom, "function", "") == "floordiv" and isinstance(atom.args[1], int):
                found.append(atom)
    return found


def _multiplied(terms: Terms, calls: list[Any], whole: int) -> Interval:
    """Bounds of `whole` times the polynomial, from a // b being between (a - b + 1) / b and a / b."""
    result = {m: c * whole for m, c in terms.items()}
    under = over = 0
    for call, times in [(call, result.pop(((call, 1),)) // call.args[1]) for call in calls]:  # quotients may be nested
        a, b = call.args
        polynomials.add_into(result, a.terms, times)
        if times > 0:
            under += times * (1 - b)
        else:
            over += times * (1 - b)
    low, high = _sum(result)
    return intervals.plus(low, under), intervals.plus(high, over)

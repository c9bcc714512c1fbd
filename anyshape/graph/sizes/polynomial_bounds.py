"""Sound bounds of polynomials from the bounds of their atoms. Reads calls as data: a function name and arguments."""

from __future__ import annotations

import math
from typing import Any

from anyshape.graph.sizes import intervals
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.symbols import DimVar


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
    low, high = _sum(terms)
    calls = quotients(terms) if len(terms) > 1 else None
    if calls:
        whole = calls[0].args[1] if len(calls) == 1 else math.lcm(*[call.args[1] for call in calls])
        below, above = _multiplied(terms, calls, whole)
        if below is not None:
            low = -(-below // whole) if low is None else max(low, -(-below // whole))
        if above is not None:
            high = above // whole if high is None else min(high, above // whole)
    return low, high


def _sum(terms: Terms) -> Interval:
    low: intervals.Bound = 0
    high: intervals.Bound = 0
    for monomial, coefficient in terms.items():
        if not coefficient:
            continue
        single = len(monomial) == 1 and monomial[0][1] == 1
        below, above = monomial[0][0].bounds() if single else of_monomial(monomial)
        if coefficient < 0:
            below, above = above, below
        low = None if low is None or below is None else low + coefficient * below
        high = None if high is None or above is None else high + coefficient * above
    return low, high


def quotients(terms: Terms) -> list[Any]:
    """The quotients by constants that are terms of the polynomial."""
    found = []
    for monomial in terms:
        if len(monomial) == 1:
            atom, power = monomial[0]
            if type(atom) is DimVar or power != 1 or getattr(atom, "function", "") != "floordiv":
                continue
            if isinstance(atom.args[1], int):
                found.append(atom)
    return found


def _multiplied(terms: Terms, calls: list[Any], whole: int) -> Interval:
    """Bounds of `whole` times the polynomial, from a // b being between (a - b + 1) / b and a / b."""
    result = {m: c * whole for m, c in terms.items()}
    under = over = 0
    for call, times in [(call, result.pop(((call, 1),)) // call.args[1]) for call in calls]:  # quotients may be nested
        a, b = call.args
        for monomial, coefficient in a.terms:
            result[monomial] = result.get(monomial, 0) + times * coefficient
        if times > 0:
            under += times * (1 - b)
        else:
            over += times * (1 - b)
    low, high = _sum(result)
    return None if low is None else low + under, None if high is None else high + over

"""Bound polynomials by the bounds of their atoms: sound intervals. Reads a call as a function name and arguments."""

from __future__ import annotations

import math
from typing import Any

from anyshape.graph.sizes import intervals
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.symbols import DimVar


def of_monomial(monomial: Monomial) -> Interval:
    """Return an interval that contains every value of the monomial."""
    if len(monomial) == 1 and monomial[0][1] == 1:
        return monomial[0][0].bounds()
    result: Interval = (1, 1)
    for atom, power in monomial:
        result = intervals.product(result, intervals.power(atom.bounds(), power))
    return result


def of_terms(terms: Terms) -> Interval:
    """Return an interval that contains every value of the polynomial."""
    low, high = _of_sum(terms)
    calls = constant_quotients(terms) if len(terms) > 1 else None
    if calls:
        multiple = calls[0].args[1] if len(calls) == 1 else math.lcm(*[call.args[1] for call in calls])
        below, above = _of_multiple(terms, calls, multiple)
        if below is not None:
            low = -(-below // multiple) if low is None else max(low, -(-below // multiple))
        if above is not None:
            high = above // multiple if high is None else min(high, above // multiple)
    return low, high


def _of_sum(terms: Terms) -> Interval:
    """Bound the sum term by term."""
    low: intervals.Bound = 0
    high: intervals.Bound = 0
    for monomial, coefficient in terms.items():
        if not coefficient:
            continue
        if len(monomial) == 1 and monomial[0][1] == 1:
            below, above = monomial[0][0].bounds()
        else:
            below, above = of_monomial(monomial) if monomial else (1, 1)
        if coefficient < 0:
            below, above = above, below
        low = None if low is None or below is None else low + coefficient * below
        high = None if high is None or above is None else high + coefficient * above
    return low, high


def constant_quotients(terms: Terms) -> list[Any]:
    """Return the floordiv calls by constants that are terms of the polynomial."""
    calls = []
    for monomial in terms:
        if len(monomial) == 1:
            atom, power = monomial[0]
            if type(atom) is DimVar or power != 1 or getattr(atom, "function", "") != "floordiv":
                continue
            if isinstance(atom.args[1], int):
                calls.append(atom)
    return calls


def _of_multiple(terms: Terms, calls: list[Any], multiple: int) -> Interval:
    """Bound `multiple` times the polynomial, from (a - b + 1) / b <= a // b <= a / b for each of the calls."""
    scaled = {m: c * multiple for m, c in terms.items()}
    below = above = 0
    for call, times in [(call, scaled.pop(((call, 1),)) // call.args[1]) for call in calls]:  # quotients may be nested
        a, b = call.args
        for monomial, coefficient in a.terms:
            scaled[monomial] = scaled.get(monomial, 0) + times * coefficient
        if times > 0:
            below += times * (1 - b)
        else:
            above += times * (1 - b)
    low, high = _of_sum(scaled)
    return None if low is None else low + below, None if high is None else high + above

"""Bound polynomials by the bounds of their atoms: sound intervals. Reads a call as a function name and arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from anyshape.graph.sizes import intervals
from anyshape.graph.sizes.calls import Call
from anyshape.graph.sizes.intervals import Interval
from anyshape.graph.sizes.polynomials import Monomial, Terms

_SEVERAL: tuple[Any, int] = (None, 0)  # of a monomial that is not one atom


def of_monomial(monomial: Monomial) -> Interval:
    """Return an interval that contains every value of the monomial."""
    if len(monomial) == 1 and monomial[0][1] == 1:
        return monomial[0][0].interval
    result: Interval = (1, 1)
    for atom, power in monomial:
        result = intervals.product(result, intervals.power(atom.interval, power))
    return result


def of_terms(terms: Terms) -> Interval:
    """Return an interval that contains every value of the polynomial."""
    calls: list[Any] = []
    low, high = _of_sum(terms, calls)
    if calls and len(terms) > 1:
        multiple = calls[0].args[1] if len(calls) == 1 else math.lcm(*[call.args[1] for call in calls])
        below, above = _of_multiple(terms, calls, multiple)
        if below is not None:
            low = -(-below // multiple) if low is None else max(low, -(-below // multiple))
        if above is not None:
            high = above // multiple if high is None else min(high, above // multiple)
    return low, high


def _of_sum(terms: Terms, quotients: list[Any]) -> Interval:
    """Bound the sum term by term, and collect the terms that are floordiv calls by constants."""
    low: intervals.Bound = 0
    high: intervals.Bound = 0
    for monomial, coefficient in terms.items():
        atom, power = monomial[0] if len(monomial) == 1 else _SEVERAL
        if power == 1:
            below, above = atom.interval
            if type(atom) is Call and _is_constant_quotient(atom):
                quotients.append(atom)
        else:
            below, above = of_monomial(monomial) if monomial else (1, 1)
        if coefficient < 0:
            below, above = above, below
        if low is not None:
            low = None if below is None else low + coefficient * below
        if high is not None:
            high = None if above is None else high + coefficient * above
    return low, high


def constant_quotients(terms: Terms) -> list[Any]:
    """Return the floordiv calls by constants that are terms of the polynomial."""
    single = [m[0][0] for m in terms if len(m) == 1 and m[0][1] == 1]
    return [a for a in single if type(a) is Call and _is_constant_quotient(a)]


def _is_constant_quotient(call: Call) -> bool:
    """Return whether the call is a floordiv by a constant."""
    return call.function == "floordiv" and isinstance(call.args[1], int)


def _of_multiple(terms: Terms, calls: Sequence[Any], multiple: int) -> Interval:
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
    if 0 in scaled.values():
        scaled = {m: c for m, c in scaled.items() if c}
    low, high = _of_sum(scaled, [])
    return None if low is None else low + below, None if high is None else high + above

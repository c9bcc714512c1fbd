"""Decide claims about few sizes by trying out all small ones, where that is a proof.

Slices and broadcasts compare sizes that are a variable plus a constant, in each case. Such a comparison cannot tell a
gap between two variables, or between one and 0, from a smaller one that exceeds all constants. So a claim that small
sizes do not break holds for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.solvers.points import Points
from anyshape.graph.sizes.expr import Call, DimVar, Size
from anyshape.support.lazy_namedtuple import NamedTuple

_MOST_POINTS = 1 << 15
_FUNCTIONS = ("max", "min", "broadcast")


class SmallCases(NamedTuple):
    """Sizes that satisfy the facts: some at which the claim is false, some at which it is true; None without any."""

    false: dict[DimVar, int] | None
    true: dict[DimVar, int] | None


class _OtherSizeError(Exception):
    """Raised where a size is not, in each case, a variable plus a constant."""


def cases_at_small_sizes(claim: Claim, facts: Sequence[Claim]) -> SmallCases | None:
    """Return cases of a claim among the sizes that satisfy the facts; None if small sizes do not tell."""
    try:
        constants = [_reach(size) for c in (claim, *facts) for size in (c.left, c.right)]
    except _OtherSizeError:
        return None
    variables = list(dict.fromkeys(v for c in (claim, *facts) for v in c.variables()))
    lowest = min([v.lower for v in variables], default=-1)
    if lowest < 0:
        return None
    reach = max(*constants, *[v.lower for v in variables], *[v.upper or 0 for v in variables])
    gap = 2 * reach + 2  # two such constants differ by twice the reach at most, or one of them and 1 by one more
    ends = len(variables) * gap + 1
    return _cases(claim, facts, variables, ends) if ends ** len(variables) <= _MOST_POINTS else None


def _cases(claim: Claim, facts: Sequence[Claim], variables: Sequence[DimVar], ends: int) -> SmallCases | None:
    columns = np.indices((ends,) * len(variables)).reshape(len(variables), -1)
    points = Points(dict(zip(variables, columns, strict=True)))
    allowed = np.ones(columns.shape[1], bool)
    for variable, column in points.columns.items():
        allowed &= (column >= variable.lower) & (column <= (ends if variable.upper is None else variable.upper))
    for fact in facts:
        holds, defined = points.truth(fact)
        allowed &= holds & defined
    holds, defined = points.truth(claim)
    allowed &= defined
    if not allowed.any():
        return None

    def first(where: np.ndarray) -> dict[DimVar, int] | None:
        at = int(np.argmax(where))
        return {v: int(c[at]) for v, c in points.columns.items()} if where[at] else None

    return SmallCases(first(allowed & ~holds), first(allowed & holds))


def _reach(size: Size) -> int:
    """Return the largest constant that a size adds to a variable in any case, without its sign."""
    if isinstance(size, int):
        return abs(size)
    (monomial, coefficient), *rest = size.terms
    if coefficient != 1 or len(monomial) != 1 or monomial[0][1] != 1 or len(rest) > 1 or (rest and rest[0][0]):
        raise _OtherSizeError
    atom = monomial[0][0]
    constant = abs(rest[0][1]) if rest else 0
    if isinstance(atom, DimVar):
        return constant
    if not isinstance(atom, Call) or atom.function not in _FUNCTIONS:
        raise _OtherSizeError
    return constant + max(map(_reach, atom.args))

"""Search for two choices of sizes that no call can tell apart: the counterexample of an undetermined size."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeAlias

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import DimVar, Size

Choice: TypeAlias = dict[DimVar, int]
_WIDTHS = (40, 12, 9, 7, 5)  # values tried for each variable, by the number of variables


def find_indistinguishable(
    variable: DimVar, sizes: Sequence[Size], claims: Sequence[Claim]
) -> tuple[Choice, Choice] | None:
    """Return two choices of small sizes that satisfy the claims and give equal input sizes, or None.

    Choices that differ in the variable come first.
    """
    variables, sizes, claims = _connected(variable, sizes, claims)
    if len(variables) > len(_WIDTHS):
        return None
    tops = [v.lower + _WIDTHS[len(variables) - 1] for v in variables]
    ranges = [range(v.lower, t if v.upper is None else min(t, v.upper + 1)) for v, t in zip(variables, tops)]
    seen: dict[tuple[int, ...], Choice] = {}
    pair = None
    for values in itertools.product(*ranges):
        choice = dict(zip(variables, values, strict=True))
        observed = _observe(choice, sizes, claims)
        if observed is not None:
            earlier = seen.setdefault(observed, choice)
            if earlier[variable] != choice[variable]:
                return earlier, choice
            pair = (earlier, choice) if earlier is not choice and pair is None else pair
    return pair


def _connected(
    variable: DimVar, sizes: Sequence[Size], claims: Sequence[Claim]
) -> tuple[list[DimVar], list[Size], list[Claim]]:
    """Return the variables connected with one, itself first, and all sizes and claims about them."""
    variables = {variable: None}
    before = 0
    while before < len(variables):
        before = len(variables)
        near_sizes = [s for s in sizes if not variables.keys().isdisjoint(expr.variables(s))]
        near_claims = [c for c in claims if not variables.keys().isdisjoint(c.variables())]
        variables |= dict.fromkeys(v for s in near_sizes for v in expr.variables(s))
        variables |= dict.fromkeys(v for c in near_claims for v in c.variables())
    return list(variables), near_sizes, near_claims


def _observe(choice: Choice, sizes: Sequence[Size], claims: Sequence[Claim]) -> tuple[int, ...] | None:
    """Return the input sizes of a call with these sizes; None where there is no such call."""
    value = values_from(choice)
    try:
        observed = tuple([evaluate(size, value) for size in sizes])
        return observed if min(observed, default=0) >= 0 and all(c.holds(value) for c in claims) else None
    except ZeroDivisionError:
        return None

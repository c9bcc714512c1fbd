"""Index claims by their variables, and collect those that are connected with a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes.expr import DimVar

_MOST_CONNECTED = 100  # the nearest ones are used
ByVariable = dict[DimVar, list[Claim]]


def index_by_variable(claims: Sequence[Claim]) -> ByVariable:
    """Return the claims that mention each variable."""
    index: ByVariable = {}
    add_to_index(index, claims)
    return index


def add_to_index(index: ByVariable, claims: Sequence[Claim]) -> None:
    """Add the claims at each of their variables."""
    for claim in claims:
        for variable in claim.variables():
            index.setdefault(variable, []).append(claim)


class Index(Protocol):
    """Claims by variable."""

    def get(self, variable: DimVar, default: Sequence[Claim], /) -> Sequence[Claim]:
        """Return the claims about a variable, or the default without any."""


def connected_claims(claim: Claim, index: Index) -> list[Claim]:
    """Return the claims that share variables with this one, directly or through others, nearest first."""
    connected: dict[Claim, None] = {}
    visited: set[DimVar] = set()
    seen: set[int] = set()  # by identity: a claim occurs at each of its variables
    frontier = claim.variables()
    while frontier:
        fresh = [v for v in dict.fromkeys(frontier) if v not in visited]
        visited.update(fresh)
        new: list[Claim] = []
        for variable in fresh:
            near = [c for c in index.get(variable, ()) if id(c) not in seen]
            seen.update(map(id, near))
            connected.update(dict.fromkeys(near))
            if len(connected) >= _MOST_CONNECTED:
                return list(connected)[:_MOST_CONNECTED]
            new += near
        frontier = [w for c in new for w in c.variables() if w not in visited]
    return list(connected)

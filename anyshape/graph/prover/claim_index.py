"""Claims by their variables: the strongest bounds alone, and those that are connected with a claim."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes.expr import DimVar, Size

_MOST_CONNECTED = 100  # the nearest ones are used


class Claims:
    """Claims that all hold, in their order. Of `n >= 3` and `n >= 5` the strongest alone stays.

    A loop over the rows of an array demands one more row in each step. Without this, each step would cost more than
    the one before it.
    """

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[Hashable, Claim] = {}
        self._by_variable: dict[DimVar, dict[Hashable, Claim]] | None = None  # made when it is needed
        for claim in claims:
            self.add(claim)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def add(self, claim: Claim) -> None:
        """Add a claim, in place of one that it implies by its constant alone."""
        key, excess = bound_of(claim)
        known = self._claims.get(key)
        if known is not None:
            if excess >= bound_of(known)[1]:
                return
            del self._claims[key]  # the new one comes last
        self._claims[key] = claim
        if self._by_variable is not None:
            _index(key, claim, self._by_variable)

    def _indexed(self) -> dict[DimVar, dict[Hashable, Claim]]:
        """Return the claims by variable."""
        if self._by_variable is None:
            self._by_variable = {}
            for key, claim in self._claims.items():
                _index(key, claim, self._by_variable)
        return self._by_variable

    def get(self, variable: DimVar, default: Sequence[Claim] = (), /) -> Sequence[Claim]:
        """Return the claims about a variable."""
        about = self._indexed().get(variable)
        return default if about is None else [*about.values()]

    def about(self, variables: Iterable[DimVar]) -> Sequence[Claim]:
        """Return the claims about some of the variables."""
        if not self._claims:
            return ()
        index = self._indexed()
        about: dict[Hashable, Claim] = {}
        for variable in variables:
            about.update(index.get(variable, ()))
        return [*about.values()]


def _index(key: Hashable, claim: Claim, by_variable: dict[DimVar, dict[Hashable, Claim]]) -> None:
    """Put a claim last among those about each of its variables."""
    for variable in claim.variables():
        about = by_variable.get(variable)
        if about is None:
            by_variable[variable] = {key: claim}
        else:
            about.pop(key, None)
            about[key] = claim


def bound_of(claim: Claim) -> tuple[Hashable, int]:
    """Return a key that claims share which differ by constants, and the excess: a claim of less excess is stronger.

    Of two claims with one key and other relations than `>=`, neither excess is less: they are the same claim.
    """
    if claim.relation != ">=":
        return (claim.relation, claim.left, claim.right), 0
    (left, plus), (right, minus) = _without_constant(claim.left), _without_constant(claim.right)
    return (">=", left, right), plus - minus


def _without_constant(size: Size) -> tuple[tuple[Any, ...], int]:
    """Return the terms of a size but its constant, and the constant."""
    if isinstance(size, int):
        return (), size
    *terms, (monomial, coefficient) = size.terms
    return (size.terms, 0) if monomial else (tuple(terms), coefficient)


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

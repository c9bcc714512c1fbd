"""Claims by their variables: the strongest bounds alone, and those that are connected with a claim."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes.expr import DimVar, Size

_MOST_CONNECTED = 100  # the nearest ones are used
_FEW = 8  # claims, up to which all are looked at sooner than an index is made
_NONE: Mapping[int, Claim] = MappingProxyType({})


class Claims:
    """Claims that all hold, in their order. Of `n >= 3` and `n >= 5` the strongest alone stays.

    A loop over the rows of an array demands one more row in each step. Without this, each step would cost more than
    the one before it.
    """

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[Hashable, Claim] = {}
        self._by_variable: dict[DimVar, dict[int, Claim]] | None = None  # by identity; made when it is needed
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
            if self._by_variable is not None:
                for variable in known.variables():
                    del self._by_variable[variable][id(known)]
        self._claims[key] = claim
        if self._by_variable is not None:
            _enter(claim, self._by_variable)

    def _indexed(self) -> dict[DimVar, dict[int, Claim]]:
        """Return the claims by variable."""
        if self._by_variable is None:
            self._by_variable = {}
            for claim in self._claims.values():
                _enter(claim, self._by_variable)
        return self._by_variable

    def near(self, variable: DimVar) -> Mapping[int, Claim]:
        """Return the claims about a variable, by identity."""
        return self._indexed().get(variable, _NONE)

    def about(self, variables: Iterable[DimVar]) -> Sequence[Claim]:
        """Return the claims about some of the variables."""
        if not self._claims:
            return ()
        if self._by_variable is None and len(self._claims) <= _FEW:
            wanted = frozenset(variables)
            return [c for c in self._claims.values() if not wanted.isdisjoint(c.variables())]
        index, about = self._indexed(), dict[int, Claim]()
        for variable in variables:
            if variable in index:
                about.update(index[variable])
        return list(about.values())


def _enter(claim: Claim, by_variable: dict[DimVar, dict[int, Claim]]) -> None:
    """Put a claim last among those about each of its variables."""
    for variable in claim.variables():
        by_variable.setdefault(variable, {})[id(claim)] = claim


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

    def near(self, variable: DimVar) -> Mapping[int, Claim]:
        """Return the claims about a variable, by identity."""


def connected_claims(claim: Claim, index: Index) -> list[Claim]:
    """Return the claims that share variables with this one, directly or through others, nearest first."""
    connected: dict[int, Claim] = {}
    frontier: Iterable[DimVar] = claim.variables()
    visited = set(frontier)
    while frontier:
        before = len(connected)
        for variable in frontier:
            connected.update(index.near(variable))
            if len(connected) >= _MOST_CONNECTED:
                return list(connected.values())[:_MOST_CONNECTED]
        new = itertools.islice(connected.values(), before, None)
        frontier = dict.fromkeys([v for c in new for v in c.variables() if v not in visited])
        visited.update(frontier)
    return list(connected.values())

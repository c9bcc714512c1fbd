"""Tangents and cotangents as ends of subgraphs: an array of each that is not zero, and a mark of some.

A mark is an array that is 0 where a tangent or cotangent is zero by construction. One that a subgraph lacks is zero
everywhere, if another subgraph of its node has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.structural_zeros import Part, indicator, whole, with_indicators
from anyshape.graph.ir.graph import Graph
from anyshape.support.lazy_dataclass import NamedTuple


def by_flags(flags: Iterable[bool], xs: Iterable[Any]) -> list[Any]:
    """Return for each flag the next of xs, or None where it is not set."""
    remaining = iter(xs)
    return [next(remaining) if flag else None for flag in flags]


def flagged(xs: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """Return the members whose flag is set."""
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def filled(xs: Iterable[Any], zeros: Iterable[Any]) -> list[Any]:
    """Return the members, zeros in place of None."""
    return [zero if x is None else x for x, zero in zip(xs, zeros, strict=True)]


class Ends(NamedTuple):
    """Flags of the tangents or cotangents that subgraphs give: of `live` ones, and of those with a mark (`parted`)."""

    live: list[bool]
    parted: list[bool]

    @classmethod
    def of(cls, cts: Sequence[Any]) -> Ends:
        """Return which of these are not None, and which have elements that are zero by construction."""
        return cls([ct is not None for ct in cts], [isinstance(ct, Part) for ct in cts])

    @property
    def number(self) -> int:
        """Number of results."""
        return sum(self.live) + sum(self.parted)

    def arrays(self, cts: Sequence[Any]) -> list[Any]:
        """Return the arrays and the marks that stand for tangents or cotangents."""
        return [*map(whole, flagged(cts, self.live)), *map(indicator, flagged(cts, self.parted))]

    def marks(self, cts: Sequence[Any]) -> list[Any]:
        """Return the marks that stand for zeros of tangents or cotangents, None where there are none."""
        return [indicator(ct) if flag else None for ct, flag in zip(cts, self.parted, strict=True)]

    def read(self, results: Iterable[Any]) -> list[Any]:
        """Return the tangents or cotangents that results stand for, None where they have none."""
        remaining = iter(results)
        return with_indicators(by_flags(self.live, remaining), self.parted, remaining)

    def each(self, xs: Sequence[Any], of_marks: Sequence[Any] | None = None) -> list[Any]:
        """Return for each result what belongs to it: a member of xs, or of those for marks, the same by default."""
        return [*flagged(xs, self.live), *flagged(xs if of_marks is None else of_marks, self.parted)]


def read_kinds(ends: Sequence[Ends], results: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the tangents or cotangents that results of several kinds stand for, in their order."""
    return [ct for kind, ys in zip(ends, results, strict=True) for ct in kind.read(ys)]


def with_ends(made: Sequence[tuple[Graph, Sequence[Any]]], first: int = 0) -> tuple[list[Graph], Ends]:
    """Return the graphs with the ends that one of them has behind the first outputs, and which these are.

    Each graph has an array and a mark of all, and stands beside what these stand for.
    """
    columns = [*zip(*[cts for _, cts in made], strict=True)]
    live = [any(ct is not None for ct in column) for column in columns]
    has_zeros = [any(ct is None or isinstance(ct, Part) for ct in column) for column in columns]
    ends = Ends(live, [a and b for a, b in zip(live, has_zeros, strict=True)])
    flags = [*[True] * first, *ends.live, *ends.parted]
    return [replace(g, outputs=tuple(flagged(g.outputs, flags))) for g, _ in made], ends

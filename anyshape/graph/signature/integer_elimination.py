"""Systems of linear equations with integer coefficients, brought to reduced form without fractions.

Knows nothing of sizes: the unknowns are any keys, and right-hand sides are combinations of numbered equations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

LIMIT = 4_000_000  # steps on one coefficient of a machine word: about a second


class TooMuchWork(Exception):
    """The system takes more work than is allowed; for a caller who knows what the system stands for."""


@dataclass(slots=True)
class Row(Generic[Key]):
    """One equation: the sum of coefficient times unknown is the sum of factor times right-hand side.

    `parts` maps the number of an equation to the factor that its right-hand side has here.
    """

    coefficients: dict[Key, int]
    parts: dict[int, int]


class Elimination(Generic[Key]):
    """A system in reduced form: the pivot of a row occurs in no other row; `dependent` rows have no unknown left.

    Unknowns in `last` become pivots only where nothing else is left, so every equation among them alone is found.
    `work` counts steps, on from those done before in the same task.
    """

    def __init__(self, rows: Iterable[Row[Key]], last: Collection[Key] = (), work: int = 0) -> None:
        self.work = work
        self._all = [Row(dict(r.coefficients), dict(r.parts)) for r in rows]
        self._where: dict[Key, set[int]] = {}  # unknown -> the rows that it occurs in
        for i, row in enumerate(self._all):
            for key in row.coefficients:
                self._where.setdefault(key, set()).add(i)
        self._reduce(frozenset(last))
        self.rows = [r for r in self._all if r.coefficients]
        self.dependent = [r for r in self._all if not r.coefficients]

    def _reduce(self, last: frozenset[Key]) -> None:
        pending = set(range(len(self._all)))
        for avoided in (last, frozenset()) if last else (last,):
            left = set()
            while pending:
                i = min(pending, key=lambda k: (len(self._all[k].coefficients), k))
                pending.discard(i)
                row = self._all[i]
                keys = [k for k in row.coefficients if k not in avoided]
                if not keys:
                    left.add(i)
                    continue
                pivot = min(keys, key=lambda k: (abs(row.coefficients[k]), len(self._where[k])))
                for other in sorted(self._where[pivot] - {i}):
                    self._clear(other, row, pivot)
            pending = left

    def _clear(self, index: int, pivot_row: Row[Key], pivot: Key) -> None:
        """Take the pivot out of a row."""
        row = self._all[index]
        a, b = pivot_row.coefficients[pivot], row.coefficients[pivot]
        common = math.gcd(a, b)
        keep, take = a // common, b // common
        for key in pivot_row.coefficients:
            self._where[key].add(index)
        before = list(row.coefficients) + list(pivot_row.coefficients)
        row.coefficients = _combined(row.coefficients, keep, pivot_row.coefficients, -take)
        row.parts = _combined(row.parts, keep, pivot_row.parts, -take)
        for key in before:
            if key not in row.coefficients:
                self._where[key].discard(index)
        self._shorten(row)

    def _shorten(self, row: Row[Key]) -> None:
        """Divide out what all numbers of the row have in common, and count the work."""
        numbers = [*row.coefficients.values(), *row.parts.values()]
        common = math.gcd(*numbers)
        if common > 1:
            row.coefficients = {key: c // common for key, c in row.coefficients.items()}
            row.parts = {part: c // common for part, c in row.parts.items()}
        self.work += len(numbers) * (1 + max((n.bit_length() for n in numbers), default=0) // 32)
        if self.work > LIMIT:
            raise TooMuchWork


def _combined(a: dict[Key, int], m: int, b: dict[Key, int], n: int) -> dict[Key, int]:
    """m * a + n * b, without zeros."""
    found = {key: m * c for key, c in a.items()}
    for key, c in b.items():
        found[key] = found.get(key, 0) + n * c
    return {key: c for key, c in found.items() if c}

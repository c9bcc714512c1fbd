"""Fraction-free Gauss-Jordan elimination of linear equations with integer coefficients.

Unknowns are any hashable keys. Right-hand sides are combinations of numbered equations.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from typing import Any, Generic, TypeVar

from anyshape.support.lazy_dataclass import dataclass

Key = TypeVar("Key", bound=Hashable)

MAX_WORK = 4_000_000  # operations on coefficients of one machine word: about a second


class TooMuchWork(Exception):
    """Elimination exceeds `MAX_WORK`. The caller words the error for the user."""


@dataclass(slots=True)
class Row(Generic[Key]):
    """Equation: the sum of coefficient * unknown equals the sum of factor * right-hand side.

    `parts` maps the number of an equation to the factor of its right-hand side.
    """

    coefficients: dict[Key, int]
    parts: dict[int, int]


class Elimination(Generic[Key]):
    """System in reduced form: the pivot of a row occurs in no other row, and `dependent` rows have no unknown.

    Unknowns in `last` become pivots only in rows without other unknowns. The rows therefore contain every equation
    among these unknowns alone. `work` counts operations and continues the count of an earlier elimination.
    """

    rows: list[Row[Any]]
    dependent: list[Row[Any]]

    def __init__(self, rows: Iterable[Row[Key]], last: Collection[Key] = (), work: int = 0) -> None:
        self.work: int = work
        self._system = [Row(dict(r.coefficients), dict(r.parts)) for r in rows]
        self._rows_with: dict[Key, set[int]] = {}  # numbers of the rows, by unknown
        for i, row in enumerate(self._system):
            for key in row.coefficients:
                self._rows_with.setdefault(key, set()).add(i)
        self._reduce(frozenset(last))
        self.rows = [r for r in self._system if r.coefficients]
        self.dependent = [r for r in self._system if not r.coefficients]

    def _reduce(self, last: frozenset[Key]) -> None:
        """Choose a pivot for each row, the shortest row first, and clear it from all other rows."""
        pending = set(range(len(self._system)))
        for avoided in (last, frozenset()) if last else (last,):
            postponed = set()
            while pending:
                i = min(pending, key=lambda k: (len(self._system[k].coefficients), k))
                pending.discard(i)
                row = self._system[i]
                keys = [k for k in row.coefficients if k not in avoided]
                if not keys:
                    postponed.add(i)
                    continue
                pivot = min(keys, key=lambda k: (abs(row.coefficients[k]), len(self._rows_with[k])))
                for other in sorted(self._rows_with[pivot] - {i}):
                    self._clear(other, row, pivot)
            pending = postponed

    def _clear(self, index: int, pivot_row: Row[Key], pivot: Key) -> None:
        """Subtract a multiple of the pivot row from a row so that the pivot vanishes."""
        row = self._system[index]
        a, b = pivot_row.coefficients[pivot], row.coefficients[pivot]
        common = math.gcd(a, b)
        scale, factor = a // common, b // common
        for key in pivot_row.coefficients:
            self._rows_with[key].add(index)
        candidates = list(row.coefficients) + list(pivot_row.coefficients)
        row.coefficients = _combine(row.coefficients, scale, pivot_row.coefficients, -factor)
        row.parts = _combine(row.parts, scale, pivot_row.parts, -factor)
        for key in candidates:
            if key not in row.coefficients:
                self._rows_with[key].discard(index)
        self._divide_by_content(row)

    def _divide_by_content(self, row: Row[Key]) -> None:
        """Divide a row by the greatest common divisor of its numbers, and count the work."""
        numbers = [*row.coefficients.values(), *row.parts.values()]
        common = math.gcd(*numbers)
        if common > 1:
            row.coefficients = {key: c // common for key, c in row.coefficients.items()}
            row.parts = {part: c // common for part, c in row.parts.items()}
        self.work += len(numbers) * (1 + max((n.bit_length() for n in numbers), default=0) // 32)
        if self.work > MAX_WORK:
            raise TooMuchWork


def _combine(a: dict[Key, int], m: int, b: dict[Key, int], n: int) -> dict[Key, int]:
    """Return m * a + n * b, without zeros."""
    total = {key: m * c for key, c in a.items()}
    for key, c in b.items():
        total[key] = total.get(key, 0) + n * c
    return {key: c for key, c in total.items() if c}

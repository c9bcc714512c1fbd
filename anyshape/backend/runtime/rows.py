"""Rows of a batch whose examples choose between branches: which choose each, and their results at their positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import RaggedBatchError

_ADVICE = "let all branches give results of equal sizes"


class Rows:
    """Rows of one batch, in their order, and what the branches gave for them so far."""

    index: np.ndarray
    count: int
    totals: Sequence[bool]

    __slots__ = ("chosen", "count", "index", "is_whole", "positions", "totals")

    def __init__(self, index: np.ndarray, count: int, totals: Sequence[bool]) -> None:
        self.index, self.count, self.totals = index, count, totals
        self.positions: np.ndarray = index
        self.chosen: list[Any] = [None] * len(totals)
        self.is_whole: bool = False

    def choose(self, branch: int) -> bool:
        """Find the rows that choose a branch; return whether there are any."""
        index, last = self.index, self.count - 1
        if index.dtype.kind == "b":
            mask = index if branch else ~index
        elif not last:
            mask = np.ones(len(index), bool)
        else:
            mask = index <= 0 if not branch else index >= last if branch == last else index == branch
        self.positions = np.flatnonzero(mask)
        self.is_whole = len(self.positions) == len(index)
        return len(self.positions) > 0

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return the chosen rows of an operand."""
        return x if self.is_whole else x[self.positions]

    def put(self, results: Sequence[Any]) -> None:
        """Put the results for the chosen rows at their positions, and add up totals."""
        for i, (result, is_total) in enumerate(zip(results, self.totals, strict=True)):
            before = self.chosen[i]
            if is_total or self.is_whole:
                self.chosen[i] = result if before is None else before + result
                continue
            shape = (len(self.index), *result.shape[1:])
            if before is None:
                self.chosen[i] = before = np.empty(shape, result.dtype)
            if before.shape != shape:
                sizes: dict[tuple[int, ...], tuple[int, ...]] = {
                    (int(self.positions[0]),): result.shape[1:],
                    (self._other(),): before.shape[1:],
                }
                raise RaggedBatchError("cond", sizes, advice=_ADVICE)
            before[self.positions] = result

    def _other(self) -> int:
        """Return the first row that another branch has."""
        rows = np.ones(len(self.index), bool)
        rows[self.positions] = False
        return int(np.flatnonzero(rows)[0])

    def results(self, kinds: Sequence[tuple[Any, Any]]) -> list[Any]:
        """Return the results; where there are no rows, zeros of these dtypes and shapes."""
        return self.chosen if len(self.index) else [np.zeros(shape, dtype) for dtype, shape in kinds]

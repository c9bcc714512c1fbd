"""Sums of trees over chunks: partial sums in the order of the chunks, and their sum as a tree of pairs.

Partial sums of 16- and 32-bit floating-point numbers are in 64 bits, and rounded once at the end. Sums of integers
and booleans have the dtype that `np.sum` gives them.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing.pytrees import flatten, result_paths, unflatten

PAIRS = 8  # partial sums that one task on a worker adds up: aligned pairs of pairs, as the tree has them


class Partial(NamedTuple):
    """Partial sum of some chunks: the tree of sums, the dtypes of the results, and the rows; None without a chunk."""

    tree: Any
    dtypes: tuple[np.dtype, ...]
    rows: int


EMPTY = Partial(None, (), 0)


@functools.cache
def wide(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which results of a dtype are added up."""
    if dtype.kind in "biu":
        return np.add.reduce(np.empty(0, dtype)).dtype
    return np.result_type(dtype, np.float64) if dtype.kind in "fc" else dtype


class Accumulator:
    """Running sum of the results of chunks, which it adds in place to arrays of its own."""

    function: str
    weighted: bool

    def __init__(self, function: str, weighted: bool) -> None:
        """Begin with nothing; with `weighted`, results are means and count by their rows."""
        self.function, self.weighted = function, weighted
        self.structure: Any = None
        self.totals: list[np.ndarray] = []
        self.dtypes: tuple[np.dtype, ...] = ()
        self.rows: int = 0

    def add(self, result: Any, rows: int) -> None:
        """Add the result of a chunk."""
        leaves, structure = flatten(result, self.function)
        arrays = [np.asarray(x) for x in leaves]
        self.rows += rows
        if self.structure is None:
            self.structure, self.dtypes = structure, tuple([x.dtype for x in arrays])
            self.totals = [self._term(x, rows) for x in arrays]
            return
        require_alike(self.function, (self.structure, self.totals), (structure, arrays))
        for total, x in zip(self.totals, arrays):
            total += self._term(x, rows) if self.weighted else x

    def _term(self, x: np.ndarray, rows: int) -> np.ndarray:
        """Return a new array with the result of a chunk, times its rows if results are means."""
        if not self.weighted:
            return np.array(x, wide(x.dtype))
        return np.asarray(np.multiply(x, float(rows), dtype=np.result_type(wide(x.dtype), np.float64)))

    def partial(self) -> Partial:
        """Return the sum so far."""
        if self.structure is None:
            return EMPTY
        return Partial(unflatten(self.structure, self.totals), self.dtypes, self.rows)


def require_alike(function: str, first: tuple[Any, Sequence[Any]], second: tuple[Any, Sequence[Any]]) -> None:
    """Raise ArgumentError unless two results have one structure and equal shapes: sums must not broadcast."""
    (structure, xs), (other, ys) = first, second
    advice = "return sums over the rows of the chunk, whose shapes do not depend on their number"
    if structure != other:
        problem = f"has the structure {other} for one chunk and {structure} for another"
        raise ArgumentError(function, "the result", problem, advice)
    for i, (x, y) in enumerate(zip(xs, ys)):
        if x.shape != y.shape:
            problem = f"has shape {y.shape} for one chunk and {x.shape} for another"
            raise ArgumentError(function, result_paths(structure)[i], problem, advice)


def add_pair(function: str, first: Partial, second: Partial) -> Partial:
    """Return the sum of two partial sums."""
    if first.tree is None or second.tree is None:
        return second if first.tree is None else first
    (xs, structure), (ys, other) = flatten(first.tree), flatten(second.tree)
    require_alike(function, (structure, xs), (other, ys))
    tree = unflatten(structure, [np.asarray(x + y) for x, y in zip(xs, ys)])
    return Partial(tree, first.dtypes, first.rows + second.rows)


def add_pairs(function: str, partials: Sequence[Partial], until: int = 1) -> list[Partial]:
    """Return the sums of neighbours, of neighbours of these, and so on, until so many are left."""
    level = list(partials)
    while len(level) > until:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [add_pair(function, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level


def finished(partial: Partial, weighted: bool) -> Any:
    """Return the tree of sums or means in the dtypes of the results."""
    leaves, structure = flatten(partial.tree)
    ends: Callable[..., Any] = _mean if weighted else _sum
    return unflatten(structure, [ends(x, dtype, partial.rows) for x, dtype in zip(leaves, partial.dtypes)])


def _sum(x: np.ndarray, dtype: np.dtype, rows: int):
    return x.astype(x.dtype if dtype.kind in "biu" else dtype, copy=False)[()]


def _mean(x: np.ndarray, dtype: np.dtype, rows: int):
    mean = x / rows
    return mean.astype(mean.dtype if dtype.kind in "biu" else dtype, copy=False)[()]

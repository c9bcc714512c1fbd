"""Grid of the blocks of several dask arrays that meet: their indices, sizes, and the rows of their neighbours."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.cluster.block_sizes import UNKNOWN
from anyshape.cluster.chunks import root_of
from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import NamedTuple

Index = tuple[int, ...]
_ADVICE = "give both the same chunks, as by rechunk"


def is_dask(x: Any) -> bool:
    """Return whether a value is a dask array."""
    return root_of(x) == "dask" and hasattr(x, "chunks") and hasattr(x, "numblocks")


class GridOptions(NamedTuple):
    """Options of a call: rows of neighbours, whether results leave them out, and the axes of results for blocks."""

    halo: tuple[int, int]
    trim: bool
    along: tuple[int | None, ...] | None


class BlockGrid:
    """Blocks of the dask arrays among the leaves of arguments. `counts` is their number along each axis.

    - `places` are the leaves that are dask arrays. The first `plain` of these are results, or cotangents of some.
    - `along` has for each axis of the grid the axis of results along which blocks lie, None for the same one.
    - `halo` is how many rows a block has of its neighbours before and behind it.
    """

    def __init__(
        self, name: str, leaves: Sequence[Any], paths: Sequence[str], options: GridOptions, plain: int = 0
    ) -> None:
        self.name, self.leaves, self.paths, self.options, self.plain = name, list(leaves), list(paths), options, plain
        self.places = [i for i, x in enumerate(leaves) if is_dask(x)]
        self.arrays = [leaves[i] for i in self.places]
        if not self.arrays:
            advice = "call the function itself, or make a dask array of the data"
            raise ArgumentError(name, "the arguments", "hold no dask array", advice)
        self.counts: Index = self._counts()
        self._require_counts()
        numbers = range(len(self.arrays))
        self.has_halo = [number >= plain and self._takes_halo(number) for number in numbers]
        self.starts = self._starts() if any(self.has_halo) else None

    def _counts(self) -> Index:
        """Return the number of blocks along each axis, up to the last one along which there are several."""
        rank = max([x.ndim for x in self.arrays[self.plain :]])
        counts = [max([self._count(i, axis) for i in range(len(self.arrays))]) for axis in range(rank)]
        while counts and counts[-1] == 1:
            counts.pop()
        return tuple(counts)

    def _takes_halo(self, number: int) -> bool:
        return self.options.halo != (0, 0) and self.counts != () and self.owns(number, 0)

    def axis_of(self, number: int, axis: int) -> int | None:
        """Return the axis of an array along which its blocks lie by an axis of the grid, None if there is none."""
        at = self.result_axis(axis) if number < self.plain else axis
        return at if at is not None and at < self.arrays[number].ndim else None

    def result_axis(self, axis: int) -> int | None:
        """Return the axis of results along which blocks lie by an axis of the grid."""
        along = self.options.along
        return axis if along is None else along[axis] if axis < len(along) else None

    def _count(self, number: int, axis: int) -> int:
        at = self.axis_of(number, axis)
        return 1 if at is None else int(self.arrays[number].numblocks[at])

    def _require_counts(self) -> None:
        """Raise ArgumentError for arrays with other numbers of blocks along an axis, beside one."""
        for number, i in enumerate(self.places):
            for axis, expected in enumerate(self.counts):
                count = self._count(number, axis)
                if count not in (1, expected):
                    problem = f"has {count} blocks along axis {axis}, and another argument has {expected}"
                    raise ArgumentError(self.name, self.paths[i], problem, _ADVICE)

    def _starts(self) -> np.ndarray:
        """Return the first row of each block, and the number of rows; arrays with a halo have the same ones."""
        chosen = [(i, x) for i, x, halo in zip(self.places, self.arrays, self.has_halo) if halo]
        for i, x in chosen:
            if any(math.isnan(n) for n in x.chunks[0]):
                problem = "has blocks of unknown sizes, so that a halo cannot be told"
                raise ArgumentError(self.name, self.paths[i], problem, "call compute_chunk_sizes() on it")
            if x.chunks[0] != chosen[0][1].chunks[0]:
                problem = f"has blocks of other rows than {self.paths[chosen[0][0]]}"
                raise ArgumentError(self.name, self.paths[i], problem, _ADVICE)
        return np.cumsum([0, *chosen[0][1].chunks[0]])

    def owns(self, number: int, axis: int) -> bool:
        """Return whether an array has blocks of its own along an axis of the grid."""
        return self.axis_of(number, axis) is not None and self._count(number, axis) == self.counts[axis]

    def indices(self) -> list[Index]:
        """Return the indices of all blocks."""
        return list(itertools.product(*map(range, self.counts)))

    def at(self, number: int, index: Index) -> Index:
        """Return the index of the block of an array that belongs to a block of the grid."""
        numbers = [0] * self.arrays[number].ndim
        for axis, i in enumerate(index):
            at = self.axis_of(number, axis)
            if at is not None and self.owns(number, axis):
                numbers[at] = i
        return tuple(numbers)

    # -- rows of neighbours

    def rows_around(self, index: Index) -> tuple[int, int]:
        """Return how many rows of neighbours a block gets before and behind it: fewer at the ends."""
        if self.starts is None:
            return 0, 0
        before, after = self.starts[index[0]], self.starts[-1] - self.starts[index[0] + 1]
        return min(self.options.halo[0], int(before)), min(self.options.halo[1], int(after))

    def cut(self, index: Index) -> tuple[int, int]:
        """Return how many rows a result leaves out at its ends."""
        return self.rows_around(index) if self.options.trim else (0, 0)

    def spans(self, index: Index) -> list[tuple[int, int, int]]:
        """Return the blocks along the first axis that a block with its halo is made of: number, first and last row."""
        assert self.starts is not None
        before, after = self.rows_around(index)
        first, last = int(self.starts[index[0]]) - before, int(self.starts[index[0] + 1]) + after
        spans = []
        for j, (start, end) in enumerate(itertools.pairwise(map(int, self.starts))):
            a, b = max(first, start), min(last, end)
            if a < b:
                spans.append((j, a - start, b - start))
        return spans or [(index[0], 0, 0)]

    def parts(self, index: Index) -> tuple[list[list[Any]], list[Any]]:
        """Return the keys of the blocks that each array gives to a block, and the rows of each, None for all."""
        keys: list[list[Any]] = []
        rows: list[Any] = []
        for number, (x, halo) in enumerate(zip(self.arrays, self.has_halo)):
            at = self.at(number, index)
            if not halo or self.rows_around(index) == (0, 0):
                keys.append([(x.name, *at)])
                rows.append(None)
                continue
            spans = self.spans(index)
            keys.append([(x.name, j, *at[1:]) for j, _, _ in spans])
            rows.append([(a, b) for _, a, b in spans])
        return keys, rows

    # -- sizes

    def shape(self, number: int, index: Index) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shape of a block of array `number` with its halo, and its axes of unknown size."""
        x = self.arrays[number]
        sizes = [of[i] for of, i in zip(x.chunks, self.at(number, index))]
        unknown = tuple([a for a, n in enumerate(sizes) if math.isnan(n)])
        known = [UNKNOWN if math.isnan(n) else int(n) for n in sizes]
        if self.has_halo[number]:
            known[0] += sum(self.rows_around(index))
        return tuple(known), unknown

"""Graph of a function for each block of a grid: its calls, its results, and cotangents, as dask arrays."""

from __future__ import annotations

import hashlib
import math
import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.cluster.block_grid import BlockGrid, Index
from anyshape.cluster.block_sizes import BlockTypes, TypeReader
from anyshape.cluster.block_worker import Block, BlockJob, added_rows, expanded, run_block
from anyshape.cluster.executors import dumped
from anyshape.cluster.sums import wide
from anyshape.cluster.worker import VERSIONS
from anyshape.errors import ArgumentError
from anyshape.support.packages import dask_array, dask_base, dask_highlevelgraph
from anyshape.tracing.pytrees import result_paths, unflatten
from anyshape.transforms.jitted import Jitted


class BlockGraph:
    """Calls of a function for all blocks of a grid.

    - `structure` makes the arguments, (args, kwargs), of the leaves of the grid.
    - `examples` has for each index the shapes of the cotangents, which are the first leaves, as the function gets them.
    """

    def __init__(
        self,
        function: Jitted,
        grid: BlockGrid,
        structure: Any,
        examples: dict[Index, list[tuple[int, ...]]] | None = None,
    ) -> None:
        self.function, self.grid, self.structure, self.name = function, grid, structure, grid.name
        self.examples = examples or {}
        self.cotangents = len(next(iter(self.examples.values()), ()))
        self.types = self._read_types()
        first = next(iter(self.types.values()))
        self.structure_of_results, self.writes = first.structure, any(t.writes for t in self.types.values())
        self.paths = result_paths(first.structure)
        self._calls: Any = None

    # -- types of results

    def _read_types(self) -> dict[Index, BlockTypes]:
        """Return the types of results for each block; raise ArgumentError where they are not of one kind."""
        reader, known, types = TypeReader(self.function), {}, {}
        for index in self.grid.indices():
            shapes = tuple([self._shape(i, index) for i in range(len(self.grid.arrays))])
            if shapes not in known:
                known[shapes] = self._types_of(reader, shapes)
            types[index] = known[shapes]
        first = next(iter(types.values()))
        for other in types.values():
            if other.structure != first.structure:
                problem = f"has the structure {other.structure} for one block and {first.structure} for another"
                raise ArgumentError(self.name, "the result", problem, "return one structure for all sizes")
        return types

    def _shape(self, number: int, index: Index) -> tuple[tuple[int, ...], tuple[int, ...]]:
        shape, unknown = self.grid.shape(number, index)
        return (self.examples[index][number] if number < self.cotangents else shape), unknown

    def _types_of(self, reader: TypeReader, shapes: Sequence[tuple[Any, Any]]) -> BlockTypes:
        leaves, unknown = list(self.grid.leaves), {}
        for at, x, (shape, axes) in zip(self.grid.places, self.grid.arrays, shapes):
            leaves[at] = np.broadcast_to(np.zeros((), x.dtype), shape)
            unknown[id(leaves[at])] = axes
        args, kwargs = unflatten(self.structure, leaves)
        return reader.types(args, kwargs, unknown)

    # -- the calls

    def calls(self) -> Any:
        """Return a dask array of the lists of results, a block for each of the grid."""
        if self._calls is None:
            job = self._job()
            name = f"{self.name}-{dask_base.tokenize(job, [x.name for x in self.grid.arrays], self.grid.options)}"
            layer: dict[Any, Any] = {f"job-{name}": job}
            for number, index in enumerate(self.grid.indices()):
                keys, spans = self.grid.parts(index)
                types = [(t.dtype, t.sizes) for t in self.types[index].results]
                block = Block(number, index, spans, self._cuts(index), types)
                layer[name, *index] = (run_block, f"job-{name}", block, keys)
            chunks = tuple([(math.nan,) * n for n in self.grid.counts])
            self._calls = _dask_array(layer, name, chunks, np.dtype(object), self.grid.arrays)
        return self._calls

    def _cuts(self, index: Index) -> tuple[int, int, int]:
        """Return the rows that a result leaves out at its ends, and their axis."""
        return (*self.grid.cut(index), self.grid.result_axis(0) or 0)

    def _job(self) -> bytes:
        """Return the pickle of what all blocks share: the function with its programs, and the other arguments."""
        payload = dumped(self.function.with_programs())
        leaves = [None if i in self.grid.places else x for i, x in enumerate(self.grid.leaves)]
        job = BlockJob(
            self.name, VERSIONS, hashlib.sha256(payload).hexdigest(), payload, None, tuple(leaves), self.structure,
            tuple(self.grid.places), self.cotangents, self.writes, os.getpid(),
        )  # fmt: skip
        return dumped(job)

    # -- results

    def result(self, leaf: int) -> Any:
        """Return a leaf of the results as a dask array."""
        calls, indices = self.calls(), self.grid.indices()
        first = self.types[indices[0]].results[leaf]
        axes = self._axes(leaf, len(first.sizes))
        chunks = self._chunks(leaf, axes)
        name = _name(f"{self.name}_result{leaf}", calls.name)
        layer = {
            (name, *_placed(axes, index, len(chunks))): (operator.getitem, (calls.name, *index), leaf)
            for index in indices
        }
        return _dask_array(layer, name, chunks, first.dtype, [calls])

    def _axes(self, leaf: int, rank: int) -> list[int | None]:
        """Return for each axis of the grid the axis of a result along which blocks lie, None for one block."""
        axes: list[int | None] = []
        for axis, count in enumerate(self.grid.counts):
            at = self.grid.result_axis(axis)
            if at is None or at >= rank:
                if count > 1:
                    problem = f"has {rank} axes, none of them for the {count} blocks along axis {axis} of the arguments"
                    advice = "keep that axis, name its place in `along`, or use chunked_sum for a sum over blocks"
                    raise ArgumentError(self.name, self.paths[leaf], problem, advice)
                at = None
            axes.append(at)
        return axes

    def _chunks(self, leaf: int, axes: Sequence[int | None]) -> tuple[tuple[float, ...], ...]:
        """Return the chunks of a result: the sizes along an axis are by the index along it alone."""
        first, path = next(iter(self.types.values())).results[leaf], self.paths[leaf]
        rank, counts = len(first.sizes), dict(zip(axes, self.grid.counts))
        chunks: list[list[Any]] = [[None] * counts.get(axis, 1) for axis in range(rank)]
        for index, types in self.types.items():
            result = types.results[leaf]
            if result.dtype != first.dtype or len(result.sizes) != rank:
                shapes = [f"{t.dtype} with {len(t.sizes)} axes" for t in (result, first)]
                problem = f"is {shapes[0]} for one block, and {shapes[1]} for another"
                raise ArgumentError(self.name, path, problem, "return arrays of one dtype and rank for all sizes")
            for axis, (at, size) in enumerate(zip(_placed(axes, index, rank), self._without_halo(result.sizes, index))):
                self._set_size(chunks[axis], at, size, axis, path)
        return tuple(map(tuple, chunks))

    def _without_halo(self, sizes: Sequence[float], index: Index) -> list[float]:
        """Return the sizes of a result without the rows of the halo."""
        sizes, cut, axis = list(sizes), sum(self.grid.cut(index)), self.grid.result_axis(0)
        if cut and axis is not None and axis < len(sizes):
            if sizes[axis] < cut:
                problem = f"has {sizes[axis]} rows for the block {index}, of which its halo is {cut}"
                raise ArgumentError(self.name, "the result", problem, "give trim=False for results of fewer rows")
            sizes[axis] -= cut
        return sizes

    def _set_size(self, sizes: list[Any], at: int, size: float, axis: int, path: str) -> None:
        known = sizes[at]
        if known is not None and not math.isnan(known) and not math.isnan(size) and known != size:
            problem = f"has {known} elements along axis {axis} for one block and {size} for another beside it"
            raise ArgumentError(self.name, path, problem, "rechunk the arguments so that this axis has one block")
        if known is None or math.isnan(size):
            sizes[at] = size

    # -- cotangents

    def reversed(self, reverse: Jitted, tree: Any, cotangents: Sequence[Any], leaves: Sequence[Any]) -> BlockGraph:
        """Return the graph of the function that gives the cotangents of arguments.

        `tree` is the structure of its arguments, and `leaves` are those behind the cotangents of results.
        """
        paths = [*[f"the cotangent of {path}" for path in self.paths], *[""] * len(leaves)]
        grid = BlockGrid(self.name, [*cotangents, *leaves], paths, self.grid.options, plain=len(cotangents))
        examples = {index: [t.example for t in types.results] for index, types in self.types.items()}
        return BlockGraph(reverse, grid, tree, examples)

    def cotangent(self, leaf: int, at: int) -> Any:
        """Return result `leaf` as the cotangent of leaf `at` of the arguments: added up over blocks that it meets."""
        x, grid = self.grid.leaves[at], self.grid
        number = grid.places.index(at) if at in grid.places else None
        summed = [axis for axis in range(len(grid.counts)) if number is None or not grid.owns(number, axis)]
        own_chunks = tuple([(n,) for n in np.shape(x)]) if number is None else x.chunks
        layer, name = self._terms(leaf, number, summed, len(own_chunks))
        if number is not None and grid.has_halo[number]:
            layer, name = self._with_rows_added(layer, name, len(summed))
        dtype = next(iter(self.types.values())).results[leaf].dtype
        chunks = (*[(1,) * grid.counts[axis] for axis in summed], *own_chunks)
        array = _dask_array(layer, name, chunks, dtype, [self.calls()])
        return array.sum(axis=tuple(range(len(summed))), dtype=wide(dtype)).astype(dtype) if summed else array

    def _terms(self, leaf: int, number: int | None, summed: Sequence[int], rank: int) -> tuple[dict[Any, Any], str]:
        """Return a layer with the cotangent of each block, and its name; blocks to be summed lie along first axes."""
        calls = self.calls()
        name, layer = _name(f"{self.name}_cotangent{leaf}", calls.name), {}
        for index in self.grid.indices():
            own = (0,) * rank if number is None else self.grid.at(number, index)
            layer[(name, *[index[axis] for axis in summed], *own)] = (expanded, (calls.name, *index), leaf, len(summed))
        return layer, name

    def _with_rows_added(self, layer: dict[Any, Any], name: str, axis: int) -> tuple[dict[Any, Any], str]:
        """Return a layer in which each block has the sum of its rows over all blocks that had them in their halo."""
        grid, total = self.grid, f"sum_of_rows_{name}"
        assert grid.starts is not None
        givers: dict[int, list[tuple[int, tuple[int, int, int]]]] = {}
        for i in range(grid.counts[0]):
            done = 0
            for j, first, last in grid.spans((i,)):
                givers.setdefault(j, []).append((i, (done, done + last - first, first)))
                done += last - first
        added = dict(layer)
        for _, *index in layer:
            j = index[axis]
            terms = givers.get(j) or [(j, (0, 0, 0))]  # a block without rows, beside which others have none
            rows = int(grid.starts[j + 1] - grid.starts[j])
            keys = [(name, *index[:axis], i, *index[axis + 1 :]) for i, _ in terms]
            added[total, *index] = (added_rows, rows, axis, [span for _, span in terms], keys)
        return added, total


def _name(of: str, calls: str) -> str:
    """Return the name of a layer, with the token of the calls."""
    return f"{of}-{calls.rpartition('-')[2]}"


def _placed(axes: Sequence[int | None], index: Index, rank: int) -> Index:
    """Return the index of a block of a result for a block of the grid."""
    numbers = [0] * rank
    for axis, i in zip(axes, index):
        if axis is not None:
            numbers[axis] = i
    return tuple(numbers)


def _dask_array(layer: Any, name: str, chunks: Any, dtype: np.dtype, dependencies: Sequence[Any]) -> Any:
    graph = dask_highlevelgraph.HighLevelGraph.from_collections(name, layer, dependencies=list(dependencies))
    return dask_array.Array(graph, name, chunks, dtype=dtype)

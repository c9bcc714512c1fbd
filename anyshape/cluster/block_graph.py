"""Graph of a function for each block of a grid: its calls, its results, and cotangents, as dask arrays.

A grid has the blocks of several dask arrays that meet: their indices, sizes, and the rows of their neighbours. The size
formulas of programs give the types of results before anything is computed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import operator
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.cluster import worker as on_worker
from anyshape.cluster.chunks import copied, root_of
from anyshape.cluster.executors import dumped
from anyshape.errors import ArgumentError
from anyshape.graph.ir.graph import Graph, Value, decisions_of
from anyshape.graph.ir.op_local import ancestors
from anyshape.graph.shapes.array_type import Exact, ShapeExtent
from anyshape.graph.signature.prologue import Prologue, Solver, compile_prologue
from anyshape.graph.sizes.expr import DimVar, InputAxis, Leaf, RuntimeScalar, as_atom, leaves_of
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.program.program import Program
from anyshape.support.lazy_dataclass import NamedTuple, replace
from anyshape.support.packages import dask_array, dask_base, dask_highlevelgraph
from anyshape.tracing.decisions import evaluate_quietly
from anyshape.tracing.pytrees import flatten, result_paths, unflatten
from anyshape.transforms.jitted import Jitted


class BlockGraph:
    """Calls of a function for all blocks of a grid.

    - `structure` makes the arguments, (args, kwargs), of the leaves of the grid.
    - `examples` has for each index the shapes of the cotangents, which are the first leaves, as the function gets them.
    """

    def __init__(
        self, function: Jitted, grid: BlockGrid, structure, examples: dict[Index, list[tuple[int, ...]]] | None = None
    ) -> None:
        self.function, self.grid = function, grid
        self.structure, self.name = structure, grid.name
        self.examples: dict[Index, list[tuple[int, ...]]] = examples or {}
        self.cotangents: int = len(next(iter(self.examples.values()), ()))
        self.types: dict[Index, BlockTypes] = self._read_types()
        first = next(iter(self.types.values()))
        self.structure_of_results, self.writes = first.structure, any(t.writes for t in self.types.values())
        self.paths: list[str] = result_paths(first.structure)
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
            self.name, on_worker.VERSIONS, hashlib.sha256(payload).hexdigest(), payload, None, tuple(leaves),
            self.structure, tuple(self.grid.places), self.cotangents, self.writes, os.getpid(),
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
        return array.sum(axis=tuple(range(len(summed))), dtype=on_worker.wide(dtype)).astype(dtype) if summed else array

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


def _dask_array(layer, name: str, chunks, dtype: np.dtype, dependencies: Sequence[Any]):
    graph = dask_highlevelgraph.HighLevelGraph.from_collections(name, layer, dependencies=list(dependencies))
    return dask_array.Array(graph, name, chunks, dtype=dtype)


class BlockJob(NamedTuple):
    """Part that all blocks of a call share.

    - `leaves` are the leaves of the arguments, None at the `places` of blocks. `structure` makes the arguments of them.
    - `cotangents` is how many blocks are first among them, and are cotangents of results.
    """

    name: str
    versions: tuple[str, ...]
    digest: str
    payload: bytes
    function: Any
    leaves: tuple[Any, ...]
    structure: Any
    places: tuple[int, ...]
    cotangents: int
    writes: bool
    client: int


class Block:
    """Place of a block among all, the rows of its parts, and what is known of its results.

    - `spans` has for each part the first and last rows of the blocks that it is made of, None for a whole block.
    - `cut` is how many rows of the halo results leave out at either end, and their axis.
    - `types` has the dtype and the sizes of each result, before the cut.
    """

    __slots__ = ("cut", "index", "number", "spans", "types")

    def __init__(
        self, number: int, index: tuple[int, ...], spans: Sequence[Any], cut: tuple[int, int, int], types: Sequence[Any]
    ) -> None:
        self.number, self.index, self.spans, self.cut, self.types = number, index, spans, cut, types

    def __reduce__(self) -> Any:
        return Block, (self.number, self.index, self.spans, self.cut, self.types)

    def __dask_tokenize__(self) -> Any:
        return ("Block", *self.__reduce__()[1])


def run_block(data: bytes, block: Block, parts: list[list[Any]]) -> list[np.ndarray]:
    """Return the results of a function for one block; raise ChunkError with what the function raised."""
    try:
        job = on_worker.loaded_job(data)
        failure = on_worker.versions_failure(job.versions)
    except Exception as error:
        job, failure = None, on_worker.failure_of(error, -1, (), "load")
    if failure is not None:
        on_worker.raise_failure("map_chunks" if job is None else job.name, failure)
    assert job is not None
    if os.getpid() != job.client:
        on_worker.keep_freed_memory()
    is_one_of_many = os.getpid() != job.client or threading.current_thread() is not threading.main_thread()
    with on_worker.limited_threads(1 if is_one_of_many else None):
        return _results(job, block, parts)


def _results(job: BlockJob, block: Block, parts: list[list[Any]]) -> list[np.ndarray]:
    values: list[Any] = []
    try:
        function = on_worker.function_of(job)
        copies = job.writes or on_worker.writes(function)
        values += [_joined(pieces, spans, copies) for pieces, spans in zip(parts, block.spans)]
        args, kwargs = _arguments(job, block, values, copies)
        results = [np.asarray(x) for x in flatten(function(*args, **kwargs))[0]]
        _require_types(job.name, block, results)
        before, after, axis = block.cut
        if job.cotangents or not (before or after):
            return results
        return [x[(slice(None),) * axis + (slice(before, x.shape[axis] - after),)] for x in results]
    except Exception as error:
        on_worker.raise_failure(job.name, on_worker.failure_of(error, block.number, on_worker.shapes_of(values)), error)


def _arguments(job: BlockJob, block: Block, values: list[Any], copies: bool):
    """Return the arguments for a block; the next block needs those that all share as they are."""
    if any(block.cut[:2]):
        values[: job.cotangents] = [_padded(x, block.cut) for x in values[: job.cotangents]]
    leaves = copied(list(job.leaves)) if copies else list(job.leaves)
    for at, value in zip(job.places, values):
        leaves[at] = value
    return unflatten(job.structure, leaves)


def _joined(pieces: Sequence[Any], spans, copies: bool) -> np.ndarray:
    """Return a block with the rows of its neighbours; a function that writes to it gets a copy."""
    arrays = [np.asarray(x) for x in pieces]
    if spans is not None:
        arrays = [x[first:last] for x, (first, last) in zip(arrays, spans)]
    x = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return x.copy() if copies else x


def _padded(x: np.ndarray, cut: tuple[int, int, int]) -> np.ndarray:
    """Return a cotangent with zeros for the rows that the result left out."""
    return np.pad(x, [cut[:2] if axis == cut[2] else (0, 0) for axis in range(x.ndim)])


def _require_types(name: str, block: Block, results: Sequence[np.ndarray]) -> None:
    """Raise ArgumentError for a result that is not what its dask array says: decisions on values may give others."""
    if len(results) != len(block.types):
        problem = f"has {len(results)} arrays for the block {block.index}, and {len(block.types)} for other data"
        raise ArgumentError(name, "the result", problem, "return one structure for all data")
    for x, (dtype, sizes) in zip(results, block.types):
        fits = x.ndim == len(sizes) and all(size != size or n == size for n, size in zip(x.shape, sizes))
        if x.dtype != dtype or not fits:
            problem = f"is {x.dtype}{list(x.shape)} for the block {block.index}, and {dtype}{list(sizes)} is declared"
            raise ArgumentError(name, "the result", problem, "return arrays of one dtype and rank for all data")


def expanded(results: Sequence[np.ndarray], leaf: int, axes: int) -> np.ndarray:
    """Return a result with so many axes of size 1 before its own, along which blocks lie to be added up."""
    x = results[leaf]
    return x.reshape((1,) * axes + x.shape)


def added_rows(rows: int, axis: int, spans: Sequence[tuple[int, int, int]], parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of the rows that blocks with halos give to one block.

    `spans` has for each part its first and last row, and the row of the sum where these begin.
    """
    shape = parts[0].shape
    total = np.zeros((*shape[:axis], rows, *shape[axis + 1 :]), parts[0].dtype)
    lead = (slice(None),) * axis
    for (first, last, at), x in zip(spans, parts):
        total[(*lead, slice(at, at + last - first))] += x[(*lead, slice(first, last))]
    return total


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
        self.places: list[int] = [i for i, x in enumerate(leaves) if is_dask(x)]
        self.arrays: list[Any] = [leaves[i] for i in self.places]
        if not self.arrays:
            advice = "call the function itself, or make a dask array of the data"
            raise ArgumentError(name, "the arguments", "hold no dask array", advice)
        self.counts: Index = self._counts()
        self._require_counts()
        numbers = range(len(self.arrays))
        self.has_halo: list[bool] = [number >= plain and self._takes_halo(number) for number in numbers]
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
                if (count := self._count(number, axis)) not in (1, expected):
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
            if (at := self.axis_of(number, axis)) is not None and self.owns(number, axis):
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
        sizes = [of[i] for of, i in zip(self.arrays[number].chunks, self.at(number, index))]
        unknown = tuple([a for a, n in enumerate(sizes) if math.isnan(n)])
        known = [UNKNOWN if math.isnan(n) else int(n) for n in sizes]
        if self.has_halo[number]:
            known[0] += sum(self.rows_around(index))
        return tuple(known), unknown


UNKNOWN = 2  # of an axis in examples, where only the data tell its size


class ResultType(NamedTuple):
    """Dtype and sizes of a result for a block, NaN where data decide, and the shape of an example of it."""

    dtype: np.dtype
    sizes: tuple[float, ...]
    example: tuple[int, ...]


class BlockTypes(NamedTuple):
    """Structure of the results for a block and their types; `writes` is whether the function writes to arguments."""

    structure: Any
    results: tuple[ResultType, ...]
    writes: bool


class _Known(NamedTuple):
    """Facts about the sizes of a program, for all blocks.

    - `solve` returns the sizes of a call. Unknown sizes of blocks, or values in blocks, decide the `hidden` ones.
    - `chosen` has the sizes that values of other arguments decide.
    - `decides` is whether Python decides on values in blocks, so that another block may take another path.
    """

    solve: Solver
    hidden: set[DimVar]
    chosen: dict[DimVar, int]
    decides: bool


class TypeReader:
    """Reader of the types of results; programs are traced where they are missing."""

    def __init__(self, function: Jitted) -> None:
        self.function = function
        self._known: dict[Any, _Known] = {}

    def types(self, args: Any, kwargs: Any, unknown: Mapping[int, tuple[int, ...]]) -> BlockTypes:
        """Return the types of results for arguments with an example in place of each block.

        `unknown` has the axes of unknown size of each example, by its `id`.
        """
        arrays, entry = self.function.entry_for(*args, **kwargs)
        program = entry.program
        blocks = {i: unknown[id(x)] for i, x in enumerate(arrays) if id(x) in unknown}
        key = program, tuple(blocks.items())
        if key not in self._known:
            self._known[key] = _known_of(program, arrays, blocks)
        known = self._known[key]
        sizes = {**known.solve(*arrays), **known.chosen}
        hidden = None if known.decides else known.hidden
        outputs = program.graph.outputs[: program.trace.count]
        results = [_type_of(value.meta.dtype, value.meta.extents, sizes, hidden) for value in outputs]
        return BlockTypes(program.trace.out_tree, tuple(results), bool(program.trace.written))


def _known_of(program: Program, arrays: Sequence[Any], blocks: Mapping[int, tuple[int, ...]]) -> _Known:
    graph = program.graph
    hidden = _hidden(program.prologue, blocks)
    inputs = {graph.inputs[i] for i in blocks}
    asked = [operand for node in decisions_of(graph) for operand in node.operands]
    makers = {value for node in graph.nodes for value in node.outputs} | {*graph.inputs}
    decides = any(v not in makers or not inputs.isdisjoint(ancestors(graph.nodes, v)) for v in asked)
    guarded = any(v in hidden for guard in program.guards for v in guard.claim.variables())
    chosen = _chosen_sizes(graph, arrays, inputs)
    return _Known(compile_prologue(program.prologue, arrays=True), hidden, chosen, decides or guarded)


def _chosen_sizes(graph: Graph, arrays: Sequence[Any], inputs: set[Value]) -> dict[DimVar, int]:
    """Return the run-time sizes that arguments without blocks decide, by the naive evaluation of what they need."""
    sizes: dict[DimVar, int] = {}
    bound = {variable for value in graph.inputs for variable in _variables(value).values()}
    for value in [value for node in graph.nodes for value in node.outputs]:
        new = {axis: variable for axis, variable in _variables(value).items() if variable not in bound}
        bound |= {*new.values()}
        needed = ancestors(graph.nodes, value) if new else inputs
        if inputs.isdisjoint(needed):
            shape = _shape_of(graph, value, needed, arrays)
            sizes |= {variable: shape[axis] for axis, variable in new.items()}
    return sizes


def _shape_of(graph: Graph, value: Value, needed: set[Value], arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the shape of a value in a call, computed from the values that it needs alone."""
    nodes = tuple([node for node in graph.nodes if not needed.isdisjoint(node.outputs)])
    return np.shape(evaluate_quietly(replace(graph, nodes=nodes, outputs=(value,)), arrays)[0])


def _variables(value: Value) -> dict[int, DimVar]:
    """Return the axes of a value whose size is one variable."""
    atoms = [as_atom(e.size) if isinstance(e, Exact) else None for e in value.meta.extents]
    return {axis: atom for axis, atom in enumerate(atoms) if isinstance(atom, DimVar)}


def _hidden(prologue: Prologue, blocks: Mapping[int, tuple[int, ...]]) -> set[DimVar]:
    """Return the variables that unknown sizes of blocks, or values in blocks, decide."""
    hidden: set[DimVar] = set()

    def is_hidden(leaf: Leaf) -> bool:
        if isinstance(leaf, InputAxis):
            return leaf.axis in blocks.get(leaf.operand, ())
        return leaf.operand in blocks if isinstance(leaf, RuntimeScalar) else leaf in hidden

    for binding in prologue.bindings:
        if any(is_hidden(leaf) for size in binding.sizes() for leaf in leaves_of(size)):
            hidden.add(binding.variable)
    return hidden


def _type_of(
    dtype: np.dtype, extents: Sequence[ShapeExtent], sizes: Mapping[DimVar, int], hidden: set[DimVar] | None
) -> ResultType:
    """Return the type of a result; where `hidden` is None, data decide all its sizes."""
    known: list[float] = []
    example: list[int] = []
    for extent in extents:
        leaves = leaves_of(extent.size) if isinstance(extent, Exact) else ()
        if not isinstance(extent, Exact) or any(leaf not in sizes for leaf in leaves):
            known.append(math.nan)
            example.append(UNKNOWN)
            continue
        example.append(evaluate(extent.size, values_from(sizes)))
        known.append(math.nan if hidden is None or any(leaf in hidden for leaf in leaves) else example[-1])
    return ResultType(dtype, tuple(known), tuple(example))

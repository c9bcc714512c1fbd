"""Work for one block of `map_chunks`, in the process that has it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.cluster.chunks import copied
from anyshape.cluster.limits import keep_freed_memory, limited_threads
from anyshape.cluster.worker import (
    failure_of,
    function_of,
    loaded_job,
    raise_failure,
    shapes_of,
    versions_failure,
    writes,
)
from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing.pytrees import flatten, unflatten


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
        job = loaded_job(data)
        failure = versions_failure(job.versions)
    except Exception as error:
        job, failure = None, failure_of(error, -1, (), "load")
    if failure is not None:
        raise_failure("map_chunks" if job is None else job.name, failure)
    assert job is not None
    if os.getpid() != job.client:
        keep_freed_memory()
    is_one_of_many = os.getpid() != job.client or threading.current_thread() is not threading.main_thread()
    with limited_threads(1 if is_one_of_many else None):
        return _results(job, block, parts)


def _results(job: BlockJob, block: Block, parts: list[list[Any]]) -> list[np.ndarray]:
    values: list[Any] = []
    try:
        function = function_of(job)
        copies = job.writes or writes(function)
        values += [_joined(pieces, spans, copies) for pieces, spans in zip(parts, block.spans)]
        args, kwargs = _arguments(job, block, values, copies)
        results = [np.asarray(x) for x in flatten(function(*args, **kwargs))[0]]
        _require_types(job.name, block, results)
        before, after, axis = block.cut
        if job.cotangents or not (before or after):
            return results
        return [x[(slice(None),) * axis + (slice(before, x.shape[axis] - after),)] for x in results]
    except Exception as error:
        raise_failure(job.name, failure_of(error, block.number, shapes_of(values)), error)


def _arguments(job: BlockJob, block: Block, values: list[Any], copies: bool) -> Any:
    """Return the arguments for a block; the next block needs those that all share as they are."""
    if any(block.cut[:2]):
        values[: job.cotangents] = [_padded(x, block.cut) for x in values[: job.cotangents]]
    leaves = copied(list(job.leaves)) if copies else list(job.leaves)
    for at, value in zip(job.places, values):
        leaves[at] = value
    return unflatten(job.structure, leaves)


def _joined(pieces: Sequence[Any], spans: Any, copies: bool) -> np.ndarray:
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

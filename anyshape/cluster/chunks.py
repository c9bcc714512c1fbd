"""Chunks of data, from everything that holds some: lists of arrays, Dask collections, xarray, futures, delayed values.

A chunk is a list with one tree for each chunked argument. Its leaves are arrays, or stand for arrays that a worker has
or computes: a `Lazy` value or a future of Dask.

Arrays in files of this machine, which all its processes map and none copies: references to them, and such files.
"""

import contextlib
import itertools
import math
import os
import pickle
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import optree

from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import cloudpickle, dask_delayed, dask_optimization, distributed
from anyshape.tracing.pytrees import NAMESPACE, flatten, unflatten
from anyshape.transforms.ragged.values import Ragged

_REMAPPED = 256  # files that one process keeps mapped: each has a descriptor
_ALIGNED = 64  # bytes to whose multiples arrays in a file begin
_PLAIN = (np.ndarray, np.memmap)  # other classes have more than their elements


class Mapped(NamedTuple):
    """Reference to an array in a file of this machine, which other processes map and do not copy."""

    file: str
    inode: int  # a file that another one replaces is another array
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype
    order: Literal["C", "F"]

    def value(self) -> np.ndarray:
        """Return the read-only array in the file."""
        end = self.offset + math.prod(self.shape) * self.dtype.itemsize
        whole = _whole_file(self.file, self.inode, end)
        return np.ndarray(self.shape, self.dtype, whole, self.offset, order=self.order)


_LOCK = threading.Lock()
_WHOLE: OrderedDict[tuple[str, int], np.ndarray] = OrderedDict()


def _whole_file(file: str, inode: int, end: int) -> np.ndarray:
    """Return the bytes of a file at least to the end; the process keeps the latest files mapped."""
    key = file, inode
    with _LOCK:
        whole = _WHOLE.get(key)
        if whole is None or len(whole) < end:  # it was written to again since
            whole = _WHOLE[key] = np.memmap(file, np.uint8, "r").view(np.ndarray)
        _WHOLE.move_to_end(key)
        while len(_WHOLE) > _REMAPPED:
            _WHOLE.popitem(last=False)
    return whole


def by_reference(x: Any, inodes: dict[str, int]) -> Any:
    """Return a reference to an array whose memory is a mapped file, and other values as they are.

    `inodes` keeps what is known of the files of one pass.
    """
    if type(x) not in _PLAIN or not x.size or not (x.flags.c_contiguous or x.flags.f_contiguous):
        return x
    whole: Any = x
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(whole, np.memmap) or whole.mode == "c" or whole.filename is None:
        return x
    if (file := str(whole.filename)) not in inodes:
        inodes[file] = os.stat(file).st_ino
    offset = whole.offset + x.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return Mapped(file, inodes[file], offset, x.shape, x.dtype, "C" if x.flags.c_contiguous else "F")


class Files:
    """Arrays in files of a temporary folder, which goes with the executor."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._numbers = itertools.count(1)  # which threads do not share
        self._free: list[Path] = []
        self._remove: Callable[[], Any] = lambda: None

    def new_path(self) -> Path:
        """Return a path where no file is yet."""
        if self._folder is None:
            folder = tempfile.TemporaryDirectory(prefix="anyshape_", ignore_cleanup_errors=True)
            self._folder = Path(folder.name)
            self._remove = weakref.finalize(self, folder.cleanup)
        return self._folder / str(next(self._numbers))

    def put(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Return arrays in a new file, read-only."""
        path = self.new_path()
        with path.open("wb") as file:
            places = [_written(file, x) for x in arrays]
        whole = np.memmap(path, np.uint8, "r")
        return [
            np.ndarray(x.shape, x.dtype, whole, offset, order=order)
            for x, (offset, order) in zip(arrays, places, strict=True)
        ]

    @contextlib.contextmanager
    def lent(self, arrays: list[np.ndarray]) -> Iterator[list[Mapped]]:
        """Yield references to arrays in a file, which others write over later: workers keep it mapped."""
        try:
            path = self._free.pop()
        except IndexError:
            path = self.new_path()
            path.touch()
        try:
            with path.open("r+b") as file:  # without an end to what workers have mapped
                places = [_written(file, x) for x in arrays]
            name, inode = str(path), path.stat().st_ino
            yield [
                Mapped(name, inode, offset, x.shape, x.dtype, order)
                for x, (offset, order) in zip(arrays, places, strict=True)
            ]
        finally:
            self._free.append(path)

    def remove(self) -> None:
        """Remove the files."""
        self._remove()
        self._folder = None
        self._free.clear()


def has_rows(x: Any) -> bool:
    """Return whether a value is an array of numbers with rows."""
    return type(x) in _PLAIN and x.ndim > 0 and not x.dtype.hasobject


def is_storable(x: Any) -> bool:
    """Return whether a value is an array that a file can have."""
    return has_rows(x) and x.nbytes > 0


def _written(file: BinaryIO, x: np.ndarray) -> tuple[int, Literal["C", "F"]]:
    """Write an array, and return where it begins and the order of its elements."""
    file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
    offset = file.tell()
    in_columns = x.flags.f_contiguous and not x.flags.c_contiguous
    file.write(np.ascontiguousarray(x.T if in_columns else x).view(np.uint8).data)
    return offset, "F" if in_columns else "C"


def root_of(x: Any) -> str:
    """Return the name of the package that defines the class of a value."""
    return type(x).__module__.partition(".")[0]


# -- what stands for an array


class Lazy:
    """Value that is computed where it is needed: a delayed value of Dask, pickled where it travels."""

    __slots__ = ("delayed", "dtype", "shape")

    def __init__(self, delayed: Any, shape: tuple[Any, ...] | None = None, dtype: np.dtype | None = None) -> None:
        self.delayed, self.shape, self.dtype = delayed, shape, dtype

    def __reduce__(self) -> Any:
        return _unpickled_lazy, (cloudpickle.dumps(self.delayed), self.shape, self.dtype)

    def value(self) -> Any:
        """Compute the value in the calling thread."""
        return self.delayed.compute(scheduler="synchronous")


def _unpickled_lazy(data: bytes, shape: tuple[Any, ...] | None, dtype: np.dtype | None) -> Lazy:
    return Lazy(pickle.loads(data), shape, dtype)


class Held:
    """Array of known shape and dtype that a worker has: the value of a future, or one of the list that is its value."""

    __slots__ = ("client", "dtype", "future", "index", "shape")

    def __init__(self, future: Any, shape: tuple[int, ...], dtype: np.dtype, index: int | None = None) -> None:
        self.future, self.shape, self.dtype, self.client, self.index = future, shape, dtype, future.client, index

    def value(self) -> Any:
        """Bring the array into this process."""
        value = self.future.result()
        return value if self.index is None else value[self.index]


class Slot:
    """Leaf that stands for a value of a future, or for one of the list that is its value, in a task of Dask."""

    __slots__ = ("index", "number")

    def __init__(self, number: int, index: int | None) -> None:
        self.number, self.index = number, index

    def __reduce__(self) -> Any:
        return Slot, (self.number, self.index)

    def value(self, values: Sequence[Any]) -> Any:
        """Return the value, given the values of all futures."""
        value = values[self.number]
        return value if self.index is None else value[self.index]


def future_of(x: Any) -> Any:
    """Return the future that a leaf of a chunk is, None for other leaves."""
    if isinstance(x, Held):
        return x.future
    return x if root_of(x) == "distributed" else None


def fetched(x: Any) -> Any:
    """Return the value of a leaf that is a future, other leaves as they are."""
    if isinstance(x, Held):
        return x.value()
    return x.result() if root_of(x) == "distributed" else x


_ARRAYS = (np.ndarray, Mapped, Lazy, Held, Slot)
_PACKAGES = frozenset({"pandas", "xarray", "distributed", "dask"})


def value_of(x: Any) -> Any:
    """Return the array that a leaf of a chunk stands for, or a tree of arrays that it computes."""
    x = x.value() if isinstance(x, (Lazy, Mapped)) else x
    return np.asarray(x) if root_of(x) in ("pandas", "xarray") else x


def resolved(tree: Any) -> Any:
    """Return a tree with read-only arrays in place of arrays and of what stands for them: others have them too."""
    return mapped_leaves(lambda x: mapped_leaves(_read_only, value_of(x)), tree)


def _read_only(x):
    if type(x) is not np.ndarray or not x.flags.writeable:
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def copied(tree: Any) -> Any:
    """Return a tree with copies of its arrays; one that is there twice is one still."""
    copies: dict[Any, np.ndarray] = {}

    def copy(x):
        if not isinstance(x, np.ndarray):
            return x
        key = x.__array_interface__["data"][0], x.shape, x.strides, x.dtype
        if not x.size or key not in copies:
            copies[key] = x.copy(order="K")
        return copies[key]

    return mapped_leaves(copy, tree)


def mapped_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree with the results of a function for its leaves. References are leaves, though they are tuples."""
    if type(tree) in (list, tuple):
        return type(tree)([mapped_leaves(function, x) for x in tree])
    if isinstance(tree, _ARRAYS) or root_of(tree) in _PACKAGES:
        return function(tree)
    if type(tree) is dict:
        return {key: mapped_leaves(function, x) for key, x in tree.items()}
    leaves, structure = flatten(tree)
    if len(leaves) == 1 and leaves[0] is tree:
        return function(tree)
    return unflatten(structure, [mapped_leaves(function, x) for x in leaves])


# -- from an argument to chunks


def chunks_of(argument: Any, path: str, function: str) -> list[Any]:
    """Return the chunks of one argument in order; a dict of columns gives chunks that are dicts."""
    if isinstance(argument, dict):
        return _of_columns(argument, path, function)
    if (rule := _RULES.get(root_of(argument))) is not None:
        return rule(argument, path, function)
    if isinstance(argument, Ragged) or (isinstance(argument, np.ndarray) and argument.ndim):
        return [argument]
    if isinstance(argument, (list, tuple)) and argument:
        return [_one_chunk(x) for x in argument]
    problem = "has no chunks" if isinstance(argument, (list, tuple)) else f"is of type {type(argument).__name__}"
    advice = "pass a dask array, a list of arrays, a list of futures, or a list of delayed values"
    raise ArgumentError(function, path, problem, advice)


def _of_columns(argument: dict[Any, Any], path: str, function: str) -> list[Any]:
    """Return the chunks of columns, each a dict."""
    columns = {key: chunks_of(x, f"{path}[{key!r}]", function) for key, x in argument.items()}
    counts = {key: len(column) for key, column in columns.items()}
    if len(set(counts.values())) != 1:
        raise ArgumentError(function, path, f"has columns of {counts} chunks", "give all columns the same chunks")
    return [dict(zip(columns, parts)) for parts in zip(*columns.values())]


def _one_chunk(x):
    """Return an entry of a list of chunks; delayed values become lazy ones."""
    return _lazy(_alone(x, {})) if _is_delayed(x) else x


def _is_delayed(x) -> bool:
    return root_of(x) == "dask" and any(c.__name__ == "Delayed" for c in type(x).__mro__)  # it has every attribute


def _alone(x, graphs: dict[int, dict[Any, Any]]):
    """Return a delayed value with what it needs alone: the parts of a collection share the graph of all of them.

    `graphs` keeps the graph of a collection as a dict.
    """
    graph = graphs.get(id(x.dask))
    if graph is None:
        graph = graphs[id(x.dask)] = x.dask.to_dict() if hasattr(x.dask, "to_dict") else dict(x.dask)
    return dask_delayed.Delayed(x.key, dask_optimization.cull(graph, [x.key])[0])


def _lazy(x, shape: tuple[Any, ...] | None = None, dtype: np.dtype | None = None):
    """Return the future of a delayed value that has one, else the value as one that workers compute."""
    if not (waiting := _futures_in(x)):
        return Lazy(x, shape, dtype)
    own = [future for future in waiting if future.key == x.key]
    future = own[0] if own else waiting[0].client.compute(x)
    return future if shape is None or dtype is None else Held(future, shape, dtype)


def _futures_in(x) -> list[Any]:
    """Return the futures that a collection of Dask depends on."""
    return list(distributed.futures_of(x)) if hasattr(x, "__dask_graph__") else []


def _of_dask(x, path: str, function: str) -> list[Any]:
    """Return the chunks of a dask array, or of a column or a frame, each with its shape where that is known."""
    if _is_delayed(x):
        return [_one_chunk(x)]
    if not hasattr(x, "to_delayed"):
        kind = type(x).__name__
        raise ArgumentError(function, path, f"is a Dask {kind}, which has no rows", "pass an array or a column")
    held = {future.key: future for future in _futures_in(x)}
    graphs: dict[int, dict[Any, Any]] = {}
    if not hasattr(x, "chunks"):
        return [held.get(part.key) or _lazy(_alone(part, graphs)) for part in _partitions(x)]
    parts = np.asarray(x.to_delayed(), dtype=object)
    if any(len(sizes) > 1 for sizes in x.chunks[1:]):
        problem = f"is chunked along other axes than the first: {x.numblocks} blocks"
        raise ArgumentError(function, path, problem, f"pass {path}.rechunk({{axis: -1 for axis in range(1, x.ndim)}})")
    rest = tuple(sizes[0] for sizes in x.chunks[1:])
    chunks = []
    for part, rows in zip(parts.ravel(), x.chunks[0]):
        shape = rows, *rest
        future = held.get(part.key)
        chunks.append(_lazy(_alone(part, graphs), shape, x.dtype) if future is None else Held(future, shape, x.dtype))
    return chunks


def _partitions(x) -> list[Any]:
    """Return the partitions of a frame or a column as delayed values.

    Dask's optimisation reads several files at once, as many as the columns ask for. So columns of one frame would
    have different partitions. It is left out, but not the one that reads the wanted columns alone.
    """
    return list(x.simplify().to_delayed(optimize_graph=False) if hasattr(x, "simplify") else x.to_delayed())


def _of_xarray(x, path: str, function: str) -> list[Any]:
    if not hasattr(x, "dtype"):
        raise ArgumentError(function, path, f"is an xarray {type(x).__name__}", "pass one of its variables, or a dict")
    return chunks_of(x.data, path, function)


_RULES: dict[str, Callable[[Any, str, str], list[Any]]] = {
    "dask": _of_dask,
    "xarray": _of_xarray,
    "distributed": lambda future, path, function: [future],
}


def same_chunks(chunks: Sequence[Sequence[Any]], paths: Sequence[str], function: str) -> list[list[Any]]:
    """Return each chunk as the list of its arguments; raise ArgumentError if these have other chunks."""
    counts = [len(column) for column in chunks]
    for path, count in zip(paths, counts):
        if count != counts[0]:
            problem = f"has {count} chunks, and {paths[0]} has {counts[0]}"
            raise ArgumentError(function, path, problem, "give both the same chunks along the first axis")
    return [list(parts) for parts in zip(*chunks)]


def counted(tree: Any) -> Any:
    """Return a tree whose first axes count: a batch of examples that differ in size is that of their sizes."""
    is_leaf = lambda x: isinstance(x, (Ragged, *_ARRAYS)) or root_of(x) in _PACKAGES
    sizes = lambda x: x.sizes[0] if isinstance(x, Ragged) else x
    return optree.tree_map(sizes, tree, is_leaf=is_leaf, namespace=NAMESPACE)


def known_rows(chunk: Sequence[Any], number: int, paths: Sequence[str], function: str) -> int | None:
    """Return the rows of a chunk, None where only a worker knows; raise ArgumentError if its arguments differ."""
    first: tuple[str, int] | None = None
    for path, tree in zip(paths, chunk):
        leaves: list[Any] = []
        mapped_leaves(leaves.append, counted(tree))
        for x in leaves:
            if not isinstance(shape := getattr(x, "shape", None), tuple) or not shape or shape[0] != shape[0]:
                continue
            if first is not None and int(shape[0]) != first[1]:
                problem = f"has {int(shape[0])} rows in chunk {number}, and {first[0]} has {first[1]}"
                advice = "give both the same chunks along the first axis, as by rechunk"
                raise ArgumentError(function, path, problem, advice)
            first = first or (path, int(shape[0]))
    return None if first is None else first[1]


# -- groups


def groups_of(rows: Sequence[int | None], owners: Sequence[Any], tasks: int, workers: int) -> list[list[int]]:
    """Return the chunks of each task, in order: chunks of one worker together, about equal in rows.

    It depends on the rows, the owners and the counts alone. Chunks without an owner come in runs of neighbours.
    """
    known = [r for r in rows if r is not None]
    usual = max(1, sum(known) // len(known)) if known else 1
    weights = [usual if r is None else r for r in rows]
    by_owner: dict[Any, list[int]] = {}
    for i, owner in enumerate(owners):
        by_owner.setdefault(owner, []).append(i)
    groups = []
    for owner, chunks in by_owner.items():
        count = tasks if owner is None else max(1, tasks // max(1, workers))
        groups += _runs(chunks, [weights[i] for i in chunks], count)
    return sorted(groups)


def _runs(chunks: list[int], weights: list[int], count: int) -> list[list[int]]:
    """Return at most so many runs of chunks whose weights are about equal."""
    ends = np.cumsum(np.maximum(weights, 1))  # a chunk without rows is a task's too
    turn = ((ends - np.maximum(weights, 1) / 2) * count / ends[-1]).astype(int)
    return [[chunk for chunk, t in zip(chunks, turn) if t == k] for k in range(count) if k in turn]

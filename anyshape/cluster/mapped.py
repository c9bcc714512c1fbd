"""Arrays in files of this machine, which all its processes map and none copies: references to them, and such files."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from anyshape.support.lazy_dataclass import NamedTuple

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
    file = str(whole.filename)
    if file not in inodes:
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

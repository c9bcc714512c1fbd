"""Sums of rows by position as machine code, for steps that scatter: one library serves every program.

The kernel adds rows in their order, as NumPy does, so bits are the same. Each thread writes some rows of the result.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anyshape.backend.native.launch import declines, run_parts
from anyshape.backend.native.toolchain import BuildError, build
from anyshape.backend.numpy.indexing import summed_rows
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.config import config
from anyshape.support.fork_lock import Lock

LEAST_WIDTH = 4  # elements of a row; NumPy adds shorter ones in less time
SHARED_ROW = 256  # bytes of a row from which on threads share the work: each one reads all positions
PART_BYTES = 1 << 19  # that a thread writes and reads; starting one costs as much as 500 kB
_DTYPES = tuple(map(np.dtype, ("float64", "float32", "int64", "int32", "complex128", "complex64")))


class RowSums:
    """Kernels by dtype, once they are built and tested."""

    def __init__(self) -> None:
        self._kernels: dict[np.dtype, Callable[..., int] | None] = {}  # None: it has not the bits of NumPy
        self._lock = Lock()

    def load(self) -> None:
        """Build the library, and test its kernels. Raises BuildError, OSError."""
        with self._lock:
            if not self._kernels:
                library = ctypes.CDLL(str(build((Path(__file__).parent / "row_sums.c").read_text(encoding="utf-8"))))
                typed = {dtype: _typed(getattr(library, f"row_sums_{dtype.name}")) for dtype in _DTYPES}
                self._kernels = {dtype: kernel if _agrees(kernel, dtype) else None for dtype, kernel in typed.items()}

    def state(self, dtype: np.dtype) -> str:
        """Return "compiled", or why NumPy sums rows of this dtype. Builds the library where it is not there."""
        try:
            self.load()
        except (BuildError, OSError) as error:
            return f"NumPy: {error}"
        return "compiled" if self._kernels.get(dtype) is not None else "NumPy: sums of rows differ from NumPy's"

    def __call__(
        self, rows: np.ndarray, position: np.ndarray, count: int, *, threads: int | None = None
    ) -> np.ndarray | None:
        """Return zeros of `count` rows, with rows[k] added at position[k]; None where NumPy is to serve the call.

        - `threads`: the most threads that run it; None: as many as `config.num_threads`.
        """
        kernel = self._kernels.get(rows.dtype)
        if kernel is None or not rows.size or rows.shape[1] < LEAST_WIDTH:
            return None
        return _run(kernel, rows, position, count, threads)


SUMS = RowSums()


def _typed(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return a function of a library with the types of its arguments."""
    kernel.restype = ctypes.c_int64  # type: ignore[attr-defined]
    kernel.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object, ctypes.c_int64]  # type: ignore[attr-defined]
    return kernel


def _run(
    kernel: Callable[..., int], rows: np.ndarray, position: np.ndarray, count: int, threads: int | None
) -> np.ndarray | None:
    """Run a kernel in as many parts as threads pay; return None where it declines.

    Small results reuse memory, which the kernel clears. Pages of large ones are clear, and take no memory until then.
    """
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    shape, row = (count, rows.shape[1]), rows.shape[1] * rows.itemsize
    is_large = count * row >= block_cache.HEAP_BYTES
    out = np.zeros(shape, rows.dtype) if is_large else block_cache.empty(shape, rows.dtype)
    arrays = (np.ndarray, rows, np.ascontiguousarray(position, np.int64), out)
    most = 1 if row < SHARED_ROW else config.num_threads if threads is None else min(threads, config.num_threads)
    parts = min(most, count, (out.nbytes + rows.nbytes) // PART_BYTES)
    if parts < 2:
        status = kernel(0, count, 0, arrays, not is_large)
    else:
        status = run_parts(kernel, count, parts, arrays, (not is_large,), threads)
    return None if status and declines(status) else out


def _agrees(kernel: Callable[..., int], dtype: np.dtype) -> bool:
    """Return whether a kernel has the bits of NumPy's sums, at several sizes."""
    rng = np.random.default_rng(0)
    for length, width, count in ((1, 1, 1), (5, 3, 2), (40, 1, 7), (33, 17, 50), (300, 8, 20)):
        rows = rng.normal(size=(length, width), scale=100).astype(dtype)
        position = rng.integers(-count, count, length)
        result = _run(kernel, rows, position, count, None)
        if result is None or not np.array_equal(result, summed_rows(rows, position, count)):
            return False
    return True


def step_function(run: Callable[..., np.ndarray], dtype: np.dtype, threads: int | None) -> Callable[..., Any] | None:
    """Return a NumPy kernel that sums rows with machine code, once there is some; None for dtypes without."""
    if dtype not in _DTYPES:
        return None
    return functools.partial(run, compiled=functools.partial(SUMS, threads=threads))

"""Sums of rows by position as machine code, for steps that scatter: one library serves every program.

The kernel adds rows in their order, as NumPy does, so bits are the same. Each thread writes some rows of the result.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

from anyshape.backend.native.launch import declines, run_parts
from anyshape.backend.native.toolchain import build
from anyshape.backend.numpy.indexing import summed_rows
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.config import config

PART_BYTES = 1 << 19  # that a thread writes and reads; starting one costs as much as 500 kB
_DTYPES = tuple(map(np.dtype, ("float64", "float32", "int64", "int32", "complex128", "complex64")))


class RowSums:
    """Kernels by dtype, once they are built and tested."""

    def __init__(self) -> None:
        self._kernels: dict[np.dtype, Callable[..., int]] = {}
        self._lock = threading.Lock()

    def load(self) -> None:
        """Build the library, and take the kernels that agree with NumPy. Raises BuildError, OSError."""
        with self._lock:
            if not self._kernels:
                library = ctypes.CDLL(str(build((Path(__file__).parent / "row_sums.c").read_text(encoding="utf-8"))))
                kernels = {dtype: _typed(getattr(library, f"row_sums_{dtype.name}")) for dtype in _DTYPES}
                self._kernels = {dtype: kernel for dtype, kernel in kernels.items() if _agrees(kernel, dtype)}

    def __call__(
        self, rows: np.ndarray, position: np.ndarray, count: int, *, threads: int | None = None
    ) -> np.ndarray | None:
        """Return zeros of `count` rows, with rows[k] added at position[k]; None where NumPy is to serve the call.

        - `threads`: the most threads that run it; None: as many as `config.num_threads`.
        """
        kernel = self._kernels.get(rows.dtype)
        return None if kernel is None or not rows.size else _run(kernel, rows, position, count, threads)


SUMS = RowSums()


def _typed(kernel: Callable[..., int]) -> Callable[..., int]:
    """Return a function of a library with the types of its arguments."""
    kernel.restype = ctypes.c_int64  # type: ignore[attr-defined]
    kernel.argtypes = [ctypes.c_int64] * 3 + [ctypes.py_object]  # type: ignore[attr-defined]
    return kernel


def _run(
    kernel: Callable[..., int], rows: np.ndarray, position: np.ndarray, count: int, threads: int | None
) -> np.ndarray | None:
    """Run a kernel in as many parts as threads pay; return None where it declines."""
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    out = block_cache.empty((count, rows.shape[1]), rows.dtype)
    arrays = (np.ndarray, rows, np.ascontiguousarray(position, np.int64), out)
    most = config.num_threads if threads is None else min(threads, config.num_threads)
    parts = min(most, count, (out.nbytes + rows.nbytes) // PART_BYTES)
    status = kernel(0, count, 0, arrays) if parts < 2 else run_parts(kernel, count, parts, arrays, (), threads)
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


def step_function(run: Callable[..., np.ndarray], threads: int | None) -> Callable[..., np.ndarray]:
    """Return a NumPy kernel that sums rows with machine code, once there is some."""
    return functools.partial(run, compiled=functools.partial(SUMS, threads=threads))

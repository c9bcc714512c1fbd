"""Limits of a worker: threads of BLAS and of anyshape during a task, and memory that the allocator keeps.

Dask starts workers with MALLOC_TRIM_THRESHOLD_, by which the allocator gives freed arrays back to the system at once.
Arrays of the next chunk then fault their pages in again, which was measured to cost as much as the work.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from anyshape.backend.runtime.config import config
from anyshape.support.packages import threadpoolctl

_VARIABLE = "MALLOC_TRIM_THRESHOLD_"
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # numbers of mallopt in malloc.h of glibc
_KEPT, _LARGEST = 1 << 30, 1 << 25  # bytes: kept free memory; the largest block that is not mapped alone


@functools.cache
def keep_freed_memory() -> bool:
    """Undo Dask's setting of the allocator in this process; return whether it was set and is undone."""
    if _VARIABLE not in os.environ:
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc alone has it
    return mallopt is not None and bool(mallopt(_TRIM_THRESHOLD, _KEPT)) and bool(mallopt(_MMAP_THRESHOLD, _LARGEST))


class _Limits:
    """Limit of threads that holds while a task runs; tasks at once share one, and the last one restores."""

    def __init__(self) -> None:
        self._lock, self._tasks, self._before = threading.Lock(), 0, config.num_threads
        self._blas: Any = None

    @contextlib.contextmanager
    def __call__(self, threads: int | None) -> Iterator[None]:
        """Let a task use so many threads, as many as the process has set for None."""
        if threads is None:
            yield
            return
        with self._lock:
            self._tasks += 1
            if self._tasks == 1:
                self._before, config.num_threads = config.num_threads, threads
                self._blas = _controller().limit(limits=threads, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._tasks -= 1
                if not self._tasks:
                    self._blas.restore_original_limits()
                    config.num_threads = self._before

    def current(self) -> int:
        """Return the number of threads that one call may use now."""
        return config.num_threads


@functools.cache
def _controller() -> Any:
    """Return the controller of the BLAS libraries, which takes milliseconds to make."""
    return threadpoolctl.ThreadpoolController()


limited_threads: _Limits = _Limits()

"""The threads that tiles are run on: NumPy lets go of the interpreter while it computes."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

Work = Callable[[int, int], None]


def _available() -> int:
    """The cores that this process may use, or what ANYSHAPE_NUM_THREADS says."""
    asked = os.environ.get("ANYSHAPE_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class Config:
    """What can be set while programs run. `num_threads`: threads that one call may use; 1 runs everything in place."""

    num_threads: int = 1


config = Config(_available())


class _Pool:
    """A pool that is made when it is needed, and made anew in a forked process, which has no threads of its parent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.executor: ThreadPoolExecutor | None = None
        self.size = 0

    def get(self, workers: int) -> ThreadPoolExecutor:
        with self.lock:
            if self.executor is None or self.size < workers:
                self.executor = ThreadPoolExecutor(workers, thread_name_prefix="anyshape")
                self.size = workers
            return self.executor

    def forget(self) -> None:
        """After a fork."""
        self.lock = threading.Lock()
        self.executor, self.size = None, 0


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


def run_tiles(work: Work, count: int) -> None:
    """Run tiles 0..count-1, `work(first, last)` at a time, on several threads. An error surfaces when all have stopped.
    """
    threads = min(config.num_threads, count)
    if threads < 2:
        work(0, count)
        return
    executor = _POOL.get(threads - 1)
    bounds = [count * i // threads for i in range(threads + 1)]
    context = contextvars.copy_context()  # how NumPy treats floating-point errors is part of it
    futures: list[Future[None]] = [
        executor.submit(context.copy().run, work, bounds[i], bounds[i + 1]) for i in range(1, threads)
    ]
    try:
        work(bounds[0], bounds[1])
    except BaseException:
        for future in futures:
            future.cancel()
        wait(futures)
        raise
    for i, future in enumerate(futures, 1):
        if future.cancel():  # no thread was free for it
            work(bounds[i], bounds[i + 1])
        else:
            future.result()

"""The threads that tiles run on: NumPy lets go of the interpreter while it computes.

A run hands its tiles out one by one, in order, to the thread that asked for it and to threads of the pool that are
free. Nobody waits for a thread that has not begun, so runs at once, or inside of each other, cannot block. When a
tile fails, or Ctrl-C is pressed, no further tile is handed out: the error surfaces when the tiles that run are done.
"""

from __future__ import annotations

import contextvars
import operator
import os
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.fp_warnings import WarningCollector

Work = Callable[[Iterable[int]], None]


class _Run:
    """The tiles of one run. `take` hands out blocks of `per` of them; an error comes with the tile that it is of."""

    def __init__(self, work: Work, tiles: int, per: int) -> None:
        self.work: Work | None = work
        self.tiles, self.per = tiles, per
        self.next, self.count = 0, -(-tiles // per)
        self.helpers, self.closed, self.interrupted = 0, False, False
        self.lock, self.idle = threading.Lock(), threading.Lock()
        self.idle.acquire()
        self.errors: list[tuple[int, BaseException]] = []
        self.context = contextvars.copy_context()  # how NumPy treats floating-point errors is part of it

    def take(self) -> int | None:
        with self.lock:
            block = self.next
            if block >= self.count:
                return None
            self.next = block + 1
            return block

    def stop(self) -> None:
        """Hand out no more."""
        with self.lock:
            self.count = 0

    def help(self) -> None:
        """What a thread of the pool does."""
        with self.lock:
            work = self.work
            if work is None or self.closed or self.next >= self.count:
                return
            self.helpers += 1
        try:
            share = _Share(self)
            try:
                self.context.copy().run(work, share)
            except BaseException as error:  # the caller raises it
                self.errors.append((share.tile, error))
                self.stop()
        finally:
            with self.lock:
                self.helpers -= 1
                if self.closed and not self.helpers:
                    self.idle.release()

    def lead(self, work: Work) -> None:
        """What the thread does that asked for the run."""
        share = _Share(self)
        try:
            work(share)
        except Exception as error:
            self.errors.append((share.tile, error))
            self.stop()

    def close(self) -> None:
        """Wait for the tiles that are running. Ctrl-C ends none of them, and is not lost."""
        with self.lock:
            self.count, self.work, self.closed = 0, None, True
        interrupt = None
        while self.helpers:  # Ctrl-C may come as soon as the wait is over, so it is not asked for how that ended
            try:
                self.idle.acquire()
            except KeyboardInterrupt as error:
                interrupt, self.interrupted = error, True
        if interrupt is not None:
            raise interrupt

    def surface(self) -> None:
        """Raise the error of the first tile that failed, whichever thread had it."""
        if self.errors:
            error = min(self.errors, key=operator.itemgetter(0))[1]
            self.errors.clear()
            try:
                raise error
            finally:
                del error  # which holds this frame


class _Share:
    """The tiles that one thread takes."""

    __slots__ = ("end", "run", "tile")

    def __init__(self, run: _Run) -> None:
        self.run, self.tile, self.end = run, -1, 0

    def __iter__(self) -> _Share:
        return self

    def __next__(self) -> int:
        tile, run = self.tile + 1, self.run
        if tile >= self.end or run.interrupted:
            block = run.take()
            if block is None:
                raise StopIteration
            tile = block * run.per
            self.end = min(tile + run.per, run.tiles)
        self.tile = tile
        return tile


class _Pool:
    """Threads that are started when they are needed. They end with the process, and keep it from nothing."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A forked process has no threads of its parent, and locks as they were."""
        self.lock = threading.RLock()  # what handles a signal may run tiles while threads are started
        self.runs: SimpleQueue[_Run] = SimpleQueue()
        self.size = 0

    def offer(self, run: _Run, helpers: int) -> None:
        """Let up to so many threads help with a run."""
        if self.size < helpers:
            self._grow(helpers)
        for _ in range(min(helpers, self.size)):
            self.runs.put(run)

    def _grow(self, size: int) -> None:
        with self.lock:
            try:
                while self.size < size:
                    thread = threading.Thread(target=_serve, args=(self.runs,), name="anyshape", daemon=True)
                    thread.start()
                    self.size += 1
            except RuntimeError:  # the interpreter ends, or the system has no threads left: do with those there are
                pass


def _serve(runs: SimpleQueue[_Run]) -> None:
    while True:
        runs.get().help()


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)


def run_tiles(work: Work, count: int, per: int = 1, most: int | None = None) -> None:
    """Run `work` on the tiles 0..count-1: once in this thread, and in others with what they take of the tiles.

    A thread takes `per` of them at a time, and runs these in order. There are `most` threads, if not fewer.
    """
    threads = min(config.num_threads, -(-count // per), config.num_threads if most is None else most)
    with WarningCollector():
        if threads < 2:
            work(range(count))
            return
        run = _Run(work, count, per)
        try:
            _POOL.offer(run, threads - 1)
            run.lead(work)
        except BaseException:
            run.interrupted = True
            raise
        finally:
            run.close()
        run.surface()

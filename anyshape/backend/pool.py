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
import warnings
from collections.abc import Callable, Iterable
from queue import SimpleQueue

from anyshape.backend.remarks import ToldOnce
from anyshape.errors import ArgumentError

Work = Callable[[Iterable[int]], None]


class Config:
    """What can be set while programs run. `num_threads`: threads that one call may use; 1 runs everything in place.

    `reassociate`: sums of products of floating-point numbers become contractions, which add up in an order of BLAS and
    not pairwise. Plans that are made from then on follow it. `kept_bytes`: what programs keep at most of arrays that
    depend on the sizes of calls alone, such as masks; 0 keeps none.
    """

    __slots__ = ("_kept_bytes", "_num_threads", "_reassociate")

    def __init__(self, num_threads: int, reassociate: bool = False, kept_bytes: int = 1 << 25) -> None:
        self.num_threads, self.reassociate, self.kept_bytes = num_threads, reassociate, kept_bytes

    @property
    def num_threads(self) -> int:
        return self._num_threads

    @num_threads.setter
    def num_threads(self, number: int) -> None:
        self._num_threads = _at_least(1, number, "num_threads", "threads")

    @property
    def kept_bytes(self) -> int:
        return self._kept_bytes

    @kept_bytes.setter
    def kept_bytes(self, number: int) -> None:
        self._kept_bytes = _at_least(0, number, "kept_bytes", "bytes")

    @property
    def reassociate(self) -> bool:
        return self._reassociate

    @reassociate.setter
    def reassociate(self, asked: bool) -> None:
        if not isinstance(asked, bool):
            raise ArgumentError("config", "reassociate", f"is {asked!r}", "give True or False")
        self._reassociate = asked

    def __repr__(self) -> str:
        return f"Config(num_threads={self.num_threads}, reassociate={self.reassociate}, kept_bytes={self.kept_bytes})"


def _at_least(least: int, number: object, name: str, of: str) -> int:
    """The number, if it is an int of at least so much."""
    try:
        asked = least - 1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        asked = least - 1
    if asked < least:
        raise ArgumentError("config", name, f"is {number!r}", f"give a number of {of}, {least} or more")
    return asked


def _from_environment() -> int:
    """What ANYSHAPE_NUM_THREADS says, else the cores that this process may use."""
    asked = os.environ.get("ANYSHAPE_NUM_THREADS", "").strip()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if asked:
        warnings.warn(
            f"ANYSHAPE_NUM_THREADS is {asked!r}, not a number of threads; all {cores} cores are used",
            RuntimeWarning,
            stacklevel=2,
        )
    return cores


config = Config(_from_environment())


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
    with ToldOnce():
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

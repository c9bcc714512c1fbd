"""Thread pool for tiles: NumPy releases the interpreter lock while it computes.

A run hands out its tiles one by one, in order. The calling thread takes tiles, and so do idle threads of the pool.
Nobody waits for a thread that has not started, so concurrent and nested runs cannot deadlock.

After a failed tile or Ctrl-C no further tile is handed out. The error surfaces once the running tiles are done.

Split large contractions among threads where BLAS itself uses one.

The axis and the number of parts depend on sizes and the machine alone, so the result is the same for any number of
threads. Each part packs the other operand again: two parts of 512 rows take 5 % more time in all, four take 14 %.
"""

from __future__ import annotations

import contextlib
import contextvars
import operator
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.outcome import WarningCollector
from anyshape.support.packages import blas, queue

if TYPE_CHECKING:
    from queue import SimpleQueue

Work = Callable[[Iterable[int]], None]


class _Run:
    """Tiles of one run. `take` hands out blocks of `per` tiles; an error is recorded with its tile."""

    def __init__(self, work: Work, tiles: int, per: int) -> None:
        self.work: Work | None = work
        self.tiles, self.per = tiles, per
        self.next, self.count = 0, -(-tiles // per)
        self.helpers, self.closed, self.interrupted = 0, False, False
        self.lock, self.idle = threading.Lock(), threading.Lock()
        self.idle.acquire()
        self.errors: list[tuple[int, BaseException]] = []
        self.context = contextvars.copy_context()  # includes NumPy's handling of floating-point errors

    def take(self) -> int | None:
        """Return the number of the next block, or None if there is none."""
        with self.lock:
            if (block := self.next) >= self.count:
                return None
            self.next = block + 1
            return block

    def stop(self) -> None:
        """Hand out no more blocks."""
        with self.lock:
            self.count = 0

    def help(self) -> None:
        """Run tiles in a thread of the pool."""
        with self.lock:
            if (work := self.work) is None or self.closed or self.next >= self.count:
                return
            self.helpers += 1
        try:
            share = _Share(self)
            try:
                self.context.copy().run(work, share)
            except BaseException as error:  # the calling thread raises it
                self.errors.append((share.tile, error))
                self.stop()
        finally:
            with self.lock:
                self.helpers -= 1
                if self.closed and not self.helpers:
                    self.idle.release()

    def lead(self, work: Work) -> None:
        """Run tiles in the calling thread."""
        share = _Share(self)
        try:
            work(share)
        except Exception as error:
            self.errors.append((share.tile, error))
            self.stop()

    def close(self) -> None:
        """Wait for the running tiles. Ctrl-C does not end them, and is raised afterwards."""
        with self.lock:
            self.count, self.work, self.closed = 0, None, True
        interrupt = None
        while self.helpers:  # not the result of `acquire`: Ctrl-C may come as soon as it returns
            try:
                self.idle.acquire()
            except KeyboardInterrupt as error:
                interrupt, self.interrupted = error, True
        if interrupt is not None:
            raise interrupt

    def surface(self) -> None:
        """Raise the error of the first failed tile, in whichever thread it occurred."""
        if self.errors:
            error = min(self.errors, key=operator.itemgetter(0))[1]
            self.errors.clear()
            try:
                raise error
            finally:
                del error  # its traceback holds this frame


class _Share:
    """Iterator over the tiles that one thread takes."""

    __slots__ = ("end", "run", "tile")

    def __init__(self, run: _Run) -> None:
        self.run, self.tile, self.end = run, -1, 0

    def __iter__(self) -> _Share:
        return self

    def __next__(self) -> int:
        tile, run = self.tile + 1, self.run
        if tile >= self.end or run.interrupted:
            if (block := run.take()) is None:
                raise StopIteration
            tile = block * run.per
            self.end = min(tile + run.per, run.tiles)
        self.tile = tile
        return tile


class _Pool:
    """Daemon threads, started at need; they do not keep the process alive."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start empty; in a forked process the parent's threads do not exist and its locks may be held."""
        self.lock = threading.RLock()  # reentrant: a signal handler may run tiles while threads are started
        self.size = 0
        self.runs: SimpleQueue[_Run]  # made with the first thread

    def offer(self, run: _Run, helpers: int) -> None:
        """Let up to `helpers` threads help with a run."""
        if self.size < helpers:
            self._grow(helpers)
        for _ in range(min(helpers, self.size)):
            self.runs.put(run)

    def _grow(self, size: int) -> None:
        """Start threads up to `size`; keep fewer if the interpreter shuts down or the system has no more."""
        with self.lock, contextlib.suppress(RuntimeError):
            if not self.size:
                self.runs = queue.SimpleQueue()
            while self.size < size:
                threading.Thread(target=_serve, args=(self.runs,), name="anyshape", daemon=True).start()
                self.size += 1


def _serve(runs: SimpleQueue[_Run]) -> None:
    while True:
        runs.get().help()


_POOL = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.reset)


def run_tiles(work: Work, count: int, per: int = 1, most: int | None = None) -> None:
    """Call `work` on the tiles 0..count-1: once in this thread, and in others with the tiles that they take.

    A thread takes `per` tiles at a time and runs them in order. At most `most` threads are used.
    """
    threads = min(config.num_threads, -(-count // per), config.num_threads if most is None else most)
    if threads < 2:
        WarningCollector().run(work, range(count))
    else:
        WarningCollector().run(_run_on, threads, work, count, per)


def _run_on(threads: int, work: Work, count: int, per: int) -> None:
    """Call `work` on the tiles in this thread and in others."""
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


PARTS = min(4, os.cpu_count() or 1)
MIN_PRODUCTS = 1 << 25  # about a millisecond of BLAS; waking a thread takes 0.1 ms
Product = Callable[[Any, Any], Any]


def split_product(
    left: Sequence[Any],
    right: Sequence[Any],
    out: Sequence[Any],
    product: Product,
    into: Callable[..., Any] | None = None,
) -> Product:
    """Return `product` computed in parts along one axis of the result.

    `left`, `right` and `out` label the axes of the operands and of the result. If there is `into(x, y, out)`, it
    writes each part straight to its slice of the result.
    """
    if not out:
        return product

    def run(x, y):
        if PARTS == 1 or blas.blas_threads() != 1:
            return product(x, y)
        sizes = dict(zip((*left, *right), x.shape + y.shape, strict=True))
        label = max(out, key=sizes.__getitem__)
        size, result = sizes[label], np.empty([sizes[a] for a in out], x.dtype)
        parts = min(PARTS, size)

        def work(tiles) -> None:
            for k in tiles:
                part = slice(size * k // parts, size * (k + 1) // parts)
                x_part, y_part = x[_index(left, label, part)], y[_index(right, label, part)]
                if into is not None:
                    into(x_part, y_part, result[_index(out, label, part)])
                else:
                    result[_index(out, label, part)] = product(x_part, y_part)

        run_tiles(work, parts)
        return result

    return run


def _index(labels: Sequence[Any], label, part: slice) -> tuple[slice, ...]:
    """Return the index that takes `part` of one axis and the whole of the others."""
    return tuple([part if a == label else slice(None) for a in labels])

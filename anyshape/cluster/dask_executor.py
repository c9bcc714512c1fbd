"""Executor on a cluster of Dask: a few tasks for each worker with the chunks that it has, and sums as a tree there."""

from __future__ import annotations

import asyncio
import math
import pickle
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.cluster.chunks import Held, Slot, future_of, groups_of, has_rows, known_rows, mapped_leaves
from anyshape.cluster.executors import dumped, in_turn, leaves_that
from anyshape.cluster.sums import PAIRS
from anyshape.cluster.worker import (
    Job,
    Outcome,
    Task,
    add_outcomes,
    failed,
    failure_of,
    loaded_job,
    run_task,
    stop_pass,
)
from anyshape.errors import ClusterError
from anyshape.support.packages import dask, distributed, futures

_INLINE = 1 << 16  # bytes of a job that go with each task; a larger one is sent to each worker once
PLACED = 2  # tasks of a worker whose chunks it has: it has the next one at hand, and each costs the scheduler 1 to 2 ms
_FRESH = 1.0  # seconds for which the number of threads is not asked for again: an answer takes 1.5 ms
_POLL = 1.0  # seconds after which a pass that waits asks whether workers are there
_FEW = 2 * PAIRS  # outcomes that the client adds up itself


class Dask:
    """Executor of a Dask cluster: of a client, of the address of a scheduler, or of the client that is active.

    - `client` is a `distributed.Client`, an address such as "tcp://10.0.0.5:8786", or None.
    - `threads` is the number of threads of BLAS and of anyshape in each task. Workers run a task in each of their
      threads, so that the default of 1 uses what `nthreads` says.
    - `retries` is how often a task runs again after its worker was lost, beside those that Dask allows.
    - `grace` is for how many seconds a pass waits for new workers after it has lost all.

    >>> executor = Dask("tcp://10.0.0.5:8786", threads=2)  # doctest: +SKIP
    >>> step = chunked_sum(f, over=("x", "y"), executor=executor)  # doctest: +SKIP
    """

    retries: int
    grace: float

    travels = True
    threads: int | None

    def __init__(self, client: Any = None, threads: int = 1, *, retries: int = 2, grace: float = 20.0) -> None:
        self._own = isinstance(client, str)
        self.client: Any = distributed.Client(client) if self._own else client or active_client()
        self.threads, self.retries, self.grace = threads, retries, grace
        self._address = str(getattr(getattr(self.client, "scheduler", None), "address", None) or "an unknown address")
        self._owners: dict[Any, Any] = {}  # the worker of each chunk, by its key
        self._counted: tuple[float, int] = (-math.inf, 0)  # when threads were counted, and how many they were

    @property
    def workers(self) -> int:
        """Number of threads of all workers, as of a second ago or less: each runs a task."""
        then, threads = self._counted
        return threads if time.monotonic() - then < _FRESH else self._count()

    def _count(self) -> int:
        """Ask for the number of threads; raise ClusterError if there is none."""
        with self._lost():
            threads = sum(self.client.nthreads().values())
        if threads:
            self._counted = time.monotonic(), int(threads)
            return int(threads)
        advice = "start workers, or wait for them with client.wait_for_workers(1)"
        raise ClusterError("workers", f"the cluster at {self._address} has no workers", advice)

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return chunks that workers have from now on: the arrays of a task in one value of a worker.

        Chunks of equal rows go to the same workers in each call: so the chunks of several arguments meet.
        """
        rows = [known_rows([chunk], i, ("chunks",), "put") for i, chunk in enumerate(chunks)]
        groups = groups_of(rows, [None] * len(rows), PLACED * self.workers, self.workers)
        placed: list[Any] = list(chunks)
        with self._lost():
            names = sorted(self.client.nthreads())
            for turn, name in enumerate(names):
                self._put(placed, groups[turn :: len(names)], name)
        return placed

    def _put(self, chunks: list[Any], groups: Sequence[Sequence[int]], worker: str) -> None:
        """Replace the arrays in groups of chunks by arrays that a worker has."""
        lists = [leaves_that(has_rows, [chunks[i] for i in group]) for group in groups]
        if not any(lists):
            return
        for group, arrays, future in zip(groups, lists, self.client.scatter(lists, workers=[worker], hash=False)):
            held = [Held(future, x.shape, x.dtype, i) for i, x in enumerate(arrays)]
            for at, chunk in zip(group, mapped_leaves(in_turn(has_rows, held), [chunks[i] for i in group])):
                chunks[at] = chunk

    def owners(self, chunks: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the worker of each chunk: that of its first future. The first answer for chunks holds for later ones.

        So later passes add up in the same order, wherever Dask moves chunks meanwhile.
        """
        owned = [_futures(chunk) for chunk in chunks]
        every = [future for of_chunk in owned for future in of_chunk]
        new = [future for future in every if future.key not in self._owners]
        if new:
            with self._lost():
                self._until(lambda seconds: _have_ended(new, seconds))
                holders = self.client.who_has(new)
            self._owners.update({future.key: min(holders.get(future.key, ()), default=None) for future in new})
        return [self._owners[of[0].key] if of else None for of in owned]

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
        """Run tasks on the workers that have their chunks: all in one graph, whose size is by the number of tasks."""
        waiting: list[Any] = []
        run_id = uuid.uuid4().hex[:12]
        with self._lost(waiting, run_id):
            columns = [run_id] * len(tasks), [self._shared(job)] * len(tasks), *zip(*map(_packed, tasks))
            ends = self._mapped(waiting, f"{job.name}-{run_id}", _run_parts, *columns)
            self._count()  # while they run: without workers they would wait forever
            while len(ends) > _FEW:
                runs = [ends[i : i + PAIRS] for i in range(0, len(ends), PAIRS)]
                name = f"{job.name}-sum-{run_id}-{len(ends)}"
                ends = self._mapped(waiting, name, add_outcomes, [job.name] * len(runs), runs)
            return self._gathered(ends)

    def _gathered(self, ends: Sequence[Any]) -> list[Outcome]:
        """Return the results of futures. Dask computes those again that are lost with a worker on their way."""
        loop = self.client.loop.asyncio_loop
        answer = asyncio.run_coroutine_threadsafe(self.client.gather(list(ends), asynchronous=True), loop)
        try:
            self._until(lambda seconds: bool(futures.wait([answer], seconds).done))
            return list(answer.result())
        finally:
            answer.cancel()

    def _until(self, is_done: Callable[[float], bool]) -> None:
        """Wait, some seconds at a time, for what Dask does; raise ClusterError if no worker is there for some time."""
        alive = time.monotonic()
        while not is_done(min(_POLL, self.grace)):
            alive = time.monotonic() if self.client.nthreads() else alive
            if time.monotonic() - alive > self.grace:
                problem = f"the cluster at {self._address} has lost all workers for {self.grace:g} seconds"
                raise ClusterError("workers", problem, "look at their logs, start others and call again")

    def _mapped(self, waiting: list[Any], name: str, function: Callable[..., Outcome], *columns) -> list[Any]:
        """Return the futures of calls, which join those that wait."""
        keys = [f"{name}-{i}" for i in range(len(columns[0]))]
        ends = list(self.client.map(function, *columns, key=keys, pure=False, retries=self.retries))
        waiting += ends
        return ends

    def _shared(self, job: Job):
        """Return the pickle of a job; a large one as the result of a task, which workers fetch once from each other.

        Dask sends a task again after its worker has ended. A broadcast fails then, or never ends.
        """
        data = dumped(job)
        if len(data) < _INLINE:
            return data
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(bytes, data, pure=False, retries=self.retries)

    def _lost(self, waiting: Sequence[Any] = (), run_id: str = "") -> _Lost:
        return _Lost(self, waiting, run_id)

    def close(self) -> None:
        """Close the client, if the executor has made it."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Lost:
    """Context that cancels tasks where waiting for them ends early, and names what the cluster has lost.

    Dask cancels only tasks that have not begun. The others are stopped after the chunk that they work on.
    """

    def __init__(self, executor: Dask, waiting: Sequence[Any], run_id: str) -> None:
        self.executor, self.waiting, self.run_id = executor, waiting, run_id

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        client = self.executor.client
        is_closed = _is_closed(client)
        if self.waiting and not is_closed:
            client.cancel(list(self.waiting), force=True)
            client.run(stop_pass, self.run_id, on_error="ignore")  # by the loops of the workers, beside their tasks
        row = next((row for name, row in _PROBLEMS.items() if _is_named(error, name)), None)
        if is_closed and isinstance(error, Exception):
            row = _SCHEDULER
        if row is not None and not isinstance(error, ClusterError):
            problem = f"{row[1]}: {type(error).__name__}: {str(error).partition(chr(10))[0]:.200}"
            raise ClusterError(row[0], problem.replace("{address}", self.executor._address), row[2]) from error


def _is_closed(client) -> bool:
    """Return whether a client has lost its scheduler."""
    comm = getattr(client, "scheduler_comm", None)
    return client.status in ("closed", "closing", "connecting") or comm is None or comm.closed()


def _is_named(error: BaseException, name: str) -> bool:
    return any(c.__name__ == name for c in type(error).__mro__)


_SCHEDULER = (
    "scheduler",
    "the scheduler at {address} is gone",
    "start it again, connect a new client and call again; a minimisation goes on from its file",
)
_PROBLEMS = {
    "KilledWorker": ("workers", "workers ended while they ran a task", "look at their memory, and at their logs"),
    "KeyError": ("workers", "workers ended before they had their chunks", "look at their logs, and call again"),
    "FutureCancelledError": (
        "data",
        "chunks were lost with their worker, and nothing can compute them again",
        "keep chunks that can be read again, as dask.delayed(np.load)(path), or put them on the cluster again",
    ),
    "CancelledError": _SCHEDULER,
    "CommClosedError": _SCHEDULER,
    "TimeoutError": _SCHEDULER,
    "ModuleNotFoundError": (
        "package",
        "workers lack a module",
        "install the client's versions of anyshape and of your own modules on all workers",
    ),
}


def _have_ended(ends: Sequence[Any], seconds: float) -> bool:
    """Wait some seconds for futures; return whether all have ended or one has failed."""
    try:
        distributed.wait(ends, timeout=seconds)
    except TimeoutError:
        return any(future.status == "error" for future in ends)
    return True


def _futures(tree) -> list[Any]:
    """Return the futures of a chunk, in order."""
    leaves: list[Any] = []
    mapped_leaves(leaves.append, list(tree))
    return [future for x in leaves if (future := future_of(x)) is not None]


def _packed(task: Task) -> tuple[bytes, list[Any]]:
    """Return the pickle of a task with slots for its futures, and these.

    Dask looks for futures in lists of values, at a cost for each value. So it sees one list of them.
    """
    numbers: dict[str, int] = {}
    values: list[Any] = []

    def slot(x):
        future = future_of(x)
        if future is None:
            return x
        if future.key not in numbers:
            numbers[future.key] = len(values)
            values.append(future)
        return Slot(numbers[future.key], x.index if isinstance(x, Held) else None)

    return dumped(task._replace(chunks=mapped_leaves(slot, task.chunks))), values


def _run_parts(run_id: str, shared: bytes, data: bytes, values: list[Any]) -> Outcome:
    """Run a task on a worker, which has put values in place of futures."""
    try:
        job, task = loaded_job(shared), pickle.loads(data)
    except Exception as error:
        return failed(failure_of(error, -1, (), "load"))
    filled = mapped_leaves(lambda x: x.value(values) if isinstance(x, Slot) else x, task.chunks)
    return run_task(job._replace(stop=run_id), task._replace(chunks=filled))


def active_client() -> Any:
    """Return the client that is active; raise ClusterError if there is none."""
    try:
        return distributed.get_client()
    except ValueError as error:
        advice = "make one: client = distributed.Client(address), or a LocalCluster"
        raise ClusterError("scheduler", "no client of Dask is active", advice) from error

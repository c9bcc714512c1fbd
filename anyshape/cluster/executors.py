"""Executors: where the tasks of a pass run. Serial, threads, processes, joblib and Dask.

An executor runs tasks and returns their outcomes in the order of the tasks, or the sums of aligned runs of neighbours.
So sums do not depend on which task ends first. Workers of Dask get a few tasks with the chunks that they have, and add
them up as a tree there.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pickle
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from anyshape.cluster import chunks as chunking
from anyshape.cluster import worker as on_worker
from anyshape.errors import ArgumentError, ClusterError
from anyshape.support.packages import cloudpickle, dask, distributed, futures, joblib, multiprocessing

_ATTEMPTS = 3  # of a task whose worker ends
_LARGE = 1 << 16  # bytes of an array of all chunks that is not pickled for each task


class Executor(Protocol):
    """Place where tasks run.

    - `workers` is how many tasks run at once, and `travels` whether functions are pickled for them.
    - `threads` is the number of threads of a task, None where the process decides.

    >>> executor: Executor = Threads(2)
    >>> executor.workers, executor.travels, executor.threads
    (2, False, 1)
    """

    travels: bool
    threads: int | None

    @property
    def workers(self) -> int:
        """Number of tasks that run at once."""

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return chunks that workers have from now on, for many passes."""
        ...

    def owners(self, chunks: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the worker that has each chunk, None for chunks that any worker can have."""
        ...

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run tasks, and return their outcomes in order, or sums of aligned neighbours."""
        ...

    def close(self) -> None:
        """End the workers that the executor has started, and remove its files."""
        ...


class Serial:
    """Executor in the calling thread. Its sums are what all others give, for the same number of tasks.

    >>> Serial().workers
    1
    """

    travels: bool = False
    threads: int | None = None
    workers: int = 1

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the chunks: the process has them."""
        return list(chunks)

    def owners(self, chunks: Sequence[Sequence[Any]]) -> list[Any]:
        """Return None for each chunk."""
        return [None] * len(chunks)

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run one task after another, until one fails."""
        outcomes = []
        for task in tasks:
            outcomes.append(on_worker.run_task(job, with_results(task)))
            if outcomes[-1].failure is not None:
                break
        return outcomes

    def close(self) -> None:
        """Do nothing: there are no workers."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Threads(Serial):
    """Executor of threads of this process: for functions that spend their time in NumPy, which releases the lock.

    - `workers` is the number of threads, by default one for each core.
    - `threads` is the number of threads of BLAS and of anyshape in each of them.

    >>> import numpy as np
    >>> from anyshape.cluster import chunked_sum
    >>> float(chunked_sum(lambda x: np.sum(x), over="x", executor=Threads(2))([np.ones(3), np.ones(4)]))
    7.0
    """

    workers: int
    threads: int | None

    def __init__(self, workers: int | None = None, threads: int = 1) -> None:
        self.workers, self.threads = workers or os.cpu_count() or 1, threads

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run tasks in a pool of threads."""
        with futures.ThreadPoolExecutor(self.workers) as pool:
            waiting = [pool.submit(on_worker.run_task, job, with_results(task)) for task in tasks]
            return _collected(waiting)


class Processes(Serial):
    """Executor of processes of this machine, by `concurrent.futures`. They start at the first pass and stay.

    - `workers` is the number of processes, by default one for each core.
    - `threads` is the number of threads of BLAS and of anyshape in each.
    - `start` is "spawn" or "forkserver". With both, a script needs `if __name__ == "__main__":`.
    - `pool` is a `ProcessPoolExecutor` of your own, which is not replaced where a worker ends.

    Chunks travel with their task. `put` writes them to a file once, which all processes map. Large arrays among the
    other arguments are written to a file once for each call.

    >>> with Processes(workers=2) as executor:  # no process starts before the first pass
    ...     executor.workers, executor.travels
    (2, True)
    """

    workers: int
    threads: int | None

    travels = True

    def __init__(self, workers: int | None = None, threads: int = 1, *, start: str = "spawn", pool: Any = None) -> None:
        self.workers, self.threads = workers or os.cpu_count() or 1, threads
        self._own, self._start, self._pool, self._files = pool is None, start, pool, chunking.Files()

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the chunks as read-only arrays in a file, which processes map and do not copy."""
        return put_in_file(self._files, chunks)

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run tasks in the processes; where one ends, start others and run what is missing."""
        with pickled(self._files, job, tasks) as calls:
            return self._outcomes(calls)

    def _outcomes(self, tasks: Sequence[tuple[str, bytes, bytes]]) -> list[on_worker.Outcome]:
        outcomes: list[on_worker.Outcome | None] = [None] * len(tasks)
        for _ in range(_ATTEMPTS):
            missing = [i for i, outcome in enumerate(outcomes) if outcome is None]
            try:
                waiting = {i: self._started().submit(on_worker.run_stored, *tasks[i]) for i in missing}
                _store(outcomes, waiting)
            except (futures.BrokenExecutor, EOFError, OSError):  # errors of a server of forks that ended
                self._end()
                if not self._own:
                    break
            ended = [outcome for outcome in outcomes if outcome is not None]
            if len(ended) == len(tasks) or any(o.failure is not None for o in ended):
                return ended
        raise workers_ended(self._own)

    def _started(self):
        if self._pool is None:
            if not self._own:
                raise workers_ended(self._own)
            context = multiprocessing.get_context(self._start)
            self._pool = futures.ProcessPoolExecutor(self.workers, context, initializer=follow_client)
        return self._pool

    def _end(self) -> None:
        """End the pool with its workers. It would wait for one that starts while a broken pool ends the others."""
        pool, self._pool = self._pool, None
        if pool is not None and self._own:
            for worker in list((pool._processes or {}).values()):
                worker.kill()
            pool.shutdown(wait=True, cancel_futures=True)

    def close(self) -> None:
        """End the processes, if the executor has started them, and remove its files."""
        self._end()
        self._files.remove()


class Joblib(Serial):
    """Executor by joblib, with one of its backends but "multiprocessing": "loky" processes by default.

    - `workers` is the number of processes, by default one for each core.
    - `threads` is the number of threads of BLAS and of anyshape in each.

    >>> with Joblib(workers=2, backend="loky") as executor:  # no process starts before the first pass
    ...     executor.workers, executor.backend
    (2, 'loky')
    """

    workers: int
    threads: int | None
    backend: str

    travels = True

    def __init__(self, workers: int | None = None, threads: int = 1, *, backend: str = "loky") -> None:
        self.workers, self.threads = workers or os.cpu_count() or 1, threads
        self.backend, self._files = backend, chunking.Files()
        if backend == "multiprocessing":
            problem = "is 'multiprocessing', which waits for ever where a process ends"
            raise ArgumentError("Joblib", "backend", problem, 'give "loky", or use Processes')

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the chunks as read-only arrays in a file, which processes map and do not copy."""
        return put_in_file(self._files, chunks)

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run tasks by joblib; where a worker ends, run all again."""
        with pickled(self._files, job, tasks) as sent:
            calls = [joblib.delayed(on_worker.run_stored)(*call) for call in sent]
            for _ in range(_ATTEMPTS):
                try:
                    results = joblib.Parallel(self.workers, backend=self.backend, batch_size=1)(calls)
                    return [received(result) for result in results]
                except futures.BrokenExecutor:  # loky starts others
                    continue
        raise workers_ended(True)

    def close(self) -> None:
        """Remove the files of the executor; joblib ends idle processes itself."""
        self._files.remove()


# -- outcomes of futures


def _collected(waiting: Sequence[Any]) -> list[on_worker.Outcome]:
    """Return the results of futures in order, until one has failed; cancel the others then, or at an interrupt."""
    outcomes: list[on_worker.Outcome | None] = [None] * len(waiting)
    _store(outcomes, dict(enumerate(waiting)))
    return [outcome for outcome in outcomes if outcome is not None]


def _store(outcomes: list[on_worker.Outcome | None], waiting: dict[int, Any]) -> None:
    """Store the results of futures as they come, so that a worker that ends takes only its own task along."""
    numbers = {future: i for i, future in waiting.items()}
    try:
        for future in futures.as_completed(numbers):
            outcome = outcomes[numbers[future]] = received(future.result())
            if outcome.failure is not None:
                return
    finally:
        for future in numbers:
            future.cancel()


def workers_ended(own: bool) -> ClusterError:
    """Return the error for processes that end whatever is tried."""
    advice = "look at their memory: the system ends processes that take too much"
    if not own:
        advice = "make a new pool: this one is broken"
    return ClusterError("workers", f"workers ended {_ATTEMPTS if own else 1} times in one pass", advice)


def follow_client() -> None:
    """Leave Ctrl-C to the process that waits, which cancels what workers have not begun, and end where it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_client, daemon=True).start()


def _end_with_client() -> None:
    client = multiprocessing.parent_process()
    client.join()
    os._exit(1)


# -- what travels


def with_results(task: on_worker.Task) -> on_worker.Task:
    """Return a task with values in place of futures of Dask, for executors that have none."""
    return task._replace(chunks=chunking.mapped_leaves(chunking.fetched, task.chunks))


@contextlib.contextmanager
def pickled(
    files: chunking.Files, job: on_worker.Job, tasks: Sequence[on_worker.Task]
) -> Iterator[list[tuple[str, bytes, bytes]]]:
    """Yield the arguments of `run_stored` for each task. Large arguments are in a file meanwhile, which workers map.

    Where waiting for the tasks ends by an exception, they stop after the chunk that they work on.
    """
    inodes: dict[str, int] = {}
    stop = files.new_path()

    def sent(x):
        return chunking.by_reference(chunking.fetched(x), inodes)

    shared = chunking.mapped_leaves(sent, (job.args, job.kwargs))
    large = leaves_that(_is_large, shared)
    lent: contextlib.AbstractContextManager[list[Any]] = files.lent(large) if large else contextlib.nullcontext([])
    with lent as references:
        args, kwargs = chunking.mapped_leaves(in_turn(_is_large, references), shared)
        data = dumped(job._replace(args=args, kwargs=kwargs, stop=str(stop)))
        pickles = [dumped(t._replace(chunks=chunking.mapped_leaves(sent, t.chunks))) for t in tasks]
        try:
            yield [(f"{stop}.{i}", data, task) for i, task in enumerate(pickles)]
        except BaseException:
            stop.touch()
            raise
        finally:
            for outcome in stop.parent.glob(f"{stop.name}.*"):
                outcome.unlink(missing_ok=True)


def received(result: Any) -> on_worker.Outcome:
    """Return the outcome of a thread, or the one that a worker sent or wrote to a file."""
    data = Path(result).read_bytes() if isinstance(result, str) else result
    outcome: on_worker.Outcome = pickle.loads(data) if isinstance(data, bytes) else data
    return outcome


def _is_large(x) -> bool:
    return chunking.is_storable(x) and x.nbytes >= _LARGE


def leaves_that(is_meant: Callable[[Any], bool], tree: Any) -> list[Any]:
    """Return the leaves of a tree that are meant, in order."""
    leaves: list[Any] = []
    chunking.mapped_leaves(lambda x: leaves.append(x) if is_meant(x) else None, tree)
    return leaves


def in_turn(is_meant: Callable[[Any], bool], values: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function that gives the values for the leaves that are meant, in order, and other leaves as they are."""
    left = iter(values)
    return lambda x: next(left) if is_meant(x) else x


def put_in_file(files: chunking.Files, chunks: Sequence[Any]) -> list[Any]:
    """Return chunks with read-only arrays in one file, which processes map and do not copy."""
    arrays = files.put(leaves_that(chunking.is_storable, list(chunks)))
    stored: list[Any] = chunking.mapped_leaves(in_turn(chunking.is_storable, arrays), list(chunks))
    return stored


def dumped(x: Any) -> bytes:
    """Return the pickle of a value; by cloudpickle where classes of the script are in it."""
    try:
        data = pickle.dumps(x, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        data = b"__main__"
    by_value: Callable[..., bytes] = cloudpickle.dumps
    return by_value(x) if b"__main__" in data else data


_INLINE = 1 << 16  # bytes of a job that go with each task; a larger one is sent to each worker once
PLACED = 2  # tasks of a worker whose chunks it has: it has the next one at hand, and each costs the scheduler 1 to 2 ms
_FRESH = 1.0  # seconds for which the number of threads is not asked for again: an answer takes 1.5 ms
_POLL = 1.0  # seconds after which a pass that waits asks whether workers are there
FEW = 2 * on_worker.PAIRS  # outcomes that the client adds up itself


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
        rows = [chunking.known_rows([chunk], i, ("chunks",), "put") for i, chunk in enumerate(chunks)]
        groups = chunking.groups_of(rows, [None] * len(rows), PLACED * self.workers, self.workers)
        placed: list[Any] = list(chunks)
        with self._lost():
            names = sorted(self.client.nthreads())
            for turn, name in enumerate(names):
                self._put(placed, groups[turn :: len(names)], name)
        return placed

    def _put(self, chunks: list[Any], groups: Sequence[Sequence[int]], worker: str) -> None:
        """Replace the arrays in groups of chunks by arrays that a worker has."""
        lists = [leaves_that(chunking.has_rows, [chunks[i] for i in group]) for group in groups]
        if not any(lists):
            return
        for group, arrays, future in zip(groups, lists, self.client.scatter(lists, workers=[worker], hash=False)):
            held = [chunking.Held(future, x.shape, x.dtype, i) for i, x in enumerate(arrays)]
            for at, chunk in zip(
                group, chunking.mapped_leaves(in_turn(chunking.has_rows, held), [chunks[i] for i in group])
            ):
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

    def run(self, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> list[on_worker.Outcome]:
        """Run tasks on the workers that have their chunks: all in one graph, whose size is by the number of tasks."""
        waiting: list[Any] = []
        run_id = uuid.uuid4().hex[:12]
        with self._lost(waiting, run_id):
            columns = [run_id] * len(tasks), [self._shared(job)] * len(tasks), *zip(*map(_packed, tasks))
            ends = self._mapped(waiting, f"{job.name}-{run_id}", _run_parts, *columns)
            self._count()  # while they run: without workers they would wait forever
            while len(ends) > FEW:
                runs = [ends[i : i + on_worker.PAIRS] for i in range(0, len(ends), on_worker.PAIRS)]
                name = f"{job.name}-sum-{run_id}-{len(ends)}"
                ends = self._mapped(waiting, name, on_worker.add_outcomes, [job.name] * len(runs), runs)
            return self._gathered(ends)

    def _gathered(self, ends: Sequence[Any]) -> list[on_worker.Outcome]:
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

    def _mapped(self, waiting: list[Any], name: str, function: Callable[..., on_worker.Outcome], *columns) -> list[Any]:
        """Return the futures of calls, which join those that wait."""
        keys = [f"{name}-{i}" for i in range(len(columns[0]))]
        ends = list(self.client.map(function, *columns, key=keys, pure=False, retries=self.retries))
        waiting += ends
        return ends

    def _shared(self, job: on_worker.Job):
        """Return the pickle of a job; a large one as the result of a task, which workers fetch once from each other.

        Dask sends a task again after its worker has ended. A broadcast fails then, or never ends.
        """
        data = dumped(job)
        if len(data) < _INLINE:
            return data
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
            return self.client.submit(bytes, data, pure=False, retries=self.retries)

    @contextlib.contextmanager
    def _lost(self, waiting: Sequence[Any] = (), run_id: str = "") -> Iterator[None]:
        """Cancel tasks where waiting for them ends early, and name what the cluster has lost.

        Dask cancels only tasks that have not begun. The others are stopped after the chunk that they work on.
        """
        try:
            yield
        except BaseException as error:
            is_closed = _is_closed(self.client)
            if waiting and not is_closed:
                self.client.cancel(list(waiting), force=True)
                # by the loops of the workers, beside their tasks
                self.client.run(on_worker.stop_pass, run_id, on_error="ignore")
            names = {c.__name__ for c in type(error).__mro__}
            row = next((row for name, row in _PROBLEMS.items() if name in names), None)
            if is_closed and isinstance(error, Exception):
                row = _SCHEDULER
            if row is None or isinstance(error, ClusterError):
                raise
            kind, loss, advice = row
            problem = f"{loss}: {type(error).__name__}: {str(error).partition(chr(10))[0]:.200}"
            raise ClusterError(kind, problem.replace("{address}", self._address), advice) from error

    def close(self) -> None:
        """Close the client, if the executor has made it."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _is_closed(client) -> bool:
    """Return whether a client has lost its scheduler."""
    comm = getattr(client, "scheduler_comm", None)
    return client.status in ("closed", "closing", "connecting") or comm is None or comm.closed()


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
    chunking.mapped_leaves(leaves.append, list(tree))
    return [future for x in leaves if (future := chunking.future_of(x)) is not None]


def _packed(task: on_worker.Task) -> tuple[bytes, list[Any]]:
    """Return the pickle of a task with slots for its futures, and these.

    Dask looks for futures in lists of values, at a cost for each value. So it sees one list of them.
    """
    numbers: dict[str, int] = {}
    values: list[Any] = []

    def slot(x):
        if (future := chunking.future_of(x)) is None:
            return x
        if future.key not in numbers:
            numbers[future.key] = len(values)
            values.append(future)
        return chunking.Slot(numbers[future.key], x.index if isinstance(x, chunking.Held) else None)

    return dumped(task._replace(chunks=chunking.mapped_leaves(slot, task.chunks))), values


def _run_parts(run_id: str, shared: bytes, data: bytes, values: list[Any]) -> on_worker.Outcome:
    """Run a task on a worker, which has put values in place of futures."""
    try:
        job, task = on_worker.loaded_job(shared), pickle.loads(data)
    except Exception as error:
        return on_worker.failed(on_worker.failure_of(error, -1, (), "load"))
    filled = chunking.mapped_leaves(lambda x: x.value(values) if isinstance(x, chunking.Slot) else x, task.chunks)
    return on_worker.run_task(job._replace(stop=run_id), task._replace(chunks=filled))


def active_client() -> Any:
    """Return the client that is active; raise ClusterError if there is none."""
    try:
        return distributed.get_client()
    except ValueError as error:
        advice = "make one: client = distributed.Client(address), or a LocalCluster"
        raise ClusterError("scheduler", "no client of Dask is active", advice) from error

"""Executors: where the tasks of a pass run. Serial, threads, processes and joblib; `dask_executor` has Dask's.

An executor runs tasks and returns their outcomes in the order of the tasks, or the sums of aligned runs of neighbours.
So sums do not depend on which task ends first.
"""

import contextlib
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from anyshape.cluster.chunks import Files, by_reference, fetched, is_storable, mapped_leaves
from anyshape.cluster.worker import Job, Outcome, Task, run_stored, run_task
from anyshape.errors import ArgumentError, ClusterError
from anyshape.support.packages import cloudpickle, futures, joblib, multiprocessing

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

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
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

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
        """Run one task after another, until one fails."""
        outcomes = []
        for task in tasks:
            outcomes.append(run_task(job, with_results(task)))
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

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
        """Run tasks in a pool of threads."""
        with futures.ThreadPoolExecutor(self.workers) as pool:
            waiting = [pool.submit(run_task, job, with_results(task)) for task in tasks]
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
        self._own, self._start, self._pool, self._files = pool is None, start, pool, Files()

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the chunks as read-only arrays in a file, which processes map and do not copy."""
        return put_in_file(self._files, chunks)

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
        """Run tasks in the processes; where one ends, start others and run what is missing."""
        with pickled(self._files, job, tasks) as calls:
            return self._outcomes(calls)

    def _outcomes(self, tasks: Sequence[tuple[str, bytes, bytes]]) -> list[Outcome]:
        outcomes: list[Outcome | None] = [None] * len(tasks)
        for _ in range(_ATTEMPTS):
            missing = [i for i, outcome in enumerate(outcomes) if outcome is None]
            try:
                waiting = {i: self._started().submit(run_stored, *tasks[i]) for i in missing}
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
        self.backend, self._files = backend, Files()
        if backend == "multiprocessing":
            problem = "is 'multiprocessing', which waits for ever where a process ends"
            raise ArgumentError("Joblib", "backend", problem, 'give "loky", or use Processes')

    def put(self, chunks: Sequence[Any]) -> list[Any]:
        """Return the chunks as read-only arrays in a file, which processes map and do not copy."""
        return put_in_file(self._files, chunks)

    def run(self, job: Job, tasks: Sequence[Task]) -> list[Outcome]:
        """Run tasks by joblib; where a worker ends, run all again."""
        with pickled(self._files, job, tasks) as sent:
            calls = [joblib.delayed(run_stored)(*call) for call in sent]
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


def _collected(waiting: Sequence[Any]) -> list[Outcome]:
    """Return the results of futures in order, until one has failed; cancel the others then, or at an interrupt."""
    outcomes: list[Outcome | None] = [None] * len(waiting)
    _store(outcomes, dict(enumerate(waiting)))
    return [outcome for outcome in outcomes if outcome is not None]


def _store(outcomes: list[Outcome | None], waiting: dict[int, Any]) -> None:
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


def with_results(task: Task) -> Task:
    """Return a task with values in place of futures of Dask, for executors that have none."""
    return task._replace(chunks=mapped_leaves(fetched, task.chunks))


@contextlib.contextmanager
def pickled(files: Files, job: Job, tasks: Sequence[Task]) -> Iterator[list[tuple[str, bytes, bytes]]]:
    """Yield the arguments of `run_stored` for each task. Large arguments are in a file meanwhile, which workers map.

    Where waiting for the tasks ends by an exception, they stop after the chunk that they work on.
    """
    inodes: dict[str, int] = {}
    stop = files.new_path()

    def sent(x):
        return by_reference(fetched(x), inodes)

    shared = mapped_leaves(sent, (job.args, job.kwargs))
    large = leaves_that(_is_large, shared)
    lent: contextlib.AbstractContextManager[list[Any]] = files.lent(large) if large else contextlib.nullcontext([])
    with lent as references:
        args, kwargs = mapped_leaves(in_turn(_is_large, references), shared)
        data = dumped(job._replace(args=args, kwargs=kwargs, stop=str(stop)))
        pickles = [dumped(t._replace(chunks=mapped_leaves(sent, t.chunks))) for t in tasks]
        try:
            yield [(f"{stop}.{i}", data, task) for i, task in enumerate(pickles)]
        except BaseException:
            stop.touch()
            raise
        finally:
            for outcome in stop.parent.glob(f"{stop.name}.*"):
                outcome.unlink(missing_ok=True)


def received(result: Any) -> Outcome:
    """Return the outcome of a thread, or the one that a worker sent or wrote to a file."""
    data = Path(result).read_bytes() if isinstance(result, str) else result
    outcome: Outcome = pickle.loads(data) if isinstance(data, bytes) else data
    return outcome


def _is_large(x) -> bool:
    return is_storable(x) and x.nbytes >= _LARGE


def leaves_that(is_meant: Callable[[Any], bool], tree: Any) -> list[Any]:
    """Return the leaves of a tree that are meant, in order."""
    leaves: list[Any] = []
    mapped_leaves(lambda x: leaves.append(x) if is_meant(x) else None, tree)
    return leaves


def in_turn(is_meant: Callable[[Any], bool], values: Sequence[Any]) -> Callable[[Any], Any]:
    """Return a function that gives the values for the leaves that are meant, in order, and other leaves as they are."""
    left = iter(values)
    return lambda x: next(left) if is_meant(x) else x


def put_in_file(files: Files, chunks: Sequence[Any]) -> list[Any]:
    """Return chunks with read-only arrays in one file, which processes map and do not copy."""
    arrays = files.put(leaves_that(is_storable, list(chunks)))
    stored: list[Any] = mapped_leaves(in_turn(is_storable, arrays), list(chunks))
    return stored


def dumped(x: Any) -> bytes:
    """Return the pickle of a value; by cloudpickle where classes of the script are in it."""
    try:
        data = pickle.dumps(x, protocol=pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        data = b"__main__"
    by_value: Callable[..., bytes] = cloudpickle.dumps
    return by_value(x) if b"__main__" in data else data

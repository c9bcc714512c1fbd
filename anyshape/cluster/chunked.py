"""`chunked_sum`: a function that is a sum over rows, over chunks of any lengths, on any executor.

`Capacity` plans the time of such a pass on many workers, on paper and by simulation.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.cluster import worker as on_worker
from anyshape.cluster.chunks import chunks_of, future_of, groups_of, known_rows, mapped_leaves, root_of, same_chunks
from anyshape.cluster.executors import FEW, PLACED, Dask, Executor, Processes, Serial, Threads
from anyshape.errors import ArgumentError
from anyshape.program.program import Program
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import distributed
from anyshape.tracing.pytrees import check_callable, flatten, function_name, parameter_names, unflatten
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted

TASKS = 4  # of a worker: it has the next one while others are late, and so unequal chunks end together
_EXAMPLE = 2  # rows of an example of a chunk whose rows only a worker knows


class WorkerReport(NamedTuple):
    """Totals of one process in a pass. `loads` counts since the process began, and `threads` are of one task.

    >>> import numpy as np
    >>> total = chunked_sum(lambda x: np.sum(x), over="x", tasks=1)
    >>> value = total([np.ones(3), np.ones(5)])
    >>> [(w.chunks, w.rows, w.tasks) for w in total.report.workers]
    [(2, 8, 1)]
    """

    worker: str
    loads: int
    traces: int
    threads: int
    tasks: int
    chunks: int
    rows: int
    seconds: float


class PassReport(NamedTuple):
    """Report of a pass over all chunks: each worker, the rows of each chunk, and the seconds of the whole.

    `payload` is the number of bytes of the function with its programs.

    >>> import numpy as np
    >>> total = chunked_sum(lambda x: np.sum(x), over="x")
    >>> value = total([np.ones(3), np.ones(5)])
    >>> total.report.rows, total.report.traces <= 1
    ((3, 5), True)
    """

    workers: tuple[WorkerReport, ...]
    rows: tuple[int, ...]
    seconds: float
    payload: int

    @property
    def traces(self) -> int:
        """Number of traces on all workers."""
        return sum(w.traces for w in self.workers)


def chunked_sum(
    f: Callable[..., Any],
    *,
    over: str | int | Sequence[str | int],
    reduce: str = "sum",
    executor: Any = None,
    tasks: int | None = None,
) -> ChunkedSum:
    """Return a function of whole data that adds up `f` over their chunks, which may all be of different lengths.

    - `f` is a sum over the rows of some arguments: a value, a gradient, any tree of sums. It is jitted if it is not.
      What it writes to its arguments is lost: it writes to copies.
    - `over` names these arguments, or counts them from 0. They are dask arrays, columns of dask frames, xarray, lists
      of arrays, of futures or of delayed values, and dicts of these. Their chunks are runs of rows, the first axis.
      A chunk may be a `Ragged`, whose rows are its examples.
    - `reduce="mean"` is for functions that are means over rows: each chunk counts by its rows.
    - `executor` is `Serial`, `Threads`, `Processes`, `Joblib` or `Dask`, a pool of `concurrent.futures`, or a client
      of Dask or its address. None is the active client of Dask for data that Dask has, and this process for others.
    - `tasks` is the number of tasks of a pass, by default four for each worker, two where workers have all chunks.

    Chunks without rows do not count. Partial sums add up in an order that depends on the rows, the workers that have
    chunks, and `tasks` alone. For the same of these, and the same threads, results have the same bits on all executors.

    Raise ArgumentError for arguments whose chunks differ, ChunkError where `f` raises, ClusterError for lost workers.

    >>> import numpy as np
    >>> from anyshape import value_and_grad
    >>> step = chunked_sum(value_and_grad(lambda w, x: np.sum((x @ w) ** 2)), over="x")
    >>> value, slope = step(np.ones(2), [np.ones((3, 2)), np.ones((0, 2)), np.ones((5, 2))])
    >>> float(value), slope.tolist(), step.report.rows
    (32.0, [32.0, 32.0], (3, 0, 5))
    """
    return ChunkedSum(f, over, reduce, executor, tasks)


class ChunkedSum:
    """Function that adds up another one over chunks. `report` has the numbers of the last pass, None before one.

    >>> import numpy as np
    >>> total = chunked_sum(lambda x, w: np.sum(x * w), over=("x", "w"))
    >>> type(total).__name__, total.over, total.report
    ('ChunkedSum', ('x', 'w'), None)
    """

    over: tuple[Any, ...]
    reduce: str
    executor: Any
    tasks: int | None

    report: PassReport | None = None

    def __init__(self, f: Callable[..., Any], over: Any, reduce: str, executor: Any, tasks: int | None) -> None:
        check_options(f, reduce, tasks)
        self.function: Any = f if isinstance(f, (Jitted, Program)) else jit(f)
        self.name: str = function_name(f)
        names = parameter_names(f)
        entries = (over,) if isinstance(over, (str, int)) else tuple(over)
        self.places: tuple[int | str, ...] = tuple([_position(x, names) for x in entries])
        self.paths: list[str] = [
            names[at] if isinstance(at, int) and at < len(names) else str(at) for at in self.places
        ]
        self.over, self.reduce, self.executor, self.tasks = entries, reduce, executor, tasks
        self._executor: Executor | None = None if executor is None else as_executor(executor)
        self._on_dask: Dask | None = None
        self._packed: tuple[tuple[Any, ...], str, bytes] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sum, or the mean, of the function over the chunks of its arguments."""
        started = time.perf_counter()
        args, kwargs, chunks = self._split(args, kwargs)
        executor = self._place_to_run(chunks)
        rows = [known_rows(chunk, i, self.paths, self.name) for i, chunk in enumerate(chunks)]
        job = self._job(executor, args, kwargs)
        job = self._packed_job(executor, job, chunks, rows)
        workers = executor.workers
        owners = executor.owners(chunks)
        of_worker = TASKS if None in owners else PLACED
        groups = groups_of(rows, owners, self.tasks or of_worker * workers, workers)
        tasks = [on_worker.Task(tuple(group), [chunks[i] for i in group]) for group in groups]
        outcome = self._run(executor, job, tasks)
        if outcome.partial is None or outcome.partial.tree is None:  # every chunk is empty
            forced = self._run(executor, job, [on_worker.Task((0,), chunks[:1], True)])
            outcome = forced._replace(works=outcome.works + forced.works)
        assert outcome.partial is not None
        self.report = _report(groups, outcome.works, time.perf_counter() - started, len(job.payload))
        return on_worker.finished(outcome.partial, job.weighted)

    def of(self, f: Callable[..., Any], over: Sequence[str | int] | None = None) -> ChunkedSum:
        """Return the sum of another function over the same chunks, on the same executor."""
        return ChunkedSum(f, self.places if over is None else over, self.reduce, self._executor, self.tasks)

    # -- arguments

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, list[list[Any]]]:
        """Return the arguments without those that have chunks, and the chunks."""
        names = parameter_names(self.function)
        plain, named, columns = list(args), dict(kwargs), []
        for i, (at, path) in enumerate(zip(self.places, self.paths)):
            if isinstance(at, int) and at < len(args):
                columns.append(chunks_of(args[at], path, self.name))
                plain[at] = None
            elif path in kwargs:
                columns.append(chunks_of(kwargs[path], path, self.name))
                named[path] = None
            else:
                advice = f"pass it, as in {self.name}({', '.join(names)})"
                raise ArgumentError(self.name, self.paths[i], "is missing, though `over` names it", advice)
        return tuple(plain), named, same_chunks(columns, self.paths, self.name)

    def _place_to_run(self, chunks: Sequence[Any]) -> Executor:
        """Return the executor: the one that was given, or the client of Dask that has the chunks."""
        if self._executor is not None:
            return self._executor
        client = next((future.client for x in _leaves(chunks[:1]) if (future := future_of(x)) is not None), None)
        if client is None:
            return Serial()
        if self._on_dask is None or self._on_dask.client is not client:
            self._on_dask = Dask(client)
        return self._on_dask

    # -- what travels

    def _job(self, executor: Executor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> on_worker.Job:
        places = tuple([at if isinstance(at, int) and at < len(args) else p for at, p in zip(self.places, self.paths)])
        function = None if executor.travels else self.function
        weighted, client = self.reduce == "mean", os.getpid()
        return on_worker.Job(
            self.name, on_worker.VERSIONS, "", b"", function, places, args, kwargs, weighted, executor.threads, client
        )  # fmt: skip

    def _packed_job(
        self, executor: Executor, job: on_worker.Job, chunks: Sequence[Sequence[Any]], rows: Sequence[int | None]
    ) -> on_worker.Job:
        """Return the job with the pickle of the function, which has a program for every chunk of known kind."""
        if not executor.travels:
            return job
        if isinstance(self.function, Jitted):
            self._trace_for(executor, job, chunks, rows)
        programs = tuple(self.function.programs()) if isinstance(self.function, Jitted) else (self.function,)
        if self._packed is None or self._packed[0] != programs:
            sent = self.function.with_programs() if isinstance(self.function, Jitted) else self.function
            payload = pickle.dumps(sent, protocol=pickle.HIGHEST_PROTOCOL)
            self._packed = programs, hashlib.sha256(payload).hexdigest(), payload
        _, digest, payload = self._packed
        return job._replace(digest=digest, payload=payload)

    def _trace_for(
        self, executor: Executor, job: on_worker.Job, chunks: Sequence[Sequence[Any]], rows: Sequence[int | None]
    ) -> None:
        """Trace the programs that chunks need, with examples for arrays that workers have.

        A chunk without rows counts only where no chunk has rows.
        """
        seen: set[Any] = set()
        for number, chunk in enumerate(chunks):
            kinds = tuple([_kind(x) for x in _leaves(chunk)])
            if kinds in seen or (rows[number] == 0 and any(r != 0 for r in rows)):
                continue
            seen.add(kinds)
            if None in kinds:
                self._trace_unknown(executor, job, number, chunk)
                return  # chunks of one list are of one kind
            if not self._prepared(job, number, mapped_leaves(_example, chunk)):
                return

    def _prepared(self, job: on_worker.Job, number: int, example):
        """Trace for an example of a chunk; raise what a worker would raise, with the number of the chunk."""
        try:
            return on_worker.called(self.function.prepare, job, example)
        except Exception as error:
            on_worker.raise_failure(job.name, on_worker.failure_of(error, number, on_worker.shapes_of(example)), error)

    def _trace_unknown(self, executor: Executor, job: on_worker.Job, number: int, chunk: Sequence[Any]) -> None:
        """Trace for chunks whose dtypes and shapes only workers know: a task asks for the first one's."""
        if self._packed is not None and self.function.programs():
            return
        count = len(self.places)
        args, places = (None,) * count, tuple(range(count))
        ask = job._replace(
            name=f"kinds of {self.name}", digest="describe", payload=pickle.dumps(describe), args=args, kwargs={},
            places=places, weighted=False,
        )  # fmt: skip
        outcome = self._run(executor, ask, [on_worker.Task((number,), [list(chunk)], True)])
        assert outcome.partial is not None
        leaves, structure = flatten(outcome.partial.tree)
        example = [
            np.broadcast_to(np.zeros((), t), (_EXAMPLE, *x.shape[1:])) for x, t in zip(leaves, outcome.partial.dtypes)
        ]
        self._prepared(job, number, unflatten(structure, example))

    # -- outcomes

    def _run(self, executor: Executor, job: on_worker.Job, tasks: Sequence[on_worker.Task]) -> on_worker.Outcome:
        """Return the sum of the outcomes of tasks; raise what a chunk raised."""
        outcome = on_worker.add_outcomes(job.name, executor.run(job, tasks))
        if outcome.failure is not None:
            on_worker.raise_failure(job.name, outcome.failure)
        return outcome


def check_options(f: Any, reduce: str, tasks: int | None) -> None:
    """Raise ArgumentError for options that `chunked_sum` does not have."""
    check_callable("chunked_sum", f)
    if reduce not in ("sum", "mean"):
        raise ArgumentError("chunked_sum", "reduce", f"is {reduce!r:.50}", 'give "sum" or "mean"')
    if tasks is not None and (isinstance(tasks, bool) or not isinstance(tasks, int) or tasks < 1):
        raise ArgumentError("chunked_sum", "tasks", f"is {tasks!r:.50}", "give a number of at least 1")


def describe(*parts: Any) -> tuple[Any, ...]:
    """Return the arguments without their rows: they tell dtypes, sizes of rows and structure."""
    return tuple([mapped_leaves(lambda x: np.asarray(x)[:0], part) for part in parts])


def as_executor(x: Any) -> Executor:
    """Return the executor that an executor, a pool, or a client or an address of Dask stands for."""
    if isinstance(x, (Serial, Dask)):
        return x
    kinds = {c.__name__ for c in type(x).__mro__}
    if root_of(x) == "distributed" or isinstance(x, str):
        return Dask(distributed.Client(x) if "Cluster" in kinds else x)
    if "ProcessPoolExecutor" in kinds:
        return Processes(x._max_workers, pool=x)
    if "ThreadPoolExecutor" in kinds:
        return Threads(x._max_workers)
    if all(hasattr(x, name) for name in ("run", "put", "owners", "workers", "travels", "threads")):
        return x
    advice = "give an executor of anyshape.cluster, a pool of concurrent.futures, or a client of Dask or its address"
    raise ArgumentError("chunked_sum", "executor", f"is of type {type(x).__name__}", advice)


def _position(entry: str | int, names: Sequence[str]) -> int | str:
    """Return the position of a parameter, its name for one that is passed by name alone."""
    if isinstance(entry, str):
        return names.index(entry) if entry in names else entry
    return int(entry)


def _leaves(chunk: Sequence[Any]) -> list[Any]:
    leaves: list[Any] = []
    mapped_leaves(leaves.append, list(chunk))
    return leaves


def _kind(x):
    """Return the dtype and the shape of a leaf, None where only a worker knows them."""
    dtype, shape = getattr(x, "dtype", None), getattr(x, "shape", None)
    if not isinstance(shape, tuple) or dtype is None:
        return (np.result_type(x), ()) if np.isscalar(x) else None
    return dtype, tuple([None if size != size else size for size in shape])


def _example(x):
    """Return an array of the dtype and shape of a leaf, the leaf itself where it is one."""
    if isinstance(x, np.ndarray):
        return x
    dtype, shape = _kind(x)
    return np.broadcast_to(np.zeros((), dtype), [_EXAMPLE if size is None else int(size) for size in shape])


def _report(
    groups: Sequence[Sequence[int]], works: Sequence[on_worker.Work], seconds: float, payload: int
) -> PassReport:
    """Return the report of a pass from the reports of its tasks."""
    by_worker: dict[str, list[on_worker.Work]] = {}
    for work in works:
        by_worker.setdefault(work.worker, []).append(work)
    workers = [_totals(name, of) for name, of in sorted(by_worker.items())]
    rows = dict(zip([i for group in groups for i in group], [r for work in works for r in work.rows]))
    return PassReport(tuple(workers), tuple([rows[i] for i in sorted(rows)]), seconds, payload)


def _totals(worker: str, works: Sequence[on_worker.Work]) -> WorkerReport:
    """Return the totals of the tasks of one process."""
    rows = [r for work in works for r in work.rows]
    loads, threads = max([w.loads for w in works]), max([w.threads for w in works])
    traces, seconds = sum([w.traces for w in works]), sum([w.seconds for w in works])
    return WorkerReport(worker, loads, traces, threads, len(works), len(rows), sum(rows), seconds)


class PassPlan(NamedTuple):
    """Parts of the time of a pass in seconds, the bytes that it moves, and the part that binds.

    `broadcast`, `schedule`, `compute` and `sums` add up to `seconds`.

    >>> plan = Capacity(rows=10**8, seconds_per_row=1e-6, parameter_bytes=8e6, result_bytes=8e6).on_paper(100)
    >>> plan.workers, round(plan.compute, 3), plan.seconds > plan.compute
    (100, 1.0, True)
    """

    workers: int
    seconds: float
    broadcast: float
    schedule: float
    compute: float
    sums: float
    bytes_moved: float
    rows_per_second: float
    binds: str


@dataclass(frozen=True)
class Capacity:
    """Numbers of a pass: its rows and their cost, what travels, and the network.

    - `seconds_per_row` is of one worker: seconds / rows of a `WorkerReport`.
    - `parameter_bytes` go to every worker, and `result_bytes` come from each task.
    - `bandwidth` is in bytes per second, `latency` in seconds for each message.
    - `task_seconds` is what the scheduler takes for each task, one after another.

    >>> plan = Capacity(rows=10**8, seconds_per_row=1e-6, parameter_bytes=8e6, result_bytes=8e6)
    >>> plan.on_paper(100).binds, plan.on_paper(1000).binds
    ('compute', 'schedule')
    """

    rows: int
    seconds_per_row: float
    parameter_bytes: float
    result_bytes: float
    bandwidth: float = 1.25e9
    latency: float = 5e-4
    task_seconds: float = 5e-4

    def on_paper(self, workers: int) -> PassPlan:
        """Return the estimate of a pass with equal tasks, part after part: no part hides behind another.

        Parameters spread to as many workers again in each turn. Each level of the sum brings seven partial sums to
        the worker of an eighth, and the client takes the last ones.
        """
        if workers < 1:
            raise ArgumentError("on_paper", "workers", f"is {workers}", "give a number of at least 1")
        message = lambda size: self.latency + size / self.bandwidth
        tasks = PLACED * workers
        levels, ends, sums = _levels(tasks)
        parts = {
            "broadcast": math.ceil(math.log2(workers + 1)) * message(self.parameter_bytes),
            "schedule": (tasks + sums) * self.task_seconds,
            "compute": self.rows * self.seconds_per_row / workers,
            "sums": (levels * (on_worker.PAIRS - 1) + ends) * message(self.result_bytes),
        }
        seconds = sum(parts.values())
        moved = workers * self.parameter_bytes + (tasks + sums) * self.result_bytes
        binds = max(parts, key=lambda name: parts[name])
        return PassPlan(workers, seconds, **parts, bytes_moved=moved, rows_per_second=self.rows / seconds, binds=binds)

    def simulated(self, workers: int, *, unequal: float = 0.3, seed: int = 0) -> float:
        """Return the seconds of a pass by simulation: tasks wait for the scheduler, a worker and a network card.

        `unequal` is the standard deviation of the time of a task, relative to the mean. Parts overlap here.
        """
        rng = np.random.default_rng(seed)
        tasks = PLACED * workers
        shares = np.maximum(rng.normal(1.0, unequal, tasks), 0.05)
        work = shares / shares.sum() * self.rows * self.seconds_per_row
        message = self.latency + self.result_bytes / self.bandwidth
        begin = math.ceil(math.log2(workers + 1)) * (self.latency + self.parameter_bytes / self.bandwidth)
        free = np.full(workers, begin)  # when each worker is idle again
        scheduler = begin
        ends = np.empty(tasks)
        for i in range(tasks):  # the scheduler gives out tasks in turns of all workers
            scheduler += self.task_seconds
            worker = i % workers
            free[worker] = max(free[worker], scheduler) + work[i]
            ends[i] = free[worker]
        ends = ends.reshape(PLACED, workers).T.ravel()  # neighbouring tasks are on one worker
        while len(ends) > FEW:
            groups = [ends[i : i + on_worker.PAIRS] for i in range(0, len(ends), on_worker.PAIRS)]
            ends = np.array([_received(np.sort(group)[:-1], message, group.max()) for group in groups])
            ends = np.maximum(ends, scheduler + self.task_seconds * np.arange(1, len(ends) + 1))
            scheduler += self.task_seconds * len(ends)
        return float(_received(np.sort(ends), message, 0.0))


def _levels(tasks: int) -> tuple[int, int, int]:
    """Return the levels of sums on workers, the outcomes that are left for the client, and the number of sums."""
    levels, sums = 0, 0
    while tasks > FEW:
        tasks = -(-tasks // on_worker.PAIRS)
        levels, sums = levels + 1, sums + tasks
    return levels, tasks, sums


def _received(ready: np.ndarray, message: float, own: float) -> float:
    """Return when one network card has taken messages that are ready at these times, and its worker is ready too."""
    taken = 0.0
    for moment in ready:
        taken = max(taken, float(moment)) + message
    return max(taken, own)

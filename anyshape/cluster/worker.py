"""Work of one task: the sum of a function over some chunks, in the process that has them.

A process loads a function once, by its digest. Whatever goes wrong comes back as data, so that no exception of a class
that the client lacks is lost on the way.

Partial sums are in the order of the chunks, and their sum is a tree of pairs. Sums of 16- and 32-bit floating-point
numbers are in 64 bits, and rounded once at the end. Sums of integers and booleans have the dtype of `np.sum`.

Dask starts workers with MALLOC_TRIM_THRESHOLD_, by which the allocator gives freed arrays back to the system at once.
Arrays of the next chunk then fault their pages in again, which was measured to cost as much as the work.
"""

import contextlib
import ctypes
import functools
import os
import pickle
import select
import sys
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.cluster.chunks import copied, counted, resolved
from anyshape.errors import ArgumentError, ChunkError, ClusterError
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import threadpoolctl
from anyshape.support.version import __version__
from anyshape.tracing.pytrees import flatten, function_name, result_paths, unflatten

PAIRS = 8  # partial sums that one task on a worker adds up: aligned pairs of pairs, as the tree has them


class Partial(NamedTuple):
    """Partial sum of some chunks: the tree of sums, the dtypes of the results, and the rows; None without a chunk."""

    tree: Any
    dtypes: tuple[np.dtype, ...]
    rows: int


EMPTY = Partial(None, (), 0)


@functools.cache
def wide(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which results of a dtype are added up."""
    if dtype.kind in "biu":
        return np.add.reduce(np.empty(0, dtype)).dtype
    return np.result_type(dtype, np.float64) if dtype.kind in "fc" else dtype


class Accumulator:
    """Running sum of the results of chunks, which it adds in place to arrays of its own."""

    def __init__(self, function: str, weighted: bool) -> None:
        """Begin with nothing; with `weighted`, results are means and count by their rows."""
        self.function, self.weighted = function, weighted
        self.structure: Any = None
        self.totals: list[np.ndarray] = []
        self.dtypes: tuple[np.dtype, ...] = ()
        self.rows: int = 0

    def add(self, result: Any, rows: int) -> None:
        """Add the result of a chunk."""
        leaves, structure = flatten(result, self.function)
        arrays = [np.asarray(x) for x in leaves]
        self.rows += rows
        if self.structure is None:
            self.structure, self.dtypes = structure, tuple([x.dtype for x in arrays])
            self.totals = [self._term(x, rows) for x in arrays]
            return
        require_alike(self.function, (self.structure, self.totals), (structure, arrays))
        for total, x in zip(self.totals, arrays):
            total += self._term(x, rows) if self.weighted else x

    def _term(self, x: np.ndarray, rows: int) -> np.ndarray:
        """Return a new array with the result of a chunk, times its rows if results are means."""
        if not self.weighted:
            return np.array(x, wide(x.dtype))
        return np.asarray(np.multiply(x, float(rows), dtype=np.result_type(wide(x.dtype), np.float64)))

    def partial(self) -> Partial:
        """Return the sum so far."""
        if self.structure is None:
            return EMPTY
        return Partial(unflatten(self.structure, self.totals), self.dtypes, self.rows)


def require_alike(function: str, first: tuple[Any, Sequence[Any]], second: tuple[Any, Sequence[Any]]) -> None:
    """Raise ArgumentError unless two results have one structure and equal shapes: sums must not broadcast."""
    (structure, xs), (other, ys) = first, second
    advice = "return sums over the rows of the chunk, whose shapes do not depend on their number"
    if structure != other:
        problem = f"has the structure {other} for one chunk and {structure} for another"
        raise ArgumentError(function, "the result", problem, advice)
    for i, (x, y) in enumerate(zip(xs, ys)):
        if x.shape != y.shape:
            problem = f"has shape {y.shape} for one chunk and {x.shape} for another"
            raise ArgumentError(function, result_paths(structure)[i], problem, advice)


def add_pair(function: str, first: Partial, second: Partial) -> Partial:
    """Return the sum of two partial sums."""
    if first.tree is None or second.tree is None:
        return second if first.tree is None else first
    (xs, structure), (ys, other) = flatten(first.tree), flatten(second.tree)
    require_alike(function, (structure, xs), (other, ys))
    tree = unflatten(structure, [np.asarray(x + y) for x, y in zip(xs, ys)])
    return Partial(tree, first.dtypes, first.rows + second.rows)


def add_pairs(function: str, partials: Sequence[Partial], until: int = 1) -> list[Partial]:
    """Return the sums of neighbours, of neighbours of these, and so on, until so many are left."""
    level = list(partials)
    while len(level) > until:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [add_pair(function, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return level


def finished(partial: Partial, weighted: bool) -> Any:
    """Return the tree of sums or means in the dtypes of the results."""
    leaves, structure = flatten(partial.tree)
    ends: Callable[..., Any] = _mean if weighted else _sum
    return unflatten(structure, [ends(x, dtype, partial.rows) for x, dtype in zip(leaves, partial.dtypes)])


def _sum(x: np.ndarray, dtype: np.dtype, rows: int):
    return x.astype(x.dtype if dtype.kind in "biu" else dtype, copy=False)[()]


def _mean(x: np.ndarray, dtype: np.dtype, rows: int):
    mean = x / rows
    return mean.astype(mean.dtype if dtype.kind in "biu" else dtype, copy=False)[()]


VERSIONS = (__version__, np.__version__, sys.implementation.cache_tag or "")
_LATEST = 64  # functions that a process keeps
_ATOMIC = getattr(select, "PIPE_BUF", 512) // 2  # bytes that a pipe takes at once, beside what pools add to them
_PACKAGE = str(Path(__file__).resolve().parents[1])


class Job(NamedTuple):
    """Part that all tasks of a pass share; `function` is None where its pickle travels."""

    name: str
    versions: tuple[str, ...]
    digest: str
    payload: bytes
    function: Any
    places: tuple[int | str, ...]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    weighted: bool
    threads: int | None
    client: int  # its process, which keeps its own memory settings
    stop: str = ""  # of a pass that may be stopped: the path of a file, or the number of a pass of Dask


class Task(NamedTuple):
    """Numbers of the chunks of one task, and the chunks; with `forced`, chunks without rows count too."""

    numbers: tuple[int, ...]
    chunks: list[Any]
    forced: bool = False


class Work(NamedTuple):
    """Report of a task: the process, its loads of the function, traces, threads, the rows of each chunk, seconds."""

    worker: str
    loads: int
    traces: int
    threads: int
    rows: tuple[int, ...]
    seconds: float


class Failure(NamedTuple):
    """Data of an exception that a chunk raised, or of a worker of other versions; `pickled` is the exception."""

    chunk: int
    shapes: tuple[str, ...]
    error: str
    why: str
    where: str | None
    worker: str
    trace: str
    pickled: bytes = b""


class Outcome(NamedTuple):
    """Result of tasks: their partial sum and reports, or the first failure."""

    partial: Partial | None
    works: tuple[Work, ...] = ()
    failure: Failure | None = None


def failed(failure: Failure) -> Outcome:
    """Return the outcome of a task that failed."""
    return Outcome(None, (), failure)


# -- functions that a process has

_LOCK = threading.Lock()
_FUNCTIONS: OrderedDict[str, Any] = OrderedDict()
_LOADS: dict[str, int] = {}


@functools.lru_cache(maxsize=2)
def loaded_job(data: bytes) -> Any:
    """Return the job of a pickle: tasks of one pass share it with its arguments."""
    return pickle.loads(data)


def function_of(job: Any) -> Any:
    """Return the function of a job, loaded at its first task in this process."""
    if job.function is not None:
        return job.function
    with _LOCK:
        function = _FUNCTIONS.get(job.digest)
        if function is None:
            function = _FUNCTIONS[job.digest] = pickle.loads(job.payload)
            _LOADS[job.digest] = _LOADS.get(job.digest, 0) + 1
            while len(_FUNCTIONS) > _LATEST:
                _FUNCTIONS.popitem(last=False)
        _FUNCTIONS.move_to_end(job.digest)
    return function


def traces_of(function: Any) -> int:
    """Return how many traces a function has made in this process; a program makes none."""
    info = getattr(function, "cache_info", None)
    return 0 if info is None else int(info().traces)


def counters() -> list[tuple[str, int, int]]:
    """Return the name, the number of loads and the number of traces of each function that this process has."""
    with _LOCK:
        return [(function_name(f), _LOADS[digest], traces_of(f)) for digest, f in list(_FUNCTIONS.items())]


def worker_name() -> str:
    """Return the name of this process: its machine and number."""
    return f"{os.uname().nodename if hasattr(os, 'uname') else ''}:{os.getpid()}"


# -- passes that nobody waits for

_STOPPED: deque[str] = deque(maxlen=256)  # numbers of passes of Dask


def stop_pass(number: str) -> None:
    """Stop the tasks of a pass in this process after the chunk that they work on, and those that begin later."""
    _STOPPED.append(number)


def is_stopped(stop: str) -> bool:
    """Return whether nobody waits for a pass: its file is there, or `stop_pass` has its number."""
    return stop in _STOPPED or (os.path.isabs(stop) and os.path.exists(stop))


# -- one task


def run_task(job: Job, task: Task) -> Outcome:
    """Return the sum over the chunks of a task, or its failure."""
    if (failure := versions_failure(job.versions)) is not None:
        return failed(failure)
    is_own = os.getpid() != job.client
    if is_own:
        keep_freed_memory()
    with limited_threads(job.threads):
        return _run(job, task)


def run_pickled(shared: bytes, data: bytes) -> Outcome:
    """Run a task from the pickles of its job and of itself; what cannot be loaded is a failure."""
    try:
        job, task = loaded_job(shared), pickle.loads(data)
    except Exception as error:
        return failed(failure_of(error, -1, (), "load"))
    return run_task(job, task)


def run_stored(path: str, shared: bytes, data: bytes) -> bytes | str:
    """Run a task; return the pickle of its outcome, or the path of a file with one that a pipe takes in parts.

    A process that is killed amid the parts would leave whoever reads them waiting.
    """
    outcome = pickle.dumps(run_pickled(shared, data), pickle.HIGHEST_PROTOCOL)
    if len(outcome) <= _ATOMIC:
        return outcome
    file = Path(f"{path}.{os.getpid()}")
    try:
        file.write_bytes(outcome)
    except OSError as error:
        return pickle.dumps(failed(failure_of(error, -1, ())))
    return str(file)


def versions_failure(client: Sequence[str]) -> Failure | None:
    """Return the failure for a client of other versions, None for one of the same."""
    if tuple(client) == VERSIONS:
        return None
    problem = f"has {_shown(VERSIONS)}, and the client has {_shown(client)}"
    return Failure(-1, (), "versions", problem, None, worker_name(), "")


def _shown(versions: Sequence[str]) -> str:
    return ", ".join(f"{name} {v}" for name, v in zip(("anyshape", "NumPy", "Python"), versions))


def _run(job: Job, task: Task) -> Outcome:
    start, sums, rows = time.perf_counter(), Accumulator(job.name, job.weighted), []
    job = job._replace(args=resolved(job.args), kwargs=resolved(job.kwargs))
    try:
        function = function_of(job)
        before = traces_of(function)
    except Exception as error:
        return failed(failure_of(error, -1, (), "load"))
    for number, parts in zip(task.numbers, task.chunks):
        if is_stopped(job.stop):
            return failed(Failure(number, (), "cancelled", "nobody waits for it", None, worker_name(), ""))
        chunk: Any = None
        try:
            chunk = [resolved(tree) for tree in parts]
            count = rows_of(chunk, job)
            rows.append(count)
            if count or task.forced:
                sums.add(result_of(function, job, chunk), count or 1)
        except Exception as error:
            return failed(failure_of(error, number, shapes_of(chunk)))
        finally:
            chunk = None  # its memory serves the next one
    loads = _LOADS.get(job.digest, 0)
    threads = limited_threads.current()
    work = Work(worker_name(), loads, traces_of(function) - before, threads, tuple(rows), time.perf_counter() - start)
    return Outcome(sums.partial(), (work,))


def result_of(function: Any, job: Job, chunk: Sequence[Any]) -> Any:
    """Return the result for a chunk. A function that writes to arguments gets copies, as the next chunk needs them."""
    try:
        if not writes(function):
            return called(function, job, chunk)
    except ArgumentError:
        if not writes(function):  # the call has traced that it does
            raise
    chunk, args, kwargs = copied([list(chunk), job.args, job.kwargs])
    return called(function, job._replace(args=args, kwargs=kwargs), chunk)


def writes(function: Any) -> bool:
    """Return whether a program of a function writes to arguments."""
    programs = function.programs() if hasattr(function, "programs") else (function,)
    return any(getattr(program, "written", ()) for program in programs)  # a plain function describes chunks


def called(function: Callable[..., Any], job: Job, chunk: Sequence[Any]) -> Any:
    """Call a function with the arguments that all chunks share, and one chunk's in their places."""
    args, kwargs = list(job.args), dict(job.kwargs)
    for at, part in zip(job.places, chunk):
        if isinstance(at, int):
            args[at] = part
        else:
            kwargs[at] = part
    return function(*args, **kwargs)


def rows_of(chunk: Sequence[Any], job: Job) -> int:
    """Return the rows of a chunk; raise ArgumentError if its arrays differ in rows, or have no axis."""
    counts = []
    for x in flatten(counted(chunk))[0]:
        if not (shape := np.shape(x)):
            problem = "holds a number, which has no rows"
            raise ArgumentError(job.name, "a chunk", problem, "name only arguments with rows in `over`")
        counts.append(shape[0])
    if len(set(counts)) > 1:
        problem = f"has arrays of {' and '.join(map(str, counts))} rows"
        raise ArgumentError(job.name, "a chunk", problem, "give all arguments the same chunks along the first axis")
    return int(counts[0]) if counts else 0


def shapes_of(chunk: Any) -> tuple[str, ...]:
    """Return a text for each array of a chunk: its dtype and shape."""
    if chunk is None:
        return ()
    arrays = [np.asarray(x) for x in flatten(chunk)[0]]
    return tuple([f"{x.dtype}{list(x.shape)}" for x in arrays])


def failure_of(error: Exception, chunk: int, shapes: tuple[str, ...], kind: str = "") -> Failure:
    """Return the data of an exception: its class, text, line of the user and traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [f for f in frames if not f.filename.startswith((_PACKAGE, "<"))]
    line = f"{Path(outside[-1].filename).name}:{outside[-1].lineno}" if outside else None
    where = getattr(error, "where", None)
    text = "".join(traceback.format_exception(error))
    shown = line if where is None else str(where)
    name = kind or type(error).__name__
    why = f"{type(error).__name__}: {error}" if kind else str(error)
    return Failure(chunk, shapes, name, why, shown, worker_name(), text, _pickled(error))


def raise_failure(name: str, failure: Failure, cause: Exception | None = None) -> NoReturn:
    """Raise the error for what went wrong on a worker."""
    if failure.error == "versions":
        problem = f"{name}: the worker {failure.worker} {failure.why}"
        raise ClusterError("versions", problem, "install the same versions on the client and on all workers")
    if failure.error == "load":
        problem = f"{name}: the worker {failure.worker} cannot load the function: {failure.why}"
        raise ClusterError("package", problem, "install the client's packages and modules on all workers")
    error = ChunkError(name, *failure[:7])
    if cause is None and not failure.pickled:
        raise error
    raise error from cause or pickle.loads(failure.pickled)


def _pickled(error: Exception) -> bytes:
    """Return the pickle of an exception, empty where it does not come back as it was."""
    try:
        data = pickle.dumps(error)
        return data if type(pickle.loads(data)) is type(error) else b""
    except Exception:  # of whatever its class raises
        return b""


def add_outcomes(name: str, outcomes: Sequence[Outcome]) -> Outcome:
    """Return the sum of the outcomes of neighbouring tasks with all their reports, or the first failure."""
    failures = [o.failure for o in outcomes if o.failure is not None]
    if failures:
        return failed(failures[0])
    (partial,) = add_pairs(name, [o.partial for o in outcomes if o.partial is not None])
    return Outcome(partial, tuple([work for o in outcomes for work in o.works]))


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
def _controller():
    """Return the controller of the BLAS libraries, which takes milliseconds to make."""
    return threadpoolctl.ThreadpoolController()


limited_threads: _Limits = _Limits()

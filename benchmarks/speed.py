"""Compare speed with hand-written NumPy and with other libraries on the same workloads.

Every library works in a process of its own, without compilation caches of earlier days. No number of threads is set, as
for users who set nothing, but in the section one_thread and by `--threads`. Threads stall wherever others use a core.

Each workload is measured in four ways:

- the first sweep, tracing and compiling included;
- later sweeps, in turns round by round;
- the first call at new sizes;
- the peak memory of a sweep, for libraries that allocate through NumPy.

The results of the first sweep, of the last later sweep and of each first call are checked (`benchmarks.reference`),
outside of the measured time. A library that fails, or whose results differ, has no numbers, and the others go on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.reference import check, reference, written
from benchmarks.timing import Effort, Result, ratio, seconds
from benchmarks.worker import Failed, Worker
from benchmarks.workloads import WORKLOADS, Limit, Workload, leaves

STEPS = (1, 2, 3)  # other sizes: by how much they are larger
LONG = 0.25  # seconds of a call at other sizes that is not made at another one
BUDGET = 6.0  # seconds after which no new round of turns begins, if there were a few
LEAST_ROUNDS = 3
LONGER = 20  # times as long as turns elsewhere
WARM = 100  # times as long before each turn, untimed: a core that was idle may take 0.2 s to be there for threads again
PAUSE = 0.03  # seconds after a turn: for so long threads of linear algebra look for more to do, and take a core


@dataclass
class Measured:
    """Measurements of a workload in one library, in seconds and bytes; `failed` says why there are none."""

    first: float = np.nan
    turns: list[float] = field(default_factory=list)
    more: list[float] = field(default_factory=list)
    peak: int | None = None
    growth: float | None = None  # bytes of memory by byte of arguments and results
    failed: str = ""

    def fail(self, why: str) -> None:
        """Discard the measurements and note the reason."""
        self.first, self.turns, self.more, self.peak, self.growth = np.nan, [], [], None, None
        self.failed = why.strip().partition("\n")[0] or "failed without a word"

    @property
    def steady(self) -> float:
        return float(np.median(self.turns)) if self.turns else np.nan

    def as_json(self) -> dict[str, Any]:
        """Return all measurements as JSON data."""
        more = float(np.median(self.more)) if self.more else np.nan
        numbers = {"first": self.first, "steady": self.steady, "more": more, "peak": self.peak, "growth": self.growth}
        known = {k: v for k, v in numbers.items() if v is not None and not np.isnan(v)}
        return {**known, "turns": self.turns, **({"failed": self.failed} if self.failed else {})}


def run(
    effort: Effort,
    scale: float = 1.0,
    libraries: Sequence[str] | None = None,
    keys: Sequence[str] = tuple(WORKLOADS),
    threads: int | None = None,
) -> list[Result]:
    """Return the results of this file; `scale` makes the arrays smaller, `keys` are the workloads."""
    results: list[Result] = []
    with workers(peers.installed() if libraries is None else libraries, threads) as asked:
        versions = {name: _version(worker) for name, worker in asked.items()}
        for key in keys:
            results += judged(key, WORKLOADS[key], measure(key, asked, effort, scale), versions, threads)
    return results


def in_one_thread(effort: Effort, **options: Any) -> list[Result]:
    """Return the results with one thread for each library."""
    return run(effort, **{**options, "threads": 1})


@contextmanager
def workers(libraries: Sequence[str], threads: int | None) -> Iterator[dict[str, Worker]]:
    """Start a process for each library, peers by the interpreter that has them."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: Worker(peers.interpreter(name), name, threads, folder) for name in libraries}
        try:
            yield asked
        finally:
            for worker in asked.values():
                worker.close()


def _version(worker: Worker) -> str:
    """Return the version of its library; empty where it fails, which its first workload reports."""
    try:
        return worker.ask("hello")
    except Failed:
        return ""


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(key: str, asked: dict[str, Worker], effort: Effort, scale: float) -> dict[str, Measured]:
    """Measure a workload in each library."""
    measured = {name: Measured() for name in asked}
    try:
        expected = reference(key, scale, 0)
        for name, worker in _going(asked, measured):
            with _failing(measured[name]):
                measured[name].first, results = worker.ask("first", key, scale)
                check(results, expected)
        _turns(asked, measured, effort)
        for name, worker in _going(asked, measured):
            with _failing(measured[name]):
                check(worker.ask("results"), expected)
        _other_sizes(key, asked, measured, scale)
    except Failed as error:  # of the reference: no library can be checked
        for numbers in measured.values():
            numbers.fail(numbers.failed or str(error))
    for name, worker in _going(asked, measured):
        with _failing(measured[name]):
            measured[name].peak = worker.ask("peak", scale)
            if name == "anyshape":
                measured[name].growth = _growth(key, worker, measured[name].peak, scale)
    return measured


def _going(asked: dict[str, Worker], measured: dict[str, Measured]) -> list[tuple[str, Worker]]:
    """Return the libraries that have not failed."""
    return [(name, worker) for name, worker in asked.items() if not measured[name].failed]


@contextmanager
def _failing(measured: Measured) -> Iterator[None]:
    """Record a failure, and go on with the other libraries."""
    try:
        yield
    except Failed as error:
        measured.fail(str(error))


def _turns(asked: dict[str, Worker], measured: dict[str, Measured], effort: Effort) -> None:
    """Time sweeps in turns. The starter changes from round to round."""
    start = time.perf_counter()
    for i in range(effort.rounds):
        if i >= min(LEAST_ROUNDS, effort.rounds) and time.perf_counter() - start > BUDGET:
            break
        going = _going(asked, measured)
        for turn in range(len(going)):
            name, worker = going[(i + turn) % len(going)]
            with _failing(measured[name]):
                measured[name].turns.append(worker.ask("turn", LONGER * effort.turn, WARM * effort.turn))
            time.sleep(PAUSE)


def _other_sizes(key: str, asked: dict[str, Worker], measured: dict[str, Measured], scale: float) -> None:
    """Time first calls at new sizes."""
    for step in STEPS:
        expected = reference(key, scale, step)
        for name, worker in _going(asked, measured):
            if not measured[name].more or measured[name].more[0] < LONG:
                with _failing(measured[name]):
                    taken, results = worker.ask("more", step)
                    check(results, expected)
                    measured[name].more.append(taken)


def _growth(key: str, worker: Worker, peak: int | None, scale: float) -> float | None:
    """Growth of peak memory at twice the size, per byte of arguments and results; buffers of fixed size cancel."""
    if peak is None or not any(limit.of == "memory" for limit in WORKLOADS[key].limits):
        return None
    there = [_bytes(WORKLOADS[key].make(s, 0)) + _bytes(written(key, s, 0)) for s in (scale, 2 * scale)]
    arguments = [_bytes(WORKLOADS[key].make(s, 0)) for s in (scale, 2 * scale)]
    more = worker.ask("peak", 2 * scale) - peak + arguments[1] - arguments[0]
    return float(more / (there[1] - there[0]))


def _bytes(tree: Any) -> int:
    return sum(np.asarray(x).nbytes for x in leaves(tree))


# -- judging -----------------------------------------------------------------------------------------------------


def judged(
    key: str, workload: Workload, measured: dict[str, Measured], versions: dict[str, str], threads: int | None = None
) -> list[Result]:
    """Return a line for the ratio to hand-written NumPy, with all numbers, and one for each other limit."""
    main = next((x for x in workload.limits if (x.of, x.to, x.by) == ("steady", "numpy", "anyshape")), None)
    libraries = {name: {"version": versions[name], **m.as_json()} for name, m in measured.items()}
    data = {"key": key, "title": workload.title, "threads": threads, "libraries": libraries}
    ratio_by_hand = value_of(Limit(0), measured)
    beside = "" if threads is None else f", {threads} thread{'s' * (threads > 1)}"
    title, detail = f"{workload.title}{beside} / by hand", _detail(measured)
    results = [Result(title, ratio_by_hand, "x", main and main.at_most, detail, data)]
    for limit in workload.limits:
        value = value_of(limit, measured)
        if limit is not main and not np.isnan(value):
            results.append(Result(f"  {_called(limit)}", value, "s" if _alone(limit) else "x", limit.at_most))
    return results


def _detail(measured: dict[str, Measured]) -> str:
    """Steady times and failures by library."""
    times = ", ".join(f"{name} {seconds(m.steady)}" for name, m in measured.items() if m.turns)
    return times + "".join(f"; {name}: {m.failed}" for name, m in measured.items() if m.failed)


def value_of(limit: Limit, measured: dict[str, Measured]) -> float:
    """Return the number that the limit bounds; NaN if a library failed or is not installed."""
    ours, other = measured.get(limit.by), measured.get(limit.to or limit.by)
    if ours is None or other is None or ours.failed or other.failed:
        return np.nan
    if limit.of == "memory":
        return np.nan if ours.growth is None else ours.growth
    if limit.of == "first":
        return ours.first if limit.to is None else ours.first / other.first
    return ratio(np.array(ours.turns), np.array(other.turns))


def _alone(limit: Limit) -> bool:
    return limit.of == "first" and limit.to is None


def _called(limit: Limit) -> str:
    if limit.of == "memory":
        return "bytes by byte of arguments and results, without tiles"
    if _alone(limit):
        return "first sweep, tracing included"
    tier = "" if limit.by == "anyshape" else f"{limit.by} "
    other = "by hand" if limit.to == "numpy" else limit.to
    return f"{tier}{'first sweep ' if limit.of == 'first' else ''}/ {other}"

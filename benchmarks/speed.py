"""Speed beside NumPy written by hand and beside other libraries: the workloads, each in turn by all that are there.

Every library works in a process of its own, with as many threads as there are cores (or as are asked for) and without
what it compiled on another day. The BLAS of NumPy, which the hand-written NumPy, anyshape and autograd use, has those
that OPENBLAS_NUM_THREADS says: one under `make bench`, as with two it stalls wherever others use a core.

Of each workload is measured: the first sweep, tracing and compiling included; sweeps afterwards, in turns round by
round; the first call at sizes not seen before; and, of those that allocate through NumPy, how much memory a sweep takes
at its peak. The results of the first sweep, of the last of those afterwards, and of each first call are checked
(`benchmarks.reference`), outside of what is timed. A library that fails, or whose results differ, has no numbers, and
the others go on.
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
    """What was found of a workload in one library: seconds, bytes; `failed` says why there is nothing."""

    first: float = np.nan
    turns: list[float] = field(default_factory=list)
    more: list[float] = field(default_factory=list)
    peak: int | None = None
    growth: float | None = None  # bytes of memory by byte of arguments and results
    failed: str = ""

    def fail(self, why: str) -> None:
        """Nothing that was measured counts."""
        self.first, self.turns, self.more, self.peak, self.growth = np.nan, [], [], None, None
        self.failed = why.strip().partition("\n")[0] or "failed without a word"

    @property
    def steady(self) -> float:
        return float(np.median(self.turns)) if self.turns else np.nan

    def as_json(self) -> dict[str, Any]:
        """Everything in it."""
        more = float(np.median(self.more)) if self.more else np.nan
        found = {"first": self.first, "steady": self.steady, "more": more, "peak": self.peak, "growth": self.growth}
        known = {k: v for k, v in found.items() if v is not None and not np.isnan(v)}
        return {**known, "turns": self.turns, **({"failed": self.failed} if self.failed else {})}


def run(
    effort: Effort,
    scale: float = 1.0,
    libraries: Sequence[str] | None = None,
    keys: Sequence[str] = tuple(WORKLOADS),
    threads: int | None = None,
) -> list[Result]:
    """The results of this file; `scale` makes the arrays smaller, `keys` are the workloads that are wanted."""
    results: list[Result] = []
    with workers(peers.installed() if libraries is None else libraries, threads or peers.cores()) as asked:
        versions = {name: _version(worker) for name, worker in asked.items()}
        for key in keys:
            results += judged(key, WORKLOADS[key], measure(key, asked, effort, scale), versions)
    return results


@contextmanager
def workers(libraries: Sequence[str], threads: int) -> Iterator[dict[str, Worker]]:
    """A process for each library, those of peers by the interpreter that has them."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: Worker(peers.interpreter(name), name, threads, folder) for name in libraries}
        try:
            yield asked
        finally:
            for worker in asked.values():
                worker.close()


def _version(worker: Worker) -> str:
    """That of its library; nothing where it does not work, which its first workload tells."""
    try:
        return worker.ask("hello")
    except Failed:
        return ""


# -- measuring ---------------------------------------------------------------------------------------------------


def measure(key: str, asked: dict[str, Worker], effort: Effort, scale: float) -> dict[str, Measured]:
    """What each library takes for a workload."""
    found = {name: Measured() for name in asked}
    try:
        expected = reference(key, scale, 0)
        for name, worker in _going(asked, found):
            with _failing(found[name]):
                found[name].first, results = worker.ask("first", key, scale)
                check(results, expected)
        _turns(asked, found, effort)
        for name, worker in _going(asked, found):
            with _failing(found[name]):
                check(worker.ask("results"), expected)
        _other_sizes(key, asked, found, scale)
    except Failed as error:  # of the reference: no library can be checked
        for measured in found.values():
            measured.fail(measured.failed or str(error))
    for name, worker in _going(asked, found):
        with _failing(found[name]):
            found[name].peak = worker.ask("peak", scale)
            if name == "anyshape":
                found[name].growth = _growth(key, worker, found[name].peak, scale)
    return found


def _going(asked: dict[str, Worker], found: dict[str, Measured]) -> list[tuple[str, Worker]]:
    """The libraries that have not failed yet."""
    return [(name, worker) for name, worker in asked.items() if not found[name].failed]


@contextmanager
def _failing(found: Measured) -> Iterator[None]:
    """Note what went wrong, and go on with the others."""
    try:
        yield
    except Failed as error:
        found.fail(str(error))


def _turns(asked: dict[str, Worker], found: dict[str, Measured], effort: Effort) -> None:
    """Sweeps in turns. Who starts changes from round to round."""
    start = time.perf_counter()
    for i in range(effort.rounds):
        if i >= min(LEAST_ROUNDS, effort.rounds) and time.perf_counter() - start > BUDGET:
            break
        going = _going(asked, found)
        for turn in range(len(going)):
            name, worker = going[(i + turn) % len(going)]
            with _failing(found[name]):
                found[name].turns.append(worker.ask("turn", LONGER * effort.turn, WARM * effort.turn))
            time.sleep(PAUSE)


def _other_sizes(key: str, asked: dict[str, Worker], found: dict[str, Measured], scale: float) -> None:
    """First calls at sizes not seen before."""
    for step in STEPS:
        expected = reference(key, scale, step)
        for name, worker in _going(asked, found):
            if not found[name].more or found[name].more[0] < LONG:
                with _failing(found[name]):
                    taken, results = worker.ask("more", step)
                    check(results, expected)
                    found[name].more.append(taken)


def _growth(key: str, worker: Worker, peak: int | None, scale: float) -> float | None:
    """What a sweep takes more at twice the size, per byte of arguments and results: without buffers of a fixed size."""
    if peak is None or not any(limit.of == "memory" for limit in WORKLOADS[key].limits):
        return None
    there = [_bytes(WORKLOADS[key].make(s, 0)) + _bytes(written(key, s, 0)) for s in (scale, 2 * scale)]
    given = [_bytes(WORKLOADS[key].make(s, 0)) for s in (scale, 2 * scale)]
    more = worker.ask("peak", 2 * scale) - peak + given[1] - given[0]
    return float(more / (there[1] - there[0]))


def _bytes(tree: Any) -> int:
    return sum(np.asarray(x).nbytes for x in leaves(tree))


# -- judging -----------------------------------------------------------------------------------------------------


def judged(key: str, workload: Workload, found: dict[str, Measured], versions: dict[str, str]) -> list[Result]:
    """A line for the ratio to what is written by hand, with all numbers, and one for each other limit."""
    times = ", ".join(f"{name} {seconds(m.steady)}" for name, m in found.items() if m.turns)
    failed = "".join(f"; {name}: {m.failed}" for name, m in found.items() if m.failed)
    first = next((limit for limit in workload.limits if limit.of == "steady" and limit.to == "numpy"), None)
    libraries = {name: {"version": versions[name], **m.as_json()} for name, m in found.items()}
    data = {"key": key, "title": workload.title, "libraries": libraries}
    value = value_of(Limit(0), found)
    results = [Result(f"{workload.title} / by hand", value, "x", first and first.at_most, times + failed, data)]
    for limit in [limit for limit in workload.limits if limit is not first]:
        value = value_of(limit, found)
        if not np.isnan(value):
            results.append(Result(f"  {_called(limit)}", value, "s" if _alone(limit) else "x", limit.at_most))
    return results


def value_of(limit: Limit, found: dict[str, Measured]) -> float:
    """What the limit is held against; NaN if something failed or is not installed."""
    ours, other = found.get("anyshape"), found.get(limit.to or "anyshape")
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
    return f"{'first sweep ' if limit.of == 'first' else ''}/ {limit.to}"

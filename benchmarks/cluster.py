"""Measure sums over chunks on two worker processes: traces, loads, speed-up, overhead, and Dask with NumPy by hand.

Chunks have 195 sizes or more. Times are of whole passes, as the caller sees them. They need two idle cores: a pass
waits for the later of two workers. The detail has the client's CPU time beside.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import math
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from anyshape import value_and_grad
from anyshape.cluster import ChunkedSum, Dask, Processes, Serial, chunked_sum, map_chunks
from benchmarks import peers
from benchmarks.cluster_data import (
    CHUNKS,
    COLUMNS,
    LOCAL,
    WORKERS,
    Tree,
    added,
    by_hand,
    chunk,
    chunks,
    loss,
    parameters,
    predicted,
    sizes,
)
from benchmarks.timing import Effort, Result, clock, interleaved, ratio

OVER = ("x", "y")
MOST_ROWS = 16_000  # of a chunk on average: a loaded machine must not ask for gigabytes
PATIENCE = 120.0  # seconds for a part: workers that do not start, or end, must not stop the rest
MANY = 40  # chunks in passes that are long


def run(effort: Effort, rows: int | None = None, compiled: int = 20) -> list[Result]:
    """The results of this file; `compiled` is the number of chunks for which a compiler per shape is measured."""
    rows = rows_for(5e-3) if rows is None else rows
    effort = effort.fewer(4)
    parts: dict[str, Callable[[], Iterator[Result]]] = {
        "processes": lambda: of_processes(effort, rows),
        "Dask": lambda: of_dask(effort, rows),
        "compilers per shape": lambda: against_peers(rows, compiled),
    }
    results: list[Result] = []
    for name, part in parts.items():
        try:
            with within(PATIENCE):
                for result in part():
                    results.append(result)  # one by one: what was measured before the time was up counts
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            results.append(Result(f"{name}: not measured to the end", math.nan, "", None, str(error)[-200:]))
    return results


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the main thread where the block takes longer."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def rows_for(seconds: float) -> int:
    """The rows of a chunk that takes this process so long."""
    w, rows = parameters(), 4000
    step, (x, y) = value_and_grad(loss), chunks(1, rows, rows)
    taken = min(clock(lambda: step(w, x[0], y[0])) for _ in range(10))
    return min(MOST_ROWS, max(100, round(rows * seconds / taken)))


def step_on(executor: Any) -> ChunkedSum:
    """The sum over chunks on an executor, of a function that nothing else has traced."""
    return chunked_sum(value_and_grad(loss), over=OVER, executor=executor)


def counters(name: str, executor: Any) -> list[Result]:
    """Traces and loads on workers in a pass over chunks of many sizes."""
    step, (x, y) = step_on(executor), chunks(CHUNKS, 1, CHUNKS)
    first = clock(lambda: step(parameters(), x, y))
    report = step.report
    assert report is not None
    detail = f"{len(set(report.rows))} sizes, {report.payload} bytes sent; first pass {first:.2f} s"
    loads = max(w.loads for w in report.workers)
    return [
        Result(f"traces on workers: {name}", report.traces, "", 0, detail),
        Result(f"loads of the function by a worker: {name}", loads, "", 1, detail),
    ]


def overhead(name: str, executor: Any, effort: Effort, floor: Callable[[], Any] | None = None) -> Result:
    """The time of a pass over small chunks, beside what they take without workers.

    The best of all rounds counts, which other processes delay least. `floor` is a call that gives out empty tasks.
    """
    step, (x, y), w = step_on(executor), chunks(CHUNKS, 1, 10), parameters()
    there = executor.put(x), executor.put(y)
    alone = step_on(Serial())
    calls = [lambda: step(w, *there), lambda: alone(w, x, y), *([] if floor is None else [floor])]
    best = interleaved(calls, effort).min(axis=0) * 1e3
    started = time.process_time()
    for _ in range(effort.rounds):
        step(w, *there)
    used = (time.process_time() - started) / effort.rounds * 1e3
    detail = f"{CHUNKS} chunks of 1 to 10 rows; without workers {best[1]:.1f} ms; CPU of this process {used:.1f} ms"
    if floor is not None:
        detail += f"; as many empty tasks {best[2]:.1f} ms"
    return Result(f"overhead of a pass: {name}", best[0] - best[1] / WORKERS, "ms", 15, detail)


# -- processes


def of_processes(effort: Effort, rows: int) -> Iterator[Result]:
    """Counters, overhead and speed-up of two processes of `concurrent.futures`."""
    with Processes(WORKERS) as executor:
        yield from on_processes(executor, effort, rows)


def on_processes(executor: Processes, effort: Effort, rows: int) -> Iterator[Result]:
    """The same on processes that are there."""
    w = parameters()
    yield from counters("processes", executor)
    yield overhead("processes", executor, effort)
    x, y = chunks(MANY, rows // 2, 3 * rows // 2)
    on_files = executor.put(x), executor.put(y)
    alone, together = step_on(Serial()), step_on(executor)
    times = interleaved([lambda: alone(w, x, y), lambda: together(w, *on_files)], effort)
    detail = f"{np.median(times[:, 0]) / len(x) * 1e3:.1f} ms for each chunk; the limit is a speed-up of 1.7"
    share = ratio(times[:, 1], times[:, 0])
    yield Result(f"a pass on {WORKERS} processes / on this one", share, "", 1 / 1.7, detail)


# -- Dask


def of_dask(effort: Effort, rows: int) -> Iterator[Result]:
    """Counters and overhead on Dask, and passes beside hand-written NumPy there; nothing without it."""
    if importlib.util.find_spec("distributed") is None:
        return
    distributed = importlib.import_module("distributed")
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
        yield from on_client(client, effort, rows)


def on_client(client: Any, effort: Effort, rows: int) -> Iterator[Result]:
    """The same on a cluster that is there."""
    executor = Dask(client)
    empty = lambda: client.gather(client.map(len, [[1]] * 4 * WORKERS, key="empty", pure=False))
    yield from counters("Dask", executor)
    yield overhead("Dask", executor, effort, empty)
    yield from beside_numpy(client, effort.fewer(2), rows)


def beside_numpy(client: Any, effort: Effort, rows: int) -> Iterator[Result]:
    """Passes over chunks that workers have made, beside the same by hand."""
    w, (x, y) = parameters(), on_workers(client, rows)
    step, hand = step_on(Dask(client)), hand_written(client, x, y)
    _require_equal(step(w, x, y), hand(w))
    times = interleaved([lambda: step(w, x, y), lambda: hand(w)], effort)
    detail = f"median {np.median(times[:, 1]) * 1e3:.0f} ms by hand: a task for each chunk, and the sum as a tree"
    share = ratio(times[:, 0], times[:, 1])
    yield Result("value and gradient / Dask with NumPy by hand", share, "", 1.1, detail)
    ours = lambda: client.compute(map_chunks(predicted, w, x).sum(), sync=True)
    theirs = lambda: client.compute(x.map_blocks(lambda b: predicted(w, b), drop_axis=1, dtype=float).sum(), sync=True)
    _require_equal(ours(), theirs())
    times = interleaved([ours, theirs], effort)
    detail = f"median {np.median(times[:, 1]) * 1e3:.0f} ms by map_blocks"
    yield Result("map_chunks / map_blocks of NumPy", ratio(times[:, 0], times[:, 1]), "", 1.1, detail)


def on_workers(client: Any, rows: int) -> Any:
    """Dask arrays of rows and of targets, whose chunks the workers make and keep: none of them travels."""
    da, delayed = importlib.import_module("dask.array"), importlib.import_module("dask").delayed
    x, y = [], []
    for number, count in enumerate(sizes(MANY, rows // 2, 3 * rows // 2)):
        pair = delayed(chunk, nout=2)(number, count)
        x.append(da.from_delayed(pair[0], (count, COLUMNS), float))
        y.append(da.from_delayed(pair[1], (count,), float))
    return client.persist([da.concatenate(x), da.concatenate(y)])


def hand_written(client: Any, x: Any, y: Any) -> Callable[[Tree], Any]:
    """The pass as users of Dask write it: a delayed call for each block, and `sum` of the results in a tree."""
    delayed = importlib.import_module("dask").delayed
    blocks = list(zip(x.to_delayed().ravel(), y.to_delayed().ravel(), strict=True))

    def step(w: Tree) -> Any:
        shared = client.scatter([w], broadcast=True, hash=False)[0]
        parts = [delayed(by_hand)(shared, *block) for block in blocks]
        while len(parts) > 1:
            parts = [delayed(added)(parts[i : i + 8]) for i in range(0, len(parts), 8)]
        return client.compute(parts[0], sync=True)

    return step


def _require_equal(ours: Any, theirs: Any) -> None:
    value = lambda result: result[0] if isinstance(result, tuple) else result
    np.testing.assert_allclose(value(ours), value(theirs), rtol=1e-9)


# -- a compiler per shape


def against_peers(rows: int, count: int) -> Iterator[Result]:
    """First and later passes by this library, by `jax.jit`, which compiles for each size, and by autograd on Dask."""
    x, y = chunks(count, rows // 2, 3 * rows // 2)
    w, step = parameters(), step_on(Serial())
    first, later = clock(lambda: step(w, x, y)), min(clock(lambda: step(w, x, y)) for _ in range(3))
    value = float(step(w, x, y)[0])
    yield Result(f"first pass over {count} chunks: anyshape", first, "s", None, f"later ones {later:.3f} s; 1 trace")
    for name, row in of_peers(rows, count).items():
        np.testing.assert_allclose(row["value"], value, rtol=1e-9)
        detail = f"later ones {row['later']:.3f} s"
        if "compiled" in row:
            detail += f"; compiled {row['compiled']:.0f} times"
        yield Result(f"first pass over {count} chunks: {name}", row["first"], "s", None, detail)


def of_peers(rows: int, count: int) -> dict[str, dict[str, float]]:
    """The rows of `benchmarks.cluster_peers` in the interpreter of the peers."""
    command = [peers.interpreter(), "-m", "benchmarks.cluster_peers", str(rows), str(count)]
    done = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise TimeoutError(f"the peers ended with {done.stderr.strip().splitlines()[-1:]}")
    rows_of: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return rows_of

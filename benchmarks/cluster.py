"""Measure sums over chunks on two worker processes: traces, loads, speed-up, overhead, and Dask with NumPy by hand.

Chunks have 195 sizes or more. Times are of whole passes, as the caller sees them. They need two idle cores.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import value_and_grad
from anyshape.cluster import ChunkedSum, Dask, Processes, Serial, chunked_sum, map_chunks
from benchmarks.timing import Effort, Result, clock, interleaved, ratio

WORKERS, CHUNKS, COLUMNS, HIDDEN = 2, 200, 32, 64
OVER = ("x", "y")
Tree = dict[str, Any]


def loss(w: Tree, x: Any, y: Any) -> Any:
    """Squared error of a network of one hidden layer, summed over rows."""
    return np.sum((np.tanh(x @ w["a"]) @ w["b"] - y) ** 2)


def by_hand(w: Tree, x: np.ndarray, y: np.ndarray) -> tuple[Any, Tree]:
    """The value and the gradient of the loss, in NumPy."""
    hidden = np.tanh(x @ w["a"])
    error = hidden @ w["b"] - y
    back = np.multiply.outer(2 * error, w["b"])
    back *= 1 - hidden * hidden
    return np.sum(error * error), {"a": x.T @ back, "b": 2 * (error @ hidden)}


def predicted(w: Tree, x: Any) -> Any:
    """Outputs of the network for each row."""
    return np.tanh(x @ w["a"]) @ w["b"]


def parameters() -> Tree:
    """The weights of the network."""
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=(COLUMNS, HIDDEN)) / 6, "b": rng.normal(size=HIDDEN)}


def chunks(count: int, least: int, most: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Chunks of rows and of targets; nearly all sizes differ."""
    rng = np.random.default_rng(1)
    sizes = rng.permutation(np.linspace(least, most, count).astype(int))
    return [rng.normal(size=(n, COLUMNS)) for n in sizes], [rng.normal(size=n) for n in sizes]


def rows_for(seconds: float) -> int:
    """The rows of a chunk that takes this process so long."""
    w, rows = parameters(), 4000
    step, (x, y) = value_and_grad(loss), chunks(1, rows, rows)
    taken = min(clock(lambda: step(w, x[0], y[0])) for _ in range(10))
    return max(100, round(rows * seconds / taken))


def run(effort: Effort, rows: int | None = None, compiled: int = 50) -> list[Result]:
    """The results of this file; `compiled` is the number of chunks for which a compiler per shape is measured."""
    rows = rows_for(5e-3) if rows is None else rows
    effort = effort.fewer(4)
    with Processes(WORKERS) as processes:
        results = of_processes(processes, effort, rows)
    distributed = _package("distributed")
    if distributed is not None:
        options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
        with distributed.LocalCluster(n_workers=WORKERS, **options) as cluster, distributed.Client(cluster) as client:
            results += of_dask(client, effort, rows)
    return [*results, *against_jax(rows, compiled)]


# -- processes


def of_processes(executor: Processes, effort: Effort, rows: int) -> list[Result]:
    """Counters, overhead and speed-up of two processes of `concurrent.futures`."""
    w = parameters()
    results = [*counters("processes", executor), overhead("processes", executor, effort)]
    x, y = chunks(40, rows // 2, 3 * rows // 2)
    on_files = executor.put(x), executor.put(y)
    alone, together = step_on(Serial()), step_on(executor)
    times = interleaved([lambda: alone(w, x, y), lambda: together(w, *on_files)], effort)
    detail = f"{np.median(times[:, 0]) / len(x) * 1e3:.1f} ms for each chunk; the limit is a speed-up of 1.7"
    share = ratio(times[:, 1], times[:, 0])
    return [*results, Result(f"a pass on {WORKERS} processes / on this one", share, "", 1 / 1.7, detail)]


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


def overhead(name: str, executor: Any, effort: Effort) -> Result:
    """The time of a pass over small chunks, beside what they take without workers."""
    step, (x, y), w = step_on(executor), chunks(CHUNKS, 1, 10), parameters()
    there = executor.put(x), executor.put(y)
    alone = step_on(Serial())
    times = interleaved([lambda: step(w, *there), lambda: alone(w, x, y)], effort)
    value = float(np.median(times[:, 0])) - float(np.median(times[:, 1])) / WORKERS
    detail = f"{CHUNKS} chunks of 1 to 10 rows; without workers {np.median(times[:, 1]) * 1e3:.1f} ms"
    return Result(f"overhead of a pass: {name}", value * 1e3, "ms", 15, detail)


# -- Dask


def of_dask(client: Any, effort: Effort, rows: int) -> list[Result]:
    """Counters and overhead on Dask, and passes beside hand-written NumPy there."""
    executor = Dask(client)
    results = [*counters("Dask", executor), overhead("Dask", executor, effort)]
    da, w = importlib.import_module("dask.array"), parameters()
    x, y = [
        da.concatenate([da.from_array(a, chunks=a.shape) for a in of]) for of in chunks(40, rows // 2, 3 * rows // 2)
    ]
    x, y = client.persist([x, y])
    step = step_on(executor)
    hand = hand_written(client, x, y)
    _require_equal(step(w, x, y), hand(w))
    times = interleaved([lambda: step(w, x, y), lambda: hand(w)], effort)
    detail = f"median {np.median(times[:, 1]) * 1e3:.0f} ms by hand: a task for each chunk, and the sum as a tree"
    results.append(
        Result("value and gradient / Dask with NumPy by hand", ratio(times[:, 0], times[:, 1]), "", 1.1, detail)
    )
    ours = lambda: client.compute(map_chunks(predicted, w, x).sum(), sync=True)
    theirs = lambda: client.compute(x.map_blocks(lambda b: predicted(w, b), drop_axis=1, dtype=float).sum(), sync=True)
    _require_equal(ours(), theirs())
    times = interleaved([ours, theirs], effort)
    detail = f"median {np.median(times[:, 1]) * 1e3:.0f} ms by map_blocks"
    return [*results, Result("map_chunks / map_blocks of NumPy", ratio(times[:, 0], times[:, 1]), "", 1.1, detail)]


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


def added(parts: Sequence[tuple[Any, Tree]]) -> tuple[Any, Tree]:
    """The sum of values and gradients."""
    return sum(value for value, _ in parts), {name: sum(slope[name] for _, slope in parts) for name in "ab"}


def _require_equal(ours: Any, theirs: Any) -> None:
    value = lambda result: result[0] if isinstance(result, tuple) else result
    np.testing.assert_allclose(value(ours), value(theirs), rtol=1e-9)


# -- a compiler per shape


def against_jax(rows: int, count: int) -> list[Result]:
    """A first and a second pass in this process, by this library and by `jax.jit`, which compiles for each size."""
    jax = _package("jax")
    x, y = chunks(count, 1, max(count, rows // 4))
    w, step = parameters(), step_on(Serial())
    passes = {"anyshape": lambda: step(w, x, y)}
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
        jnp = importlib.import_module("jax.numpy")
        compiled = jax.jit(jax.value_and_grad(lambda w, x, y: jnp.sum((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)))
        passes["jax.jit"] = lambda: added(
            [jax.tree.map(np.asarray, compiled(w, *pair)) for pair in zip(x, y, strict=True)]
        )
    results = []
    for name, call in passes.items():
        first, second = clock(call), clock(call)
        detail = f"{len({len(a) for a in x})} sizes; second pass {second:.3f} s"
        results.append(Result(f"first pass over {count} chunks: {name}", first, "s", None, detail))
    return results


def _package(name: str) -> Any:
    """A package, None where it is not installed."""
    return None if importlib.util.find_spec(name) is None else importlib.import_module(name)

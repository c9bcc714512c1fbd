"""A long chain of elementwise ops on a large array: time and memory of its gradient against its forward pass."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import anyshape
from anyshape.backend.runtime import block_cache
from benchmarks import peers
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

SIZE = 1_000_000
OPS = 100


def run(effort: Effort, size: int = SIZE, ops: int = OPS) -> list[Result]:
    """The results of this file."""
    x = np.random.default_rng(0).random(size)
    gradient = anyshape.grad(lambda x: np.sum(chain(np, x, ops)))
    np.testing.assert_allclose(gradient(x), derivative(x, ops), rtol=1e-9)
    calls: list[Callable[[], Any]] = [
        lambda: gradient(x),
        lambda: np.sum(chain(np, x, ops)),
        lambda: derivative(x, ops),
    ]
    names = ["anyshape", "forward", "by hand"]
    if peers.autograd is not None:
        theirs = peers.autograd.grad(lambda x: peers.autograd_numpy.sum(chain(peers.autograd_numpy, x, ops)))
        calls.append(lambda: theirs(x))
        names.append("autograd")
    table = interleaved(calls, Effort(effort.fewer(6).rounds, 0.0))
    mid = np.median(table, axis=0)
    peaks = [peak(call) / x.nbytes for call in calls]
    times = ", ".join(f"{name} {seconds(t)}" for name, t in zip(names, mid, strict=True))
    memory = ", ".join(f"{name} {p:.1f}" for name, p in zip(names, peaks, strict=True))
    results = [
        Result(f"gradient of {ops} ops, n = {size} / NumPy forward", ratio(table[:, 0], table[:, 1]), "x", 3.0, times),
        Result("  anyshape / hand-written gradient", ratio(table[:, 0], table[:, 2]), "x"),
        Result("  peak memory", peaks[0], "arrays", None, memory, {"bytes": peaks[0] * x.nbytes}),
    ]
    if peers.autograd is not None:
        results.append(Result("  anyshape / autograd", ratio(table[:, 0], table[:, 3]), "x"))
    return results


def chain(np: Any, x: Any, ops: int) -> Any:
    """sin, times, tanh, plus, in turn."""
    for _ in range(ops // 4):
        x = np.tanh(np.sin(x) * 1.5) + 0.25
    return x


def derivative(x: np.ndarray, ops: int) -> np.ndarray:
    """The gradient of the sum of `chain`, by hand; the backward pass overwrites the residuals of the forward pass."""
    residuals = []
    for _ in range(ops // 4):
        y = np.sin(x)
        y *= 1.5
        np.tanh(y, out=y)
        residuals.append((x, y))
        x = y + 0.25
    ct = np.ones_like(x)
    while residuals:
        x, y = residuals.pop()
        y *= y
        np.subtract(1, y, out=y)
        y *= ct
        y *= 1.5
        np.cos(x, out=ct)
        ct *= y
    return ct


def peak(call: Callable[[], Any]) -> float:
    """The most bytes that a call holds at once beyond what was there before it; NumPy reports its buffers."""
    call()
    block_cache.clear()  # what is kept for later calls is counted
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()

"""Plain Python that is read: a nest of loops, a loop that data ends, a fit by a recurrence, and the reading itself."""

from __future__ import annotations

import linecache
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

import anyshape
from anyshape.tracing.source import read, stored
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

SIZE, SWEEPS, PARTICLES, ROWS = 40, 10, 50, 300
LINES = 100  # of a function that is read


def run(effort: Effort) -> list[Result]:
    """The results of this file."""
    return [*nest(effort), *resampling(effort), *fit(), *reading(effort)]


def relaxed(u: Any, sweeps: Any) -> Any:
    """Relax the inner points of a square towards the means of their neighbours, one after the other."""
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            for j in range(1, len(u) - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def chosen(weights: Any, start: Any) -> Any:
    """Choose one of the weights for each of as many evenly spaced points of their sum."""
    total, points = np.cumsum(weights), (start + np.arange(len(weights))) / len(weights)
    picks, i, at = np.zeros(len(weights), dtype=int), 0, 0
    while i < len(weights):
        if points[i] <= total[at]:
            picks[i] = at
            i += 1
        else:
            at += 1
    return picks


def misfit(p: Any, y: Any) -> Any:
    """The negative log-likelihood of rows whose variance follows the square of the row before."""
    level, variance, total = p[0], p[1], 0.0
    for v in y:
        total += np.log(variance) + (v - level) ** 2 / variance
        variance = p[1] + p[2] * (v - level) ** 2 + p[3] * variance
    return total


def _once(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def nest(effort: Effort) -> list[Result]:
    """A nest of three loops: its first call beyond the second one, and a warm call against NumPy."""
    u = np.random.default_rng(0).normal(size=(SIZE, SIZE))
    function = anyshape.jit(relaxed)
    first, second = [_once(lambda: function(u.copy(), SWEEPS)) for _ in range(2)]
    np.testing.assert_allclose(function(u.copy(), SWEEPS), relaxed(u.copy(), SWEEPS), rtol=1e-12)
    detail = f"{seconds(second)} the second one, {function.cache_info().traces} trace"
    built = anyshape.jit(relaxed, optimize="now", compile="wait")
    return [
        Result("nest of three loops, first call less the second", first - second, "s", 0.3, detail),
        _warm("nest of three loops, a warm call / NumPy", built, relaxed, (u, SWEEPS), effort.fewer(10), 1.0),
    ]


def resampling(effort: Effort) -> list[Result]:
    """A loop whose iterations go on until data ends them."""
    weights = np.random.default_rng(1).uniform(size=PARTICLES)
    weights /= weights.sum()
    function = anyshape.jit(chosen, optimize="now", compile="wait")
    np.testing.assert_array_equal(function(weights, 0.5), chosen(weights, 0.5))
    call = np.median(interleaved([lambda: function(weights, 0.5)], effort)) * 1e3
    return [Result(f"resampling of {PARTICLES} particles", call, "ms", 0.3)]


def fit() -> list[Result]:
    """A fit by a recurrence over rows with its gradient, against NumPy with differences; CPU time of all its calls."""
    y = np.random.default_rng(2).normal(size=ROWS) * 0.3
    start, bounds = np.array([0.0, 0.05, 0.1, 0.5]), [(-1, 1), (1e-4, 1), (0, 0.45), (0, 0.5)]
    fits: list[Any] = []

    def solve(function: Any, jac: Any) -> None:
        with threadpool_limits(1):  # threads of BLAS that wait for work count as time of this process
            fits.append(minimize(function, start, args=(y,), jac=jac, bounds=bounds))

    ours = _once(lambda: solve(anyshape.value_and_grad(misfit), True))
    theirs = _once(lambda: solve(misfit, None))
    np.testing.assert_allclose(fits[0].fun, fits[1].fun, rtol=1e-5)
    detail = f"{fits[0].nfev} calls; NumPy with differences {seconds(theirs)}, {fits[1].nfev} calls"
    return [Result(f"fit of a recurrence over {ROWS} rows, all of it", ours, "s", 0.3, detail)]


def _warm(name: str, ours: Any, theirs: Any, args: tuple[Any, ...], effort: Effort, limit: float) -> Result:
    """The ratio of warm calls."""
    copied = lambda: (args[0].copy(), *args[1:])
    ours(*copied())
    table = interleaved([lambda f=f: f(*copied()) for f in (ours, theirs)], effort)
    mid = np.median(table, axis=0)
    detail = f"{seconds(mid[0])} a call, NumPy {seconds(mid[1])}"
    return Result(name, ratio(table[:, 0], table[:, 1]), "x", limit, detail)


def reading(effort: Effort) -> list[Result]:
    """The time to read a function: its syntax, the analysis of its loops, and the rewritten code, or what is stored."""
    least = again = np.inf
    for k in range(max(effort.rounds // 4, 3)):
        body = [f"    for i in range({k}, len(x) - {n}):\n        x[i] += x[i + {n}] * 2\n" for n in range(LINES // 2)]
        text, file = f"def function{k}(x):\n{''.join(body)}    return x\n", f"<function {k}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        space: dict[str, Any] = {}
        exec(compile(text, file, "exec"), space)
        start = time.process_time()
        code = read._code(space[f"function{k}"])
        least = min(least, time.process_time() - start)
        assert not isinstance(code, str), code
        own = space[f"function{k}"].__code__.replace(co_filename=__file__)
        stored.store(own, "", code)
        again = min(again, _once(lambda own=own: stored.stored(own, "")))  # type: ignore[misc]
        assert stored.stored(own, "") == code
    name = f"reading a function of {LINES} lines"
    return [Result(name, least * 1e3, "ms"), Result(f"{name}, in another process", again * 1e3, "ms", 3.0)]

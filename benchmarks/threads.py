"""Compare default threads of linear algebra with one thread: neither should cost much.

    python -m benchmarks.threads N

prints the milliseconds of each function for matrices of N rows as JSON; `run` starts it with default threads and with
one, in turns. Each function follows a product of NumPy in a program, so that two pools of threads would meet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anyshape import grad, jit
from anyshape import numpy as anp
from anyshape.scipy import linalg
from benchmarks.timing import Effort, Result
from benchmarks.worker import COUNTS

SIZES = (50, 200, 400)
SLOW = ("schur", "sqrtm", "svd", "eig")  # without gradients here
LEAST = 7  # runs of a function; the fastest counts
SPENT = 0.3  # seconds of a function at least


def functions() -> dict[str, Callable[[Any, Any], Any]]:
    """The functions of a matrix, and of one that is positive definite."""
    triangle = lambda a, s: linalg.solve_triangular(anp.tril(s), a, lower=True)
    return {
        "product": lambda a, s: a @ s,
        "cholesky": lambda a, s: anp.linalg.cholesky(s),
        "triangle": triangle,
        "vector": lambda a, s: linalg.solve_triangular(anp.tril(s), a[:, 0], lower=True),
        "solve": lambda a, s: anp.linalg.solve(s, a),
        "inverse": lambda a, s: anp.linalg.inv(s),
        "determinant": lambda a, s: anp.linalg.slogdet(s)[1],
        "lu": lambda a, s: linalg.lu_solve(linalg.lu_factor(s), a),
        "qr": lambda a, s: anp.linalg.qr(a)[1],
        "eigh": lambda a, s: anp.linalg.eigh(s)[0],
        "svd": lambda a, s: anp.linalg.svd(a)[1],
        "eig": lambda a, s: anp.abs(anp.linalg.eigvals(a)),
        "expm": lambda a, s: linalg.expm(a / 99),
        "sqrtm": lambda a, s: linalg.sqrtm(s),
        "schur": lambda a, s: linalg.schur(a)[0],
        "lstsq": lambda a, s: linalg.lstsq(a, a[:, 0])[0],
    }


def measured(size: int) -> dict[str, float]:
    """The milliseconds of each function and of its gradient."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(size, size))
    arguments, times = (a, a @ a.T + size * np.eye(size)), {}
    for name, function in functions().items():
        behind = lambda a, s, f=function: f(a + 1e-9 * (a @ s), s)
        kinds = {name: jit(behind)}
        if name not in SLOW:
            kinds[f"gradient of {name}"] = grad(lambda a, s, f=behind: anp.sum(f(a, s) ** 2), argnums=(0, 1))
        for kind, call in kinds.items():
            call(*arguments)
            times[kind] = 1e3 * least_time(lambda: call(*arguments))  # noqa: B023  # it is called at once
    return times


def least_time(call: Callable[[], Any]) -> float:
    """The least time of a call, in seconds."""
    taken: list[float] = []
    start = time.perf_counter()
    while len(taken) < LEAST or time.perf_counter() - start < SPENT:
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return min(taken)


def run(effort: Effort, sizes: tuple[int, ...] = SIZES) -> list[Result]:
    """The results of this file."""
    return [result for size in sizes for result in at_size(size, effort.fewer(4).rounds)]


def at_size(size: int, rounds: int) -> list[Result]:
    """The worst ratio of default threads to the better of both, with all others."""
    plain = {name: value for name, value in os.environ.items() if name not in COUNTS}
    kinds = plain, plain | dict.fromkeys(COUNTS, "1")
    table: list[list[dict[str, float]]] = [[], []]
    for _ in range(rounds):
        for times, environment in zip(table, kinds, strict=True):
            command = [sys.executable, "-m", "benchmarks.threads", str(size)]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[1]
            )
            times.append(json.loads(done.stdout))
    best = [{name: min(times[name] for times in runs) for name in runs[0]} for runs in table]
    ratios = {name: best[0][name] / min(best[0][name], best[1][name]) for name in best[0]}
    worst = sorted(ratios, key=ratios.__getitem__, reverse=True)
    detail = ", ".join(f"{name} {ratios[name]:.2f} of {best[1][name]:.3g} ms" for name in worst[:4])
    title = f"default threads / the better of these and one, {size} rows, the worst"
    return [Result(title, ratios[worst[0]], "x", 1.1, detail, {"default": best[0], "one": best[1]})]


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))

"""Measure loops of the program against loops by hand: a recurrent network, a small body, examples that end apart.

First calls are made in processes of their own, by anyshape and by jax where it is installed. A loop with checkpoint
slots counts how often its body runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import anyshape
from benchmarks import first_loop, peers
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

WIDTH = 16


def run(
    effort: Effort, steps: int = 1000, examples: int = 256, lengths: int = 200, libraries: Sequence[str] = ("jax",)
) -> list[Result]:
    """The results of this file."""
    times = min(3, effort.rounds // 10) or 1
    return [
        recurrent(effort, steps),
        *sweeps(effort, times, [name for name in libraries if name in peers.installed()]),
        *first_gradients(times, lengths),
        *prefixes(effort, times),
        small_body(effort, steps),
        *examples_apart(effort, examples, steps),
        *checkpointed(steps),
    ]


# -- first calls -------------------------------------------------------------------------------------------------


class FirstSweep(NamedTuple):
    """Measurements of a first sweep; see `first_loop.measure`."""

    first: float
    megabytes: float
    later: float
    value: float

    def __str__(self) -> str:
        return f"{seconds(self.first)}, {self.megabytes:.0f} MB, then {seconds(self.later)}"


def first_sweep(library: str, program: str, times: int = 1) -> FirstSweep:
    """The fastest of some first sweeps, each in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(peers.ROOT)}
    environment.pop("ANYSHAPE_CHECK", None)
    command = [peers.interpreter(library), "-m", "benchmarks.first_loop", library, program]
    measured = []
    for _ in range(times):
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=peers.ROOT)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
        measured.append(FirstSweep(**json.loads(done.stdout)))
    return min(measured, key=lambda sweep: sweep.first)


def sweeps(effort: Effort, times: int, libraries: Sequence[str]) -> list[Result]:
    """A recurrent network at five lengths: the first sweep, and later ones against a loop by hand."""
    name = f"tanh RNN, d = {first_loop.WIDTH}, {len(first_loop.LENGTHS)} lengths, value and gradient"
    ours = first_sweep("anyshape", "recurrent", times)
    others = {library: first_sweep(library, "recurrent", times) for library in libraries}
    for other in others.values():
        np.testing.assert_allclose(other.value, ours.value, rtol=1e-9)
    lib, arguments = first_loop.with_anyshape(), first_loop.sequences()
    step = lib.value_and_grad(lambda *args: first_loop.recurrent(lib, *args), (0, 1, 2))
    for args in arguments:
        (value, derivatives), (expected, by_hand) = step(*args), first_loop.recurrent_by_hand(*args)
        for got, want in zip((value, *derivatives), (expected, *by_hand), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    calls = [lambda f=f: [f(*args) for args in arguments] for f in (step, first_loop.recurrent_by_hand)]
    steady = _against(f"  {name}, steady", calls, 1.0, effort)
    by_hand = interleaved(calls[1:], effort.fewer(10)).min()
    return [
        Result(f"{name}, cold sweep", 1e3 * ours.first, "ms", 60, str(ours)),
        *[Result(f"  by {n}", 1e3 * other.first, "ms", None, str(other)) for n, other in others.items()],
        steady,
        *[Result(f"  by {n}", other.later / by_hand, "x", None, "steady") for n, other in others.items()],
    ]


def first_gradients(times: int, lengths: int) -> list[Result]:
    """First gradients of a scan whose body has twenty operations, and of many small steps of an equation."""
    twenty, steps = [first_sweep("anyshape", name, times) for name in ("twenty", "lotka_volterra")]
    return [
        Result("first gradient of a scan, body of 20 ops", 1e3 * twenty.first, "ms", 80, str(twenty)),
        Result(f"  traces for {lengths} lengths", traces(lengths), "", 1),
        Result("Lotka-Volterra, 1000 steps of Runge-Kutta: first gradient", steps.first, "s", 0.3, str(steps)),
        Result("  memory above the import", steps.megabytes, "MB", 60),
    ]


def traces(lengths: int) -> int:
    """Return how often the loss with a body of 20 ops is traced for so many lengths, 0 and 1 among them."""
    lib = first_loop.with_anyshape()
    step = anyshape.jit(lib.value_and_grad(lambda *args: first_loop.twenty(lib, *args), (0, 1)))
    ((w, rows),) = first_loop.rows()
    for n in range(lengths):
        step(w, np.resize(rows, (n, *rows.shape[1:])))
    return int(step.cache_info().traces)


def prefixes(effort: Effort, times: int) -> list[Result]:
    """The likelihood of a hidden Markov model by `associative_scan`, beside the same loop unrolled by a trace."""
    name = "HMM of 200 symbols by associative_scan"
    value, gradient = (
        first_sweep("anyshape", program, times) for program in ("hidden_markov", "hidden_markov_gradient")
    )
    (args,), lib = first_loop.symbols(), first_loop.with_anyshape()
    for measured in (value, gradient):
        np.testing.assert_allclose(measured.value, first_loop.forward_algorithm(*args), rtol=1e-12)
    loop = anyshape.jit(lambda *args: first_loop.hidden_markov(lib, *args), optimize="now")
    unrolled = anyshape.jit(first_loop.forward_algorithm)
    np.testing.assert_allclose(loop(*args), unrolled(*args), rtol=1e-12)
    ours, other = np.median(interleaved([lambda: loop(*args), lambda: unrolled(*args)], effort.fewer(2)), axis=0)
    return [
        Result(f"{name}: first call", value.first, "s", 0.3, str(value)),
        Result("  first gradient", gradient.first, "s", None, str(gradient)),
        Result("  steady", 1e3 * ours, "ms", 1, f"unrolled {seconds(other)}"),
    ]


# -- a recurrent network -----------------------------------------------------------------------------------------


def recurrent_loss(w: Any, u: Any, xs: Any) -> Any:
    """The sum of the squares of all states of a tanh network."""

    def step(h: Any, x: Any) -> Any:
        after = np.tanh(w @ h + u @ x)
        return after, after

    return np.sum(anyshape.scan(step, np.zeros(WIDTH), xs)[1] ** 2)


def recurrent_by_hand(w: Any, u: Any, xs: Any) -> tuple[Any, Any]:
    """The gradients with respect to both weights."""
    states = np.empty((len(xs) + 1, WIDTH))
    states[0] = 0
    for t, x in enumerate(xs):
        states[t + 1] = np.tanh(w @ states[t] + u @ x)
    dw, du, back = np.zeros_like(w), np.zeros_like(u), np.zeros(WIDTH)
    for t in range(len(xs) - 1, -1, -1):
        derivative = (back + 2 * states[t + 1]) * (1 - states[t + 1] ** 2)
        dw += np.outer(derivative, states[t])
        du += np.outer(derivative, xs[t])
        back = w.T @ derivative
    return dw, du


def recurrent(effort: Effort, steps: int) -> Result:
    """The gradient of the network against a loop with its backward pass by hand."""
    rng = np.random.default_rng(0)
    w, u = (rng.normal(size=(WIDTH, WIDTH)) / 4 for _ in range(2))
    xs = rng.normal(size=(steps, WIDTH))
    derivative = anyshape.jit(anyshape.grad(recurrent_loss, (0, 1)), optimize="now")
    for ours, expected in zip(derivative(w, u, xs), recurrent_by_hand(w, u, xs), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)
    calls: list[Callable[[], Any]] = [lambda: derivative(w, u, xs), lambda: recurrent_by_hand(w, u, xs)]
    return _against(f"tanh RNN, d = {WIDTH}, {steps} steps, gradient", calls, 0.8, effort)


def _against(name: str, calls: list[Callable[[], Any]], limit: float, effort: Effort) -> Result:
    """The time of the first call over the second one."""
    table = interleaved(calls, effort)
    ours, theirs = np.median(table, axis=0)
    return Result(f"{name}: anyshape / by hand", ratio(table[:, 0], table[:, 1]), "x", limit,
                  f"{seconds(ours)}, by hand {seconds(theirs)}")  # fmt: skip


# -- a small body ------------------------------------------------------------------------------------------------


def small_body(effort: Effort, steps: int) -> Result:
    """Three operations on 4 x 4 per trip."""
    a = np.random.default_rng(1).normal(size=(4, 4)) / 3

    def body(carry: Any) -> Any:
        i, x = carry
        return i + 1, np.tanh(a @ x) + x

    def by_hand(x: Any) -> Any:
        i = 0
        while i < steps:
            i, x = body((i, x))
        return x

    loop = anyshape.jit(lambda x: anyshape.while_loop(lambda c: c[0] < steps, body, (0, x))[1], optimize="now")
    x = np.ones((4, 4))
    np.testing.assert_allclose(loop(x), by_hand(x))
    return _against("while_loop of 3 ops on 4 x 4, per trip", [lambda: loop(x), lambda: by_hand(x)], 1.0, effort)


# -- examples that end apart -------------------------------------------------------------------------------------


def halving(row: Any, trips: Any) -> Any:
    """A loop of so many trips over a row."""
    return anyshape.while_loop(lambda c: c[0] < trips, lambda c: (c[0] + 1, np.sin(c[1]) * 0.99 + 0.01), (0, row))[1]


def masked(rows: Any, trips: Any) -> Any:
    """The same of all rows together: each trip computes all, and keeps the rows that have ended."""
    done, shape = 0, (-1,) + (1,) * (rows.ndim - 1)
    while np.any(done < trips):
        rows = np.where((done < trips).reshape(shape), np.sin(rows) * 0.99 + 0.01, rows)
        done += 1
    return rows


def rows_computed(trips: Any) -> int:
    """Return how many rows the body of a batched loop computes in all, counted by a callback for each of them."""
    rows: list[int] = []

    def counted(row: Any) -> Any:
        rows.append(1)
        return row

    def loop(row: Any, trips: Any) -> Any:
        number = anyshape.ShapeDtypeStruct((), float)
        body = lambda carry: (carry[0] + 1, anyshape.pure_callback(counted, number, carry[1]))
        return anyshape.while_loop(lambda c: c[0] < trips, body, (0, row))[1]

    anyshape.jit(anyshape.vmap(loop), optimize="now")(np.ones(len(trips)), trips)
    return len(rows)


def examples_apart(effort: Effort, examples: int, steps: int) -> list[Result]:
    """A batch whose examples make from 1 to `steps` trips: rows that its body computes, then times by width."""
    rng, results = np.random.default_rng(2), []
    trips = np.linspace(1, steps, examples).astype(np.int64)
    rows, least = rows_computed(trips), int(trips.sum())
    name = f"vmap of a while_loop, {examples} examples, trips from 1 to {steps}: rows computed / sum of trips"
    results.append(Result(name, rows / least, "x", 1.05, f"{rows:,} of {least:,}"))
    loop = anyshape.jit(anyshape.vmap(halving), optimize="now")
    for width, limit in ((512, 0.55), (1, 1.1)):
        rows = rng.normal(size=(examples, width) if width > 1 else examples)
        np.testing.assert_allclose(loop(rows, trips), masked(rows, trips))
        calls: list[Callable[[], Any]] = [lambda rows=rows: loop(rows, trips), lambda rows=rows: masked(rows, trips)]
        name = f"vmap of a while_loop, {examples} examples, rows of {width}"
        results.append(_against(name, calls, limit, effort))
    return results


# -- checkpoint slots --------------------------------------------------------------------------------------------


def checkpointed(steps: int, slots: int = 32, size: int = 10_000) -> list[Result]:
    """How often a gradient with so many slots runs the body of the loop, and its memory in carries."""
    runs: list[int] = []

    def counted(total: Any) -> Any:
        runs.append(1)
        return total

    def slope(policy: Any) -> Callable[..., Any]:
        def loss(x: Any, trips: Any) -> Any:
            def body(carry: Any) -> Any:
                i, h = carry
                scale = anyshape.ShapeDtypeStruct((), float)
                total = anyshape.pure_callback(counted, scale, anyshape.stop_gradient(h[0]))
                return i + 1, np.tanh(h + 1e-3 * total)

            return np.sum(anyshape.while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=policy)[1])

        return anyshape.jit(anyshape.grad(loss), optimize="now")

    gradient, x = slope(slots), np.linspace(-1, 1, size)
    np.testing.assert_allclose(gradient(x[:3], steps), slope(None)(x[:3], steps), rtol=1e-9)
    runs.clear()
    tracemalloc.start()
    gradient(x, steps)
    memory = tracemalloc.get_traced_memory()[1] / x.nbytes
    tracemalloc.stop()
    name, count = f"checkpoint={slots} at {steps:,} steps", len(runs) / steps
    return [
        Result(f"{name}: forward runs", count, "runs", 3.6, f"{len(runs)} trips in all"),
        Result(
            f"{name}: memory", memory, "carries", 1.25 * slots + 4, f"of {size:,} numbers each, with those of a trip"
        ),
    ]

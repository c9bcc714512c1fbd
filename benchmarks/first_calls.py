"""Measure first calls: CPU seconds and memory from Python to the first result, and how both grow with the program.

Each first call is made in a process of its own (`first_call.py`), by anyshape and by jax and autograd where they are
installed. CPU seconds count all threads of the process. A slow one is ended, and its line says so.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import anyshape
from anyshape.transforms import sharing
from benchmarks import peers
from benchmarks.first_call import ten_ops
from benchmarks.importing import Interpreter, needed_parts
from benchmarks.timing import Effort, Result, seconds

ROOT = Path(__file__).resolve().parents[1]
PEERS = ("jax", "autograd")
PATIENCE = 180.0  # seconds until a first call is ended
SIZES = (100, 1_000, 10_000)  # ops
GROWING = ("elementwise", "matmul", "rnn", "wide")
LEAVES = {100: 0.25, 500: 1.3, 2_000: 6.0}  # limits in seconds, by number of parameters
STENCILS = {"bodies": 5, "diffusion": 5, "fluid": 8}
CPU = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
FIRST_GRADIENT = "import numpy as np, anyshape; anyshape.grad(lambda x: (x * x).sum())(np.arange(3.0))"


class FirstCall(NamedTuple):
    """Measurements of one first call; see `first_call.measure`."""

    first: float
    megabytes: float
    later: float
    value: float
    overhead: float | None

    def __str__(self) -> str:
        return f"{seconds(self.first)}, {self.megabytes:.0f} MB, then {seconds(self.later)}"


def run(
    effort: Effort, ops: Sequence[int] = SIZES, leaves: Sequence[int] = tuple(LEAVES), libraries: Sequence[str] = PEERS
) -> list[Result]:
    """The results of this file: the lines with limits, then growth, with one to three processes for each line."""
    times = min(3, effort.rounds // 10) or 1
    return [
        *chains(ops, times),
        *parameters(leaves, times),
        *stencils(times),
        *small_ones(effort, times),
        *growth(ops, [name for name in libraries if name in peers.installed()]),
    ]


def first_call(library: str, program: str, size: int, *options: str, times: int = 1) -> FirstCall | None:
    """The fastest of some first calls, each in a process of its own; None where one takes too long."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("ANYSHAPE_CHECK", None)
    python = sys.executable if library == "anyshape" else peers.interpreter(library)
    command = [python, "-m", "benchmarks.first_call", library, program, str(size), *options]
    measured = []
    for _ in range(times):
        try:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"{' '.join(command)}\n{error.stderr}") from error
        measured.append(FirstCall(**json.loads(done.stdout)))
    return min(measured, key=lambda call: call.first)


# -- lines with limits --------------------------------------------------------------------------------------------


def chains(ops: Sequence[int], times: int) -> Iterator[Result]:
    """Long unrolled programs: their gradients, what each op costs, and memory."""
    limits = {1_000: 0.5, 10_000: 5.0}
    calls = {n: first_call("anyshape", "elementwise", n, "--gradient", times=times) for n in ops}
    for n in ops:
        yield _result(f"first gradient of {n} elementwise ops", calls[n], limits.get(n))
    few, many = (calls[n] for n in (ops[-2], ops[-1]))
    if few is not None and many is not None:
        each = many.first / ops[-1] / (few.first / ops[-2])
        yield Result(f"  each op of {ops[-1]} / of {ops[-2]}", each, "x", 1.2)
        yield Result("  memory", many.megabytes, "MB", 200)
    steps = 100 if max(ops) > 1_000 else 10
    pendulum = first_call("anyshape", "rk4", steps, "--gradient", times=times)
    yield _result(f"first gradient of {steps} steps of Runge-Kutta", pendulum, 2.5)
    if pendulum is not None:
        yield Result("  memory", pendulum.megabytes, "MB", 150)


def parameters(leaves: Sequence[int], times: int) -> Iterator[Result]:
    """Many parameters in a list and in a dict, each of sizes of its own."""
    for n in leaves:
        for kind in ("list", "dict"):
            call = first_call("anyshape", kind, n, "--gradient", times=times)
            yield _result(f"first value and gradient, {n} parameters in a {kind}", call, LEAVES[n])
            if call is not None and call.overhead is not None:
                detail = "a later call beyond the run of its plan"
                yield Result("  later calls, by parameter", 1e6 * call.overhead / n, "us", 2, detail)


def stencils(times: int) -> Iterator[Result]:
    """Programs whose sizes are related, with these relations declared and not."""
    for name, size in STENCILS.items():
        unknown = first_call("anyshape", name, size, "--gradient", times=times)
        declared = first_call("anyshape", name, size, "--gradient", "--declared", times=times)
        yield _result(f"first value and gradient of {name}, undeclared sizes", unknown, 0.5)
        if unknown is not None and declared is not None:
            yield Result("  / with declared sizes", unknown.first / declared.first, "x", 2, str(declared))


def small_ones(effort: Effort, times: int) -> Iterator[Result]:
    """Ten ops on ten elements: their first call, later ones at other sizes, and the import before."""
    yield _result("first gradient of ten ops", first_call("anyshape", "ten", 10, "--gradient", times=times), 0.015)
    yield new_size(effort.rounds)
    yield new_pattern(effort.rounds)
    yield import_to_gradient(times)


def new_size(rounds: int) -> Result:
    """The first call at a size over a repeated one, in the median."""
    gradient = anyshape.grad(ten_ops(np, 0))
    repeated = _repeated(lambda: gradient(np.ones(10)))
    first = [_timed(gradient, np.ones(n)) for n in range(11, 31 + rounds)]
    detail = f"{seconds(float(np.median(first)))} and {seconds(repeated)}"
    return Result(
        "ten elements: first call at a new size / a repeat", float(np.median(first)) / repeated, "x", 1.3, detail
    )


def new_pattern(rounds: int) -> Result:
    """The first call at a new pattern of ones beyond a repeat of it."""
    extra = []
    for _ in range(rounds):
        sharing.forget()  # functions of one code share programs
        gradient = anyshape.grad(lambda x, y: (np.sin(x) * y + np.tanh(x + y)).sum())
        for _ in range(3):
            gradient(np.ones(10), np.ones(10))
        first = _timed(gradient, np.ones(10), np.ones(1))
        extra.append(first - _repeated(lambda call=gradient: call(np.ones(10), np.ones(1))))  # type: ignore[misc]
    return Result("ten elements: first call at a new pattern of ones", 1e3 * float(np.median(extra)), "ms", 0.1)


def import_to_gradient(times: int) -> Result:
    """CPU seconds from the import to a first gradient, beyond the import of NumPy and SciPy."""
    with TemporaryDirectory() as bytecode:
        python = Interpreter(bytecode)
        needed = needed_parts(python)
        statements = [CPU.format(statement) for statement in (f"import {needed}", FIRST_GRADIENT)]
        table = np.array([[float(python("-c", s)) for s in statements] for _ in range(2 + times)])[1:]
    theirs, ours = 1e3 * table.min(axis=0)
    detail = f"{ours:.0f} ms, of which {needed} take {theirs:.0f}"
    return Result("import to first gradient beyond NumPy and SciPy", ours - theirs, "ms", 150, detail)


def _result(name: str, call: FirstCall | None, limit: float | None) -> Result:
    if call is None:
        return Result(name, math.inf, "s", limit, f"not within {PATIENCE:g} s")
    return Result(name, call.first, "s", limit, str(call), call._asdict())


def _timed(call: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def _repeated(call: Callable[[], Any]) -> float:
    """The median time of a repeated call."""
    return float(np.median([_timed(call) for _ in range(20)]))


# -- growth -------------------------------------------------------------------------------------------------------


def growth(ops: Sequence[int], libraries: Sequence[str]) -> Iterator[Result]:
    """How the first call grows from few ops to many, for values and gradients, beside other libraries."""
    for program in GROWING:
        for options in ((), ("--gradient",)):
            ours = _calls("anyshape", program, ops, options)
            yield _growth(f"{program}, {'gradient' if options else 'jit'}: anyshape", ours)
            for library in libraries:
                theirs = _calls(library, program, ops, options)
                _check(program, ours, theirs)
                yield _growth(f"  {library}", theirs)


def _calls(library: str, program: str, ops: Sequence[int], options: Sequence[str]) -> dict[int, FirstCall | None]:
    """First calls by the number of ops. After one that takes too long, no longer program is tried."""
    calls: dict[int, FirstCall | None] = {}
    for n in ops:
        too_long = any(call is None for call in calls.values())
        calls[n] = None if too_long else first_call(library, program, n, *options)
    return calls


def _growth(name: str, calls: dict[int, FirstCall | None]) -> Result:
    """Milliseconds of an op in the longest program that was measured, and the first calls by length."""
    done = {n: call for n, call in calls.items() if call is not None}
    texts = [f"{n}: {'too long' if call is None else call}" for n, call in calls.items()]
    longest = max(done, default=0)
    each = 1e3 * done[longest].first / longest if done else math.inf
    data = {str(n): call._asdict() for n, call in done.items()}
    return Result(f"first call, {name}", each, "ms / op", None, "; ".join(texts), data)


def _check(program: str, ours: dict[int, FirstCall | None], theirs: dict[int, FirstCall | None]) -> None:
    """Raise unless both libraries compute the same value."""
    for n, call in ours.items():
        other = theirs[n]
        if call is not None and other is not None:
            np.testing.assert_allclose(call.value, other.value, rtol=1e-6, err_msg=f"{program} of {n} ops")

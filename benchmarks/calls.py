"""Measure the overhead of a call beyond its plan, the number of traces, and the cold start beside other libraries.

Other libraries run in subprocesses, as `benchmarks.peers` says; missing ones are skipped.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import timeit
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import anyshape
from anyshape.tracing.captured.watch import watch
from benchmarks import peers
from benchmarks.importing import Interpreter
from benchmarks.timing import Effort, Result, interleaved, seconds

GUARDS = 20
REPEATS = 20  # calls in a row: a single one is close to what the clock can tell
PLANNED = 20  # calls after which each has the plan that it keeps
PEERS = ("jax", "torch")
MANY = 100  # things of one kind in captured state
TURN, TURNS = 1e-4, 10  # seconds of a turn, and turns in a round
COMPILED = 12  # lengths for which others compile


def run(effort: Effort, shapes: int = 1000, lengths: int = 60, libraries: Sequence[str] = PEERS) -> list[Result]:
    """The results of this file."""
    return [
        *overhead(effort),
        *made_anew(effort),
        *captured_state(effort),
        *traces(shapes),
        *cold_start(lengths, libraries),
    ]


# -- the call ----------------------------------------------------------------------------------------------------


def total(x: Any, y: Any, z: Any) -> Any:
    """A function of three arrays that does little."""
    return x + y + z


def guarded(x: Any, y: Any, z: Any) -> Any:
    """The same after decisions on sizes that need GUARDS guards: no one follows from another."""
    sizes = [*x.shape, *y.shape, *z.shape]
    kinds = (lambda s: s > 2, lambda s: s < 50, lambda s: s != 30)
    questions = [kind(s) for kind in kinds for s in sizes[: GUARDS // 3 + (kind is not kinds[2])]]
    if not all(questions):
        return x
    return x + y + z


def nested(params: Any, scale: Any) -> Any:
    """The same of arrays in lists, dicts and tuples, given back in one."""
    (x, y), rest = params["first"]
    return {"sum": total(x, y, rest["z"]), "scaled": (scale * x,)}


def overhead(effort: Effort) -> list[Result]:
    """Measure the microseconds of a call beyond the function of its plan: with arrays, with trees, with guards."""
    arrays = [np.ones((8, 7, 6)) for _ in range(3)]
    x, y, z = arrays
    flat, tree = {"x": x, "y": y, "z": z}, {"first": [(x, y), {"z": z}]}
    plain, careful, deep = anyshape.jit(total), anyshape.jit(guarded, read_source="off"), anyshape.jit(nested)
    keywords = anyshape.jit(lambda params: total(**params))
    traced = anyshape.trace(total)(*[anyshape.ShapeDtypeStruct("a, b, c")] * 3)
    whole: list[Callable[[], Any]] = [
        lambda: plain(x, y, z),
        lambda: careful(x, y, z),
        lambda: keywords(flat),
        lambda: deep(tree, 2.0),
        lambda: traced(x, y, z),
    ]
    for call in whole * PLANNED:
        result = call()
        np.testing.assert_array_equal(result["sum"] if isinstance(result, dict) else result, total(x, y, z))
    scale = np.array(2.0)
    runs = [f.programs()[0].run for f in (plain, careful, keywords, deep)]
    inside: list[Callable[[], Any]] = [
        lambda: runs[0](x, y, z),
        lambda: runs[1](x, y, z),
        lambda: runs[2](x, y, z),
        lambda: runs[3](x, y, z, scale),
        lambda: traced.run(x, y, z),
    ]
    table = interleaved([repeated(call) for call in (*whole, *inside)], effort) / REPEATS * 1e6
    beyond = np.median(table[:, : len(whole)] - table[:, len(whole) :], axis=0).tolist()
    more = float(np.median(table[:, 1] - table[:, 0]))  # what runs asks the guards itself
    guards = len([c for c in careful.programs()[0].graph.conditions if c.kind == "guard"])
    detail = f"a call {np.median(table[:, 0]):.3g} us, its plan {np.median(table[:, len(whole)]):.3g} us"
    return [
        Result("a hit with three arrays, beyond its plan", beyond[0], "us", 2, detail),
        Result(f"  more for {guards} guards", more, "us", 1 if guards == GUARDS else None),
        Result("  with a dict of three arrays, beyond its plan", beyond[2], "us", 2.5),
        Result("  with a nested tree and a number, beyond its plan", beyond[3], "us", 4),
        Result("a traced program with three arrays, beyond its plan", beyond[4], "us", 2),
    ]


def made_anew(effort: Effort) -> list[Result]:
    """Measure the microseconds of a gradient made anew for each batch, beyond one gradient of all batches."""
    w, batches = np.ones(50), [np.arange(50.0) + i for i in range(4)]

    def loss(w: Any, batch: Any) -> Any:
        return ((w - batch) ** 2).sum()

    def anew(batch: np.ndarray) -> np.ndarray:
        gradient: np.ndarray = anyshape.grad(lambda w: loss(w, batch))(w)
        return gradient

    of_all = anyshape.grad(loss)
    for batch in batches * PLANNED:
        np.testing.assert_array_equal(anew(batch), of_all(w, batch))
    turns = itertools.cycle(batches)
    calls = [lambda: anew(next(turns)), lambda: of_all(w, next(turns))]
    table = interleaved([repeated(call) for call in calls], effort) / REPEATS * 1e6
    beyond = float(np.median(table[:, 0] - table[:, 1]))
    return [Result("grad(lambda w: loss(w, batch))(w) made anew, beyond a kept one", beyond, "us", 30)]


def repeated(call: Callable[[], Any]) -> Callable[[], Any]:
    """REPEATS calls in a row."""
    return lambda: [call() for _ in range(REPEATS)]


# -- captured state ------------------------------------------------------------------------------------------------


class Layer:
    """Three attributes, and a method that reads them."""

    def __init__(self) -> None:
        self.weight, self.bias, self.gain = object(), 0.5, 2

    def __call__(self, x: Any) -> Any:
        return x * self.gain + self.bias if self.weight else x


def modules_alone(x: Any) -> Any:
    """A function that names a module and a builtin."""
    return np.sum(x) * len(x)


def reader_of(held: Any) -> Callable[[Any], Any]:
    """A function that can reach one object besides its argument."""
    return lambda x: (x, held)


def captured_state(effort: Effort) -> list[Result]:
    """Measure the test that captured state is unchanged: in all for few things, and for each of many."""
    floats = [float(k) for k in range(MANY)]
    functions: list[Any] = [types.FunctionType(modules_alone.__code__, {"np": np}) for _ in range(MANY)]
    arrays = [np.ones(20) for _ in range(MANY)]
    layers = [Layer() for _ in range(MANY)]
    tests = [watch(f).holds for f in (modules_alone, *map(reader_of, (floats, functions, arrays, layers)))]
    assert all(test() for test in tests)
    plain, *many = [_least_microseconds(test, effort) for test in tests]
    each = [value / MANY for value in many[:3]]
    return [
        Result("captured state: modules and builtins alone", plain, "us", 0.05),
        Result("  each of many numbers", each[0], "us", 0.05),
        Result("  each of many functions with globals of their own", each[1], "us", 0.15),
        Result("  each of many small arrays", each[2], "us", 0.15),
        Result(f"  {MANY} layers of 3 attributes", many[3], "us", 20),
    ]


def _least_microseconds(call: Callable[[], Any], effort: Effort) -> float:
    """The least time of a call, in turns short enough that the system seldom interrupts one."""
    timer = timeit.Timer(call)
    number = max(1, int(TURN / max(timer.timeit(1), 1e-7)))
    return min(timer.repeat(effort.rounds * TURNS, number)) / number * 1e6


# -- traces ------------------------------------------------------------------------------------------------------


def mean_of_rows(x: Any, w: Any) -> Any:
    """A batch of rows through a layer."""
    return np.tanh(x @ w).mean(axis=0)


def traces(shapes: int) -> list[Result]:
    """How many programs distinct shapes need, and a batch of one after one of many."""
    rng = np.random.default_rng(0)
    layer = anyshape.jit(mean_of_rows)
    seen = set()
    while len(seen) < shapes:
        seen.add(tuple(rng.integers(1, 64, 3).tolist()))
    for n, d, m in sorted(seen):
        x, w = rng.standard_normal((n, d)), rng.standard_normal((d, m))
        np.testing.assert_allclose(layer(x, w), mean_of_rows(x, w))
    batch = anyshape.jit(mean_of_rows)
    w = rng.standard_normal((4, 3))
    for n in (32, 1):
        x = rng.standard_normal((n, 4))
        np.testing.assert_allclose(batch(x, w), mean_of_rows(x, w))
    return [
        Result(f"traces for {shapes} distinct shapes", layer.cache_info().traces, "", 1),
        Result("retraces for a batch of 1 after one of 32", batch.cache_info().traces - 1, "", 0),
    ]


# -- cold start --------------------------------------------------------------------------------------------------


def cold_start(lengths: int, libraries: Sequence[str] = PEERS) -> list[Result]:
    """From the first call on: the gradient of an attention block at each length once, tracing or compiling included."""
    ours = _measured(sys.executable, "anyshape", lengths)
    assert ours is not None
    detail = f"{seconds(ours['seconds'])} in all, the first call {seconds(ours['first'])}"
    results = [Result(f"cold start over {lengths} lengths", ours["seconds"], "s", None, detail)]
    few = min(lengths, COMPILED)
    for peer in libraries:
        theirs = _measured(peers.interpreter(peer), peer, few)
        if theirs is not None:
            ours = _measured(sys.executable, "anyshape", few)
            assert ours is not None
            np.testing.assert_allclose(theirs["total"], ours["total"], rtol=1e-6)
            detail = f"{peer}: {seconds(theirs['seconds'])} for {few}, the first call {seconds(theirs['first'])}"
            results.append(Result(f"  of {peer} / of anyshape", theirs["seconds"] / ours["seconds"], "x", None, detail))
    return results


def _measured(python: str, library: str, lengths: int) -> dict[str, Any] | None:
    """Measurements of a library in a process of its own; None if it is not installed there.

    Bytecode is cached, as in any installation: a first call loads modules, and compiles none.
    """
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({library!r}) is None)"
    root = Path(__file__).resolve().parents[1]
    if subprocess.run([python, "-c", probe], cwd=root, check=False).returncode:
        return None
    script = str(root / "benchmarks" / "cold_start.py")
    if library == "anyshape":
        with tempfile.TemporaryDirectory() as bytecode:
            run = Interpreter(bytecode)
            run(script, library, "--lengths", "1")  # fills the folder of bytecode
            return json.loads(run(script, library, "--lengths", str(lengths)))
    command = [python, script, library, "--lengths", str(lengths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)

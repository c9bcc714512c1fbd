"""Time a large program from Python to its first run: tracing, differentiating, passes, planning."""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

import anyshape
from anyshape.program import planner
from anyshape.support.packages import linearize_transpose
from anyshape.transforms import grad, jitted, sharing
from benchmarks.timing import Effort, Result, seconds

OPS = 1000
# Each stage is one function that a module calls by name, or by the row of a module that is loaded late.
# A stage called by another is not counted twice.
STAGES = {
    "trace and transform": (jitted, "trace_call"),
    "trace of the function": (grad, "trace_inner"),
    "linearise": (linearize_transpose, "linearise"),
    "transpose": (grad, "pull"),
    "passes": (planner, "optimize"),
    "lower": (planner, "lower"),
    "compile": (planner, "compile_plan"),
}
ITS_OWN = "trace and transform"


def loss(x: Any, w: Any, ops: int = OPS) -> Any:
    """A program of about `ops` ops: matrix products, elementwise ops, broadcasts and reductions."""
    for _ in range(ops // 10):
        y = np.tanh(x @ w) * 0.5 + x  # four ops
        centred = y - np.mean(y, axis=1, keepdims=True)  # two
        x = np.exp(-(centred**2)) * y  # four
    return np.sum(x)


def run(effort: Effort, ops: int = OPS) -> list[Result]:
    """The results of this file."""
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((5, 4)), 0.1 * rng.standard_normal((4, 4))
    rounds = []
    for _ in range(effort.fewer(8).rounds):
        sharing.forget()  # functions of one code share programs
        gradient = anyshape.value_and_grad(lambda w, x: loss(x, w, ops))
        rounds.append(_measure(gradient, w, x))
    check(w, x, ops)
    whole = [sum(spent.values()) for spent in rounds]
    middle = rounds[int(np.argsort(whole)[len(whole) // 2])]
    graph = gradient.programs()[0]
    parts = ", ".join(f"{stage} {seconds(t)}" for stage, t in middle.items())
    sizes = f"{traced_ops(ops)} ops traced; {len(graph.graph.nodes)} nodes and {len(graph.plan.steps)} steps"
    return [
        Result(f"from Python to a plan with gradient, {ops} ops", float(np.median(whole)), "s", 1.5, sizes,
               {"stages": middle}),
        Result("  where it goes", whole[0], "s", None, f"first time; median: {parts}"),
    ]  # fmt: skip


def check(w: np.ndarray, x: np.ndarray, ops: int) -> None:
    """The gradient has the derivative that a difference of the eager loss has."""
    gradient = anyshape.grad(lambda w, x: loss(x, w, ops))(w, x)
    direction = np.random.default_rng(1).standard_normal(w.shape)
    step = 1e-6
    difference = (loss(x, w + step * direction, ops) - loss(x, w - step * direction, ops)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * direction), difference, rtol=1e-4, atol=1e-7)


def traced_ops(ops: int) -> int:
    """How many nodes the function itself is, before anything is done to it."""
    shapes = anyshape.ShapeDtypeStruct("n, 4"), anyshape.ShapeDtypeStruct("4, 4")
    return len(anyshape.trace(lambda x, w: loss(x, w, ops))(*shapes).trace.graph.nodes)


def _measure(gradient: Any, *args: Any) -> dict[str, float]:
    """Seconds spent in each stage of a first call, and in what is left of it."""
    gc.collect()  # what others left; what the call itself makes is collected on its own time
    with _stopwatches() as spent:
        start = time.perf_counter()
        gradient(*args)
        total = time.perf_counter() - start
    inner = ("trace of the function", "linearise", "transpose")
    spent[ITS_OWN] -= sum(spent[stage] for stage in inner)
    return {**spent, "the rest of the call": total - sum(spent.values())}


@contextmanager
def _stopwatches() -> Iterator[dict[str, float]]:
    """Time the stages while the block runs."""
    spent: dict[str, float] = defaultdict(float)
    with ExitStack() as undo:
        for stage, (module, name) in STAGES.items():
            function = getattr(module, name)
            undo.callback(setattr, module, name, function)
            setattr(module, name, _timed(function, spent, stage))
        yield spent


def _timed(function: Any, spent: dict[str, float], stage: str) -> Any:
    def timed(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[stage] += time.perf_counter() - start

    return timed

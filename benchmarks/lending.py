"""Functions of SciPy beside SciPy itself: forward and in a gradient, by the rows of the survey, worst first.

    python -m benchmarks.lending [MODULE ...]

Operands grow until SciPy takes 100 us, and again until it takes 10 ms. A function that never takes so long has no line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import optree

import anyshape
import anyshape.numpy as anp
from anyshape.errors import AnyshapeError
from benchmarks.timing import Effort, Result, clock, interleaved, ratio, seconds
from tests.survey import modules
from tests.survey.operands import DIFFERENTIABLE, OPERANDS, N, axes_of
from tests.survey.survey import Row

MODULES = (
    "scipy.special", "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.ndimage", "scipy.interpolate",
    "scipy.spatial.distance", "scipy.cluster.vq",
)  # fmt: skip
LEAST = (1e-4, 1e-2)  # seconds of SciPy at the sizes that are compared
FORWARD, GRADIENT = 1.2, 3.0
MOST_ELEMENTS = 1 << 22
WORST = 12


class Comparison(NamedTuple):
    """Times of one function at one size, in seconds, and how many times as long as SciPy it takes."""

    name: str
    size: int
    theirs: float
    forward: float
    gradient: float | None


def grown(name: str, size: int) -> np.ndarray:
    """Return an operand of the survey whose axes of the common size have another one."""
    value, axes = OPERANDS[name], axes_of(name)
    if not (axes and value.ndim):
        return value
    shape = tuple(size if axis in axes and n == N else n for axis, n in enumerate(value.shape))
    rng = np.random.default_rng(0)
    if value.dtype.kind in "bi":
        return rng.choice(value.ravel(), shape)
    if len(axes) == 2:
        noise = rng.uniform(0, 1 / size, shape)
        return np.eye(size) * 2 + (noise + noise.T if name == "S" else noise)
    drawn = rng.uniform(value.real.min(), value.real.max(), shape)
    return np.sort(drawn) if name == "t" else drawn.astype(value.dtype)


def _sizes(row: Row) -> Iterator[tuple[int, list[np.ndarray], float]]:
    """Give the first size at which SciPy takes each of the least times, with the operands and the time."""
    size, waiting = N, list(LEAST)
    while waiting and any(axes_of(name) for name in row.operands):
        values = [grown(name, size) for name in row.operands]
        if sum(x.size for x in values) > MOST_ELEMENTS:
            return
        row.theirs(*values)
        taken = min(clock(partial(row.theirs, *values)) for _ in range(3))
        if taken >= waiting[0]:
            yield size, values, waiting.pop(0)
        size *= 2


def _inexact(result: Any) -> list[Any]:
    return [x for x in optree.tree_leaves(result) if getattr(x, "dtype", np.dtype(int)).kind in "fc"]


def _weights(result: Any) -> list[np.ndarray]:
    """Return uneven weights of the elements of a result, for a loss that costs little itself."""
    return [np.linspace(0.5, 1.5, x.size).reshape(x.shape) for x in map(np.asarray, _inexact(result))]


def _gradient(row: Row) -> Callable[..., Any] | None:
    """Return the gradient of a weighted sum of the results in all operands that have one; weights come first."""
    positions = tuple(i for i, name in enumerate(row.operands, 1) if name in DIFFERENTIABLE)
    if not positions:
        return None

    def loss(weights: Sequence[Any], *values: Any) -> Any:
        leaves = _inexact(row.ours(*values))
        return sum(anp.sum(anp.real(x) * w) for x, w in zip(leaves, weights, strict=True))

    return anyshape.jit(anyshape.grad(loss, positions))


def _has_slope(gradient: Callable[..., Any], values: Sequence[Any]) -> bool:
    """Return whether a gradient is defined and is not 0."""
    try:
        return any(np.any(g) for g in optree.tree_leaves(gradient(*values)))
    except AnyshapeError:  # of integers, or of a function without a derivative
        return False


def compare(module: str, name: str, effort: Effort) -> Iterator[Comparison]:
    """Give the comparisons of one function, none where it is refused at these operands."""
    expression = modules.expression_for(module, name)
    if expression is None:
        return
    row = Row(expression, *modules.pair(module, name))
    forward, gradient = anyshape.jit(row.ours), _gradient(row)
    for size, values, _ in _sizes(row):
        weights = _weights(forward(*values))
        calls = [partial(row.theirs, *values), partial(forward, *values)]
        if gradient is not None and _has_slope(gradient, (weights, *values)):
            calls.append(partial(gradient, weights, *values))
        table = interleaved(calls, effort)
        ratios = [ratio(table[:, i], table[:, 0]) for i in range(1, len(calls))]
        yield Comparison(f"{module}.{name}", size, float(np.median(table[:, 0])), ratios[0], (*ratios[1:], None)[0])


def compare_all(names: Sequence[str], effort: Effort) -> list[Comparison]:
    """Return the comparisons of all functions of some modules, the worst first."""
    comparisons: list[Comparison] = []
    for module in names:
        for name in modules.functions(module):
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    comparisons += (mine := list(compare(module, name, effort)))
                print(*map(_line, mine), sep="\n", end="\n" * bool(mine), file=sys.stderr, flush=True)
            except (AnyshapeError, ValueError, TypeError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
                print(f"{module}.{name}: {type(error).__name__}: {error}".partition("\n")[0], file=sys.stderr)
    return sorted(comparisons, key=_excess, reverse=True)


def _excess(c: Comparison) -> float:
    """Return how far the worse of the times is beyond its limit."""
    return max(c.forward / FORWARD, (c.gradient or 0.0) / GRADIENT)


def _line(c: Comparison) -> str:
    """Return a line of the table."""
    by_gradient = "" if c.gradient is None else f"{c.gradient:8.2f}"
    return f"{c.name:45s} n = {c.size:<9d}{seconds(c.theirs):>9s} {c.forward:8.2f} {by_gradient}"


def run(effort: Effort, names: Sequence[str] = MODULES) -> list[Result]:
    """Return the results of this file."""
    comparisons = compare_all(names, effort.fewer(4))
    results = []
    for title, times, limit in (
        ("forward", [(c.forward, c) for c in comparisons], FORWARD),
        ("gradient", [(c.gradient, c) for c in comparisons if c.gradient is not None], GRADIENT),
    ):
        times.sort(key=lambda pair: -pair[0])
        detail = f"{len(times)} comparisons, {sum(value > limit for value, _ in times)} beyond the limit"
        results.append(Result(f"{title}: median", float(np.median([v for v, _ in times])), "x SciPy", limit, detail))
        for value, c in times[:WORST]:
            results.append(Result(f"{title}: {c.name}", value, "x SciPy", limit, f"n = {c.size}, {seconds(c.theirs)}"))
    return results


if __name__ == "__main__":
    print(*map(_line, compare_all(sys.argv[1:] or MODULES, Effort(rounds=5))), sep="\n")

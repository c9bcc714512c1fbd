"""Run-time sizes, beside NumPy written by hand: a slice whose end changes, a mask, an embedding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np
import scipy

import anyshape
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

N = 100_000
ROWS, TABLE, WIDTH = 3_000, 20_000, 64


def run(effort: Effort, n: int = N, table: int = TABLE) -> list[Result]:
    """The results of this file."""
    return [*truncated(effort, n), *masked(effort, n), *embedding(effort, table)]


# -- sum(sin(x[:k])**2), k changing on each call -----------------------------------------------------------------


def loss(x: Any, k: Any) -> Any:
    """The energy of the first k elements."""
    return np.sum(np.sin(x[:k]) ** 2)


def loss_by_hand(x: Any, k: Any) -> Any:
    """The same with buffers reused."""
    y = np.sin(x[:k])
    np.multiply(y, y, out=y)
    return np.add.reduce(y)


def derivative_by_hand(x: Any, k: Any) -> Any:
    """The gradient, 2 sin cos, and zeros from k on."""
    out = np.zeros_like(x)
    head = out[:k]
    np.sin(x[:k], out=head)
    head *= np.cos(x[:k])
    head *= 2
    return out


def truncated(effort: Effort, n: int) -> list[Result]:
    """Value and gradient against NumPy by hand; one trace each."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n)
    value, derivative = anyshape.jit(loss), anyshape.grad(loss)
    ends = [np.int64(k) for k in rng.integers(n // 2, n + 1, 64)]
    for k in [*map(np.int64, (0, 1, n)), *ends[:3]]:
        np.testing.assert_allclose(value(x, k), loss_by_hand(x, k))
        np.testing.assert_allclose(derivative(x, k), derivative_by_hand(x, k), atol=1e-12)
    chosen = [cycle(ends) for _ in range(4)]  # everyone meets the same ends
    calls = [_at(f, x, k) for f, k in zip((value, loss_by_hand, derivative, derivative_by_hand), chosen, strict=True)]
    table = interleaved(calls, effort)
    times = np.median(table, axis=0)
    traces = max(value.cache_info().traces, derivative.cache_info().traces)
    return [
        _compared(f"sum(sin(x[:k])**2), n = {n}", table, 0, 1.3, times),
        _compared("  its gradient", table, 2, 1.3, times),
        Result("  traces for all k", traces, "", 1),
    ]


def _at(function: Callable[..., Any], x: Any, ends: Iterator[Any]) -> Callable[[], Any]:
    return lambda: function(x, next(ends))


def _compared(name: str, table: np.ndarray, i: int, limit: float | None, times: np.ndarray) -> Result:
    detail = f"{seconds(times[i])}, by hand {seconds(times[i + 1])}"
    return Result(name, ratio(table[:, i], table[:, i + 1]), "x", limit, detail)


# -- a mask ------------------------------------------------------------------------------------------------------


def likelihood(x: Any) -> Any:
    """A sum over the elements above 0."""
    y = x[x > 0]
    return np.sum(np.log(y) * y)


def masked(effort: Effort, n: int) -> list[Result]:
    """The value against the same lines in NumPy, the gradient against one by hand."""
    x = np.random.default_rng(1).standard_normal(n)
    value, derivative = anyshape.jit(likelihood), anyshape.grad(likelihood)

    def by_hand(x: Any) -> Any:
        out = np.zeros_like(x)
        chosen = np.flatnonzero(x > 0)
        out[chosen] = np.log(x[chosen]) + 1
        return out

    np.testing.assert_allclose(value(x), likelihood(x))
    np.testing.assert_allclose(derivative(x), by_hand(x), atol=1e-12)
    table = interleaved([lambda: value(x), lambda: likelihood(x), lambda: derivative(x), lambda: by_hand(x)], effort)
    times = np.median(table, axis=0)
    return [
        _compared(f"a sum over x[x > 0], n = {n}", table, 0, None, times),
        _compared("  its gradient", table, 2, None, times),
    ]


# -- an embedding ------------------------------------------------------------------------------------------------


def embedded(weights: Any, tokens: Any, y: Any) -> Any:
    """Rows of a table, weighted and added."""
    return np.sum(weights[tokens] * y)


def by_sorting(tokens: np.ndarray, y: np.ndarray, rows: int) -> np.ndarray:
    """The gradient: rows of equal tokens are brought together and added."""
    order = np.argsort(tokens, kind="stable")
    tokens = tokens[order]
    starts = np.flatnonzero(np.r_[True, tokens[1:] != tokens[:-1]])
    out = np.zeros((rows, y.shape[1]))
    out[tokens[starts]] = np.add.reduceat(y[order], starts)
    return out


def by_product(tokens: np.ndarray, y: np.ndarray, rows: int) -> np.ndarray:
    """The gradient: a sparse matrix with a one for each token, times the rows."""
    ones = np.ones(len(tokens))
    return scipy.sparse.csc_array((ones, tokens, np.arange(len(tokens) + 1)), shape=(rows, len(tokens))) @ y


def embedding(effort: Effort, rows: int) -> list[Result]:
    """Compare the gradient in the table with the faster of two ways by hand; neither is np.add.at."""
    rng = np.random.default_rng(2)
    weights, y = rng.standard_normal((rows, WIDTH)), rng.standard_normal((ROWS, WIDTH))
    tokens = rng.integers(rows, size=ROWS)
    derivative = anyshape.grad(embedded)
    ways = {"sorting": by_sorting, "a sparse product": by_product}
    for way in ways.values():
        np.testing.assert_allclose(derivative(weights, tokens, y), way(tokens, y, rows), atol=1e-12)
    calls: list[Callable[[], Any]] = [lambda: derivative(weights, tokens, y)]
    calls += [_way(way, tokens, y, rows) for way in ways.values()]
    table = interleaved(calls, effort)
    times = np.median(table, axis=0)
    best = 1 + int(np.argmin(times[1:]))
    detail = f"{seconds(times[0])}, by hand with {[*ways][best - 1]} {seconds(times[best])}"
    name = f"gradient of an embedding, {ROWS} rows of {rows} x {WIDTH}"
    return [Result(name, ratio(table[:, 0], table[:, best]), "x", 1.3, detail)]


def _way(way: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: way(*args)

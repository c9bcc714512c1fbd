"""Decisions of Python on values: calls that change between two paths, a loop that ends by a value, and no decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import anyshape
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

PRODUCTS, SIZE = 30, 64
PURE = 200  # rows of the argument of a pure function
WARM = 40  # calls after which paths share their beginnings, and plans are what they stay


def run(effort: Effort) -> list[Result]:
    """The results of this file."""
    return [*two_paths(effort), *newton(effort), *pure(effort)]


def pure(effort: Effort) -> list[Result]:
    """A function without decisions and writes, with the import changed, against NumPy's import and no library."""

    def written_with(xp: Any) -> Callable[..., Any]:
        def function(x: Any, w: Any, b: Any) -> Any:
            y = xp.tanh(xp.add(x @ w, b))
            return xp.sum(xp.where(y > 0, y, 0.1 * y) ** 2, axis=-1) / x.shape[1]

        return function

    rng = np.random.default_rng(0)
    args = rng.normal(size=(PURE, SIZE)), rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE)
    by_hand = written_with(np)
    changed, unchanged = (anyshape.jit(f, optimize="now") for f in (written_with(anyshape.numpy), by_hand))
    for _ in range(WARM):
        for program in (changed, unchanged):
            np.testing.assert_allclose(program(*args), by_hand(*args), rtol=1e-9)
    table = interleaved([lambda f=f: f(*args) for f in (changed, unchanged, by_hand)], effort)
    mid = np.median(table, axis=0)
    detail = f"{seconds(mid[0])} a call, NumPy's import {seconds(mid[1])}, by hand {seconds(mid[2])}"
    return [
        Result("pure function, import changed / NumPy's import", ratio(table[:, 0], table[:, 1]), "x", 1.03, detail),
        Result("pure function, import changed / by hand", ratio(table[:, 0], table[:, 2]), "x", 1.03, detail),
    ]


def two_paths(effort: Effort) -> list[Result]:
    """Two paths that part after many products, called in turn, against one path alone."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=(SIZE, SIZE)) * 0.1

    @anyshape.jit
    def function(x: Any) -> Any:
        for _ in range(PRODUCTS):
            x = np.tanh(x @ w)
        return x * 2 if x[0, 0] > 0 else x * 3

    def by_numpy(x: Any) -> Any:
        for _ in range(PRODUCTS):
            x = np.tanh(x @ w)
        return x * 2 if x[0, 0] > 0 else x * 3

    x = rng.normal(size=(SIZE, SIZE))
    for _ in range(WARM):
        for y in (x, -x):
            np.testing.assert_allclose(function(y), by_numpy(y), rtol=1e-9)
    table = interleaved([lambda: (function(x), function(-x)), lambda: (function(x), function(x))], effort)
    mid = np.median(table, axis=0) / 2
    detail = f"{seconds(mid[0])} a call, one path {seconds(mid[1])}"
    name = f"two paths after {PRODUCTS} products, in turn / one path"
    return [Result(name, ratio(table[:, 0], table[:, 1]), "x", 1.25, detail)]


def root(x: Any) -> Any:
    """The square root of x by Newton's steps, until the square is near enough."""
    y = x * 0 + 1.0
    while abs(y * y - x) > 1e-10:
        y = 0.5 * (y + x / y)
    return y


def unrolled(trips: int) -> Callable[[Any], Any]:
    """The same steps without a choice, with the comparisons of each trip as a result."""

    def steps(x: Any) -> Any:
        y = x * 0 + 1.0
        goes_on = [abs(y * y - x) > 1e-10]
        for _ in range(trips):
            y = 0.5 * (y + x / y)
            goes_on.append(abs(y * y - x) > 1e-10)
        return y, goes_on

    return steps


def newton(effort: Effort) -> list[Result]:
    """A loop of 3 to 7 trips that ends by a value, against as many trips that compare the same."""
    decides, results = anyshape.jit(root), []
    for x, trips in ((1.1, 3), (2.0, 4), (9.0, 6), (30.0, 7)):
        same = anyshape.jit(unrolled(trips))
        value, goes_on = same(x)
        assert [bool(g) for g in goes_on] == [True] * trips + [False]
        np.testing.assert_allclose(decides(x), value, rtol=1e-12)
        for _ in range(WARM):
            decides(x), same(x)
        table = interleaved([lambda x=x: decides(x), lambda x=x, same=same: same(x)], effort)
        mid = np.median(table, axis=0)
        detail = f"{seconds(mid[0])}, unrolled {seconds(mid[1])}"
        name = f"Newton's steps, {trips} trips / unrolled with the same comparisons"
        results.append(Result(name, ratio(table[:, 0], table[:, 1]), "x", 1.2, detail))
    return results

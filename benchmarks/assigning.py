"""Assignment in place: an explicit heat equation, and one element after the other, with gradients by hand beside."""

from __future__ import annotations

from typing import Any

import numpy as np

import anyshape
from benchmarks.timing import Effort, Result, interleaved, ratio, seconds

RATE = 0.1


def run(effort: Effort, steps: int = 100, elements: int = 1000) -> list[Result]:
    """The results of this file."""
    return [*heat(effort, steps), *each_element(effort, elements)]


def heat(effort: Effort, steps: int) -> list[Result]:
    """Steps of the heat equation in place: value and gradient against the statements of NumPy alone."""

    def value(u: Any) -> Any:
        u = u.copy()
        for _ in range(steps):
            u[1:-1] += RATE * (u[2:] - 2 * u[1:-1] + u[:-2])
        return (u * u).sum()

    def by_hand(u: Any) -> Any:
        u = u.copy()
        for _ in range(steps):
            u[1:-1] += RATE * (u[2:] - 2 * u[1:-1] + u[:-2])
        slope = 2 * u
        for _ in range(steps):
            change = RATE * slope[1:-1]
            slope[2:] += change
            slope[:-2] += change
            change *= 2
            slope[1:-1] -= change
        return slope

    u = np.linspace(0, 1, 10_000) ** 3
    ours, slopes = anyshape.jit(value, optimize="now"), anyshape.jit(anyshape.grad(value), optimize="now")
    np.testing.assert_allclose(ours(u), value(u))
    np.testing.assert_allclose(slopes(u), by_hand(u), rtol=1e-9, atol=1e-12)
    table = interleaved([lambda: ours(u), lambda: slopes(u), lambda: value(u), lambda: by_hand(u)], effort)
    mid = np.median(table, axis=0)
    name = f"u[1:-1] += ..., {steps} steps, n = {len(u)}"
    detail = f"by hand {ratio(table[:, 3], table[:, 2]):.2f} x, NumPy's value {seconds(mid[2])}"
    return [
        Result(f"{name}, value / NumPy", ratio(table[:, 0], table[:, 2]), "x", 1.1, seconds(mid[0])),
        Result(f"{name}, gradient / value of NumPy", ratio(table[:, 1], table[:, 2]), "x", 2.5, detail),
    ]


def each_element(effort: Effort, count: int) -> list[Result]:
    """Assignments to one element after the other: the gradient, per assignment, and of twice as many."""

    def value(x: Any, count: int) -> Any:
        y = np.zeros_like(x)
        for i in range(count):
            y[i] = np.sin(x[i])
        return (y * y).sum()

    def by_hand(x: Any) -> Any:
        y = np.zeros_like(x)
        for i in range(count):
            y[i] = np.sin(x[i])
        slope, back = 2 * y, np.zeros_like(x)
        for i in reversed(range(count)):
            back[i] += slope[i] * np.cos(x[i])
            slope[i] = 0
        return back

    x = np.linspace(0.1, 1.0, 2 * count)
    once, twice = (anyshape.jit(anyshape.grad(lambda x, n=n: value(x, n)), optimize="now") for n in (count, 2 * count))
    np.testing.assert_allclose(once(x), by_hand(x), rtol=1e-12)
    np.testing.assert_allclose(twice(x), np.sin(2 * x), rtol=1e-12)
    table = interleaved([lambda: once(x), lambda: twice(x), lambda: by_hand(x)], effort)
    microseconds = 1e6 * np.median(table, axis=0) / count
    name = f"y[i] = sin(x[i]), {count} times, gradient"
    return [
        Result(name, microseconds[0], "us", 3, f"per assignment; by hand {microseconds[2]:.2f} us"),
        Result("  of twice as many / once", ratio(table[:, 1], table[:, 0]), "x", 2.5),
    ]

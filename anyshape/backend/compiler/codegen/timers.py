"""Timers of a run, step by step: what a generated function tells of itself where it was written with timers.

A plan of n steps reads the clock n + 1 times: before the first step, and when each is done. Steps of a group that ran
as tiles have no reading but that of the last; threads tell what each of them took.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from anyshape.backend.compiler.plan import Plan
from anyshape.graph.sizes.expr import DimVar


class Share(NamedTuple):
    """What one thread ran of a group: how many tiles, and the seconds that each step took."""

    thread: int
    tiles: int
    seconds: tuple[float, ...]


class TimedRun(NamedTuple):
    """One run: `readings` are of the clock, 0 inside of what ran together; `shares` are of that, by its first step.

    `telling` are the seconds that it took to note this.
    """

    plan: Plan
    readings: Sequence[float]
    shares: dict[int, list[Share]]
    sizes: dict[DimVar, int]
    telling: float

    @property
    def inside(self) -> float:
        """Seconds from the start of the first step to the end of the last."""
        return self.readings[-1] - self.readings[0]


class Timers:
    """Keeps the last run of the functions that were written with it."""

    def __init__(self) -> None:
        self.last: TimedRun | None = None

    def clear(self) -> None:
        """Forget the last run."""
        self.last = None

    def names(self, plan: Plan, variables: Sequence[DimVar]) -> dict[str, Any]:
        """What the lines mean that are written here."""
        note = functools.partial(self._note, plan, tuple(variables))
        return {"_clock": perf_counter, "_note": note, "_thread": threading.get_ident, "_Share": Share}

    def _note(
        self,
        plan: Plan,
        variables: Sequence[DimVar],
        readings: list[float],
        shares: dict[int, list[Share]],
        sizes: Sequence[int],
    ) -> None:
        started = perf_counter()
        found = dict(zip(variables, sizes, strict=True))
        self.last = TimedRun(plan, readings, shares, found, perf_counter() - started)


def begin(steps: int) -> list[str]:
    """Lines before the first of so many steps."""
    return [f"_times, _shares = [0.0] * {steps + 1}, {{}}", "_times[0] = _clock()"]


def done(steps: int) -> str:
    """The line after so many steps."""
    return f"_times[{steps}] = _clock()"


def end(sizes: Sequence[str]) -> str:
    """The line after all of them, where sizes are in these locals."""
    return f"_note(_times, _shares, ({''.join([f'{s}, ' for s in sizes])}))"


def shares_of(first: int) -> str:
    """The argument that takes the shares of the group that begins with this step."""
    return f"_shares.setdefault({first}, [])"


class TileTimers:
    """The lines that time the steps of a group in each tile; the function has one more argument."""

    argument = "_spent"

    def __init__(self, steps: int) -> None:
        self.locals = [f"_u{i}" for i in range(steps)]

    def before(self) -> list[str]:
        """Lines before the loop over tiles."""
        return [f"_tiles, {', '.join(self.locals)} = 0, {', '.join(['0.0'] * len(self.locals))}"]

    def tile(self) -> list[str]:
        """Lines before the steps of a tile."""
        return ["_tiles += 1", "_at = _clock()"]

    def step(self, i: int) -> list[str]:
        """Lines after a step."""
        return ["_now = _clock()", f"{self.locals[i]} += _now - _at", "_at = _now"]

    def after(self) -> list[str]:
        """Lines after the loop."""
        return [f"{self.argument}.append(_Share(_thread(), _tiles, ({''.join([f'{u}, ' for u in self.locals])})))"]


def clock_read_seconds() -> float:
    """Seconds that one line `done` takes, which each step seems to take more than it does."""
    lines = [*begin(_READINGS), *[done(i) for i in range(1, _READINGS + 1)], "return _times"]
    space: dict[str, Any] = {"_clock": perf_counter}
    exec(compile("def read():\n    " + "\n    ".join(lines), "<anyshape timers>", "exec"), space)
    times = [space["read"]() for _ in range(_ROUNDS)]
    return min((t[-1] - t[0]) / _READINGS for t in times)


_READINGS, _ROUNDS = 100, 30

"""Measure fairly on a noisy machine: competitors take turns in one process, and medians of ratios are reported."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

Call = Callable[[], Any]


@dataclass(frozen=True)
class Effort:
    """How long to measure: rounds of turns, and the least seconds of one turn."""

    rounds: int = 40
    turn: float = 2e-3

    def fewer(self, by: int) -> Effort:
        """Return an effort with fewer rounds, yet at least 3, for slow measurements."""
        return Effort(max(3, self.rounds // by), self.turn)


QUICK = Effort(rounds=3, turn=0.0)


@dataclass(frozen=True)
class Result:
    """One line of the report. `value` is to be at most `limit`; without a limit the line only informs."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    detail: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def within_limit(self) -> bool | None:
        """True if the value is at most the limit; None without a limit."""
        return None if self.limit is None else bool(self.value <= self.limit)

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        return jsonable({**asdict(self), "met": self.within_limit})


def jsonable(data: Any) -> Any:
    """Return data as JSON has it. Numbers that are not finite become None: JSON has no word for them.

    >>> jsonable({"value": np.float64("nan"), "turns": (1.5, np.float32(2))})
    {'value': None, 'turns': [1.5, 2.0]}
    """
    if isinstance(data, dict):
        return {name: jsonable(value) for name, value in data.items()}
    if isinstance(data, (list, tuple, np.ndarray)):
        return [jsonable(x) for x in data]
    data = data.item() if isinstance(data, np.generic) else data
    return None if isinstance(data, float) and not math.isfinite(data) else data


def clock(call: Call, number: int = 1) -> float:
    """Seconds per call."""
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def interleaved(calls: Sequence[Call], effort: Effort) -> np.ndarray:
    """Seconds per call, one row per round and one column for each of `calls`, which take turns.

    Short calls are repeated within their turn. Who starts changes from round to round.
    """
    with no_collection():
        numbers = [_number(call, effort.turn) for call in calls]
        table = np.empty((effort.rounds, len(calls)))
        for row in range(effort.rounds):
            for turn in range(len(calls)):
                i = (row + turn) % len(calls)
                table[row, i] = clock(calls[i], numbers[i])
    return table


def _number(call: Call, least: float) -> int:
    """How many calls fill a turn."""
    call()
    once = min(clock(call) for _ in range(3))
    return max(1, round(least / max(once, 1e-7)))


def ratio(over: np.ndarray, under: np.ndarray) -> float:
    """The median of the ratios round by round: a slow moment of the machine slows both."""
    return float(np.median(over / under))


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend the garbage collector, whose pauses would hit whichever call happens to run."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def seconds(value: float) -> str:
    """A duration for people.

    >>> seconds(0.0000153), seconds(0.25), seconds(3)
    ('15.3 us', '250 ms', '3 s')
    """
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= s), (1e-6, "us"))
    return f"{value / scale:.3g} {unit}"

"""Timers: clock readings that a generated function takes when it was compiled with them.

A plan of n steps reads the clock n + 1 times: before the first step, and when each is done. A group that ran in tiles
has one reading, at its last step; its threads record the time of each step.
"""

import functools
import itertools
import operator
import threading
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from anyshape.backend.compiler.plan import Plan
from anyshape.graph.sizes.symbols import DimVar
from anyshape.support.lazy_dataclass import NamedTuple

READINGS, ROUNDS = 100, 30  # of the measurement of what a reading costs


class Share(NamedTuple):
    """Share of one thread in a group: the number of tiles it ran, and the seconds that each step took."""

    thread: int
    tiles: int
    seconds: tuple[float, ...]


class TimedRun(NamedTuple):
    """Readings of one run.

    - `readings`: clock readings by step, 0 inside of groups that ran in tiles.
    - `shares`: shares of threads in such groups, by the first step. The tiles of a body are its runs: its key has step
      and position of each body around it, then its own.
    - `sizes`: sizes of the call.
    - `record_seconds`: the time that recording all this took.
    """

    plan: Plan
    readings: Sequence[float]
    shares: dict[Any, list[Share]]
    sizes: dict[DimVar, int]
    record_seconds: float

    @property
    def inside(self) -> float:
        """Seconds from the start of the first step to the end of the last."""
        return self.readings[-1] - self.readings[0]


class Timers:
    """Holds the last run of the functions that were compiled with it, and what samples the loops that are compiled.

    - `nests`: by the step of a plan, which says the time of each line in all runs.
    """

    def __init__(self) -> None:
        self.last: TimedRun | None = None
        self.nests: dict[int, Any] = {}

    def clear(self) -> None:
        """Forget the last run."""
        self.last = None

    def names(self, plan: Plan, variables: Sequence[DimVar]) -> dict[str, Any]:
        """Return the objects that names in timed lines are bound to."""
        record = functools.partial(self._record, plan, tuple(variables))
        shares = {"_thread": threading.get_ident, "_Share": Share, "_add": _add_run}
        return {"_clock": perf_counter, "_record": record, **shares}

    def _record(
        self,
        plan: Plan,
        variables: Sequence[DimVar],
        readings: list[float],
        shares: dict[Any, list[Share]],
        sizes: Sequence[int],
    ) -> None:
        started = perf_counter()
        size_by_variable = dict(zip(variables, sizes, strict=True))
        self.last = TimedRun(plan, readings, shares, size_by_variable, perf_counter() - started)


# -- lines of the function of a plan


def begin_lines(steps: int) -> list[str]:
    """Return the lines before the first of so many steps."""
    return [f"_times, _shares = [0.0] * {steps + 1}, {{}}", "_times[0] = _clock()"]


def done_line(steps: int) -> str:
    """Return the line after so many steps."""
    return f"_times[{steps}] = _clock()"


def end_line(size_locals: Sequence[str]) -> str:
    """Return the line after all steps; sizes are in these locals."""
    return f"_record(_times, _shares, ({''.join([f'{local}, ' for local in size_locals])}))"


def begin_body_line(clock: str) -> str:
    """Return the line before the steps of a body that is written inline; `clock` is a local of its own."""
    return f"{clock} = [_clock()]"


def done_body_line(clock: str, steps: int) -> str:
    """Return the line after so many steps of a body: one, or the steps of a group, whose last takes the time."""
    before = f"[{clock}[-1]] * {steps - 1} + " if steps > 1 else ""
    return f"{clock} += {before}[_clock()]"


def end_body_line(clock: str, key: tuple[int, ...]) -> str:
    """Return the line after a body. Its key ends with the number of its step and its position there."""
    return f"_add(_shares, {key}, {clock})"


def _add_run(shares: dict[Any, list[Share]], key: tuple[int, ...], clock: Sequence[float]) -> None:
    """Add the readings of one run of a body to its share."""
    seconds = [after - before for before, after in itertools.pairwise(clock)]
    if key in shares:
        (share,) = shares[key]
        shares[key] = [Share(share.thread, share.tiles + 1, tuple(map(operator.add, share.seconds, seconds)))]
    else:
        shares[key] = [Share(threading.get_ident(), 1, tuple(seconds))]


def shares_argument(first: int) -> str:
    """Return the argument that takes the shares of the group that begins with this step."""
    return f"_shares.setdefault({first}, [])"


class TileTimers:
    """Lines that time the steps of a group in each tile. The function of the group takes one more argument."""

    argument = "_shares"

    def __init__(self, steps: int) -> None:
        self.locals: list[str] = [f"_u{i}" for i in range(steps)]

    def before(self) -> list[str]:
        """Return the lines before the loop over tiles."""
        return [f"_tiles, {', '.join(self.locals)} = 0, {', '.join(['0.0'] * len(self.locals))}"]

    def tile(self) -> list[str]:
        """Return the lines before the steps of a tile."""
        return ["_tiles += 1", "_at = _clock()"]

    def step(self, i: int) -> list[str]:
        """Return the lines after a step."""
        return ["_now = _clock()", f"{self.locals[i]} += _now - _at", "_at = _now"]

    def after(self) -> list[str]:
        """Return the lines after the loop."""
        return [f"{self.argument}.append(_Share(_thread(), _tiles, ({''.join([f'{u}, ' for u in self.locals])})))"]


def clock_read_seconds() -> float:
    """Measure how many seconds `done_line` takes, which the readings add to each step."""
    lines = [*begin_lines(READINGS), *[done_line(i) for i in range(1, READINGS + 1)], "return _times"]
    namespace: dict[str, Any] = {"_clock": perf_counter}
    exec(compile("def read():\n    " + "\n    ".join(lines), "<anyshape timers>", "exec"), namespace)
    times = [namespace["read"]() for _ in range(ROUNDS)]
    return min((t[-1] - t[0]) / READINGS for t in times)

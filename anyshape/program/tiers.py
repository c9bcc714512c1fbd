"""Tiers of one program: which plan runs, and when the optimised one is made.

A first call runs the first plan, which one linear walk over the graph makes. Groups, views and specialization save time
where arrays are large, or where calls are many. So the calls so far decide: what they would have saved is compared
with what optimising takes. The optimised plan is made at the beginning of a call, and serves it and all later ones.
That is never within `np.errstate`, whose block sees one plan.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.meters import Meter
from anyshape.backend.compiler.passes.pipeline import Tier
from anyshape.backend.runtime.config import AMBIENT_ERRSTATE
from anyshape.inspect.explain.data import TierInfo
from anyshape.support.fork_lock import Lock

_PLAN = logging.getLogger("anyshape.plan")
SAVED_SHARE = 0.5  # of the time of calls with large arrays, which optimised plans save where they save much
SAVED_SHARE_OF_SMALL = 0.2  # of that of calls with small ones: nothing is stretched at run time
COST_RATIO = 2.0  # between the time of making an optimised plan and a first one
SECONDS_PER_PLANNED_STEP = 1.5e-4  # of making a first plan
SECONDS_PER_ELEMENT = 1e-9  # of a step on large arrays
MAX_ELEMENTS = 1 << 27  # in all steps, a gigabyte of float64, beyond which no first plan runs: it has no tiles

Make = Callable[[Hashable], Callable[[], None]]  # makes the plan of a pattern; returns what installs it
clock = perf_counter
_DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class Tiers:
    """Tiers of one program.

    - `mode`: "now" makes optimised plans at once, "auto" when they pay, "off" never.
    - `why`: the reason for a mode that nobody asked for.
    - `make` makes an optimised plan for a pattern of calls. `pattern_of` tells the pattern of arrays.
    """

    pattern_of: Callable[..., Hashable]
    name: str
    mode: str
    why: str
    make: Make
    steps: int
    cost: float
    calls: int
    seconds: float

    def __init__(
        self, name: str, mode: str, why: str, make: Make, pattern_of: Callable[..., Hashable] | None = None
    ) -> None:
        self.name, self.mode, self.why, self.make = name, mode, why, make
        self.first = Tier.OPTIMISED if mode == "now" else Tier.FIRST  # of the plan for a first call
        self.has_patterns: bool = pattern_of is not None
        self.pattern_of = (lambda *arrays: None) if pattern_of is None else pattern_of
        self.steps, self.cost = 1, 0.0
        self.calls, self.seconds = 0, 0.0  # of first plans, since the last optimised plan was made
        self.saving: float = 0.0  # seconds that optimised plans would have saved of these
        self.made: dict[Hashable, TierInfo] = {}
        self.making: dict[Hashable, int] = {}  # with the process: a fork has no thread that goes on
        self.failed: dict[Hashable, str] = {}
        self.waits: bool = False  # for a call outside of np.errstate
        self.lock: Lock = Lock()

    def meter(self, instead: Callable[..., Any]) -> Meter | None:
        """Return what a first plan calls, with what runs instead of it; None where no plan takes its place."""
        return Meter(self.measure, instead, self.has_patterns) if self.mode == "auto" else None

    @contextmanager
    def making_first(self, steps: int) -> Iterator[None]:
        """Note how long the block takes to make a first plan with so many steps.

        The first program of a process also loads modules, which is not a cost of a second plan.
        """
        started, modules = clock(), len(sys.modules)
        yield
        seconds, self.steps = clock() - started, max(1, steps)
        if len(sys.modules) > modules:
            seconds = min(seconds, self.steps * SECONDS_PER_PLANNED_STEP)
        self.cost = COST_RATIO * seconds

    # -- calls of first plans

    def measure(
        self, run: Callable[..., Any], instead: Callable[..., Any], calls: int, elements: int, *arrays: Any
    ) -> Any:
        """Run the optimised plan if it is there or pays by now. Else measure a call of the first one.

        The call stands for so many `calls`. Its largest array has so many `elements`.
        """
        pattern = self.pattern_of(*arrays)
        if pattern in self.made or (self._pays(elements) and self._is_due_now() and self.optimise(pattern)):
            return instead(*arrays)
        started = clock()
        outputs = run(*arrays, _measured=True)
        taken = calls * (clock() - started)
        self.calls += calls
        self.seconds += taken
        self.saving += (SAVED_SHARE if calls == 1 else SAVED_SHARE_OF_SMALL) * taken
        return outputs

    def _pays(self, elements: int = 0) -> bool:
        """Return True if an optimised plan pays for the calls so far, or for one with so large an array alone."""
        work = elements * self.steps
        alone = work >= MAX_ELEMENTS or SAVED_SHARE * work * SECONDS_PER_ELEMENT >= self.cost
        return alone or self.saving >= self.cost

    def _is_due_now(self) -> bool:
        """Return True unless the call is within np.errstate, after other calls."""
        self.waits = self.calls > 0 and np.geterr() not in (AMBIENT_ERRSTATE, _DEFAULTS)
        return not self.waits

    # -- optimised plans

    def optimise(self, pattern: Hashable) -> bool:
        """Make the optimised plan for a pattern; return False if another thread does or it fails, which is logged."""
        is_mine = False
        try:
            with self.lock:
                if pattern in self.made:
                    return True
                if self.making.get(pattern) == os.getpid() or pattern in self.failed:
                    return False
                is_mine = True
                self.making[pattern] = os.getpid()
            started = clock()
            install = self.make(pattern)
        except Exception as error:  # the first plan is right too
            self.failed[pattern] = f"{type(error).__name__}: {error}"
            _PLAN.exception("%s: the optimised plan could not be made; the first one stays in use", self.name)
            return False
        finally:
            if is_mine:
                self.making.pop(pattern, None)
        taken = clock() - started
        with self.lock:
            install()
            self.made[pattern] = self._info("optimised", f"made in {_time(taken)}, {self._so_far('had taken')}")
            self.calls, self.seconds, self.saving, self.waits = 0, 0.0, 0.0, False
        _PLAN.debug("%s: the optimised plan is %s", self.name, self.made[pattern].why)
        return True

    # -- explanations

    def info(self) -> TierInfo:
        """Return which plan runs, and why."""
        if self.mode == "now":
            return self._info("optimised", f"made at once, {self.why}")
        if self.mode == "off":
            return self._info("first", f"no other is made, {self.why}")
        if self.made:
            return list(self.made.values())[-1]
        if self.failed:
            return self._info("first", f"the optimised one could not be made: {list(self.failed.values())[-1]}")
        if self.waits:
            return self._info("first", "the optimised one waits for a call outside of np.errstate")
        if self.saving < self.cost / 10:
            return self._info("first", "calls so far are too short for an optimised one to pay")
        estimate = f"an optimised one would have saved {_time(self.saving)} and takes {_time(self.cost)} to make"
        return self._info("first", f"{self._so_far('took')}; {estimate}")

    def _so_far(self, took: str) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{'after' if took != 'took' else ''} {calls} {took} {_time(self.seconds)}".strip()

    def _info(self, tier: str, why: str) -> TierInfo:
        return TierInfo(tier, self.mode, self.calls, self.seconds, self.saving, self.cost, why)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def mode_of(optimize: str, max_bytes: int | None, timers: Any) -> tuple[str, str]:
    """Return when optimised plans are made, and why then."""
    if optimize == "auto" and max_bytes is not None:
        return "now", "as max_bytes bounds its arrays"
    if optimize == "auto" and timers is not None:
        return "now", "for a profile"
    return optimize, f'by optimize="{optimize}"'

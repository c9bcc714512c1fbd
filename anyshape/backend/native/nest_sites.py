"""Loops of plans that may run as machine code: work is counted, and what writes and builds is loaded when it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.compiler.plan import Step
from anyshape.backend.native.nest_parts import is_wide, seconds_of, shapes_of_trip, spreads
from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.packages import automatic_kernels, native_nests

if TYPE_CHECKING:
    from anyshape.backend.native.nests import Nest, NestLibrary

BUILD_SECONDS = 0.3
STARTED_SECONDS = 0.1  # of counted work from which on a nest is built, where a build of groups pays from 1 s on
WAITED_BUILDS = 10  # a run that would take so many builds in NumPy waits for one
MOST_SHAPES = 256  # of operands whose seconds are remembered


class NestSite:
    """Runs a loop of a plan as machine code once it is built; `mode` says when that is.

    - `depth`: in how many bodies of other loops it is.
    - `loops`: all loops of the plan, which one run of the compiler builds.
    """

    def __init__(self, step: Step, mode: str, depth: int, loops: PlanLoops) -> None:
        self.step, self.mode, self.depth, self.loops, self.seconds = step, mode, depth, loops, 0.0
        self._nest: Nest | None = None
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self._widths: dict[tuple[tuple[int, ...], ...], bool] | None = {} if spreads(step) else None
        self._wide_trips: dict[Any, bool] = {}  # by sizes of an iteration
        self._was_wide = False

    @property
    def was_asked(self) -> bool:
        """True once runs of the loop have counted."""
        return self._nest is not None

    @property
    def has_run(self) -> bool:
        """True once NumPy or C has run the loop."""
        return self.seconds > 0 or self.was_asked

    @property
    def state(self) -> str:
        """Return "compiled", or why NumPy runs the loop."""
        if self._was_wide:
            return "NumPy: an iteration makes values so large that tiles, which never hold them whole, are faster"
        return "NumPy: runs so far are too short" if self._nest is None else self._nest.state

    def nest(self) -> Nest:
        """Return the nest of the loop, written now if it is not yet."""
        if self._nest is None:
            self._nest = native_nests.nest_of(*key_of(self.step))
        return self._nest

    def __call__(self, operands: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> list[Any] | None:
        """Return the results of the loop, None where NumPy is to run it."""
        nest = self._nest
        if nest is None or nest.function is None:
            if nest is not None and not nest.is_waiting:
                return None
            nest = self._advanced(operands)
            if nest is None:
                return None
        self._was_wide = self._widths is not None and self._is_wide(tuple(map(np.shape, operands)))
        return None if self._was_wide else nest(operands, shapes)

    def _is_wide(self, shapes: tuple[tuple[int, ...], ...]) -> bool:
        """Return whether NumPy is faster for operands of these shapes, since an iteration makes far larger values."""
        widths = self._widths or {}
        if shapes not in widths:
            if len(widths) >= MOST_SHAPES:
                widths.clear()
                self._wide_trips.clear()
            trip = shapes_of_trip(self.step, shapes)
            if trip not in self._wide_trips:
                self._wide_trips[trip] = is_wide(self.step, trip)
            widths[shapes] = self._wide_trips[trip]
            self._widths = widths
        return widths[shapes]

    def _seconds_of(self, shapes: tuple[tuple[int, ...], ...]) -> float:
        """Return about how long NumPy takes for operands of these shapes, counted once for each."""
        if shapes not in self._known:
            if len(self._known) >= MOST_SHAPES:
                self._known.clear()
            self._known[shapes] = seconds_of(self.step, shapes)
        return self._known[shapes]

    def _advanced(self, operands: Sequence[Any]) -> Nest | None:
        """Count a run, and go on with the build; return the nest if it is built."""
        waits = self.mode == "wait"
        if self.mode == "auto":
            seconds = self._seconds_of(tuple(map(np.shape, operands)))
            self.seconds += seconds
            after = automatic_kernels.after
            if self.seconds < STARTED_SECONDS * after:
                return None
            waits = not after or seconds > WAITED_BUILDS * BUILD_SECONDS
        return self._built(waits)

    def settle(self, least: float) -> None:
        """Wait for the build of a loop whose runs so far are worth so many seconds, or that was begun."""
        if self._nest is not None or (self.mode == "auto" and self.seconds >= least):
            self._built(True)

    def _built(self, waits: bool) -> Nest | None:
        """Begin or go on with the build; return the nest if it is built."""
        nest = self.nest()
        if nest.is_waiting and waits and self.loops.finish is not None:
            self.loops.finish()
        if nest.is_waiting and nest.library is None:
            self.loops.library([nest])
        return nest if nest.poll(waits=waits) else None


def key_of(step: Step) -> tuple[Any, Any, Any, Any]:
    """Return the op, params, operands and results that decide the nest of a loop."""
    params = tuple([(name, value) for name, value in step.params if name != "owned_operands"])
    return step.op, params, step.metas, step.results


class PlanLoops:
    """Loops of one plan.

    - `finish`: builds them together with the groups of the plan, where that is set.
    """

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.sites: list[NestSite] = []
        self.finish: Callable[[], None] | None = None

    def site(self, step: Step, depth: int) -> NestSite:
        """Return what runs a loop at this depth of bodies."""
        site = NestSite(step, self.mode, depth, self)
        self.sites.append(site)
        return site

    def library(self, first: Sequence[Nest] = ()) -> NestLibrary | None:
        """Return what builds all nests of the plan, None where nothing is left to be built."""
        nests = [nest for nest in (*first, *self._written()) if nest.is_waiting and nest.library is None]
        return native_nests.NestLibrary(nests) if nests else None

    def _written(self) -> Iterator[Nest]:
        """Yield the nests of loops. Loops inside of a nest are a part of it."""
        within = None
        for site in self.sites:
            if within is None or site.depth <= within:
                nest = site.nest()
                within = site.depth if nest.name else None
                yield nest


class Nests:
    """Loops of the plans of a program."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.plans: list[PlanLoops] = []

    def of_plan(self) -> PlanLoops:
        """Return what takes the loops of another plan."""
        self.plans.append(PlanLoops(self.mode))
        return self.plans[-1]

    @property
    def sites(self) -> list[NestSite]:
        return [site for plan in self.plans for site in plan.sites]

    def _reported(self) -> list[NestSite]:
        """Return the loops of the last plan that has run. Loops inside of one that is compiled are a part of it."""
        plans = [plan for plan in self.plans if any(site.has_run for site in plan.sites)] or self.plans
        return [site for plan in plans[-1:] for site in plan.sites if not site.depth or site.was_asked]

    def states(self) -> list[str]:
        """Return what became of each loop."""
        return [site.state for site in self._reported()]

    def outcomes(self) -> list[str]:
        """Return what became of the loops, with their lines, a text for each outcome."""
        return outcomes_of([(site.state, site.step.where) for site in self._reported()])

    def settle(self, least: float) -> None:
        """Wait for builds; see `NestSite`."""
        for site in self.sites:
            site.settle(least)


def outcomes_of(loops: Sequence[tuple[str, SourceLine | None]]) -> list[str]:
    """Return a text for each outcome of loops, with their lines."""
    lines: dict[str, list[str]] = {}
    for state, where in loops:
        lines.setdefault(state, []).append(str(where or "a loop of the library"))
    return [f"{len(ws)} of {len(loops)} loops: {s} ({', '.join(dict.fromkeys(ws))})" for s, ws in lines.items()]

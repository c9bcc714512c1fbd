"""Loops of plans that may run as machine code: work is counted, and what writes and builds is loaded when it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from anyshape.backend.compiler.plan import Step
from anyshape.graph.ir.graph import Graph
from anyshape.ops.loops import Layout, while_op
from anyshape.support.packages import automatic_kernels, native_nests

if TYPE_CHECKING:
    from anyshape.backend.native.nests import Nest, NestLibrary

STEP_SECONDS = 1.5e-6  # of a step in NumPy, on a number or a short row
BUILD_SECONDS = 0.3
STARTED_SECONDS = 0.1  # of counted work from which on a nest is built, where a build of groups pays from 1 s on
WAITED_BUILDS = 10  # a run that would take so many builds in NumPy waits for one
GUESSED_TRIPS = 30  # of a loop whose number of iterations no operand gives
MOST_TRIPS = 1e4  # of a loop inside another one that are counted


class NestSite:
    """Runs a loop of a plan as machine code once it is built; `mode` says when that is.

    - `depth`: in how many bodies of other loops it is.
    - `loops`: all loops of the plan, which one run of the compiler builds.
    """

    def __init__(self, step: Step, mode: str, depth: int, loops: PlanLoops) -> None:
        self.step, self.mode, self.depth, self.loops, self.seconds = step, mode, depth, loops, 0.0
        self._nest: Nest | None = None

    @property
    def was_asked(self) -> bool:
        """True once runs of the loop have counted."""
        return self._nest is not None

    @property
    def state(self) -> str:
        """Return "compiled", or why NumPy runs the loop."""
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
        return nest(operands, shapes)

    def _advanced(self, operands: Sequence[Any]) -> Nest | None:
        """Count a run, and go on with the build; return the nest if it is built."""
        waits = self.mode == "wait"
        if self.mode == "auto":
            seconds = seconds_of(self.step, operands)
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

    def states(self) -> list[str]:
        """Return what became of each loop; those inside of one that is compiled are a part of it."""
        return [site.state for site in self.sites if not site.depth or site.was_asked]

    def settle(self, least: float) -> None:
        """Wait for builds; see `NestSite`."""
        for site in self.sites:
            site.settle(least)


def seconds_of(step: Step, operands: Sequence[Any]) -> float:
    """Return about how long NumPy takes for a loop, by the number of its steps and trips."""
    params = dict(step.params)
    if step.op is while_op:
        trips, graph = GUESSED_TRIPS, params["loop"][1]
    else:
        trips, graph = len(operands[Layout(*params["layout"]).stacks.start]), params["body"][0]
    return trips * _steps(graph, min(trips, MOST_TRIPS)) * STEP_SECONDS


def _steps(graph: Graph, trips: float) -> float:
    """Return how many steps a run of a graph has; loops inside have so many trips."""
    inside = sum([_steps(g, trips) for graphs in graph.subgraphs.values() for g in graphs])
    return len(graph.nodes) + trips * inside

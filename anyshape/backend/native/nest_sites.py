"""Loops of plans that may run as machine code: work is counted, and what writes and builds is loaded when it pays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.compiler.plan import Step
from anyshape.errors import ShapeError
from anyshape.graph.ir.graph import Graph, HasParams, subgraphs
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes.expr import Size, as_atom, variables
from anyshape.graph.sizes.substitute import evaluate
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops.control_flow import cond_op
from anyshape.ops.loops import LOOPS, Layout, scan_op
from anyshape.support.packages import automatic_kernels, native_nests

if TYPE_CHECKING:
    from anyshape.backend.native.nests import Nest, NestLibrary

STEP_SECONDS = 1.5e-6  # of a step in NumPy, on a number or a short row
BUILD_SECONDS = 0.3
STARTED_SECONDS = 0.1  # of counted work from which on a nest is built, where a build of groups pays from 1 s on
WAITED_BUILDS = 10  # a run that would take so many builds in NumPy waits for one
GUESSED_TRIPS = 30  # of a loop whose number of iterations no operand gives
MOST_TRIPS = 1e4  # of a loop inside another one that are counted
MOST_SHAPES = 256  # of operands whose seconds are remembered
# NumPy's tiles never hold a value whole. They are faster than C where an iteration makes one of so many bytes, which is
# so many times what it reads.
WIDE, WIDER = 1 << 22, 8


class NestSite:
    """Runs a loop of a plan as machine code once it is built; `mode` says when that is.

    - `depth`: in how many bodies of other loops it is.
    - `loops`: all loops of the plan, which one run of the compiler builds.
    """

    def __init__(self, step: Step, mode: str, depth: int, loops: PlanLoops) -> None:
        self.step, self.mode, self.depth, self.loops, self.seconds = step, mode, depth, loops, 0.0
        self._nest: Nest | None = None
        self._known: dict[tuple[tuple[int, ...], ...], float] = {}
        self._widths: dict[tuple[tuple[int, ...], ...], bool] | None = {} if _spreads(step) else None
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
            widths[shapes] = is_wide(self.step, shapes)
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


def seconds_of(step: Step, shapes: Sequence[tuple[int, ...]]) -> float:
    """Return about how long NumPy takes for a loop over operands of these shapes, by its steps, elements and trips."""
    trips = shapes[_layout(step).stacks.start][0] if step.op is scan_op else GUESSED_TRIPS
    return trips * _seconds(subgraphs(step)[-1], _of_trip(step, shapes), min(trips, MOST_TRIPS))


def _seconds(graph: Graph, shapes: Sequence[Sequence[int | None]], trips: float) -> float:
    """Return the seconds of a run of a graph on inputs of these shapes; loops inside have so many trips."""
    sizes: dict[DimVar, int | None] = {}
    for source in graph.dims:
        if isinstance(axis := as_atom(source.size), InputAxis):
            sizes[source.variable] = shapes[axis.operand][axis.axis]
    total = 0.0
    for node in graph.nodes:
        total += STEP_SECONDS
        if node.op not in _INNER:
            total += 1e-9 * sum([nanoseconds(node.op, v.meta.dtype) * _elements(v.meta, sizes) for v in node.outputs])
            continue
        inputs = node.inputs[node.op is cond_op :]
        inner = _of_trip(node, [_shape(v.meta, sizes) for v in inputs])
        total += sum([_seconds(g, inner, trips) for g in subgraphs(node)]) * (1 if node.op is cond_op else trips)
    return total


def _spreads(step: Step) -> bool:
    """Return whether an iteration, without loops in it, makes a value with axes that no operand has."""
    body = subgraphs(step)[-1]
    outputs = [v.meta for node in body.nodes for v in node.outputs]
    read = [_open_sizes(v.meta) for v in body.inputs]
    has_loops = any(node.op in _INNER for node in body.nodes)
    return not has_loops and any(not any(sizes <= own for own in read) for sizes in map(_open_sizes, outputs))


def _open_sizes(meta: TensorMeta) -> Counter[Size]:
    return Counter(e.size for e in meta.extents if isinstance(e, Exact) and not isinstance(e.size, int))


def is_wide(step: Step, shapes: Sequence[tuple[int, ...]]) -> bool:
    """Return whether an iteration makes values far larger than those that it reads, and than caches."""
    body, trip = subgraphs(step)[-1], _of_trip(step, shapes)
    trips = max(shapes[_layout(step).stacks.start][0], 1) if step.op is scan_op else 1
    trip = [[x[0] // trips if n is None else n for n in own] for own, x in zip(trip, shapes, strict=True)]  # of pieces
    sizes: dict[DimVar, int | None] = {}
    for source in body.dims:
        if isinstance(axis := as_atom(source.size), InputAxis):
            sizes[source.variable] = trip[axis.operand][axis.axis]
    made = [v.meta for node in body.nodes for v in node.outputs]
    widest = max([_elements(meta, sizes) * meta.dtype.itemsize for meta in made], default=0)
    read = [_elements(v.meta, sizes) * v.meta.dtype.itemsize for v in body.inputs]
    return widest > max(WIDE, WIDER * max(read, default=0))


def _layout(step: HasParams) -> Layout:
    return Layout(*dict(step.params)["layout"])


def _of_trip(step: HasParams, shapes: Sequence[Sequence[int | None]]) -> list[Sequence[int | None]]:
    """Return the shapes that a trip sees of these operands; the length of a piece of a joined array is not known."""
    if step.op is not scan_op:
        return list(shapes)
    layout = _layout(step)
    own, pieces = layout.stacks, range(layout.stacks.stop, layout.own)
    elements = range(own.start, own.stop)
    return [x[1:] if k in elements else [None, *x[1:]] if k in pieces else x for k, x in enumerate(shapes)]


def _shape(meta: TensorMeta, sizes: Mapping[DimVar, int | None]) -> list[int | None]:
    """Return the sizes of a value, None where they are not known."""
    return [_number(e.size, sizes) if isinstance(e, Exact) else None for e in meta.extents]


def _number(size: Size, sizes: Mapping[DimVar, int | None]) -> int | None:
    if any(sizes.get(v) is None for v in variables(size)):
        return None
    try:
        return evaluate(size, sizes.__getitem__)  # type: ignore[arg-type]
    except (ZeroDivisionError, KeyError, ShapeError):  # sizes of the body that do not broadcast: its run says so
        return None


def _elements(meta: TensorMeta, sizes: Mapping[DimVar, int | None]) -> int:
    """Return the number of elements of a value; sizes that are not known count as 1."""
    return math.prod([1 if n is None else max(n, 0) for n in _shape(meta, sizes)])


_INNER = (*LOOPS, cond_op)

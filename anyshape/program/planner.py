"""Planner of one trace: lower its graph and compile plans of it.

It holds no compiled function but those that check conditions. A program and its timed copy share one.

Plans that take less memory, for calls that would otherwise exceed `max_bytes`.

First, each trip of a loop computes its element values itself. Then loops get checkpoint slots: one for each trip, or as
many as fit. Then values are rematerialised. Where no bound is known of any of these, the run counts its bytes. It stops
in the step that exceeds the limit.

Arguments that a program writes to: the caller's arrays get their final values after a run that succeeded.

The graph of such a program gives these values after its results. A run computes all of them before the first is
written. So a run that raises writes nothing.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anyshape.backend.compiler.codegen.execute import EntryGuard, Meter, Run, compile_plan, has_loop
from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.compiler.lower import lower, size_bindings
from anyshape.backend.compiler.op_traits import bytes_of
from anyshape.backend.compiler.passes.pipeline import Tier, optimize, rematerialise
from anyshape.backend.compiler.peak_memory import Budget, bytes_at, peak_bytes, shape_constant_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.runtime.block_cache import MAX_CALL_BYTES, keep_heap_end
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.outcome import GUARD_FAILED, Outputs
from anyshape.backend.runtime.rows import LiveBytes, counting
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Graph, happens_once
from anyshape.graph.prover.constraints import Claim, Condition, at_least
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.guards import guard_predicate, size_function
from anyshape.graph.signature.prologue import Prologue
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.numpy.arrays.array import Array
from anyshape.numpy.operands.memory import into, shares
from anyshape.program.specialize import BroadcastPattern, CallPatterns, ContractionPaths, broadcast_groups
from anyshape.support.fork_lock import Lock, collection_deferred, restores_thread
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.packages import (
    automatic_kernels,
    costs,
    loop_nests,
    loop_slots,
    native_kernels,
    subgraph_transforms,
    timed_nests,
)
from anyshape.support.progress import phase
from anyshape.support.true_types import has_type
from anyshape.tracing.trace import Trace

if TYPE_CHECKING:
    from anyshape.backend.native.automatic import AutomaticKernels
    from anyshape.backend.native.kernels import PlanKernels
    from anyshape.backend.native.nest_profile import TimedNests
    from anyshape.backend.native.nest_sites import Nests, PlanLoops

_PLAN = logging.getLogger("anyshape.plan")


class Planner:
    """Lowers and compiles the graph of one trace, within `max_bytes` if that is a number.

    `tier` is that of the plans which calls have in the end. `compile_mode` says when kernels of their groups are built.
    """

    @restores_thread
    def __init__(
        self, trace: Trace, max_bytes: int | None, tier: Tier = Tier.OPTIMISED, compile_mode: str = "off"
    ) -> None:
        self.trace, self.max_bytes, self.tier = trace, max_bytes, tier
        self.compile_mode = compile_mode
        self.kernels: list[PlanKernels | AutomaticKernels] = []  # of each optimised plan
        self.nests: Nests | None = None  # of all plans with loops
        with phase(f"planning {trace.graph.name}"), collection_deferred():
            self.graph: Graph = optimize(trace.graph)
        # Buffers grow with the number of threads, so a memory limit fixes that number.
        self.threads: int | None = None if max_bytes is None else config.num_threads
        groups, paths = broadcast_groups(self.graph), ContractionPaths(self.graph)
        specializes = bool(groups or paths)
        self.patterns: CallPatterns | None = (
            CallPatterns(self.graph, self.prologue, groups, paths) if specializes else None
        )

    # -- conditions of a call

    @cached_property
    def prologue(self) -> Prologue:
        """Signature of the program, and how a call binds its sizes."""
        graph = self.graph
        metas = tuple([v.meta for v in graph.inputs[: len(graph.inputs) - graph.hidden]])
        names = self.trace.labels or graph.input_names or tuple(f"args[{i}]" for i in range(len(metas)))
        return Prologue(graph.name, names, metas, graph.values, size_bindings(graph))

    @property
    def guards(self) -> list[Condition]:
        """Guards of the program, in the order in which Python decided."""
        return [c for c in self.graph.conditions if c.kind == "guard"]

    @property
    def _guard_claims(self) -> tuple[Claim, ...]:
        return tuple([c.claim for c in self.guards])

    @cached_property
    def accepts(self) -> Callable[..., bool]:
        """Predicate of the arrays of a call: whether all guards hold."""
        return guard_predicate(self.prologue, self._guard_claims)

    @cached_property
    def checks_own_guards(self) -> bool:
        """True if compiled functions check the guards themselves, right after they read the sizes."""
        return self.prologue.only_reads and not any(map(divides_by_size, self._guard_claims))

    @property
    def own_guards(self) -> list[EntryGuard]:
        """Guards that compiled functions check themselves."""
        return [EntryGuard(self._guard_claims)] if self.checks_own_guards else []

    # -- plans

    @cached_property
    def plan(self) -> Plan:
        """Plan that assumes no relation between sizes."""
        return self._lower(self.graph)

    def plan_for(self, arrays: Sequence[Any]) -> Plan:
        """Return the plan for these arrays, hoisted if their shape-only values are small enough to cache."""
        patterns = self.patterns
        graph = self.graph if patterns is None else self._graph_for(patterns.of_call(arrays))
        plan = self._hoisted(graph)
        return plan if self._caches_constants(plan, arrays) else self.unhoisted(graph)

    def plan_at(self, sizes: Mapping[DimVar, int]) -> Plan:
        """Return the plan for these sizes, without hoisting."""
        patterns = self.patterns
        return self.plan if patterns is None else self.unhoisted(self._graph_for(patterns.of_dims(sizes)))

    def plans(self) -> list[Plan]:
        """Return the general plan, and the plan for calls in which sizes that broadcast together are equal."""
        if (patterns := self.patterns) is None:
            return [self.plan]
        return [self.plan, self.unhoisted(self._graph_for(patterns.default))]

    def _graph_for(self, pattern: BroadcastPattern) -> Graph:
        """Return the graph of the plan for a pattern, which first plans share."""
        assert self.patterns is not None
        if self.tier is Tier.OPTIMISED:
            return optimize(self.patterns.graph_for(pattern))
        graph = self.patterns.graph_along(pattern.paths)
        return graph if graph is self.graph else optimize(graph)

    @property
    def shape_constant_bytes(self) -> Size:
        """Upper bound of the bytes that one call caches of shape-only values."""
        return expr.minimum(shape_constant_bytes(self._hoisted(self.graph)), MAX_CALL_BYTES)

    def unhoisted(self, graph: Graph, tier: Tier | None = None) -> Plan:
        """Return the plan of a graph that computes shape-only values at each call."""
        is_general = graph is self.graph and tier in (None, self.tier)
        return self.plan if is_general else self._lower(graph, tier=tier)

    def _hoisted(self, graph: Graph, tier: Tier | None = None) -> Plan:
        """Return the plan of a graph with cached shape-only values, unless they are too large or memory is limited."""
        if self.max_bytes is not None:
            return self.unhoisted(graph, tier)
        plan = self._lower(graph, hoist=True, tier=tier)
        size = shape_constant_bytes(plan)
        return self.unhoisted(graph, tier) if isinstance(size, int) and size > MAX_CALL_BYTES else plan

    @restores_thread
    def _lower(self, graph: Graph, hoist: bool = False, tier: Tier | None = None, blocks: bool = True) -> Plan:
        chosen = self.tier if tier is None else tier
        plan = lower(graph, hoist, chosen, _batched if blocks and chosen is Tier.OPTIMISED else None)
        return replace(plan, input_names=self.trace.labels) if self.trace.labels else plan

    def _caches_constants(self, plan: Plan, arrays: Sequence[Any]) -> bool:
        """Return True if a call with these arrays caches the shape-only values of the plan."""
        if isinstance(size := shape_constant_bytes(plan), int):
            return size <= MAX_CALL_BYTES
        try:
            return size_function(self.prologue, [size], "{}")(*arrays) <= MAX_CALL_BYTES
        except ZeroDivisionError:  # a run refuses these sizes
            return False

    # -- functions

    @restores_thread
    def compile(
        self,
        graph: Graph,
        entry_guards: Sequence[EntryGuard] = (),
        over_limit: Run | None = None,
        *,
        timers: Timers | None = None,
        tier: Tier | None = None,
        meter: Meter | None = None,
    ) -> Run:
        """Compile this graph or a specialization of it.

        The function checks the guards if `checks_own_guards`. Where it needs more than `max_bytes`, `over_limit` runs,
        if there is such a function.
        """
        keep_heap_end()
        if graph is not self.graph:
            graph = optimize(graph)
        with phase(f"planning {self.graph.name}"), collection_deferred():
            plan = self._hoisted(graph, tier)
        before = self.own_guards
        size = shape_constant_bytes(plan)
        after = []
        if not isinstance(size, int):
            recomputing = self._compiled_at_need(graph, timers, tier, meter)
            after.append(EntryGuard((at_least(MAX_CALL_BYTES, size),), recomputing))
        budget = self._budget(graph, plan, over_limit, timers)
        with phase(f"generating code of {self.graph.name}"), collection_deferred():
            guards = [*before, *entry_guards, *after]
            nests = self._nests_of(plan)
            kernels = self._kernels_of(plan, tier, nests)
            loops = self._timed(nests, timers)
            run = compile_plan(plan, budget, guards, timers, self.threads, meter, kernels, nests=loops)
            return run if timers is not None or not has_loop(plan.steps) else self._naming_trips(run, graph, tier)

    def _naming_trips(self, run: Run, graph: Graph, tier: Tier | None) -> Run:
        """Return a run whose errors name one trip: what computes values of many trips at once runs again without."""
        if any(happens_once(node) for node in graph.nodes):
            return run
        alone = functools.cache(lambda: compile_plan(self._lower(graph, tier=tier, blocks=False)))

        @functools.wraps(run)
        def naming(*arrays):
            try:
                return run(*arrays)
            except AnyshapeError as error:
                if not any(isinstance(trip, range) for trip in error.trips):
                    raise
                problem = error
            alone()(*arrays)
            raise problem

        return naming

    def _nests_of(self, plan: Plan) -> PlanLoops | None:
        """Return what runs the loops of a plan as machine code, None for a plan without any."""
        if self.compile_mode == "off" or self.max_bytes is not None or not has_loop(plan.steps):
            return None
        if self.nests is None:
            self.nests = loop_nests.Nests(self.compile_mode)
        return self.nests.of_plan()

    def _timed(self, nests: PlanLoops | None, timers: Timers | None) -> PlanLoops | TimedNests | None:
        """Return what runs the loops of a plan, and records their times for timers."""
        return nests if self.nests is None or timers is None else timed_nests.TimedNests(self.nests, timers)

    def _kernels_of(
        self, plan: Plan, tier: Tier | None, nests: PlanLoops | None
    ) -> PlanKernels | AutomaticKernels | None:
        """Return what collects the kernels of a plan. A first plan has none, nor one whose memory is limited."""
        is_first = (tier or self.tier) is not Tier.OPTIMISED
        if self.compile_mode == "off" or is_first or self.max_bytes is not None:
            return None
        mode, automatic = self.compile_mode, automatic_kernels.AutomaticKernels()
        kernels = automatic if mode == "auto" else native_kernels.PlanKernels(mode, nests, automatic)
        self.kernels.append(kernels)
        return kernels

    def kernel_outcomes(self) -> tuple[str, ...]:
        """Return what became of the groups and loops that were to be compiled, a line for each outcome."""
        states = [state for kernels in self.kernels for state in kernels.outcomes().values()]
        groups = [f"{count} of {len(states)} groups: {state}" for state, count in Counter(states).items()]
        return *groups, *(self._limited_loops() if self.nests is None else self.nests.outcomes())

    def _limited_loops(self) -> list[str]:
        """Return the outcome of loops that no plan has as machine code, as memory is limited."""
        if self.compile_mode == "off" or self.max_bytes is None or not has_loop(self.graph.nodes):
            return []
        return loop_nests.outcomes_of([(_LIMITED, node.where) for node in self.graph.nodes if has_loop([node])])

    def _compiled_at_need(self, graph: Graph, timers: Timers | None, tier: Tier | None, meter: Meter | None) -> Run:
        """Return the function for sizes whose shape-only values are too large to cache; its first call compiles it."""

        @functools.cache
        def compiled() -> Run:
            plan = self.unhoisted(graph, tier)
            nests = self._nests_of(plan)
            kernels = self._kernels_of(plan, tier, nests)
            loops = self._timed(nests, timers)
            return compile_plan(plan, timers=timers, meter=meter, kernels=kernels, nests=loops)

        def run(*arrays):
            return compiled()(*arrays)

        return run

    def _budget(self, graph: Graph, plan: Plan, over_limit: Run | None, timers: Timers | None) -> Budget | None:
        """Return the memory limit of a plan, with what to run where its peak exceeds that."""
        if self.max_bytes is None:
            return None
        peak = peak_bytes(plan, self.threads)
        where, needed = None if peak.step is None else peak.step.where, costs.bound(graph, peak.size)
        compiled = functools.partial(compile_plan, timers=timers, threads=self.threads)
        smaller = functools.partial(self._lower, blocks=False)
        has_bound = needed is not None
        rematerialised = MemoryLimitedPlans(graph, self.max_bytes, self.threads, smaller, compiled, has_bound)
        return Budget(self.graph.name, self.max_bytes, needed, where, rematerialised, over_limit)


def _batched(graph: Graph, stacked: Sequence[bool]) -> Graph | None:
    """Return the graph of stacks of the flagged inputs, None where a batching rule refuses it."""
    try:
        return subgraph_transforms.stacked_graph(graph, stacked, Array)
    except AnyshapeError as error:
        _PLAN.debug("%s: each trip computes its element values: %s", graph.name, error)
        return None


_LOG = logging.getLogger("anyshape.passes")
_LIMITED = "NumPy: max_bytes limits the memory of a call"  # a state of loops
_SEGMENTS = (1, 2, 4, 8, 16)  # into which the first part of a program is cut; more of them keep more and peak less
_MOST_SLOTS = 1024  # of a loop whose trips values decide: 500,000 trips are made three times at most
_MAX_SEARCHES = 4  # of one program; later calls use one of the plans found


@dataclass(eq=False)
class MemoryLimitedPlans:
    """Plans of a graph that use at most `limit` bytes on at most `threads` threads. `lower` makes no blocks of trips.

    The values to rematerialise are chosen for the sizes of the first call over the limit. They are chosen again when
    no plan so far fits the sizes of a call. Each plan is correct at all sizes.

    `has_bound` says whether the plan without a limit has a known bound. Where no plan has one, a run counts its bytes.
    """

    graph: Graph
    limit: int
    threads: int | None
    lower: Callable[[Graph], Plan]
    compile: Callable[..., Run]
    has_bound: bool = True
    counted: Run | None = None
    lock: Lock = field(default_factory=Lock)
    plans: list[tuple[Size, Plan]] = field(default_factory=list)  # with the peak of each
    runs: dict[int, Run] = field(default_factory=dict)
    searches: int = 0

    def __call__(self, sizes: Mapping[str, int]) -> tuple[Run | None, int | None]:
        """Return a function that keeps to the limit at these sizes, if there is one, and the least bytes needed."""
        with self.lock:
            needed, plan = self._best(sizes)
            if (needed is None or needed > self.limit) and self.searches < _MAX_SEARCHES:
                self.searches += 1
                self._add_plans(sizes)
                needed, plan = self._best(sizes)
            if plan is None and not self.has_bound:
                return self._counted_run(), None
            fits = plan is not None and needed is not None and needed <= self.limit
            return (self._run(plan) if fits and plan is not None else None), needed

    def _best(self, sizes: Mapping[str, int]) -> tuple[int | None, Plan | None]:
        """Return the first plan that fits, which recomputes least, else the one with the lowest peak."""
        peaks = [(bytes_at(size, sizes), plan) for size, plan in self.plans]
        fitting = [pair for pair in peaks if pair[0] <= self.limit]
        return fitting[0] if fitting else min(peaks, key=lambda pair: pair[0], default=(None, None))

    def _add_plans(self, sizes: Mapping[str, int]) -> None:
        """Add plans for these sizes until one fits."""
        for how, graph in self._graphs(sizes):
            plan = self.lower(graph)
            if (size := costs.bound(graph, peak_bytes(plan, self.threads).size)) is not None:
                self.plans.append((size, plan))
                peak = bytes_at(size, sizes)
                _LOG.debug("%s: %d bytes %s", graph.name, peak, how)
                if peak <= self.limit:
                    return

    def _graphs(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Graph]]:
        """Yield graphs that may take less memory, each with how it does."""
        if self.graph.subgraphs and self.searches == 1:
            yield "without blocks of trips", self.graph
        yield from self._graphs_with_slots(sizes)
        for segments in _SEGMENTS:
            graph = rematerialise(self.graph, lambda meta: self._bytes_of(meta, sizes), segments)
            if graph is not None:
                yield f"with rematerialisation ({segments} segments)", graph

    def _graphs_with_slots(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Graph]]:
        """Yield graphs whose loops have a checkpoint slot for each trip, as many as fit, and one.

        Memory grows with the number of slots, nearly in proportion.
        """
        lengths = [costs.bound(self.graph, pair.length) for pair in loop_slots.pairs_of(self.graph)]
        if not lengths:
            return
        make = lambda count: optimize(loop_slots.with_slots(self.graph, count))
        most, one = max(1, *[_MOST_SLOTS if n is None else bytes_at(n, sizes) for n in lengths]), make(1)
        every = make(most)
        yield f"with {most} checkpoint slots", every
        low, high = self._peak(one, sizes), self._peak(every, sizes)
        if low is not None and high is not None and low < self.limit < high:
            count = 1 + (self.limit - low) * (most - 1) // (high - low)
            yield f"with {count} checkpoint slots", make(count)
        yield "with one checkpoint slot", one

    def _peak(self, graph: Graph, sizes: Mapping[str, int]) -> int | None:
        """Return the bytes that a graph takes at these sizes, None where they have no known bound."""
        size = costs.bound(graph, peak_bytes(self.lower(graph), self.threads).size)
        return None if size is None else bytes_at(size, sizes)

    def _bytes_of(self, meta: TensorMeta, sizes: Mapping[str, int]) -> int | None:
        """Return the bytes of a value, or None if they have no known bound."""
        size = costs.bound(self.graph, bytes_of(meta))
        return None if size is None else bytes_at(size, sizes)

    def _counted_run(self) -> Run:
        """Return a function that counts the bytes of a run."""
        if self.counted is None:
            plan = self.lower(self.graph)
            run, constants = self.compile(plan, counts_bytes=True), [x for _, x in plan.constants]

            def counted(*arrays) -> Outputs:
                with counting(LiveBytes(self.graph.name, self.limit, [*arrays, *constants])):
                    return run(*arrays)

            self.counted = counted
        return self.counted

    def _run(self, plan: Plan) -> Run:
        run = self.runs.get(id(plan))
        if run is None:
            run = self.runs[id(plan)] = self.compile(plan)
        return run


_MAX_WORK = 1000  # candidates that NumPy tries for an element that two arrays share


def refuse_layouts(trace: Trace, arrays: Sequence[Any]) -> None:
    """Raise ArgumentError for an argument whose elements lie in memory in another way than when traced."""
    for i, was, now in trace.other_layouts(arrays):
        problem = f"is {now}, and the program is for one that is {was}"
        advice = "trace it again for such arrays, or use jit"
        raise ArgumentError(trace.graph.name, (trace.labels or trace.paths)[i], problem, advice)


def writing_back(
    run: Callable[..., Any], trace: Trace, captured: Callable[[], Sequence[tuple[str, Any]]]
) -> Callable[..., Any]:
    """Return a run of a trace that gives the results alone, and writes to the arguments.

    Raise ArgumentError for arguments that Python could not write to so that only they change: for `captured` arrays,
    which have paths, too. The trace has read these already.
    """
    if not trace.written:
        return run
    count, written, same = trace.count, trace.written, trace.same

    def writing(*arrays):
        if (outputs := run(*arrays)) is GUARD_FAILED:
            return outputs
        _check(trace, arrays, captured())
        for position, value in zip(written, outputs[count:], strict=True):
            np.copyto(arrays[position], value)
        results = [*outputs[:count]]
        for result, position in same:
            results[result] = arrays[position]
        return results

    return writing


def ending(run: Callable[..., Any], trace: Trace) -> Callable[..., Any]:
    """Return a run of a trace that raises the exception which ends its path, if one does."""
    if (raised := trace.raised) is None:
        return run

    def raising(*arrays):
        if (outputs := run(*arrays)) is not GUARD_FAILED:
            raised.again()
        return outputs

    return raising


def require_arrays(trace: Trace, leaves: Sequence[Any]) -> None:
    """Raise ArgumentError unless the arguments that a program writes to are arrays, which can change."""
    names = trace.labels or trace.paths
    for i in trace.written:
        if not has_type(leaves[i], np.ndarray):
            problem = f"is of type {type(leaves[i]).__name__}, not an array, and {trace.graph.name} writes to it"
            raise ArgumentError(trace.graph.name, names[i], problem, "pass an array, whose elements can change")


def written_inside(trace: Trace, leaves: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """Return the results among the outputs of a program that is called in a trace, and write to its arguments there."""
    names, asked = trace.labels or trace.paths, f"{trace.graph.name}(...)"
    for i, value in zip(trace.written, outputs[trace.count :], strict=True):
        x = leaves[i]
        for j, y in enumerate(leaves):
            if j != i and isinstance(x, Traced) and isinstance(y, Traced) and (x is y or shares(x, y)):
                problem = f"shares memory with {names[j]}, and {trace.graph.name} writes to it"
                raise ArgumentError(trace.graph.name, names[i], problem, f"pass {names[j]}.copy()")
        into(x, value, asked)
    results = [*outputs[: trace.count]]
    for result, position in trace.same:
        results[result] = leaves[position]
    return results


def _check(trace: Trace, arrays: Sequence[Any], captured: Sequence[tuple[str, Any]]) -> None:
    """Raise ArgumentError where a write cannot be done, or would change another array that the program reads."""
    names = trace.labels or trace.paths
    name = trace.graph.name
    constants = [("an array that the function closes over", y) for _, y in trace.graph.constants]
    held = [*captured, *constants]
    for i in trace.written:
        x = arrays[i]
        flags = x.flags
        if not flags.writeable:
            raise ArgumentError(name, names[i], f"is read-only, and {name} writes to it", _advice(names[i]))
        if not flags.forc and _overlaps_itself(x):
            problem = f"has elements that share memory, and {name} writes to it"
            raise ArgumentError(name, names[i], problem, _advice(names[i]))
        others = [(names[j], y) for j, y in enumerate(arrays[: len(names)]) if j != i]
        for other, y in itertools.chain(others, held):
            if np.may_share_memory(x, y) and _shares(x, y):
                problem = f"shares memory with {other}, and {name} writes to it"
                raise ArgumentError(name, names[i], problem, f"pass {names[i]}.copy(), and read the result there")


def _advice(path: str) -> str:
    return f"write {path} = {path}.copy() before the first write, or pass a copy"


def _overlaps_itself(x: np.ndarray) -> bool:
    """Return whether an array has more bytes than the memory that it spans, or one element many times."""
    low, high = np.lib.array_utils.byte_bounds(x)
    return x.size > 0 and high - low < x.nbytes


def _shares(x: np.ndarray, y: np.ndarray) -> bool:
    """Return whether two arrays have an element in common, or may have where that is hard to tell."""
    try:
        return np.shares_memory(x, y, max_work=_MAX_WORK)  # type: ignore[arg-type]  # stubs name two of the numbers
    except np.exceptions.TooHardError:
        return True

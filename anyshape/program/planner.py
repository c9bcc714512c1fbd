"""Planner of one trace: lower its graph and compile plans of it.

It holds no compiled function but those that check conditions. A program and its timed copy share one.
"""

from __future__ import annotations

import functools
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anyshape.backend.compiler.codegen.execute import EntryGuard, Run, compile_plan
from anyshape.backend.compiler.codegen.meters import Meter
from anyshape.backend.compiler.codegen.timers import Timers
from anyshape.backend.compiler.lower import lower, size_bindings
from anyshape.backend.compiler.passes.pipeline import Tier, optimize
from anyshape.backend.compiler.peak_memory import Budget, peak_bytes, shape_constant_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.runtime.block_cache import keep_heap_end
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.shape_constant_cache import MAX_CALL_BYTES
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Claim, Condition, at_least
from anyshape.graph.prover.solvers.linear_constraints import divides_by_size
from anyshape.graph.signature.guards import guard_predicate, size_function
from anyshape.graph.signature.prologue import Prologue
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.inspect import cost
from anyshape.numpy.arrays.array import Array
from anyshape.program.contraction_choice import ContractionPaths
from anyshape.program.memory_limited import MemoryLimitedPlans
from anyshape.program.specialize import BroadcastPattern, CallPatterns, broadcast_groups
from anyshape.support.garbage import collection_deferred
from anyshape.support.interruption import restores_thread
from anyshape.support.packages import native_kernels, subgraph_transforms
from anyshape.support.progress import phase
from anyshape.tracing.trace import Trace

if TYPE_CHECKING:
    from anyshape.backend.native.kernels import PlanKernels

_PLAN = logging.getLogger("anyshape.plan")


class Planner:
    """Lowers and compiles the graph of one trace, within `max_bytes` if that is a number.

    `tier` is that of the plans which calls have in the end. `compile_mode` says when kernels of their groups are built.
    """

    trace: Trace
    max_bytes: int | None
    tier: Tier

    @restores_thread
    def __init__(
        self, trace: Trace, max_bytes: int | None, tier: Tier = Tier.OPTIMISED, compile_mode: str = "off"
    ) -> None:
        self.trace, self.max_bytes, self.tier = trace, max_bytes, tier
        self.compile_mode = compile_mode
        self.kernels: list[PlanKernels] = []  # of each optimised plan
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
        patterns = self.patterns
        if patterns is None:
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
        size = shape_constant_bytes(plan)
        if isinstance(size, int):
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
        before = [EntryGuard(self._guard_claims)] if self.checks_own_guards else []
        size = shape_constant_bytes(plan)
        after = []
        if not isinstance(size, int):
            recomputing = self._compiled_at_need(graph, timers, tier, meter)
            after.append(EntryGuard((at_least(MAX_CALL_BYTES, size),), recomputing))
        budget = self._budget(graph, plan, over_limit, timers)
        with phase(f"generating code of {self.graph.name}"), collection_deferred():
            guards = [*before, *entry_guards, *after]
            return compile_plan(plan, budget, guards, timers, self.threads, meter, self._kernels_of(plan, tier))

    def _kernels_of(self, plan: Plan, tier: Tier | None) -> PlanKernels | None:
        """Return what collects the kernels of a plan. A first plan has none, nor one whose memory is limited."""
        is_first = (tier or self.tier) is not Tier.OPTIMISED
        if self.compile_mode == "off" or is_first or self.max_bytes is not None:
            return None
        kernels: PlanKernels = native_kernels.PlanKernels(self.compile_mode)
        self.kernels.append(kernels)
        return kernels

    def kernel_outcomes(self) -> tuple[str, ...]:
        """Return what became of the groups that were to be compiled, a line for each outcome."""
        states = [state for kernels in self.kernels for state in kernels.states.values()]
        return tuple([f"{count} of {len(states)} groups: {state}" for state, count in Counter(states).items()])

    def _compiled_at_need(self, graph: Graph, timers: Timers | None, tier: Tier | None, meter: Meter | None) -> Run:
        """Return the function for sizes whose shape-only values are too large to cache; its first call compiles it."""

        @functools.cache
        def compiled() -> Run:
            plan = self.unhoisted(graph, tier)
            return compile_plan(plan, timers=timers, meter=meter, kernels=self._kernels_of(plan, tier))

        def run(*arrays: Any) -> Any:
            return compiled()(*arrays)

        return run

    def _budget(self, graph: Graph, plan: Plan, over_limit: Run | None, timers: Timers | None) -> Budget | None:
        """Return the memory limit of a plan, with what to run where its peak exceeds that."""
        if self.max_bytes is None:
            return None
        peak = peak_bytes(plan, self.threads)
        where, needed = None if peak.step is None else peak.step.where, cost.bound(graph, peak.size)
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

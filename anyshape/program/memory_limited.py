"""Plans that take less memory, for calls that would otherwise exceed `max_bytes`.

First, each trip of a loop computes its element values itself. Then loops get checkpoint slots: one for each trip, or as
many as fit. Then values are rematerialised. Where no bound is known of any of these, the run counts its bytes. It stops
in the step that exceeds the limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anyshape.backend.compiler.codegen.execute import Run
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.backend.compiler.passes.remat import rematerialise
from anyshape.backend.compiler.peak_memory import bytes_at, peak_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.compiler.scratch import bytes_of
from anyshape.backend.runtime.live_bytes import LiveBytes, counting
from anyshape.backend.runtime.outcome import Outputs
from anyshape.graph.ir.graph import Graph
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.inspect import cost
from anyshape.support.fork_lock import Lock
from anyshape.support.packages import loop_slots

_LOG = logging.getLogger("anyshape.passes")
_SEGMENTS = (1, 2, 4, 8, 16)  # into which the first part of a program is cut; more of them keep more and peak less
_MOST_SLOTS = 1024  # of a loop whose trips values decide: 500,000 trips are made three times at most
_MAX_SEARCHES = 4  # of one program; later calls use one of the plans found


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

    def __init__(
        self,
        graph: Graph,
        limit: int,
        threads: int | None,
        lower: Callable[[Graph], Plan],
        compile_plan: Callable[..., Run],
        has_bound: bool = True,
    ) -> None:
        self.graph, self.limit, self.threads, self.lower, self.compile = graph, limit, threads, lower, compile_plan
        self.has_bound = has_bound
        self.counted: Run | None = None
        self.lock: Lock = Lock()
        self.plans: list[tuple[Size, Plan]] = []  # with the peak of each
        self.runs: dict[int, Run] = {}
        self.searches: int = 0

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
            size = cost.bound(graph, peak_bytes(plan, self.threads).size)
            if size is not None:
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
        lengths = [cost.bound(self.graph, pair.length) for pair in loop_slots.pairs_of(self.graph)]
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
        size = cost.bound(graph, peak_bytes(self.lower(graph), self.threads).size)
        return None if size is None else bytes_at(size, sizes)

    def _bytes_of(self, meta: TensorMeta, sizes: Mapping[str, int]) -> int | None:
        """Return the bytes of a value, or None if they have no known bound."""
        size = cost.bound(self.graph, bytes_of(meta))
        return None if size is None else bytes_at(size, sizes)

    def _counted_run(self) -> Run:
        """Return a function that counts the bytes of a run."""
        if self.counted is None:
            plan = self.lower(self.graph)
            run, constants = self.compile(plan, counts_bytes=True), [x for _, x in plan.constants]

            def counted(*arrays: Any) -> Outputs:
                with counting(LiveBytes(self.graph.name, self.limit, [*arrays, *constants])):
                    return run(*arrays)

            self.counted = counted
        return self.counted

    def _run(self, plan: Plan) -> Run:
        run = self.runs.get(id(plan))
        if run is None:
            run = self.runs[id(plan)] = self.compile(plan)
        return run

"""Plans that compute values again instead of keeping them, for calls that would else take more than max_bytes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from anyshape.backend.compiler.codegen.execute import Run
from anyshape.backend.compiler.passes.remat import rematerialise
from anyshape.backend.compiler.peak_memory import bytes_at, bytes_of, peak_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.graph.ir.graph import Graph
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.inspect import cost
from anyshape.support.fork_lock import Lock

_LOG = logging.getLogger("anyshape.passes")
_SEGMENTS = (1, 2, 4, 8, 16)  # into which the first part of a program is cut: more of them keep more, and peak less
_MOST = 4  # choices that a program makes in all; later calls take one of these


class MemoryLimitedPlans:
    """What runs in place of the plan of a graph where that takes more than `limit` bytes, on so many threads.

    What is kept is chosen for the sizes of the first such call, and anew where no choice made so far fits; each plan
    holds at all sizes.
    """

    def __init__(
        self,
        graph: Graph,
        limit: int,
        threads: int | None,
        planned: Callable[[Graph], Plan],
        compiled: Callable[[Plan], Run],
    ) -> None:
        self.graph, self.limit, self.threads, self.planned, self.compiled = graph, limit, threads, planned, compiled
        self.lock = Lock()
        self.plans: list[tuple[Size, Plan]] = []
        self.runs: dict[int, Run] = {}
        self.choices = 0

    def __call__(self, sizes: Mapping[str, int]) -> tuple[Run | None, int | None]:
        """The function to run at these sizes, if there is one that keeps to the limit, and the least bytes needed."""
        with self.lock:
            needed, plan = self._least(sizes)
            if (needed is None or needed > self.limit) and self.choices < _MOST:
                self.choices += 1
                self._choose(sizes)
                needed, plan = self._least(sizes)
            fits = plan is not None and needed is not None and needed <= self.limit
            return (self._run(plan) if fits and plan is not None else None), needed

    def _least(self, sizes: Mapping[str, int]) -> tuple[int | None, Plan | None]:
        """The first plan that fits, as it computes least again; else that which takes least."""
        found = [(bytes_at(size, sizes), plan) for size, plan in self.plans]
        fitting = [pair for pair in found if pair[0] <= self.limit]
        return fitting[0] if fitting else min(found, key=lambda pair: pair[0], default=(None, None))

    def _choose(self, sizes: Mapping[str, int]) -> None:
        """Add plans for these sizes, until one fits."""
        for segments in _SEGMENTS:
            graph = rematerialise(self.graph, lambda meta: self._weight(meta, sizes), segments)
            if graph is None:
                continue
            plan = self.planned(graph)
            size = cost.bound(graph, peak_bytes(plan, self.threads).size)
            if size is not None:
                self.plans.append((size, plan))
                taken = bytes_at(size, sizes)
                _LOG.debug("%s: %d bytes where values are computed again (%d segments)", graph.name, taken, segments)
                if taken <= self.limit:
                    return

    def _weight(self, meta: TensorMeta, sizes: Mapping[str, int]) -> int | None:
        """The bytes of a value, None if no bound of them is known."""
        size = cost.bound(self.graph, bytes_of(meta))
        return None if size is None else bytes_at(size, sizes)

    def _run(self, plan: Plan) -> Run:
        run = self.runs.get(id(plan))
        if run is None:
            run = self.runs[id(plan)] = self.compiled(plan)
        return run

"""A traced program: its graph, its plan and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from anyshape.backend.execute import compile_plan, input_axis
from anyshape.backend.lower import lower
from anyshape.backend.passes import simplify
from anyshape.backend.plan import Plan
from anyshape.errors import ArgumentError, SizeMismatchError
from anyshape.frontend.tracing import Trace
from anyshape.frontend.trees import as_leaf, flatten, unflatten
from anyshape.graph.dim_text import to_source
from anyshape.graph.guards import compile_predicate
from anyshape.graph.ir import Graph


class Program:
    """One trace, ready to run at every shape that satisfies its conditions. Prints as its graph; pickles.

    `graph` is what was traced, after passes; `plan` is what runs.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.graph: Graph = simplify(trace.graph)
        plan = lower(self.graph)
        self.plan: Plan = replace(plan, input_names=trace.labels) if trace.labels else plan
        self.run = compile_plan(self.plan)
        self.single = trace.out_tree.is_leaf()

    @property
    def name(self) -> str:
        return self.graph.name

    @cached_property
    def accepts(self) -> Callable[..., bool] | None:
        """Whether the guards hold for these leaves; None when there are no guards."""
        return guard_predicate(self.graph)

    def call_flat(self, leaves: Sequence[Any]) -> Any:
        """Run on the leaves of the arguments, which the caller has checked."""
        outputs = self.run(*leaves)
        return outputs[0] if self.single else unflatten(self.trace.out_tree, outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on arguments of the structure, dtypes and ranks that were traced, of any size the program allows."""
        leaves, tree = flatten((args, kwargs))
        if tree != self.trace.in_tree:
            problem = f"have the structure {tree}, not {self.trace.in_tree}"
            raise ArgumentError(self.name, "the arguments", problem, "pass arguments as they were traced")
        arrays = [as_leaf(x, p, self.name) for x, p in zip(leaves, self.trace.paths, strict=True)]
        for x, meta, path in zip(arrays, self.plan.input_metas, self.trace.paths, strict=True):
            if x.ndim != meta.rank or x.dtype != meta.dtype:
                problem = f"is {x.dtype} with {x.ndim} axes, not {meta}"
                raise ArgumentError(self.name, path, problem, "convert it, or trace again for this dtype and rank")
        if self.accepts is not None and not self.accepts(*arrays):
            self._refuse(arrays)
        return self.call_flat(arrays)

    def _refuse(self, arrays: Sequence[Any]) -> None:
        """Raise for the first guard that these sizes break: the program holds for another path of Python."""
        for guard in [c for c in self.graph.conditions if c.kind == "guard"]:
            alone = replace(self.graph, conditions=(guard,))
            holds = guard_predicate(alone)
            if holds is not None and not holds(*arrays):
                sizes = {f"{n}.shape": x.shape for n, x in zip(self.plan.input_names, arrays, strict=True)}
                raise SizeMismatchError(self.name, str(guard.claim), sizes, guard.why, guard.where)

    def __reduce__(self) -> Any:
        return Program, (self.trace,)

    def __str__(self) -> str:
        return str(self.graph)


def guard_predicate(graph: Graph) -> Callable[..., bool] | None:
    """A generated function of the input leaves that is true when every guard holds."""
    claims = [c.claim for c in graph.conditions if c.kind == "guard"]
    reads = {s.variable: to_source(s.size, input_axis) for s in graph.dims}
    return compile_predicate(claims, reads, [f"x{i}" for i in range(len(graph.inputs))]) if claims else None

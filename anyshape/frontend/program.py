"""A traced program: its graph, its plan and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from anyshape.backend.execute import compile_plan
from anyshape.backend.lower import lower
from anyshape.backend.plan import Plan
from anyshape.backend.passes import simplify
from anyshape.frontend.tracing import Trace
from anyshape.frontend.trees import unflatten
from anyshape.graph import dims
from anyshape.graph.dims import InputAxis, Leaf
from anyshape.graph.ir import Graph


class Program:
    """One trace, ready to run at every shape that satisfies its guards."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.graph: Graph = simplify(trace.graph)
        self.out_tree = trace.out_tree
        self.plan: Plan = lower(self.graph)
        self.run = compile_plan(self.plan)
        self.single = self.out_tree.is_leaf()

    @cached_property
    def accepts(self) -> Callable[..., bool] | None:
        """Whether the guards hold for these leaves; None when there are no guards."""
        return guard_predicate(self.graph)

    def __call__(self, leaves: Sequence[Any]) -> Any:
        outputs = self.run(*leaves)
        return outputs[0] if self.single else unflatten(self.out_tree, outputs)

    def __reduce__(self) -> Any:
        return Program, (self.trace,)

    def __str__(self) -> str:
        return str(self.graph)


def guard_predicate(graph: Graph) -> Callable[..., bool] | None:
    """A generated function of the input leaves that is true when every guard holds."""
    sizes = {s.variable: dims.to_source(s.size, _input_axis) for s in graph.dims}
    claims = [c.claim.source(lambda leaf: sizes[leaf]) for c in graph.conditions if c.kind == "guard"]  # type: ignore[index]
    if not claims:
        return None
    arguments = ", ".join(f"x{i}" for i in range(len(graph.inputs)))
    return eval(f"lambda {arguments}: {' and '.join(f'({c})' for c in claims)}")  # type: ignore[no-any-return]


def _input_axis(leaf: Leaf) -> str:
    if not isinstance(leaf, InputAxis):
        raise TypeError(f"{leaf} is no axis of an input")
    return f"x{leaf.operand}.shape[{leaf.axis}]"

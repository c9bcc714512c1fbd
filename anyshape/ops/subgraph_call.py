"""Trace functions into subgraphs, and give a node the operands that its subgraphs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, Traced, activate, active
from anyshape.graph.ir.graph import DimSource, Graph, Value
from anyshape.graph.ir.subgraph import Closed, axes_of_variables, close
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops.core.apply import Operand
from anyshape.ops.creation import full
from anyshape.ops.movement import broadcast_in_dim

Body = Callable[..., Sequence[Traced]]


class Provided:
    """Functions that a folder above provides at its import, by a function that loads their module."""

    def __init__(self) -> None:
        self._load: Callable[[], Any] | None = None

    def provide_by(self, load: Callable[[], Any]) -> None:
        """Let a function return the module of the functions, at their first use."""
        self._load = load

    def __call__(self) -> Any:
        """Return the module of the functions."""
        if self._load is None:
            raise AnyshapeError("no folder provides what this needs\n  import anyshape")
        return self._load()


maps_over_rows: Provided = Provided()  # `map_rows` and `row_dtypes`
paths_of_sizes: Provided = Provided()  # `following_sizes`
Results = Sequence[Sequence[Traced]]


def trace_subgraphs(
    bodies: Sequence[Body],
    arguments: Sequence[TensorMeta],
    names: Sequence[str],
    held: Sequence[Condition | None] = (),
    unify: Callable[[Results], Results] = lambda results: results,
) -> tuple[tuple[Graph, ...], list[Operand]]:
    """Trace functions of the same arguments in the active trace, each into a subgraph.

    Returns the subgraphs, all with the same inputs, and the operands that stand behind the arguments. A body belongs to
    its subgraph as a whole: operations on captured values alone run there, not before. What it requires of sizes is an
    assertion of the subgraph alone.

    - `held`: for each body a condition that holds wherever it runs.
    - `unify`: changes the results of all bodies, once these are known, and is called with no builder active.
    """
    outer = active()
    if outer is None:
        raise AnyshapeError("a subgraph is traced outside of any trace\n  call the function under jit")
    traced = [_Traced(outer, body, arguments, c) for body, c in zip(bodies, held or [None] * len(bodies), strict=True)]
    results = unify([t.results for t in traced])
    graphs = [t.finish(ends, name) for t, ends, name in zip(traced, results, names, strict=True)]
    closed = close(graphs, [t.builder.captures() for t in traced])
    return closed.graphs, further_operands(closed, {v: expr.from_atom(v) for v in closed.carried})


class _Traced:
    """Body that was traced: its builder, its results, and the conditions of its subgraph."""

    def __init__(self, outer: Builder, body: Body, arguments: Sequence[TensorMeta], held: Condition | None) -> None:
        self.builder = Builder(outer.scope, parent=outer, handle=outer.handle, whole=True)
        before = {id(c) for c in outer.scope.conditions}
        with outer.scope.apart(held), activate(self.builder):
            inputs = [self.builder.input(meta) for meta in arguments]
            for variable, axis in axes_of_variables(self.builder.inputs).items():
                self.builder.define_dim(variable, axis)  # sizes are read off the arguments, not off captured values
            self.results = body(*inputs)
            self.conditions = tuple([_of_body(c, id(c) in before) for c in outer.scope.conditions])
        self.builder.closed = False  # its results may still be converted

    def finish(self, ends: Sequence[Traced], name: str) -> Graph:
        """Return the graph with these results."""
        return replace(self.builder.finish(ends, name), conditions=self.conditions)


def _of_body(condition: Condition, is_outer: bool) -> Condition:
    """Return a condition as a subgraph states it: only what its body requires is an assertion there."""
    is_own = condition.kind == "fact" or (condition.kind == "assertion" and not is_outer)
    return condition if is_own else replace(condition, kind="constraint")


def further_operands(closed: Closed, sizes: Mapping[DimVar, Size]) -> list[Operand]:
    """Return the operands behind the arguments: captures, constants, and size carriers of these sizes."""
    return [*closed.captures, *closed.constants, *[size_carrier(sizes[v]) for v in closed.carried]]


def size_carrier(size: Size) -> Any:
    """Return an array of this size, whose elements take no memory and are never read."""
    return broadcast_in_dim(full((), False, bool), (size,), ())


def with_element(body: Graph, at: int, stack: TensorMeta) -> Graph:
    """Return a body that takes an element of a stack at a position of its inputs, and does not read it."""
    element = tensor(stack.dtype, [expr.from_atom(DimVar("size")) for _ in stack.extents[1:]])
    inputs = (*body.inputs[:at], Value(element), *body.inputs[at:])
    return replace(body, inputs=inputs, dims=tuple([DimSource(v, n) for v, n in axes_of_variables(inputs).items()]))

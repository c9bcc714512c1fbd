"""Close graphs, so that they can be parameters of a node, and derive the types of their results there.

A subgraph is closed:

- It has no constants. Constants and captured values of enclosing graphs are inputs, so operands of the node.
- Each of its dimension variables is the size of an axis of its inputs, on which it stands alone. A variable without
  such an axis gets an input of its own, a size carrier. This is a bool array of that size whose elements are never
  read.
- Its conditions are about these variables and about run-time sizes of its own.

So a subgraph means the same wherever its node stands, and passes that substitute sizes leave it as it is. Its variables
are bound by it. They may be the variables of the graph that it was traced in, without a connection to them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from anyshape.errors import IllegalGraphError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import DimSource, Graph, Value
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.ir.validate import check_subgraph, with_lemmas
from anyshape.graph.prover.constraints import Claim, Condition
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import computable, substitute
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Closed:
    """Subgraphs with the same inputs: their arguments, then the captures, the constants and the size carriers.

    `carried` are the variables of the size carriers, in their order.
    """

    graphs: tuple[Graph, ...]
    captures: tuple[Traced, ...]
    constants: tuple[np.ndarray, ...]
    carried: tuple[DimVar, ...]


def axes_of_variables(inputs: Sequence[Value]) -> dict[DimVar, Size]:
    """Return the first axis, as an op-local size, of each variable that is the size of an axis of an input."""
    axes: dict[DimVar, Size] = {}
    for operand, value in enumerate(inputs):
        for variable, axis in value.meta.variable_axes():
            axes.setdefault(variable, expr.input_axis(operand, axis))
    return axes


def close(graphs: Sequence[Graph], captures: Sequence[Sequence[Traced]] = ()) -> Closed:
    """Return finished graphs with the same arguments as subgraphs with the same inputs, without dead code.

    `captures` gives for each graph the values of enclosing graphs that its last inputs stand for, as `Builder.captures`
    does. Hidden inputs become size carriers. Raises IllegalGraphError where a graph is not legal.
    """
    parts = [_Parts(g, c) for g, c in zip(graphs, captures or [()] * len(graphs), strict=True)]
    captured = {x.value: x for part in parts for x in part.captured.values()}
    constants = {id(array): array for part in parts for _, array in part.graph.constants}
    try:
        own = [part.conditions() for part in parts]
        closed, carried = _with_shared_inputs(parts, [*captured], constants, own, _checked)
    except IllegalGraphError:  # a proof goes through variables that a graph itself does not have
        relied = [_connected(part.graph.conditions, part.variables()) for part in parts]
        closed, carried = _with_shared_inputs(parts, [*captured], constants, relied, with_lemmas)
    return Closed(closed, tuple(captured.values()), tuple(constants.values()), carried)


def _with_shared_inputs(
    parts: Sequence[_Parts],
    captured: Sequence[Value],
    constants: Mapping[int, np.ndarray],
    relied: Sequence[Sequence[Condition]],
    legal: Callable[[Graph], Graph],
) -> tuple[tuple[Graph, ...], tuple[DimVar, ...]]:
    """Return the closed graphs, each with the conditions that it relies on, and the variables that need a carrier.

    `legal` returns a closed graph, perhaps with further conditions, or raises IllegalGraphError.
    """
    named = [v for part, held in zip(parts, relied, strict=True) for v in part.named(held)]
    axes = axes_of_variables([*parts[0].arguments, *captured])
    read = {v for part in parts for v in part.carriers}
    carried = tuple([v for v in dict.fromkeys(named) if v not in axes or v in read])
    graphs = [part.closed(captured, constants, carried, held) for part, held in zip(parts, relied, strict=True)]
    return tuple(map(legal, graphs)), carried


def _checked(graph: Graph) -> Graph:
    """Return a subgraph; raise IllegalGraphError unless it is legal."""
    check_subgraph(graph)
    return graph


class _Parts:
    """Inputs of a finished graph by kind: arguments, captures by inner value, and size carriers by variable."""

    def __init__(self, graph: Graph, captures: Sequence[Traced]) -> None:
        visible = graph.inputs[: len(graph.inputs) - graph.hidden]
        count = len(visible) - len(captures)
        self.graph, self.arguments = remove_dead_code(graph), visible[:count]
        read = {v for n in self.graph.nodes for v in n.operands} | {*graph.outputs}
        self.captured = {v: x for v, x in zip(visible[count:], captures, strict=True) if v in read}
        self.carriers = {
            variable: value
            for value in graph.inputs[len(visible) :]
            for variable, _ in value.meta.variable_axes()
            if value in read
        }

    def variables(self) -> list[DimVar]:
        """Return the variables in the types of its values, without the run-time sizes that it makes."""
        values = [*self.arguments, *self.captured, *[v for n in self.graph.nodes for v in n.outputs]]
        extents = [e for v in [*values, *self.carriers.values()] for e in v.meta.extents]
        named = dict.fromkeys(v for e in extents if not isinstance(e, Unknown) for v in expr.variables(e.size))
        return [v for v in named if v not in self.graph.runtime]

    def named(self, conditions: Iterable[Condition]) -> list[DimVar]:
        """Return the variables of its types and of conditions, without the run-time sizes that it makes."""
        relied = [v for c in conditions for v in c.claim.variables() if v not in self.graph.runtime]
        return [*self.variables(), *relied]

    def conditions(self) -> list[Condition]:
        """Return the conditions about its own variables alone, and its assertions, which it checks itself."""
        own, stated = (
            {*self.variables(), *self.graph.runtime},
            [c for c in self.graph.conditions if c.claim.variables()],
        )
        return [c for c in stated if own.issuperset(c.claim.variables()) or c.may_refuse]

    def closed(
        self,
        captured: Sequence[Value],
        constants: Mapping[int, np.ndarray],
        carried: Sequence[DimVar],
        conditions: Sequence[Condition],
    ) -> Graph:
        """Return the graph with an input for each capture, constant and carried variable, read or not."""
        inner = {x.value: value for value, x in self.captured.items()}
        constant = {id(array): value for value, array in self.graph.constants}
        inputs = (
            *self.arguments,
            *[inner.get(v) or Value(v.meta) for v in captured],
            *[constant.get(i) or Value(tensor(a.dtype, a.shape)) for i, a in constants.items()],
            *[self.carriers.get(v) or Value(tensor(np.dtype(bool), [expr.from_atom(v)])) for v in carried],
        )
        return replace(
            self.graph,
            inputs=inputs,
            constants=(),
            dims=tuple([DimSource(v, size) for v, size in axes_of_variables(inputs).items()]),
            conditions=tuple([self._stated(c) for c in conditions]),
            input_names=(),
            values=(),
            hidden=0,
        )

    def _stated(self, condition: Condition) -> Condition:
        """Return a fact about a run-time size of an enclosing graph as a constraint on an input, others as they are."""
        own = not self.graph.runtime.keys().isdisjoint(condition.claim.variables())
        return condition if own or condition.kind != "fact" else replace(condition, kind="constraint")


def _connected(conditions: Iterable[Condition], variables: Iterable[DimVar]) -> list[Condition]:
    """Return the conditions about these variables, and about others that such conditions connect with them."""
    reached, left = set(variables), [c for c in conditions if c.claim.variables()]
    connected: list[Condition] = []
    grown = True
    while grown:
        grown = False
        for condition in left:
            if condition not in connected and not reached.isdisjoint(condition.claim.variables()):
                connected.append(condition)
                reached.update(condition.claim.variables())
                grown = True
    return connected


# -- at a node -----------------------------------------------------------------------------------------------------


def call_type(
    ctx: ShapeGuardContext,
    graph: Graph,
    operands: Sequence[TensorMeta],
    first: int = 0,
    always: bool = True,
    elements: Container[int] = (),
    varying: Container[DimVar] = (),
) -> tuple[TensorMeta, ...]:
    """Return the types of the outputs of a subgraph for these operands of a node, which start at operand `first`.

    For shape rules. Requires of the operands what the subgraph states of its inputs: their types, the ranges of its
    variables and its conditions. Run-time sizes of the subgraph become bounds. A subgraph that does not run `always`
    checks its assertions itself, where it does.

    - `elements`: the inputs that are elements of operands along the first axis. `operands` gives their types.
    - `varying`: variables that differ between the runs of a loop. Its runs check what is stated of them.
    """
    if len(operands) != len(graph.inputs):
        raise ctx.fail(f"{graph.name or 'a subgraph'} takes {len(graph.inputs)} operands, not {len(operands)}")
    sizes = _Sizes(ctx, graph, first, elements, varying)
    sizes.always = always
    for operand, value in zip(operands, graph.inputs, strict=True):
        if operand.dtype != value.meta.dtype:
            advice = "convert the operand with astype"
            raise ctx.bad_dtype(f"an operand is {operand.dtype}, and the subgraph takes {value.meta.dtype}", advice)
        if operand.rank != value.meta.rank:
            raise ctx.fail(f"an operand is {operand}, and the subgraph takes {value.meta}")
        for axis, extent in enumerate(value.meta.extents):
            sizes.require_extent(operand, axis, extent)
    sizes.require_conditions(("assertion", "guard", "constraint") if always else ("constraint",))
    return tuple([TensorMeta(m.dtype, tuple([sizes.extent(e) for e in m.extents])) for m in graph.results])


def assertions_at(
    ctx: ShapeGuardContext, graph: Graph, operands: Sequence[TensorMeta], first: int = 0
) -> list[Condition]:
    """Return what a subgraph asserts of its inputs, where these operands of a node have the sizes that it is about."""
    sizes = _Sizes(ctx, graph, first)
    named = {v for s in graph.dims if sizes.is_exact(v := s.variable)}
    about_inputs = [c for c in graph.conditions if c.kind == "assertion" and named.issuperset(c.claim.variables())]
    return [replace(c, claim=sizes.claim(c.claim)) for c in about_inputs]


class _Sizes:
    """Sizes of a subgraph in terms of the operands of a node."""

    def __init__(
        self,
        ctx: ShapeGuardContext,
        graph: Graph,
        first: int,
        elements: Container[int] = (),
        varying: Container[DimVar] = (),
    ) -> None:
        self.ctx, self.graph, self.varying, self.always = ctx, graph, varying, True
        self.axes: dict[Atom, Size] = {}
        for source in graph.dims:
            axis = expr.as_atom(source.size)
            if not isinstance(axis, InputAxis):
                name = graph.name or "a subgraph"
                raise ctx.fail(f"the size {source.variable} of {name} is not an axis of its inputs")
            if source.variable not in varying:
                axis_of_operand = axis.axis + (axis.operand in elements)
                self.axes[source.variable] = expr.input_axis(first + axis.operand, axis_of_operand)

    def extent(self, extent: ShapeExtent) -> ShapeExtent:
        """Return an extent of the subgraph as one of the node."""
        if isinstance(extent, Unknown) or any(v in self.varying for v in expr.variables(extent.size)):
            return Unknown()
        size = substitute(extent.size, self.axes.get)
        try:
            resolved = self.ctx.resolve(size)
        except ZeroDivisionError:
            if self.always:
                raise
            resolved = self.ctx.resolve(computable(size))  # of a branch that does not run at these sizes
        return UpperBound(resolved.size) if isinstance(extent, UpperBound) and isinstance(resolved, Exact) else resolved

    def require_extent(self, operand: TensorMeta, axis: int, extent: ShapeExtent) -> None:
        """Require that an axis of an operand is as the subgraph takes it."""
        promised = self.extent(extent)
        if isinstance(promised, Unknown) or promised == operand.extents[axis]:
            return
        size = self.ctx.exact(operand, axis, field="operands")
        why = f"the subgraph takes {promised} as axis {axis} of an operand"
        if isinstance(promised, Exact):
            self.ctx.require_equal(size, promised.size, why)
        else:
            self.ctx.require_at_least(promised.size, size, why)

    def require_conditions(self, kinds: Container[str]) -> None:
        """Require the ranges of variables, and the conditions of these kinds that are about inputs alone."""
        for source in self.graph.dims:
            if source.variable in self.varying:
                continue
            variable, size = source.variable, self.value(self.axes[source.variable])
            self.ctx.require_at_least(size, variable.lower, f"{variable} is at least {variable.lower}")
            if variable.upper is not None:
                self.ctx.require_at_least(variable.upper, size, f"{variable} is at most {variable.upper}")
        for condition in self.graph.conditions:
            if condition.kind in kinds and all(v in self.axes for v in condition.claim.variables()):
                self.ctx.require(self.claim(condition.claim), condition.why)

    def is_exact(self, variable: DimVar) -> bool:
        """Return whether the operand that gives a variable has an exact size there."""
        return isinstance(self.ctx.resolve(self.axes[variable]), Exact)

    def claim(self, claim: Claim) -> Claim:
        """Return a claim of the subgraph about sizes of the node."""
        return Claim(claim.relation, self.value(claim.left), self.value(claim.right))

    def value(self, size: Size) -> Size:
        """Return a size of the subgraph as an exact size of the node."""
        local: Size = self.ctx.bind(substitute(size, self.axes.get), field="operands")
        return local


def sizes_at(ctx: ShapeGuardContext, graph: Graph, operands: Sequence[TensorMeta]) -> dict[DimVar, Size]:
    """Return the size that each variable of a subgraph has where it is applied to these operands."""
    sizes: dict[DimVar, Size] = {}
    for source in graph.dims:
        axis = expr.as_atom(source.size)
        if isinstance(axis, InputAxis):
            sizes[source.variable] = ctx.exact(operands[axis.operand], axis.axis, field="operands")
    return sizes

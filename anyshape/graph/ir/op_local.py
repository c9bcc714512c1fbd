"""Conversion between op-local and value-side sizes. No other module converts them on its own.

Dead code elimination: keep the nodes that outputs and conditions need, as NumPy would raise for dead code too.

A node whose value is not used may still refuse values, such as an index out of range. Its refusals then run in its
place, without its result. They are left out where a node that stays refuses the same values.

A loop or a conditional also refuses what its subgraphs assert of sizes, in the runs that reach them.

Context in which passes query sizes.

Close graphs, so that they can be parameters of a node, and derive the types of their results there.

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

from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence, Set
from functools import partial
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import IllegalGraphError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import DimSource, Graph, Node, Op, Params, Value, params_tuple, raises, subgraphs
from anyshape.graph.ir.validate import check_subgraph, with_lemmas
from anyshape.graph.prover.constraints import Claim, Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import (
    Exact,
    ShapeExtent,
    ShapeGuardContext,
    TensorMeta,
    Unknown,
    UpperBound,
    tensor,
)
from anyshape.graph.signature.dim_equations import connected_conditions
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import computable, substitute, substitute_leaves
from anyshape.graph.sizes.symbols import Leaf
from anyshape.support.lazy_dataclass import dataclass, replace


def bind_local(param: Any, extent_of: Callable[[InputAxis], Size | None]) -> Any:
    """Return a param with its op-local leaves replaced. Leaves for which `extent_of` returns None stay."""
    if isinstance(param, DimExpr):
        atom = expr.as_atom(param)
        if isinstance(atom, InputAxis):  # the usual case
            size = extent_of(atom)
            return param if size is None else size
        return substitute_leaves(param, lambda a: extent_of(a) if isinstance(a, InputAxis) else None)
    return tuple([bind_local(p, extent_of) for p in param]) if isinstance(param, tuple) else param


def has_local(param: Any) -> bool:
    """Return whether a param holds an op-local expression."""
    if isinstance(param, tuple):
        return any(has_local(p) for p in param)
    return isinstance(param, DimExpr)


def axes_read(param: Any) -> list[InputAxis]:
    """Return the axes of operands that a param reads."""
    if isinstance(param, tuple):
        return [axis for p in param for axis in axes_read(p)]
    return [leaf for leaf in expr.leaves_of(param) if isinstance(leaf, InputAxis)] if isinstance(param, DimExpr) else []


def over_axes(
    definition: Size | tuple[Value, int], inputs: Sequence[Value], axis_of: Callable[[Value, int], Size]
) -> Size:
    """Return a variable over axes of values, each named by `axis_of`.

    A run-time size is defined as an axis of a value, any other variable by a size over axes of the inputs.
    """
    if isinstance(definition, tuple):
        return axis_of(*definition)
    size: Size = bind_local(definition, lambda leaf: axis_of(inputs[leaf.operand], leaf.axis))
    return size


class NodeSizes:
    """Converts sizes of the nodes of one graph, params of each node once."""

    def __init__(self, graph: Graph, ctx: ShapeGuardContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.dims: dict[DimVar, Size] = {source.variable: source.size for source in graph.dims}
        self._params: dict[Node, Params] = {}
        self._partly_named: set[Node] = set()

    def params(self, node: Node) -> Params:
        """Return the params with value-side sizes. A size without a name stays op-local."""
        if not node.params:
            return ()
        params = self._params.get(node)
        if params is None:
            read = lambda leaf: self._axis(node, leaf)
            params = self._params[node] = tuple([(name, bind_local(p, read)) for name, p in node.params])
        return params

    def _axis(self, node: Node, leaf: InputAxis) -> Size | None:
        if isinstance(extent := self.ctx.extent(node.operands[leaf.operand], leaf.axis, field="params"), Exact):
            return self.ctx.scope.normal(extent.size)
        self._partly_named.add(node)
        return None

    def params_over(self, node: Node, sources: list[Value]) -> Params:
        """Return the params with value-side sizes, and sizes without a name over axes of `sources`.

        Operands of the node are added to the sources as needed.
        """
        params = self.params(node)
        if node not in self._partly_named:
            return params

        def rebased(leaf: InputAxis) -> Size:
            return _axis_of_source(sources, node.operands[leaf.operand], leaf.axis)

        return tuple([(name, bind_local(param, rebased)) for name, param in params])

    def localise(self, sizes: tuple[Size, ...], sources: list[Value]) -> tuple[Size, ...]:
        """Return value-side sizes as op-local ones over `sources`, to which inputs of the graph are added as needed."""

        def of_leaf(leaf: Leaf) -> Size | None:
            if not isinstance(leaf, DimVar):
                return None
            return over_axes(
                self.graph.runtime.get(leaf) or self.dims[leaf], self.graph.inputs, partial(_axis_of_source, sources)
            )

        return tuple([substitute_leaves(size, of_leaf) for size in sizes])


def refusal(op: Op, node: Node, value: Value, params: Mapping[str, Any]) -> Node:
    """Return a node that applies `op` to an operand of another node, for the values that this refuses.

    Sizes in `params` are over the operands of the other node.
    """
    operands = [value]

    def rebased(leaf: InputAxis) -> Size:
        return _axis_of_source(operands, node.operands[leaf.operand], leaf.axis)

    local = {name: bind_local(param, rebased) for name, param in params.items()}
    return Node(op, (value,), tuple(operands[1:]), params_tuple(local), (Value(value.meta),), node.where)


def _axis_of_source(sources: list[Value], value: Value, axis: int) -> Size:
    """Return an axis of a value, which is added to the sources if it is new."""
    if value not in sources:
        sources.append(value)
    return expr.input_axis(sources.index(value), axis)


def asserted_values(graph: Graph) -> set[Value]:
    """Return the values that must be computed for a check: of a run-time size, or by a node that runs to refuse."""
    return asserted_sizes(graph) | {v for n in graph.nodes if raises(n) or n in refusals(n) for v in n.outputs}


def asserted_sizes(graph: Graph) -> set[Value]:
    """Return the values that have a run-time size of a condition that a run checks."""
    claims = [c.claim for c in graph.conditions if c.kind != "fact"] if graph.runtime else []
    return {graph.runtime[v][0] for claim in claims for v in claim.variables() if v in graph.runtime}


def remove_dead_code(graph: Graph) -> Graph:
    """Return the graph without nodes that no output needs, constants that no node reads, and facts about lost sizes."""
    ends: set[Value] = {*graph.outputs, *asserted_sizes(graph)}
    live = _live_nodes(graph, ends)
    if replaced := refusals_of_dead(graph, live):
        live = _live_nodes(graph, ends.union(*[r.operands for new in replaced.values() for r in new]))
    nodes = tuple([new for n in graph.nodes for new in ((n,) if n in live else replaced.get(n, ()))])
    read = ends.union(*[values for n in nodes for values in (n.inputs, n.sources)])
    live_part = replace(graph, nodes=nodes, constants=tuple([(v, a) for v, a in graph.constants if v in read]))
    return _without_facts(live_part, graph.runtime.keys() - live_part.runtime.keys())


def _without_facts(graph: Graph, removed: Set[DimVar]) -> Graph:
    """Return the graph without facts about run-time sizes that no node makes any more.

    Ops state facts about sizes of their own operands and results, so no fact about another size is lost.
    """
    if not removed:
        return graph
    return replace(graph, conditions=tuple([c for c in graph.conditions if removed.isdisjoint(c.claim.variables())]))


def _live_nodes(graph: Graph, ends: Iterable[Value]) -> set[Node]:
    """Return the nodes that these values need, or that raise."""
    live, read = set[Node](), set(ends)
    for node in reversed(graph.nodes):
        if not read.isdisjoint(node.outputs) or raises(node):
            live.add(node)
            read.update(node.inputs, node.sources)
    return live


Key = TypeVar("Key", bound=Hashable)


def topological_order(roots: Iterable[Key], reads: Callable[[Key], Iterable[Key] | None]) -> list[Key]:
    """Return the roots and all that they read, each after all that it reads; without keys whose `reads` is None.

    A key that reads itself, at once or through others, comes after the others that it reads.
    """
    begun, ordered = set[Key](), list[Key]()
    stack = [(key, False) for key in roots]
    while stack:
        key, is_ready = stack.pop()
        if is_ready:
            ordered.append(key)
        elif key not in begun and (dependencies := reads(key)) is not None:
            begun.add(key)
            stack.append((key, True))
            stack += [(k, False) for k in reversed([*dependencies])]
    return ordered


def ancestors(nodes: Iterable[Node], value: Value) -> set[Value]:
    """Return a value and all others that these nodes compute it from."""
    makers = {y: node.operands for node in nodes for y in node.outputs}
    return {*topological_order([value], lambda v: makers.get(v, ()))}


def refusals_of_dead(graph: Graph, live: Container[Node]) -> dict[Node, list[Node]]:
    """Return for nodes that are not live what runs in their place, without refusals that live nodes make."""
    dead = {n: new for n in graph.nodes if n not in live and (new := refusals(n))}
    if not dead:
        return {}
    made = {_key(r) for n in graph.nodes if n in live for r in refusals(n)}
    return {node: [r for r in new if r is node or _is_new(r, made)] for node, new in dead.items()}


def _is_new(refusal: Node, made: set[Any]) -> bool:
    """Return whether no refusal of the same values was made, and remember it."""
    key = _key(refusal)
    is_new = key not in made
    made.add(key)
    return is_new


def refusals(node: Node) -> Sequence[Node]:
    """Return the nodes that refuse what a node refuses: itself, if one of its subgraphs refuses sizes or values."""
    if node.op.refusals is not None:
        return node.op.refusals(node)
    return (node,) if node.op.has_subgraphs and any(map(may_refuse, subgraphs(node))) else ()


def may_refuse(graph: Graph) -> bool:
    """Return whether a run of a subgraph may raise for its sizes or values."""
    return any(c.may_refuse for c in graph.conditions) or any(raises(n) or refusals(n) for n in graph.nodes)


def _key(refusal: Node):
    """Return a key that refusals of the same values share; `name` is the operation that the error names."""

    def size(leaf: InputAxis) -> Size | None:
        extent = refusal.operands[leaf.operand].meta.extents[leaf.axis]
        return extent.size if isinstance(extent, Exact) else None

    unnamed = tuple([v for v in refusal.sources if v.meta.sizes is None])
    params = tuple([(name, bind_local(p, size)) for name, p in refusal.params if name != "name"])
    return refusal.op, refusal.inputs, unnamed, params


def pass_scope(graph: Graph, reliance_log: list[Any] | None = None) -> Scope:
    """Return a scope of the conditions of a graph, for passes. `reliance_log` records their size queries."""
    log = deque(maxlen=0) if reliance_log is None else reliance_log
    return Scope(conditions=graph.conditions, reliance_log=log, runtime=graph.runtime)


def pass_context(scope: Scope, name: str) -> ShapeGuardContext:
    """Return the context through which a pass of this name queries sizes."""
    return ShapeGuardContext(scope, name, rule="pass")


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
        relied = [connected_conditions(part.graph.conditions, part.variables()) for part in parts]
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
            if not isinstance(axis := expr.as_atom(source.size), InputAxis):
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
        if isinstance(promised := self.extent(extent), Unknown) or promised == operand.extents[axis]:
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
        if isinstance(axis := expr.as_atom(source.size), InputAxis):
            sizes[source.variable] = ctx.exact(operands[axis.operand], axis.axis, field="operands")
    return sizes

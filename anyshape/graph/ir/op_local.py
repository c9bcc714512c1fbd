"""Conversion between op-local and value-side sizes. No other module converts them on its own.

Dead code elimination: keep the nodes that outputs and conditions need, as NumPy would raise for dead code too.

A node whose value is not used may still refuse values, such as an index out of range. Its refusals then run in its
place, without its result. They are left out where a node that stays refuses the same values.

A loop or a conditional also refuses what its subgraphs assert of sizes, in the runs that reach them.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op, Params, Value, params_tuple, raises, subgraphs
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.graph.sizes.symbols import Leaf


def bind_local(param: Any, extent_of: Callable[[InputAxis], Size | None]) -> Any:
    """Return a param with its op-local leaves replaced. Leaves for which `extent_of` returns None stay."""
    if isinstance(param, DimExpr):
        atom = expr.as_atom(param)
        if isinstance(atom, InputAxis):  # the usual case
            size = extent_of(atom)
            return param if size is None else size
        return substitute_leaves(param, lambda a: extent_of(a) if isinstance(a, InputAxis) else None)
    if isinstance(param, tuple):
        return tuple([bind_local(p, extent_of) for p in param])
    return param


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

    graph: Graph
    ctx: ShapeGuardContext

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
        extent = self.ctx.extent(node.operands[leaf.operand], leaf.axis, field="params")
        if isinstance(extent, Exact):
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
    replaced = refusals_of_dead(graph, live)
    if replaced:
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


def ancestors(nodes: Iterable[Node], value: Value) -> set[Value]:
    """Return a value and all others that these nodes compute it from."""
    makers = {y: node.operands for node in nodes for y in node.outputs}
    reached, todo = {value}, [value]
    while todo:
        operands = {*makers.get(todo.pop(), ())} - reached
        reached |= operands
        todo += operands
    return reached


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

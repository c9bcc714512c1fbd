"""Is this graph legal? Every value exists before it is read, and its metadata follow from its op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyshape.errors import AnyshapeError, IllegalGraphError
from anyshape.graph.ir.graph import DimSource, Graph, Node, Value, subgraphs
from anyshape.graph.ir.printer import show_param
from anyshape.graph.prover.constraints import substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, exact_size
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute


def check_graph(graph: Graph, tick: Callable[[], object] = bool) -> None:
    """Raise IllegalGraphError at the first node that breaks a rule of graphs. `tick` is called before each node."""
    scope = Scope(conditions=[c for c in graph.conditions if c.kind != "fact"])
    known: set[Value] = {*graph.inputs, *[v for v, _ in graph.constants]}
    for node in graph.nodes:
        tick()
        for inner in subgraphs(node):
            check_subgraph(inner, tick)
        missing = [v for v in node.operands if v not in known]
        if missing:
            raise IllegalGraphError(_text(node), f"reads {missing[0]} before it is made")
        repeated = [v for v in node.outputs if v in known]
        if repeated:
            raise IllegalGraphError(_text(node), f"makes {repeated[0]} a second time")
        _check_metadata(scope, node)
        known.update(node.outputs)
    for condition in graph.conditions:
        if condition.kind == "fact" and not scope.proves(condition.claim):
            raise IllegalGraphError(str(condition), "does not follow from what its ops see to")
    for value in graph.outputs:
        if value not in known:
            raise IllegalGraphError("return", f"returns {value}, which nothing makes")


def check_subgraph(graph: Graph, tick: Callable[[], object] = bool) -> None:
    """Raise IllegalGraphError unless the graph is legal and closed, as a param of a node must be."""
    name = graph.name or "a subgraph"
    if graph.constants or graph.values or graph.hidden:
        raise IllegalGraphError(name, "is a subgraph with constants, sizes by value or hidden inputs")
    for source in graph.dims:
        if not _is_axis(graph, source):
            raise IllegalGraphError(name, f"reads {source.variable} off {source.size}, which is no axis of that size")
    bound = {*[s.variable for s in graph.dims], *graph.runtime}
    sizes = [e.size for v in graph.numbering for e in v.meta.extents if not isinstance(e, Unknown)]
    named = [
        *[v for s in sizes for v in expr.variables(s)],
        *[v for c in graph.conditions for v in c.claim.variables()],
    ]
    free = [v for v in named if v not in bound]
    if free:
        raise IllegalGraphError(name, f"is a subgraph with the size {free[0]}, which is no axis of its inputs")
    check_graph(graph, tick)


def _is_axis(graph: Graph, source: DimSource) -> bool:
    """Return whether a variable is read off an axis of an input that has exactly its size."""
    axis = expr.as_atom(source.size)
    if not isinstance(axis, InputAxis) or axis.operand >= len(graph.inputs):
        return False
    extents = graph.inputs[axis.operand].meta.extents
    return axis.axis < len(extents) and extents[axis.axis] == Exact(expr.from_atom(source.variable))


def _check_metadata(scope: Scope, node: Node) -> None:
    """Infer the outputs again; what the graph promises must be what the shape rule gives."""
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    before = _asserted(scope)
    try:
        result = node.op.infer(context, *[v.meta for v in node.inputs], **dict(node.params))
    except AnyshapeError as error:
        raise IllegalGraphError(_text(node), f"its shape rule refuses: {error}") from error
    if _asserted(scope) > before:
        claim = next(c.claim for c in reversed(scope.conditions) if c.kind == "assertion")
        raise IllegalGraphError(_text(node), f"relies on `{claim}`, which the graph does not state")
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(node.outputs):
        raise IllegalGraphError(
            _text(node), f"has {len(node.outputs)} outputs, and its shape rule gives {len(results)}"
        )
    if node.op.mints:
        results = _renamed(scope, node, results, context.minted)
    for value, meta in zip(node.outputs, results, strict=True):
        if not _agrees(scope, value.meta, meta):
            raise IllegalGraphError(_text(node), f"promises {value.meta}, but its shape rule gives {meta}")


def _asserted(scope: Scope) -> int:
    """How many preconditions were recorded."""
    return sum(c.kind == "assertion" for c in scope.conditions)


def _renamed(
    scope: Scope, node: Node, results: tuple[TensorMeta, ...], minted: Sequence[DimVar]
) -> tuple[TensorMeta, ...]:
    """Inferred metadata with each new size by the name that the node has for it; its facts are believed so."""
    names: dict[Atom, Size] = {}
    for value, meta in zip(node.outputs, results, strict=True):
        for variable, axis in meta.variable_axes():
            promised = value.meta.extents[axis] if axis < value.meta.rank else None
            if variable in minted and isinstance(promised, Exact):
                names.setdefault(variable, promised.size)

    for atom, size in names.items():
        _check_range(scope, node, atom, size)
    for fact in [c for c in scope.conditions if c.kind == "fact" and not names.keys().isdisjoint(c.claim.variables())]:
        scope.assume(replace(fact, claim=substitute_claim(fact.claim, names.get)))

    def now(extent: ShapeExtent) -> ShapeExtent:
        return Exact(substitute(extent.size, names.get)) if isinstance(extent, Exact) else extent

    return tuple([TensorMeta(m.dtype, tuple([now(e) for e in m.extents])) for m in results])


def _check_range(scope: Scope, node: Node, minted: Atom, promised: Size) -> None:
    """The range that a graph states of a size that depends on data is what its op sees to."""
    named = expr.as_atom(promised)
    low, high = scope.bounds(expr.from_atom(minted))
    if not isinstance(named, DimVar) or low is None or named.lower > low:
        raise IllegalGraphError(_text(node), f"states that a size that depends on data is {promised}")
    if named.upper is not None and (high is None or named.upper < high):
        raise IllegalGraphError(_text(node), f"states that {promised} is at most {named.upper}")


def _agrees(scope: Scope, promised: TensorMeta, inferred: TensorMeta) -> bool:
    if promised.dtype != inferred.dtype or promised.rank != inferred.rank:
        return False
    for a, b in zip(promised.extents, inferred.extents, strict=True):
        x, y = exact_size(a), exact_size(b)
        if (a != b) if x is None or y is None else not scope.same(x, y):
            return False
    return True


def _text(node: Node) -> str:
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{', '.join(map(str, node.outputs))} = {node.op}({', '.join(map(str, node.inputs))}) {{{params}}}"

"""Validation of graphs: values are made before they are read, and array types follow from the shape rules of ops.

Types follow by proofs, and what is proved depends on what is known when it is asked. A search may find a proof among
the few facts of a moment of a trace, and none among all conditions of a graph. So `with_lemmas` states in a graph what
its trace has proved and the check cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from anyshape.errors import AnyshapeError, IllegalGraphError
from anyshape.graph.ir.graph import DimSource, Graph, Node, Value, show_param, subgraphs
from anyshape.graph.prover.constraints import Condition, SourceLine, Verdict, equal, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.support.lazy_dataclass import replace

Tick: TypeAlias = Callable[[], object]
_ROUNDS = 8  # of checks that state lemmas: each one changes what the next one can prove


def check_graph(graph: Graph, tick: Tick = bool) -> None:
    """Raise IllegalGraphError at the first node or condition that is not legal. `tick` is called before each node."""
    _check(graph, _scope_of(graph, Scope), tick)


def _scope_of(graph: Graph, kind: type[_ScopeT]) -> _ScopeT:
    """Return a scope of what a graph states; its ops give the facts."""
    return kind(conditions=[c for c in graph.conditions if c.kind != "fact"], runtime=graph.runtime)


def _check(graph: Graph, scope: Scope, tick: Tick) -> None:
    """Raise IllegalGraphError at the first node or condition that is not legal by this scope."""
    made: set[Value] = {*graph.inputs, *[v for v, _ in graph.constants]}
    for node in graph.nodes:
        tick()
        for inner in subgraphs(node):
            check_subgraph(inner, tick)
        _check_order(node, made)
        _check_types(scope, node)
        made.update(node.outputs)
    for condition in graph.conditions:
        if condition.kind == "fact" and not scope.proves(condition.claim):
            raise IllegalGraphError(str(condition), "does not follow from what its ops see to")
    missing = [v for v in graph.outputs if v not in made]
    if missing:
        raise IllegalGraphError("return", f"returns {missing[0]}, which nothing makes")
    check_sizes_defined(graph)


def check_sizes_defined(graph: Graph) -> None:
    """Raise IllegalGraphError where an array type or a condition has a size that neither a call nor a node gives."""
    defined = {*[source.variable for source in graph.dims], *graph.runtime}
    for variable in variables_in_types(graph):
        if variable not in defined:
            raise IllegalGraphError(graph.name or "a graph", f"has the size {variable}, which nothing defines")


def check_subgraph(graph: Graph, tick: Tick = bool) -> None:
    """Raise IllegalGraphError unless the graph is legal and closed, as a param of a node must be."""
    if check_subgraph not in graph.passed:  # by the graphs around it
        _check_subgraph(graph, _scope_of(graph, Scope), tick)
        graph.passed.add(check_subgraph)


def _check_subgraph(graph: Graph, scope: Scope, tick: Tick = bool) -> None:
    name = graph.name or "a subgraph"
    if graph.constants or graph.values or graph.hidden:
        raise IllegalGraphError(name, "is a subgraph with constants, sizes by value or hidden inputs")
    for source in graph.dims:
        if not _is_axis(graph, source):
            raise IllegalGraphError(name, f"reads {source.variable} off {source.size}, which is not an axis of it")
    bound = {*[source.variable for source in graph.dims], *graph.runtime}
    free = [v for v in variables_in_types(graph) if v not in bound]
    if free:
        raise IllegalGraphError(name, f"is a subgraph with the size {free[0]}, which is not an axis of its inputs")
    _check(graph, scope, tick)


def with_lemmas(graph: Graph) -> Graph:
    """Return a subgraph that a trace has made, with assertions of what the check of it cannot prove again.

    A type that a trace gave is true in all of its runs. So an assertion that it is what the shape rule gives now holds.
    """
    for _ in range(_ROUNDS):
        scope = _scope_of(graph, _StatingScope)
        before = len(scope.conditions)
        _check_subgraph(graph, scope)
        lemmas = [c for c in scope.conditions[before:] if c.kind == "assertion"]
        if not lemmas:
            return graph
        graph = replace(graph, conditions=(*graph.conditions, *lemmas))
    check_subgraph(graph)
    return graph


class _StatingScope(Scope):
    """Scope of a graph that a trace has made, which asserts the equalities that rules need and cannot prove."""

    def must_be_same(self, a: Size, b: Size) -> bool:
        """Return whether two sizes are equal, by a proof or by an assertion."""
        return super().must_be_same(a, b) or self.state_equal(a, b, "a shape rule", None)

    def state_equal(self, a: Size, b: Size, primitive: str, where: SourceLine | None) -> bool:
        """Assert that two sizes are equal; return False if they are known to differ."""
        claim = equal(a, b)
        if self.decide(claim) is Verdict.NO:
            return False
        self.assume(Condition("assertion", claim, primitive, "both are the size of one axis", where))
        return True


_ScopeT = TypeVar("_ScopeT", bound=Scope)


def variables_in_types(graph: Graph) -> list[DimVar]:
    """Return the variables in array types and conditions of a graph."""
    sizes = [e.size for v in graph.numbering for e in v.meta.extents if not isinstance(e, Unknown)]
    return [v for size in sizes for v in expr.variables(size)] + [
        v for c in graph.conditions for v in c.claim.variables()
    ]


def _is_axis(graph: Graph, source: DimSource) -> bool:
    """Return whether a variable is read off an axis of an input that has exactly its size."""
    if not isinstance(axis := expr.as_atom(source.size), InputAxis) or axis.operand >= len(graph.inputs):
        return False
    extents = graph.inputs[axis.operand].meta.extents
    return axis.axis < len(extents) and extents[axis.axis] == Exact(expr.from_atom(source.variable))


def _check_order(node: Node, made: set[Value]) -> None:
    """Raise unless the operands of a node are made, and its outputs are not."""
    missing = [v for v in node.operands if v not in made]
    if missing:
        raise IllegalGraphError(_text(node), f"reads {missing[0]} before it is made")
    repeated = [v for v in node.outputs if v in made]
    if repeated:
        raise IllegalGraphError(_text(node), f"makes {repeated[0]} a second time")


def _check_types(scope: Scope, node: Node) -> None:
    """Raise unless the shape rule derives the array types that the outputs of a node state."""
    context = ShapeGuardContext(scope, node.op.name, node.where, [v.meta for v in node.operands])
    results = _inferred(scope, node, context)
    if len(results) != len(node.outputs):
        raise IllegalGraphError(
            _text(node), f"has {len(node.outputs)} outputs, and its shape rule gives {len(results)}"
        )
    if node.op.makes_sizes:
        results = _with_stated_names(scope, node, results, context.new_sizes)
    for value, meta in zip(node.outputs, results, strict=True):
        if not _agrees(scope, node, value.meta, meta):
            raise IllegalGraphError(_text(node), f"promises {value.meta}, but its shape rule gives {meta}")


def _inferred(scope: Scope, node: Node, context: ShapeGuardContext) -> tuple[TensorMeta, ...]:
    """Return the array types that the shape rule derives; raise if it refuses, or relies on what is not stated."""
    before = len(scope.conditions)
    try:
        result = node.op.infer(context, *[v.meta for v in node.inputs], **dict(node.params))
    except AnyshapeError as error:
        raise IllegalGraphError(_text(node), f"its shape rule refuses: {error}") from error
    asserted = [c.claim for c in scope.conditions[before:] if c.kind == "assertion"]
    if asserted and not isinstance(scope, _StatingScope):
        raise IllegalGraphError(_text(node), f"relies on `{asserted[-1]}`, which the graph does not state")
    return result if isinstance(result, tuple) else (result,)


def _with_stated_names(
    scope: Scope, node: Node, results: tuple[TensorMeta, ...], new_sizes: Sequence[DimVar]
) -> tuple[TensorMeta, ...]:
    """Return inferred array types with the node's name for each run-time size, and assume the facts about it."""
    names = _stated_names(node, results, new_sizes)
    for atom, size in names.items():
        _check_range(scope, node, atom, size)
    for fact in [c for c in scope.conditions if c.kind == "fact" and not names.keys().isdisjoint(c.claim.variables())]:
        scope.assume(replace(fact, claim=substitute_claim(fact.claim, names.get)))

    def renamed(extent: ShapeExtent) -> ShapeExtent:
        return Exact(substitute(extent.size, names.get)) if isinstance(extent, Exact) else extent

    return tuple([TensorMeta(m.dtype, tuple(map(renamed, m.extents))) for m in results])


def _stated_names(node: Node, results: tuple[TensorMeta, ...], new_sizes: Sequence[DimVar]) -> dict[Atom, Size]:
    """Return for each size that a shape rule made the size that the outputs of the node have in its place."""
    names: dict[Atom, Size] = {}
    for value, meta in zip(node.outputs, results, strict=True):
        for variable, axis in meta.variable_axes():
            stated = value.meta.extents[axis] if axis < value.meta.rank else None
            if variable in new_sizes and isinstance(stated, Exact):
                names.setdefault(variable, stated.size)
    return names


def _check_range(scope: Scope, node: Node, made: Atom, stated: Size) -> None:
    """Raise unless the op guarantees the range that a graph states for a run-time size."""
    named, size = expr.as_atom(stated), expr.from_atom(made)
    if isinstance(named, DimVar) and expr.bounds(size) == (named.lower, named.upper):
        return  # without a search
    low, high = scope.bounds(size)
    if not isinstance(named, DimVar) or low is None or named.lower > low:
        raise IllegalGraphError(_text(node), f"states that a size that depends on data is {stated}")
    if named.upper is not None and (high is None or named.upper < high):
        raise IllegalGraphError(_text(node), f"states that {stated} is at most {named.upper}")


def _agrees(scope: Scope, node: Node, stated: TensorMeta, inferred: TensorMeta) -> bool:
    """Return whether two array types are equal, with sizes that are proved equal, or the stated one promises less."""
    if stated.dtype != inferred.dtype or stated.rank != inferred.rank:
        return False
    pairs = zip(stated.extents, inferred.extents, strict=True)
    return all(a == b or _follows(scope, node, a, b) for a, b in pairs)


def _follows(scope: Scope, node: Node, stated: ShapeExtent, inferred: ShapeExtent) -> bool:
    """Return whether a stated extent is the inferred one, by sizes that are equal, or is a bound of that."""
    if isinstance(stated, Unknown) or isinstance(inferred, Unknown):
        return False
    is_stronger = isinstance(stated, Exact) and not isinstance(inferred, Exact)
    if is_stronger or scope.same(stated.size, inferred.size):
        return not is_stronger
    if not isinstance(scope, _StatingScope):
        return False
    return isinstance(stated, Exact) and scope.state_equal(stated.size, inferred.size, node.op.name, node.where)


def _text(node: Node) -> str:
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{', '.join(map(str, node.outputs))} = {node.op}({', '.join(map(str, node.inputs))}) {{{params}}}"

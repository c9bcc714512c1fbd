"""Replay of a graph into the active one, where other values stand for its own."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from anyshape.autodiff.structural_zeros import resized
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.prover.constraints import Condition, equal, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size, variables
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import apply_all
from anyshape.ops.core.flop_counts import Shape


class Replay(dict[Value, Any]):
    """Environment of a replay: for each value of a graph the value that stands for it.

    Each replay makes new run-time sizes. Assertions about them are required again, as soon as their sizes exist.

    - `sizes`: for variables of the graph, the sizes that stand for them.
    - `carrying`: values whose stand-ins have one more axis, the first.
    - `missing`: run-time sizes that have no stand-in yet.
    - `waiting`: assertions about missing sizes.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Any],
        sizes: Mapping[Atom, Size] | None = None,
        carrying: Container[Value] = (),
    ) -> None:
        super().__init__(zip(graph.inputs, inputs, strict=True))
        self._graph = graph
        self._matches: bool | None = None  # whether sizes of the graph and the replay are equal
        self.carrying = carrying
        self.missing: set[DimVar] = set(graph.runtime)
        assertions = [c for c in graph.conditions if self.missing and c.kind == "assertion"]
        self.waiting: list[Condition] = [c for c in assertions if not self.missing.isdisjoint(c.claim.variables())]
        self.sizes: dict[Atom, Size] = dict(sizes or {})
        if self.missing:
            self._record_sizes([(v, x) for v, x in self.items() if isinstance(x, Traced)])

    def note_outputs(self, builder: Builder, node: Node) -> None:
        """Record what the outputs of a node, which are replayed by now, tell of sizes."""
        if node.op.makes_sizes:
            self.record_outputs(builder, node)
        self.note_equal_sizes(builder.scope, node.outputs)

    def record_outputs(self, builder: Builder, node: Node) -> None:
        """Record the run-time sizes of a replayed node, and require the assertions that were waiting for them."""
        self._record_sizes([(v, self[v]) for v in node.outputs])
        ready = [c for c in self.waiting if self.missing.isdisjoint(c.claim.variables())]
        self.waiting = [c for c in self.waiting if c not in ready]
        for c in ready:
            builder.scope.require(substitute_claim(c.claim, self.sizes.get), c.primitive, c.why, (), c.where)

    def note_equal_sizes(self, scope: Scope, values: Iterable[Value]) -> None:
        """Note that values and their stand-ins have equal sizes, where this is so of the inputs.

        Later equalities may give a size of the replay another form. Shape rules rely on what the trace proved of the
        first form, and a search for another proof may fail.
        """
        for value in values:
            sizes, others = value.meta.sizes, self[value].meta.sizes
            if sizes is None or others is None or sizes is others:
                continue
            others = others[1:] if value in self.carrying else others
            if sizes != others and self.has_sizes_of(scope):
                for size, other in zip(map(self.translate, sizes), others, strict=True):
                    if isinstance(size, int) or self.missing.isdisjoint(variables(size)):
                        scope.note_equal(size, other)

    def has_sizes_of(self, scope: Scope) -> bool:
        """Return whether the inputs have the sizes of their stand-ins, and the conditions of the graph hold here."""
        if self._matches is None:
            pairs = [(v, self[v]) for v in self._graph.inputs if isinstance(self[v], Traced)]
            has_sizes = all(self._has_sizes(scope, old, new) for old, new in pairs)
            self._matches = has_sizes and self._has_conditions(scope)
        return self._matches

    def _has_conditions(self, scope: Scope) -> bool:
        """Return whether the conditions of the graph hold here; those on its run-time sizes are required in time."""
        known, runtime = {*map(id, scope.conditions)}, self._graph.runtime.keys()
        others = [c.claim for c in self._graph.conditions if id(c) not in known]
        claims = [substitute_claim(c, self.sizes.get) for c in others if runtime.isdisjoint(c.variables())]
        return all(map(scope.proves_at_once, claims))

    def _has_sizes(self, scope: Scope, old: Value, new: Traced) -> bool:
        sizes, others = old.meta.sizes, new.meta.sizes
        if sizes is None or others is None:
            return old.meta.sizes is new.meta.sizes
        columns = zip(map(self.translate, sizes), others[old in self.carrying :], strict=True)
        return all(size is other or scope.proves_at_once(equal(size, other)) for size, other in columns)

    def translate(self, param: Any) -> Any:
        """Return a param of value-side sizes in terms of the sizes of the replay."""
        if isinstance(param, tuple):
            return tuple([self.translate(p) for p in param])
        return substitute(param, self.sizes.get) if self.sizes and isinstance(param, DimExpr) else param

    def translate_type(self, meta: TensorMeta) -> TensorMeta:
        """Return an array type of the graph in terms of the sizes of the replay."""
        if not self.sizes:
            return meta
        return TensorMeta(meta.dtype, tuple([self._translate_extent(e) for e in meta.extents]))

    def _translate_extent(self, extent: ShapeExtent) -> ShapeExtent:
        return extent if isinstance(extent, Unknown) else type(extent)(substitute(extent.size, self.sizes.get))

    def _record_sizes(self, pairs: Iterable[tuple[Value, Any]]) -> None:
        for old, new in pairs:
            for variable, axis in old.meta.variable_axes():
                if isinstance(extent := new.meta.extents[axis + (old in self.carrying)], Exact):
                    self.sizes.setdefault(variable, extent.size)
                    self.missing.discard(variable)


def replay_node(builder: Builder, node: Node, env: Replay, params: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
    """Emit a node again on the stand-ins of its operands, perhaps with other params, and return its outputs."""
    inputs = [env[v] for v in node.inputs]
    sources = [env[v] for v in node.sources]
    outputs = apply_all(node.op, *inputs, sources=sources, **(dict(node.params) if params is None else params))
    env.update(zip(node.outputs, outputs, strict=True))
    env.note_outputs(builder, node)
    return outputs


def begin_replay(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Any],
    sizes: Mapping[Atom, Size] | None = None,
    carrying: Container[Value] = (),
) -> Replay:
    """Return the environment of a replay with the inputs and the constants of a graph."""
    env = Replay(graph, inputs, sizes, carrying)
    for value, array in graph.constants:
        env[value] = builder.constant(array, is_settled=True)
    return env


def inline(
    builder: Builder, graph: Graph, inputs: Sequence[Any], sizes: Mapping[Atom, Size] | None = None
) -> list[Any]:
    """Replay a graph and return its outputs. `sizes` stand for variables that no input has alone on an axis."""
    env = begin_replay(builder, graph, inputs, sizes)
    for node in graph.nodes:
        with at_line(builder, node.where):
            replay_node(builder, node, env)
    return [env[v] for v in graph.outputs]


def with_sizes_of(builder: Builder, x: Any, meta: TensorMeta) -> Any:
    """Return a result of a derived subgraph with the sizes of a type, which nodes behind it rely on.

    A subgraph may know that two sizes are equal, and write its results in either, where the graph around it does not.
    """
    sizes = meta.sizes
    return x if sizes is None else resized(x, lambda y: _with_sizes(builder, y, sizes))


def _with_sizes(builder: Builder, x, sizes: Shape):
    known = x.meta.sizes
    return x if sizes == known or (known and all(map(builder.scope.same, sizes, known))) else sized(x, sizes)


def context_and_params(builder: Builder, node: Node, env: Replay) -> tuple[ShapeGuardContext, dict[str, Any]]:
    """Return what the JVP rule of a node takes besides its operands."""
    metas = [env.translate_type(v.meta) for v in node.operands]
    params = dict(node.params)
    if node.sources:
        params["sources"] = [env[v] for v in node.sources]
    return ShapeGuardContext(builder.scope, node.op.name, node.where, metas, "jvp"), params

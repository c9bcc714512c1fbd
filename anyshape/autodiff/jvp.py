"""Forward mode: replay a graph into the active one and add the tangent of each node beside it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.rule_tables import find_jvp
from anyshape.autodiff.shift_invariance import idle_extremes
from anyshape.autodiff.softmax_tangent import shares_of, tangent
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.prover.constraints import substitute_claim
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Atom, DimExpr, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.apply import apply_all


def has_tangent(dtype: np.dtype) -> bool:
    """Integers and booleans have no tangent."""
    return dtype.kind in "fc"


class Replay(dict[Value, Any]):
    """The value that stands for each value of a graph, and what the graph relies on of sizes that depend on data.

    Such a size is another one in each replay; what is asserted of it is required anew as soon as it has been made.
    `sizes` are those that stand for variables of the graph; what stands for `carrying` has one more axis, the first.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Any],
        sizes: Mapping[Atom, Size] | None = None,
        carrying: Container[Value] = (),
    ) -> None:
        super().__init__(zip(graph.inputs, inputs, strict=True))
        self.carrying = carrying
        self.missing = set(graph.runtime)
        about = [c for c in graph.conditions if self.missing and c.kind == "assertion"]
        self.waiting = [c for c in about if not self.missing.isdisjoint(c.claim.variables())]
        self.sizes = dict(sizes or {})
        if self.missing:
            self._take_in([(v, x) for v, x in self.items() if isinstance(x, Traced)])

    def made(self, builder: Builder, node: Node) -> None:
        """The outputs of a node have been made: what was waiting for their sizes holds of these now."""
        self._take_in([(v, self[v]) for v in node.outputs])
        ready = [c for c in self.waiting if self.missing.isdisjoint(c.claim.variables())]
        self.waiting = [c for c in self.waiting if c not in ready]
        for c in ready:
            builder.scope.require(substitute_claim(c.claim, self.sizes.get), c.primitive, c.why, (), c.where)

    def present(self, param: Any) -> Any:
        """A param of value-side sizes in terms of those that there are now."""
        if isinstance(param, tuple):
            return tuple([self.present(p) for p in param])
        return substitute(param, self.sizes.get) if self.sizes and isinstance(param, DimExpr) else param

    def present_meta(self, meta: TensorMeta) -> TensorMeta:
        """Return a type of the graph in terms of the sizes of the replay."""
        if not self.sizes:
            return meta
        return TensorMeta(meta.dtype, tuple([self._present_extent(e) for e in meta.extents]))

    def _present_extent(self, extent: ShapeExtent) -> ShapeExtent:
        return extent if isinstance(extent, Unknown) else type(extent)(substitute(extent.size, self.sizes.get))

    def _take_in(self, pairs: Iterable[tuple[Value, Any]]) -> None:
        for old, new in pairs:
            for variable, axis in old.meta.variable_axes():
                extent = new.meta.extents[axis + (old in self.carrying)]
                if isinstance(extent, Exact):
                    self.sizes.setdefault(variable, extent.size)
                    self.missing.discard(variable)


def replay_node(builder: Builder, node: Node, env: Replay) -> tuple[Any, ...]:
    """Emit the node again, on the values that stand for its operands."""
    inputs = [env[v] for v in node.inputs]
    sources = [env[v] for v in node.sources]
    outputs = apply_all(node.op, *inputs, sources=sources, **dict(node.params))
    env.update(zip(node.outputs, outputs, strict=True))
    if node.op.mints:
        env.made(builder, node)
    return outputs


def start(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Any],
    sizes: Mapping[Atom, Size] | None = None,
    carrying: Container[Value] = (),
) -> Replay:
    """The environment of a replay: inputs and constants."""
    env = Replay(graph, inputs, sizes, carrying)
    for value, array in graph.constants:
        env[value] = builder.constant(array)
    return env


def inline(
    builder: Builder, graph: Graph, inputs: Sequence[Any], sizes: Mapping[Atom, Size] | None = None
) -> list[Any]:
    """Replay a graph; the values of its outputs. `sizes` stand for variables of the graph that no input has alone."""
    env = start(builder, graph, inputs, sizes)
    for node in graph.nodes:
        with at_line(builder, node.where):
            replay_node(builder, node, env)
    return [env[v] for v in graph.outputs]


def push(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], tangents: Sequence[Traced | None]
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents; the values and the tangents (None: zero) of its outputs.

    Tangents may live in a graph inside the builder's; then only what is linear in them is emitted there.
    """
    env = start(builder, graph, inputs)
    slopes: dict[Value, Any] = {v: t for v, t in zip(graph.inputs, tangents, strict=True) if t is not None}
    idle, shares = idle_extremes(graph, builder.scope), shares_of(graph, builder.scope)
    for node in graph.nodes:
        with at_line(builder, node.where):
            outputs = replay_node(builder, node, env)
            share = shares.get(node.outputs[0]) if node.outputs else None
            if share is not None and share.exponent in slopes:
                context = ShapeGuardContext(builder.scope, node.op.name, node.where, rule="jvp")
                slopes[node.outputs[0]] = tangent(context, share, outputs[0], slopes[share.exponent])
                continue
            ts = [slopes.get(v) for v in node.inputs]
            if any(t is not None for t in ts) and node.outputs[0] not in idle:
                _push_node(builder, node, env, ts, outputs, slopes)
    return [env[v] for v in graph.outputs], [slopes.get(v) for v in graph.outputs]


def _push_node(
    builder: Builder,
    node: Node,
    env: Replay,
    tangents: list[Any],
    outputs: tuple[Any, ...],
    slopes: dict[Value, Any],
) -> None:
    rule = find_jvp(node.op)
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands], "jvp")
    params = dict(node.params)
    if node.sources:
        params["sources"] = [env[v] for v in node.sources]
    many = len(outputs) > 1
    result = rule(context, tangents, outputs if many else outputs[0], *[env[v] for v in node.inputs], **params)
    for value, t in zip(node.outputs, result if many else (result,), strict=True):
        if t is not None and has_tangent(value.meta.dtype):
            slopes[value] = t

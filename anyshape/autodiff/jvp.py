"""Forward mode: replay a graph into the active one, and emit the tangent of each node beside it."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff import zero_flows
from anyshape.autodiff.equal_values import DECOMPOSITIONS, DISTINCT, Followed, Limits, NoLimits, followed
from anyshape.autodiff.roots_of_squares import roots_of_squares
from anyshape.autodiff.rule_tables import JVPS, MIX, PASS, Rule, RuleWithValues, zero_flow
from anyshape.autodiff.shift_invariance import shift_invariant_extremes
from anyshape.autodiff.softmax_tangent import SoftmaxQuotient, quotient_tangent, softmax_quotients
from anyshape.autodiff.structural_zeros import Masked, resized, whole
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.prover.constraints import Condition, equal, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size, variables
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.control_flow import cond, sized
from anyshape.ops.core.apply import apply_all
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.elementwise import length_op, lift, logical_or
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_namedtuple import NamedTuple


def has_tangent(dtype: np.dtype) -> bool:
    """Return whether values of this dtype have tangents: integers and booleans have none."""
    return dtype.kind in "fc"


class Pushed(NamedTuple):
    """Outputs and tangents from a JVP rule that computes both: these outputs take the place of the replayed ones."""

    outputs: Sequence[Any]
    tangents: Sequence[Any]


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
                extent = new.meta.extents[axis + (old in self.carrying)]
                if isinstance(extent, Exact):
                    self.sizes.setdefault(variable, extent.size)
                    self.missing.discard(variable)


def replay_node(builder: Builder, node: Node, env: Replay) -> tuple[Any, ...]:
    """Emit a node again on the stand-ins of its operands, and return its outputs."""
    inputs = [env[v] for v in node.inputs]
    sources = [env[v] for v in node.sources]
    outputs = apply_all(node.op, *inputs, sources=sources, **dict(node.params))
    env.update(zip(node.outputs, outputs, strict=True))
    if node.op.makes_sizes:
        env.record_outputs(builder, node)
    env.note_equal_sizes(builder.scope, node.outputs)
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


def push(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Traced],
    tangents: Sequence[Traced | None],
    has_zeros: bool = True,
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents. Return its outputs and their tangents (None: zero).

    They are the ones of `push_parts` as arrays.
    """
    outputs, pushed = push_parts(builder, graph, inputs, tangents, has_zeros)
    return outputs, list(map(whole, pushed))


def push_parts(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Traced],
    tangents: Sequence[Any],
    has_zeros: bool = True,
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents. Return its outputs and their tangents, which may be parts.

    Tangents may belong to a graph inside of the builder's, which then receives the nodes that are linear in them alone.
    With `has_zeros`, elements of tangents that are zero by construction stay zero.
    """
    env = begin_replay(builder, graph, inputs)
    tangent_of = _tangents_by_value(graph.inputs, tangents)
    pushing = _Pushing(graph, builder, inputs, env, has_zeros)
    if not any(node.op in DECOMPOSITIONS for node in graph.nodes):
        pushing.push(builder, graph.nodes, tangent_of, NoLimits())
    else:
        pushing.push_with_limits(builder, tangent_of)
    return list(map(env.__getitem__, graph.outputs)), list(map(tangent_of.get, graph.outputs))


class _Pushing:
    """Replay of a graph with tangents."""

    def __init__(self, graph: Graph, builder: Builder, inputs: Sequence[Any], env: Replay, has_zeros: bool) -> None:
        self.graph, self.env, self.has_zeros = graph, env, has_zeros
        self.constant = shift_invariant_extremes(graph, builder.scope)
        self.quotients = softmax_quotients(graph, builder.scope)
        self.norms = roots_of_squares(graph, inputs)

    def push(
        self,
        builder: Builder,
        nodes: Sequence[Node],
        tangent_of: dict[Value, Any],
        limits: Limits,
        replays: bool = True,
    ) -> None:
        """Replay nodes, or without `replays` take their outputs as they are, and record their tangents."""
        env = self.env
        for node in nodes:
            with at_line(builder, node.where):
                limits.before(node, tangent_of)
                moves = not tangent_of.keys().isdisjoint(node.inputs)
                if replays:
                    has_rule = moves and isinstance(JVPS[node.op], RuleWithValues)
                    outputs = () if has_rule else replay_node(builder, node, env)
                else:
                    outputs = tuple([env[v] for v in node.outputs])
                quotient = self.quotients.get(node.outputs[0]) if node.outputs else None
                if quotient is not None and quotient.exponent in tangent_of:
                    _push_quotient(builder, node, quotient, (env[quotient.exponent], outputs[0]), tangent_of)
                elif moves and node.outputs[0] not in self.constant:
                    rule = limits.rule(length_op if node.outputs[0] in self.norms else node.op)
                    _push_node(builder, node, rule, env, outputs, tangent_of, self.has_zeros)
                limits.after(builder, node, env, tangent_of)

    def push_with_limits(self, builder: Builder, tangent_of: dict[Value, Any]) -> None:
        """Replay a graph that has decompositions."""
        parts, limits = followed(self.graph, tangent_of), _limits(builder, self.env)
        self.push(builder, parts.before, tangent_of, limits)
        if parts.nodes:
            with at_line(builder, parts.nodes[0].where):
                self._push_either(builder, parts, tangent_of)
        self.push(builder, parts.after, tangent_of, limits)
        limits.settle(self.graph.outputs, tangent_of)

    def _push_either(self, builder: Builder, parts: Followed, tangent_of: dict[Value, Any]) -> None:
        """Record the tangents of the ends of what limits pass: limits where values are equal."""
        flags = []
        for node in parts.nodes:
            with at_line(builder, node.where):
                outputs = replay_node(builder, node, self.env)
                if node.op in DISTINCT:
                    context = ShapeGuardContext(builder.scope, node.op.name, node.where)
                    flags.append(DISTINCT[node.op][0](context, outputs))
        entering = list(dict.fromkeys([v for node in parts.nodes for v in node.inputs if v in tangent_of]))
        tangents = [whole(tangent_of[v]) for v in entering]
        if not tangents:
            return
        bodies = [functools.partial(self._push_inside, parts, entering, has_limits) for has_limits in (False, True)]
        graphs, operands = trace_subgraphs(bodies, [t.meta for t in tangents], ("distinct", "equal"))
        results = cond(functools.reduce(logical_or, flags), graphs, *tangents, *operands)
        tangent_of.update(zip(parts.ends, results, strict=True))

    def _push_inside(self, parts: Followed, entering: Sequence[Value], has_limits: bool, *ts: Any) -> Sequence[Any]:
        """Return the tangents of the ends in a subgraph."""
        inside, tangent_of = ts[0].builder, dict(zip(entering, ts, strict=True))
        limits = _limits(inside, self.env) if has_limits else NoLimits()
        self.push(inside, parts.nodes, tangent_of, limits, replays=False)
        limits.settle(parts.ends, tangent_of)
        results = [(tangent_of.get(v), self.env[v]) for v in parts.ends]
        return [lift(0, y) if t is None else with_sizes_of(inside, whole(t), y.meta) for t, y in results]


def _tangents_by_value(values: Sequence[Value], tangents: Sequence[Any]) -> dict[Value, Any]:
    """Return the tangents that are not zero, by value; integers and booleans have none."""
    pairs = zip(values, tangents, strict=True)
    return {v: t for v, t in pairs if t is not None and has_tangent(v.meta.dtype)}


def _limits(builder: Builder, env: Replay) -> Limits:
    """Return the limits of the values of a graph with decompositions."""

    def push_again(node: Node, tangents: Sequence[Any], xs: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        context, params = _context_and_params(builder, node, env)
        result = _each(
            node, JVPS[node.op](context, tangents, outs[0] if len(outs) == 1 else tuple(outs), *xs, **params)
        )
        pushed = _tangents_by_value(node.outputs, [*map(whole, result)])
        return [*map(pushed.get, node.outputs)]

    return Limits(push_again)


def are_inside(tangents: Sequence[Any], operands: Sequence[Any]) -> bool:
    """Return whether tangents belong to a graph inside of the one of the operands."""
    depth = max([x.builder.depth for x in operands if isinstance(x, Traced)], default=-1)
    first = next(t for t in tangents if t is not None)
    return (first.ct if isinstance(first, Masked) else first).builder.depth > depth


def with_sizes_of(builder: Builder, x: Any, meta: TensorMeta) -> Any:
    """Return a result of a derived subgraph with the sizes of a type, which nodes behind it rely on.

    A subgraph may know that two sizes are equal, and write its results in either, where the graph around it does not.
    """
    sizes = meta.sizes
    return x if sizes is None else resized(x, lambda y: _with_sizes(builder, y, sizes))


def _with_sizes(builder: Builder, x: Any, sizes: Shape) -> Any:
    known = x.meta.sizes
    return x if sizes == known or (known and all(map(builder.scope.same, sizes, known))) else sized(x, sizes)


def _take_values(builder: Builder, node: Node, env: Replay, pushed: Pushed) -> list[Any]:
    """Record the values of a rule that gives both, and return the tangents, all with the sizes of the node."""
    env.update(zip(node.outputs, pushed.outputs, strict=True))
    if node.op.makes_sizes:
        env.record_outputs(builder, node)
    metas = [env.translate_type(v.meta) for v in node.outputs]
    env.update({v: with_sizes_of(builder, env[v], m) for v, m in zip(node.outputs, metas, strict=True)})
    columns = zip(pushed.tangents, metas, strict=True)
    return [None if t is None else with_sizes_of(builder, t, m) for t, m in columns]


def _push_quotient(
    builder: Builder, node: Node, quotient: SoftmaxQuotient, z_and_y: tuple[Any, Any], tangent_of: dict[Value, Any]
) -> None:
    """Apply the JVP rule of a softmax to its last division, or to the difference that is its logarithm."""
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, rule="jvp")
    tangent = tangent_of[quotient.exponent]
    result = quotient_tangent(context, quotient, *z_and_y, whole(tangent))
    line = [None if i in quotient.axes else i for i in range(context.rank(result))]
    (tangent_of[node.outputs[0]],) = zero_flows.pushed_along_lines(context, [tangent], [result], [line, line])


def _push_node(
    builder: Builder,
    node: Node,
    rule: Rule,
    env: Replay,
    outputs: tuple[Any, ...],
    tangent_of: dict[Value, Any],
    has_zeros: bool,
) -> None:
    """Apply the JVP rule of a node. A rule that gives the values too takes no outputs, as nothing was replayed."""
    context, params = _context_and_params(builder, node, env)
    out = outputs[0] if len(outputs) == 1 else outputs or None
    tangents = list(map(tangent_of.get, node.inputs))
    xs = list(map(env.__getitem__, node.inputs))
    push_with = lambda ts, read=lambda x: x: rule(context, ts, read(out), *map(read, xs), **params)
    flow = zero_flow(node.op)[0]
    if flow in (MIX, PASS):
        passes = flow is PASS and has_zeros
        result = push_with(tangents if passes else list(map(whole, tangents)))
        result = _take_values(builder, node, env, result) if isinstance(result, Pushed) else _each(node, result)
        result = result if passes else list(map(whole, result))
    else:
        results = lambda *ts: _each(node, push_with(*ts))
        result = zero_flows.pushed(node, context, results, tangents, params) if has_zeros else results(tangents)
        result = result if has_zeros else map(whole, result)
    tangent_of.update(_tangents_by_value(node.outputs, list(result)))


def _context_and_params(builder: Builder, node: Node, env: Replay) -> tuple[ShapeGuardContext, dict[str, Any]]:
    """Return what the JVP rule of a node takes besides its operands."""
    metas = [env.translate_type(v.meta) for v in node.operands]
    params = dict(node.params)
    if node.sources:
        params["sources"] = [env[v] for v in node.sources]
    return ShapeGuardContext(builder.scope, node.op.name, node.where, metas, "jvp"), params


def _each(node: Node, result: Any) -> Sequence[Any]:
    """Return a tangent for each output of a node."""
    return (result,) if len(node.outputs) == 1 else result

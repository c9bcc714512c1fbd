"""Forward mode: replay a graph into the active one, and emit the tangent of each node beside it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.autodiff import structural_zeros
from anyshape.autodiff.equal_values import DECOMPOSITIONS, Limits, Poles, followed, order_of
from anyshape.autodiff.replay import Replay, begin_replay, context_and_params, replay_node, with_sizes_of
from anyshape.autodiff.roots_of_squares import roots_of_squares
from anyshape.autodiff.rule_tables import JVPS, MIX, PASS, Rule, RuleWithValues, zero_flow
from anyshape.autodiff.shift_invariance import (
    SoftmaxQuotient,
    quotient_tangent,
    shift_invariant_extremes,
    softmax_quotients,
)
from anyshape.autodiff.structural_zeros import Masked, whole
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops.elementwise import length_op
from anyshape.support.lazy_dataclass import NamedTuple


def has_tangent(dtype: np.dtype) -> bool:
    """Return whether values of this dtype have tangents: integers and booleans have none."""
    return dtype.kind in "fc"


class Pushed(NamedTuple):
    """Outputs and tangents from a JVP rule that computes both: these outputs take the place of the replayed ones."""

    outputs: Sequence[Any]
    tangents: Sequence[Any]


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
    pushing.push_with_limits(builder, graph.nodes, tangent_of)
    return list(map(env.__getitem__, graph.outputs)), list(map(tangent_of.get, graph.outputs))


class _Pushing:
    """Replay of a graph with tangents. With `opens`, conditionals of limits are their branches of distinct values."""

    def __init__(self, graph: Graph, builder: Builder, inputs: Sequence[Any], env: Replay, has_zeros: bool) -> None:
        self.graph, self.env, self.has_zeros, self.opens = graph, env, has_zeros, False
        self.constant = shift_invariant_extremes(graph, builder.scope)
        self.quotients = softmax_quotients(graph, builder.scope)
        self.norms = roots_of_squares(graph, inputs)

    def push(
        self,
        builder: Builder,
        nodes: Sequence[Node],
        tangent_of: dict[Value, Any],
        poles: Poles | None = None,
        replays: bool = True,
    ) -> None:
        """Replay nodes, or without `replays` take their outputs as they are, and record their tangents."""
        for node in nodes:
            with at_line(builder, node.where):
                if self.opens and order_of(node):
                    self._push_opened(builder, node, tangent_of, poles)
                elif poles is None:
                    self._push_one(builder, node, tangent_of, replays)
                else:
                    context = ShapeGuardContext(builder.scope, node.op.name, node.where, rule="jvp")
                    if not poles.pushes(context, node, self.env, tangent_of):
                        poles.before(context, node, self.env, tangent_of)
                        read = self._push_one(builder, node, tangent_of, replays)
                        poles.after(context, node, self.env, read)

    def _push_one(self, builder: Builder, node: Node, tangent_of: dict[Value, Any], replays: bool) -> Sequence[Value]:
        """Push a node. Return the values whose tangents that of its outputs are linear in."""
        env = self.env
        moves = not tangent_of.keys().isdisjoint(node.inputs)
        outputs = self._outputs(builder, node, moves) if replays else tuple([env[v] for v in node.outputs])
        quotient = self.quotients.get(node.outputs[0]) if node.outputs else None
        read = [v for v in node.inputs if v in tangent_of]
        if quotient is not None and quotient.exponent in tangent_of:
            _push_quotient(builder, node, quotient, (env[quotient.exponent], outputs[0]), tangent_of)
            read = [quotient.exponent]
        elif moves and node.outputs[0] not in self.constant:
            rule = JVPS[length_op if node.outputs[0] in self.norms else node.op]
            _push_node(builder, node, rule, env, outputs, tangent_of, self.has_zeros)
        return read

    def _outputs(self, builder: Builder, node: Node, moves: bool) -> tuple[Any, ...]:
        """Replay a node, unless its rule gives its values."""
        return () if moves and isinstance(JVPS[node.op], RuleWithValues) else replay_node(builder, node, self.env)

    def _push_opened(self, builder: Builder, node: Node, tangent_of: dict[Value, Any], poles: Poles | None) -> None:
        """Push what a conditional of limits does where all values differ."""
        graph, operands = dict(node.params)["branches"][0], node.inputs[1:]
        xs = [self.env[v] for v in operands]
        inner = _Pushing(graph, builder, xs, begin_replay(builder, graph, xs), self.has_zeros)
        inner.opens = True
        pairs = zip(graph.inputs, operands, strict=True)
        tangents = {x: whole(tangent_of[v]) for x, v in pairs if v in tangent_of}
        enter = (lambda outer, own: None) if poles is None else poles.enter
        enter(operands, graph.inputs)
        inner.push(builder, graph.nodes, tangents, poles)
        enter(graph.outputs, node.outputs)
        for y, v in zip(node.outputs, graph.outputs, strict=True):
            self.env[y] = inner.env[v]
            if v in tangents:
                tangent_of[y] = tangents[v]

    def inside(self) -> _Pushing:
        """Return the replay in a subgraph, which leaves this one as it is."""
        result = copy.copy(self)
        result.env, result.opens = copy.copy(self.env), True
        return result

    def push_with_limits(self, builder: Builder, nodes: Sequence[Node], tangent_of: dict[Value, Any]) -> None:
        """Replay nodes, with limits where some are decompositions."""
        if not any(node.op in DECOMPOSITIONS for node in nodes):
            self.push(builder, nodes, tangent_of)
            return
        parts = followed(nodes, self.graph.outputs, tangent_of)
        self.push(builder, parts.before, tangent_of)
        if parts.nodes:
            limits = Limits(self, parts, push, builder, tangent_of)
            with at_line(builder, parts.nodes[0].where):
                limits.push(tangent_of)
            self.push_with_limits(builder, parts.after, tangent_of)


def _tangents_by_value(values: Sequence[Value], tangents: Sequence[Any]) -> dict[Value, Any]:
    """Return the tangents that are not zero, by value; integers and booleans have none."""
    pairs = zip(values, tangents, strict=True)
    return {v: t for v, t in pairs if t is not None and has_tangent(v.meta.dtype)}


def are_inside(tangents: Sequence[Any], operands: Sequence[Any]) -> bool:
    """Return whether tangents belong to a graph inside of the one of the operands."""
    depth = max([x.builder.depth for x in operands if isinstance(x, Traced)], default=-1)
    first = next(t for t in tangents if t is not None)
    return (first.ct if isinstance(first, Masked) else first).builder.depth > depth


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
    (tangent_of[node.outputs[0]],) = structural_zeros.pushed_along_lines(context, [tangent], [result], [line, line])


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
    context, params = context_and_params(builder, node, env)
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
        result = structural_zeros.pushed(node, context, results, tangents, params) if has_zeros else results(tangents)
        result = result if has_zeros else map(whole, result)
    tangent_of.update(_tangents_by_value(node.outputs, list(result)))


def _each(node: Node, result) -> Sequence[Any]:
    """Return a tangent for each output of a node."""
    return (result,) if len(node.outputs) == 1 else result

"""Forward mode: replay a graph into the active one, and emit the tangent of each node beside it.

Square roots of sums of squares: norms, however a program writes them.

Such a root is 0 only where all that is squared is 0. There the tangent of the sum is 0 too, and the infinite slope of
the root would make it NaN. The tangent of a norm is 0 there, the subgradient of least size.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff import structural_zeros
from anyshape.autodiff.replay import Replay, begin_replay, context_and_params, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import JVPS, MIX, PASS, Rule, RuleWithValues, zero_flow
from anyshape.autodiff.shift_invariance import (
    SoftmaxQuotient,
    quotient_tangent,
    shift_invariant_extremes,
    softmax_quotients,
)
from anyshape.autodiff.structural_zeros import Masked, whole
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.ir.op_local import topological_order
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.ops import contraction as co
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.elementwise import length_op
from anyshape.ops.factorisations import DECOMPOSITIONS
from anyshape.support import profiles
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import equal_values


def has_tangent(dtype: np.dtype) -> bool:
    """Return whether values of this dtype have tangents: integers and booleans have none."""
    return dtype.kind in "fc"


class Pushed(NamedTuple):
    """Outputs and tangents from a JVP rule that computes both: these outputs take the place of the replayed ones."""

    outputs: Sequence[Any]
    tangents: Sequence[Any]


def push(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], tangents: Sequence[Traced | None], has_zeros: bool = True
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents. Return its outputs and their tangents (None: zero).

    They are the ones of `push_parts` as arrays.
    """
    outputs, pushed = push_parts(builder, graph, inputs, tangents, has_zeros)
    return outputs, list(map(whole, pushed))


def push_parts(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], tangents: Sequence[Any], has_zeros: bool = True
) -> tuple[list[Any], list[Any]]:
    """Replay a graph with tangents. Return its outputs and their tangents, which may be parts.

    Tangents may belong to a graph inside of the builder's, which then receives the nodes that are linear in them alone.
    With `has_zeros`, elements of tangents that are zero by construction stay zero.
    """
    with profiles.aside():
        env = begin_replay(builder, graph, inputs)
        tangent_of = _tangents_by_value(graph.inputs, tangents)
        _Pushing(graph, builder, inputs, env, has_zeros).push_with_limits(builder, graph.nodes, tangent_of)
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
        poles: equal_values.Poles | None = None,
        replays: bool = True,
    ) -> None:
        """Replay nodes, or without `replays` take their outputs as they are, and record their tangents."""
        for node in nodes:
            with at_line(builder, node.where):
                if self.opens and equal_values.order_of(node):
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

    def _push_opened(
        self, builder: Builder, node: Node, tangent_of: dict[Value, Any], poles: equal_values.Poles | None
    ) -> None:
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
        parts = equal_values.followed(nodes, self.graph.outputs, tangent_of)
        self.push(builder, parts.before, tangent_of)
        if parts.nodes:
            limits = equal_values.Limits(self, parts, push, builder, tangent_of)
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
    if (flow := zero_flow(node.op)[0]) in (MIX, PASS):
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


_MOVES = {mv.reshape_op, mv.transpose_op, mv.broadcast_in_dim_op, mv.slice_op, mv.rev_op, ix.take_op}
_SUMS = {*_MOVES, rd.reduce_sum_op, rd.sum_to_op, ew.convert_op, ew.select_op, ew.add_op, mv.concatenate_op, ew.max_op}


def roots_of_squares(graph: Graph, inputs: Sequence[Any]) -> set[Value]:
    """Return the square roots of a graph that are roots of sums of squares. `inputs` stand for its inputs."""
    roots = [node for node in graph.nodes if node.op is ew.sqrt_op]
    if not roots:
        return set()
    outer = {v: x for v, x in zip(graph.inputs, inputs, strict=True) if isinstance(x, Traced)}
    squares = _Squares(graph.maker, outer)
    return {node.outputs[0] for node in roots if node.inputs[0] in squares}


class _Squares:
    """Values that are sums of squares with weights that are not negative."""

    def __init__(self, makers: Mapping[Value, Node], outer: Mapping[Value, Traced]) -> None:
        self.makers, self.outer = makers, outer
        self.settled: dict[Value, bool] = {}

    def __contains__(self, value: Value) -> bool:
        for last in topological_order([value], lambda v: None if v in self.settled else self._terms(v)):
            self.settled[last] = all(self.settled.get(v, False) for v in self._terms(last))
        return self.settled[value]

    def _terms(self, value: Value) -> Sequence[Value]:
        """Return the values that must be sums of squares for a value to be one; itself if it cannot be one."""
        if (node := self.makers.get(value)) is None or value.meta.dtype.kind != "f":
            return [value]
        if self._is_square(node):
            return []
        if node.op is ew.div_op:
            return node.inputs[:1] if self._is_weight(node.inputs[1]) else [value]
        skips = _SKIPS.get(node.op)
        return [value] if skips is None else [v for v in node.inputs if not skips(self, v)]

    def _is_square(self, node: Node) -> bool:
        """Return whether a node squares, or multiplies a value by itself along all of its axes."""
        if node.op is ew.square_op:
            return True
        params = dict(node.params)
        if node.op is ew.power_by_op:
            return isinstance(params["exponent"], int) and params["exponent"] > 0 and params["exponent"] % 2 == 0
        if node.op is ew.mul_op:
            return node.inputs[0] is node.inputs[1]
        if node.op is not co.dot_general_op or node.inputs[0] is not node.inputs[1]:
            return False
        (left, right), (first, second) = params["contract"], params["batch"]
        return left == right and first == second and len(left) + len(first) == node.inputs[0].meta.rank

    def _is_weight(self, value: Value) -> bool:
        """Return whether a value is a number above 0 in all programs, or a size."""
        if (node := self._origin(value)) is not None and node.op is cr.full_op:
            return bool(dict(node.params)["value"] > 0)
        return node is not None and node.op in (cr.size_value_op, cr.float_of_size_op)

    def _is_zero(self, value: Value) -> bool:
        node = self._origin(value)
        if value.meta.dtype.kind != "f":  # a condition or an index
            return True
        return node is not None and node.op is cr.full_op and dict(node.params)["value"] == 0

    def _origin(self, value: Value) -> Node | None:
        """Return the node that makes what a value repeats, moves or converts: of the graph or of one around it."""
        makers = self.makers
        if value not in makers and value in self.outer:
            handle = self.outer[value]
            value, makers = handle.value, {v: n for n in handle.builder.nodes for v in n.outputs}
        node = makers.get(value)
        while node is not None and node.op in (*_MOVES, ew.convert_op):
            node = makers.get(node.inputs[0])
        return node


# By op, which operands need not be sums of squares for the result to be one.
_SKIPS: dict[Op, Callable[[_Squares, Value], bool]] = {
    **dict.fromkeys(_SUMS, _Squares._is_zero),
    ew.mul_op: _Squares._is_weight,
}

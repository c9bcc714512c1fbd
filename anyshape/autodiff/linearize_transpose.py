"""Reverse mode: linearise, which is forward mode with the tangents in a separate graph, then transpose that graph.

Leave out of a linear graph what its results of interest do not need, before it is transposed.

A carry of a loop that no such result depends on has no cotangent, nor has such a result of a conditional. Zeros that
would stand for one are numbers, and an infinite slope would make them NaN.

Rematerialisation by checkpoints: reverse mode recomputes the values between the marks of a checkpoint.

A value is inside of a checkpoint if it is computed from a value that entered one and has not left it. Marks are
ordinary ops, so values that transforms derive from values inside are inside too. The transpose of entering is leaving.
So the derivative of a pullback recomputes the values that the pullback computes inside.

Find which values of a graph depend on others, through the subgraphs of loops and conditionals.

A value that is read for its shape alone does not count.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from anyshape.autodiff import structural_zeros
from anyshape.autodiff.cotangents import CotangentSum, SliceRead
from anyshape.autodiff.jvp import push
from anyshape.autodiff.replay import Replay, begin_replay, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import PASS, TRANSPOSES, WINDOW_TRANSPOSES, Linear, zero_flow, zeros_like
from anyshape.autodiff.structural_zeros import whole
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Op, Value, quiet, raises
from anyshape.graph.ir.op_local import topological_order
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.ops.control import POLICIES, enter_checkpoint_op, leave_checkpoint_op
from anyshape.ops.control_flow import cond_each_op, cond_op
from anyshape.ops.creation import full_op
from anyshape.ops.elementwise import div_op, mul_op
from anyshape.ops.loops import Layout, scan_op, while_op
from anyshape.ops.movement import broadcast_in_dim_op
from anyshape.ops.prune_inputs import PRUNERS
from anyshape.support import profiles
from anyshape.support.lazy_dataclass import dataclass, replace


@dataclass(frozen=True, slots=True)
class LinearMap:
    """Derivative at a point: a graph whose first inputs are tangents, in which it is linear, then residuals.

    `live` gives for each output of the function the output of the graph that is its tangent; None: zero.
    """

    graph: Graph
    tangent_count: int
    residuals: tuple[Traced, ...]
    live: tuple[int | None, ...]


def linearise(
    builder: Builder, graph: Graph, inputs: Sequence[Traced], wrt: Sequence[int], count: int | None = None
) -> tuple[list[Any], LinearMap]:
    """Emit a graph at `inputs` into `builder`. Return its outputs, and its derivative in the inputs `wrt`.

    The derivative is of the first `count` outputs, None of all. Zeros by construction enter it as numbers: they are
    what `transpose` and the JVP of the graph care for.
    """
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    tangents: list[Traced | None] = [None] * len(inputs)
    for i in wrt:
        tangents[i] = inner.input(inputs[i].meta)
    outputs, pushed = push(builder, graph, inputs, tangents, has_zeros=False)
    pushed = pushed[:count]
    linear_graph = inner.finish([t for t in pushed if t is not None], graph.name)
    order = itertools.count()
    live = tuple([None if t is None else next(order) for t in pushed])
    linear_graph, residuals = recompute_residuals(builder, linear_graph, len(wrt), inner.captures())
    return outputs, LinearMap(linear_graph, len(wrt), residuals, live)


def transpose(
    builder: Builder, graph: Graph, linear_count: int, residuals: Sequence[Traced], cotangents: Sequence[Traced | None]
) -> list[Any]:
    """Return the cotangents (None: zero) of the first `linear_count` inputs of a graph that is linear in them."""
    with profiles.aside():
        return list(map(whole, transposed_ends(builder, graph, linear_count, residuals, cotangents)))


def transposed_ends(
    builder: Builder, graph: Graph, linear_count: int, residuals: Sequence[Traced], cotangents: Sequence[Any]
) -> list[Any]:
    """Return the cotangents of `transpose`, which may be parts."""
    sums = transposed_sums(builder, graph, linear_count, residuals, cotangents)
    return [None if total is None else total.end() for total in sums]


def transposed_sums(
    builder: Builder,
    graph: Graph,
    linear_count: int,
    residuals: Sequence[Traced],
    cotangents: Sequence[Any],
    starts: Mapping[int, Callable[[], Any]] = MappingProxyType({}),
) -> list[CotangentSum | None]:
    """Return the cotangents of `transpose` as sums. `starts` gives arrays for sums to begin with, by input.

    The primal part of the graph, which does not depend on these, is computed just before it is read.
    """
    graph = with_live_results(graph, [ct is not None for ct in cotangents])
    linear, maker = _split(graph, linear_count)
    env = begin_replay(builder, graph, [*[None] * linear_count, *residuals])
    # array types of linear values are in terms of run-time sizes, which are new in this replay
    _compute_known(builder, [value for value, _ in graph.runtime.values() if value in maker], maker, env, linear)
    sums = {graph.inputs[i]: CotangentSum(start) for i, start in starts.items()}
    for value, ct in zip(graph.outputs, cotangents, strict=True):
        if ct is not None and value in linear:
            sums.setdefault(value, CotangentSum()).add(with_sizes_of(builder, ct, env.translate_type(value.meta)))
    for node in reversed(graph.nodes):
        if not linear.isdisjoint(node.inputs) and not sums.keys().isdisjoint(node.outputs):
            _compute_known(builder, node.operands, maker, env, linear)
            with at_line(builder, node.where):
                _pull_node(builder, node, env, linear, sums, maker)
    return [sums.get(v) for v in graph.inputs[:linear_count]]


def _split(graph: Graph, linear_count: int) -> tuple[set[Value], dict[Value, Node]]:
    """Return the values that are linear in the first inputs, and the node that makes each known value."""
    linear, maker = set(graph.inputs[:linear_count]), dict[Value, Node]()
    for node in graph.nodes:
        if linear.isdisjoint(node.inputs):
            maker.update(dict.fromkeys(node.outputs, node))
        else:
            linear.update(node.outputs)
    return linear, maker


def _compute_known(
    builder: Builder, values: Sequence[Value], maker: Mapping[Value, Node], env: Replay, linear: set[Value]
) -> None:
    """Replay the primal nodes that these values need. Where one reads a linear value for its sizes, zeros have them."""
    for value in topological_order(values, lambda v: maker[v].operands if v in maker and v not in env else None):
        if value in env:  # another output of its node has replayed it
            continue
        with at_line(builder, maker[value].where):
            for source in maker[value].sources:
                if source in linear and env.get(source) is None:
                    context = ShapeGuardContext(builder.scope, "zeros", rule="transpose")
                    env[source] = zeros_like(context, Linear(env.translate_type(source.meta)))
            replay_node(builder, maker[value], env)


def _pull_node(
    builder: Builder,
    node: Node,
    env: Replay,
    linear: set[Value],
    sums: dict[Value, CotangentSum],
    maker: Mapping[Value, Node],
) -> None:
    """Apply the transpose rule of a node, and add up the cotangents of its linear inputs."""
    metas = [env.translate_type(v.meta) for v in node.operands]
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, metas, "transpose")
    inputs = [Linear(meta) if v in linear else env[v] for v, meta in zip(node.inputs, metas, strict=False)]
    params = _params_of(node, env, linear)
    if _pull_windows(context, node, inputs, params, sums):
        return
    result = _pull_part(context, node, sums, inputs, params, _scales(node, maker))
    if result is None:
        end = CotangentSum.end if zero_flow(node.op)[1] is PASS else CotangentSum.value
        cts = [end(sums[v]) if v in sums else None for v in node.outputs]
        result = TRANSPOSES[node.op](context, cts if len(cts) > 1 else cts[0], *inputs, **params)
    for value in node.outputs:
        sums.pop(value, None)
    _add_all(node, result, linear, sums)


def _params_of(node: Node, env: Replay, linear: set[Value]) -> dict[str, Any]:
    """Return the parameters of a node, with its sources in the replay."""
    params = dict(node.params)
    if node.sources:
        params["sources"] = [Linear(env.translate_type(v.meta)) if v in linear else env[v] for v in node.sources]
    return params


def _pull_windows(
    ctx: ShapeGuardContext,
    node: Node,
    inputs: Sequence[Any],
    params: Mapping[str, Any],
    sums: dict[Value, CotangentSum],
) -> bool:
    """Add each of the windows that make up a cotangent to that of the input; False where it has other parts."""
    pull, y = WINDOW_TRANSPOSES.get(node.op), node.outputs[0]
    pulled = [] if pull is None else [pull(ctx, part, *inputs, **params) for part in sums[y].waiting]
    if not pulled or None in pulled:
        return False
    del sums[y]
    for window in pulled:
        _add_all(node, [window], {*node.inputs}, sums)
    return True


def _pull_part(
    ctx: ShapeGuardContext,
    node: Node,
    sums: Mapping[Value, CotangentSum],
    inputs: Sequence[Any],
    params: Mapping[str, Any],
    scales: bool,
) -> Sequence[Any] | None:
    """Return the cotangents of the inputs of a node, where that of its output is a part; None: of the whole array."""
    part = sums[node.outputs[0]].part() if len(node.outputs) == 1 else None
    if part is None:
        return None
    rule = lambda ct, *xs: TRANSPOSES[node.op](ctx, ct, *xs, **params)
    return structural_zeros.pulled(node.op, ctx, rule, part, inputs, params, scales)


def _scales(node: Node, maker: Mapping[Value, Node]) -> bool:
    """Return whether a node multiplies or divides by a finite number: then a number 0 stays one."""
    if node.op not in (mul_op, div_op):
        return False
    numbers = [_literal(v, maker) for v in node.inputs[node.op is div_op :]]
    largest = float(np.finfo(node.outputs[0].meta.dtype).max)
    return any(n is not None and abs(n) <= largest and (n != 0 or node.op is mul_op) for n in numbers)


def _literal(value: Value, maker: Mapping[Value, Node]) -> Any:
    """Return the number that fills a value; None where no one number does."""
    node = maker.get(value)
    while node is not None and node.op is broadcast_in_dim_op:
        node = maker.get(node.inputs[0])
    return dict(node.params)["value"] if node is not None and node.op is full_op else None


def _add_all(node: Node, cts: Sequence[Any], linear: set[Value], sums: dict[Value, CotangentSum]) -> None:
    """Add what the transpose rule of a node gave to the cotangents of its inputs."""
    for value, ct in zip(node.inputs, cts, strict=True):
        if ct is not None:
            if value not in linear:
                raise AnyshapeError(f"{node.op}: its transpose gave a cotangent to a constant input\n  fix the rule")
            sums.setdefault(value, CotangentSum()).add(ct.whole() if isinstance(ct, SliceRead) else ct)


def with_live_results(graph: Graph, live: Sequence[bool]) -> Graph:
    """Return a graph whose loops and conditionals give no more than the live outputs need.

    Outputs that are not live stay, and may have no node any more.
    """
    if not any(node.op in PRUNERS for node in graph.nodes):
        return graph
    ends = [v for v, flag in zip(graph.outputs, live, strict=True) if flag]
    return replace(_pruned(replace(graph, outputs=tuple(ends))), outputs=graph.outputs)


def _pruned(graph: Graph) -> Graph:
    """Return a graph without nodes and results of loops and conditionals that nothing reads.

    What they refuse is refused where the values are computed, which a graph of tangents follows.
    """
    read = {*graph.outputs, *[value for value, _ in graph.runtime.values()]}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        live = [v in read for v in node.outputs]
        if any(live):
            node = PRUNERS[node.op](node, live, _pruned) if node.op in PRUNERS else node
            read.update(node.operands)
            nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)))


Policies: TypeAlias = tuple[str, ...]


def checkpointed_values(nodes: Sequence[Node]) -> dict[Value, Policies]:
    """Return the values inside of checkpoints, each with the policies of these, outermost first."""
    policies_of: dict[Value, Policies] = {}
    if enter_checkpoint_op not in [node.op for node in nodes]:
        return policies_of
    for node in nodes:
        policies = max((policies_of.get(v, ()) for v in node.operands), key=len, default=())
        if node.op is enter_checkpoint_op:
            policies = (*policies, dict(node.params)["keep"])
        elif node.op is leave_checkpoint_op:
            policies = policies[:-1]
        if policies:
            policies_of.update(dict.fromkeys(node.outputs, policies))
    return policies_of


def _is_saved(node: Node, policies: Policies) -> bool:
    """Return whether the outputs of a node are saved: by policy, for a check, or as new run-time sizes would differ."""
    return node.op.makes_sizes or raises(node) or all(node.op.family in POLICIES[p] for p in policies)


class _Recomputation:
    """Recomputes in an inner graph the values of a builder that are inside of checkpoints.

    Each depth of nesting is recomputed by itself. The values at depth 2 read recomputed values at depth 1. Values at
    depth 2 that were needed for these are not kept.
    """

    def __init__(self, builder: Builder, inner: Builder, policies_of: dict[Value, Policies]) -> None:
        self.builder, self.inner, self.policies_of = builder, inner, policies_of
        inside = [quiet(n) for n in builder.nodes if n.outputs[0] in policies_of]
        recomputed = [n for n in inside if not _is_saved(n, policies_of[n.outputs[0]])]
        self.maker = {v: node for node in recomputed for v in node.outputs}
        self.turn = max(dict(n.params)["turn"] for n in builder.nodes if n.op is enter_checkpoint_op)
        self.values: dict[tuple[Value, int], Traced] = {}

    def recompute(self, value: Value) -> Traced:
        """Return the recomputed value for a value of the builder."""
        root = value, self._depth(value)
        for needed, depth in topological_order([root], self._reads):
            if (needed, depth) not in self.values:  # another output of its node may have made it
                self._emit(self.maker[needed], depth)
        return self._at_depth(*root)

    def _depth(self, value: Value) -> int:
        return len(self.policies_of.get(value, ()))

    def _reads(self, key: tuple[Value, int]) -> list[tuple[Value, int]] | None:
        """Return the operands of a value with their depths; None: nothing is to be computed."""
        value, depth = key
        if key in self.values or value not in self.maker:
            return None
        return [(v, min(depth, self._depth(v))) for v in self.maker[value].operands]

    def _emit(self, node: Node, depth: int) -> None:
        """Emit a node again for this depth."""
        params = dict(node.params) | ({"turn": self.turn + depth} if node.op is enter_checkpoint_op else {})
        with at_line(self.inner, node.where):
            operands = [self._at_depth(v, min(depth, self._depth(v))) for v in node.operands]
            count = len(node.inputs)
            outputs = self.inner.emit(node.op, operands[:count], operands[count:], params)
        self.values.update(zip([(v, depth) for v in node.outputs], outputs, strict=True))

    def _at_depth(self, value: Value, depth: int) -> Traced:
        """Return the value as this depth reads it."""
        if (value, depth) in self.values:
            return self.values[value, depth]
        outer = self.builder.handle(self.builder, value)
        if value in self.policies_of:
            outer = self.values[value, depth] = self._marked_again(outer, self.policies_of[value], depth)
        return outer

    def _marked_again(self, x: Traced, policies: Policies, depth: int) -> Traced:
        """Return a saved value that leaves its checkpoints and enters new ones, so that uses of it are not merged."""
        for keep in reversed(policies):
            (x,) = self.inner.emit(leave_checkpoint_op, [x], [], {"keep": keep})
        for keep in policies:
            (x,) = self.inner.emit(enter_checkpoint_op, [x], [], {"keep": keep, "turn": self.turn + depth})
        return x


def recompute_residuals(
    builder: Builder, graph: Graph, tangent_count: int, residuals: Sequence[Traced]
) -> tuple[Graph, tuple[Traced, ...]]:
    """Return a linear graph with no residual inside of a checkpoint, and its residuals.

    The graph recomputes each such residual just before it reads it.
    """
    policies_of = checkpointed_values(builder.nodes)
    if not any(x.builder is builder and x.value in policies_of for x in residuals):
        return graph, tuple(residuals)
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    recomputation = _Recomputation(builder, inner, policies_of)
    tangents = [inner.input(v.meta) for v in graph.inputs[:tangent_count]]
    env = begin_replay(inner, graph, [*tangents, *residuals])
    pending = {v: x.value for v, x in zip(graph.inputs[tangent_count:], residuals, strict=True) if x.builder is builder}
    for node in graph.nodes:
        _recompute_pending(recomputation, env, pending, node.operands)
        with at_line(inner, node.where):
            replay_node(inner, node, env)
    _recompute_pending(recomputation, env, pending, graph.outputs)
    linear = inner.finish([env[v] for v in graph.outputs], graph.name)
    return linear, tuple(inner.captures())


def _recompute_pending(
    recomputation: _Recomputation, env: Replay, pending: dict[Value, Value], values: Iterable[Value]
) -> None:
    """Recompute the residuals among the values that are still pending."""
    for v in values:
        if v in pending:
            env[v] = recomputation.recompute(pending.pop(v))


Flags = list[bool]


def dependent_values(nodes: Iterable[Node], values: Iterable[Value]) -> set[Value]:
    """Return these values, and all results of the nodes that are computed from them."""
    dependent = set(values)
    for node in nodes:
        if not dependent.isdisjoint(node.inputs):
            flags = _FLOWS.get(node.op, _all)(node, [v in dependent for v in node.inputs])
            dependent.update(v for v, flag in zip(node.outputs, flags, strict=True) if flag)
    return dependent


def _through(graph: Graph, flags: Sequence[bool]) -> Flags:
    """Return which outputs of a subgraph depend on the inputs that are flagged."""
    dependent = dependent_values(graph.nodes, [v for v, flag in zip(graph.inputs, flags, strict=True) if flag])
    return [v in dependent for v in graph.outputs]


def _all(node: Node, flags: Flags) -> Flags:
    return [True] * len(node.outputs)


def _of_branches(node: Node, flags: Flags) -> Flags:
    if flags[0]:
        return _all(node, flags)
    branches = [_through(graph, flags[1:]) for graph in dict(node.params)["branches"]]
    return [any(column) for column in zip(*branches, strict=True)]


def _of_scan(node: Node, flags: Flags) -> Flags:
    (body,), layout = dict(node.params)["body"], Layout(*dict(node.params)["layout"])
    count = len(body.inputs)
    if any(flags[count:]):  # lengths of pieces
        return _all(node, flags)
    after = _of_trips(body, layout.carries, flags[:count])[1]
    return [*after, *_of_slots(node, len(after), any(after[: layout.carries]))]


def _of_while(node: Node, flags: Flags) -> Flags:
    (test, body), carries = dict(node.params)["loop"], dict(node.params)["carries"]
    inside, after = _of_trips(body, carries, flags)
    if any(_through(test, inside)):
        return _all(node, flags)
    if len(after) == len(node.outputs):
        return after
    after = [*after[:carries], False, *after[carries:]]  # the mask
    return [*after, *_of_slots(node, len(after), any(after[:carries]))]


def _of_slots(node: Node, first: int, flag: bool) -> Flags:
    """Return which checkpoint slots depend on flagged inputs: not the trips that they hold."""
    count = len(node.outputs) - first
    return [False, *[flag] * (count - 1)] if count else []


def _of_trips(body: Graph, carries: int, flags: Flags) -> tuple[Flags, Flags]:
    """Return which inputs of the body of a loop depend on flagged ones in some trip, and which of its results."""
    while True:
        after = _through(body, flags)
        reached = [a or b for a, b in zip(flags[:carries], after, strict=False)]
        if reached == flags[:carries]:
            return flags, [*reached, *after[carries:]]  # without trips, carries end as they begin
        flags = [*reached, *flags[carries:]]


_FLOWS: dict[Op, Callable[[Node, Flags], Flags]] = {
    cond_op: _of_branches, cond_each_op: _of_branches, scan_op: _of_scan, while_op: _of_while,
}  # fmt: skip

"""Reverse mode: linearise, which is forward mode with the tangents in a separate graph, then transpose that graph."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from anyshape.autodiff import zero_flows
from anyshape.autodiff.cotangents import CotangentSum, SliceRead
from anyshape.autodiff.jvp import push
from anyshape.autodiff.live_results import with_live_results
from anyshape.autodiff.remat_checkpoint import recompute_residuals, topological_order
from anyshape.autodiff.replay import Replay, begin_replay, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import PASS, TRANSPOSES, WINDOW_TRANSPOSES, Linear, zero_flow, zeros_like
from anyshape.autodiff.structural_zeros import Part, whole
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.support.lazy_dataclass import dataclass


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
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Traced],
    wrt: Sequence[int],
    count: int | None = None,
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
                _pull_node(builder, node, env, linear, sums)
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


def _pull_node(builder: Builder, node: Node, env: Replay, linear: set[Value], sums: dict[Value, CotangentSum]) -> None:
    """Apply the transpose rule of a node, and add up the cotangents of its linear inputs."""
    metas = [env.translate_type(v.meta) for v in node.operands]
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, metas, "transpose")
    inputs = [Linear(meta) if v in linear else env[v] for v, meta in zip(node.inputs, metas, strict=False)]
    params = _params_of(node, env, linear)
    part = sums[node.outputs[0]].part() if len(node.outputs) == 1 else None
    result = None if part is None else _pull_part(context, node, part, inputs, params)
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


def _pull_part(
    ctx: ShapeGuardContext, node: Node, part: Part, inputs: Sequence[Any], params: Mapping[str, Any]
) -> Sequence[Any] | None:
    """Return the cotangents of the inputs of a node, where that of its output is a part; None: of the whole array."""
    window = WINDOW_TRANSPOSES.get(node.op)
    pulled = None if window is None else window(ctx, part, *inputs, **params)
    if pulled is not None:
        return [pulled if isinstance(x, Linear) else None for x in inputs]
    rule = lambda ct, *xs: TRANSPOSES[node.op](ctx, ct, *xs, **params)
    return zero_flows.pulled(node.op, ctx, rule, part, inputs, params)


def _add_all(node: Node, cts: Sequence[Any], linear: set[Value], sums: dict[Value, CotangentSum]) -> None:
    """Add what the transpose rule of a node gave to the cotangents of its inputs."""
    for value, ct in zip(node.inputs, cts, strict=True):
        if ct is not None:
            if value not in linear:
                raise AnyshapeError(f"{node.op}: its transpose gave a cotangent to a constant input\n  fix the rule")
            sums.setdefault(value, CotangentSum()).add(ct.whole() if isinstance(ct, SliceRead) else ct)

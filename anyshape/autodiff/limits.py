"""Derivatives of a part of a graph that limits pass, as one conditional: for distinct values and for equal ones.

The branch for equal values pushes the part times powers of epsilon, as a graph of epsilon, and takes derivatives of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from anyshape.autodiff.equal_values import (
    DISTINCT,
    RULES,
    Base,
    Followed,
    Poles,
    absolute,
    bound_of,
    magnitude,
    trial,
    with_vectors,
)
from anyshape.autodiff.replay import Replay, begin_replay, context_and_params, inline, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import add_tangents
from anyshape.autodiff.subgraph_ends import Ends
from anyshape.graph.ir.builder import Builder, Traced, activate, at_line
from anyshape.graph.ir.graph import Graph, Node, Value
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import elementwise as ew
from anyshape.ops.control_flow import cond
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_namedtuple import NamedTuple

PushGraph = Callable[..., tuple[list[Any], list[Any]]]


class Pushing(Protocol):
    """Replay of a graph with tangents."""

    env: Replay

    def push(
        self,
        builder: Builder,
        nodes: Sequence[Node],
        tangent_of: dict[Value, Any],
        poles: Poles | None = None,
        replays: bool = True,
    ) -> None:
        """Replay nodes, or without `replays` take their outputs as they are, and record their tangents."""

    def inside(self) -> Pushing:
        """Return the replay in a subgraph, which leaves this one as it is."""


class Series(NamedTuple):
    """Tangents times `powers` of epsilon, as a graph. It takes epsilon first, and gives derivatives by it in order."""

    graph: Graph
    powers: Sequence[int]

    def coefficient(self, results: Sequence[Any], end: int, order: int) -> Any:
        """Return a coefficient of a tangent times its power, by the results of the graph."""
        result = results[order * len(self.powers) + end]
        return result if order < 2 else ew.mul(result, ew.lift(1 / math.factorial(order), result))

    def agrees(self, tried: Sequence[Any], end: int) -> Any:
        """Return where a tangent has a limit: no poles, and the same for vectors that are turned.

        `tried` are results with sizes of their terms, of vectors and of vectors that are turned.
        """
        checks = []
        for order in range(self.powers[end] + 1):
            (a, a_size), (b, b_size) = ([self.coefficient(x, end, order) for x in one] for one in tried)
            size = ew.absolute(ew.add(a_size, b_size))
            size = ew.mul(size, ew.lift(bound_of(size.dtype), size))
            off = [ew.sub(a, b)] if order == self.powers[end] else [a, b]
            checks += [ew.le(ew.absolute(x), size) for x in off]
        return functools.reduce(ew.logical_and, checks)

    def limit(self, results: Sequence[Any], tried: Sequence[Any], end: int) -> Any:
        """Return the coefficient of order 0 of a tangent, NaN where it has no limit."""
        power = self.powers[end]
        result = self.coefficient(results, end, power)
        if not power:
            return result
        factor = ew.select(self.agrees(tried, end), ew.lift(0, result), ew.lift(np.nan, result))
        poles = [self.coefficient(results, end, order) for order in range(power)]  # they are not 0 by construction
        return functools.reduce(add_tangents, [ew.mul(x, factor) for x in poles], result)


class Limits:
    """Derivative of a part of a graph: limits where values are equal. `push_graph` pushes any graph."""

    def __init__(
        self, pushing: Pushing, parts: Followed, push_graph: PushGraph, builder: Builder, tangent_of: dict[Value, Any]
    ) -> None:
        """Replay the part."""
        self.pushing, self.parts, self.push_graph, self.builder = pushing, parts, push_graph, builder
        self.entering = list(dict.fromkeys([v for node in parts.pushed for v in node.inputs if v in tangent_of]))
        self.own: Ends = Ends.of([tangent_of[v] for v in self.entering])
        self.ends: Ends = Ends([], [])
        self.decomposed: dict[Node, Sequence[Any]] = {}
        for node in parts.nodes:
            with at_line(builder, node.where):
                outputs = replay_node(builder, node, pushing.env)
                if node in parts.begins and node.inputs[0] in tangent_of:
                    self.decomposed[node] = outs = with_vectors(node, outputs, pushing.env[node.inputs[0]])
                    if len(outputs) < len(outs):
                        pushing.env[node.outputs[0]] = outs[RULES[node.op].at]

    def push(self, tangent_of: dict[Value, Any]) -> None:
        """Record the tangents of the ends, with limits if a decomposition moves."""
        if not self.decomposed:
            self.pushing.push(self.builder, self.parts.pushed, tangent_of, replays=False)
            return
        arguments = self.own.arrays([tangent_of[v] for v in self.entering])
        flags = [near.any() for near in map(self._near, self.decomposed)]
        names = f"{DISTINCT}{self.parts.order}", f"equal values of order {self.parts.order}"
        bodies = self._distinct, self._equal
        graphs, operands = trace_subgraphs(bodies, [t.meta for t in arguments], names)
        results = cond(functools.reduce(ew.logical_or, flags), graphs, *arguments, *operands)
        tangent_of.update(zip(self.parts.ends, self.ends.read(results), strict=True))

    def _near(self, node: Node) -> Any:
        outs = self.decomposed[node]
        context = ShapeGuardContext(outs[0].builder.scope, node.op.name, node.where)
        return RULES[node.op].near(context, outs, self.parts.order)

    def _distinct(self, *ts: Any) -> Sequence[Any]:
        """Return the tangents of the ends where all values differ, in a subgraph."""
        return self._pushed(ts[0].builder, ts, None)

    def _pushed(self, builder: Builder, ts: Sequence[Any], poles: Poles | None) -> list[Any]:
        """Return the tangents of the ends, and marks of some. They are traced apart, as what is linear must be."""
        count = len(self.entering)
        inner = Builder(builder.scope, parent=builder, handle=builder.handle)
        tangents = self.own.read([*[inner.input(t.meta) for t in ts[:count]], *ts[count:]])
        tangent_of = dict(zip(self.entering, tangents, strict=True))
        self.pushing.inside().push(builder, self.parts.pushed, tangent_of, poles, replays=poles is not None)
        results = self._sized(builder, map(tangent_of.get, self.parts.ends))
        ends = Ends.of(results)
        self.ends = ends if poles is None else self.ends
        linear = inner.finish(ends.arrays(results))
        return inline(builder, linear, [*ts[:count], *inner.captures()])

    def _sized(self, builder: Builder, tangents: Iterable[Any]) -> list[Any]:
        columns = zip(tangents, map(self.pushing.env.__getitem__, self.parts.ends), strict=True)
        return [ew.lift(0, y) if t is None else with_sizes_of(builder, t, y.meta) for t, y in columns]

    def _equal(self, *ts: Any) -> Sequence[Any]:
        """Return the tangents of the ends where values are equal, in a subgraph."""
        builder, count = ts[0].builder, len(self.entering)
        bases = self._bases(builder)
        series, captures = self._series(builder, [base for base, _ in bases], ts)
        context = ShapeGuardContext(builder.scope, "limit", self.parts.nodes[0].where)
        trials = [trial(context, t, k) for k, t in enumerate(ts[:count])]
        zero, further = builder.constant(np.zeros(())), [*ts[count:], *captures]
        starts = [[zero, *[x for base in side for x in base.arrays()]] for side in zip(*bases, strict=True)]
        results = inline(builder, series.graph, [*starts[0], *ts, *captures])
        tried = [_with_sizes_of_terms(builder, series.graph, start, trials, further) for start in starts]
        limits = [series.limit(results, tried, end) for end in range(len(series.powers))]
        marks = self._distinct(*ts)[len(limits) :] if any(self.ends.parted) else []
        return [*self._sized(builder, limits), *marks]

    def _bases(self, builder: Builder) -> list[tuple[Base, Base]]:
        """Return decompositions with equal values for nearly equal ones, and the same with vectors of these turned."""
        bases = []
        for node, outs in self.decomposed.items():
            context, rules = ShapeGuardContext(builder.scope, node.op.name, node.where), RULES[node.op]
            near = self._near(node)
            base = [near.means() if k == rules.at else x for k, x in enumerate(outs)]
            sides = [
                [with_sizes_of(builder, x, y.meta) for x, y in zip(xs, outs, strict=True)]
                for xs in (base, rules.turned(context, base, near))
            ]
            first, second = (Base(node, side, near.rates(), near.lost()) for side in sides)
            bases.append((first, second))
        return bases

    def _series(self, outer: Builder, bases: Sequence[Base], ts: Sequence[Any]) -> tuple[Series, Sequence[Any]]:
        """Return the tangents of the ends as a function of epsilon, and what it reads besides."""
        builder = Builder(outer.scope, parent=outer, handle=outer.handle, whole=True)
        with activate(builder):
            context = ShapeGuardContext(builder.scope, "limit", self.parts.nodes[0].where)
            epsilon = builder.input(tensor(np.dtype(float), ()))
            begun = {base.node: base.begun(context, builder.input, epsilon) for base in bases}
            inputs = [builder.input(t.meta) for t in ts]
            poles = Poles(epsilon, begun)
            ends = self._pushed(builder, inputs, poles)[: len(self.parts.ends)]
        graph, captures = builder.finish(ends), builder.captures()
        powers = [poles.power_of(v) for v in self.parts.ends]
        for _ in range(max(powers)):
            graph, more = self._with_derivative(outer, graph)
            captures += more
        return Series(graph, powers), captures

    def _with_derivative(self, outer: Builder, graph: Graph) -> tuple[Graph, list[Traced]]:
        """Return a graph that gives the derivatives of its last results by epsilon too, and what it captures."""
        builder = Builder(outer.scope, parent=outer, handle=outer.handle, whole=True)
        with activate(builder):
            inputs = [builder.input(v.meta) for v in graph.inputs]
            tangents = [builder.constant(np.ones(())), *[None] * (len(inputs) - 1)]
            outputs, pushed = self.push_graph(builder, graph, inputs, tangents)
            slopes = [ew.lift(0, y) if t is None else t for t, y in zip(pushed, outputs, strict=True)]
            ends = [*outputs, *slopes[-len(self.parts.ends) :]]
            return builder.finish(ends), builder.captures()


def _with_sizes_of_terms(
    builder: Builder, graph: Graph, start: Sequence[Any], tangents: Sequence[Any], further: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Replay a graph that is linear in tangents. Return its outputs, and their sizes if no term had a sign."""
    env = begin_replay(builder, graph, [*start, *tangents, *further])
    linear = {*graph.inputs[len(start) : len(start) + len(tangents)]}
    size_of = {v: absolute(x) for v, x in env.items()}
    for node in graph.nodes:
        outs = replay_node(builder, node, env)
        _, params = context_and_params(builder, node, env)
        is_linear = not linear.isdisjoint(node.inputs)
        linear.update(node.outputs if is_linear else ())
        xs, sizes = [env[v] for v in node.inputs], [size_of[v] for v in node.inputs]
        size_of.update(zip(node.outputs, magnitude(node, xs, outs, sizes, params, is_linear), strict=True))
    return [env[v] for v in graph.outputs], [size_of[v] for v in graph.outputs]

"""Limits of derivatives at equal eigenvalues or singular values, for functions that do not depend on how vectors turn.

Vectors of equal values turn infinitely fast. Let the values differ by a small multiple e of their rates, which are
distinct. Then tangents are Laurent series in e, and the derivative is their coefficient of order 0.

- A tangent with a pole of order k is pushed times e**k. Its k-th derivative in e, over k!, is the coefficient wanted.
- The coefficients before it vanish for functions that do not depend on the turn. The one wanted is then the same for
  all vectors of equal values. Both are tried, with a fixed tangent and vectors that are turned. Where that fails
  the derivative is NaN. The test does not read the tangents, so that the derivative stays linear in them.
- Orders follow one another: the conditional of one order is opened in the next one, at the formula of distinct values.

Poles are followed up to the sums over the axes of the values, their open axes. This part of a graph has one conditional
of two derivatives. So limits cost nothing where no values are equal.

Derivatives of a part of a graph that limits pass, as one conditional: for distinct values and for equal ones.

The branch for equal values pushes the part times powers of epsilon, as a graph of epsilon, and takes derivatives of it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from anyshape.autodiff.replay import Replay, begin_replay, context_and_params, inline, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import JVPS, add_tangents
from anyshape.autodiff.structural_zeros import Ends, whole
from anyshape.graph.ir.builder import Builder, Traced, activate, at_line
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.shapes.array_type import ShapeGuardContext, tensor
from anyshape.ops import contraction as con
from anyshape.ops import control_flow as cf
from anyshape.ops import elementwise as ew
from anyshape.ops import factorisations as fa
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import stop_gradient_op
from anyshape.ops.control_flow import cond
from anyshape.ops.core.apply import apply_all
from anyshape.ops.creation import iota
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_dataclass import NamedTuple


class Decomposition(NamedTuple):
    """Rules of a decomposition, whose outputs are vectors and values.

    - `near(ctx, outs, order)`: which values are equal.
    - `turned(ctx, outs, near)`: the outputs with vectors of equal values turned.
    - `push(ctx, t, outs, inverses, **params)`: the tangents.
    - `inverses(ctx, values, rates, epsilon, lost)`: inverses of differences times epsilon.
    - `at`: the position of the values in the outputs.
    """

    near: Callable[..., Any]
    turned: Callable[..., Any]
    push: Callable[..., Any]
    inverses: Callable[..., Any]
    at: int


RULES: dict[Op, Decomposition] = {}  # once the rules of their family are loaded
# Decompositions with vectors in place of those without.
WITH_VECTORS: dict[Op, Callable[..., Any]] = {
    la.eigvals_op: la.eig, la.eigvalsh_op: la.eigh, la.svdvals_op: la.svd, fa.banded_eigvalsh_op: fa.banded_eigh,
}  # fmt: skip
DISTINCT = "distinct values of order "
_SOLVES = (la.solve_op, la.lu_solve_op, la.triangular_solve_op)
# Ops that are linear in all of their operands together.
_JOINTLY = {
    "add", "sub", "neg", "transpose", "broadcast_in_dim", "reduce_sum", "reshape", "convert", "real", "imag", "conj",
    "slice", "pad", "concatenate", "select", "complex", "sized",
}  # fmt: skip
_WITHOUT_SIGNS = {ew.sub_op: ew.add_op, ew.imag_op: ew.real_op}
_DIFFERENCES = {"broadcast_in_dim", "reshape", "add", "sub", "select"}
_SUMS = ("dot_general", "reduce_sum")


def bound_of(dtype: np.dtype) -> float:
    """Return the part of its size up to which a coefficient may differ."""
    return float(np.sqrt(np.finfo(dtype).eps))


def order_of(node: Node) -> int:
    """Return the order of the derivative that a conditional of this module gives, 0 for other nodes."""
    if node.op is not cf.cond_op:
        return 0
    name = dict(node.params)["branches"][0].name
    return int(name.removeprefix(DISTINCT)) if name.startswith(DISTINCT) else 0


def with_vectors(node: Node, outs: Sequence[Any], a: Any) -> Sequence[Any]:
    """Return the outputs of a decomposition, vectors among them."""
    return WITH_VECTORS[node.op](a, **dict(node.params)) if node.op in WITH_VECTORS else outs


class Begun(NamedTuple):
    """Decomposition whose values move with epsilon: outputs with vectors, rates of values and their inverses."""

    outs: Sequence[Any]
    rates: Any
    inverses: Any


class Base(NamedTuple):
    """Decomposition at epsilon 0: its outputs with vectors, rates of its values, and pairs that are lost."""

    node: Node
    outs: Sequence[Any]
    rates: Any
    lost: Any

    def arrays(self) -> list[Any]:
        """Return what describes it."""
        return [x for x in (*self.outs, self.rates, self.lost) if x is not None]

    def begun(self, ctx: ShapeGuardContext, take: Callable[[Any], Any], epsilon: Any) -> Begun:
        """Return such a decomposition with values that move; `take` gives what describes it in place of arrays."""
        outs, rates = [take(x.meta) for x in self.outs], take(self.rates.meta)
        lost = None if self.lost is None else take(self.lost.meta)
        rules = RULES[self.node.op]
        values = outs[rules.at]
        factor = mv.broadcast_in_dim(ew.convert(epsilon, values.dtype), ctx.shape(values), ())
        inverses = rules.inverses(ctx, values, rates, epsilon, lost)
        outs[rules.at] = ew.add(values, ew.mul(factor, rates))
        return Begun(outs, rates, inverses)


class Poles:
    """Powers of `epsilon` that values and tangents of nodes are multiplied by.

    - `weights`: the power of a value, 0 where it is missing.
    - `excess`: the power of a tangent beyond that of its value.
    - `rates`: derivatives of values by epsilon, of those that differences of eigenvalues are made of.
    """

    def __init__(self, epsilon: Any, begun: Mapping[Node, Begun]) -> None:
        self._epsilon, self._begun = epsilon, begun
        self.weights: dict[Value, int] = {}
        self.excess: dict[Value, int] = {}
        self.rates: dict[Value, Any] = {}

    def pushes(self, ctx: ShapeGuardContext, node: Node, env: Any, tangents: dict[Value, Any]) -> bool:
        """Push a node that has poles itself, and return whether it has."""
        if node in self._begun:
            self._begin(ctx, node, env, tangents)
        elif node.op is stop_gradient_op:  # of tangents, not of epsilon
            env[node.outputs[0]] = env[node.inputs[0]]
            self.weights[node.outputs[0]] = self.weights.get(node.inputs[0], 0)
        elif node.op is ew.reciprocal_op and node.inputs[0] in self.rates:
            (value,), (out,) = node.inputs, node.outputs
            env[out] = y = pole(env[value], self.rates[value], self._epsilon)
            self.weights[out] = 1
            if value in tangents:
                tangents[out] = ew.neg(ew.mul(ew.square(y), whole(tangents[value])))
                self.excess[out] = 1 + self.excess.get(value, 0)
        else:
            return False
        return True

    def _begin(self, ctx: ShapeGuardContext, node: Node, env, tangents: dict[Value, Any]) -> None:
        """Take the outputs of a decomposition, with their tangents. Vectors have a pole."""
        begun, rules = self._begun[node], RULES[node.op]
        pushed = rules.push(ctx, whole(tangents[node.inputs[0]]), begun.outs, begun.inverses, **dict(node.params))
        columns = [*zip(begun.outs, pushed, range(len(pushed)), strict=True)]
        if node.op in WITH_VECTORS:
            columns = [columns[rules.at]]
        for value, (out, tangent, k) in zip(node.outputs, columns, strict=True):
            env[value], tangents[value], self.excess[value] = out, tangent, int(k != rules.at)
            if k == rules.at:
                self.rates[value] = begun.rates

    def before(self, ctx: ShapeGuardContext, node: Node, env: Any, tangents: dict[Value, Any]) -> None:
        """Multiply what a node reads by further powers, so that its terms have the same."""
        weights = [self.weights.get(v, 0) for v in node.inputs]
        if any(weights) and node.op.name in _JOINTLY:
            self._even_out(ctx, node, env, max(weights))
        elif any(weights) and self._weight(node) is None:
            env.update({v: ew.mul(env[v], ew.lift(np.nan, env[v])) for v in node.inputs if self.weights.get(v)})
        moving = [v for v in dict.fromkeys(node.inputs) if v in tangents]
        most = max([self.excess.get(v, 0) for v in moving], default=0)
        for v in moving:
            tangents[v] = self._times(ctx, tangents[v], most - self.excess.get(v, 0))
            self.excess[v] = most

    def _even_out(self, ctx: ShapeGuardContext, node: Node, env, weight: int) -> None:
        for v in dict.fromkeys(node.inputs):
            if v.meta.dtype.kind in "fc":
                more = weight - self.weights.get(v, 0)
                env[v], self.weights[v] = self._times(ctx, env[v], more), weight
                self.excess[v] = self.excess.get(v, 0) - more

    def after(self, ctx: ShapeGuardContext, node: Node, env: Any, read: Sequence[Value]) -> None:
        """Note the powers of what a node gave. Its tangents are linear in the ones of `read`."""
        weight = self._weight(node) or 0
        excess = max([self.excess[v] for v in read if v in self.excess], default=0)
        for out in node.outputs:
            self.weights[out], self.excess[out] = weight, excess
        if node.op.name in _DIFFERENCES and not self.rates.keys().isdisjoint(node.inputs):
            xs, params = [env[v] for v in node.inputs], dict(node.params)
            if node.sources:
                params["sources"] = [env[v] for v in node.sources]
            rate = JVPS[node.op](ctx, [*map(self.rates.get, node.inputs)], env[node.outputs[0]], *xs, **params)
            self.rates[node.outputs[0]] = whole(rate)

    def enter(self, outer: Sequence[Value], inner: Sequence[Value]) -> None:
        """Note that the powers of values of a node are the ones of its subgraph, or the reverse."""
        for powers in (self.weights, self.excess, self.rates):
            powers.update({y: powers[x] for x, y in zip(outer, inner, strict=True) if x in powers})

    def _weight(self, node: Node) -> int | None:
        """Return the power of the values that a node gives, None where it may not take such operands."""
        weights = [self.weights.get(v, 0) for v in node.inputs]
        if node.op.name in _JOINTLY or not any(weights):
            return max(weights, default=0)
        if node.op in (ew.mul_op, con.dot_general_op):
            return sum(weights)
        if node.op is ew.square_op:
            return 2 * weights[0]
        linear = 0 if node.op is ew.div_op else len(weights) - 1 if node.op in _SOLVES else None
        return None if linear is None or weights[linear] < sum(weights) else weights[linear]

    def _times(self, ctx: ShapeGuardContext, x, power: int):
        for _ in range(power):
            x = whole(x)
            x = ew.mul(x, mv.broadcast_in_dim(ew.convert(self._epsilon, x.dtype), ctx.shape(x), ()))
        return x


def pole(x: Any, rate: Any, epsilon: Any) -> Any:
    """Return epsilon / x, for an x that is 0 at epsilon 0 only where it is epsilon times a rate."""
    is_zero, one = ew.eq(x, ew.lift(0, x)), ew.lift(1, x)
    factor = mv.broadcast_in_dim(ew.convert(epsilon, x.dtype), x.meta.sizes, ())
    apart = ew.div(factor, ew.select(is_zero, one, x))
    return ew.select(is_zero, ew.div(one, ew.select(is_zero, rate, one)), apart)


def trial(ctx: ShapeGuardContext, like: Any, seed: int) -> Any:
    """Return a tangent without a pattern, of the type of another one."""
    shape = ctx.shape(like)
    real = np.dtype(like.dtype.type(0).real.dtype)
    total = ew.lift(float(seed), mv.broadcast_in_dim(ew.convert(iota(1), real), (*shape, 1), (len(shape),)))
    total = rd.reduce_sum(total, (len(shape),))
    for axis, size in enumerate(shape):
        steps = mv.broadcast_in_dim(ew.convert(iota(size), real), shape, (axis,))
        total = ew.add(total, ew.mul(steps, ew.lift(1.7 / (1 + axis), steps)))
    wave = ew.sin(total)
    return ew.make_complex(wave, ew.cos(total)) if like.dtype.kind == "c" else wave


def magnitude(
    node: Node, xs: Sequence[Any], outs: Sequence[Any], sizes: Sequence[Any], params: Any, is_linear: bool
) -> Sequence[Any]:
    """Return sizes of what a node gives: what it gives if no term has a sign.

    A subgraph that is linear in some operands takes their sizes: what cancels without signs too is a chance.
    """
    if node.op.name in ("neg", "conj"):
        return sizes
    if node.op.name in _JOINTLY or node.op in (ew.mul_op, con.dot_general_op):
        return apply_all(_WITHOUT_SIGNS.get(node.op, node.op), *sizes, **params)
    if node.op is ew.div_op:
        return [ew.div(sizes[0], absolute(xs[1]))]
    if node.op.has_subgraphs and is_linear:
        further = map(absolute, apply_all(node.op, *sizes, **params))
        return [ew.add(absolute(x), y) if x.dtype.kind in "fc" else x for x, y in zip(outs, further, strict=True)]
    if node.op in _SOLVES:
        outs = apply_all(node.op, *xs[:-1], sizes[-1], **params)
    return [_norm(x) if node.op.family == "linalg" else absolute(x) for x in outs]


def _norm(x):
    """Return matrices with the norm of all elements in place of each: rounding mixes them."""
    rank, size = x.meta.rank, absolute(x)
    if rank < 2 or x.meta.sizes is None:
        return size
    squares = rd.reduce_sum(ew.square(size), (rank - 2, rank - 1))
    return mv.broadcast_in_dim(ew.sqrt(squares), x.meta.sizes, tuple(range(rank - 2)))


def absolute(x: Any) -> Any:
    """Return absolute values in the dtype of x; booleans and integers stay."""
    if x.dtype.kind not in "fc":
        return x
    return ew.convert(ew.absolute(x), x.dtype) if x.dtype.kind == "c" else ew.absolute(x)


# -- the part of a graph that has limits -----------------------------------------------------------------------------


class Followed(NamedTuple):
    """Nodes of a graph that limits pass or that lie between such, others before and behind.

    `pushed` are the nodes among them that the tangents of their `ends` need.
    """

    before: Sequence[Node]
    nodes: Sequence[Node]
    after: Sequence[Node]
    begins: Sequence[Node]
    pushed: Sequence[Node]
    ends: Sequence[Value]

    @property
    def order(self) -> int:
        """Order of the derivative that the nodes have: one more than those among them."""
        return 1 + max(map(order_of, self.nodes))


def followed(nodes: Sequence[Node], outputs: Sequence[Value], moved: Iterable[Value]) -> Followed:
    """Return the nodes that limits pass from the first decompositions, none where nothing reads vectors of these."""
    passed = _passed(nodes, set(moved))
    behind = _reached(nodes, passed, _both_sides)
    inner = behind & _reached(nodes[::-1], passed, lambda node: (node.outputs, node.operands))
    before, inside, after = ([*filter(p.__contains__, nodes)] for p in ({*nodes} - behind, inner, behind - inner))
    if _vectors(inside).isdisjoint(_read(outputs, nodes)):
        return Followed(nodes, (), (), (), (), ())
    read = _read(outputs, [*before, *after])
    ends = [v for node in inside for v in node.outputs if v in read and v.meta.dtype.kind in "fc"]
    pushed = _needed(inside, ends)
    return Followed(
        before, inside, after, [n for n in pushed if n in passed and n.op in fa.DECOMPOSITIONS], pushed, ends
    )


def _needed(nodes: Sequence[Node], ends: Iterable[Value]) -> list[Node]:
    """Return the nodes that the tangents of ends need: not what chooses the branch of an opened conditional."""
    needed, values = [], {*ends}
    for node in reversed(nodes):
        if not values.isdisjoint(node.outputs):
            needed.append(node)
            values.update(node.inputs[1:] if order_of(node) else node.operands)
    return needed[::-1]


def _passed(nodes: Sequence[Node], moving: set[Value]) -> set[Node]:
    """Return the nodes that limits pass from decompositions that do not depend on one another."""
    begins, apart = _beginnings(nodes, moving)
    passed, axes = set[Node](), dict[Value, frozenset[int]]()
    for node in nodes:
        if node in apart or (node not in begins and axes.keys().isdisjoint(node.inputs)):
            continue
        open_axes = _open_axes(node, [axes.get(v, frozenset()) for v in node.inputs])
        axes.update({v: k for v, k in zip(node.outputs, open_axes, strict=True) if k is not None})
        passed.add(node)
    return passed


def _beginnings(nodes: Sequence[Node], moving: set[Value]) -> tuple[set[Node], set[Node]]:
    """Return decompositions of what moves, and the nodes that depend on further ones or on sizes behind the first."""
    begins = set[Node]()
    for node in nodes:
        if not moving.isdisjoint(node.inputs):
            moving.update(node.outputs)
            if node.op in fa.DECOMPOSITIONS:
                JVPS[node.op]  # loads the rules of its family
                begins.add(node)
    behind = _reached(nodes, begins, _both_sides)
    made = {v for node in behind for v in node.outputs}
    further = {n for n in behind if (n in begins and n.inputs[0] in made) or _makes_sizes(n.op)}
    return begins, _reached(nodes, further, _both_sides)


def _makes_sizes(op: Op) -> bool:
    return op.makes_sizes and not op.has_subgraphs


def _both_sides(node: Node) -> tuple[Sequence[Value], Sequence[Value]]:
    return node.operands, node.outputs


def _vectors(nodes: Iterable[Node]) -> set[Value]:
    """Return the vectors that decompositions give."""
    return {v for n in nodes if n.op in RULES for v in n.outputs if v.meta.rank == n.inputs[0].meta.rank}


def _read(outputs: Iterable[Value], nodes: Iterable[Node]) -> set[Value]:
    """Return the values that are outputs of a graph, or that some of its nodes read."""
    return {*outputs, *[v for node in nodes for v in node.operands]}


def _reached(nodes: Iterable[Node], starts: set[Node], sides: Callable[[Node], Any]) -> set[Node]:
    """Return the nodes that are reached from some of them, these included."""
    reached, values = set[Node](), set[Value]()
    for node in nodes:
        entry, end = sides(node)
        if node in starts or not values.isdisjoint(entry):
            reached.add(node)
            values.update(end)
    return reached


def _open_axes(node: Node, known: Sequence[frozenset[int]]) -> list[frozenset[int] | None]:
    """Return the axes of each output that may count eigenvalues, None where there are none left."""
    if node.op in fa.DECOMPOSITIONS:  # the last vectors are adjoint
        return [frozenset([v.meta.rank - (2 if k == 2 else 1)]) for k, v in enumerate(node.outputs)]
    if node.op.has_subgraphs:
        return [None if order_of(node) or not v.meta.rank else frozenset(range(v.meta.rank)) for v in node.outputs]
    axes = _open_axes_of_one(node, known)
    return [axes if axes or node.op.name not in _SUMS else None] * len(node.outputs)


def _open_axes_of_one(node: Node, known: Sequence[frozenset[int]]) -> frozenset[int]:
    """Return the open axes of an output: all of them where an op may do anything."""
    params, ranks, rank = dict(node.params), [v.meta.rank for v in node.inputs], node.outputs[0].meta.rank
    if node.op is con.dot_general_op:
        return _open_in_product(ranks, known, **params)
    if node.op.family == "elementwise":
        return frozenset().union(*known)
    if node.op in (mv.transpose_op, rd.reduce_sum_op, mv.broadcast_in_dim_op):
        sources = _sources(node.op, params["axes"], ranks[0], rank)
        return frozenset(k for k, i in enumerate(sources) if i in known[0])
    return frozenset(range(rank))


def _sources(op: Op, axes: Sequence[int], rank: int, new_rank: int) -> list[int]:
    """Return the axis of the operand for each axis of the output, -1 for a new one."""
    if op is mv.transpose_op:
        return list(axes)
    if op is rd.reduce_sum_op:
        return [i for i in range(rank) if i not in axes]
    return [axes.index(k) if k in axes else -1 for k in range(new_rank)]


def _open_in_product(ranks: Sequence[int], known: Sequence[frozenset[int]], *, contract, batch) -> frozenset[int]:
    """Return the open axes of a product: axes of the batch come first, then what is left of both operands."""
    shared = [a in known[0] or b in known[1] for a, b in zip(*batch, strict=True)]
    for side in (0, 1):
        removed = {*contract[side], *batch[side]}
        shared += [i in known[side] for i in range(ranks[side]) if i not in removed]
    return frozenset(k for k, is_open in enumerate(shared) if is_open)


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

    def _near(self, node: Node):
        outs = self.decomposed[node]
        context = ShapeGuardContext(outs[0].builder.scope, node.op.name, node.where)
        return RULES[node.op].near(context, outs, self.parts.order)

    def _distinct(self, *ts) -> Sequence[Any]:
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

    def _equal(self, *ts) -> Sequence[Any]:
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
        powers = [poles.weights.get(v, 0) + poles.excess.get(v, 0) for v in self.parts.ends]
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

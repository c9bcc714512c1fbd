"""Limits of derivatives at equal eigenvalues or singular values, for functions that do not depend on how vectors turn.

Vectors of equal values turn infinitely fast. Let the values differ by small multiples of their rates: then the tangent
of the vectors is a pole over the multiple, plus a rest. What follows has a limit if its pole vanishes, as in
`v * f(w) @ v.T`. The limit is the tangent of the rest, plus what rates and poles have in common: f'(w) in the example.

- The pole is linear in tangents, so reverse mode has it by transposition.
- A twin is the value for vectors of equal values that are turned by some angle. Where it differs there is no limit, and
  the tangent is NaN. The difference is compared with a size, a sum of terms without their signs.
- So it is where the rate differs from `moved`, for vectors of equal values that change places with their rates. This is
  the same change of the matrix, in another order. `scale` is the size of the rate, and `other` the value there.

Poles are followed up to the sums over the axes of the values, their open axes. This part of a graph has one conditional
of two derivatives, unless it holds loops or choices. So limits cost nothing where no values are equal.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.rule_tables import JVPS, Rule, RuleWithValues, add_tangents
from anyshape.autodiff.structural_zeros import whole
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import contraction as con
from anyshape.ops import control
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import apply_all
from anyshape.support.lazy_namedtuple import NamedTuple

DECOMPOSITIONS = (la.eig_op, la.eigvals_op, la.eigh_op, la.eigvalsh_op, la.svd_op, la.svdvals_op)
# By decomposition, once the rules of its family are loaded, two rules. The first takes (ctx, tangent, outputs), and
# returns the poles of its vectors. The second takes (ctx, outputs), and returns
# rate, twin, size, other and moved of each output.
POLES: dict[Op, tuple[Callable[..., Any], Callable[..., Any]]] = {}
# By decomposition with vectors: whether any values are equal, and the JVP rule where none are.
DISTINCT: dict[Op, tuple[Callable[..., Any], Rule]] = {}
_LINEAR = ("add", "sub", "neg", "transpose", "broadcast_in_dim", "reduce_sum", "reshape", "convert", "real", "imag")
_ALSO_LINEAR = ("conj", "slice", "pad", "concatenate")
_SUMS = ("dot_general", "reduce_sum")


class Limit(NamedTuple):
    """Parts beside the tangent of a value, at equal eigenvalues; None: zero."""

    axes: frozenset[int]
    rate: Any
    pole: Any = None
    twin: Any = None
    size: Any = None
    other: Any = None
    moved: Any = None
    scale: Any = None


def bound_of(dtype: np.dtype) -> float:
    """Return the part of its size up to which a twin may differ."""
    return float(np.cbrt(np.finfo(dtype).eps))


Push = Callable[[Node, Sequence[Any], Sequence[Any], Sequence[Any]], Sequence[Any]]


class Limits:
    """Limits of the values of a graph that is pushed; `push` applies the JVP rule of a node anywhere."""

    def __init__(self, push: Push) -> None:
        self._push = push
        self._of: dict[Value, Limit] = {}
        self._values: dict[Value, Any] = {}

    def before(self, node: Node, tangents: dict[Value, Any]) -> None:
        """Settle the poles that a node cannot pass on."""
        if not _passes(node, self._operands(node)):
            self.settle(node.inputs, tangents)

    def after(self, builder: Any, node: Node, env: Mapping[Value, Any], tangents: dict[Value, Any]) -> None:
        """Follow the limits of operands through a node, or begin with limits at a decomposition."""
        ctx = ShapeGuardContext(builder.scope, node.op.name, node.where, rule="jvp")
        outs = [env[v] for v in node.outputs]
        if node.op in POLES and node.inputs[0] in tangents:
            self._begin(ctx, node, outs, tangents)
            return
        limits = self._operands(node)
        if not any(limits):
            return
        common = _common(ctx, node, [env[v] for v in node.inputs], limits)
        if common is not None:
            tangents[node.outputs[0]] = add_tangents(whole(tangents.get(node.outputs[0])), common)
        self._follow(ctx, node, env, limits)
        if node.op.name in _SUMS and not self._of[node.outputs[0]].axes:
            self.settle(node.outputs, tangents)

    def _follow(
        self, ctx: ShapeGuardContext, node: Node, env: Mapping[Value, Any], limits: Sequence[Limit | None]
    ) -> None:
        """Record the limits of the outputs of a node."""
        xs, outs = [env[v] for v in node.inputs], [env[v] for v in node.outputs]
        axes = _open_axes(node, [*map(_axes_of, limits)])
        parts = {name: [getattr(x, name, None) for x in limits] for name in Limit._fields[1:]}
        twins, others = (_twins(node, env, parts[name]) for name in ("twin", "other"))
        there = _replaced(xs, parts["other"]), _replaced(outs, others)
        columns = (
            self._rates(ctx, node, parts["rate"], xs, outs),
            self._pushed(node, parts["pole"], xs, outs),
            twins,
            self._sizes(node, xs, outs, parts["size"]),
            others,
            self._rates(ctx, node, parts["moved"], *there),
            self._sizes(node, *_apart(node, env, parts["size"]), parts["scale"]),
        )
        for value, out, *results in zip(node.outputs, outs, *columns, strict=True):
            self._record(value, out, results, axes)

    def _rates(self, ctx: ShapeGuardContext, node: Node, rates: Sequence[Any], xs: Any, outs: Any) -> Sequence[Any]:
        """Return the rates of the outputs of a node."""
        if _is_opaque(node):
            return [_unknown(ctx, rates, out) for out in outs]
        return rates if node.op is control.stop_gradient_op else self._pushed(node, rates, xs, outs)

    def rule(self, op: Op) -> Rule:
        """Return the JVP rule of an op."""
        return JVPS[op]

    def settle(self, values: Sequence[Value], tangents: dict[Value, Any]) -> None:
        """End the limits of values: their tangents are right where the probe vanishes, and NaN elsewhere."""
        for value in values:
            limit = self._of.get(value)
            if limit is None or limit.pole is None:
                self._of.update({value: _uncompared(limit)} if limit else {})
                continue
            agrees = _agrees(limit.twin, self._values[value], limit.size)
            if limit.rate is not None:  # without a scale it is not known
                known = limit.moved is not None and limit.scale is not None
                rates = _agrees(limit.moved, limit.rate, limit.scale) if known else ew.ne(agrees, agrees)
                agrees = ew.logical_and(agrees, rates)
            factor = ew.select(agrees, ew.lift(0, limit.pole), ew.lift(np.nan, limit.pole))
            tangents[value] = add_tangents(whole(tangents.get(value)), ew.mul(limit.pole, factor))
            self._of[value] = _uncompared(limit)
            if not limit.axes:
                del self._of[value]

    def _record(self, value: Value, out: Any, parts: Sequence[Any], axes: frozenset[int]) -> None:
        """Record parts with the sizes of a value as it writes them; rules may write them in other forms."""
        sizes = out.meta.sizes
        parts = [x if x is None or sizes is None else sized(x, sizes) for x in parts]
        self._of[value], self._values[value] = Limit(axes, *parts), out

    def _operands(self, node: Node) -> list[Limit | None]:
        return [self._of.get(v) for v in node.inputs]

    def _pushed(self, node: Node, parts: Sequence[Any], xs: Any, outs: Any) -> Sequence[Any]:
        """Return the tangents of the outputs of a node for parts of its operands."""
        if _is_opaque(node) or all(part is None for part in parts):
            return [None] * len(node.outputs)
        return self._push(node, parts, xs, outs)

    def _begin(self, ctx: ShapeGuardContext, node: Node, outs: Any, tangents: Mapping[Value, Any]) -> None:
        poles_of, parts = POLES[node.op]
        poles = poles_of(ctx, whole(tangents[node.inputs[0]]), outs)
        columns = zip(node.outputs, outs, poles, parts(ctx, outs), strict=True)
        all_axes = _values_axes([ctx.rank(out) for out in outs])
        for axes, (value, out, pole, (rate, *further)) in zip(all_axes, columns, strict=True):
            self._record(value, out, (rate, pole, *further, None if rate is None else _magnitude(rate)), axes)

    def _sizes(self, node: Node, xs: Sequence[Any], outs: Any, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the sizes of the outputs of a node; terms of a sum add up."""
        if all(part is None for part in parts) or _is_opaque(node):
            return [None] * len(outs)
        if node.op in (ew.mul_op, con.dot_general_op):
            return [_product_size(node, xs, parts)]
        if node.op is ew.imag_op:
            return [ew.real(parts[0])]
        columns = [self._size(node, xs, outs, parts, k) for k, part in enumerate(parts) if part is not None]
        return [functools.reduce(add_tangents, column) for column in zip(*columns, strict=True)]

    def _size(self, node: Node, xs: Any, outs: Any, parts: Sequence[Any], k: int) -> Sequence[Any]:
        alone = [part if i == k else None for i, part in enumerate(parts)]
        return [None if x is None else _magnitude(x) for x in self._push(node, alone, xs, outs)]


class NoLimits(Limits):
    """Limits of a graph without a decomposition, or with distinct values of all."""

    def __init__(self) -> None:
        pass

    def rule(self, op: Op) -> Rule:
        """Return the JVP rule of an op."""
        return DISTINCT[op][1] if op in DISTINCT else JVPS[op]

    def before(self, node: Node, tangents: dict[Value, Any]) -> None:
        """Do nothing."""

    def after(self, builder: Any, node: Node, env: Mapping[Value, Any], tangents: dict[Value, Any]) -> None:
        """Do nothing."""

    def settle(self, values: Sequence[Value], tangents: dict[Value, Any]) -> None:
        """Do nothing."""


def _uncompared(limit: Limit) -> Limit:
    return Limit(limit.axes, limit.rate)


def _replaced(xs: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    return [x if other is None else other for x, other in zip(xs, others, strict=True)]


def _agrees(twin: Any, value: Any, size: Any) -> Any:
    """Return whether a twin is as the value, up to a part of a size."""
    size = ew.absolute(size)
    return ew.le(ew.absolute(ew.sub(twin, value)), ew.mul(size, ew.lift(bound_of(size.dtype), size)))


def _has_rate(limit: Limit | None) -> bool:
    return limit is not None and limit.rate is not None


class Followed(NamedTuple):
    """Nodes of a graph: those that limits pass or that lie between such, others before and behind, and their ends."""

    before: Sequence[Node]
    nodes: Sequence[Node]
    after: Sequence[Node]
    ends: Sequence[Value]


def followed(graph: Graph, moved: Container[Value]) -> Followed:
    """Return the nodes that limits pass, none where none has a pole or one holds a graph; `moved` have tangents."""
    passed = _passed(graph, {v for v in graph.inputs if v in moved})
    behind = _reached(graph.nodes, passed, lambda node: (node.inputs, node.outputs))
    inner = behind & _reached(graph.nodes[::-1], passed, lambda node: (node.outputs, node.operands))
    parts = ({*graph.nodes} - behind, inner, behind - inner)
    before, nodes, after = ([*filter(part.__contains__, graph.nodes)] for part in parts)
    if any(map(_is_opaque, nodes)) or _vectors(nodes).isdisjoint(_read(graph, graph.nodes)):
        return Followed(graph.nodes, (), (), ())
    read = _read(graph, [*before, *after])
    ends = [v for node in nodes for v in node.outputs if v in read and v.meta.dtype.kind in "fc"]
    return Followed(before, nodes, after, ends)


def _vectors(nodes: Iterable[Node]) -> set[Value]:
    """Return the vectors that decompositions give."""
    return {v for n in nodes if n.op in DISTINCT for v in n.outputs if v.meta.rank == n.inputs[0].meta.rank}


def _passed(graph: Graph, moving: set[Value]) -> set[Node]:
    """Return the nodes that limits pass."""
    passed, axes = set[Node](), dict[Value, frozenset[int]]()
    for node in graph.nodes:
        moving.update(() if moving.isdisjoint(node.inputs) else node.outputs)
        if node.op in DECOMPOSITIONS and node.inputs[0] in moving and not _is_opaque(node):  # which loads its family
            axes.update(zip(node.outputs, _values_axes([v.meta.rank for v in node.outputs]), strict=True))
        elif axes.keys().isdisjoint(node.inputs):
            continue
        else:
            open_axes = _open_axes(node, [axes.get(v, frozenset()) for v in node.inputs])
            axes.update(dict.fromkeys(node.outputs if open_axes or node.op.name not in _SUMS else (), open_axes))
        passed.add(node)
    return passed


def _read(graph: Graph, nodes: Iterable[Node]) -> set[Value]:
    """Return the values that are outputs of a graph, or that some of its nodes read."""
    return {*graph.outputs, *[v for node in nodes for v in node.operands]}


def _reached(nodes: Iterable[Node], starts: set[Node], sides: Callable[[Node], Any]) -> set[Node]:
    """Return the nodes that are reached from some of them, these included."""
    reached, values = set[Node](), set[Value]()
    for node in nodes:
        entry, end = sides(node)
        if node in starts or not values.isdisjoint(entry):
            reached.add(node)
            values.update(end)
    return reached


def _axes_of(limit: Limit | None) -> frozenset[int]:
    return frozenset() if limit is None else limit.axes


def _values_axes(ranks: Sequence[int]) -> list[frozenset[int]]:
    """Return the axes of the values in the outputs of a decomposition; the last vectors are adjoint."""
    return [frozenset([rank - (2 if k == 2 else 1)]) for k, rank in enumerate(ranks)]


def _passes(node: Node, limits: Sequence[Limit | None]) -> bool:
    """Return whether a node can pass poles on, beside rates in particular."""
    poles = [x is not None and x.pole is not None for x in limits]
    if not any(poles):
        return True
    rates = [*map(_has_rate, limits)]
    if _is_opaque(node) or (node.op is ew.div_op and poles[1]):
        return False
    if node.op in _SOLVES and poles[0]:
        return not rates[0]
    return not any(rates) or node.op.name in _PASSING


def _product_size(node: Node, xs: Sequence[Any], sizes: Sequence[Any]) -> Any:
    a, b = (_magnitude(x) for x in xs)
    left = None if sizes[0] is None else _again(node, sizes[0], b)
    return add_tangents(left, None if sizes[1] is None else _again(node, a, sizes[1]))


def _is_opaque(node: Node) -> bool:
    """Return whether the rule of a node does not take tangents alone."""
    return isinstance(JVPS[node.op], RuleWithValues) or node.op.has_subgraphs or node.op.makes_sizes


def _again(node: Node, *operands: Any) -> Any:
    """Return the product that a node computes, of other operands."""
    return apply_all(node.op, *operands, **dict(node.params))[0]


_SOLVES = (la.solve_op, la.lu_solve_op, la.triangular_solve_op)
_MIXED = (ew.mul_op, ew.div_op, con.dot_general_op, *_SOLVES)
_PASSING = {*_LINEAR, *_ALSO_LINEAR, *[op.name for op in _MIXED]}


def _common(ctx: ShapeGuardContext, node: Node, xs: Sequence[Any], limits: Sequence[Limit | None]) -> Any:
    """Return the tangent that the rate of one operand and the pole of the other one make."""
    total = None
    first, last = limits[0], limits[-1]
    if node.op not in _MIXED or first is None or last is None:
        return None
    if first.pole is not None and last.rate is not None:
        if node.op is ew.div_op:
            total = ew.neg(ew.div(ew.mul(first.pole, last.rate), ew.mul(xs[1], xs[1])))
        else:
            total = _together(ctx, node, xs, first.pole, last.rate)
    if first.rate is not None and last.pole is not None:
        total = add_tangents(total, _together(ctx, node, xs, first.rate, last.pole))
    return total


def _together(ctx: ShapeGuardContext, node: Node, xs: Sequence[Any], first: Any, last: Any) -> Any:
    """Return the second derivative of a node in its first and last operands."""
    if node.op not in _SOLVES:
        return _again(node, first, last)
    unmoved = [None] * (len(xs) - 1)
    solution = _again(node, *xs[:-1], last)
    return JVPS[node.op](ctx, [first, *unmoved], solution, *xs[:-1], last, **dict(node.params))


def _open_axes(node: Node, known: Sequence[frozenset[int]]) -> frozenset[int]:
    """Return the axes of an output that may count eigenvalues: all of them where an op may do anything."""
    params = dict(node.params)
    ranks = [len(v.meta.extents) for v in node.inputs]
    if node.op is con.dot_general_op:
        return _open_in_product(ranks, known, **params)
    if node.op.family == "elementwise":
        return frozenset().union(*known)
    rank = node.outputs[0].meta.rank
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


def _open_in_product(
    ranks: Sequence[int], known: Sequence[frozenset[int]], *, contract: Any, batch: Any
) -> frozenset[int]:
    """Return the open axes of a product: axes of the batch come first, then what is left of both operands."""
    shared = [a in known[0] or b in known[1] for a, b in zip(*batch, strict=True)]
    for side in (0, 1):
        removed = {*contract[side], *batch[side]}
        shared += [i in known[side] for i in range(ranks[side]) if i not in removed]
    return frozenset(k for k, is_open in enumerate(shared) if is_open)


def _unknown(ctx: ShapeGuardContext, rates: Sequence[Any], out: Any) -> Any:
    """Return the rate NaN where any rate of the operands is not 0: the op does not tell its own."""
    total = None
    for rate in rates:
        if rate is not None and out.dtype.kind in "fc":
            total = add_tangents(total, _sum(ctx, _real(ew.absolute(rate), out)))
    if total is None:
        return None
    moves = ew.select(ew.ne(total, ew.lift(0, total)), ew.lift(np.nan, total), ew.lift(0, total))
    return mv.broadcast_in_dim(_real(moves, out), ctx.shape(out), ())


def _real(x: Any, like: Any) -> Any:
    return x if x.dtype == like.dtype else ew.convert(x, like.dtype)


def _sum(ctx: ShapeGuardContext, x: Any) -> Any:
    return rd.reduce_sum(x, tuple(range(ctx.rank(x))))


def _magnitude(x: Any) -> Any:
    """Return absolute values in the dtype of x."""
    return _real(ew.absolute(x), x)


def _apart(node: Node, env: Mapping[Value, Any], sizes: Sequence[Any]) -> tuple[Any, Any]:
    """Return operands that are off by their sizes, and outputs; so the scale of a rate has what rounding does to it."""
    is_product = node.op in (ew.mul_op, con.dot_general_op)
    xs, outs = [env[v] for v in node.inputs], [env[v] for v in node.outputs]
    if not is_product and node.op.family != "elementwise":
        return xs, outs
    pairs = zip(xs, sizes, strict=True)
    moved = [None if s is None else ew.add(_magnitude(x) if is_product else x, s) for x, s in pairs]
    return _replaced(xs, moved), outs if is_product else _replaced(outs, _twins(node, env, moved))


def _twins(node: Node, env: Mapping[Value, Any], twins: Sequence[Any]) -> Sequence[Any]:
    """Return the outputs of a node for the twins of its operands."""
    if _is_opaque(node) or all(twin is None for twin in twins):
        return [None] * len(node.outputs)
    xs = [env[v] if twin is None else twin for v, twin in zip(node.inputs, twins, strict=True)]
    return apply_all(node.op, *xs, sources=[env[v] for v in node.sources], **dict(node.params))

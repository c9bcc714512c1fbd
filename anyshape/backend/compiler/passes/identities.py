"""Identities of simplification: each gives a cheaper way to compute the output of a node.

They are exact for every value, NaN, infinities and negative zero included. Rows of `backend/numpy/` name the
identities of each op.

Simplification: one walk that applies identities, folds literals and merges common subexpressions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.graph.ir.graph import Graph, Node, Op, Value, acts, params_tuple
from anyshape.graph.ir.op_local import NodeSizes, pass_context, pass_scope
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.creation import full_op
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import replace
from anyshape.support.progress import count_op

Replacement: TypeAlias = Node | Value | None  # another way to compute the output, a value equal to it, or no change
Identity: TypeAlias = "Callable[[Simplifier, Node], Replacement]"


def _instead(node: Node, op: Op, *inputs: Value, **params) -> Node:
    """Return a node of another op with the output of `node`."""
    return Node(op, inputs, (), params_tuple(params), node.outputs, node.where)


# -- arithmetic


def times_one(s: Simplifier, node: Node) -> Replacement:
    """x * 1 = 1 * x = x. For complex numbers infinity times 1 is not a number."""
    x, y = node.inputs
    if node.outputs[0].meta.dtype.kind == "c":
        return None
    if s.literal(y) == 1 and x.meta.dtype == node.outputs[0].meta.dtype:
        return x
    return y if s.literal(x) == 1 else None


def times_minus_one(s: Simplifier, node: Node) -> Replacement:
    """x * -1 = -x."""
    x, y = node.inputs
    for factor, other in ((x, y), (y, x)):
        if s.literal(factor) == -1 and other.meta.dtype.kind in "if":
            return _instead(node, ew.neg_op, other)
    return None


def scaled_twice(s: Simplifier, node: Node) -> Replacement:
    """Rewrite a * (2**k * x) to (a * 2**k) * x: for k >= 0 and |a| >= 1 the product is exact, or both overflow."""
    for factor, value in (node.inputs, node.inputs[::-1]):
        inner, outer = s.made_by(value, ew.mul_op), s.literal(factor)
        if inner is None or s.uses[value] != 1 or not isinstance(outer, float) or not abs(outer) >= 1:
            continue
        for number, x in (inner.inputs, inner.inputs[::-1]):
            scale = _exact_scale(outer, s.literal(number), number.meta.dtype)
            fill = s.made_by(number, full_op)
            if scale is not None and fill is not None:
                params = params_tuple(dict(fill.params) | {"value": scale})
                literal = s.visit(replace(fill, params=params, outputs=(Value(number.meta),)))
                return _instead(node, ew.mul_op, literal, x)
    return None


def _exact_scale(outer: float, power, dtype: np.dtype):
    """Return outer * power for a power of two that is at least 1; None where it is none or the product overflows."""
    if not isinstance(power, float) or power < 1 or math.frexp(power)[0] != 0.5:
        return None
    with np.errstate(over="ignore"):
        scale = dtype.type(outer) * dtype.type(power)
    return scale.item() if np.isfinite(scale) else None


def over_one(s: Simplifier, node: Node) -> Replacement:
    """x / 1 = x. Complex numbers are excluded as for products."""
    real = node.outputs[0].meta.dtype.kind != "c"
    return node.inputs[0] if real and s.literal(node.inputs[1]) == 1 else None


def minus_zero(s: Simplifier, node: Node) -> Replacement:
    """x - 0 = x. But x - (-0.0) is not x when x is -0.0."""
    literal = s.literal(node.inputs[1])
    if literal is None or literal != 0 or np.signbit([np.real(literal), np.imag(literal)]).any():
        return None
    return node.inputs[0]


def finite_gap(s: Simplifier, node: Node) -> Replacement:
    """gap(x, a) = x - a for a finite number a."""
    if (literal := s.literal(node.inputs[1])) is None or not np.isfinite(literal):
        return None
    return _instead(node, ew.sub_op, *node.inputs)


def twice(op: Op) -> Identity:
    """op(op(x)) = x."""

    def identity(s: Simplifier, node: Node) -> Replacement:
        inner = s.made_by(node.inputs[0], op)
        return inner.inputs[0] if inner is not None else None

    return identity


# -- negation


def _negated(s: Simplifier, value: Value) -> Value | None:
    """Return y where the value is -y."""
    inner = s.made_by(value, ew.neg_op)
    return None if inner is None else inner.inputs[0]


def negation_outwards(kinds: str) -> Identity:
    """op(-x, ...) = -op(x, ...), for results of these kinds: the result may have fewer elements to negate.

    Rounding is symmetric. Complex products and quotients are sums. A sum that cancels is 0, not -0, so among sums only
    sums of integers qualify.
    """

    def identity(s: Simplifier, node: Node) -> Replacement:
        if node.outputs[0].meta.dtype.kind not in kinds:
            return None
        for i, value in enumerate(node.inputs):
            positive = _negated(s, value) if s.uses[value] == 1 else None
            if positive is not None:
                inputs = (*node.inputs[:i], positive, *node.inputs[i + 1 :])
                inner = Node(node.op, inputs, node.sources, node.params, (Value(node.outputs[0].meta),), node.where)
                s.uses[positive] += 1
                s.uses[inner.outputs[0]] = 1
                return _instead(node, ew.neg_op, s.visit(inner))
        return None

    return identity


def add_negated(s: Simplifier, node: Node) -> Replacement:
    """x + -y = x - y and -x + y = y - x."""
    x, y = node.inputs
    for minuend, other in ((x, y), (y, x)):
        if (subtrahend := _negated(s, other)) is not None:
            return _instead(node, ew.sub_op, minuend, subtrahend)
    return None


def sub_negated(s: Simplifier, node: Node) -> Replacement:
    """x - -y = x + y."""
    positive = _negated(s, node.inputs[1])
    return None if positive is None else _instead(node, ew.add_op, node.inputs[0], positive)


# -- movement


def same_shape(s: Simplifier, node: Node) -> Replacement:
    """reshape(x) = x where the shape stays."""
    x = node.inputs[0]
    old, new = s.ctx.sizes(x, field="shape"), s.ctx.sizes(node.outputs[0], field="shape")
    if old is None or new is None:
        return x if s.ctx.same_extents(x.meta, node.outputs[0].meta) else None
    # sizes have had their shortest form since the trace: proofs of more would take longer than the rest of a trace
    return x if [s.scope.normal(a) for a in old] == [s.scope.normal(b) for b in new] else None


def same_sizes(s: Simplifier, node: Node) -> Replacement:
    """sized(x) = x where conditions prove the sizes equal. A run checks them before.

    A result of the graph stays as it is written: the type of its node may hang on that.
    """
    x, y = node.inputs[0], node.outputs[0]
    old, new = s.ctx.sizes(x, field="shape"), s.ctx.sizes(y, field="shape")
    if old is None or new is None or (y in s.graph.outputs and x.meta != y.meta):
        return None
    return x if [s.scope.normal(a) for a in old] == [s.scope.normal(b) for b in new] else None


def of_literal(s: Simplifier, node: Node) -> Replacement:
    """Movement of a filled array is a filled array of the new shape."""
    value = s.literal(node.inputs[0])
    return s.full(node, value) if value is not None else None


def of_number(s: Simplifier, node: Node) -> Replacement:
    """Movement of a stretched number is that number stretched to the new shape."""
    if (inner := s.made_by(node.inputs[0], mv.broadcast_in_dim_op)) is None or dict(inner.params)["axes"]:
        return None
    if (sizes := s.ctx.sizes(node.outputs[0], field="stretch")) is None:
        return None
    return s.with_shape(node, mv.broadcast_in_dim_op, inner.inputs[0], sizes, axes=())


def transpose_twice(s: Simplifier, node: Node) -> Replacement:
    """transpose(transpose(x)) = transpose(x) by the composed permutation."""
    axes = dict(node.params)["axes"]
    if (inner := s.made_by(node.inputs[0], mv.transpose_op)) is not None:
        first = dict(inner.params)["axes"]
        axes = tuple(first[a] for a in axes)
        node = _instead(node, mv.transpose_op, *inner.inputs, axes=axes)
    if axes == tuple(range(len(axes))):
        return node.inputs[0]
    return node if inner is not None else None


def reshape_twice(s: Simplifier, node: Node) -> Replacement:
    """reshape(reshape(x)) = reshape(x)."""
    inner = s.made_by(node.inputs[0], mv.reshape_op)
    sizes = s.ctx.sizes(node.outputs[0], field="reshape") if inner is not None else None
    if inner is None or sizes is None:
        return None
    return s.with_shape(node, mv.reshape_op, inner.inputs[0], sizes)


def aligned_stretch(s: Simplifier, node: Node) -> Replacement:
    """stretch(x) = stretch(reshape(x)), with axes of size 1 inserted first, so that NumPy can broadcast by itself."""
    axes, rank = dict(node.params)["axes"], s.ctx.rank(node.outputs[0])
    (x,) = node.inputs
    if axes == tuple(range(rank - len(axes), rank)):
        return None
    old, new = s.ctx.sizes(x, field="stretch"), s.ctx.sizes(node.outputs[0], field="stretch")
    if old is None or new is None:
        return None
    position = {axis: i for i, axis in enumerate(axes)}
    sizes = [old[position[a]] if a in position else 1 for a in range(rank)]
    local = _with_ones([position.get(axis) for axis in range(rank)])
    shape = tuple([size if isinstance(size, int) else axis for size, axis in zip(sizes, local, strict=True)])
    aligned = s.emit(mv.reshape_op, node.inputs, {"shape": shape}, tensor(x.meta.dtype, sizes), node.where)
    return s.with_shape(node, mv.broadcast_in_dim_op, aligned, new, axes=tuple(range(rank)))


def _with_ones(axes: Sequence[int | None]) -> tuple[Size, ...]:
    """Return a shape with these axes of the operand, and size 1 in place of None."""
    return tuple([1 if axis is None else expr.input_axis(0, axis) for axis in axes])


def plain_sum(s: Simplifier, node: Node) -> Replacement:
    """sum_to(x) = reshape(reduce_sum(x)) where the stretched axes are known: they are new or were of size 1."""
    (x,) = node.inputs
    old, new = s.ctx.sizes(x, field="shape"), s.ctx.sizes(node.outputs[0], field="shape")
    if old is None or new is None:
        return None
    pairs = [(axis, s.scope.normal(size)) for axis, size in zip(dict(node.params)["axes"], new, strict=True)]
    same = [axis for axis, size in pairs if s.scope.normal(old[axis]) == size]
    if any(size != 1 for axis, size in pairs if axis not in same):
        return None
    total = _summed_over(s, node, sorted(set(range(len(old))).difference(same)))
    if len(pairs) == len(same):
        return total
    position = {axis: i for i, axis in enumerate(same)}
    return _instead(node, mv.reshape_op, total, shape=_with_ones([position.get(axis) for axis, _ in pairs]))


def _summed_over(s: Simplifier, node: Node, axes: list[int]) -> Value:
    """Return the operand of a node, summed over these axes."""
    (x,) = node.inputs
    if not axes:
        return x
    left = [size for axis, size in enumerate(s.ctx.shape(x, field="shape")) if axis not in axes]
    return s.emit(rd.reduce_sum_op, (x,), {"axes": tuple(axes)}, tensor(x.meta.dtype, left), node.where)


def increased_part(s: Simplifier, node: Node) -> Replacement:
    """slice_update(x, slice(x) + y) = slice_add(x, y), where nothing else reads the sum."""
    x, part = node.inputs
    if (total := s.made_by(part, ew.add_op)) is None or s.uses[part] != 1:
        return None
    for old, new in (total.inputs, total.inputs[::-1]):
        read = s.made_by(old, mv.slice_op)
        if read is None or read.inputs != (x,) or not s.ctx.same_extents(new.meta, part.meta):
            continue
        here, there = dict(s.node_sizes.params(node)), dict(s.node_sizes.params(read))
        if new.meta.dtype == x.meta.dtype and all(here[name] == there[name] for name in ("starts", "steps")):
            return replace(node, op=mv.slice_add_op, inputs=(x, new))
    return None


# -- conversion and choice


def same_dtype(s: Simplifier, node: Node) -> Replacement:
    """convert(x) = x where the dtype stays."""
    x = node.inputs[0]
    return x if x.meta.dtype == node.outputs[0].meta.dtype else None


def equal_choices(s: Simplifier, node: Node) -> Replacement:
    """select(mask, x, x) = x."""
    _, x, y = node.inputs
    return x if x is y else None


def known_choice(s: Simplifier, node: Node) -> Replacement:
    """select(True, x, y) = x, and select(False, x, y) = y."""
    mask, x, y = node.inputs
    literal = s.literal(mask)
    return None if literal is None else x if literal else y


def nested_choice(s: Simplifier, node: Node) -> Replacement:
    """select(mask, select(mask, x, _), y) = select(mask, x, y), and so for the other operand."""
    mask, *choices = node.inputs
    for i, choice in enumerate(choices):
        if (inner := s.made_by(choice, ew.select_op)) is not None and inner.inputs[0] is mask:
            choices[i] = inner.inputs[1 + i]
            return _instead(node, ew.select_op, mask, *choices)
    return None


def negated_choice(s: Simplifier, node: Node) -> Replacement:
    """select(not mask, x, y) = select(mask, y, x)."""
    negated, x, y = node.inputs
    inner = s.made_by(negated, ew.logical_not_op)
    if inner is None or inner.inputs[0].meta.dtype != bool:
        return None
    return _instead(node, ew.select_op, inner.inputs[0], y, x)


def stretched_choice(s: Simplifier, node: Node) -> Replacement:
    """select(stretch(mask), stretch(x), number) = stretch(select(mask, x, number)), on fewer elements."""
    stretches = [s.made_by(x, mv.broadcast_in_dim_op) for x in node.inputs]
    if stretches[0] is None:
        return None
    (mask,), axes = stretches[0].inputs, dict(stretches[0].params)["axes"]
    sizes = s.ctx.sizes(node.outputs[0], field="stretch")
    operands = [mask]
    for x, stretch in zip(node.inputs[1:], stretches[1:], strict=True):
        if (number := s.literal(x)) is not None:
            operand: Value | None = s.filled(number, x.meta.dtype, mask, node.where)
        elif stretch is None or dict(stretch.params)["axes"] != axes:
            return None
        else:
            operand = stretch.inputs[0]
        if operand is None or not s.ctx.same_extents(operand.meta, mask.meta):
            return None
        operands.append(operand)
    if sizes is None:
        return None
    meta = TensorMeta(node.outputs[0].meta.dtype, s.ctx.extents(mask))
    chosen = s.emit(ew.select_op, tuple(operands), {}, meta, node.where)
    return s.with_shape(node, mv.broadcast_in_dim_op, chosen, sizes, axes=axes)


def same_twice(s: Simplifier, node: Node) -> Replacement:
    """x and x = x or x = x, for truth values."""
    x, y = node.inputs
    return x if x is y and x.meta.dtype == bool else None


MAX_ROUNDS = 8  # identities that feed each other, such as a transpose of a stretched literal, end well before


def simplify(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Apply the identities of every op and merge equal nodes. `reliance_log` records the size queries."""
    return Simplifier(graph, reliance_log).run()


class Simplifier:
    """Walks a graph and builds the simplified one. Identities ask it about values."""

    def __init__(self, graph: Graph, reliance_log: list[Any] | None = None) -> None:
        self.graph = graph
        self.scope: Scope = pass_scope(graph, reliance_log)
        self.ctx: ShapeGuardContext = pass_context(self.scope, "simplify")
        self.node_sizes: NodeSizes = NodeSizes(graph, self.ctx)
        self.replacement: dict[Value, Value] = {}
        self.producer: dict[Value, Node] = {}
        self.node_by_key: dict[Any, Node] = {}
        self.nodes: list[Node] = []
        self.uses: Counter[Value] = Counter([*[v for n in graph.nodes for v in n.inputs], *graph.outputs])

    def run(self) -> Graph:
        for node in self.graph.nodes:
            count_op()
            self._visit(self._renewed(node))
        return replace(self.graph, nodes=tuple(self.nodes), outputs=self._current(self.graph.outputs))

    def _renewed(self, node: Node) -> Node:
        """Return the node over values that replace its operands; most nodes stay as they are."""
        if self.replacement.keys().isdisjoint(node.operands):
            return node
        return replace(node, inputs=self._current(node.inputs), sources=self._current(node.sources))

    def _current(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([self.replacement.get(v, v) for v in values])

    def visit(self, node: Node) -> Value:
        """Add a node whose metadata are known, and return the value of its output."""
        self._visit(node)
        return self.replacement.get(node.outputs[0], node.outputs[0])

    def _visit(self, node: Node) -> None:
        for _ in range(MAX_ROUNDS):
            if isinstance(simpler := self._simpler(node), Value):
                self.replacement[node.outputs[0]] = simpler
                return
            if simpler is None:
                break
            node = simpler
        # run-time sizes keep their names, and equal effects are two
        is_own = node.op.makes_sizes or node.op.acts or (node.op.has_subgraphs and acts(node))
        key = id(node) if is_own else self._key(node)
        if (earlier := self.node_by_key.setdefault(key, node)) is not node:
            self.replacement.update(zip(node.outputs, earlier.outputs, strict=True))
            return
        self.producer.update(dict.fromkeys(node.outputs, node))
        self.nodes.append(node)

    def _simpler(self, node: Node) -> Replacement:
        if len(node.outputs) > 1:
            return None
        traits = TRAITS[node.op]
        for identity in traits.algebra.identities:
            replacement: Replacement = identity(self, node)
            if replacement is not None:
                return replacement
        if traits.elementwise:
            folded = self._fold(node)
            return folded if folded is not None else self._before_stretch(node)
        return None

    def _key(self, node: Node):
        """Return a key that nodes of the same computation share: sizes are named, whichever operand they come from."""
        unnamed = tuple([(i, v) for i, v in enumerate(node.sources) if self.ctx.sizes(v, field="key") is None])
        commutative = TRAITS[node.op].algebra.commutative
        inputs = tuple(sorted(node.inputs, key=lambda v: v.id)) if commutative else node.inputs
        return node.op, inputs, unnamed, freeze(self.node_sizes.params(node))

    # -- queries and constructors for identities

    def made_by(self, value: Value, op: Op) -> Node | None:
        """Return the node that computes a value, if it applies this op."""
        node = self.producer.get(value)
        return node if node is not None and node.op is op else None

    def literal(self, value: Value) -> Any:
        """Return the number that fills a value, or None."""
        node = self.producer.get(value)
        return dict(node.params)["value"] if node is not None and node.op is full_op else None

    def emit(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], meta: TensorMeta, where: Any) -> Value:
        """Add a node and return its output, which has these metadata."""
        return self.visit(Node(op, inputs, (), params_tuple(params), (Value(meta),), where))

    def with_shape(self, node: Node, op: Op, x: Value, sizes: tuple[Size, ...], **params: Any) -> Node:
        """Return a node that computes the output of `node` as `op` of x, with value-side sizes as its shape."""
        sources = [x]
        shape = self.node_sizes.localise(sizes, sources)
        return Node(op, (x,), tuple(sources[1:]), params_tuple({"shape": shape, **params}), node.outputs, node.where)

    def full(self, node: Node, value: Any) -> Node | None:
        """Return the output of a node as an array filled with a number; None when its sizes have no name."""
        return self._filling(value, node.outputs[0], node.outputs[0], node.where)

    def filled(self, value: Any, dtype: Any, like: Value, where: Any) -> Value | None:
        """Return an array filled with a number, of the shape of another; None when its sizes have no name."""
        fill = self._filling(value, Value(TensorMeta(dtype, self.ctx.extents(like))), like, where)
        return None if fill is None else self.visit(fill)

    def _filling(self, value: Any, output: Value, like: Value, where: Any) -> Node | None:
        """Return the node that fills an output, of the shape of a value, with a number."""
        if (sizes := self.ctx.sizes(like, field="fill")) is None:
            return None
        sources: list[Value] = []
        shape = self.node_sizes.localise(sizes, sources)
        params = params_tuple({"value": value, "dtype": output.meta.dtype, "shape": shape})
        return Node(full_op, (), tuple(sources), params, (output,), where)

    # -- elementwise ops

    def _fold(self, node: Node) -> Replacement:
        """Fold an elementwise op on literals, unless it fails: then it fails where it runs, with a message."""
        literals = [self.literal(v) for v in node.inputs]
        if any(x is None for x in literals):
            return None
        arrays = [np.array(x, v.meta.dtype) for x, v in zip(literals, node.inputs, strict=True)]
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(KERNELS[node.op].run(*arrays, **dict(node.params)))
        except (ArithmeticError, ValueError):
            return None
        return self.full(node, result.item())

    def _before_stretch(self, node: Node) -> Replacement:
        """op(stretch(x)) = stretch(op(x)), on fewer elements.

        Where the result may be empty and x not, the op must never warn.
        """
        if len(node.inputs) != 1 or node.sources:
            return None
        stretch = self.made_by(node.inputs[0], mv.broadcast_in_dim_op)
        sizes = self.ctx.sizes(node.outputs[0], field="stretch") if stretch is not None else None
        if stretch is None or sizes is None:
            return None
        silent = TRAITS[node.op].algebra.silent
        if not silent and not all(self.scope.proves(at_least(size, 1)) for size in sizes):
            return None
        (x,) = stretch.inputs
        meta = TensorMeta(node.outputs[0].meta.dtype, self.ctx.extents(x))
        unstretched = self.emit(node.op, (x,), dict(node.params), meta, node.where)
        return self.with_shape(node, mv.broadcast_in_dim_op, unstretched, sizes, axes=dict(stretch.params)["axes"])

"""One walk that applies identities, folds literals and merges equal computations (common subexpressions)."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Node, Op, Value, bind_local, freeze, params_tuple
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.apply import find_kernel
from anyshape.ops.control import enter_checkpoint_op, leave_checkpoint_op
from anyshape.ops.creation import full_op

Rewritten = Node | Value | None  # another way to compute the output, a value that equals it, or no change
Identity = Callable[["_Rewriter", Node], Rewritten]


def rewrite(graph: Graph, relied: list[Any] | None = None) -> Graph:
    """The graph with every identity of the table applied and equal nodes merged. `relied` takes up what it was told."""
    rewriter = _Rewriter(graph)
    rewriter.scope.relied = deque(maxlen=0) if relied is None else relied
    return rewriter.run()


class _Rewriter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope(conditions=graph.conditions)
        self.ctx = ShapeGuardContext(self.scope, "rewrite", rule="pass")
        self.dims = {s.variable: s.size for s in graph.dims}
        self.same: dict[Value, Value] = {}
        self.producer: dict[Value, Node] = {}
        self.seen: dict[Any, Node] = {}
        self.nodes: list[Node] = []
        self.uses = Counter([*[v for n in graph.nodes for v in n.inputs], *graph.outputs])

    def run(self) -> Graph:
        for node in self.graph.nodes:
            self._visit(replace(node, inputs=self._current(node.inputs), sources=self._current(node.sources)))
        return replace(self.graph, nodes=tuple(self.nodes), outputs=self._current(self.graph.outputs))

    def _current(self, values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([self.same.get(v, v) for v in values])

    def visit(self, node: Node) -> Value:
        """Take in a further node, of which the metadata are known; the value that stands for its output."""
        self._visit(node)
        return self.same.get(node.outputs[0], node.outputs[0])

    def _visit(self, node: Node) -> None:
        for _ in range(_ROUNDS):
            found = self._simpler(node)
            if isinstance(found, Value):
                self.same[node.outputs[0]] = found
                return
            if found is None:
                break
            node = found
        key = id(node) if node.op.mints else self._key(node)  # sizes that depend on data keep their names
        earlier = self.seen.setdefault(key, node)
        if earlier is not node:
            self.same.update(zip(node.outputs, earlier.outputs, strict=True))
            return
        self.producer.update(dict.fromkeys(node.outputs, node))
        self.nodes.append(node)

    def _simpler(self, node: Node) -> Rewritten:
        if len(node.outputs) > 1:
            return None
        for identity in IDENTITIES.get(node.op, ()):
            found = identity(self, node)
            if found is not None:
                return found
        if node.op.family in ELEMENTWISE:
            folded = _fold(self, node)
            return folded if folded is not None else _before_stretch(self, node)
        return None

    def _key(self, node: Node) -> Any:
        """Nodes with equal keys compute the same: sizes are compared by name, not by the operand they are read from."""
        params = tuple((k, self.bound(node, p)) for k, p in node.params)
        unnamed = tuple((i, v) for i, v in enumerate(node.sources) if self.ctx.sizes(v, field="key") is None)
        inputs = tuple(sorted(node.inputs, key=lambda v: v.id)) if node.op in COMMUTATIVE else node.inputs
        return node.op, inputs, unnamed, freeze(params)

    # -- what identities ask

    def bound(self, node: Node, param: Any) -> Any:
        """A param with the sizes of exact operands by name."""
        operands = node.operands

        def size_of(leaf: InputAxis) -> Size | None:
            extent = self.ctx.extent(operands[leaf.operand], leaf.axis, field="params")
            return self.scope.normal(extent.size) if isinstance(extent, Exact) else None

        return bind_local(param, size_of)

    def made_by(self, value: Value, op: Op) -> Node | None:
        """The node that computes the value, if it applies this op."""
        node = self.producer.get(value)
        return node if node is not None and node.op is op else None

    def literal(self, value: Value) -> Any:
        """The number that fills the value; None when it is not filled with one."""
        node = self.made_by(value, full_op)
        return None if node is None else dict(node.params)["value"]

    def emit(self, op: Op, inputs: tuple[Value, ...], params: dict[str, Any], like: TensorMeta, where: Any) -> Value:
        """A further node, of which `like` is known to be the metadata."""
        return self.visit(Node(op, inputs, (), params_tuple(params), (Value(like),), where))

    def full(self, node: Node, value: Any) -> Node | None:
        """The output of the node as an array filled with a number; None when its sizes have no name."""
        sizes = self.ctx.sizes(node.outputs[0], field="fill")
        if sizes is None:
            return None
        sources: list[Value] = []
        shape = tuple([self._local(s, sources) for s in sizes])
        params = params_tuple({"value": value, "dtype": node.outputs[0].meta.dtype, "shape": shape})
        return Node(full_op, (), tuple(sources), params, node.outputs, node.where)

    def _local(self, size: Size, sources: list[Value]) -> Size:
        """A size by name as an expression over the inputs of the graph, which become sources."""

        def axis_of(value: Value, axis: int) -> Size:
            if value not in sources:
                sources.append(value)
            return expr.from_atom(InputAxis(sources.index(value), axis))

        def of_variable(atom: Any) -> Size | None:
            if atom in self.graph.runtime:
                return axis_of(*self.graph.runtime[atom])
            read = lambda leaf: axis_of(self.graph.inputs[leaf.operand], leaf.axis)
            return bind_local(self.dims[atom], read) if isinstance(atom, DimVar) else None

        return substitute_leaves(size, of_variable)


ELEMENTWISE = ("elementwise", "special")
_SILENT = frozenset(
    {
        *(ew.neg_op, ew.abs_op, ew.sign_op, ew.conj_op, ew.real_op, ew.imag_op, ew.logical_not_op, ew.invert_op),
        *(ew.floor_op, ew.ceil_op, ew.trunc_op, ew.rint_op, ew.isnan_op, ew.isinf_op, ew.isfinite_op, ew.signbit_op),
    }
)
_ROUNDS = 8  # identities that feed each other, such as a transpose of a broadcast of a literal, end well before


def _fold(r: _Rewriter, node: Node) -> Rewritten:
    """An elementwise op on literals is a literal, unless it fails: then it does so where it runs, and is told of."""
    literals = [r.literal(v) for v in node.inputs]
    if any(x is None for x in literals):
        return None
    arrays = [np.array(x, v.meta.dtype) for x, v in zip(literals, node.inputs, strict=True)]
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(find_kernel(node.op).run(*arrays, **dict(node.params)))
    except (ArithmeticError, ValueError):
        return None
    return r.full(node, result.item())


def _before_stretch(r: _Rewriter, node: Node) -> Rewritten:
    """op(stretch(x)) = stretch(op(x)), on fewer elements; of what may be none, only an op that never warns."""
    if len(node.inputs) != 1 or node.sources:
        return None
    stretch = r.made_by(node.inputs[0], mv.broadcast_in_dim_op)
    sizes = r.ctx.sizes(node.outputs[0], field="stretch") if stretch is not None else None
    if stretch is None or sizes is None:
        return None
    if node.op not in _SILENT and not all(r.scope.proves(at_least(s, 1)) for s in sizes):
        return None
    (x,) = stretch.inputs
    small = TensorMeta(node.outputs[0].meta.dtype, r.ctx.extents(x))
    sources: list[Value] = [r.emit(node.op, (x,), dict(node.params), small, node.where)]
    shape = tuple([r._local(s, sources) for s in sizes])
    params = params_tuple({"shape": shape, "axes": dict(stretch.params)["axes"]})
    return Node(mv.broadcast_in_dim_op, (sources[0],), tuple(sources[1:]), params, node.outputs, node.where)


# -- identities: exact for every value, NaN, infinities and negative zero included ---------------------------------


def _one(r: _Rewriter, node: Node) -> Rewritten:
    """x * 1 = 1 * x = x; not of complex numbers, where infinity times 1 is not a number."""
    x, y = node.inputs
    if node.outputs[0].meta.dtype.kind == "c":
        return None
    if r.literal(y) == 1 and x.meta.dtype == node.outputs[0].meta.dtype:
        return x
    return y if r.literal(x) == 1 else None


def _minus_one(r: _Rewriter, node: Node) -> Rewritten:
    """x * -1 = -x."""
    x, y = node.inputs
    for factor, other in ((x, y), (y, x)):
        if r.literal(factor) == -1 and other.meta.dtype.kind in "if":
            return Node(ew.neg_op, (other,), (), (), node.outputs, node.where)
    return None


def _scaled_twice(r: _Rewriter, node: Node) -> Rewritten:
    """a * (2**k * x) = (a * 2**k) * x: for k >= 0 and |a| >= 1 the product inside is exact, or both overflow."""
    for factor, value in (node.inputs, node.inputs[::-1]):
        inner, outside = r.made_by(value, ew.mul_op), r.literal(factor)
        if inner is None or r.uses[value] != 1 or not isinstance(outside, float) or not abs(outside) >= 1:
            continue
        for number, x in (inner.inputs, inner.inputs[::-1]):
            power, fill = r.literal(number), r.made_by(number, full_op)
            if fill is None or not isinstance(power, float) or power < 1 or math.frexp(power)[0] != 0.5:
                continue
            with np.errstate(over="ignore"):
                scale = number.meta.dtype.type(outside) * number.meta.dtype.type(power)
            if np.isfinite(scale):
                params = params_tuple(dict(fill.params) | {"value": scale.item()})
                literal = r.visit(replace(fill, params=params, outputs=(Value(number.meta),)))
                return Node(ew.mul_op, (literal, x), (), (), node.outputs, node.where)
    return None


def _over_one(r: _Rewriter, node: Node) -> Rewritten:
    """x / 1 = x; not of complex numbers, as for products."""
    real = node.outputs[0].meta.dtype.kind != "c"
    return node.inputs[0] if real and r.literal(node.inputs[1]) == 1 else None


def _minus_zero(r: _Rewriter, node: Node) -> Rewritten:
    """x - 0 = x; x - (-0.0) is not x when x is -0.0."""
    literal = r.literal(node.inputs[1])
    if literal is None or literal != 0 or np.signbit([np.real(literal), np.imag(literal)]).any():
        return None
    return node.inputs[0]


def _finite_gap(r: _Rewriter, node: Node) -> Rewritten:
    """The gap to a finite number is the difference."""
    literal = r.literal(node.inputs[1])
    if literal is None or not np.isfinite(literal):
        return None
    return Node(ew.sub_op, node.inputs, (), (), node.outputs, node.where)


def _twice(op: Op) -> Identity:
    """op(op(x)) = x."""

    def identity(r: _Rewriter, node: Node) -> Rewritten:
        inner = r.made_by(node.inputs[0], op)
        return inner.inputs[0] if inner is not None else None

    return identity


def _negated(r: _Rewriter, value: Value) -> Value | None:
    """y where the value is -y."""
    inner = r.made_by(value, ew.neg_op)
    return None if inner is None else inner.inputs[0]


_SYMMETRIC = {ew.mul_op: "iuf", ew.div_op: "iuf", rd.sum_to_op: "iu", rd.reduce_sum_op: "iu"}  # kinds of dtypes, by op


def _negation_outwards(r: _Rewriter, node: Node) -> Rewritten:
    """op(-x, ...) = -op(x, ...): rounding is symmetric, and further out there may be fewer elements to negate.

    Complex products and quotients are sums, and a sum that cancels is 0, not -0: among sums, those of ints alone.
    """
    if node.outputs[0].meta.dtype.kind not in _SYMMETRIC.get(node.op, "iufc"):
        return None
    for i, value in enumerate(node.inputs):
        positive = _negated(r, value) if r.uses[value] == 1 else None
        if positive is not None:
            inputs = (*node.inputs[:i], positive, *node.inputs[i + 1 :])
            inner = Node(node.op, inputs, node.sources, node.params, (Value(node.outputs[0].meta),), node.where)
            r.uses[positive] += 1
            r.uses[inner.outputs[0]] = 1
            return Node(ew.neg_op, (r.visit(inner),), (), (), node.outputs, node.where)
    return None


def _add_negated(r: _Rewriter, node: Node) -> Rewritten:
    """x + -y = x - y and -x + y = y - x."""
    x, y = node.inputs
    for kept, other in ((x, y), (y, x)):
        positive = _negated(r, other)
        if positive is not None:
            return Node(ew.sub_op, (kept, positive), (), (), node.outputs, node.where)
    return None


def _sub_negated(r: _Rewriter, node: Node) -> Rewritten:
    """x - -y = x + y."""
    positive = _negated(r, node.inputs[1])
    return None if positive is None else Node(ew.add_op, (node.inputs[0], positive), (), (), node.outputs, node.where)


def _same_shape(r: _Rewriter, node: Node) -> Rewritten:
    """An op that only changes the shape, to the shape there was."""
    x = node.inputs[0]
    old, new = r.ctx.sizes(x, field="shape"), r.ctx.sizes(node.outputs[0], field="shape")
    if old is None or new is None:
        return x if r.ctx.same_extents(x.meta, node.outputs[0].meta) else None
    # sizes go by their shortest name since the trace: to prove more of each would take longer than the rest of a trace
    return x if [r.scope.normal(s) for s in old] == [r.scope.normal(s) for s in new] else None


def _of_literal(r: _Rewriter, node: Node) -> Rewritten:
    """Moving a literal about gives that literal in another shape."""
    value = r.literal(node.inputs[0])
    return r.full(node, value) if value is not None else None


def _of_number(r: _Rewriter, node: Node) -> Rewritten:
    """Moving one stretched number about gives that number in another shape."""
    inner = r.made_by(node.inputs[0], mv.broadcast_in_dim_op)
    if inner is None or dict(inner.params)["axes"]:
        return None
    sizes = r.ctx.sizes(node.outputs[0], field="stretch")
    if sizes is None:
        return None
    sources: list[Value] = list(inner.inputs)
    shape = tuple([r._local(s, sources) for s in sizes])
    params = params_tuple({"shape": shape, "axes": ()})
    return Node(mv.broadcast_in_dim_op, inner.inputs, tuple(sources[1:]), params, node.outputs, node.where)


def _transpose_twice(r: _Rewriter, node: Node) -> Rewritten:
    """Transposing twice is transposing once, by the composed permutation."""
    axes = dict(node.params)["axes"]
    inner = r.made_by(node.inputs[0], mv.transpose_op)
    if inner is not None:
        first = dict(inner.params)["axes"]
        axes = tuple(first[a] for a in axes)
        node = Node(mv.transpose_op, inner.inputs, (), params_tuple({"axes": axes}), node.outputs, node.where)
    if axes == tuple(range(len(axes))):
        return node.inputs[0]
    return node if inner is not None else None


def _reshape_twice(r: _Rewriter, node: Node) -> Rewritten:
    """Reshaping twice is reshaping once, when the last shape does not read the first one's result."""
    inner = r.made_by(node.inputs[0], mv.reshape_op)
    sizes = r.ctx.sizes(node.outputs[0], field="reshape") if inner is not None else None
    if inner is None or sizes is None:
        return None
    sources: list[Value] = list(inner.inputs)
    shape = tuple([r._local(s, sources) for s in sizes])
    return Node(
        mv.reshape_op, inner.inputs, tuple(sources[1:]), params_tuple({"shape": shape}), node.outputs, node.where
    )


def _aligned(r: _Rewriter, node: Node) -> Rewritten:
    """A stretch as NumPy writes it: axes of size 1 put in first, so that NumPy can broadcast by itself."""
    axes, rank = dict(node.params)["axes"], r.ctx.rank(node.outputs[0])
    (x,) = node.inputs
    if axes == tuple(range(rank - len(axes), rank)):
        return None
    old, new = r.ctx.sizes(x, field="stretch"), r.ctx.sizes(node.outputs[0], field="stretch")
    if old is None or new is None:
        return None
    position = {axis: i for i, axis in enumerate(axes)}
    local = [expr.from_atom(InputAxis(0, position[a])) if a in position else 1 for a in range(rank)]
    sizes = [old[position[a]] if a in position else 1 for a in range(rank)]
    shape = tuple([size if isinstance(size, int) else here for size, here in zip(sizes, local)])
    wide = r.emit(mv.reshape_op, node.inputs, {"shape": shape}, tensor(x.meta.dtype, sizes), node.where)
    sources: list[Value] = [wide]
    target = tuple([r._local(s, sources) for s in new])
    params = params_tuple({"shape": target, "axes": tuple(range(rank))})
    return Node(mv.broadcast_in_dim_op, (wide,), tuple(sources[1:]), params, node.outputs, node.where)


def _plain_sum(r: _Rewriter, node: Node) -> Rewritten:
    """Adding up what was stretched is a plain sum where it is known which axes were: those that are new or were 1."""
    (x,) = node.inputs
    old, new = r.ctx.sizes(x, field="shape"), r.ctx.sizes(node.outputs[0], field="shape")
    axes = dict(node.params)["axes"]
    if old is None or new is None:
        return None
    kept = {axis for axis, size in zip(axes, new, strict=True) if r.scope.normal(old[axis]) == r.scope.normal(size)}
    if any(axis not in kept and r.scope.normal(size) != 1 for axis, size in zip(axes, new, strict=True)):
        return None
    summed = tuple([axis for axis in range(len(old)) if axis not in kept])
    found = x
    if summed:
        left = [size for axis, size in enumerate(old) if axis in kept]
        found = r.emit(rd.reduce_sum_op, (x,), {"axes": summed}, tensor(x.meta.dtype, left), node.where)
    places = iter(range(len(kept)))
    shape = tuple([expr.from_atom(InputAxis(0, next(places))) if axis in kept else 1 for axis in axes])
    if len(shape) == len(kept):
        return found
    return Node(mv.reshape_op, (found,), (), params_tuple({"shape": shape}), node.outputs, node.where)


def _same_dtype(r: _Rewriter, node: Node) -> Rewritten:
    """Converting to the dtype there is."""
    x = node.inputs[0]
    return x if x.meta.dtype == node.outputs[0].meta.dtype else None


def _either_way(r: _Rewriter, node: Node) -> Rewritten:
    """Choosing between equal values."""
    _, x, y = node.inputs
    return x if x is y else None


COMMUTATIVE = frozenset({ew.add_op, ew.mul_op, ew.eq_op})
IDENTITIES: dict[Op, tuple[Identity, ...]] = {
    ew.mul_op: (_one, _minus_one, _scaled_twice, _negation_outwards),
    ew.div_op: (_over_one, _negation_outwards),
    ew.add_op: (_add_negated,),
    ew.sub_op: (_minus_zero, _sub_negated),
    ew.gap_op: (_finite_gap,),
    ew.neg_op: (_twice(ew.neg_op),),
    ew.convert_op: (_same_dtype,),
    ew.select_op: (_either_way,),
    mv.transpose_op: (_of_literal, _of_number, _transpose_twice),
    mv.reshape_op: (_of_literal, _same_shape, _of_number, _reshape_twice, _negation_outwards),
    mv.broadcast_in_dim_op: (_of_literal, _same_shape, _of_number, _aligned),
    rd.sum_to_op: (_same_shape, _plain_sum, _negation_outwards),
    rd.reduce_sum_op: (_negation_outwards,),
    **dict.fromkeys((enter_checkpoint_op, leave_checkpoint_op), (_of_literal,)),
}

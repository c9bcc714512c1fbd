"""One walk that applies identities, folds literals and merges equal computations (common subexpressions)."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.passes.identities import Rewritten
from anyshape.graph.ir.canonical import freeze
from anyshape.graph.ir.graph import Graph, Node, Op, Value, bind_local, params_tuple
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.ops import movement as mv
from anyshape.ops.apply import find_kernel
from anyshape.ops.creation import full_op


def rewrite(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Apply every identity of the table and merge equal nodes. `reliance_log` records the size queries."""
    rewriter = Rewriter(graph)
    rewriter.scope.reliance_log = deque(maxlen=0) if reliance_log is None else reliance_log
    return rewriter.run()


class Rewriter:
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
        traits = find_traits(node.op)
        for identity in traits.algebra.identities:
            found = identity(self, node)
            if found is not None:
                return found
        if traits.elementwise:
            folded = _fold(self, node)
            return folded if folded is not None else _before_stretch(self, node)
        return None

    def _key(self, node: Node) -> Any:
        """Nodes with equal keys compute the same: sizes are compared by name, not by the operand they are read from."""
        params = tuple((k, self.bound(node, p)) for k, p in node.params)
        unnamed = tuple((i, v) for i, v in enumerate(node.sources) if self.ctx.sizes(v, field="key") is None)
        commutative = find_traits(node.op).algebra.commutative
        inputs = tuple(sorted(node.inputs, key=lambda v: v.id)) if commutative else node.inputs
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
        shape = tuple([self.local(s, sources) for s in sizes])
        params = params_tuple({"value": value, "dtype": node.outputs[0].meta.dtype, "shape": shape})
        return Node(full_op, (), tuple(sources), params, node.outputs, node.where)

    def local(self, size: Size, sources: list[Value]) -> Size:
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


_ROUNDS = 8  # identities that feed each other, such as a transpose of a broadcast of a literal, end well before


def _fold(r: Rewriter, node: Node) -> Rewritten:
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


def _before_stretch(r: Rewriter, node: Node) -> Rewritten:
    """op(stretch(x)) = stretch(op(x)), on fewer elements; of what may be none, only an op that never warns."""
    if len(node.inputs) != 1 or node.sources:
        return None
    stretch = r.made_by(node.inputs[0], mv.broadcast_in_dim_op)
    sizes = r.ctx.sizes(node.outputs[0], field="stretch") if stretch is not None else None
    if stretch is None or sizes is None:
        return None
    if not find_traits(node.op).algebra.silent and not all(r.scope.proves(at_least(s, 1)) for s in sizes):
        return None
    (x,) = stretch.inputs
    small = TensorMeta(node.outputs[0].meta.dtype, r.ctx.extents(x))
    sources: list[Value] = [r.emit(node.op, (x,), dict(node.params), small, node.where)]
    shape = tuple([r.local(s, sources) for s in sizes])
    params = params_tuple({"shape": shape, "axes": dict(stretch.params)["axes"]})
    return Node(mv.broadcast_in_dim_op, (sources[0],), tuple(sources[1:]), params, node.outputs, node.where)

"""Flat layout: the graph of one example, replayed on the rows of all examples, which lie end to end.

A value of the graph with a ragged axis becomes one array with the rows of all examples along that axis. Any other
value that differs between examples has them as its first axis, as under `vmap`, whose rules it follows.

A rule of `FLAT` is `rule(flat, node, params)`, with the sizes of one example in `params`. It gives None where the op
has no flat form, else a function that emits it. All rules are asked before the first one emits.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from anyshape.autodiff.replay import Replay, begin_replay
from anyshape.autodiff.vmap import apply_to_examples
from anyshape.graph.ir.builder import Builder, at_line
from anyshape.graph.ir.graph import Graph, Node, Op, Value, happens_once
from anyshape.graph.ir.op_local import bind_local
from anyshape.graph.prover.constraints import Condition, substitute_claim
from anyshape.graph.shapes.array_type import Exact, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops import contraction as ct
from anyshape.ops import control as cb
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.loops import Layout
from anyshape.support.lazy_dataclass import NamedTuple

Emit: TypeAlias = Callable[..., Any]
Rule: TypeAlias = Callable[["Flat", Node, dict[str, Any]], Emit | None]
FLAT: dict[Op, Rule] = {}
# Nanoseconds of an element that a flat form reads at a computed row, or adds up by segments.
MOVES: dict[Op, int] = {
    **dict.fromkeys((rd.reduce_sum_op, rd.reduce_max_op, rd.reduce_min_op, rd.reduce_and_op, rd.reduce_or_op), 6),
    **dict.fromkeys((rd.cumsum_op, rd.permute_op, ix.take_op, ct.dot_general_op, ct.einsum_op), 6),
    **dict.fromkeys((mv.slice_op, mv.concatenate_op, mv.pad_op, mv.rev_op), 6),
    **dict.fromkeys((rd.reduce_logsumexp_op, rd.softmax_op, rd.safe_softmax_op, rd.argmax_op, rd.argmin_op), 18),
    **dict.fromkeys((rd.sort_op, rd.argsort_op), 60),
}
SORT_STEPS = 16  # that a sort by segments takes as long as, however few rows it has
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {"==": ew.eq, "!=": ew.ne, ">=": ew.ge}


class Rows:
    """Rows of all examples along a ragged axis: how many each has, and their number."""

    def __init__(self, lengths: Any, total: Size) -> None:
        self.lengths, self.total = lengths, total

    @functools.cached_property
    def starts(self) -> Any:
        """Number of the first row of each example."""
        return rd.cumsum(self.lengths, 0, exclusive=True)

    @functools.cached_property
    def owners(self) -> Any:
        """Number of the example of each row."""
        return cf.sized(dy.repeated(self.lengths), (self.total,))

    @functools.cached_property
    def positions(self) -> Any:
        """Position of each row in its example."""
        return ew.sub(cr.iota(self.total), ix.take(self.starts, self.owners))


class Refusal(NamedTuple):
    """Name of an op that has no flat form, and its line."""

    name: str
    where: Any = None

    def __str__(self) -> str:
        return f"{self.name} at {self.where}" if self.where else self.name


class Flat:
    """Graph of one example, and the rows of all examples that it is to run on.

    - `ragged`: variables of sizes that differ between examples, and the one that each is known to equal.
    - `carrying`: values that differ between examples and have no ragged axis.
    """

    builder: Builder
    env: Replay
    count: Size
    steps: Sequence[tuple[Node, Emit]]

    def __init__(self, graph: Graph, layout: Layout) -> None:
        self.graph, self.layout = graph, layout
        self.ragged: dict[DimVar, DimVar] = _ragged_variables(graph, layout)
        self.carrying: set[Value] = {x for x in graph.inputs[: layout.own] if self.axis(x) is None}
        self.rows: dict[Size, Rows] = {}
        self.sizes: dict[Atom, Size] = {}

    @property
    def pieces(self) -> range:
        """Positions of the operands that hold the rows of all examples."""
        return range(self.layout.carries + self.layout.elements, self.layout.own)

    # -- sizes

    def is_ragged(self, size: Any) -> bool:
        """Return whether a size, or one in a tuple, differs between examples."""
        if isinstance(size, tuple):
            return any(map(self.is_ragged, size))
        return isinstance(size, DimExpr) and any(v in self.ragged for v in expr.variables(size))

    def key(self, size: Size) -> Size:
        """Return a size in the variables that stand for all equal ones."""
        return substitute(size, lambda v: expr.from_atom(self.ragged[v]) if v in self.ragged else None)

    def axis(self, x: Value) -> int | None:
        """Return the ragged axis of a value; raise ValueError for several, or a size that is not known."""
        axes = [i for i, size in enumerate(sizes_of(x)) if self.is_ragged(size)]
        if len(axes) > 1:
            raise ValueError
        return axes[0] if axes else None

    def own_axis(self, x: Value) -> int:
        """Return the ragged axis of a value that has one."""
        axis = self.axis(x)
        assert axis is not None
        return axis

    def key_of(self, x: Value) -> Size:
        """Return the ragged size of a value."""
        return self.key(sizes_of(x)[self.own_axis(x)])

    def of_all(self, size: Any) -> Any:
        """Return a size of an example as one of all rows: the number of rows in place of a ragged one."""
        if isinstance(size, tuple):
            return tuple(map(self.of_all, size))
        return self.rows_of(self.key(size)).total if self.is_ragged(size) else substitute(size, self.sizes.get)

    def shape_of(self, x: Value) -> tuple[Size, ...]:
        """Return the shape that stands for that of a value with a ragged axis."""
        return self.of_all(x.meta.sizes)

    def joined_shape(self, x: Value) -> tuple[Size, ...]:
        """Return the shape of what all examples have of a value along its first axis, one after the other."""
        first, *rest = self.shape_of(x)
        return (first if self.axis(x) == 0 else expr.mul(self.count, first), *rest)

    def rows_of(self, key: Size) -> Rows:
        """Return the rows of a ragged size, which may be computed from the sizes of arguments."""
        if key not in self.rows:
            lengths = self.vector(key)
            self.rows[key] = Rows(lengths, dy.size_from_count(rd.reduce_sum(lengths, (0,))))
        return self.rows[key]

    def vector(self, size: Size) -> Any:
        """Return the size of each example."""
        total: Any = self.repeated(0)
        for monomial, factor in expr.terms_of(size).items():
            product: Any = self.repeated(factor)
            for atom, power in monomial:
                for _ in range(power):
                    product = ew.mul(product, self._atom(atom))
            total = ew.add(total, product)
        return total

    def repeated(self, size: Size) -> Any:
        """Return a size as one number for each example."""
        return mv.broadcast_to(cr.size_value(size), (self.count,))

    def _atom(self, atom: Any) -> Any:
        if isinstance(atom, Call):
            return _CALLS[atom.function](*map(self.vector, atom.args))
        if atom in self.ragged:
            return self.rows[expr.from_atom(self.ragged[atom])].lengths
        return self.repeated(substitute(expr.from_atom(atom), self.sizes.get))

    def each_row(self, vector: Any, rows: Rows) -> Any:
        """Return a number of each example for each of its rows."""
        return ix.take(vector, rows.owners)

    # -- what runs

    def plan(self) -> list[tuple[Node, Emit]] | Refusal:
        """Return what emits each node, or the first one that has no flat form."""
        if self.layout.carries or self.graph.runtime or not self.ragged:
            makers = [self.graph.maker[v] for v, _ in self.graph.runtime.values()]
            return Refusal(makers[0].op.name, makers[0].where) if makers else Refusal("a write, or nothing ragged")
        for c in self.graph.conditions:
            if self._about_rows(c) and not self._can_check(c):
                return Refusal(c.primitive, c.where)
        steps = []
        for node in self.graph.nodes:
            if (emit := self._step(node)) is None:
                return Refusal(node.op.name, node.where)
            steps.append((node, emit))
        return steps

    def _about_rows(self, c: Condition) -> bool:
        return c.kind != "fact" and any(v in self.ragged for v in c.claim.variables())

    def _can_check(self, c: Condition) -> bool:
        """Return whether a condition is checked by lengths, and does not equate a ragged size with another one."""
        left, right, relation = c.claim.left, c.claim.right, c.claim.relation
        divides = right == 0 and isinstance(atom := expr.as_atom(left), Call) and atom.function == "mod"
        joins = relation == "==" and not divides and not (self.is_ragged(left) and self.is_ragged(right))
        return c.kind == "assertion" and relation in _RELATIONS and not joins

    def _step(self, node: Node) -> Emit | None:
        """Return what emits a node: by its flat rule if it has to do with ragged sizes, else as under vmap."""
        if node.op.acts or node.op.draws or happens_once(node):
            return None
        try:
            emit = self._rule_of(node)
        except ValueError:
            return None
        if isinstance(emit, functools.partial) and emit.func is _as_vmap and self.carrying.isdisjoint(node.inputs):
            return emit
        if emit is not None:
            self.carrying.update(v for v in node.outputs if self.axis(v) is None)
        return emit

    def _rule_of(self, node: Node) -> Emit | None:
        axes = [self.axis(v) for v in (*node.inputs, *node.outputs)]
        extents = lambda leaf: self._size(node.operands[leaf.operand], leaf.axis)
        params = {name: bind_local(p, extents) for name, p in node.params}
        if axes.count(None) == len(axes) and not any(map(self.is_ragged, params.values())):
            return self._plain_rule(node)
        return self._ragged_rule(node, params)

    def _plain_rule(self, node: Node) -> Emit:
        return functools.partial(_as_vmap, self, node)

    def _ragged_rule(self, node: Node, params: dict[str, Any]) -> Emit | None:
        return FLAT[node.op](self, node, params) if node.op in FLAT else None

    def _size(self, x: Value, axis: int) -> Size:
        if not isinstance(extent := x.meta.extents[axis], Exact):
            raise ValueError
        return extent.size

    def begin(self, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> list[Any]:
        """Note the sizes of operands and the rows of pieces; return operands: equal lengths are one size."""
        self.count, graph, layout = count, self.graph, self.layout
        self.rows, self.sizes = {}, {}
        for source in graph.dims:
            axis = expr.as_atom(source.size)
            assert isinstance(axis, InputAxis)
            if source.variable not in self.ragged:
                at = axis.axis + (layout.carries <= axis.operand < self.pieces.start)
                self.sizes[source.variable] = operands[axis.operand].meta.sizes[at]
        for i, own in zip(self.pieces, lengths, strict=True):
            key, x = self.key_of(graph.inputs[i]), operands[i]
            rows = self.rows.setdefault(key, Rows(own, x.meta.sizes[0]))
            if rows.lengths.value is not own.value:
                cb.check(ew.eq(own, rows.lengths), "ragged arguments that meet have equal lengths")
            operands = [*operands[:i], cf.sized(x, (rows.total, *x.meta.sizes[1:])), *operands[i + 1 :]]
        return [*operands]

    def cost(self, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> tuple[int, Size] | None:
        """Return the number of steps, and the nanoseconds of what moves rows: a loop reads and adds them up faster."""
        self.begin(operands, lengths, count)
        moves = self._moves()
        elements = expr.total([expr.mul(MOVES[node.op], self._columns(node)) for node in moves]) if moves else 0
        sorts = sum([node.op in (rd.sort_op, rd.argsort_op) for node in moves])
        return len(self.steps) + 2 * len(moves) + SORT_STEPS * sorts, expr.mul(self._total(operands), elements)

    def heavy(self, operands: Sequence[Any], of_element: Callable[[Node], float]) -> Size:
        """Return the nanoseconds of all rows in steps that take long, 0 where more steps move rows than take long.

        `of_element` gives the nanoseconds of an element that a step reads, 0 for steps that take no time.
        """
        moves = self._moves()
        others = [
            node for node, _ in self.steps if node not in moves and any(self.axis(v) is not None for v in node.outputs)
        ]
        costs = {node: round(cost) for node in others if (cost := of_element(node))}
        if len(costs) <= len(moves):
            return 0
        row = expr.total([expr.mul(cost, self._columns(node)) for node, cost in costs.items()])
        return expr.mul(self._total(operands), row)

    def _total(self, operands: Sequence[Any]) -> Size:
        """Return the number of rows of all examples."""
        return expr.maximum(*[operands[i].meta.sizes[0] for i in self.pieces])

    def _moves(self) -> list[Node]:
        """Return the steps that read rows at computed places, or add them up by segments."""
        return [node for node, emit in self.steps if node.op in MOVES and not isinstance(emit, functools.partial)]

    def _columns(self, node: Node) -> Size:
        """Return the number of elements in a row of all that a node reads, or gives."""
        values = [v for v in node.inputs if self.axis(v) is not None] or node.outputs
        shapes = [[size for i, size in enumerate(sizes_of(v)) if i != self.axis(v)] for v in values]
        return expr.total([numel([substitute(size, self.sizes.get) for size in shape]) for shape in shapes])

    def run(self, builder: Builder, operands: Sequence[Any], lengths: Sequence[Any], count: Size) -> list[Any]:
        """Replay the graph on all examples, and return its results with an axis of examples or rows."""
        operands = self.begin(operands, lengths, count)
        self.builder, graph = builder, self.graph
        for c in graph.conditions:
            self._require(builder, c)
        self.env = begin_replay(builder, graph, operands, self.sizes, self.carrying)
        for node, emit in self.steps:
            with at_line(builder, node.where):
                results = emit(*[self.env[v] for v in node.inputs])
                if results is not None:
                    self.env.update(zip(node.outputs, results, strict=True))
        return [self._with_examples(v) for v in graph.outputs]

    def _require(self, builder: Builder, c: Condition) -> None:
        """Require a condition of the graph of all examples."""
        if self._about_rows(c):
            left, right = self.vector(self.key(c.claim.left)), self.vector(self.key(c.claim.right))
            cb.check(_RELATIONS[c.claim.relation](left, right), f"{c.primitive}: {c.why}, in each example")
        elif c.kind == "assertion":
            builder.scope.require(substitute_claim(c.claim, self.sizes.get), c.primitive, c.why, (), c.where)

    def _with_examples(self, value: Value) -> Any:
        result = self.env[value]
        return result if self.axis(value) is not None or value in self.carrying else self.of_each(result)

    def of_each(self, x: Any) -> Any:
        """Return what all examples share as the same of each one."""
        return mv.broadcast_in_dim(x, (self.count, *x.meta.sizes), range(1, x.meta.rank + 1))

    def alike(self, node: Node, *positions: int) -> bool:
        """Return whether operands of a node, or all, have ragged axes of one size."""
        values = [node.inputs[i] for i in positions] if positions else node.inputs
        flat = [v for v in values if self.axis(v) is not None]
        return len(flat) == len(values) and len({self.key_of(v) for v in flat}) < 2


def sizes_of(x: Value) -> tuple[Size, ...]:
    """Return the sizes of a value; raise ValueError if one is not known."""
    if (sizes := x.meta.sizes) is None:
        raise ValueError
    return sizes


def _ragged_variables(graph: Graph, layout: Layout) -> dict[DimVar, DimVar]:
    """Return the sizes that differ between examples, each with the one that stands for all equal ones."""
    pieces = graph.inputs[layout.carries + layout.elements : layout.own]
    ragged = {v: v for x in pieces for v, axis in x.meta.variable_axes() if axis == 0}
    for claim in [c.claim for c in graph.conditions if c.claim.relation == "=="]:
        old, new = (ragged.get(expr.as_atom(s)) for s in (claim.left, claim.right))  # type: ignore[arg-type]
        if old is not None and new is not None:
            ragged = {v: new if w is old else w for v, w in ragged.items()}
    return ragged


def _as_vmap(flat: Flat, node: Node, *inputs: Any) -> None:
    """Emit a node without ragged sizes for each example, or once if all share it."""
    carrying = flat.carrying.difference(node.outputs)
    apply_to_examples(flat.builder, node, flat.env, carrying, flat.count)
    for v in node.outputs:
        if v in flat.carrying and v not in carrying:
            flat.env[v] = flat.of_each(flat.env[v])


_CALLS: dict[str, Callable[..., Any]] = {
    "floordiv": ew.floor_divide,
    "ceildiv": lambda a, b: ew.neg(ew.floor_divide(ew.neg(a), b)),
    "mod": ew.remainder,
    "max": lambda *xs: functools.reduce(ew.maximum, xs),
    "min": lambda *xs: functools.reduce(ew.minimum, xs),
    "broadcast": lambda *xs: functools.reduce(lambda a, b: ew.select(ew.eq(a, ew.lift(1, a)), b, a), xs),
}

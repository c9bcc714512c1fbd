"""Loops as rules see them: the body with its operands by kind, and loops over bodies that are derived from it.

Batch a `while` whose condition differs between examples: a trip computes the rows of those that are live.

Examples that end leave at once. An inner loop runs while no example ends, so its rows stay where they are. Each trip of
the outer loop then takes the rows of the examples that go on. Each example ends once, so the rows that leave, joined,
are the results in another order.

Loops of each example of a batch: rules derive from the loop of one example, then batch what they derive.

So a batch of such loops is one of more examples, and a derivative of one is a batch of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.control_flow.branch_derivatives import handle_of, meta_of_operand
from anyshape.autodiff.jvp import push_parts
from anyshape.autodiff.linearize_transpose import linearise, transposed_ends
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import Linear, merged, stretch
from anyshape.autodiff.structural_zeros import Ends, by_flags, flagged, whole
from anyshape.autodiff.subgraph_transforms import batch_element, derived, with_shared_variables
from anyshape.autodiff.vmap import batch
from anyshape.errors import RaggedBatchError
from anyshape.graph.ir.builder import Builder, active
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.graph.ir.op_local import Closed, close, sizes_at
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, Size
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full_op
from anyshape.ops.movement import reshape
from anyshape.ops.reduction import reduce_sum
from anyshape.ops.subgraph_call import further_operands, size_carrier, with_inputs_in_order
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace


@dataclass
class Inputs:
    """Values, types, flags or ends of the inputs of a body, by kind."""

    carries: Any
    elements: Any
    pieces: Any
    captured: Any

    @classmethod
    def of(cls, layout: lp.Layout, xs: Sequence[Any]) -> Inputs:
        """Return the members of a sequence that follows the order of the inputs."""
        first, second, third = layout.carries, layout.stacks.stop, layout.own
        return cls([*xs[:first]], [*xs[first:second]], [*xs[second:third]], [*xs[third:]])

    def kinds(self) -> list[Any]:
        """Return the lists of all kinds in their order."""
        return [self.carries, self.elements, self.pieces, self.captured]

    def flat(self) -> list[Any]:
        """Return all in the order of the inputs."""
        return [x for kind in self.kinds() for x in kind]

    def layout(self) -> lp.Layout:
        """Return the layout of a body with these inputs."""
        return lp.Layout(len(self.carries), len(self.elements), len(self.pieces))

    def joined(self, other: Inputs) -> Inputs:
        """Return each kind followed by the same kind of the other."""
        return Inputs(*[[*a, *b] for a, b in zip(self.kinds(), other.kinds(), strict=True)])

    def split(self, first: Inputs) -> tuple[Inputs, Inputs]:
        """Return as many of each kind as `first` has, and the rest: `joined` puts them together."""
        pairs = [(kind, len(begin)) for kind, begin in zip(self.kinds(), first.kinds(), strict=True)]
        return Inputs(*[kind[:n] for kind, n in pairs]), Inputs(*[kind[n:] for kind, n in pairs])

    def chosen(self, flags: Inputs, wanted: bool = True) -> Inputs:
        """Return the members whose flag is as wanted."""
        pairs = zip(self.kinds(), flags.kinds(), strict=True)
        return Inputs(*[[x for x, flag in zip(kind, chosen, strict=True) if flag == wanted] for kind, chosen in pairs])

    def with_carries(self, flags: Sequence[bool]) -> Inputs:
        """Return all but the carries that are not flagged."""
        return replace(self, carries=flagged(self.carries, flags))

    def map(self, function: Callable[[Any], Any]) -> Inputs:
        """Return the results of a function of each member."""
        return Inputs(*[[function(x) for x in kind] for kind in self.kinds()])


@dataclass
class Outputs:
    """Values, types, flags or ends of the outputs of a body, by kind."""

    carries: Any
    stacked: Any
    joined: Any

    @classmethod
    def of(cls, carries: int, joined: int, ys: Sequence[Any]) -> Outputs:
        """Return the members of a sequence that follows the order of the outputs."""
        last = len(ys) - joined
        return cls([*ys[:carries]], [*ys[carries:last]], [*ys[last:]])

    def kinds(self) -> list[Any]:
        """Return the lists of all kinds in their order."""
        return [self.carries, self.stacked, self.joined]

    def flat(self) -> list[Any]:
        """Return all in the order of the outputs."""
        return [*self.carries, *self.stacked, *self.joined]


class Results(NamedTuple):
    """Results of a derived loop: the ones of its body, the mask of its trips, and its checkpoint slots."""

    outputs: Outputs
    mask: Any
    slots: Sequence[Any]


class Loop:
    """Loop and its operands, from which rules derive another one. A `test` makes it a loop of unknown length."""

    def __init__(
        self,
        ctx: ShapeGuardContext,
        operands: Sequence[Any],
        body: Graph,
        layout: lp.Layout,
        joined: int,
        reverse: bool = False,
        test: Graph | None = None,
        ends: Sequence[Shape] = (),
        metas: Sequence[TensorMeta] | None = None,
        like: Sequence[Any] = (),
        checkpoint: lp.Policy = "",
    ) -> None:
        """Take a loop apart. `metas` are the types of operands, where the loop is of one example of a batch.

        `like` gives traced values where no operand is one. Loops derived from this one have its `checkpoint`.
        """
        self.handle = handle_of(*operands, *like)
        if test is not None:
            body, test = with_shared_variables([body, test], self.handle)
        self.ctx, self.body, self.layout, self.test = ctx, body, layout, test
        self.joined, self.reverse, self.ends = joined, reverse, ends
        fits_slots = layout.carries and not (joined or layout.pieces)
        self.checkpoint = checkpoint if fits_slots or isinstance(checkpoint, str) else "carry"
        count = len(body.inputs)
        self.inputs: Inputs = Inputs.of(layout, operands[:count])
        self.lengths: list[Any] = list(operands[count : count + layout.pieces])  # of pieces
        self.joined_lengths: list[Any] = list(operands[count + layout.pieces :])  # of the first joined results
        self.operand_metas: list[TensorMeta] = list(metas or [meta_of_operand(x) for x in operands])[:count]
        self.length: Size | None = self._length()
        self.metas: Inputs = Inputs.of(layout, [v.meta for v in body.inputs])
        self.varying: set[DimVar] = lp.varying_variables(body, layout)
        self.constant: set[DimVar] = {s.variable for s in body.dims} - self.varying

    def _length(self) -> Size | None:
        """Return the number of trips, by the stacks or the pieces that these read; None where neither says it."""
        per_trip = self.operand_metas[self.layout.stacks] or [meta_of_operand(x) for x in self.lengths if x is not None]
        return self.ctx.exact(per_trip[0], 0, field="operands") if per_trip else None

    @property
    def has_mask(self) -> bool:
        """True if the node gives the mask of its trips, as a loop of unknown length does with results of trips."""
        return self.test is not None and len(self.body.outputs) > self.layout.carries

    def outputs(self, ys: Sequence[Any]) -> Outputs:
        """Return the members of a sequence that follows the order of the outputs of the body."""
        return Outputs.of(self.layout.carries, self.joined, ys)

    def constant_sizes(self) -> dict[DimVar, Size]:
        """Return the size of each variable of the body that is the same in all trips."""
        metas = [*self.operand_metas]
        metas[self.layout.stacks] = [batch_element(m) for m in metas[self.layout.stacks]]
        constant = replace(self.body, dims=tuple([s for s in self.body.dims if s.variable not in self.varying]))
        return sizes_at(self.ctx, constant, metas)

    def exact_sizes(self, x: Any) -> Shape | None:
        """Return the exact sizes of an operand or a result, None where it has none."""
        return self.ctx.sizes(meta_of_operand(x))

    def as_written(self, xs: Sequence[Any], values: Sequence[Value], batch: Sequence[Shape] = ()) -> list[Any]:
        """Return what a derived body makes for values of the body in the sizes that these are written in.

        Two sizes may be equal only where there is a trip. Without one, the loop gives the sizes as written. `batch`
        gives for each the sizes that stand before its own.
        """
        triples = zip(xs, values, batch or [()] * len(values), strict=True)
        return [x if x is None or not self.is_constant(v.meta) else _of_shape(x, v.meta, b) for x, v, b in triples]

    def is_constant(self, meta: TensorMeta) -> bool:
        """Return whether an array type of the body has exact sizes that are the same in all trips."""
        sizes = meta.sizes
        return sizes is not None and all(v in self.constant for size in sizes for v in expr.variables(size))

    # -- loops over derived bodies

    def scan(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        length: Size,
        reverse: bool,
        ends: Sequence[Shape] = (),
        slots: bool = False,
    ) -> Sequence[Any]:
        """Return the results of a scan of a body that was derived from this one, with these operands."""
        closed, layout = close([graph]), inputs.layout()
        body, own, lengths = closed.graphs[0], inputs.flat(), [*lengths]
        if any(v in self.varying for v in closed.carried):
            closed, layout = self._with_sizes_of_pieces(closed, layout, own, lengths)
            body = closed.graphs[0]
        operands = [*own, *further_operands(closed, self.constant_sizes()), *lengths]
        params: dict[str, Any] = {"reverse": reverse, "joined": joined, "ends": ends}
        params |= {"checkpoint": self.checkpoint, "slots": slots}
        return lp.scan_of_length(body, layout, length, *operands, **params)

    def _with_sizes_of_pieces(
        self, closed: Closed, layout: lp.Layout, own: list[Any], lengths: list[Any]
    ) -> tuple[Closed, lp.Layout]:
        """Return a body and its layout with pieces of size carriers, which have the sizes of pieces in each trip.

        The operands of these join `own`, and their lengths join `lengths`.
        """
        body, varying = closed.graphs[0], [v for v in closed.carried if v in self.varying]
        hidden = body.inputs[len(body.inputs) - len(closed.carried) :]
        carriers = [x for x, v in zip(hidden, closed.carried, strict=True) if v in varying]
        captured = [v for v in body.inputs[layout.own :] if v not in carriers]
        body = with_inputs_in_order(body, [*body.inputs[: layout.own], *carriers, *captured])
        pieces = [self._piece_of(v) for v in varying]
        own[layout.own : layout.own] = [size_carrier(self._rows(i)) for i in pieces]
        lengths[layout.pieces : layout.pieces] = [self.lengths[i] for i in pieces]
        carried = tuple([v for v in closed.carried if v not in varying])
        return replace(closed, graphs=(body,), carried=carried), layout._replace(pieces=layout.pieces + len(pieces))

    def _piece_of(self, variable: DimVar) -> int:
        """Return the number of a piece with as many rows as a variable says."""
        first = self.layout.carries + self.layout.elements
        pieces = self.body.inputs[first : self.layout.own]
        return next(i for i, v in enumerate(pieces) if (variable, 0) in v.meta.variable_axes())

    def _rows(self, piece: int) -> Size:
        """Return the number of rows of the pieces of all trips."""
        operand = self.operand_metas[self.layout.carries + self.layout.elements + piece]
        return self.ctx.exact(operand, 0, field="operands")

    def again(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        ends: Sequence[Shape] = (),
        test_of: Callable[[Builder, Graph, Sequence[Any]], Any] | None = None,
        slots: bool = False,
    ) -> Results:
        """Return the results of a derived loop of as many trips, and its mask. With `slots`, it fills these.

        Of each kind its inputs are the inputs of this one, then others. `test_of` gives the condition in the graph of a
        builder, where inputs are not as the body of one example takes them.
        """
        if self.test is None:
            return self._scan_again(graph, inputs, lengths, joined, ends, slots)
        with derived(self.test, [v.meta for v in graph.inputs[: len(inputs.flat())]], self.handle) as (builder, xs):
            own = Inputs.of(inputs.layout(), xs[: len(inputs.flat())]).split(self.inputs)[0].flat()
            pred = inline(builder, self.test, own)[0] if test_of is None else test_of(builder, self.test, own)
            test = builder.finish([pred], self.test.name)
        return self._while_again(test, graph, inputs, joined, slots)

    def ahead(self, graph: Graph, known: Inputs) -> Results:
        """Return the results of the known part of this loop, which stacks what `graph` gives, and its mask."""
        inputs = self.inputs.chosen(known)
        if self.test is None:
            return self._scan_again(graph, inputs, flagged(self.lengths, known.pieces), 0, ())
        own = [v for v, flag in zip(self.test.inputs, known.flat(), strict=True) if flag]
        return self._while_again(replace(self.test, inputs=tuple(own)), graph, inputs, 0)

    def scan_of(self, body: Graph, inputs: Inputs) -> Loop:
        """Return a scan with another body and other operands, which has the same results behind the carries."""
        operands = [*inputs.flat(), *self.lengths, *self.joined_lengths]
        graph = close([body]).graphs[0]
        return Loop(self.ctx, operands, graph, inputs.layout(), self.joined, self.reverse, checkpoint=self.checkpoint)

    def _scan_again(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        ends: Sequence[Shape],
        slots: bool = False,
    ) -> Results:
        assert self.length is not None  # a scan has one
        results = self.scan(graph, inputs, lengths, joined, self.length, self.reverse, ends, slots)
        own, filled = _apart(graph, results)
        return Results(Outputs.of(len(inputs.carries), joined, own), None, filled)

    def _while_again(self, test: Graph, graph: Graph, inputs: Inputs, joined: int, slots: bool = False) -> Results:
        closed, count = close([test, graph]), len(inputs.carries)
        operands = [*inputs.flat(), *further_operands(closed, self.constant_sizes())]
        params: dict[str, Any] = {"joined": joined, "checkpoint": self.checkpoint, "slots": slots}
        results = lp.while_loop(closed.graphs[0], closed.graphs[1], count, *operands, **params)
        mask = results[count] if len(results) > count else None
        own, filled = _apart(graph, [*results[:count], *results[count + 1 :]])
        return Results(Outputs.of(count, joined, own), mask, filled)


def _of_shape(x, meta: TensorMeta, batch: Shape):
    """Return a value with the sizes of an array type behind the ones of a batch."""
    assert meta.sizes is not None  # a constant type has them
    return sized(x, (*batch, *meta.sizes))


def _apart(graph: Graph, results: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the results of a loop that its body gives, and its checkpoint slots."""
    return results[: len(graph.outputs)], results[len(graph.outputs) :]


def counted(body: Graph) -> Graph:
    """Return the body of a `while` with one more result, to which each trip adds one element."""
    one = Value(tensor(lp.BOOL, ()))
    fill = Node(full_op, (), (), params_tuple({"dtype": lp.BOOL, "shape": (), "value": True}), (one,))
    return replace(body, nodes=(*body.nodes, fill), outputs=(*body.outputs, one))


def reordered(graph: Graph, order: Sequence[int]) -> Graph:
    """Return a graph that is not yet closed with its inputs in another order; hidden ones stay behind."""
    return replace(graph, inputs=(*[graph.inputs[i] for i in order], *graph.inputs[len(order) :]))


def with_axis(meta: TensorMeta, size: Size, axis: int) -> TensorMeta:
    """Return the type of an array with one more axis."""
    return TensorMeta(meta.dtype, (*meta.extents[:axis], Exact(size), *meta.extents[axis:]))


BOOL, INT = np.dtype(bool), np.dtype(np.int64)


class _Parts(NamedTuple):
    """Inputs of the body of one example: rows of batched carries and captures, and what all examples share."""

    rows: Sequence[Any]
    shared: Sequence[Any]
    captured: Sequence[Any]


class LiveRows:
    """Loop over the rows of live examples.

    Its carries are the rows of batched carries and captures, the other carries, which examples go on, and the positions
    of the live examples. A trip runs all examples until one ends. It gives, joined, the rows that end and their
    positions. Stacked results are joined too, with their positions and their trip, which is then a carry.
    """

    def __init__(self, ctx: ShapeGuardContext, size: Size, loop: Loop, flags: Inputs, have: Inputs) -> None:
        """Take a loop whose inputs carry the batch as `flags` say; `have` are the operands that carry it already."""
        assert loop.test is not None  # examples differ in it
        self.ctx, self.size, self.loop, self.test, self.have = ctx, size, loop, loop.test, have
        self.carries, self.flags = flags.carries, flags.flat()
        self.rows: DimExpr = expr.from_atom(DimVar("rows"))
        if loop.joined or loop.varying:
            advice = "give the carries of all examples the same sizes in each trip"
            raise RaggedBatchError("while_loop", {}, ctx.where, advice)

    # -- inputs

    def _parts(self, xs: Sequence[Any]) -> _Parts:
        """Return the parts of what follows the order of the inputs."""
        count = len(self.carries)
        shared = flagged(xs[:count], [not flag for flag in self.carries])
        return _Parts(flagged(xs, self.flags), shared, flagged(xs[count:], [not f for f in self.flags[count:]]))

    def _whole(self, parts: _Parts) -> list[Any]:
        """Return what follows the order of the inputs of its parts."""
        others = [*parts.shared, *parts.captured]
        rows, rest = by_flags(self.flags, parts.rows), by_flags([not flag for flag in self.flags], others)
        return [row if flag else x for row, x, flag in zip(rows, rest, self.flags, strict=True)]

    def _types(self) -> list[TensorMeta]:
        """Return the types of the inputs of a body, with rows of the ones that carry the batch."""
        pairs = zip(self.loop.metas.flat(), self.flags, strict=True)
        return [TensorMeta(m.dtype, (Exact(self.rows), *m.extents)) if f else m for m, f in pairs]

    def _of_loop(self) -> list[TensorMeta]:
        """Return the types of what both loops carry besides: which examples go on, and perhaps the trip."""
        return [tensor(BOOL, [self.rows]), *([tensor(INT, ())] if self.loop.has_mask else [])]

    # -- the inner loop

    def _trips(self, xs: Sequence[Any], ends: Sequence[Any]) -> Sequence[Any]:
        """Return the results of trips of all rows until one of them ends, which may be at once."""
        loop, count = self.loop, len(self.carries)
        metas = [*self._types()[:count], *self._of_loop(), *self._types()[count:]]
        with derived(self.test, metas, loop.handle) as (builder, inner):
            test = builder.finish([rd.reduce_and(inner[count], (0,))], self.test.name)
        with derived(loop.body, metas, loop.handle) as (builder, inner):
            body = builder.finish(self._trip(builder, inner), loop.body.name)
        closed = close([test, body])
        sizes: dict[DimVar, Size] = {v: expr.from_atom(v) for v in closed.carried}
        operands = [*xs[:count], *ends, *xs[count:], *further_operands(closed, sizes)]
        return lp.while_loop(closed.graphs[0], closed.graphs[1], count + len(ends), *operands)

    def _trip(self, builder: Builder, inner: Sequence[Any]) -> list[Any]:
        """Return the results of one trip of all rows."""
        loop, count, own = self.loop, len(self.carries), len(self._of_loop())
        inputs, trips = [*inner[:count], *inner[count + own : own + len(self.flags)]], inner[count + 1 : count + own]
        ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="batching")
        outputs = loop.outputs(batch(builder, loop.body, inputs, self.flags, self.rows))
        pairs = zip(outputs.carries, self.carries, strict=True)
        carries = [stretch(ctx, self.rows, y) if flag and not is_batched else y for (y, is_batched), flag in pairs]
        after = [*carries, *inputs[count:]]
        goes_on = _each(ctx, self.rows, batch(builder, self.test, after, self.flags, self.rows)[0])
        stacked = [_each(ctx, self.rows, end) for end in outputs.stacked]
        return [*carries, goes_on, *[ew.add(n, ew.lift(1, n)) for n in trips], *stacked]

    # -- the outer loop

    def _metas(self) -> list[TensorMeta]:
        """Return the types of the inputs of the outer loop: its carries, then what is captured."""
        parts = self._parts(self._types())
        goes_on, *trip = self._of_loop()
        return [*parts.rows, *parts.shared, goes_on, *trip, tensor(INT, [self.rows]), *parts.captured]

    def _body(self) -> Graph:
        """Return the graph of the trips until an example ends, which may be none: nothing that a trip states holds."""
        with derived(replace(self.loop.body, conditions=()), self._metas(), self.loop.handle) as (builder, xs):
            rows, count, own = sum(self.flags), len(self.carries), len(self._of_loop())
            shared = rows + count - sum(self.carries)
            captured = xs[shared + own + 1 : own + 1 + len(self.flags)]
            inputs, positions = self._whole(_Parts(xs[:rows], xs[rows:shared], captured)), xs[shared + own]
            results = self._trips(inputs, xs[shared : shared + own])
            goes_on, *trip = results[count : count + own]
            (live,), (done,) = dy.nonzero(goes_on), dy.nonzero(ew.logical_not(goes_on))
            parts = self._parts([*results[:count], *inputs[count:]])
            ctx = ShapeGuardContext(builder.scope, self.loop.body.name, rule="batching")
            ends = [
                *[ix.take(y, live) for y in parts.rows],
                *parts.shared,
                cr.full(meta_of(live).sizes, True, BOOL),
                *trip,
                ix.take(positions, live),
                *self._rows_at(ctx, results[:count], done),
                ix.take(positions, done),
                *self._rows_of_trips(positions, xs[shared + 1 : shared + own], results[count + own :]),
            ]
            return builder.finish(ends, self.loop.body.name)

    def _rows_of_trips(self, positions, trip: Sequence[Any], added: Sequence[Any]) -> list[Any]:
        """Return what trips of all rows have stacked as rows, with the position and the trip of each."""
        if not added:
            return []
        mask, *stacked = added
        (count,), (start,) = meta_of(mask).sizes, trip
        shape = (count, self.rows)
        numbers = ew.add(cr.iota(count), mv.broadcast_to(start, (count,)))
        columns = [*stacked, mv.broadcast_in_dim(positions, shape, (1,)), mv.broadcast_in_dim(numbers, shape, (0,))]
        return [mv.reshape(y, (expr.mul(*shape), *meta_of(y).sizes[2:])) for y in columns]

    def _rows_at(self, ctx: ShapeGuardContext, carries: Sequence[Any], positions) -> list[Any]:
        """Return the rows of some examples; what all share is repeated."""
        count = meta_of(positions).sizes[0]
        pairs = zip(carries, self.carries, strict=True)
        return [ix.take(y, positions) if flag else stretch(ctx, count, y) for y, flag in pairs]

    def _test(self) -> Graph:
        """Return the graph that tells whether any example is live."""
        with derived(self.test, self._metas(), self.loop.handle) as (builder, _):
            count = cr.size_value(self.rows)
            return builder.finish([ew.gt(count, ew.lift(0, count))], self.test.name)

    def run(self) -> list[Any]:
        """Return the results of the loop for all examples."""
        ctx, inputs = self.ctx, self._stretched()
        builder = active()
        assert isinstance(builder, Builder)  # rules run inside of a trace
        goes_on = _each(ctx, self.size, batch(builder, self.test, inputs, self.flags, self.size)[0])
        parts, has_mask = self._parts(inputs), self.loop.has_mask
        first = [goes_on, *([cr.full((), 0, INT)] if has_mask else []), cr.iota(self.size)]
        starts = [*parts.rows, *parts.shared, *first]
        closed = close([self._test(), self._body()])
        operands = [*starts, *parts.captured, *further_operands(closed, self.loop.constant_sizes())]
        joined = len(closed.graphs[1].outputs) - len(starts)
        results = lp.while_loop(closed.graphs[0], closed.graphs[1], len(starts), *operands, joined=joined)
        ended, added = self._split(results[len(starts) + 1 :])
        ys = self._in_order(_of_one_length(ended))
        return [*ys, *self._padded(results[len(starts) - 2], _of_one_length(added))] if has_mask else ys

    def _stretched(self) -> list[Any]:
        """Return the operands with the batch as their first axis, where the body takes rows of them."""
        columns = zip(self.loop.inputs.flat(), self.flags, self.have.flat(), strict=True)
        return [stretch(self.ctx, self.size, x) if flag and not has else x for x, flag, has in columns]

    def _split(self, joined: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the joined results of examples that end, and of all trips."""
        count = len(self.carries) + 1
        return joined[:count], joined[count:]

    def _in_order(self, ended: Sequence[Any]) -> list[Any]:
        """Return the rows of examples, which are there in the order in which they ended, in the order of the batch."""
        *columns, order = ended
        rows = rd.permute(cr.iota(meta_of(order).sizes[0]), order, 0, inverse=True)
        return [sized(y, (self.size, *meta_of(y).sizes[1:])) for y in [ix.take(y, rows) for y in columns]]

    def _padded(self, trips, added: Sequence[Any]) -> list[Any]:
        """Return the mask of the trips of each example, and the stacked results of each.

        An example that has ended repeats its last trip, as zeros could make the derivative of a trip infinite.
        """
        *stacked, positions, trip = added
        length, rows = dy.size_from_count(trips), meta_of(positions).sizes
        count = ix.put_add(ew.lift(1, positions), positions, self.size)
        at = ew.add(ew.mul(positions, mv.broadcast_to(cr.size_value(length), rows)), trip)
        row_of = ix.put_add(cr.iota(rows[0]), at, expr.mul(self.size, length))
        shape = (self.size, length)
        own, count = mv.broadcast_in_dim(cr.iota(length), shape, (1,)), mv.broadcast_in_dim(count, shape, (0,))
        last = ew.maximum(ew.sub(count, ew.lift(1, count)), ew.lift(0, count))
        chosen = ix.take_along_axis(mv.reshape(row_of, shape), ew.minimum(own, last), 1)
        return [ew.lt(own, count), *[ix.take(y, chosen) for y in stacked]]


def _of_one_length(columns: Sequence[Any]) -> list[Any]:
    """Return joined results of as many rows each: one that nothing else reads is not needed for its length."""
    *others, last = columns
    last = name_sizes(last)
    return [*[sized(y, (*meta_of(last).sizes, *[e.size for e in meta_of(y).extents[1:]])) for y in others], last]


def _each(ctx: ShapeGuardContext, size: Size, output: tuple[Any, bool]):
    """Return an output of a batched graph with the batch as its first axis."""
    y, is_batched = output
    return y if is_batched else stretch(ctx, size, y)


class ExampleLoops:
    """Loop of one example, with operands that have a row per example where `carries` says so."""

    def __init__(
        self, ctx: ShapeGuardContext, one: Graph, carries: Sequence[bool], operands: Sequence[Any], like: Any = ()
    ) -> None:
        """Take the operands of a node. `like` gives traced values where no operand is one."""
        self.ctx, self.one, self.carries = ctx, one, list(carries)
        self.operands: list[Any] = list(operands[: len(carries)])
        self.handle = handle_of(*self.operands, *like)
        metas = [meta_of_operand(x) for x in self.operands]
        first = metas[self.carries.index(True)]
        self.size: Size = ctx.exact(first, 0, field="operands")
        self.metas: list[TensorMeta] = [batch_element(m) if flag else m for m, flag in zip(metas, carries, strict=True)]
        self.own: list[TensorMeta] = [v.meta for v in one.inputs]

    def run(
        self, graph: Graph, xs: Sequence[Any], flags: Sequence[bool], size: Size | None = None
    ) -> list[tuple[Any, bool]]:
        """Return each result of a graph that was derived from this one, and whether it has a row per example."""
        closed, builder = close([graph]), active()
        assert isinstance(builder, Builder)  # rules run inside of a trace
        sizes = sizes_at(self.ctx, self.one, self.metas)
        further: list[Any] = [*further_operands(closed, sizes)]
        named: dict[Atom, Size] = dict(sizes.items())
        own = [*flags, *[False] * len(further)]
        return batch(builder, closed.graphs[0], [*xs, *further], own, self.size if size is None else size, named)

    def rows(self, results: Sequence[tuple[Any, bool]], size: Size | None = None) -> list[Any]:
        """Return results with a row per example."""
        count = self.size if size is None else size
        return [y if flag else stretch(self.ctx, count, y) for y, flag in results]

    # -- derivatives

    def push(self, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and their tangents."""
        begins, count = Ends.of(tangents), len(self.own)
        metas = [*self.own, *begins.each(self.own)]
        with derived(self.one, metas, self.handle) as (builder, xs):
            outputs, slopes = push_parts(builder, self.one, xs[:count], begins.read(xs[count : len(metas)]))
            ends = Ends.of(slopes)
            graph = builder.finish([*outputs, *ends.arrays(slopes)], self.one.name)
        arguments = [*self.operands, *begins.arrays(tangents)]
        ys = self.rows(self.run(graph, arguments, [*self.carries, *begins.each(self.carries)]))
        return ys[: len(outputs)], ends.read(ys[len(outputs) :])

    def linearise(self, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results, and tangents that are linear in a graph of their own."""
        wrt = [i for i, t in enumerate(tangents) if t is not None]
        with derived(self.one, self.own, self.handle) as (builder, xs):
            outputs, linear = linearise(builder, self.one, xs[: len(self.own)], wrt)
            graph = builder.finish([*outputs, *linear.residuals], self.one.name)
        results = self.run(graph, self.operands, self.carries)
        count = len(outputs)
        residuals = results[count:]
        live = [whole(t) for t in tangents if t is not None]
        sizes: dict[Atom, Size] = dict(sizes_at(self.ctx, self.one, self.metas).items())
        for old, (new, flag) in zip(linear.residuals, residuals, strict=True):
            sizes |= _sizes_of_stand_in(old.meta, meta_of(new), flag)
        flags = [*[self.carries[i] for i in wrt], *[flag for _, flag in residuals]]
        arguments = [*live, *[y for y, _ in residuals]]
        slopes = self.rows(batch(live[0].builder, linear.graph, arguments, flags, self.size, sizes))
        return self.rows(results[:count]), [None if i is None else slopes[i] for i in linear.live]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands that are `Linear`."""
        is_linear, begins = [isinstance(x, Linear) for x in self.operands], Ends.of(cotangents)
        is_known = [not flag for flag in is_linear]
        known = flagged(self.own, is_known)
        metas = [*known, *begins.each([v.meta for v in self.one.outputs])]
        with derived(self.one, metas, self.handle) as (builder, xs):
            seeds = begins.read(xs[len(known) : len(metas)])
            graph = reordered(self.one, sorted(range(len(self.own)), key=lambda i: not is_linear[i]))
            pulled = transposed_ends(builder, graph, sum(is_linear), xs[: len(known)], seeds)
            ends = Ends.of(pulled)
            graph = builder.finish(ends.arrays(pulled), self.one.name)
        arguments = [*flagged(self.operands, is_known), *begins.arrays(cotangents)]
        ys = self.rows(self.run(graph, arguments, [*flagged(self.carries, is_known), *[True] * begins.number]))
        rows = ends.each(flagged(self.carries, is_linear))
        summed = [y if flag else reduce_sum(y, (0,)) for y, flag in zip(ys, rows, strict=True)]
        return by_flags(is_linear, ends.read(summed))


def of_batches(
    ctx: ShapeGuardContext,
    size: Size,
    flags: Sequence[bool],
    one: Graph,
    carries: Sequence[bool],
    operands: Sequence[Any],
) -> list[Any]:
    """Return the results for the examples of `size` batches; `flags` tell which operands differ between batches."""
    first = list(carries).index(True)
    examples = sizes_of(ctx, operands[first])[flags[first]]
    pairs = list(zip(flags, carries, strict=True))
    columns = zip(operands, pairs, strict=True)
    xs = [merged(ctx, x, (size, examples), pair) if any(pair) else x for x, pair in columns]
    rows = list(map(any, pairs))
    loops = ExampleLoops(ctx, one, rows, xs)
    named = map(name_sizes, loops.rows(loops.run(one, xs, rows)))
    return [reshape(y, (size, examples, *sizes_of(ctx, y)[1:])) for y in named]


def _sizes_of_stand_in(old: TensorMeta, new: TensorMeta, is_row: bool) -> dict[Atom, Size]:
    """Return the sizes that stand for the variables of a type, as its stand-in has them."""
    pairs = [(variable, new.extents[axis + is_row]) for variable, axis in old.variable_axes()]
    return {variable: extent.size for variable, extent in pairs if isinstance(extent, Exact)}

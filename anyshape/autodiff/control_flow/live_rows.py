"""Batch a `while` whose condition differs between examples: a trip computes the rows of those that are live.

Examples that end leave at once. An inner loop runs while no example ends, so its rows stay where they are. Each trip of
the outer loop then takes the rows of the examples that go on. Each example ends once, so the rows that leave, joined,
are the results in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape.autodiff.batch_axis import stretch
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop
from anyshape.autodiff.subgraph_ends import by_flags, flagged
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.autodiff.vmap import batch
from anyshape.errors import RaggedBatchError
from anyshape.graph.ir.builder import Builder, active
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.callback import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of
from anyshape.ops.subgraph_call import further_operands

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

    ctx: ShapeGuardContext
    size: Size
    loop: Loop
    test: Graph
    have: Inputs
    carries: list[Any]
    flags: list[Any]

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
        """Return the graph of the trips until an example ends."""
        with derived(self.loop.body, self._metas(), self.loop.handle) as (builder, xs):
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

    def _rows_of_trips(self, positions: Any, trip: Sequence[Any], added: Sequence[Any]) -> list[Any]:
        """Return what trips of all rows have stacked as rows, with the position and the trip of each."""
        if not added:
            return []
        mask, *stacked = added
        (count,), (start,) = meta_of(mask).sizes, trip
        shape = (count, self.rows)
        numbers = ew.add(cr.iota(count), mv.broadcast_to(start, (count,)))
        columns = [*stacked, mv.broadcast_in_dim(positions, shape, (1,)), mv.broadcast_in_dim(numbers, shape, (0,))]
        return [mv.reshape(y, (expr.mul(*shape), *meta_of(y).sizes[2:])) for y in columns]

    def _rows_at(self, ctx: ShapeGuardContext, carries: Sequence[Any], positions: Any) -> list[Any]:
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
        rows = so.permute(cr.iota(meta_of(order).sizes[0]), order, 0, inverse=True)
        return [sized(y, (self.size, *meta_of(y).sizes[1:])) for y in [ix.take(y, rows) for y in columns]]

    def _padded(self, trips: Any, added: Sequence[Any]) -> list[Any]:
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


def _each(ctx: ShapeGuardContext, size: Size, output: tuple[Any, bool]) -> Any:
    """Return an output of a batched graph with the batch as its first axis."""
    y, is_batched = output
    return y if is_batched else stretch(ctx, size, y)

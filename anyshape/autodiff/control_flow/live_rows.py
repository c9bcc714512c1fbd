"""Batch a `while` whose condition differs between examples: a trip computes the rows of those that are live.

Examples that end leave at once. Each ends once, so the rows that leave, joined, are the results in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape.autodiff.batch_axis import stretch
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, by_flags, flagged
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.autodiff.vmap import batch
from anyshape.errors import RaggedBatchError
from anyshape.graph.ir.builder import Builder, active
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops import sorting as so
from anyshape.ops.callback import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of
from anyshape.ops.subgraph_call import further_operands

INT = np.dtype(np.int64)


class _Parts(NamedTuple):
    """The inputs of the body of one example: rows of batched carries and captures, and what all examples share."""

    rows: Sequence[Any]
    shared: Sequence[Any]
    captured: Sequence[Any]


class LiveRows:
    """A loop over the rows of live examples.

    Its carries are the rows of batched carries and captures, the other carries, the positions of the live examples, and
    the number of the trip. Its trips give, joined, the rows that end and their positions. Stacked results of a trip are
    joined too, with their positions and their trip.
    """

    def __init__(self, ctx: ShapeGuardContext, size: Size, loop: Loop, flags: Inputs, have: Inputs) -> None:
        """Take a loop whose inputs carry the batch as `flags` say; `have` are the operands that carry it already."""
        assert loop.test is not None  # examples differ in it
        self.ctx, self.size, self.loop, self.test, self.have = ctx, size, loop, loop.test, have
        self.carries, self.flags = flags.carries, flags.flat()
        self.rows = expr.from_atom(DimVar("rows"))
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

    def _metas(self) -> list[TensorMeta]:
        """Return the types of the inputs of a body of rows: its carries, then what is captured."""
        pairs = zip(self.loop.metas.flat(), self.flags, strict=True)
        parts = self._parts([TensorMeta(m.dtype, (Exact(self.rows), *m.extents)) if f else m for m, f in pairs])
        return [*parts.rows, *parts.shared, tensor(INT, [self.rows]), tensor(INT, ()), *parts.captured]

    def _taken(self, xs: Sequence[Any]) -> tuple[list[Any], Any, Any]:
        """Return the inputs in the order of one example, the positions, and the number of the trip."""
        rows = sum(self.flags)
        shared = rows + len(self.carries) - sum(self.carries)
        captured = xs[shared + 2 : shared + 2 + len(self.flags) - shared]
        return self._whole(_Parts(xs[:rows], xs[rows:shared], captured)), xs[shared], xs[shared + 1]

    # -- graphs

    def _body(self) -> Graph:
        """Return the graph of one trip."""
        loop = self.loop
        with derived(loop.body, self._metas(), loop.handle) as (builder, xs):
            inputs, positions, trip = self._taken(xs)
            ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="batching")
            outputs = loop.outputs(batch(builder, loop.body, inputs, self.flags, self.rows))
            pairs = zip(outputs.carries, self.carries, strict=True)
            carries = [stretch(ctx, self.rows, y) if flag and not is_batched else y for (y, is_batched), flag in pairs]
            after = [*carries, *inputs[len(carries) :]]
            goes_on = _each(ctx, self.rows, batch(builder, self.test, after, self.flags, self.rows)[0])
            (live,), (done,) = dy.nonzero(goes_on), dy.nonzero(ew.logical_not(goes_on))
            parts = self._parts(after)
            stacked = [_each(ctx, self.rows, end) for end in outputs.stacked]
            if stacked:
                stacked += [positions, mv.broadcast_in_dim(trip, (self.rows,), ())]
            ends = [
                *[ix.take(y, live) for y in parts.rows],
                *parts.shared,
                ix.take(positions, live),
                ew.add(trip, ew.lift(1, trip)),
                *self._rows_at(ctx, carries, done),
                ix.take(positions, done),
                *stacked,
            ]
            return builder.finish(ends, loop.body.name)

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

    # -- the loop

    def run(self) -> list[Any]:
        """Return the results of the loop for all examples."""
        ctx, inputs = self.ctx, self._stretched()
        builder = active()
        assert isinstance(builder, Builder)  # rules run inside of a trace
        goes_on = _each(ctx, self.size, batch(builder, self.test, inputs, self.flags, self.size)[0])
        (live,), (done,) = dy.nonzero(goes_on), dy.nonzero(ew.logical_not(goes_on))
        parts = self._parts(inputs)
        starts = [*[ix.take(x, live) for x in parts.rows], *parts.shared, live, cr.full((), 0, INT)]
        closed = close([self._test(), self._body()])
        test, body = closed.graphs
        operands = [*starts, *parts.captured, *further_operands(closed, self.loop.constant_sizes())]
        joined = len(body.outputs) - len(starts)
        results = lp.while_loop(test, body, len(starts), *operands, joined=joined)
        ended, added = self._split([*map(name_sizes, results[len(starts) + 1 :])])
        first = [*self._rows_at(ctx, inputs[: len(self.carries)], done), done]
        ys = self._in_order(first, ended)
        return [*ys, *self._padded(results[len(starts) - 1], added)] if self.loop.has_mask else ys

    def _stretched(self) -> list[Any]:
        """Return the operands with the batch as their first axis, where the body takes rows of them."""
        columns = zip(self.loop.inputs.flat(), self.flags, self.have.flat(), strict=True)
        return [stretch(self.ctx, self.size, x) if flag and not has else x for x, flag, has in columns]

    def _split(self, joined: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the joined results of examples that end, and of all trips."""
        count = len(self.carries) + 1
        return joined[:count], joined[count:]

    def _in_order(self, first: Sequence[Any], ended: Sequence[Any]) -> list[Any]:
        """Return the rows of examples that made no trip and of those that ended later, in the order of the batch."""
        *columns, order = [mv.concatenate([a, b], 0) for a, b in zip(first, ended, strict=True)]
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


def _each(ctx: ShapeGuardContext, size: Size, output: tuple[Any, bool]) -> Any:
    """Return an output of a batched graph with the batch as its first axis."""
    y, is_batched = output
    return y if is_batched else stretch(ctx, size, y)

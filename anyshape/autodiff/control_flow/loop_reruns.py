"""Reruns as rules see them: the loop that runs again, and the scan whose trips read what it gives."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.branch_derivatives import meta_of_operand
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, reordered
from anyshape.autodiff.replay import inline
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape, elements
from anyshape.ops.creation import full, size_value
from anyshape.ops.loops import Operands, rerun, split_operands
from anyshape.ops.subgraph_call import further_operands
from anyshape.support.lazy_dataclass import NamedTuple, dataclass


class Made(NamedTuple):
    """Stands among the operands of a scan for what the loop gives again: its position there, and the type of all."""

    position: int
    meta: TensorMeta


@dataclass
class LoopAgain:
    """Loop that runs again: its closed body gives the next carries, then what a trip of a scan reads of this one.

    - `pieces`: how many of these are pieces, the last ones.
    - `slots`: its checkpoint slots as they are filled; `count`: how many there may be.
    - `metas`: the types of the operands, where the loop is of one example of a batch.
    """

    ctx: ShapeGuardContext
    body: Graph
    start: lp.Layout
    pieces: int
    operands: Sequence[Any]
    slots: Sequence[Any]
    count: int
    reverse: bool
    metas: Sequence[TensorMeta] = ()

    @property
    def length(self) -> Size:
        """Number of trips."""
        stack = self._types()[self.start.stacks.start]
        size: Size = stack.sizes[0] if stack.sizes is not None else 0
        return size

    def _types(self) -> list[TensorMeta]:
        return list(self.metas or map(meta_of_operand, self.operands))

    def made(self) -> tuple[list[Made], list[Made]]:
        """Return what stands for the stacks and for the joined arrays of what the loop gives again."""
        metas = self._types()
        ctx = ShapeGuardContext(self.ctx.scope, self.ctx.primitive, self.ctx.where, metas, self.ctx.rule)
        types = lp.loop_types(ctx, self.body, metas, self.start, self.pieces, self.length)[self.start.carries :]
        made = [Made(i, meta) for i, meta in enumerate(types)]
        count = len(made) - self.pieces
        return made[:count], made[count:]

    def scan(self, loop: Loop, graph: Graph, inputs: Inputs, reverse: bool, ends: Sequence[Shape]) -> tuple[Any, ...]:
        """Return the results of a scan whose body was derived from this `loop`; `Made` stands for stacks there."""
        order = Inputs.of(inputs.layout(), range(len(inputs.flat())))
        own = [i for i, x in zip(order.elements, inputs.elements, strict=True) if not isinstance(x, Made)]
        again = [i for i, x in zip(order.elements, inputs.elements, strict=True) if isinstance(x, Made)]
        closed = close([reordered(graph, replace(order, elements=[*own, *again]).flat())])
        xs = inputs.flat()
        own_operands = [*inputs.carries, *[xs[i] for i in own], *inputs.captured]
        own_operands += further_operands(closed, loop.constant_sizes())
        operands = Operands(self.operands, self.slots, own_operands)
        against = reverse != self.reverse
        return rerun(
            self.body, self.start, closed.graphs[0], inputs.layout(), operands,
            reverse=reverse, against=against, slots=self.count, ends=ends,
        )  # fmt: skip


class RerunLoop(Loop):
    """Scan of a rerun. `Made` stands for its operands that a loop gives again."""

    length: Size
    again_loop: LoopAgain
    checkpoint: int

    def __init__(
        self, again: LoopAgain, operands: Sequence[Any], body: Graph, layout: lp.Layout, **options: Any
    ) -> None:
        own = options.pop("metas", None) or list(map(meta_of_operand, operands))
        xs = [*operands, *[None] * layout.pieces]
        super().__init__(again.ctx, xs, body, layout, 0, metas=own, **options)
        self.again_loop, self.length, self.checkpoint = again, again.length, again.count

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
        """Return the results of a rerun with another scan."""
        return self.again_loop.scan(self, graph, inputs, reverse, ends)


def of_linearised(loop: Loop, graph: Graph, stacks: int, mask: Any, slots: Sequence[Any]) -> LoopAgain:
    """Return the loop that gives again what `graph` does: `stacks` of them, and then pieces.

    The mask of a loop of unknown length tells which trips follow others.
    """
    closed, carries = close([graph]), loop.layout.carries
    inputs = loop.inputs if mask is None else replace(loop.inputs, elements=[_followed(mask)])
    operands = [*inputs.flat(), *further_operands(closed, loop.constant_sizes())]
    pieces = len(graph.outputs) - carries - stacks
    count = int(loop.checkpoint)
    return LoopAgain(loop.ctx, closed.graphs[0], inputs.layout(), pieces, operands, slots, count, loop.reverse)


def _followed(mask):
    """Return for each trip whether another one follows."""
    (length,) = meta_of(mask).sizes
    return mv.slice(mv.concatenate([mask, full((1,), False, bool)], 0), (1,), (length,))


def first_slots(loop: Loop, batched: Sequence[bool] = (), count: int = 0) -> list[Any]:
    """Return checkpoint slots that hold the first carries alone; flagged ones carry a batch.

    There are as many as the loop has, or `count`.
    """
    others = expr.sub(lp.rows_of_slots(count or loop.checkpoint, loop.length), 1)
    slots: list[Any] = [mv.concatenate([full((1,), 0, lp.INT), full((others,), -1, lp.INT)], 0)]
    carries = loop.inputs.carries
    columns = zip(lp.changing_carries(loop.body, loop.layout), carries, batched or [False] * len(carries), strict=True)
    for changes, x, flag in columns:
        sizes = sizes_of(loop.ctx, x)
        batch, own = sizes[:flag], sizes[flag:]
        if changes:
            shape = mv.concatenate([mv.reshape(size_value(n), (1, 1)) for n in own], 1)
            rest = full((others, len(own)), 0, lp.INT)
            slots += [mv.reshape(x, (*batch, elements(own))), mv.concatenate([shape, rest], 0)]
        else:
            rest = full((*batch, others, *own), 0, meta_of(x).dtype)
            slots.append(mv.concatenate([mv.reshape(x, (*batch, 1, *own)), rest], int(flag)))
    return slots


def slot_flags(loop: Loop, batched: Sequence[bool]) -> list[bool]:
    """Return which checkpoint slots carry a batch, where flagged carries do: trips and shapes never do."""
    columns = zip(lp.changing_carries(loop.body, loop.layout), batched, strict=True)
    return [False, *[f for changes, flag in columns for f in ((flag, False) if changes else (flag,))]]


# -- reruns as loops ---------------------------------------------------------------------------------------------


class Rerun:
    """Rerun and its operands, taken apart."""

    start: lp.Layout
    layout: lp.Layout
    ctx: ShapeGuardContext
    ends: Sequence[Shape]
    like: Sequence[Any]
    count: int
    loop_body: Graph
    body: Graph
    reverse: bool
    against: bool

    def __init__(
        self,
        ctx: ShapeGuardContext,
        operands: Sequence[Any],
        bodies: tuple[Graph, Graph],
        start: tuple[int, int, int],
        layout: tuple[int, int, int],
        reverse: bool,
        against: bool,
        slots: int,
        ends: Sequence[Shape],
        like: Sequence[Any] = (),
        metas: Sequence[TensorMeta] | None = None,
    ) -> None:
        """Take a rerun apart. `metas` are the types of operands, where it is of one example of a batch."""
        self.ctx, self.ends, self.like, self.count = ctx, ends, like, slots
        self.loop_body, self.body = bodies
        self.start, self.layout, self.reverse, self.against = lp.Layout(*start), lp.Layout(*layout), reverse, against
        self.operands: Operands = split_operands(operands, self.loop_body, self.start)
        types = metas or [meta_of_operand(x) for x in operands]
        self.metas: Operands = split_operands(types, self.loop_body, self.start)
        self.again: LoopAgain = LoopAgain(
            ctx, self.loop_body, self.start, self.layout.pieces, self.operands.loop, self.operands.slots, slots,
            reverse != against, self.metas.loop,
        )  # fmt: skip

    def scan(self) -> RerunLoop:
        """Return the scan as a loop, from which rules derive another one."""
        stacks, joined = self.again.made()
        operands = self.operands.of_scan(self.layout, stacks, joined)
        metas = self.metas.of_scan(self.layout, [x.meta for x in stacks], [x.meta for x in joined])
        like = [*self.like, *self.operands.loop]
        options: dict[str, Any] = {"ends": self.ends, "like": like, "metas": metas}
        return RerunLoop(self.again, operands, self.body, self.layout, reverse=self.reverse, **options)

    def loop(self) -> Loop:
        """Return the loop as one that stacks and joins what it gives."""
        options: dict[str, Any] = {"checkpoint": "carry", "like": self.like, "metas": self.metas.loop}
        pieces, reverse = self.layout.pieces, self.again.reverse
        return Loop(self.ctx, self.operands.loop, self.loop_body, self.start, pieces, reverse, **options)

    def first_loop(self) -> Loop:
        """Return the same loop with the length of each piece behind the stacks."""
        loop = self.loop()
        metas = loop.metas.flat()
        with derived(self.loop_body, metas, loop.handle) as (builder, xs):
            ends = loop.outputs(inline(builder, self.loop_body, xs[: len(metas)]))
            lengths = [size_value(sizes_of(self.ctx, y)[0]) for y in ends.joined]
            graph = builder.finish([*ends.carries, *ends.stacked, *lengths, *ends.joined], self.loop_body.name)
        closed = close([graph])
        operands = [*self.operands.loop, *further_operands(closed, loop.constant_sizes())]
        options: dict[str, Any] = {"checkpoint": "carry", "like": self.like}
        pieces, reverse = self.layout.pieces, self.again.reverse
        return Loop(self.ctx, operands, closed.graphs[0], self.start, pieces, reverse, **options)

    def second_loop(self, made: Outputs) -> Loop:
        """Return the scan over the stacks and the joined arrays that the first loop gives."""
        pieces = self.layout.pieces
        stacks, lengths = made.stacked[: len(made.stacked) - pieces], made.stacked[len(made.stacked) - pieces :]
        operands = [*self.operands.of_scan(self.layout, stacks, made.joined), *lengths]
        options: dict[str, Any] = {"ends": self.ends, "checkpoint": "carry", "like": self.like}
        return Loop(self.ctx, operands, self.body, self.layout, 0, self.reverse, **options)

    def results(self) -> list[Any]:
        """Return the results of both loops, one after the other."""
        first = self.first_loop()
        outputs = first.again(first.body, first.inputs, (), first.joined).outputs
        second = self.second_loop(replace(outputs, joined=[*map(name_sizes, outputs.joined)]))
        assert second.length is not None
        ends = self.ends
        return [*second.scan(second.body, second.inputs, second.lengths, 0, second.length, self.reverse, ends)]

"""Transpose scans whose body is linear: a scan in the other direction.

Carries of the transposed scan are the cotangents of the carries, and the sums of the cotangents of captured values. A
carry that is known runs ahead: a scan of the known part stacks it.

Reruns as rules see them: the loop that runs again, and the scan whose trips read what it gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from anyshape.autodiff.control_flow.branch_derivatives import meta_of_operand, or_zeros
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, reordered
from anyshape.autodiff.cotangents import CotangentSum
from anyshape.autodiff.linearize_transpose import transposed_sums
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import add_tangents
from anyshape.autodiff.structural_zeros import Ends, Part, flagged, read_kinds, whole
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.builder import Builder, Traced
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.ir.op_local import close
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.contraction import Axes, dot_general, dot_general_op
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape, elements
from anyshape.ops.creation import full, size_value
from anyshape.ops.loops import Operands, rerun, split_operands
from anyshape.ops.movement import pad_unchecked, strided
from anyshape.ops.subgraph_call import further_operands
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace

BOOL = np.dtype(bool)


def linear_inputs(loop: Loop, linear: Inputs) -> Inputs:
    """Return the flags of the linear inputs with the carries that a trip makes depend on them."""
    while True:
        values = {v for v, flag in zip(loop.body.inputs, linear.flat(), strict=True) if flag}
        for node in loop.body.nodes:
            if not values.isdisjoint(node.inputs):
                values.update(node.outputs)
        carries = [a or v in values for a, v in zip(linear.carries, loop.body.outputs, strict=False)]
        if carries == linear.carries:
            return linear
        linear = replace(linear, carries=carries)


@dataclass(frozen=True)
class Product:
    """Sum over trips of products of two values: one product of their stacks, computed after the loop.

    Each stack is an element of the known ones by position, or else of those that the trips add for it.
    """

    operands: tuple[tuple[bool, int], tuple[bool, int]]
    contract: tuple[Axes, Axes]
    batch: tuple[Axes, Axes]

    def of(self, known: Sequence[Any], added: Sequence[Any], shape: Shape | None) -> Any:
        """Return the sum for these stacks, in the shape of what it is a cotangent of."""
        x, y = [(known if is_known else added)[i] for is_known, i in self.operands]
        first, second = self.contract
        contract = [0, *[axis + 1 for axis in first]], [0, *[axis + 1 for axis in second]]
        batch = [axis + 1 for axis in self.batch[0]], [axis + 1 for axis in self.batch[1]]
        total = dot_general(x, y, contract=contract, batch=batch)
        return total if shape is None else _fitted(total, shape)


def _fitted(x: Traced, shape: Shape):
    """Return an array in a shape that it has where there is a trip: without one, zeros of this shape."""
    scope, sizes = x.builder.scope, meta_of(x).sizes
    assert sizes is not None  # products have the sizes of their operands
    if all(map(scope.same, sizes, shape)):
        return x
    least, none = [expr.minimum(a, b) for a, b in zip(sizes, shape, strict=True)], [0] * len(shape)
    high = [expr.sub(size, low) for size, low in zip(shape, least, strict=True)]
    return pad_unchecked(strided(x, none, least, [1] * len(shape)), none, high, none)


@dataclass(frozen=True)
class TransposedBody:
    """Body of the transposed scan, and the ends that it reads (`seeds`) and gives (`results`), of each kind.

    - Its carries are the cotangents of the carries, then the sums of the cotangents of captured linear inputs that are
      not products. The operands of products are stacks behind the others. With a checkpoint there are none.
    - Its elements are the known elements, then the cotangents of stacked outputs; its pieces likewise.
    - It gives the cotangents of linear elements as stacks, and the cotangents of linear pieces joined.
    """

    graph: Graph
    seeds: Outputs
    results: Inputs
    products: list[Product | None]


def transposed_body(loop: Loop, linear: Inputs, seeds: Outputs) -> TransposedBody:
    """Return the body of the transposed scan for cotangents of the outputs. A trip may give zeros by construction."""
    ends = Outputs(*map(Ends.of, seeds.kinds()))
    while True:
        body = _transposed_body(loop, linear, ends)
        if body.results.carries == ends.carries:
            return body
        ends = replace(ends, carries=body.results.carries)


def _transposed_body(loop: Loop, linear: Inputs, seeds: Outputs) -> TransposedBody:
    """Return the body for cotangents with these ends, which may not be the ones that a trip gives."""
    known, pulled = loop.metas.chosen(linear, wanted=False), loop.metas.chosen(linear)
    metas = known.joined(_cotangent_types(loop, pulled, seeds))
    with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
        residuals, own = Inputs.of(metas.layout(), xs[: len(metas.flat())]).split(known)
        sums, marks = _Sums(builder, pulled), _Sums(builder, pulled)
        cotangents = read_kinds(seeds.kinds(), own.kinds()[:3])
        first, count = _linear_first(loop.body, linear), len(pulled.flat())
        totals = transposed_sums(builder, first, count, residuals.flat(), cotangents, sums.starts)
        cts = Inputs.of(pulled.layout(), [None if t is None else t.end() for t in totals])
        terms = [t.terms for t in Inputs.of(pulled.layout(), totals).captured]
        stacks = _Stacks(loop, builder, residuals.elements)
        products = [None if loop.checkpoint else stacks.product(ct) for ct in cts.captured]
        ends = _ends_of_trip(seeds.carries, cts, products, terms)
        values = flagged(loop.body.inputs, linear.flat())
        written = lambda xs: Inputs.of(pulled.layout(), loop.as_written(xs.flat(), values))
        arrays, zeros = written(cts.map(whole)), written(_marks_of_trip(cts, ends, marks, terms))
        arrays.captured = sums.after(arrays.captured, ends.captured.live)
        zeros.captured = marks.after(zeros.captured, ends.captured.parted)
        ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="transpose")
        for kind in (arrays, zeros):
            kind.carries = [or_zeros(ctx, m, ct) for ct, m in zip(kind.carries, pulled.carries, strict=True)]
        kinds = zip(ends.kinds(), arrays.kinds(), zeros.kinds(), strict=True)
        carries, elements, pieces, captured = [kind.each(*both) for kind, *both in kinds]
        graph = builder.finish([*carries, *captured, *elements, *stacks.added, *pieces], loop.body.name)
    graph = _with_inputs_at(graph, len(metas.carries), [*sums.inputs(), *marks.inputs()])
    return TransposedBody(graph, seeds, ends, products)


def _marks_of_trip(cts: Inputs, ends: Inputs, sums: _Sums, terms: Sequence[Sequence[Part] | None]) -> Inputs:
    """Return the marks that a trip gives, None where there are none; of captured values, sums with these terms."""
    marks = Inputs(*[kind.marks(xs) for kind, xs in zip(ends.kinds(), cts.kinds(), strict=True)])
    return replace(marks, captured=[sums.of_terms(i, term) for i, term in enumerate(terms)])


def _ends_of_trip(
    carries: Ends, cts: Inputs, products: Sequence[Product | None], terms: Sequence[Sequence[Any] | None]
) -> Inputs:
    """Return the ends that a trip gives, of each kind, from cotangents whose carries have these.

    A sum over trips is zero by construction where no trip has a term.
    """
    parts = zip(carries.parted, cts.carries, strict=True)
    own = Ends(carries.live, [before or ct is None or isinstance(ct, Part) for before, ct in parts])
    summed = [ct is not None and p is None for ct, p in zip(cts.captured, products, strict=True)]
    marked = [flag and bool(own) for flag, own in zip(summed, terms, strict=True)]
    return Inputs(own, Ends.of(cts.elements), Ends.of(cts.pieces), Ends(summed, marked))


class _Sums:
    """Sums over trips for captured values, carries of the transposed scan. Parts are added to them in place.

    - `carries`: by position among the captured values, those that the body has so far.
    - `starts`: by position among the linear inputs, what gives the carry.
    """

    def __init__(self, builder: Builder, pulled: Inputs) -> None:
        self.builder, self.metas = builder, pulled.captured
        self.carries: dict[int, Any] = {}
        self.first = len(pulled.flat()) - len(pulled.captured)
        self.starts = {self.first + i: partial(self._carry, i) for i in range(len(pulled.captured))}

    def _carry(self, i: int):
        self.carries[i] = self.builder.input(self.metas[i])
        return self.carries[i]

    def of_terms(self, i: int, terms: Sequence[Part] | None) -> Any:
        """Return the mark of a sum after a trip with these terms, None if they may reach every element."""
        total = CotangentSum(self.starts[self.first + i])
        for term in terms or ():
            total.add(term.ones())
        return total.value()

    def after(self, cts: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
        """Return the flagged sums after a trip that gives these terms, which may be the sum already."""
        pairs = enumerate(zip(cts, flags, strict=True))
        return [(ct if i in self.carries else add_tangents(self._carry(i), ct)) if f else None for i, (ct, f) in pairs]

    def inputs(self) -> list[Value]:
        """Return the inputs of the body that are sums, in the order of captured values."""
        return [x.value for _, x in sorted(self.carries.items())]


def _with_inputs_at(graph: Graph, position: int, inputs: Sequence[Value]) -> Graph:
    """Return a graph that is not yet closed with these of its inputs at a position."""
    others = [v for v in graph.inputs if v not in inputs]
    return replace(graph, inputs=(*others[:position], *inputs, *others[position:]))


def _cotangent_types(loop: Loop, pulled: Inputs, seeds: Outputs) -> Inputs:
    """Return the types of the cotangents of linear carries and of outputs, and of their marks."""
    outputs = loop.outputs([v.meta for v in loop.body.outputs])
    carries = [_after(loop, m) for m in seeds.carries.each(pulled.carries)]
    joined = [_of_new_size(m) for m in seeds.joined.each(outputs.joined)]
    return Inputs(carries, seeds.stacked.each(outputs.stacked), joined, [])


def with_last_inputs_at(graph: Graph, position: int, count: int) -> Graph:
    """Return a graph that is not yet closed with so many of its last inputs at a position."""
    first, last = graph.inputs[: len(graph.inputs) - count], graph.inputs[len(graph.inputs) - count :]
    return replace(graph, inputs=(*first[:position], *last, *first[position:]))


class _Stacks:
    """Finds the products among cotangents of captured values, and collects the operands that trips must add."""

    def __init__(self, loop: Loop, builder: Builder, known: Sequence[Traced]) -> None:
        self.known = {x.value: i for i, x in enumerate(known)}
        self.maker = {node.outputs[0]: node for node in builder.nodes}
        self.builder, self.loop = builder, loop
        self.added: list[Traced] = []

    def product(self, ct: Traced | None) -> Product | None:
        """Return the product that a cotangent is, None where it is none or its sizes differ between trips."""
        node = None if ct is None else self.maker.get(ct.value)
        if node is None or node.op is not dot_general_op or not all(map(self._is_constant, node.inputs)):
            return None
        x, y = [self._stack(v) for v in node.inputs]
        return Product((x, y), **dict(node.params))

    def _is_constant(self, value: Value) -> bool:
        return self.loop.is_constant(value.meta)

    def _stack(self, value: Value) -> tuple[bool, int]:
        """Return where the stack of a value is."""
        if value in self.known:
            return True, self.known[value]
        position = next((i for i, x in enumerate(self.added) if x.value is value), len(self.added))
        if position == len(self.added):
            self.added.append(self.builder.handle(self.builder, value))
        return False, position


def _linear_first(body: Graph, linear: Inputs) -> Graph:
    """Return the body with its linear inputs first."""
    flags = linear.flat()
    return reordered(body, sorted(range(len(flags)), key=lambda i: not flags[i]))


def _after(loop: Loop, meta: TensorMeta) -> TensorMeta:
    """Return the type of the cotangent of a carry after a trip, whose changing sizes are new variables."""
    changes = [isinstance(e, Exact) and not loop.varying.isdisjoint(expr.variables(e.size)) for e in meta.extents]
    extents = [Exact(expr.from_atom(DimVar("size"))) if c else e for e, c in zip(meta.extents, changes, strict=True)]
    return TensorMeta(meta.dtype, tuple(extents))


def _of_new_size(meta: TensorMeta) -> TensorMeta:
    """Return the type of a cotangent of a joined result: as many rows as its trip gave."""
    return TensorMeta(meta.dtype, (Exact(expr.from_atom(DimVar("rows"))), *meta.extents[1:]))


# -- known carries -----------------------------------------------------------------------------------------------


def with_known_ahead(loop: Loop, linear: Inputs) -> tuple[Loop, Inputs]:
    """Return a scan of the linear part, and its linear inputs: known carries are elements of stacks.

    A loop of the known part runs ahead and stacks them. A loop of unknown length so gets as many trips as it has.
    """
    if all(linear.carries) and loop.test is None:
        return loop, linear
    known = linear.map(lambda flag: not flag)
    values = Inputs.of(loop.layout, list(loop.body.inputs))
    outputs = loop.outputs(loop.body.outputs)
    carries = values.chosen(known).carries
    after = flagged(outputs.carries, known.carries)
    ahead = replace(loop.body, inputs=tuple(values.chosen(known).flat()), outputs=(*after, *carries))
    results, mask, _ = loop.ahead(ahead, known)
    stacks, elements = list(results.stacked), list(carries)
    if mask is not None:
        stacks, elements = [*stacks, mask], [*elements, Value(tensor(BOOL, ()))]
    body = replace(
        loop.body,
        inputs=tuple(replace(values.with_carries(linear.carries), elements=[*values.elements, *elements]).flat()),
        outputs=tuple(replace(outputs, carries=flagged(outputs.carries, linear.carries)).flat()),
    )
    operands = replace(loop.inputs.with_carries(linear.carries), elements=[*loop.inputs.elements, *stacks])
    flags = replace(linear.with_carries(linear.carries), elements=[*linear.elements, *[False] * len(elements)])
    return loop.scan_of(body, operands), flags


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

    def __init__(self, again: LoopAgain, operands: Sequence[Any], body: Graph, layout: lp.Layout, **options) -> None:
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

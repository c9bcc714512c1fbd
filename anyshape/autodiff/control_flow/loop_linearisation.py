"""Linearise the body of a loop: a body of the values, which adds what each trip saves, and a body of the linear map.

The linear map reads what depends on the carries as elements of stacks. Values of sizes that differ between trips are
saved as pieces of joined arrays, and so is a carrier for each such size. Values that do not depend on the carries are
computed again from elements and captured values.

Forward and reverse mode of a loop.

Tangents in a graph of their own make two loops. The first computes the values and stacks the residuals. The second is a
scan of the residuals that is linear in the tangents; its transpose is a scan in the other direction. So the number of
trips, which the first loop counts, has no bound. With checkpoint slots the first loop fills these, and the scan is a
rerun.

Derive the body of values and tangents of a loop.

Which carries have a tangent is a fixed point: a trip may give one to a carry that begins without.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from anyshape.autodiff.control_flow.branch_derivatives import meta_of_operand, or_zeros
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, reordered
from anyshape.autodiff.control_flow.loop_transposition import (
    linear_inputs,
    of_linearised,
    transposed_body,
    with_known_ahead,
)
from anyshape.autodiff.control_flow.undone_writes import Planner, Undo, drop_unread_loops, undo
from anyshape.autodiff.jvp import Pushed, are_inside, push_parts
from anyshape.autodiff.linearize_transpose import LinearMap, linearise
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import ADD, ELEMENTWISE, FILL, MOVE, Linear, zero_flow, zeros_like
from anyshape.autodiff.structural_zeros import (
    Ends,
    Part,
    by_flags,
    filled,
    flagged,
    indicator,
    masked,
    nonzero,
    read_kinds,
    resized,
    whole,
)
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, Traced, activate, active
from anyshape.graph.ir.graph import Graph, Node, Op, Value, draws, happens_once, raises, walk, without_effects
from anyshape.graph.ir.op_local import close
from anyshape.graph.prover.constraints import Condition, at_least
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import elementwise as ew
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import localise, meta_of, sizes_of
from anyshape.ops.core.flop_counts import Shape, elements
from anyshape.ops.creation import full, full_op, size_value
from anyshape.ops.elementwise import select
from anyshape.ops.movement import broadcast_in_dim, broadcast_in_dim_op, reshape
from anyshape.ops.subgraph_call import size_carrier
from anyshape.support.lazy_dataclass import dataclass, replace

BOOL = np.dtype(bool)


@dataclass(frozen=True)
class LinearisedBody:
    """Body of the values, which adds what is saved, and the body of the linear map.

    - `map`: of each kind its inputs are the tangents of `active` ones, the known ones that are `read`, and what is
      saved. Its outputs are the tangents of `live` outputs.
    - `stacked`: the number of saved stacks. Stacks of lengths follow them: `added` stacks in all.
    - `remade`: the body of a loop in the other direction, which makes the other stacks and pieces that the map reads.
      Its carries are the last ones of `undone`. Lengths of its `remade_pieces` follow its stacks.
    - `lengths`: the positions of lengths among these: of each saved piece, then of each joined output that has none.
    - `again`: with checkpoint slots, the body that gives what is read of a trip, and nothing is saved.
    """

    values: Graph
    map: Graph
    active: Inputs
    read: Inputs
    live: Outputs
    stacked: int
    added: int
    lengths: tuple[int, ...]
    again: Graph | None = None
    remade: Graph | None = None
    undone: tuple[int, ...] = ()
    remade_pieces: int = 0


def linearised_body(loop: Loop, active: Inputs) -> LinearisedBody:
    """Linearise the body of a loop in the `active` inputs and in the carries that these reach."""
    while True:
        tape = _Tape(loop, active)
        carries = [a or b for a, b in zip(active.carries, tape.live.carries, strict=True)]
        if carries == active.carries:
            tape.live.carries = carries
            return tape.bodies()
        active = replace(active, carries=carries)


class _Tape:
    """Values of a body, its linear map, and the tape: what each trip saves for the linear map."""

    def __init__(self, loop: Loop, active: Inputs) -> None:
        self.loop, self.active = loop, active
        self.wrt = [i for i, flag in enumerate(active.flat()) if flag]
        with derived(loop.body, loop.metas.flat(), loop.handle) as (builder, inputs):
            outputs, self.map = linearise(builder, loop.body, inputs, self.wrt)
            outputs = loop.as_written(outputs, loop.body.outputs)
        self.builder, self.inputs = builder, [x.value for x in inputs]
        self.outputs = loop.outputs(outputs)
        self.live = loop.outputs([i is not None for i in self.map.live])
        self.sources = _Sources(loop, builder, self.inputs)
        self.map = replace(self.map, residuals=tuple(map(self._by_comparisons, self.map.residuals)))
        graph = self.map.graph
        read = {v for node in graph.nodes for v in node.inputs} | {*graph.outputs}
        self.is_read = [v in read for v, _ in zip(graph.inputs[len(self.wrt) :], self.map.residuals, strict=False)]
        self._choose([x.value for x, flag in zip(self.map.residuals, self.is_read, strict=True) if flag])
        self._measure()

    def _by_comparisons(self, x: Traced) -> Traced:
        """Return the share of an extreme as choices by comparisons. These are saved, in an eighth of the memory."""
        builder, sources, node = self.builder, self.sources, self.sources.maker.get(x.value)
        if node is None or node.op is not ew.share_op or not x.meta.sizes or x.value in sources.again:
            return x
        is_greater = any(n.op is ew.gt_op and {*n.inputs} == {*node.inputs} for n in builder.nodes)  # which a mask is
        builder.closed = False
        with activate(builder):
            (a, no_a), (b, no_b) = [(y, ew.isnan(y)) for y in map(partial(builder.handle, builder), node.inputs)]
            more, less = (ew.gt(a, b), ew.gt(b, a)) if is_greater else (ew.lt(b, a), ew.lt(a, b))
            beside = ew.logical_or(*sorted([no_a, no_b], key=lambda y: y.value.id))
            chosen = ew.select(more, ew.lift(1, x), ew.lift(0.5, x))
            choices = chosen, ew.select(less, 0.0, chosen)
            share = ew.select(beside, float("nan"), choices[-1])
        builder.closed = True
        sources.choose([y.value for y in (*choices, share)], [y.value for y in (more, less, beside)])
        return share

    def _choose(self, residuals: Sequence[Value]) -> None:
        """Choose what is saved of the residuals that are read for more than sizes, and which inputs the map reads.

        With a checkpoint, the linear map computes the body again from its inputs. It also does so where a value has no
        exact sizes, as this cannot be saved. The same holds where examples of a batch would save different sizes.
        """
        loop, sources = self.loop, self.sources
        saved = sources.saved_for(residuals)
        self.remade = sources.made_again(residuals)
        read = sources.positions_of(self.remade)
        unsaved = any(x.meta.sizes is None for x in self.map.residuals)
        self.recomputes = unsaved or self._is_ragged(saved) or bool(loop.checkpoint and saved)
        if self.recomputes:
            self._refuse_draws()
            read = self._read_again(residuals, whole=unsaved)
            saved = [v for i, v in enumerate(self.inputs[: loop.layout.carries]) if i in read]
        self.read = Inputs.of(loop.layout, [i in read and i >= loop.layout.carries for i in range(len(self.inputs))])
        self._sort(self._without_reads(saved))

    def _without_reads(self, saved: Sequence[Value]) -> Sequence[Value]:
        """Return what is to be saved where writes to carries are undone, if that is less."""
        self.undo: Undo | None = None
        if self.recomputes or self.loop.test is not None or not saved:
            return saved
        carries = [i for i, v in enumerate(self.inputs[: self.loop.layout.carries]) if self.loop.is_constant(v.meta)]
        lasts = {i: self.outputs.carries[i].value for i in carries if isinstance(self.outputs.carries[i], Traced)}
        firsts = {i: self.inputs[i] for i in lasts if self.inputs[i].meta.rank}
        self.undo = Planner(self.builder, firsts, lasts, self.sources.again).plan(saved)
        return saved if self.undo is None else self.undo.saved

    def _refuse_draws(self) -> None:
        """Raise UnsupportedFunctionError for trips that draw: to compute them again would draw other numbers."""
        if any(draws(node) for node in self.loop.body.nodes):
            problem = "computes its trips again in reverse mode, and they draw random numbers"
            name = "scan" if self.loop.test is None else "while_loop"
            raise UnsupportedFunctionError(name, problem, "draw before the loop", self.loop.ctx.where)

    def _is_ragged(self, saved: Sequence[Value]) -> bool:
        """Return whether examples of a batch may save different sizes."""
        return self.builder.is_batched and not all(self.loop.is_constant(v.meta) for v in saved)

    def _sort(self, saved: Sequence[Value]) -> None:
        """Tell the saved values that have the same sizes in all trips from others."""
        self.stacked = [v for v in saved if self.loop.is_constant(v.meta)]
        self.pieces = [v for v in saved if v not in self.stacked]
        remade = [] if self.undo is None else self.undo.remade
        self.remade_stacks = [v for v in remade if self.loop.is_constant(v.meta)]
        self.remade_pieces = [v for v in remade if v not in self.remade_stacks]
        self.changing = self._changing_variables()

    def _read_again(self, residuals: Sequence[Value], whole: bool) -> set[int]:
        """Return the positions of the inputs that residuals are computed from again, or the `whole` body.

        Where a trip makes sizes or may raise, it has all of its inputs, so that it does the same again.
        """
        if whole or self.loop.body.runtime or any(map(raises, self.loop.body.nodes)):
            return set(range(len(self.inputs)))
        return self.sources.ancestors_of(residuals)

    def _changing_variables(self) -> list[DimVar]:
        """Return the variables of the linear map that differ between trips, and that no piece gives."""
        residuals = [] if self.recomputes else [*[x.value for x in self.map.residuals], *self._measured_again()]
        metas = [v.meta for v in (*self.inputs[: self.loop.layout.carries], *self.pieces, *residuals)]
        named = [v for meta in metas for size in _sizes(meta) for v in expr.variables(size)]
        own = self._sizes_of_pieces()
        return [v for v in dict.fromkeys(named) if v not in self.loop.constant and v not in own]

    def _sizes_of_pieces(self) -> set[DimVar]:
        """Return the variables that pieces give: read ones, and vectors that are saved or that loops make again."""
        made = [v for v in self.remade_pieces if v in [y for y, _ in self.builder.runtime.values()]]
        read = Inputs.of(self.loop.layout, self.inputs).chosen(self.read).pieces
        rows = {v for piece in read for v, axis in piece.meta.variable_axes() if not axis}
        return rows.union(*map(_own_size, (*self.pieces, *made)))

    def _measured_again(self) -> list[Value]:
        """Return the operands of what the linear map makes again, which may read the sizes of any."""
        makers = [self.sources.maker[v] for v in self.remade if v in self.sources.maker]
        return [v for node in dict.fromkeys(makers) for v in node.operands]

    def _measure(self) -> None:
        """Find the lengths that are saved: of carriers, of pieces, and of joined outputs that have none yet."""
        joined = self.outputs.joined[len(self.loop.joined_lengths) :]
        self.measured: list[Size] = [
            *map(expr.from_atom, self.changing),
            *[elements(_sizes(v.meta)) for v in self.pieces],
            *[_sizes(y.meta)[0] for y in joined],
        ]
        self.lengths = list(dict.fromkeys(self.measured))

    # -- the two bodies

    def bodies(self) -> LinearisedBody:
        """Return the bodies, and how they read each other."""
        linear, remade = self._sized_maps()
        values = self._values()
        lengths = tuple([self.lengths.index(size) for size in self.measured])
        added = len(values.outputs) - len(self.outputs.flat()) - len(self.changing) - len(self.pieces)
        again = None if isinstance(self.loop.checkpoint, str) or not self.recomputes else self._again(values)
        if again is not None:
            values, added = self._without_saved(values), int(self.loop.test is not None)
        return LinearisedBody(
            values, linear, self.active, self.read, self.live, len(self.stacked), added, lengths, again,
            remade, () if self.undo is None else tuple(self.undo.carries), len(self.remade_pieces),
        )  # fmt: skip

    def _sized_maps(self) -> tuple[Graph, Graph | None]:
        """Return the body of the linear map, and what undoes writes for it.

        What they state of sizes may need more sizes of each trip.
        """
        while True:
            linear, remade, unknown = self._linear(), None, list[DimVar]()
            try:
                remade = None if self.undo is None else self._remade(self.undo)
            except _UnknownSizes as error:
                unknown = error.variables
            unknown += self._unknown_variables(linear) if self.loop.varying else []
            unknown += [] if remade is None else self._unknown_variables(remade)
            if not unknown:
                return linear, remade
            self.changing += dict.fromkeys(unknown)
            self._measure()

    def _unknown_variables(self, linear: Graph) -> list[DimVar]:
        """Return the variables of a body that no input gives, and that differ between trips."""
        return [v for v in close([linear]).carried if v not in self.loop.constant]

    def _saved(self, values: Graph) -> tuple[int, int]:
        """Return the positions of the first saved stack and of the first joined output of the body of the values."""
        return len(self.outputs.carries) + len(self.outputs.stacked), len(values.outputs) - len(self._joined())

    def _joined(self) -> list[Any]:
        return [*self.outputs.joined, *self.changing, *self.pieces]

    def _without_saved(self, values: Graph) -> Graph:
        """Return the body of the values without what is saved. In a loop of unknown length it has one result more.

        So the node counts the trips.
        """
        first, last = self._saved(values)
        counted = values.outputs[last - 1 : last] if self.loop.test is not None else ()
        return replace(values, outputs=(*values.outputs[:first], *counted))

    def _again(self, values: Graph) -> Graph:
        """Return the body that gives the next carries and what is saved of a trip.

        In a loop of unknown length, an element tells whether a further trip follows. An example of a batch that has no
        further trip keeps its carries: so no trip is made that it does not have.
        """
        loop, count, (first, last) = self.loop, len(self.outputs.carries), self._saved(values)
        saved = *values.outputs[first : first + len(self.stacked)], *values.outputs[last:]
        graph = without_effects(replace(values, outputs=(*values.outputs[:count], *saved)))
        if loop.test is None:
            return graph
        metas = replace(loop.metas, elements=[tensor(BOOL, ())])
        with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
            inputs = Inputs.of(metas.layout(), xs[: len(metas.flat())])
            (goes_on,) = inputs.elements
            results = inline(builder, graph, replace(inputs, elements=[]).flat())
            after = zip(results[:count], inputs.carries, strict=True)
            carries = [new if loop.varying else _where(goes_on, new, old) for new, old in after]
            return builder.finish([*carries, *results[count:]], loop.body.name)

    def _values(self) -> Graph:
        """Return the body of the values with what is saved. A trip that saves nothing is counted."""
        builder, outputs = self.builder, self.outputs
        builder.closed = False
        with activate(builder):
            stacks = [*[builder.handle(builder, v) for v in self.stacked], *map(size_value, self.lengths)]
            joined = [
                *[size_carrier(expr.from_atom(v)) for v in self.changing],
                *[reshape(builder.handle(builder, v), [elements(_sizes(v.meta))]) for v in self.pieces],
            ]
            has_none = not (stacks or joined or outputs.stacked or outputs.joined)
            if self.loop.test is not None and (has_none or not isinstance(self.loop.checkpoint, str)):
                stacks.append(full((), True, bool))
            ends = replace(outputs, stacked=[*outputs.stacked, *stacks], joined=[*outputs.joined, *joined])
            drop_unread_loops(builder, [x.value for x in ends.flat() if isinstance(x, Traced)])
            return builder.finish(ends.flat(), self.loop.body.name)

    def _linear(self) -> Graph:
        """Return the body of the linear map."""
        loop = self.loop
        tangents, known = loop.metas.chosen(self.active), loop.metas.chosen(self.read)
        mask = [tensor(BOOL, ())] if loop.test is not None else []
        known.elements = [*known.elements, *[v.meta for v in (*self.stacked, *self.remade_stacks)], *mask]
        known.pieces = [*known.pieces, *self._types_of_pieces((*self.pieces, *self.remade_pieces))]
        count, total = len(tangents.flat()), len(tangents.flat()) + len(known.flat())
        metas, stated = [*tangents.flat(), *known.flat()], self._stated()
        with derived(loop.body, metas, loop.handle, linear=count, known=stated) as (builder, xs):
            operands = Inputs.of(known.layout(), xs[count:total])
            slopes_of = self._live_slopes if mask and not loop.varying else self._slopes
            graph = builder.finish(slopes_of(builder, xs[:count], operands), loop.body.name)
        order = Inputs.of(tangents.layout(), range(count))
        return reordered(graph, order.joined(Inputs.of(known.layout(), range(count, total))).flat())

    def _types_of_pieces(self, pieces: Sequence[Value]) -> list[TensorMeta]:
        """Return the types of the pieces that carry sizes, and of what is saved as pieces."""
        carriers = [tensor(BOOL, [expr.from_atom(v)]) for v in self.changing]
        types = [v.meta if _own_size(v) else tensor(v.meta.dtype, [expr.from_atom(DimVar("elements"))]) for v in pieces]
        return [*carriers, *types]

    def _remade(self, plan: Undo) -> Graph:
        """Return the body that undoes the writes of a trip, and gives what it makes again on the way."""
        loop = self.loop
        metas = Inputs(
            [loop.metas.carries[i] for i in plan.carries],
            [*loop.metas.elements, *[v.meta for v in self.stacked]],
            [*loop.metas.pieces, *self._types_of_pieces(self.pieces)],
            loop.metas.captured,
        )
        count = len(metas.flat())
        with derived(loop.body, metas.flat(), loop.handle, known=self._stated()) as (builder, xs):
            operands = Inputs.of(metas.layout(), xs[:count])
            values = self._values_in(
                operands, replace(loop.metas.map(lambda _: True), carries=[False] * loop.layout.carries)
            )
            values |= {last: x for (_, last, _), x in zip(plan.carries.values(), operands.carries, strict=True)}
            make = _Remade(self.sources, builder, values).value
            carries = undo(builder, plan, values, make)
            stacks, pieces = [*map(make, self.remade_stacks)], [*map(make, self.remade_pieces)]
            lengths = [elements(sizes_of(loop.ctx, x)) for x in pieces]
            joined = [reshape(x, [n]) for x, n in zip(pieces, lengths, strict=True)]
            return builder.finish([*carries, *stacks, *map(size_value, lengths), *joined], loop.body.name)

    def _stated(self) -> list[Condition]:
        """Return what the body of the values has found of the run-time sizes that a trip saves."""
        named = {s.variable for s in self.loop.body.dims}
        sized = named.union(self.changing, self._sizes_of_pieces())
        conditions = [(c, {*c.claim.variables()}) for c in self.builder.scope.conditions]
        return [
            replace(c, kind="constraint")
            for c, variables in conditions
            if variables <= sized and not variables <= named
        ]

    def _live_slopes(self, builder: Builder, tangents: Sequence[Any], operands: Inputs) -> list[Any]:
        """Return the tangents of a trip, which changes nothing where an example of a batch does not have it.

        The mask stands before and behind the linear map: so neither direction multiplies zeros by infinite slopes.
        """
        live = operands.elements[-1]
        entering = [_where(live, t, _of_size(t.meta)) for t in tangents]
        slopes, carries = self._slopes(builder, entering, operands), sum(self.active.carries)
        after = [_where(live, new, old) for new, old in zip(slopes[:carries], tangents, strict=False)]
        return [*after, *[_where(live, new, _of_size(new.meta)) for new in slopes[carries:]]]

    def _slopes(self, builder: Builder, tangents: Sequence[Any], operands: Inputs) -> list[Any]:
        """Return the tangents of the live outputs in the graph of the linear map."""
        outputs, linear, residuals = self._at_values(builder, self._values_in(operands, self.read))
        results = inline(builder, linear.graph, [*tangents, *residuals])
        slopes = [None if i is None else results[i] for i in linear.live]
        ctx = ShapeGuardContext(builder.scope, self.loop.body.name, rule="jvp")
        filled = [or_zeros(ctx, y, t) if f else None for y, t, f in zip(outputs, slopes, self.live.flat(), strict=True)]
        return [t for t in self.loop.as_written(filled, self.loop.body.outputs) if t is not None]

    def _values_in(self, operands: Inputs, flags: Inputs) -> dict[Value, Any]:
        """Return the values that are read as they are: flagged inputs of the body, and what is saved or made before."""
        read = Inputs.of(self.loop.layout, self.inputs).chosen(flags)
        elements, pieces = len(read.elements), len(read.pieces)
        own = replace(operands, carries=[], elements=operands.elements[:elements], pieces=operands.pieces[:pieces])
        values = dict(zip(read.flat(), own.flat(), strict=True))
        values |= zip((*self.stacked, *self.remade_stacks), operands.elements[elements:], strict=False)
        raveled = zip((*self.pieces, *self.remade_pieces), operands.pieces[pieces + len(self.changing) :], strict=False)
        return values | {v: _unraveled(x, _sizes(v.meta)) for v, x in raveled}

    def _at_values(self, builder: Builder, values: dict[Value, Any]) -> tuple[Sequence[Any], LinearMap, Sequence[Any]]:
        """Return the outputs of the body, its linear map, and the residuals of this in the graph of the linear map."""
        if self.recomputes:
            inputs = [values[v] if v in values else _of_size(v.meta) for v in self.inputs]
            outputs, linear = linearise(builder, without_effects(self.loop.body), inputs, self.wrt)
            return outputs, linear, linear.residuals
        remade = _Remade(self.sources, builder, values)
        pairs = zip(self.map.residuals, self.is_read, strict=True)
        residuals = [remade.value(x.value) if flag else _of_size(x.meta) for x, flag in pairs]
        return self.loop.body.outputs, self.map, residuals


def _sizes(meta: TensorMeta) -> Shape:
    """Return the exact sizes of what is saved."""
    assert meta.sizes is not None  # values without are not saved, and results of trips have them
    return meta.sizes


def _own_size(value: Value) -> list[DimVar]:
    """Return the variable that is the size of a vector, if it is one."""
    return [v for v, _ in value.meta.variable_axes()] if value.meta.rank == 1 else []


def _unraveled(x, shape: Shape):
    """Return the elements that were saved in their shape."""
    return reshape(sized(x, [elements(shape)]), shape)


def _of_size(meta: TensorMeta):
    """Return an array of a type that is read for its sizes alone, and takes no memory."""
    return broadcast_in_dim(full((), 0, meta.dtype), _sizes(meta), ())


def _where(live, x, y):
    """Return one of two arrays by a scalar."""
    return select(broadcast_in_dim(live, _sizes(x.meta), ()), x, y)


def _gives_the_same(node: Node) -> bool:
    """Return whether a node gives the same results again, with the same names of sizes."""
    return not (node.op.makes_sizes or happens_once(node))


class _Sources:
    """Origins of the values of a body: inputs, constants, and nodes that the linear map can make again.

    `again` are the values that it reads or makes again: they do not depend on carries, but for sizes. Sizes that
    differ between trips are saved.
    """

    def __init__(self, loop: Loop, builder: Builder, inputs: Sequence[Value]) -> None:
        self.builder, self.position = builder, {v: i for i, v in enumerate(inputs)}
        self.conditions: dict[Value, Sequence[Value]] = {}  # of values that they choose
        self.arrays = dict(builder.constants.pairs())
        self.maker = {v: node for node in builder.nodes for v in node.outputs}
        self.again = {v for i, v in enumerate(inputs) if i >= loop.layout.carries} | {*self.arrays}
        for node in builder.nodes:
            if _gives_the_same(node) and self.again.issuperset(node.inputs):
                self.again.update([v for v in node.outputs if v.meta.sizes is not None])

    def choose(self, choices: Sequence[Value], conditions: Sequence[Value]) -> None:
        """Let the linear map make values again that conditions choose."""
        self.maker |= {v: node for node in self.builder.nodes for v in node.outputs}
        self.again |= {*choices, *[v for v, node in self.maker.items() if not node.inputs and _gives_the_same(node)]}
        self.conditions[choices[-1]] = conditions

    def saved_for(self, values: Sequence[Value]) -> list[Value]:
        """Return what is saved of these values, or for the linear map to make them from again."""
        saved = [v for x in values for v in self.conditions.get(x) or [self._unstretched(x)]]
        return [v for v in dict.fromkeys(saved) if v not in self.again]

    def _unstretched(self, value: Value) -> Value:
        """Return what a value repeats along axes, from which the linear map makes it again."""
        while value not in self.again and value in self.maker and self.maker[value].op is broadcast_in_dim_op:
            self.again.add(value)
            (value,) = self.maker[value].inputs
        return value

    def made_again(self, values: Sequence[Value]) -> set[Value]:
        """Return which of these values, and of those that they are made from, the linear map reads or makes again."""
        seen, todo = set[Value](), [*values]
        while todo:
            if (value := todo.pop()) not in seen and value in self.again:
                seen.add(value)
                todo += self.maker[value].inputs if value in self.maker else ()
        return seen

    def positions_of(self, values: set[Value]) -> set[int]:
        """Return the positions of the inputs among values."""
        return {i for v, i in self.position.items() if v in values}

    def ancestors_of(self, values: Sequence[Value]) -> set[int]:
        """Return the positions of the inputs that values are computed from, or have their sizes of."""
        seen, todo = set[Value](), [*values]
        while todo:
            if (value := todo.pop()) not in seen and value in self.maker:
                todo += self.maker[value].operands
            seen.add(value)
        return self.positions_of(seen)


class _UnknownSizes(Exception):
    """Sizes of a trip that what undoes its writes reads, and that no input gives."""

    def __init__(self, variables: list[DimVar]) -> None:
        self.variables = variables


def _read(sizes: Any) -> list[DimVar]:
    """Return the variables of sizes, nested in tuples."""
    if isinstance(sizes, tuple):
        return [v for size in sizes for v in _read(size)]
    return [*expr.variables(sizes)] if isinstance(sizes, expr.DimExpr) else []


class _Remade:
    """Gives the values of a body in the builder of its linear map: saved ones, constants, and what is made again."""

    def __init__(self, sources: _Sources, builder: Builder, values: dict[Value, Any]) -> None:
        self.sources, self.builder, self.values = sources, builder, values

    def value(self, value: Value) -> Any:
        """Return the stand-in of a value of the body."""
        if value not in self.values:
            if value in self.sources.arrays:
                self.values[value] = self.builder.constant(self.sources.arrays[value], is_settled=True)
            else:
                self._make(self.sources.maker[value])
        return self.values[value]

    def _make(self, node: Node) -> None:
        """Make a node again. Its sizes are read off what the linear map has."""
        inputs = [self.value(v) for v in node.inputs]
        ctx = ShapeGuardContext(self.builder.scope, node.op.name, node.where, [v.meta for v in node.operands], "jvp")
        sizes = tuple([ctx.bind(p, field=name) for name, p in node.params])
        of_inputs = {v for x in inputs for v, _ in x.meta.variable_axes()}
        if unknown := [v for v in _read(sizes) if v not in of_inputs and self.builder.dim_owner(v) is None]:
            raise _UnknownSizes(unknown)
        local, sources = localise(sizes, inputs)
        params = dict(zip([name for name, _ in node.params], local, strict=True))
        self.values.update(zip(node.outputs, self.builder.emit(node.op, inputs, sources, params), strict=True))


def jvp_of_loop(loop: Loop, tangents: Sequence[Any]) -> Pushed:
    """Return the results of a loop and their tangents."""
    by_kind = Inputs.of(loop.layout, tangents[: len(loop.body.inputs)])
    derive = _linearise if are_inside(tangents, loop.inputs.flat()) else _push
    return Pushed(*derive(loop, by_kind))


def _instantiated(loop: Loop, tangents: Inputs, active: Inputs, read: Callable[[Any], Any] = whole) -> Inputs:
    """Return what `read` gives of the tangents of active inputs, zeros for carries that begin without."""
    chosen = tangents.chosen(active).map(read)
    pairs = zip(chosen.carries, loop.inputs.chosen(active).carries, strict=True)
    return replace(chosen, carries=[zeros_like(loop.ctx, meta_of(x)) if t is None else t for t, x in pairs])


def _with_mask(loop: Loop, outputs: Outputs, mask) -> list[Any]:
    """Return what belongs to all outputs of the node, with the mask of its trips if it has one."""
    return [*outputs.carries, *([mask] if loop.has_mask else []), *outputs.stacked, *outputs.joined]


def _push(loop: Loop, tangents: Inputs) -> tuple[list[Any], list[Any]]:
    """Return values and tangents of one loop."""
    begins = tangents.map(lambda t: t is not None), tangents.map(lambda t: isinstance(t, Part))
    graph, active, parted, ends = pushed_body(loop, *begins)
    marks = _instantiated(loop, tangents, parted, read=indicator)
    inputs = loop.inputs.joined(_instantiated(loop, tangents, active)).joined(marks)
    lengths = [*loop.lengths, *flagged(loop.lengths, active.pieces), *flagged(loop.lengths, parted.pieces)]
    if len(loop.joined_lengths) == loop.joined:
        lengths += [*loop.joined_lengths, *ends.joined.each(loop.joined_lengths)]
    sizes = [*loop.ends, *ends.carries.each(loop.ends)] if loop.ends else []
    results, mask, _ = loop.again(graph, inputs, lengths, loop.joined + ends.joined.number, sizes)
    columns = [(ys, e, len(e.live)) for ys, e in zip(results.kinds(), ends.kinds(), strict=True)]
    values = Outputs(*[ys[:count] for ys, _, count in columns])
    tangents_of = Outputs(*[e.read(ys[count:]) for ys, e, count in columns])
    return _with_mask(loop, values, mask), _with_mask(loop, tangents_of, None)


# -- reverse mode ------------------------------------------------------------------------------------------------


def _linearise(loop: Loop, tangents: Inputs) -> tuple[list[Any], list[Any]]:
    """Return values, and tangents of a scan that is linear in the tangents."""
    parts = linearised_body(loop, tangents.map(lambda t: t is not None))
    own, lengths = loop.outputs(loop.body.outputs), [*loop.lengths, *loop.joined_lengths]
    joined = len(parts.values.outputs) - len(own.carries) - len(own.stacked) - parts.added
    slots = parts.again is not None and any(parts.live.flat())
    results, mask, filled = loop.again(parts.values, loop.inputs, lengths, joined, loop.ends, slots=slots)
    count = len(own.stacked)
    values = Outputs([*map(name_sizes, results.carries)], results.stacked[:count], results.joined[: loop.joined])
    outputs = _with_mask(loop, values, mask)
    if not any(parts.live.flat()):
        return outputs, [None] * len(outputs)
    tape = Outputs([], results.stacked[count:], [*map(name_sizes, results.joined[loop.joined :])])
    slopes = _linear_scan(loop, parts, tangents, values, tape, mask, filled)
    return outputs, _with_mask(loop, loop.outputs(by_flags(parts.live.flat(), slopes)), None)


def _linear_scan(
    loop: Loop, parts: LinearisedBody, tangents: Inputs, values: Outputs, tape: Outputs, mask, slots: Sequence[Any]
) -> Sequence[Any]:
    """Return the tangents of the live outputs: a scan of what the trips have saved."""
    known = loop.inputs.chosen(parts.read)
    measured = [tape.stacked[parts.stacked + i] for i in parts.lengths if parts.again is None]
    if parts.again is not None:
        rerun = of_linearised(loop, parts.again, parts.stacked, mask, slots)
        saved, joined = rerun.made()
    else:
        rerun, saved, joined = None, tape.stacked[: parts.stacked], tape.joined
        if parts.remade is not None:
            made, pieces, own = _made_again(loop, parts, values, [*saved], joined, measured)
            saved, joined = [*saved, *made], [*joined, *pieces]
            measured[len(tape.joined) : len(tape.joined)] = own
    known.elements = [*known.elements, *saved, *([] if mask is None else [mask])]
    known.pieces = [*known.pieces, *joined]
    inputs = _instantiated(loop, tangents, parts.active).joined(known)
    ends: Any = [loop.exact_sizes(y) for y in flagged(values.carries, parts.live.carries)]
    if rerun is not None:
        return rerun.scan(loop, parts.map, inputs, loop.reverse, ends)
    lengths = [
        *flagged(loop.lengths, parts.active.pieces),
        *flagged(loop.lengths, parts.read.pieces),
        *measured[: len(joined)],
        *flagged([*loop.joined_lengths, *measured[len(joined) :]], parts.live.joined),
    ]
    length = loop.length if mask is None else sizes_of(loop.ctx, mask)[0]
    assert length is not None  # a scan has one
    return loop.scan(parts.map, inputs, lengths, sum(parts.live.joined), length, loop.reverse, ends)


def _made_again(
    loop: Loop,
    parts: LinearisedBody,
    values: Outputs,
    saved: Sequence[Any],
    joined: Sequence[Any],
    lengths: Sequence[Any],
) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Return what a loop in the other direction makes again: stacks, joined pieces, and the lengths of these."""
    assert parts.remade is not None and loop.length is not None
    builder, count = active(), parts.remade_pieces
    assert isinstance(builder, Builder)  # rules run inside of a trace
    lasts = [values.carries[i] for i in parts.undone]
    known = replace(loop.inputs, carries=lasts)
    known = known.joined(Inputs([], saved, joined, []))
    ends: Any = [loop.exact_sizes(x) for x in lasts]
    own = [*loop.lengths, *lengths[: len(joined)]]
    results = Outputs.of(
        len(lasts), count, loop.scan(parts.remade, known, own, count, loop.length, not loop.reverse, ends)
    )
    for i, last, first in zip(parts.undone, lasts, results.carries, strict=True):
        if isinstance(loop.inputs.carries[i], Traced):
            builder.undone[last.value] = builder.adopt(loop.inputs.carries[i]), first.value
    at = len(results.stacked) - count
    return results.stacked[:at], [*map(name_sizes, results.joined)], results.stacked[at:]


def transpose_loop(loop: Loop, cts: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the operands of a loop that is linear in some of them."""
    operand_flags = loop.inputs.map(lambda x: isinstance(x, Linear))
    linear = linear_inputs(loop, operand_flags)
    by_kind = loop.outputs([*cts[: loop.layout.carries], *cts[loop.layout.carries + loop.has_mask :]])
    part, flags = with_known_ahead(loop, linear)
    starts = [_start(loop, i, ct) for i, ct in enumerate(by_kind.carries) if linear.carries[i]]
    pulled = _pulled(part, flags, replace(by_kind, carries=starts))
    count = len(part.inputs.elements) - len(loop.inputs.elements)
    own = Inputs.of(part.layout, by_flags(flags.flat(), pulled))
    elements = own.elements[: len(own.elements) - count]
    everything = replace(own, carries=by_flags(linear.carries, own.carries), elements=elements).flat()
    columns = zip(everything, operand_flags.flat(), loop.inputs.flat(), strict=True)
    operands = [_of_its_shape(loop, ct, x) if flag and ct is not None else None for ct, flag, x in columns]
    return operands + [None] * len([*loop.lengths, *loop.joined_lengths])


def _of_its_shape(loop: Loop, ct, x):
    """Return a cotangent with the exact sizes of its operand: joined ones have none of their own."""
    sizes = loop.exact_sizes(x)
    return resized(ct, lambda y: y if sizes is None or loop.exact_sizes(y) is not None else sized(y, sizes))


def _pulled(loop: Loop, linear: Inputs, seeds: Outputs) -> list[Any]:
    """Return the cotangents of the linear inputs of a scan whose carries are all linear, in their order."""
    body = transposed_body(loop, linear, seeds)
    known, pulled = loop.inputs.chosen(linear, wanted=False), loop.inputs.chosen(linear)
    carries, stacked, joined = [e.arrays(cts) for e, cts in zip(body.seeds.kinds(), seeds.kinds(), strict=True)]
    summed = body.results.captured.each(pulled.captured)
    starts = [*carries, *[zeros_like(loop.ctx, x) for x in summed]]
    lengths = [
        *flagged(loop.lengths, [not flag for flag in linear.pieces]),
        *body.seeds.joined.each(loop.joined_lengths or [None] * len(seeds.joined)),
        *body.results.pieces.each(flagged(loop.lengths, linear.pieces)),
    ]
    ends: Any = [loop.exact_sizes(x) for x in (*body.seeds.carries.each(loop.inputs.carries), *summed)]
    inputs, pieces = known.joined(Inputs(starts, stacked, joined, [])), body.results.pieces.number
    assert loop.length is not None  # a scan has one
    results = loop.scan(body.graph, inputs, lengths, pieces, loop.length, not loop.reverse, ends)
    parts, count = Outputs.of(len(starts), pieces, results), body.results.elements.number
    sums, stacks = body.results.captured.read(parts.carries[len(carries) :]), parts.stacked[count:]
    triples = zip(sums, body.products, pulled.captured, strict=True)
    captured = [
        _of_trips(loop, ct) if p is None else p.of(known.elements, stacks, loop.exact_sizes(x)) for ct, p, x in triples
    ]
    own = (parts.carries[: len(carries)], parts.stacked[:count], parts.joined)
    return [*read_kinds(body.results.kinds()[:3], own), *captured]


def _start(loop: Loop, i: int, ct):
    """Return the cotangent of the last value of a carry, zeros by construction where it has none."""
    if ct is not None:
        return ct
    meta = meta_of_operand(loop.inputs.carries[i])
    zeros = zeros_like(loop.ctx, tensor(meta.dtype, loop.ends[i]) if loop.ends else meta)
    return masked(zeros, lambda: nonzero(zeros), True)


def _of_trips(loop: Loop, ct):
    """Return a sum over trips, which is zero by construction where there is none."""
    scope, length = loop.ctx.scope, loop.length
    assert length is not None  # a scan has one
    if ct is None or isinstance(ct, Part) or scope.proves_at_once(at_least(length, 1)):
        return ct
    count = size_value(length)
    return masked(ct, lambda: broadcast_in_dim(nonzero(count), sizes_of(loop.ctx, ct), ()), True)


# Ops whose slopes are finite where the operands are, besides those that move elements or add them up.
_FINITE = {
    ew.add_op, ew.sub_op, ew.mul_op, ew.neg_op, ew.convert_op, ew.select_op, ew.abs_op,
    ew.square_op, ew.sin_op, ew.cos_op, ew.tanh_op, ew.exp_op, ew.eq_op, ew.ne_op, ew.lt_op, ew.le_op, ew.gt_op,
    ew.ge_op, ew.logical_and_op, ew.logical_or_op, ew.logical_not_op, full_op, dot_general_op,
}  # fmt: skip


def _has_finite_slopes(op: Op) -> bool:
    return op in _FINITE or (op.family not in ELEMENTWISE and zero_flow(op)[0] in (MOVE, ADD, FILL))


def pushed_body(loop: Loop, active: Inputs, parted: Inputs) -> tuple[Graph, Inputs, Inputs, Outputs]:
    """Return the body of values and tangents, the inputs with a tangent and with a mark there, and ends of the outputs.

    Of each kind its inputs are the inputs of the body, then their tangents, then marks. So are its outputs. A carry
    that begins without a tangent, or that a trip gives zeros by construction, has a mark. Zeros that a carry begins
    with do without one where no slope makes them NaN.
    """
    numbers = not any(parted.flat()) and all(_has_finite_slopes(node.op) for node in walk(loop.body))
    begins = [True] * len(active.carries) if numbers else active.carries
    while True:
        graph, ends = _pushed_body(loop, active, parted, begins)
        if ends.carries == Ends(active.carries, parted.carries):
            return graph, active, parted, ends
        carries, zeros = ends.carries
        active, parted = replace(active, carries=carries), replace(parted, carries=zeros)


def _pushed_body(loop: Loop, active: Inputs, parted: Inputs, begins: Sequence[bool]) -> tuple[Graph, Outputs]:
    """Return the body for inputs with these tangents and marks, and the ends of its outputs, of each kind."""
    parts = [loop.metas, loop.metas.chosen(active), loop.metas.chosen(parted)]
    metas = parts[0].joined(parts[1]).joined(parts[2])
    with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
        primals, others = Inputs.of(metas.layout(), xs[: len(metas.flat())]).split(active)
        tangents = read_kinds(list(map(Ends, active.kinds(), parted.kinds())), others.kinds())
        outputs, slopes = push_parts(builder, loop.body, primals.flat(), tangents)
        ends = _ends(loop, slopes, begins, active, parted)
        return builder.finish(_results(loop, outputs, slopes, ends), loop.body.name), ends


def _results(loop: Loop, outputs: Sequence[Any], slopes: Sequence[Any], ends: Outputs) -> list[Any]:
    """Return what the body gives: of each kind its outputs, then their tangents, then marks."""
    kinds = ends.kinds()
    marks = [mark for e, ts in zip(kinds, loop.outputs(slopes).kinds(), strict=True) for mark in e.marks(ts)]
    written = [loop.as_written(xs, loop.body.outputs) for xs in (outputs, list(map(whole, slopes)), marks)]
    zeros = [ew.lift(0, y) if t is None else None for y, t in zip(written[0], slopes, strict=True)]
    columns = [loop.outputs(filled(xs, zeros)).kinds() for xs in written]
    return [x for y, t, m, e in zip(*columns, kinds, strict=True) for x in (*y, *e.each(t, m))]


def _ends(loop: Loop, slopes: Sequence[Any], begins: Sequence[bool], active: Inputs, parted: Inputs) -> Outputs:
    """Return which outputs have a tangent and a mark, by kind, where these inputs have."""
    own, zeros = loop.outputs([t is not None for t in slopes]), loop.outputs([isinstance(t, Part) for t in slopes])
    carries = [a or b for a, b in zip(active.carries, own.carries, strict=True)]
    columns = zip(carries, begins, parted.carries, own.carries, zeros.carries, strict=True)
    marked = [c and not (begin and has and not (before or after)) for c, begin, before, has, after in columns]
    return Outputs(Ends(carries, marked), Ends(own.stacked, zeros.stacked), Ends(own.joined, zeros.joined))

"""Linearise the body of a loop: a body of the values, which adds what each trip saves, and a body of the linear map.

The linear map reads what depends on the carries as elements of stacks. Values of sizes that differ between trips are
saved as pieces of joined arrays, and so is a carrier for each such size. Values that do not depend on the carries are
computed again from elements and captured values.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.autodiff.control_flow.branch_derivatives import or_zeros
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, reordered
from anyshape.autodiff.linearize_transpose import LinearMap, linearise
from anyshape.autodiff.replay import inline
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, Traced, activate
from anyshape.graph.ir.graph import Graph, Node, Value, draws, raises
from anyshape.graph.ir.subgraph import close
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import localise
from anyshape.ops.core.flop_counts import Shape, elements
from anyshape.ops.creation import full, size_value
from anyshape.ops.elementwise import select
from anyshape.ops.movement import broadcast_in_dim, reshape
from anyshape.ops.subgraph_call import size_carrier
from anyshape.support.lazy_dataclass import dataclass

BOOL = np.dtype(bool)


@dataclass(frozen=True)
class LinearisedBody:
    """Body of the values, which adds what is saved, and the body of the linear map.

    - `map`: of each kind its inputs are the tangents of `active` ones, the known ones that are `read`, and what is
      saved. Its outputs are the tangents of `live` outputs.
    - `stacked`: the number of saved stacks. Stacks of lengths follow them: `added` stacks in all.
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
        first = len(self.wrt)
        graph = self.map.graph
        read = {v for node in graph.nodes for v in node.inputs} | {*graph.outputs}
        self.is_read = [v in read for v in graph.inputs[first : first + len(self.map.residuals)]]
        self._choose([x.value for x, flag in zip(self.map.residuals, self.is_read, strict=True) if flag])
        self._measure()

    def _choose(self, residuals: Sequence[Value]) -> None:
        """Choose what is saved of the residuals that are read for more than sizes, and which inputs the map reads.

        With a checkpoint, the linear map computes the body again from its inputs. It also does so where a value has no
        exact sizes, as this cannot be saved. The same holds where examples of a batch would save different sizes.
        """
        loop, sources = self.loop, self.sources
        saved = [v for v in dict.fromkeys(residuals) if v not in sources.again]
        self.remade = sources.made_again(residuals)
        read = sources.positions_of(self.remade)
        unsaved = any(x.meta.sizes is None for x in self.map.residuals)
        self.recomputes = unsaved or self._is_ragged(saved) or bool(loop.checkpoint and saved)
        if self.recomputes:
            self._refuse_draws()
            read = self._read_again(residuals, whole=unsaved)
            saved = [v for i, v in enumerate(self.inputs[: loop.layout.carries]) if i in read]
        self._sort(saved)
        self.read = Inputs.of(loop.layout, [i in read and i >= loop.layout.carries for i in range(len(self.inputs))])

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
        self.changing = self._changing_variables()

    def _read_again(self, residuals: Sequence[Value], whole: bool) -> set[int]:
        """Return the positions of the inputs that residuals are computed from again, or the `whole` body.

        Where a trip makes sizes or may raise, it has all of its inputs, so that it does the same again.
        """
        if whole or self.loop.body.runtime or any(map(raises, self.loop.body.nodes)):
            return set(range(len(self.inputs)))
        return self.sources.ancestors_of(residuals)

    def _changing_variables(self) -> list[DimVar]:
        """Return the variables of the linear map that differ between trips."""
        residuals = [] if self.recomputes else [*[x.value for x in self.map.residuals], *self._measured_again()]
        metas = [v.meta for v in (*self.inputs[: self.loop.layout.carries], *self.pieces, *residuals)]
        named = [v for meta in metas for size in _sizes(meta) for v in expr.variables(size)]
        return [v for v in dict.fromkeys(named) if v not in self.loop.constant]

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
        linear = self._sized_linear()
        values = self._values()
        lengths = tuple([self.lengths.index(size) for size in self.measured])
        added = len(values.outputs) - len(self.outputs.flat()) - len(self.changing) - len(self.pieces)
        again = None if isinstance(self.loop.checkpoint, str) or not self.recomputes else self._again(values)
        if again is not None:
            values, added = self._without_saved(values), int(self.loop.test is not None)
        return LinearisedBody(
            values, linear, self.active, self.read, self.live, len(self.stacked), added, lengths, again
        )

    def _sized_linear(self) -> Graph:
        """Return the body of the linear map. What it states of sizes may need more sizes of each trip."""
        linear = self._linear()
        while self.loop.varying and (unknown := self._unknown_variables(linear)):
            self.changing += unknown
            self._measure()
            linear = self._linear()
        return linear

    def _unknown_variables(self, linear: Graph) -> list[DimVar]:
        """Return the variables of a body of the linear map that no input gives, and that differ between trips."""
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
        graph = replace(values, outputs=(*values.outputs[:count], *saved))
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
                *[_raveled(builder.handle(builder, v)) for v in self.pieces],
            ]
            has_none = not (stacks or joined or outputs.stacked or outputs.joined)
            if self.loop.test is not None and (has_none or not isinstance(self.loop.checkpoint, str)):
                stacks.append(full((), True, bool))
            ends = replace(outputs, stacked=[*outputs.stacked, *stacks], joined=[*outputs.joined, *joined])
            return builder.finish(ends.flat(), self.loop.body.name)

    def _linear(self) -> Graph:
        """Return the body of the linear map."""
        loop = self.loop
        tangents, known = loop.metas.chosen(self.active), loop.metas.chosen(self.read)
        mask = [tensor(BOOL, ())] if loop.test is not None else []
        known.elements = [*known.elements, *[v.meta for v in self.stacked], *mask]
        carriers = [tensor(BOOL, [expr.from_atom(v)]) for v in self.changing]
        pieces = [tensor(v.meta.dtype, [expr.from_atom(DimVar("elements"))]) for v in self.pieces]
        known.pieces = [*known.pieces, *carriers, *pieces]
        count, total = len(tangents.flat()), len(tangents.flat()) + len(known.flat())
        metas, stated = [*tangents.flat(), *known.flat()], self._stated()
        with derived(loop.body, metas, loop.handle, linear=count, known=stated) as (builder, xs):
            operands = Inputs.of(known.layout(), xs[count:total])
            slopes = (
                self._live_slopes(builder, xs[:count], operands)
                if mask and not loop.varying
                else (self._slopes(builder, xs[:count], operands))
            )
            graph = builder.finish(slopes, loop.body.name)
        order = Inputs.of(tangents.layout(), range(count))
        return reordered(graph, order.joined(Inputs.of(known.layout(), range(count, total))).flat())

    def _stated(self) -> list[Condition]:
        """Return what the body of the values has found of the run-time sizes that a trip saves."""
        named = {s.variable for s in self.loop.body.dims}
        sized = named.union(self.changing)
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
        slopes = self._slopes(builder, entering, operands)
        carries = sum(self.active.carries)
        after = [_where(live, new, old) for new, old in zip(slopes[:carries], tangents, strict=False)]
        return [*after, *[_where(live, new, _of_size(new.meta)) for new in slopes[carries:]]]

    def _slopes(self, builder: Builder, tangents: Sequence[Any], operands: Inputs) -> list[Any]:
        """Return the tangents of the live outputs in the graph of the linear map."""
        outputs, linear, residuals = self._at_values(builder, self._values_in(operands))
        results = inline(builder, linear.graph, [*tangents, *residuals])
        slopes = [None if i is None else results[i] for i in linear.live]
        ctx = ShapeGuardContext(builder.scope, self.loop.body.name, rule="jvp")
        filled = [or_zeros(ctx, y, t) if f else None for y, t, f in zip(outputs, slopes, self.live.flat(), strict=True)]
        return [t for t in self.loop.as_written(filled, self.loop.body.outputs) if t is not None]

    def _values_in(self, operands: Inputs) -> dict[Value, Any]:
        """Return the values that the linear map reads as they are: inputs of the body, and what is saved."""
        read = Inputs.of(self.loop.layout, self.inputs).chosen(self.read)
        elements, pieces = len(read.elements), len(read.pieces)
        own = replace(operands, elements=operands.elements[:elements], pieces=operands.pieces[:pieces])
        values = dict(zip(read.flat(), own.flat(), strict=True))
        values |= zip(self.stacked, operands.elements[elements:], strict=False)
        raveled = operands.pieces[pieces + len(self.changing) :]
        return values | {v: _unraveled(x, _sizes(v.meta)) for v, x in zip(self.pieces, raveled, strict=True)}

    def _at_values(self, builder: Builder, values: dict[Value, Any]) -> tuple[Sequence[Any], LinearMap, Sequence[Any]]:
        """Return the outputs of the body, its linear map, and the residuals of this in the graph of the linear map."""
        if self.recomputes:
            inputs = [values[v] if v in values else _of_size(v.meta) for v in self.inputs]
            outputs, linear = linearise(builder, self.loop.body, inputs, self.wrt)
            return outputs, linear, linear.residuals
        remade = _Remade(self.sources, builder, values)
        pairs = zip(self.map.residuals, self.is_read, strict=True)
        residuals = [remade.value(x.value) if flag else _of_size(x.meta) for x, flag in pairs]
        return self.loop.body.outputs, self.map, residuals


def _has_sizes_over(value: Value, variables: set[DimVar]) -> bool:
    """Return whether a value has exact sizes over these variables."""
    sizes = value.meta.sizes
    return sizes is not None and all(v in variables for size in sizes for v in expr.variables(size))


def _sizes(meta: TensorMeta) -> Shape:
    """Return the exact sizes of what is saved."""
    assert meta.sizes is not None  # values without are not saved, and results of trips have them
    return meta.sizes


def _raveled(x: Traced):
    """Return the elements of an array in one axis."""
    return reshape(x, [elements(_sizes(x.meta))])


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
    return not (node.op.makes_sizes or draws(node))


class _Sources:
    """Origins of the values of a body: inputs, constants, and nodes that the linear map can make again.

    `again` are the values that it reads or makes again: they do not depend on carries, but for sizes.
    """

    def __init__(self, loop: Loop, builder: Builder, inputs: Sequence[Value]) -> None:
        self.position = {v: i for i, v in enumerate(inputs)}
        self.arrays = dict(builder.constants.pairs())
        self.maker = {v: node for node in builder.nodes for v in node.outputs}
        self.bound = {s.variable for s in loop.body.dims}
        self.again = {v for i, v in enumerate(inputs) if i >= loop.layout.carries} | {*self.arrays}
        for node in builder.nodes:
            if _gives_the_same(node) and self.again.issuperset(node.inputs):
                self.again.update([v for v in node.outputs if _has_sizes_over(v, self.bound)])

    def made_again(self, values: Sequence[Value]) -> set[Value]:
        """Return which of these values, and of those that they are made from, the linear map reads or makes again."""
        seen, todo = set[Value](), [*values]
        while todo:
            value = todo.pop()
            if value not in seen and value in self.again:
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
            value = todo.pop()
            if value not in seen and value in self.maker:
                todo += self.maker[value].operands
            seen.add(value)
        return self.positions_of(seen)


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
        local, sources = localise(sizes, inputs)
        params = dict(zip([name for name, _ in node.params], local, strict=True))
        self.values.update(zip(node.outputs, self.builder.emit(node.op, inputs, sources, params), strict=True))

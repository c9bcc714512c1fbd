"""Transpose scans whose body is linear: a scan in the other direction.

Carries of the transposed scan are the cotangents of the carries, and the sums of the cotangents of captured values. A
carry that is known runs ahead: a scan of the known part stacks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from anyshape.autodiff.control_flow.branch_derivatives import Typed, or_zeros
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, reordered
from anyshape.autodiff.cotangents import CotangentSum
from anyshape.autodiff.linearize_transpose import transposed_sums
from anyshape.autodiff.rule_tables import add_tangents
from anyshape.autodiff.structural_zeros import Ends, Part, flagged, read_kinds, whole
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.builder import Builder, Traced
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops.contraction import Axes, dot_general, dot_general_op
from anyshape.ops.core.apply import meta_of
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.movement import pad_unchecked, strided
from anyshape.support.lazy_dataclass import dataclass

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
            kind.carries = [or_zeros(ctx, Typed(m), ct) for ct, m in zip(kind.carries, pulled.carries, strict=True)]
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

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
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, by_flags, flagged, reordered
from anyshape.autodiff.linearize_transpose import transposed_sums
from anyshape.autodiff.rule_tables import add_tangents
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


def _fitted(x: Traced, shape: Shape) -> Any:
    """Return an array in a shape that it has where there is a trip: without one, zeros of this shape."""
    scope, sizes = x.builder.scope, meta_of(x).sizes
    assert sizes is not None  # products have the sizes of their operands
    if all(map(scope.same, sizes, shape)):
        return x
    least, none = [expr.minimum(a, b) for a, b in zip(sizes, shape, strict=True)], [0] * len(shape)
    high = [expr.sub(size, low) for size, low in zip(shape, least, strict=True)]
    return pad_unchecked(strided(x, none, least, [1] * len(shape)), none, high, none)


def transposed_body(loop: Loop, linear: Inputs, live: Outputs) -> tuple[Graph, Inputs, list[Product | None]]:
    """Return the body of the transposed scan, which linear inputs have a cotangent there, and which are products.

    - Its carries are the cotangents of the carries, then the sums of the cotangents of captured linear inputs that are
      not products. The operands of products are stacks behind the others. With a checkpoint there are none.
    - Its elements are the known elements, then the cotangents of `live` stacked outputs; its pieces likewise.
    - It gives the cotangents of linear elements as stacks, and the cotangents of linear pieces joined.
    """
    known, pulled = loop.metas.chosen(linear, wanted=False), loop.metas.chosen(linear)
    metas = known.joined(_cotangent_types(loop, pulled, live))
    with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
        residuals, seeds = Inputs.of(metas.layout(), xs[: len(metas.flat())]).split(known)
        sums = _Sums(builder, pulled)
        totals = transposed_sums(
            builder,
            _linear_first(loop.body, linear),
            len(pulled.flat()),
            residuals.flat(),
            [*seeds.carries, *by_flags(live.stacked, seeds.elements), *by_flags(live.joined, seeds.pieces)],
            sums.starts,
        )
        results = [None if t is None else t.value() for t in totals]
        cts = Inputs.of(pulled.layout(), loop.as_written(results, flagged(loop.body.inputs, linear.flat())))
        ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="transpose")
        pairs = zip(cts.carries, pulled.carries, strict=True)
        carries = [or_zeros(ctx, Typed(m), ct) for ct, m in pairs]
        stacks, captured = _Stacks(loop, builder, residuals.elements), Inputs.of(pulled.layout(), results).captured
        products = [None if loop.checkpoint else stacks.product(ct) for ct in captured]
        after = [sums.after(i, cts.captured[i]) for i, product in enumerate(products) if product is None]
        ends = [*carries, *after, *_made(cts.elements), *stacks.added, *_made(cts.pieces)]
        graph = sums.in_order(builder.finish(ends, loop.body.name))
    return with_last_inputs_at(graph, len(metas.carries), len(after)), cts.map(lambda ct: ct is not None), products


class _Sums:
    """Sums of the cotangents of captured values, carries of the transposed scan. Parts are added to them in place.

    - `carries`: by position among the captured values, those that the body has so far.
    - `starts`: by position among the linear inputs, what gives the carry.
    """

    def __init__(self, builder: Builder, pulled: Inputs) -> None:
        self.builder, self.metas = builder, pulled.captured
        self.carries: dict[int, Any] = {}
        first = len(pulled.flat()) - len(pulled.captured)
        self.starts = {first + i: partial(self._carry, i) for i in range(len(pulled.captured))}

    def _carry(self, i: int) -> Any:
        self.carries[i] = self.builder.input(self.metas[i])
        return self.carries[i]

    def after(self, i: int, ct: Any) -> Any:
        """Return a sum after a trip that gives this cotangent, which may be the sum already."""
        return ct if i in self.carries else add_tangents(self._carry(i), ct)

    def in_order(self, graph: Graph) -> Graph:
        """Return the body of the transposed scan with its last inputs, the sums, in the order of captured values."""
        first = len(graph.inputs) - len(self.carries)
        own = [i for _, i in sorted(zip(self.carries, range(first, len(graph.inputs)), strict=True))]
        return replace(graph, inputs=(*graph.inputs[:first], *[graph.inputs[i] for i in own]))


def _made(cts: Sequence[Any]) -> list[Any]:
    """Return the cotangents that are not zero."""
    return [ct for ct in cts if ct is not None]


def _cotangent_types(loop: Loop, pulled: Inputs, live: Outputs) -> Inputs:
    """Return the types of the cotangents of linear carries and of live outputs."""
    outputs = loop.outputs([v.meta for v in loop.body.outputs])
    joined = [_of_new_size(m) for m in flagged(outputs.joined, live.joined)]
    return Inputs([_after(loop, m) for m in pulled.carries], flagged(outputs.stacked, live.stacked), joined, [])


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

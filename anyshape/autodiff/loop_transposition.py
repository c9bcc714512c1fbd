"""Transpose scans whose body is linear: a scan in the other direction.

Carries of the transposed scan are the cotangents of the carries, and the sums of the cotangents of captured values. A
carry that is known runs ahead: a scan of the known part stacks it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anyshape.autodiff.branch_derivatives import Typed
from anyshape.autodiff.linearize_transpose import transpose
from anyshape.autodiff.loop_calls import Inputs, Loop, Outputs, by_flags, flagged, reordered
from anyshape.autodiff.rule_tables import add_tangents, zeros_like
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar

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


def transposed_body(loop: Loop, linear: Inputs, live: Outputs) -> tuple[Graph, Inputs]:
    """Return the body of the transposed scan, and which of the linear inputs have a cotangent there.

    - Its carries are the cotangents of the carries, then the sums of the cotangents of captured linear inputs.
    - Its elements are the known elements, then the cotangents of `live` stacked outputs; its pieces likewise.
    - It gives the cotangents of linear elements as stacks, and the cotangents of linear pieces joined.
    """
    known, pulled = loop.metas.chosen(linear, wanted=False), loop.metas.chosen(linear)
    ends = loop.outputs([v.meta for v in loop.body.outputs])
    cotangents = Inputs(
        [*[_after(loop, m) for m in pulled.carries], *pulled.captured],
        flagged(ends.stacked, live.stacked),
        [_of_new_size(m) for m in flagged(ends.joined, live.joined)],
        [],
    )
    metas = known.joined(cotangents)
    with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
        inputs = Inputs.of(metas.layout(), xs[: len(metas.flat())])
        residuals, seeds = inputs.split(known)
        count = len(pulled.carries)
        results = transpose(
            builder,
            _linear_first(loop.body, linear),
            len(pulled.flat()),
            residuals.flat(),
            [*seeds.carries[:count], *by_flags(live.stacked, seeds.elements), *by_flags(live.joined, seeds.pieces)],
        )
        pulled_cts = Inputs.of(pulled.layout(), results)
        ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="transpose")
        pairs = zip(pulled_cts.carries, pulled.carries, strict=True)
        carries = [zeros_like(ctx, Typed(m)) if ct is None else ct for ct, m in pairs]
        sums = [add_tangents(a, ct) for a, ct in zip(seeds.carries[count:], pulled_cts.captured, strict=True)]
        added = [ct for ct in (*pulled_cts.elements, *pulled_cts.pieces) if ct is not None]
        return builder.finish([*carries, *sums, *added], loop.body.name), pulled_cts.map(lambda ct: ct is not None)


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
    results, mask = loop.ahead(ahead, known)
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

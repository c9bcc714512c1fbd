"""Derive the body of values and tangents of a loop.

Which carries have a tangent is a fixed point: a trip may give one to a carry that begins without.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs
from anyshape.autodiff.jvp import push_parts
from anyshape.autodiff.rule_tables import ADD, ELEMENTWISE, FILL, MOVE, zero_flow
from anyshape.autodiff.structural_zeros import Part, whole
from anyshape.autodiff.subgraph_ends import Ends, filled, read_kinds
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.graph import Graph, Op, walk
from anyshape.ops import elementwise as ew
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.creation import full_op

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

"""Forward and reverse mode of a loop.

Tangents in a graph of their own make two loops. The first computes the values and stacks the residuals. The second is a
scan of the residuals that is linear in the tangents; its transpose is a scan in the other direction. So the number of
trips, which the first loop counts, has no bound. With checkpoint slots the first loop fills these, and the scan is a
rerun.

Derive the body of values and tangents of a loop.

Which carries have a tangent is a fixed point: a trip may give one to a carry that begins without.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.branch_derivatives import Typed, meta_of_operand
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs
from anyshape.autodiff.control_flow.loop_linearisation import LinearisedBody, linearised_body
from anyshape.autodiff.control_flow.loop_reruns import of_linearised
from anyshape.autodiff.control_flow.loop_transposition import linear_inputs, transposed_body, with_known_ahead
from anyshape.autodiff.jvp import Pushed, are_inside, push_parts
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
from anyshape.graph.ir.graph import Graph, Op, walk
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import tensor
from anyshape.ops import elementwise as ew
from anyshape.ops.contraction import dot_general_op
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.creation import full_op, size_value
from anyshape.ops.movement import broadcast_in_dim


def jvp_of_loop(loop: Loop, tangents: Sequence[Any]) -> Pushed:
    """Return the results of a loop and their tangents."""
    by_kind = Inputs.of(loop.layout, tangents[: len(loop.body.inputs)])
    derive = _linearise if are_inside(tangents, loop.inputs.flat()) else _push
    return Pushed(*derive(loop, by_kind))


def _instantiated(loop: Loop, tangents: Inputs, active: Inputs, read: Callable[[Any], Any] = whole) -> Inputs:
    """Return what `read` gives of the tangents of active inputs, zeros for carries that begin without."""
    chosen = tangents.chosen(active).map(read)
    pairs = zip(chosen.carries, loop.inputs.chosen(active).carries, strict=True)
    return replace(chosen, carries=[zeros_like(loop.ctx, Typed(meta_of(x))) if t is None else t for t, x in pairs])


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
    if parts.again is not None:
        rerun = of_linearised(loop, parts.again, parts.stacked, mask, slots)
        saved, joined = rerun.made()
    else:
        rerun, saved, joined = None, tape.stacked[: parts.stacked], tape.joined
    known.elements = [*known.elements, *saved, *([] if mask is None else [mask])]
    known.pieces = [*known.pieces, *joined]
    inputs = _instantiated(loop, tangents, parts.active).joined(known)
    ends: Any = [loop.exact_sizes(y) for y in flagged(values.carries, parts.live.carries)]
    if rerun is not None:
        return rerun.scan(loop, parts.map, inputs, loop.reverse, ends)
    measured = [tape.stacked[parts.stacked + i] for i in parts.lengths]
    lengths = [
        *flagged(loop.lengths, parts.active.pieces),
        *flagged(loop.lengths, parts.read.pieces),
        *measured[: len(tape.joined)],
        *flagged([*loop.joined_lengths, *measured[len(tape.joined) :]], parts.live.joined),
    ]
    length = loop.length if mask is None else sizes_of(loop.ctx, mask)[0]
    assert length is not None  # a scan has one
    return loop.scan(parts.map, inputs, lengths, sum(parts.live.joined), length, loop.reverse, ends)


def transpose_loop(loop: Loop, cts: Sequence[Any]) -> list[Any]:
    """Return the cotangents of the operands of a loop that is linear in some of them."""
    operand_flags = loop.inputs.map(lambda x: isinstance(x, Linear))
    linear = linear_inputs(loop, operand_flags)
    by_kind = loop.outputs([*cts[: loop.layout.carries], *cts[loop.layout.carries + loop.has_mask :]])
    part, flags = with_known_ahead(loop, linear)
    starts = [_start(loop, i, ct) for i, ct in enumerate(by_kind.carries) if linear.carries[i]]
    seeds = replace(by_kind, carries=starts)
    pulled = _pulled(part, flags, seeds)
    count = len(part.inputs.elements) - len(loop.inputs.elements)
    own = Inputs.of(part.layout, by_flags(flags.flat(), pulled))
    elements = own.elements[: len(own.elements) - count]
    carries = by_flags(linear.carries, own.carries)
    everything = replace(own, carries=carries, elements=elements).flat()
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
    zeros = zeros_like(loop.ctx, Typed(tensor(meta.dtype, loop.ends[i]) if loop.ends else meta))
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

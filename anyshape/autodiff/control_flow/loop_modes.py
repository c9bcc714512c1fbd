"""Forward and reverse mode of a loop.

Tangents in a graph of their own make two loops. The first computes the values and stacks the residuals. The second is a
scan of the residuals that is linear in the tangents; its transpose is a scan in the other direction. So the number of
trips, which the first loop counts, has no bound. With checkpoint slots the first loop fills these, and the scan is a
rerun.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.branch_calls import meta_of_operand
from anyshape.autodiff.control_flow.branch_derivatives import Typed
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, by_flags, flagged
from anyshape.autodiff.control_flow.loop_derivatives import pushed_body
from anyshape.autodiff.control_flow.loop_linearisation import LinearisedBody, linearised_body
from anyshape.autodiff.control_flow.loop_reruns import of_linearised
from anyshape.autodiff.control_flow.loop_transposition import linear_inputs, transposed_body, with_known_ahead
from anyshape.autodiff.jvp import Pushed
from anyshape.autodiff.rule_tables import Linear, zeros_like
from anyshape.graph.ir.builder import Traced
from anyshape.graph.shapes.array_type import tensor
from anyshape.ops.callback import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of, sizes_of


def jvp_of_loop(loop: Loop, tangents: Sequence[Any]) -> Pushed:
    """Return the results of a loop and their tangents."""
    by_kind = Inputs.of(loop.layout, tangents[: len(loop.body.inputs)])
    derive = _linearise if are_inside(tangents, loop.inputs.flat()) else _push
    return Pushed(*derive(loop, by_kind))


def are_inside(tangents: Sequence[Any], operands: Sequence[Any]) -> bool:
    """Return whether tangents belong to a graph inside of the one of the operands."""
    depth = max([x.builder.depth for x in operands if isinstance(x, Traced)], default=-1)
    return next(t for t in tangents if t is not None).builder.depth > depth


def _instantiated(loop: Loop, tangents: Inputs, active: Inputs) -> Inputs:
    """Return the tangents of active inputs, zeros for carries that begin without."""
    chosen = tangents.chosen(active)
    pairs = zip(chosen.carries, loop.inputs.chosen(active).carries, strict=True)
    return replace(chosen, carries=[zeros_like(loop.ctx, Typed(meta_of(x))) if t is None else t for t, x in pairs])


def _with_mask(loop: Loop, outputs: Outputs, mask: Any) -> list[Any]:
    """Return what belongs to all outputs of the node, with the mask of its trips if it has one."""
    return [*outputs.carries, *([mask] if loop.has_mask else []), *outputs.stacked, *outputs.joined]


def _push(loop: Loop, tangents: Inputs) -> tuple[list[Any], list[Any]]:
    """Return values and tangents of one loop."""
    graph, active, live = pushed_body(loop, tangents.map(lambda t: t is not None))
    inputs = loop.inputs.joined(_instantiated(loop, tangents, active))
    lengths = [*loop.lengths, *flagged(loop.lengths, active.pieces)]
    if len(loop.joined_lengths) == loop.joined:
        lengths += [*loop.joined_lengths, *flagged(loop.joined_lengths, live.joined)]
    ends = [*loop.ends, *flagged(loop.ends, active.carries)] if loop.ends else []
    results, mask, _ = loop.again(graph, inputs, lengths, loop.joined + sum(live.joined), ends)
    columns = list(zip(results.kinds(), live.kinds(), strict=True))
    values = Outputs(*[ys[: len(flags)] for ys, flags in columns])
    slopes = Outputs(*[by_flags(flags, ys[len(flags) :]) for ys, flags in columns])
    return _with_mask(loop, values, mask), _with_mask(loop, slopes, None)


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
    loop: Loop, parts: LinearisedBody, tangents: Inputs, values: Outputs, tape: Outputs, mask: Any, slots: Sequence[Any]
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
    seeds = replace(by_kind, carries=flagged(by_kind.carries, linear.carries))
    starts = flagged([_start(loop, i, ct) for i, ct in enumerate(by_kind.carries)], linear.carries)
    pulled = _pulled(part, flags, starts, seeds)
    count = len(part.inputs.elements) - len(loop.inputs.elements)
    own = Inputs.of(part.layout, by_flags(flags.flat(), pulled))
    elements = own.elements[: len(own.elements) - count]
    carries = by_flags(linear.carries, own.carries)
    everything = replace(own, carries=carries, elements=elements).flat()
    columns = zip(everything, operand_flags.flat(), loop.inputs.flat(), strict=True)
    operands = [_of_its_shape(loop, ct, x) if flag and ct is not None else None for ct, flag, x in columns]
    return operands + [None] * len([*loop.lengths, *loop.joined_lengths])


def _of_its_shape(loop: Loop, ct: Any, x: Any) -> Any:
    """Return a cotangent with the exact sizes of its operand: joined ones have none of their own."""
    sizes = loop.exact_sizes(x)
    return ct if loop.exact_sizes(ct) is not None or sizes is None else sized(ct, sizes)


def _have(cts: Sequence[Any]) -> list[bool]:
    """Return which of them are not None."""
    return [ct is not None for ct in cts]


def _pulled(loop: Loop, linear: Inputs, starts: Sequence[Any], seeds: Outputs) -> list[Any]:
    """Return the cotangents of the linear inputs of a scan whose carries are all linear, in their order."""
    live = Outputs([True] * len(starts), _have(seeds.stacked), _have(seeds.joined))
    graph, has, products = transposed_body(loop, linear, live)
    summed = [product is None for product in products]
    known, pulled = loop.inputs.chosen(linear, wanted=False), loop.inputs.chosen(linear)
    cotangents = Inputs(
        [*starts, *[zeros_like(loop.ctx, x) for x in flagged(pulled.captured, summed)]],
        flagged(seeds.stacked, live.stacked),
        flagged(seeds.joined, live.joined),
        [],
    )
    own = [not flag for flag in linear.pieces]
    lengths = [
        *flagged(loop.lengths, own),
        *flagged(loop.joined_lengths, live.joined),
        *flagged(flagged(loop.lengths, linear.pieces), has.pieces),
    ]
    ends: Any = [loop.exact_sizes(x) for x in (*loop.inputs.carries, *flagged(pulled.captured, summed))]
    assert loop.length is not None  # a scan has one
    results = loop.scan(graph, known.joined(cotangents), lengths, sum(has.pieces), loop.length, not loop.reverse, ends)
    parts = Outputs.of(len(cotangents.carries), sum(has.pieces), results)
    sums, stacks = iter(parts.carries[len(starts) :]), parts.stacked[sum(has.elements) :]
    pairs = zip(products, pulled.captured, strict=True)
    captured = [next(sums) if p is None else p.of(known.elements, stacks, loop.exact_sizes(x)) for p, x in pairs]
    added = by_flags([*has.elements, *has.pieces], [*parts.stacked[: sum(has.elements)], *parts.joined])
    return [*parts.carries[: len(starts)], *added, *captured]


def _start(loop: Loop, i: int, ct: Any) -> Any:
    """Return the cotangent of the last value of a carry, zeros where it has none."""
    if ct is not None:
        return ct
    meta = meta_of_operand(loop.inputs.carries[i])
    return zeros_like(loop.ctx, Typed(tensor(meta.dtype, loop.ends[i]) if loop.ends else meta))

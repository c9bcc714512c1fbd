"""Batching of reruns: both bodies compute a batch, and checkpoint slots hold carries of all examples."""

from dataclasses import replace

from anyshape.autodiff.batching.loops import batched_body, carried, inner_size, moved, of_one
from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop
from anyshape.autodiff.control_flow.loop_reruns import Made, Rerun, first_slots
from anyshape.autodiff.rule_tables import BATCHERS, Common
from anyshape.graph.ir.subgraph import close
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.callback import name_sizes
from anyshape.ops.reruns import Operands, rerun_op, split_operands
from anyshape.ops.subgraph_call import further_operands


def _rerun_batch(ctx, size, batched, *operands, **params):
    flags = split_operands(batched, params["bodies"][0], lp.Layout(*params["start"]))
    rerun = Rerun(ctx, operands, metas=of_one(operands, batched), **params)
    loop = rerun.loop()
    before = Inputs.of(loop.layout, flags.loop)
    graph, after, live = batched_body(loop, before, inner_size(size))
    closed = close([graph])
    inputs = _inputs(ctx, size, loop, before, after)
    further = further_operands(closed, loop.constant_sizes())
    again = replace(rerun.again, body=closed.graphs[0], operands=[*inputs.flat(), *further], metas=())
    again.slots = _slots(ctx, size, again, rerun.operands.slots, flags.slots, after.carries)
    results = _scan(ctx, size, rerun, again, flags.own, live)
    return tuple(results) if len(results) > 1 else results[0]


BATCHERS[rerun_op] = _rerun_batch


def _inputs(ctx, size, loop, before, after):
    """Return the operands of a loop of batches, whose carries have the batch if they have it after a trip."""
    columns = zip(loop.inputs.carries, before.carries, after.carries, strict=True)
    return replace(
        loop.inputs,
        carries=[carried(ctx, size, x, is_batched, flag) for x, is_batched, flag in columns],
        elements=[
            mv.move_axes(x, (1,), (0,)) if flag and not isinstance(x, Made) else x
            for x, flag in zip(loop.inputs.elements, before.elements, strict=True)
        ],
    )


def _slots(ctx, size, again, slots, batched, carries):
    """Return the checkpoint slots of a batch. Where carries change size, one is filled, with the first carries."""
    trips, *stores = slots
    if any(lp.changing_carries(again.body, again.start)) or batched[0]:
        loop = Loop(ctx, again.operands, again.body, again.start, again.pieces, again.reverse)
        return first_slots(loop, count=again.count)
    columns = zip(stores, batched[1:], carries, strict=True)
    return [trips, *[_stored(ctx, size, x, is_batched, flag) for x, is_batched, flag in columns]]


def _stored(ctx, size, x, is_batched, flag):
    """Return the carries in all slots with the batch, if they have it, as their second axis."""
    return mv.move_axes(carried(ctx, size, x, is_batched, flag), (1,), (0,)) if flag else x


def _scan(ctx, size, rerun, again, batched, made):
    """Return the results of the scan; `made` tells which results of the loop carry the batch."""
    loop = rerun.scan()
    before = Inputs.of(loop.layout, Operands((), (), batched).of_scan(loop.layout, made.stacked, made.joined))
    graph, after, live = batched_body(loop, before, inner_size(size))
    inputs = _inputs(ctx, size, loop, before, after)
    stacks, inputs.pieces = again.made()
    inputs.elements = [*inputs.elements[: len(inputs.elements) - len(stacks)], *stacks]
    ends = [(size, *shape) if flag else shape for shape, flag in zip(loop.ends, after.carries, strict=False)]
    outputs = loop.outputs(again.scan(loop, graph, inputs, loop.reverse, ends))
    stacked = moved([*map(name_sizes, outputs.stacked)], live.stacked, (1,), (0,))
    columns = zip([*outputs.carries, *stacked], [*live.carries, *live.stacked], strict=True)
    return [y if flag else Common(y) for y, flag in columns]

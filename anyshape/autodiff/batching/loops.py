"""Batching of loops.

A loop whose trips are the same for all examples has one body for the whole batch. In a `while` whose condition differs
between examples, a trip computes the rows of those that are live.
"""

from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.example_loops import of_batches
from anyshape.autodiff.control_flow.loop_calls import Inputs, LiveRows, Loop, counted, with_axis
from anyshape.autodiff.control_flow.loop_reruns import first_slots, slot_flags
from anyshape.autodiff.rule_tables import BATCHERS, Common, stretch
from anyshape.autodiff.subgraph_transforms import batch_element, derived
from anyshape.autodiff.vmap import batch
from anyshape.errors import RaggedBatchError, UnsupportedFunctionError
from anyshape.graph.ir.graph import walk
from anyshape.graph.ir.subgraph import close
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.callback import name_sizes
from anyshape.ops.core.apply import meta_of
from anyshape.ops.subgraph_call import further_operands


def _scan_batch(ctx, size, batched, *operands, body, layout, joined, reverse, ends, checkpoint, slots):
    count = len(body[0].inputs)
    if any(batched[count:]):
        advice = "give the carries of all examples the same sizes in each trip"
        raise RaggedBatchError("scan", {}, ctx.where, advice)
    options = {"ends": ends, "metas": of_one(operands, batched), "checkpoint": checkpoint}
    loop = Loop(ctx, operands, body[0], lp.Layout(*layout), joined, reverse, **options)
    return _one_or_all(_together(ctx, size, loop, Inputs.of(loop.layout, batched[:count]), slots))


def _while_batch(ctx, size, batched, *operands, loop, carries, joined, checkpoint, slots):
    test, body = loop
    if slots and len(body.outputs) == carries:
        params = {"carries": carries, "joined": joined, "checkpoint": checkpoint, "slots": True}
        results = _while_batch(ctx, size, batched, *operands, loop=(test, counted(body)), **params)
        return *results[: carries + 1], *results[carries + 2 :]
    metas = of_one(operands, batched)
    whole = Loop(ctx, operands, body, lp.Layout(carries), joined, test=test, metas=metas, checkpoint=checkpoint)
    have = Inputs.of(whole.layout, batched)
    flags = batched_body(whole, have, inner_size(size))[1]
    if not _is_batched(whole, flags, inner_size(size)):
        return _one_or_all(_together(ctx, size, whole, have, slots))
    if any(node.op.draws for graph in loop for node in walk(graph)):
        advice = "draw before the loop, or give all examples the same number of trips"
        problem = "ends at different trips for the examples of a batch, and its trips draw random numbers"
        raise UnsupportedFunctionError("while_loop", problem, advice, ctx.where)
    results = _each_alone(ctx, size, whole, flags, have)
    return _one_or_all([*results, *(_first_slots(whole, have.carries) if slots else [])])


def _while_each_batch(ctx, size, batched, *operands, one, rows, carries):
    count = len(carries)
    return _one_or_all(of_batches(ctx, size, batched[:count], one[0], carries, operands[:count]))


BATCHERS[lp.while_each_op] = _while_each_batch
BATCHERS[lp.scan_op] = _scan_batch
BATCHERS[lp.while_op] = _while_batch


def of_one(operands: Any, batched: Any) -> Any:
    """Return the types of the operands of one example."""
    return [batch_element(meta_of(x)) if flag else meta_of(x) for x, flag in zip(operands, batched, strict=True)]


def _one_or_all(results):
    return tuple(results) if len(results) > 1 else results[0]


def inner_size(size: Any) -> Any:
    """Return the size of the batch in a subgraph, which reads it off its inputs."""
    return size if isinstance(size, int) else expr.from_atom(DimVar("batch"))


# -- loops of each example ---------------------------------------------------------------------------------------


def _each_alone(ctx, size, loop, flags, have):
    """Return the results of a loop of each example, in which a trip computes the rows of live ones."""
    metas = loop.metas.flat()
    with derived(loop.body, metas, loop.handle) as (builder, xs):
        params = {"joined": loop.joined, "checkpoint": loop.checkpoint}
        results = lp.while_loop(loop.test, loop.body, loop.layout.carries, *xs[: len(metas)], **params)
        one = close([builder.finish(results, loop.body.name)])
    rows = expr.from_atom(DimVar("rows"))
    with derived(one.graphs[0], _types(loop, flags, rows).flat(), loop.handle) as (builder, xs):
        options = {"test": loop.test, "metas": metas, "checkpoint": loop.checkpoint}
        own = Loop(ctx, xs[: len(metas)], loop.body, loop.layout, loop.joined, **options)
        inner = ShapeGuardContext(builder.scope, ctx.primitive, ctx.where, rule="batching")
        graph = builder.finish(LiveRows(inner, rows, own, flags, flags).run(), loop.body.name)
    closed = close([graph])
    columns = zip(loop.inputs.flat(), flags.flat(), have.flat(), strict=True)
    inputs = [carried(ctx, size, x, has, flag) for x, flag, has in columns]
    operands = [*inputs, *further_operands(closed, loop.constant_sizes())]
    return lp.while_each(one.graphs[0], closed.graphs[0], flags.flat(), *operands)


# -- the body of a batch -----------------------------------------------------------------------------------------


def _types(loop, flags, size):
    """Return the types of the inputs of a body of batches: pieces have the batch as their second axis."""
    columns = zip(loop.metas.kinds(), flags.kinds(), (0, 0, 1, 0), strict=True)
    return Inputs(
        *[
            [with_axis(m, size, axis) if flag else m for m, flag in zip(metas, kind, strict=True)]
            for metas, kind, axis in columns
        ]
    )


def batched_body(loop: Any, flags: Any, size: Any) -> Any:
    """Return the body of a batch, the flags of its inputs and of its outputs.

    A carry that a trip makes carry the batch does so from the start.
    """
    count = len(loop.body.inputs)
    while True:
        with derived(loop.body, _types(loop, flags, size).flat(), loop.handle) as (builder, xs):
            inputs = Inputs.of(loop.layout, xs[:count])
            inputs.pieces = moved(inputs.pieces, flags.pieces, (1,), (0,))
            outputs = loop.outputs(
                _as_written(loop, batch(builder, loop.body, inputs.flat(), flags.flat(), size), size)
            )
            carries = [a or b for a, (_, b) in zip(flags.carries, outputs.carries, strict=True)]
            if carries == flags.carries:
                ctx = ShapeGuardContext(builder.scope, loop.body.name, rule="batching")
                live = loop.outputs([*carries, *[flag for _, flag in (*outputs.stacked, *outputs.joined)]])
                ends = [
                    *[carried(ctx, size, y, b, flag) for (y, b), flag in zip(outputs.carries, carries, strict=True)],
                    *[y for y, _ in outputs.stacked],
                    *moved([y for y, _ in outputs.joined], live.joined, (0,), (1,)),
                ]
                return builder.finish(ends, loop.body.name), flags, live
        flags = replace(flags, carries=carries)


def _as_written(loop, results, size):
    """Return results of a batch, and whether they carry it, in the sizes that the body writes them in."""
    ys, flags = zip(*results, strict=True)
    written = loop.as_written(ys, loop.body.outputs, [(size,) if flag else () for flag in flags])
    return list(zip(written, flags, strict=True))


def carried(ctx: Any, size: Any, y: Any, is_batched: Any, is_wanted: Any) -> Any:
    """Return a carry with the batch as its first axis if it is wanted so."""
    return stretch(ctx, size, y) if is_wanted and not is_batched else y


def moved(xs: Any, flags: Any, old: Any, new: Any) -> Any:
    """Return arrays with the batch, if they carry it, at another position."""
    return [mv.move_axes(x, old, new) if flag else x for x, flag in zip(xs, flags, strict=True)]


def _is_batched(loop, flags, size):
    """Return whether examples differ in the condition."""
    with derived(loop.test, _types(loop, flags, size).flat(), loop.handle) as (builder, xs):
        ((_, is_batched),) = batch(builder, loop.test, xs[: len(flags.flat())], flags.flat(), size)
        return is_batched


def _together(ctx, size, loop, have, slots):
    """Return the results of a loop whose trips are the same for all examples; `have` are the batched operands."""
    inner, fills = inner_size(size), slots and not any(lp.changing_carries(loop.body, loop.layout))
    graph, flags, live = batched_body(loop, have, inner)
    inputs = replace(
        loop.inputs,
        carries=[
            carried(ctx, size, x, is_batched, flag)
            for x, is_batched, flag in zip(loop.inputs.carries, have.carries, flags.carries, strict=True)
        ],
        elements=moved(loop.inputs.elements, have.elements, (1,), (0,)),
        pieces=moved(loop.inputs.pieces, have.pieces, (1,), (0,)),
    )
    ends = [(size, *shape) if flag else shape for shape, flag in zip(loop.ends, flags.carries, strict=False)]
    lengths = [*loop.lengths, *loop.joined_lengths]

    def test_of(builder, test, xs):
        """Return the condition, which is the same for all examples."""
        return batch(builder, test, xs, flags.flat(), inner)[0][0]

    results, mask, filled = loop.again(graph, inputs, lengths, loop.joined, ends, test_of, slots=fills)
    added = [*map(name_sizes, (*results.stacked, *results.joined))]
    columns = [
        *zip(results.carries, live.carries, strict=True),
        *([(mask, False)] if loop.has_mask else []),
        *zip(moved(added, [*live.stacked, *live.joined], (1,), (0,)), [*live.stacked, *live.joined], strict=True),
    ]
    own = [y if flag else Common(y) for y, flag in columns]
    if fills:
        return [*own, Common(filled[0]), *_with_batch_first(filled[1:], live.carries)]
    return [*own, *(_first_slots(loop, have.carries) if slots else [])]


def _with_batch_first(xs, flags):
    """Return arrays that carry the batch as their second axis, if they do, with it as the first one."""
    return [mv.move_axes(x, (1,), (0,)) if flag else Common(x) for x, flag in zip(xs, flags, strict=True)]


def _first_slots(loop, flags):
    """Return checkpoint slots with the first carries alone; `flags` tell which of these carry the batch."""
    pairs = zip(first_slots(loop, flags), slot_flags(loop, flags), strict=True)
    return [x if flag else Common(x) for x, flag in pairs]

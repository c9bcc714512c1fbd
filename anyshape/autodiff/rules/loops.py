"""Derivatives of loops: forward mode runs values and tangents together, reverse mode saves what each trip needs.

Checkpoint slots have no derivative of their own: what depends on them depends on the first carries. So a derived loop
has the first carries in the first slot, and fills no other.

Batching of loops.

A loop whose trips are the same for all examples has one body for the whole batch. In a `while` whose condition differs
between examples, a trip computes the rows of those that are live.

Derivatives of reruns. The transpose of one whose scan is linear is a rerun in the other direction.

Any other derivative goes through the two loops that a rerun stands for, which save the carry of each trip.

Batching of reruns: both bodies compute a batch, and checkpoint slots hold carries of all examples.
"""

from typing import Any

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.control_flow.branch_derivatives import handle_of, meta_of_operand
from anyshape.autodiff.control_flow.loop_calls import (
    ExampleLoops,
    Inputs,
    LiveRows,
    Loop,
    counted,
    of_batches,
    with_axis,
)
from anyshape.autodiff.control_flow.loop_linearisation import jvp_of_loop, transpose_loop
from anyshape.autodiff.control_flow.loop_transposition import Made, Rerun, first_slots, linear_inputs, slot_flags
from anyshape.autodiff.jvp import Pushed, are_inside, push
from anyshape.autodiff.linearize_transpose import transpose
from anyshape.autodiff.rule_tables import stretch, with_values, zeros
from anyshape.autodiff.subgraph_transforms import batch_element, derived
from anyshape.autodiff.vmap import batch
from anyshape.errors import RaggedBatchError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, activate, active
from anyshape.graph.ir.graph import walk
from anyshape.graph.ir.op_local import close
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.loops import Operands, rerun_op, split_operands
from anyshape.ops.subgraph_call import further_operands
from anyshape.support.lazy_dataclass import replace


def _scan_jvp(ctx, tangents, out, *operands, body, layout, joined, reverse, ends, checkpoint, slots, sources=()):
    metas = [meta_of(x) for x in (*operands, *sources)]  # in the sizes of this replay
    here = ShapeGuardContext(ctx.scope, ctx.primitive, ctx.where, metas, ctx.rule)
    shapes = here.bind(ends, field="ends")
    plan = lp.Layout(*layout)
    loop = Loop(ctx, operands, body[0], plan, joined, reverse, ends=shapes, checkpoint=checkpoint)
    return _with_slots(loop, jvp_of_loop(loop, tangents), slots)


def _with_slots(loop, pushed, slots):
    """Return results and tangents of a loop with slots, which have no tangents."""
    filled = first_slots(loop) if slots else []
    return Pushed([*pushed.outputs, *filled], [*pushed.tangents, *[None] * len(filled)])


def _scan_transpose(ctx, cts, *operands, body, layout, joined, reverse, ends, checkpoint, slots, sources=()):
    cts, shapes = cts if isinstance(cts, list) else [cts], ctx.bind(ends, field="ends")
    plan = lp.Layout(*layout)
    loop = Loop(ctx, operands, body[0], plan, joined, reverse, ends=shapes, like=cts, checkpoint=checkpoint)
    return transpose_loop(loop, cts[: len(body[0].outputs)])


def _while_jvp(ctx, tangents, out, *operands, loop, carries, joined, checkpoint, slots):
    test, body = loop
    if slots and len(body.outputs) == carries:
        params = {"loop": (test, counted(body)), "carries": carries, "joined": joined, "checkpoint": checkpoint}
        pushed = _while_jvp(ctx, tangents, out, *operands, slots=True, **params)
        return Pushed(*[[*ys[: carries + 1], *ys[carries + 2 :]] for ys in (pushed.outputs, pushed.tangents)])
    whole = Loop(ctx, operands, body, lp.Layout(carries), joined, test=test, checkpoint=checkpoint)
    return _with_slots(whole, jvp_of_loop(whole, tangents), slots)


def _while_transpose(ctx, cts, *operands, loop, carries, joined, checkpoint, slots):
    cts, (test, body) = cts if isinstance(cts, list) else [cts], loop
    whole = Loop(ctx, operands, body, lp.Layout(carries), joined, test=test, like=cts, checkpoint=checkpoint)
    return transpose_loop(whole, cts[: len(body.outputs) + whole.has_mask])


def _while_each_jvp(ctx, tangents, out, *operands, one, rows, carries):
    loops = ExampleLoops(ctx, one[0], carries, operands)
    own = tangents[: len(carries)]
    if not are_inside(tangents, operands):
        return Pushed(*loops.push(own))
    builder = active()
    assert builder is not None  # rules run inside of a trace
    if builder.is_batched or _has_slots(one[0]):
        return Pushed(*loops.linearise(own))
    return Pushed(*push(builder, rows[0], operands, tangents))  # saves live rows alone, in an order of their own


def _has_slots(graph):
    """Return whether the loop of one example has checkpoint slots, which rows of live examples cannot share."""
    return any(not isinstance(dict(node.params)["checkpoint"], str) for node in graph.nodes if node.op is lp.while_op)


def _while_each_transpose(ctx, cts, *operands, one, rows, carries):
    cts = cts if isinstance(cts, list) else [cts]
    pulled = ExampleLoops(ctx, one[0], carries, operands, like=cts).transpose(cts)
    return [*pulled, *[None] * (len(operands) - len(carries))]


with_values(lp.scan_op, _scan_jvp)
with_values(lp.while_each_op, _while_each_jvp)
tables.TRANSPOSES[lp.while_each_op] = _while_each_transpose
with_values(lp.while_op, _while_jvp)
tables.TRANSPOSES[lp.scan_op] = _scan_transpose
tables.TRANSPOSES[lp.while_op] = _while_transpose
zeros(tables.PASS, tables.PASS, lp.scan_op, lp.while_op, lp.while_each_op)


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


tables.BATCHERS[lp.while_each_op] = _while_each_batch
tables.BATCHERS[lp.scan_op] = _scan_batch
tables.BATCHERS[lp.while_op] = _while_batch


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
    unconditional = replace(loop.body, conditions=())  # a trip has conditions, and there may be none
    with derived(unconditional, metas, loop.handle) as (builder, xs):
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
    own = [y if flag else tables.Common(y) for y, flag in columns]
    if fills:
        return [*own, tables.Common(filled[0]), *_with_batch_first(filled[1:], live.carries)]
    return [*own, *(_first_slots(loop, have.carries) if slots else [])]


def _with_batch_first(xs, flags):
    """Return arrays that carry the batch as their second axis, if they do, with it as the first one."""
    return [mv.move_axes(x, (1,), (0,)) if flag else tables.Common(x) for x, flag in zip(xs, flags, strict=True)]


def _first_slots(loop, flags):
    """Return checkpoint slots with the first carries alone; `flags` tell which of these carry the batch."""
    pairs = zip(first_slots(loop, flags), slot_flags(loop, flags), strict=True)
    return [x if flag else tables.Common(x) for x, flag in pairs]


def _rerun_jvp(ctx, tangents, out, *operands, ends, sources=(), **params):
    metas = [meta_of(x) for x in (*operands, *sources)]  # in the sizes of this replay
    here = ShapeGuardContext(ctx.scope, ctx.primitive, ctx.where, metas, ctx.rule)
    rerun = Rerun(ctx, operands, ends=here.bind(ends, field="ends"), **params)
    first, pieces = rerun.first_loop(), rerun.layout.pieces
    own = [*tangents[: len(rerun.operands.loop)]]
    own += [None] * (len(first.inputs.flat()) - len(own))
    if any(t is not None for t in own):
        flat, tangents_of = jvp_of_loop(first, own)
    else:
        flat = first.again(first.body, first.inputs, (), first.joined).outputs.flat()
        tangents_of = [None] * len(flat)
    values, slopes = first.outputs(flat), first.outputs(tangents_of)
    values.joined = [*map(name_sizes, values.joined)]
    slopes.joined = [
        None if t is None else sized(t, sizes_of(ctx, y)) for t, y in zip(slopes.joined, values.joined, strict=True)
    ]
    second = rerun.second_loop(values)
    parts = rerun.operands._replace(own=tangents[len(tangents) - len(rerun.operands.own) :])
    stacks = slopes.stacked[: len(slopes.stacked) - pieces]
    return Pushed(*jvp_of_loop(second, parts.of_scan(rerun.layout, stacks, slopes.joined)))


def _rerun_transpose(ctx, cts, *operands, ends, sources=(), **params):
    cts, shapes = cts if isinstance(cts, list) else [cts], ctx.bind(ends, field="ends")
    rerun = Rerun(ctx, operands, ends=shapes, like=cts, **params)
    others = [*rerun.operands.loop, *rerun.operands.slots]
    scan = rerun.scan()
    flags = scan.inputs.map(lambda x: isinstance(x, tables.Linear))
    if any(isinstance(x, tables.Linear) for x in others) or not all(linear_inputs(scan, flags).carries):
        return _transpose_of_loops(ctx, cts, operands, shapes, params)
    columns = zip(transpose_loop(scan, cts), scan.inputs.flat(), strict=False)
    return [*[None] * len(others), *[ct for ct, x in columns if not isinstance(x, Made)]]


def _transpose_of_loops(ctx, cts, operands, shapes, params):
    """Return the cotangents of a rerun whose loop is linear too, or whose scan is so in part."""
    builder = active()
    assert builder is not None  # rules run inside of a trace
    inner = Builder(builder.scope, parent=builder, handle=handle_of(*operands, *cts))
    with activate(inner):
        order = sorted(range(len(operands)), key=lambda i: not isinstance(operands[i], tables.Linear))
        xs = {i: inner.input(meta_of_operand(operands[i])) for i in order}
        rerun = Rerun(ctx, [xs[i] for i in range(len(operands))], ends=shapes, **params)
        graph = inner.finish(rerun.results(), ctx.primitive)
    linear = [i for i in order if isinstance(operands[i], tables.Linear)]
    residuals = [*[operands[i] for i in order[len(linear) :]], *inner.captures()]
    pulled = dict(zip(linear, transpose(builder, graph, len(linear), residuals, cts), strict=True))
    return [pulled.get(i) for i in range(len(operands))]


with_values(rerun_op, _rerun_jvp)
tables.TRANSPOSES[rerun_op] = _rerun_transpose
zeros(tables.PASS, tables.PASS, rerun_op)


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


tables.BATCHERS[rerun_op] = _rerun_batch


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
    return [y if flag else tables.Common(y) for y, flag in columns]

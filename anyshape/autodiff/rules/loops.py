"""Derivatives of loops: forward mode runs values and tangents together, reverse mode saves what each trip needs.

Checkpoint slots have no derivative of their own: what depends on them depends on the first carries. So a derived loop
has the first carries in the first slot, and fills no other.
"""

from anyshape.autodiff.control_flow.example_loops import ExampleLoops
from anyshape.autodiff.control_flow.loop_calls import Loop, counted
from anyshape.autodiff.control_flow.loop_modes import jvp_of_loop, transpose_loop
from anyshape.autodiff.control_flow.loop_reruns import first_slots
from anyshape.autodiff.jvp import Pushed, are_inside, push
from anyshape.autodiff.rule_tables import PASS, TRANSPOSES, no_shift, with_values, zeros
from anyshape.graph.ir.builder import active
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import loops as lp
from anyshape.ops.core.apply import meta_of


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
TRANSPOSES[lp.while_each_op] = _while_each_transpose
with_values(lp.while_op, _while_jvp)
TRANSPOSES[lp.scan_op] = _scan_transpose
TRANSPOSES[lp.while_op] = _while_transpose
zeros(PASS, PASS, lp.scan_op, lp.while_op, lp.while_each_op)
no_shift(lp.scan_op, lp.while_op, lp.while_each_op)

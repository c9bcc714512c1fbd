"""Derivatives of reruns. The transpose of one whose scan is linear is a rerun in the other direction.

Any other derivative goes through the two loops that a rerun stands for, which save the carry of each trip.
"""

from anyshape.autodiff.control_flow.branch_derivatives import handle_of, meta_of_operand
from anyshape.autodiff.control_flow.loop_modes import jvp_of_loop, transpose_loop
from anyshape.autodiff.control_flow.loop_reruns import Made, Rerun
from anyshape.autodiff.control_flow.loop_transposition import linear_inputs
from anyshape.autodiff.jvp import Pushed
from anyshape.autodiff.linearize_transpose import transpose
from anyshape.autodiff.rule_tables import PASS, TRANSPOSES, Linear, no_shift, with_values, zeros
from anyshape.graph.ir.builder import Builder, activate, active
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops.callback import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.reruns import rerun_op


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
    flags = scan.inputs.map(lambda x: isinstance(x, Linear))
    if any(isinstance(x, Linear) for x in others) or not all(linear_inputs(scan, flags).carries):
        return _transpose_of_loops(ctx, cts, operands, shapes, params)
    pulled = transpose_loop(scan, cts)
    columns = zip(pulled, scan.inputs.flat(), strict=False)
    return [*[None] * len(others), *[ct for ct, x in columns if not isinstance(x, Made)]]


def _transpose_of_loops(ctx, cts, operands, shapes, params):
    """Return the cotangents of a rerun whose loop is linear too, or whose scan is so in part."""
    builder = active()
    assert builder is not None  # rules run inside of a trace
    inner = Builder(builder.scope, parent=builder, handle=handle_of(*operands, *cts))
    with activate(inner):
        order = sorted(range(len(operands)), key=lambda i: not isinstance(operands[i], Linear))
        xs = {i: inner.input(meta_of_operand(operands[i])) for i in order}
        rerun = Rerun(ctx, [xs[i] for i in range(len(operands))], ends=shapes, **params)
        graph = inner.finish(rerun.results(), ctx.primitive)
    linear = [i for i in order if isinstance(operands[i], Linear)]
    residuals = [*[operands[i] for i in order[len(linear) :]], *inner.captures()]
    pulled = dict(zip(linear, transpose(builder, graph, len(linear), residuals, cts), strict=True))
    return [pulled.get(i) for i in range(len(operands))]


with_values(rerun_op, _rerun_jvp)
TRANSPOSES[rerun_op] = _rerun_transpose
zeros(PASS, PASS, rerun_op)
no_shift(rerun_op)

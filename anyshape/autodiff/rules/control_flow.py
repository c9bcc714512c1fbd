"""Derivatives of conditionals: the JVP gives values and tangents, so that branches share their work and save the rest.

Tangents in the graph of the values make one conditional of both. Tangents in a graph of their own, as in reverse mode,
make two. The first gives the values and residuals, and the second is linear in the tangents.
"""

from anyshape.autodiff.control_flow.branch_derivatives import Branches, linearised_graphs
from anyshape.autodiff.jvp import Pushed, are_inside
from anyshape.autodiff.rule_tables import MOVE, PASS, TRANSPOSES, Linear, linear, no_shift, with_values, zeros
from anyshape.autodiff.structural_zeros import whole
from anyshape.autodiff.subgraph_ends import Ends, by_flags, flagged
from anyshape.autodiff.subgraph_transforms import pushed_graphs, transposed_graphs
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import Sized

linear(cf.sized_op, lambda ctx, ct, x, *, shape, sources=(): ct)


def _jvp(call, tangents):
    """Return the results of a conditional and their tangents."""
    derive = _linearise if are_inside(tangents, (call.index, *call.operands)) else _push
    return Pushed(*derive(call, tangents))


def _push(call, tangents):
    """Return values and tangents of one conditional."""
    own = Ends.of(tangents)
    graphs, ends = pushed_graphs(call.graphs, own, call.handle)
    arguments, carries = [*call.operands, *own.arrays(tangents)], [*call.carries, *own.each(call.carries)]
    results = call.apply(graphs, arguments, carries, [*call.totals, *ends.each(call.totals)])
    count = len(ends.live)
    return results[:count], ends.read(results[count:])


def _linearise(call, tangents):
    """Return values, and tangents of a conditional that is linear in the tangents."""
    active = [t is not None for t in tangents]
    shared = [call.is_of_examples and not carries for carries in call.carries]
    parts = linearised_graphs(call.graphs, active, call.handle, shared)
    count = len(parts.live)
    totals = [*call.totals, *[False] * (len(parts.values[0].outputs) - count)]
    results = call.apply(parts.values, call.operands, call.carries, totals)
    outputs, saved = results[:count], results[count:]
    slopes = ()
    if any(parts.live):
        carries = [*flagged(call.carries, active), *[call.carries[i] for i in parts.read], *[True] * len(saved)]
        totals = flagged(call.totals, parts.live)
        known = [*map(whole, flagged(tangents, active)), *[call.operands[i] for i in parts.read], *saved]
        slopes = call.apply(parts.maps, known, carries, totals)
    return outputs, by_flags(parts.live, slopes)


def _cond_jvp(ctx, tangents, out, index, *operands, branches):
    return _jvp(Branches(ctx, index, operands, branches), tangents[1:])


def _cond_each_jvp(ctx, tangents, out, index, *operands, branches, batched, carries, totals):
    operands, tangents = operands[: len(carries)], tangents[1 : 1 + len(carries)]
    return _jvp(Branches(ctx, index, operands, branches, carries, totals), tangents)


with_values(cf.cond_op, _cond_jvp)
with_values(cf.cond_each_op, _cond_each_jvp)


def _transpose(call, cts):
    """Return the cotangents of the operands of a conditional that is linear in some of them."""
    linear_flags = [isinstance(x, Linear) for x in call.operands]
    known = [not flag for flag in linear_flags]
    own = Ends.of(cts)
    graphs, ends = transposed_graphs(call.graphs, linear_flags, own, call.handle)
    if not any(ends.live):
        return [None] * len(call.operands)
    arguments = [*flagged(call.operands, known), *own.arrays(cts)]
    carries = [*flagged(call.carries, known), *own.each([not total for total in call.totals])]
    pulled = flagged(call.operands, linear_flags)
    summed = [not c for c in flagged(call.carries, linear_flags)]
    results = call.apply(graphs, arguments, carries, ends.each(summed))
    columns = zip(results, ends.each(pulled), strict=True)
    return by_flags(linear_flags, ends.read([_of_shape(call.ctx, y, x) for y, x in columns]))


def _of_shape(ctx, ct, x):
    """Return a cotangent with the exact sizes of its operand, which may have none inside of the branches."""
    if ctx.sizes(Sized(ct)) is not None:
        return ct
    exact = ctx.sizes(x)
    return ct if exact is None else cf.sized(ct, exact)


def _cond_transpose(ctx, cts, index, *operands, branches):
    cts = cts if isinstance(cts, list) else [cts]
    return None, *_transpose(Branches(ctx, index, operands, branches, like=cts), cts)


def _cond_each_transpose(ctx, cts, index, *operands, branches, batched, carries, totals):
    cts, count = cts if isinstance(cts, list) else [cts], len(carries)
    call = Branches(ctx, index, operands[:count], branches, carries, totals, like=cts)
    return None, *_transpose(call, cts), *[None] * (len(operands) - count)


TRANSPOSES[cf.cond_op] = _cond_transpose
TRANSPOSES[cf.cond_each_op] = _cond_each_transpose

# -- zeros by construction

zeros(MOVE, MOVE, cf.sized_op)
zeros(PASS, PASS, cf.cond_op, cf.cond_each_op)

# -- shifts of operands

no_shift(cf.cond_op, cf.cond_each_op, cf.sized_op)

"""Derivatives of conditionals: the JVP gives values and tangents, so that branches share their work and save the rest.

Tangents in the graph of the values make one conditional of both. Tangents in a graph of their own, as in reverse mode,
make two. The first gives the values and residuals, and the second is linear in the tangents.
"""

from anyshape.autodiff.control_flow.branch_calls import Branches, by_flags
from anyshape.autodiff.control_flow.branch_derivatives import linearised_graphs
from anyshape.autodiff.jvp import Pushed
from anyshape.autodiff.rule_tables import MIX, STAY, TRANSPOSES, Linear, linear, no_shift, with_values, zeros
from anyshape.autodiff.subgraph_transforms import pushed_graphs, transposed_graphs
from anyshape.graph.ir.builder import Traced
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import Sized

linear(cf.sized_op, lambda ctx, ct, x, *, shape, sources=(): ct)


def _jvp(call, tangents):
    """Return the results of a conditional and their tangents."""
    active = [t is not None for t in tangents]
    live = [t for t in tangents if t is not None]
    depth = max([x.builder.depth for x in (call.index, *call.operands) if isinstance(x, Traced)], default=-1)
    derive = _linearise if live[0].builder.depth > depth else _push
    return Pushed(*derive(call, active, live))


def _push(call, active, live):
    """Return values and tangents of one conditional."""
    graphs, flags = pushed_graphs(call.graphs, active, call.handle)
    carried = [c for c, flag in zip(call.carries, active, strict=True) if flag]
    totals = [*call.totals, *[t for t, flag in zip(call.totals, flags, strict=True) if flag]]
    results = call.apply(graphs, [*call.operands, *live], [*call.carries, *carried], totals)
    return results[: len(flags)], by_flags(flags, results[len(flags) :])


def _linearise(call, active, live):
    """Return values, and tangents of a conditional that is linear in the tangents."""
    shared = [call.is_of_examples and not carries for carries in call.carries]
    parts = linearised_graphs(call.graphs, active, call.handle, shared)
    count = len(parts.live)
    totals = [*call.totals, *[False] * (len(parts.values[0].outputs) - count)]
    results = call.apply(parts.values, call.operands, call.carries, totals)
    outputs, saved = results[:count], results[count:]
    slopes = ()
    if any(parts.live):
        carried = [c for c, flag in zip(call.carries, active, strict=True) if flag]
        carries = [*carried, *[call.carries[i] for i in parts.read], *[True] * len(saved)]
        totals = [t for t, flag in zip(call.totals, parts.live, strict=True) if flag]
        known = [*live, *[call.operands[i] for i in parts.read], *saved]
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
    live_flags = [ct is not None for ct in cts]
    graphs, flags = transposed_graphs(call.graphs, linear_flags, live_flags, call.handle)
    results = ()
    if any(flags):
        arguments = [*_chosen(call.operands, linear_flags, False), *_chosen(cts, live_flags)]
        carries = [*_chosen(call.carries, linear_flags, False), *[not t for t in _chosen(call.totals, live_flags)]]
        totals = [not c for c in _chosen(_chosen(call.carries, linear_flags), flags)] if call.is_of_examples else None
        results = call.apply(graphs, arguments, carries, totals)
    cotangents = by_flags(linear_flags, by_flags(flags, results))
    return [_of_shape(call.ctx, ct, x) for ct, x in zip(cotangents, call.operands, strict=True)]


def _chosen(xs, flags, wanted=True):
    """Return the members with this flag."""
    return [x for x, flag in zip(xs, flags, strict=True) if flag == wanted]


def _of_shape(ctx, ct, x):
    """Return a cotangent with the exact sizes of its operand, which may have none inside of the branches."""
    if ct is None or ctx.sizes(Sized(ct)) is not None:
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

zeros(STAY, STAY, cf.sized_op)
zeros(MIX, MIX, cf.cond_op, cf.cond_each_op)

# -- shifts of operands

no_shift(cf.cond_op, cf.cond_each_op, cf.sized_op)

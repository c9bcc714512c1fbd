"""Derivatives of conditionals: the JVP gives values and tangents, so that branches share their work and save the rest.

Tangents in the graph of the values make one conditional of both. Tangents in a graph of their own, as in reverse mode,
make two: one of the values and of what the derivative reads, and one that is linear in the tangents.
"""

from anyshape.autodiff.branch_derivatives import linearised_graphs, pushed_graphs
from anyshape.autodiff.jvp import Pushed
from anyshape.autodiff.rule_tables import TRANSPOSES, Linear, linear, no_shift, with_values
from anyshape.autodiff.subgraph_transforms import transposed_graphs, with_shared_variables
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.subgraph import close, sizes_at
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import meta_of
from anyshape.ops.subgraph_call import further_operands

linear(cf.sized_op, lambda ctx, ct, x, *, shape, sources=(): ct)


def apply_graphs(ctx, graphs, like, metas, index, arguments):
    """Apply a conditional to graphs derived from the branch `like`, which has operands of the types `metas`."""
    closed = close(graphs)
    further = further_operands(closed, sizes_at(ctx, like, metas))
    return cf.cond(index, closed.graphs, *arguments, *further)


def handle_of(*xs):
    """Return the class of handles that traced operands have."""
    return type(next(x for x in xs if isinstance(x, Traced)))


def by_flags(flags, results):
    """Return for each flag the next result, or None where it is not set."""
    remaining = iter(results)
    return [next(remaining) if flag else None for flag in flags]


def _cond_jvp(ctx, tangents, out, index, *operands, branches):
    active = [t is not None for t in tangents[1:]]
    live = [t for t in tangents[1:] if t is not None]
    branches = with_shared_variables(branches, handle_of(*live))
    metas = [meta_of(x) for x in operands]
    depth = max([x.builder.depth for x in (index, *operands) if isinstance(x, Traced)], default=-1)
    derive = _linearise if live[0].builder.depth > depth else _push
    return Pushed(*derive(ctx, active, live, metas, index, operands, branches))


def _push(ctx, active, live, metas, index, operands, branches):
    """Return values and tangents of one conditional."""
    graphs, flags = pushed_graphs(branches, active, handle_of(*live))
    results = apply_graphs(ctx, graphs, branches[0], metas, index, [*operands, *live])
    return results[: len(flags)], by_flags(flags, results[len(flags) :])


def _linearise(ctx, active, live, metas, index, operands, branches):
    """Return values, and tangents of a conditional that is linear in the tangents."""
    parts = linearised_graphs(branches, active, handle_of(*live))
    results = apply_graphs(ctx, parts.values, branches[0], metas, index, operands)
    outputs, saved = results[: len(parts.live)], results[len(parts.live) :]
    slopes = ()
    if any(parts.live):
        known = [*live, *[operands[i] for i in parts.read], *saved]
        slopes = apply_graphs(ctx, parts.maps, branches[0], metas, index, known)
    return outputs, by_flags(parts.live, slopes)


with_values(cf.cond_op, _cond_jvp)


def _cond_transpose(ctx, cts, index, *operands, branches):
    cts = cts if isinstance(cts, list) else [cts]
    linear_flags = [isinstance(x, Linear) for x in operands]
    live = [ct for ct in cts if ct is not None]
    branches = with_shared_variables(branches, handle_of(*live))
    graphs, flags = transposed_graphs(branches, linear_flags, [ct is not None for ct in cts], handle_of(*live))
    results = ()
    if any(flags):
        metas = [x.meta if isinstance(x, Linear) else meta_of(x) for x in operands]
        known = [x for x in operands if not isinstance(x, Linear)]
        results = apply_graphs(ctx, graphs, branches[0], metas, index, [*known, *live])
    cotangents = by_flags(linear_flags, by_flags(flags, results))
    return None, *[_of_shape(ct, x) for ct, x in zip(cotangents, operands, strict=True)]


def _of_shape(ct, x):
    """Return a cotangent with the exact sizes of its operand, which may have none inside of the branches."""
    return ct if ct is None or meta_of(ct).sizes is not None or x.meta.sizes is None else cf.sized(ct, x.meta.sizes)


TRANSPOSES[cf.cond_op] = _cond_transpose

# -- shifts of operands

no_shift(cf.cond_op, cf.sized_op)

"""Derivatives of conditionals: the JVP gives values and tangents, so that branches share their work and save the rest.

Tangents in the graph of the values make one conditional of both. Tangents in a graph of their own, as in reverse mode,
make two. The first gives the values and residuals, and the second is linear in the tangents.

Batching of conditionals.

An index that is the same for all examples chooses one batched branch. An index of each example makes a conditional of
each. A branch then runs on the examples that choose it, in their order, and not at all if there are none. So no example
sees another branch, and the work is a sum. A batch of such conditionals is one conditional of more examples.
"""

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff import subgraph_transforms
from anyshape.autodiff.control_flow.branch_derivatives import Branches, apply_each, handle_of, linearised_graphs
from anyshape.autodiff.equal_values import DISTINCT
from anyshape.autodiff.jvp import Pushed, are_inside
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import linear, merged, stretch, with_values, zeros
from anyshape.autodiff.structural_zeros import Ends, by_flags, flagged, whole
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.op_local import sizes_at
from anyshape.graph.sizes import expr
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import Sized, meta_of, sizes_of
from anyshape.ops.reduction import reduce_or, reduce_sum
from anyshape.ops.subgraph_call import close_branches, further_operands

linear(cf.sized_op, lambda ctx, ct, x, *, shape, sources=(): ct)


def _jvp(call, tangents):
    """Return the results of a conditional and their tangents."""
    derive = _linearise if are_inside(tangents, (call.index, *call.operands)) else _push
    return Pushed(*derive(call, tangents))


def _push(call, tangents):
    """Return values and tangents of one conditional."""
    own = Ends.of(tangents)
    graphs, ends = subgraph_transforms.pushed_graphs(call.graphs, own, call.handle)
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
    linear_flags = [isinstance(x, tables.Linear) for x in call.operands]
    known = [not flag for flag in linear_flags]
    own = Ends.of(cts)
    graphs, ends = subgraph_transforms.transposed_graphs(call.graphs, linear_flags, own, call.handle)
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


tables.TRANSPOSES[cf.cond_op] = _cond_transpose
tables.TRANSPOSES[cf.cond_each_op] = _cond_each_transpose

# -- zeros by construction

zeros(tables.MOVE, tables.MOVE, cf.sized_op)
zeros(tables.PASS, tables.PASS, cf.cond_op, cf.cond_each_op)

tables.BATCHERS[cf.sized_op] = lambda ctx, size, batched, x, *, shape: cf.sized(x, (size, *shape))


def _cond_batch(ctx, size, batched, index, *operands, branches):
    branches = subgraph_transforms.with_shared_variables(branches, handle_of(index, *operands))
    if batched[0] and branches[0].name.startswith(DISTINCT):  # limits are right where values differ too
        index, batched = reduce_or(index, (0,)), (False, *batched[1:])
    if not batched[0]:
        results = _together(ctx, size, batched[1:], index, operands, branches)
    elif all(_is_harmless(ctx, branch) for branch in branches):
        results = _selected(ctx, size, batched[1:], index, operands, branches)
    else:
        call = Branches(ctx, index, operands, branches, batched[1:])
        no_totals = [False] * len(branches[0].outputs)
        results = apply_each(index, operands, call.graphs, batched[1:], no_totals, call.size_of_variable(), call.handle)
    return tuple(results) if len(results) > 1 else results[0]


tables.BATCHERS[cf.cond_op] = _cond_batch


def _derived_operands(ctx, graphs, branches, batched, operands):
    """Return closed graphs of batches, and all operands that they take."""
    closed = close_branches(graphs)
    pairs = zip(map(meta_of, operands), batched, strict=True)
    metas = [subgraph_transforms.batch_element(m) if carries else m for m, carries in pairs]
    return closed.graphs, [*operands, *further_operands(closed, sizes_at(ctx, branches[0], metas))]


def _together(ctx, size, batched, index, operands, branches):
    """Return the results of one branch for all examples."""
    graphs, flags = subgraph_transforms.batched_graphs(branches, batched, size, handle_of(index, *operands))
    closed, inputs = _derived_operands(ctx, graphs, branches, batched, operands)
    results = cf.cond(index, closed, *inputs)
    return [y if flag else tables.Common(y) for y, flag in zip(results, flags, strict=True)]


# -- both branches for all examples ------------------------------------------------------------------------------

# Nodes of a branch: for 1,000 rows a select then took a third of the time at 1 number a row, and 1.1x at 64 and 512.
MOST_SELECTED = 6
SILENT = {ew.neg_op, ew.select_op, ew.logical_not_op, ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op,
          ew.eq_op, ew.ne_op, ew.lt_op, ew.le_op, ew.gt_op, ew.ge_op, cr.full_op, mv.broadcast_in_dim_op}  # fmt: skip
SILENT_ON_INTEGERS = {ew.add_op, ew.sub_op, ew.mul_op}


def _is_harmless(ctx, branch):
    """Return whether a branch can run for every example.

    It takes little time, raises and warns of nothing, and no derivative in it is NaN or infinite. Its results have the
    sizes of the operands.
    """
    bound = {s.variable for s in branch.dims}
    sizes = [ctx.sizes(v) for v in branch.outputs]
    if None in sizes or not all(bound.issuperset(expr.variables(n)) for shape in sizes for n in shape):
        return False
    is_checked = any(c.kind == "assertion" for c in branch.conditions)
    return len(branch.nodes) <= MOST_SELECTED and not is_checked and all(map(_is_silent, branch.nodes))


def _is_silent(node):
    are_integers = all(v.meta.dtype.kind in "iub" for v in (*node.inputs, *node.outputs))
    return node.op in SILENT or (node.op in SILENT_ON_INTEGERS and are_integers)


def _selected(ctx, size, batched, index, operands, branches):
    """Return for each example the result of its branch, of branches that run for all."""
    graphs, flags = subgraph_transforms.batched_graphs(branches, batched, size, handle_of(index, *operands))
    closed, inputs = _derived_operands(ctx, graphs, branches, batched, operands)
    builder = active()
    assert builder is not None  # rules run inside of a trace
    columns = zip(*[inline(builder, graph, inputs) for graph in closed], strict=True)
    masks, merged = _masks(index, len(branches)), []
    for flag, ys in zip(flags, columns, strict=True):
        result, *others = [y if flag else stretch(ctx, size, y) for y in ys]
        for mask, other in zip(masks, others, strict=True):
            result = ew.select(mv.broadcast_in_dim(mask, sizes_of(ctx, result), (0,)), other, result)
        merged.append(result)
    return merged


def _masks(index, count):
    """Return for each branch but the first which examples choose it."""
    if index.dtype.kind == "b":
        return [index]
    return [(ew.eq if i < count - 1 else ew.ge)(index, ew.lift(i, index)) for i in range(1, count)]


# -- a batch of conditionals of each example ---------------------------------------------------------------------


def _cond_each_batch(ctx, size, batched_flags, index, *operands, branches, batched, carries, totals):
    """Return the results for the examples of all batches, one batch after the other."""
    count = len(carries)
    (examples,) = sizes_of(ctx, index)[batched_flags[0] :]
    flags = [*batched_flags[1 : 1 + count]]

    rows = [c or f for c, f in zip(carries, flags, strict=True)]
    columns = zip(operands[:count], flags, carries, rows, strict=True)
    xs = [merged(ctx, x, (size, examples), (f, c)) if row else x for x, f, c, row in columns]
    index = merged(ctx, index, (size, examples), (batched_flags[0], True))
    call = Branches(ctx, index, xs, branches, rows)
    results = apply_each(index, xs, call.graphs, rows, [False] * len(totals), call.size_of_variable(), call.handle)
    apart = [_by_batch(ctx, size, examples, y, total) for y, total in zip(results, totals, strict=True)]
    return tuple(apart) if len(apart) > 1 else apart[0]


def _by_batch(ctx, size, examples, y, is_total):
    """Return the results of each batch, or the sum of each."""
    y = name_sizes(y)
    y = mv.reshape(y, (size, examples, *sizes_of(ctx, y)[1:]))
    return reduce_sum(y, (1,)) if is_total else y


tables.BATCHERS[cf.cond_each_op] = _cond_each_batch

"""Batching of conditionals.

An index that is the same for all examples chooses one batched branch. An index of each example makes a conditional of
each. A branch then runs on the examples that choose it, in their order, and not at all if there are none. So no example
sees another branch, and the work is a sum. A batch of such conditionals is one conditional of more examples.
"""

from anyshape.autodiff.control_flow.branch_derivatives import Branches, apply_each, handle_of
from anyshape.autodiff.equal_values import DISTINCT
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import BATCHERS, Common, merged, stretch
from anyshape.autodiff.subgraph_transforms import batch_element, batched_graphs, with_shared_variables
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.subgraph import sizes_at
from anyshape.graph.sizes import expr
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.callback import name_sizes
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.reduction import reduce_or, reduce_sum
from anyshape.ops.subgraph_call import further_operands
from anyshape.ops.void_branches import close_branches

BATCHERS[cf.sized_op] = lambda ctx, size, batched, x, *, shape: cf.sized(x, (size, *shape))


def _cond_batch(ctx, size, batched, index, *operands, branches):
    branches = with_shared_variables(branches, handle_of(index, *operands))
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


BATCHERS[cf.cond_op] = _cond_batch


def _derived_operands(ctx, graphs, branches, batched, operands):
    """Return closed graphs of batches, and all operands that they take."""
    closed = close_branches(graphs)
    pairs = zip(map(meta_of, operands), batched, strict=True)
    metas = [batch_element(m) if carries else m for m, carries in pairs]
    return closed.graphs, [*operands, *further_operands(closed, sizes_at(ctx, branches[0], metas))]


def _together(ctx, size, batched, index, operands, branches):
    """Return the results of one branch for all examples."""
    graphs, flags = batched_graphs(branches, batched, size, handle_of(index, *operands))
    closed, inputs = _derived_operands(ctx, graphs, branches, batched, operands)
    results = cf.cond(index, closed, *inputs)
    return [y if flag else Common(y) for y, flag in zip(results, flags, strict=True)]


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
    graphs, flags = batched_graphs(branches, batched, size, handle_of(index, *operands))
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


BATCHERS[cf.cond_each_op] = _cond_each_batch

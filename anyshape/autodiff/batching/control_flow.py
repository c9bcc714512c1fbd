"""Batching of conditionals.

An index that is the same for all examples chooses one batched branch. An index of each example splits the batch: each
branch runs on the examples that choose it, in their order, and not at all where there are none. Its results are put
back at their positions. So no example sees another branch, and the work is a sum.
"""

import numpy as np

from anyshape.autodiff.batching.movement import stretch
from anyshape.autodiff.jvp import inline
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.autodiff.rules.control_flow import apply_graphs, handle_of
from anyshape.autodiff.subgraph_transforms import batched_graphs, derived, with_shared_variables
from anyshape.graph.ir.builder import active
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close, sizes_at
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.callback import name_sizes
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.dynamic import nonzero
from anyshape.ops.subgraph_call import further_operands, trace_subgraphs

BATCHERS[cf.sized_op] = lambda ctx, size, batched, x, *, shape: cf.sized(x, (size, *shape))


def _cond_batch(ctx, size, batched, index, *operands, branches):
    branches = with_shared_variables(branches, handle_of(index, *operands))
    if batched[0] and all(map(_is_harmless, branches)):
        results = _selected(ctx, size, batched[1:], index, operands, branches)
    elif batched[0]:
        results = _split(ctx, size, batched[1:], index, operands, branches)
    else:
        results = _together(ctx, size, batched[1:], index, operands, branches)
    return tuple(results) if len(results) > 1 else results[0]


BATCHERS[cf.cond_op] = _cond_batch


def _metas_of_examples(batched, operands):
    """Return the types that operands have for one example."""
    pairs = zip(map(meta_of, operands), batched, strict=True)
    return [TensorMeta(m.dtype, m.extents[carries:]) for m, carries in pairs]


def _together(ctx, size, batched, index, operands, branches):
    """Return the results of one branch for all examples."""
    graphs, flags = batched_graphs(branches, batched, size, handle_of(index, *operands))
    metas = _metas_of_examples(batched, operands)
    results = apply_graphs(ctx, graphs, branches[0], metas, index, operands)
    return [y if flag else stretch(ctx, size, y) for y, flag in zip(results, flags, strict=True)]


# -- both branches for all examples ------------------------------------------------------------------------------

MOST_SELECTED = 6  # operations of a branch: with more, measured at 1 to 512 floats a row, a split takes less time
SILENT = {ew.neg_op, ew.select_op, ew.logical_not_op, ew.logical_and_op, ew.logical_or_op, ew.logical_xor_op,
          ew.eq_op, ew.ne_op, ew.lt_op, ew.le_op, ew.gt_op, ew.ge_op, cr.full_op, mv.broadcast_in_dim_op}  # fmt: skip
SILENT_ON_INTEGERS = {ew.add_op, ew.sub_op, ew.mul_op}


def _is_harmless(branch):
    """Return whether a branch can run for every example.

    It takes little time, raises and warns of nothing, and no slope in it is NaN or infinite. Its results have the sizes
    of the operands.
    """
    bound = {s.variable for s in branch.dims}
    sizes = [v.meta.sizes for v in branch.outputs]
    if None in sizes or not all(bound.issuperset(expr.variables(n)) for shape in sizes for n in shape):
        return False
    is_checked = any(c.kind == "assertion" for c in branch.conditions)
    return len(branch.nodes) <= MOST_SELECTED and not is_checked and all(map(_is_silent, branch.nodes))


def _is_silent(node):
    are_integers = all(v.meta.dtype.kind in "iub" for v in (*node.inputs, *node.outputs))
    return node.op in SILENT or (node.op in SILENT_ON_INTEGERS and are_integers)


def _selected(ctx, size, batched, index, operands, branches):
    """Return for each example the result of its branch, of those that run for all."""
    graphs, flags = batched_graphs(branches, batched, size, handle_of(index, *operands))
    closed, metas = close(graphs), _metas_of_examples(batched, operands)
    inputs = [*operands, *further_operands(closed, sizes_at(ctx, branches[0], metas))]
    columns = zip(*[inline(active(), graph, inputs) for graph in closed.graphs], strict=True)
    masks, merged = _masks(ctx, index, len(branches)), []
    for flag, (result, *others) in zip(flags, columns, strict=True):
        result, *others = [y if flag else stretch(ctx, size, y) for y in (result, *others)]
        for mask, other in zip(masks[1:], others, strict=True):
            result = ew.select(mv.broadcast_in_dim(mask, sizes_of(ctx, result), (0,)), other, result)
        merged.append(result)
    return merged


# -- an index of each example ------------------------------------------------------------------------------------


def _split(ctx, size, batched, index, operands, branches):
    """Return the results of each branch for the examples that choose it, at their positions."""
    parts = []
    for mask, branch in zip(_masks(ctx, index, len(branches)), branches, strict=True):
        (positions,) = nonzero(mask)
        (count,) = sizes_of(ctx, positions)
        rows = [ix.take(x, positions) if carries else x for x, carries in zip(operands, batched, strict=True)]
        parts.append((positions, count, _of_examples(ctx, positions, count, batched, rows, branch)))
    columns = zip(*[results for _, _, results in parts], strict=True)
    return [_merged(ctx, size, [(p, n) for p, n, _ in parts], column) for column in columns]


def _masks(ctx, index, count):
    """Return for each branch which examples choose it."""
    if index.dtype.kind == "b":
        return [ew.logical_not(index), index]
    last = count - 1
    middle = [ew.eq(index, ew.lift(i, index)) for i in range(1, last)]
    if not last:
        return [ew.eq(index, index)]
    return [ew.le(index, ew.lift(0, index)), *middle, ew.ge(index, ew.lift(last, index))]


def _of_examples(ctx, positions, count, batched, rows, branch):
    """Return the results of a branch for its examples: it runs where there are any."""
    handle = handle_of(positions, *rows)
    (graph,), flags = batched_graphs([branch], batched, count, handle)
    empty = _without_examples(branch, graph, flags, handle)
    some = ew.gt(cr.size_value(count), cr.full((), 0, np.int64))
    metas = _metas_of_examples(batched, rows)
    results = apply_graphs(ctx, [empty, graph], branch, metas, some, rows)
    return [y if flag else stretch(ctx, count, y) for y, flag in zip(results, flags, strict=True)]


def _without_examples(branch: Graph, batched: Graph, flags, handle) -> Graph:
    """Return a graph of the types of a batched branch that computes nothing, for no examples."""
    bound = {s.variable for s in branch.dims}

    def size(extent, first):
        is_known = isinstance(extent, Exact) and (first or bound.issuperset(expr.variables(extent.size)))
        return extent.size if is_known else 0

    with derived(branch, [v.meta for v in batched.inputs], handle) as (builder, _):
        outputs = [
            cr.full(tuple([size(e, flag and not i) for i, e in enumerate(v.meta.extents)]), 0, v.meta.dtype)
            for v, flag in zip(batched.outputs, flags, strict=True)
        ]
        return builder.finish(outputs, "no examples")


def _merged(ctx, size, examples, results):
    """Return the results of all branches at the positions of their examples."""
    sizes = [meta_of(y).sizes for y in results]
    first = sizes[0]
    is_common = first is not None and all(s is not None and all(map(ctx.same, s[1:], first[1:])) for s in sizes[1:])
    if not is_common:
        results = _of_one_size(ctx, examples, results)
        first = meta_of(results[0]).sizes
    merged = cr.full((size, *first[1:]), 0, results[0].dtype)
    rank = meta_of(merged).rank
    windows = ga.Windows(tuple(range(1, rank)), (0,), (0,), 1)
    for (positions, _), rows in zip(examples, results, strict=True):
        merged = ga.scatter_windows("set", merged, positions, rows, windows, "error", True)
    return merged


def _of_one_size(ctx, examples, results):
    """Return results with the sizes that those of all branches with examples must have, which a run checks."""
    named = [name_sizes(y) for y in results]
    columns = list(zip(*[sizes_of(ctx, y)[1:] for y in named], strict=True))
    common = [expr.maximum(*dict.fromkeys(column)) for column in columns]
    return [_in_common_size(count, common, y) for (_, count), y in zip(examples, named, strict=True)]


def _in_common_size(count, common, y):
    shape, dtype = (count, *common), y.dtype
    bodies = [lambda y: [cr.full(shape, 0, dtype)], lambda y: [cf.sized(y, shape)]]
    branches, further = trace_subgraphs(bodies, [meta_of(y)], ["no examples", "examples"])
    some = ew.gt(cr.size_value(count), cr.full((), 0, np.int64))
    (result,) = cf.cond(some, branches, y, *further)
    return result

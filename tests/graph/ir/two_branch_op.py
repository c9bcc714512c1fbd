"""An op for tests alone whose params are graphs: `select_graph(predicate, *operands)` runs one of two subgraphs.

Its rules derive subgraphs from subgraphs, as rules of loops and conditionals will. `registered` enters it into every
table and takes it out again, so that no other test meets it.
"""

import contextlib
from dataclasses import replace

import numpy as np

from anyshape.autodiff.rule_tables import BATCHERS, JVPS, PASS, TRANSPOSES, ZERO_FLOWS, Linear, stretch, zeros
from anyshape.autodiff.structural_zeros import Ends, by_flags
from anyshape.autodiff.subgraph_transforms import batched_graphs, pushed_graphs, transposed_graphs
from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.op_traits import OPAQUE, TRAITS, declare
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.interpreter import evaluate
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import OPS
from anyshape.graph.ir.op_local import call_type, close, sizes_at
from anyshape.graph.shapes.array_type import TensorMeta, Unknown, UpperBound, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import substitute
from anyshape.numpy.operands.promotion import operand
from anyshape.ops import elementwise as ew
from anyshape.ops.core import param_kinds
from anyshape.ops.core.apply import KERNELS, Kernel, apply_all, meta_of
from anyshape.ops.core.definition import DEFINITIONS, define
from anyshape.ops.core.flop_counts import COSTS, OpCost, UnknownSizeError, graph_bytes, graph_flops
from anyshape.ops.movement import broadcast_in_dim
from anyshape.ops.subgraph_call import further_operands, trace_subgraphs

NAME = "select_graph"


def select_graph(predicate, first, second, *operands):
    """Return `first(*operands)` where the predicate, a boolean scalar, is true, else `second(*operands)`."""

    def body(function):
        return lambda *xs: [operand(y, NAME) for y in as_tuple(function(*xs))]

    traced = [operand(x, NAME) for x in operands]
    names = [function.__name__ for function in (first, second)]
    branches, further = trace_subgraphs([body(first), body(second)], [meta_of(x) for x in traced], names)
    results = apply_all(OPS[NAME], operand(predicate, NAME), *traced, *further, branches=branches)
    return results if len(results) > 1 else results[0]


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


# -- shape rule and kernel


def joined(a, b):
    """Return the strongest extent that both satisfy."""
    if a == b:
        return a
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return Unknown()
    return UpperBound(expr.maximum(a.size, b.size))


def select_type(ctx, predicate, *operands, branches):
    if predicate != tensor(np.dtype(bool), ()):
        raise ctx.fail("the predicate must be a boolean scalar")
    first, second = (call_type(ctx, graph, operands, first=1) for graph in branches)
    if [m.dtype for m in first] != [m.dtype for m in second] or [m.rank for m in first] != [m.rank for m in second]:
        raise ctx.fail("the branches give arrays of different dtypes or ranks")
    results = [
        TensorMeta(a.dtype, tuple(map(joined, a.extents, b.extents))) for a, b in zip(first, second, strict=True)
    ]
    return tuple(results) if len(results) > 1 else results[0]


def run(predicate, *operands, branches):
    results = evaluate(branches[0 if predicate else 1], operands)
    return results if len(results) > 1 else results[0]


# -- derivatives and batching


def apply_derived(ctx, graphs, branches, metas, predicate, arguments):
    """Apply the op to graphs derived from the branches, which operands of the types `metas` fit."""
    closed = close(graphs)
    further = further_operands(closed, sizes_at(ctx, branches[0], metas))
    return apply_all(OPS[NAME], predicate, *arguments, *further, branches=closed.graphs)


def handle_of(*xs):
    return type(next(x for x in xs if isinstance(x, Traced)))


def select_jvp(ctx, tangents, out, predicate, *operands, branches):
    own = Ends.of(tangents[1:])
    arrays = own.arrays(tangents[1:])
    pushed, ends = pushed_graphs(branches, own, handle_of(*arrays))
    graphs = [replace(g, outputs=g.outputs[len(ends.live) :]) for g in pushed]
    results = ()
    if any(ends.live):
        metas = [meta_of(x) for x in operands]
        results = apply_derived(ctx, graphs, branches, metas, predicate, [*operands, *arrays])
    derivatives = tuple(ends.read(results))
    return derivatives if len(derivatives) > 1 else derivatives[0]


def select_transpose(ctx, cts, predicate, *operands, branches):
    cts = cts if isinstance(cts, list) else [cts]
    linear, own = [isinstance(x, Linear) for x in operands], Ends.of(cts)
    arrays = own.arrays(cts)
    graphs, ends = transposed_graphs(branches, linear, own, handle_of(*arrays))
    results = ()
    if any(ends.live):
        metas = [x.meta if isinstance(x, Linear) else meta_of(x) for x in operands]
        known = [x for x in operands if not isinstance(x, Linear)]
        results = apply_derived(ctx, graphs, branches, metas, predicate, [*known, *arrays])
    return None, *by_flags(linear, ends.read(results))


def select_batch(ctx, size, batched, predicate, *operands, branches):
    """Run one branch for all examples or, where the predicate differs between them, both."""
    graphs, flags = batched_graphs(branches, batched[1:], size, handle_of(predicate, *operands))
    metas = [TensorMeta(m.dtype, m.extents[carries:]) for m, carries in zip(map(meta_of, operands), batched[1:])]

    def apply_to(chosen):
        results = apply_derived(ctx, graphs, branches, metas, chosen, operands)
        return [y if flag else stretch(ctx, size, y) for y, flag in zip(results, flags, strict=True)]

    if batched[0]:
        pairs = zip(apply_to(np.asarray(True)), apply_to(np.asarray(False)), strict=True)
        results = [ew.select(broadcast_in_dim(predicate, ctx.shape(x), (0,)), x, y) for x, y in pairs]
    else:
        results = apply_to(predicate)
    return tuple(results) if len(results) > 1 else results[0]


# -- registration


def most_flops(applied):
    """The operations of the branch that makes more."""
    return expr.maximum(*[graph_flops(g, applied.inputs[1:]) for g in applied.params["branches"]])


def most_bytes(step):
    """A bound of the bytes that a branch takes: the interpreter keeps all values, and kernels allocate besides."""
    shapes = [m.sizes for m in step.metas[1:]]
    if None in shapes:
        return None
    try:
        values = [graph_bytes(g, shapes) for g in dict(step.params)["branches"]]
    except UnknownSizeError:
        return None
    kernels = [kernel_bytes(g, shapes) for g in dict(step.params)["branches"]]
    return None if None in kernels else expr.maximum(*map(expr.add, values, kernels))


def kernel_bytes(graph, shapes):
    """A bound of the bytes that the kernels of a subgraph allocate at once: the peak of its plan."""
    peak = peak_bytes(lower(graph), threads=1).size
    axes = {s.variable: expr.as_atom(s.size) for s in graph.dims}
    if peak is None or not axes.keys() >= {*expr.variables(peak)}:
        return None
    return substitute(peak, {v: shapes[axis.operand][axis.axis] for v, axis in axes.items()}.get)


def two_graphs(node, param):
    return isinstance(param, tuple) and len(param) == 2 and all(param_kinds.graph(node, g) for g in param)


@contextlib.contextmanager
def registered():
    """Enter the op into the tables of every folder, and take it out of all of them afterwards."""
    op = define(
        NAME,
        select_type,
        params={"branches": two_graphs},
        operands=(1, 10_000),
        jointly=None,
        claims=None,
        probe=None,
        cost=OpCost(most_flops, bound=True),
        has_subgraphs=True,
    )
    KERNELS[op], JVPS[op], TRANSPOSES[op], BATCHERS[op] = Kernel(run), select_jvp, select_transpose, select_batch
    zeros(PASS, PASS, op)
    declare(OPAQUE._replace(scratch=most_bytes), op)
    try:
        yield
    finally:
        for table in (KERNELS, JVPS, TRANSPOSES, BATCHERS, ZERO_FLOWS, TRAITS, DEFINITIONS, COSTS):
            del table[op]
        del OPS[NAME]

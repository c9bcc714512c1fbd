"""Derive graphs from subgraphs: JVP, transpose and batching, for the rules of ops whose params are graphs.

Each function takes the subgraphs of one node, which have the same inputs and outputs, and returns one graph for each,
not yet closed. `close` makes them subgraphs of a new node, and `further_operands` gives the operands that they read
besides their arguments.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from anyshape.autodiff.jvp import push_parts
from anyshape.autodiff.linearize_transpose import transposed_ends
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import stretch, zeros_like
from anyshape.autodiff.structural_zeros import Ends, filled, indicator, whole, with_ends
from anyshape.autodiff.vmap import batch
from anyshape.graph.ir.builder import Builder, Traced, activate, active
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.ir.op_local import axes_of_variables, close
from anyshape.graph.prover.constraints import Condition, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, InputAxis, Size
from anyshape.ops.elementwise import lift
from anyshape.ops.reduction import reduce_sum
from anyshape.ops.subgraph_call import of_branch
from anyshape.support.lazy_dataclass import replace

Handle = type[Traced]


def with_shared_variables(graphs: Sequence[Graph], handle: Handle) -> list[Graph]:
    """Return the subgraphs of one node with the variables of the first. In a file each has its own."""
    first, *others = graphs
    renamed = lambda graph: _in_variables_of(first, graph, handle)
    return [first, *[g if g.dims == first.dims else of_branch(renamed, g) for g in others]]


def _in_variables_of(first: Graph, graph: Graph, handle: Handle) -> Graph:
    """Return a subgraph with the variables of another one with the same inputs."""
    sizes: dict[Atom, Size] = {}
    for source in graph.dims:
        axis = expr.as_atom(source.size)
        extent = first.inputs[axis.operand].meta.extents[axis.axis] if isinstance(axis, InputAxis) else None
        if isinstance(extent, Exact):
            sizes[source.variable] = extent.size
    about_inputs = [c for c in graph.conditions if graph.runtime.keys().isdisjoint(c.claim.variables())]
    stated = [replace(c, claim=substitute_claim(c.claim, sizes.get)) for c in about_inputs]
    metas = [v.meta for v in first.inputs]
    with derived(replace(first, conditions=tuple(stated)), metas, handle) as (builder, inputs):
        renamed = builder.finish(inline(builder, graph, inputs, sizes), graph.name)
    return close([renamed]).graphs[0]


def pushed_graphs(graphs: Sequence[Graph], active: Ends, handle: Handle) -> tuple[list[Graph], Ends]:
    """Return the graphs of the outputs and, behind them, of their tangents; and which tangents these are.

    The inputs are the inputs of the subgraphs, then tangents of the `active` ones.
    """
    metas = [v.meta for v in graphs[0].inputs]
    tangent_metas = active.each(metas)

    def pushed(graph: Graph) -> tuple[Graph, list[Any]]:
        with derived(graph, [*metas, *tangent_metas], handle) as (builder, inputs):
            outputs, own = push_parts(builder, graph, inputs[: len(metas)], active.read(inputs[len(metas) :]))
            zeros = [lift(0, y) for y in outputs]
            ends = [*outputs, *filled(map(whole, own), zeros), *filled(map(indicator, own), zeros)]
            return builder.finish(ends, graph.name), own

    return with_ends([of_branch(pushed, graph) for graph in graphs], len(graphs[0].outputs))


def transposed_graphs(
    graphs: Sequence[Graph], linear: Sequence[bool], live: Ends, handle: Handle
) -> tuple[list[Graph], Ends]:
    """Return the graphs of the cotangents of the `linear` inputs, and which cotangents these are.

    The inputs are the other inputs of the subgraphs, then the cotangents of the `live` outputs.
    """
    metas = _types(graphs[0].inputs, [not flag for flag in linear])
    linear_metas = _types(graphs[0].inputs, linear)
    cotangent_metas = live.each(_common_types(graphs))

    def pulled(graph: Graph) -> tuple[Graph, list[Any]]:
        order = sorted(range(len(graph.inputs)), key=lambda i: not linear[i])
        reordered = replace(graph, inputs=tuple([graph.inputs[i] for i in order]))
        with derived(graph, [*metas, *cotangent_metas], handle) as (builder, inputs):
            seeds = live.read(inputs[len(metas) :])
            own = transposed_ends(builder, reordered, len(linear_metas), inputs[: len(metas)], seeds)
            zeros = _zeros(builder, linear_metas)
            ends = [*filled(map(whole, own), zeros), *filled(map(indicator, own), zeros)]
            return builder.finish(ends, graph.name), own

    return with_ends([of_branch(pulled, graph) for graph in graphs])


def rows_graphs(
    graphs: Sequence[Graph], index: TensorMeta, carries: Sequence[bool], totals: Sequence[bool], handle: Handle
) -> list[Graph]:
    """Return the graphs of rows of examples. They take an index of each, and the operands: rows of the ones flagged.

    Results are rows, or sums over them where `totals` says so.
    """
    rows = expr.from_atom(DimVar("rows"))
    metas = [_stacked(v.meta, rows) if flag else v.meta for v, flag in zip(graphs[0].inputs, carries, strict=True)]

    def batched(graph: Graph) -> Graph:
        with derived(graph, [_stacked(index, rows), *metas], handle) as (builder, inputs):
            ctx = ShapeGuardContext(builder.scope, graph.name, rule="batching")
            outputs = batch(builder, graph, inputs[1:], carries, rows)
            stretched = [y if flag else stretch(ctx, rows, y) for y, flag in outputs]
            ends = [reduce_sum(y, (0,)) if total else y for y, total in zip(stretched, totals, strict=True)]
            return builder.finish(ends, graph.name)

    return [of_branch(batched, graph) for graph in graphs]


def stacked_graph(graph: Graph, stacked: Sequence[bool], handle: Handle) -> Graph:
    """Return the subgraph of stacks of the flagged inputs, which gives a stack of each output."""
    rows = expr.from_atom(DimVar("rows"))
    metas = [_stacked(v.meta, rows) if flag else v.meta for v, flag in zip(graph.inputs, stacked, strict=True)]
    with derived(graph, metas, handle) as (builder, inputs):
        ctx = ShapeGuardContext(builder.scope, graph.name, rule="batching")
        outputs = batch(builder, graph, inputs, stacked, rows)
        made = builder.finish([y if flag else stretch(ctx, rows, y) for y, flag in outputs], graph.name)
    return close([made]).graphs[0]


def batched_graphs(
    graphs: Sequence[Graph], batched: Sequence[bool], size: Size, handle: Handle
) -> tuple[list[Graph], list[bool]]:
    """Return the graphs of whole batches, and for each output whether it carries the batch.

    Inputs and outputs that carry the batch have it as their first axis. An output that carries it in one graph does in
    all.
    """
    if not any(batched):
        return list(graphs), [False] * len(graphs[0].outputs)
    inner = size if isinstance(size, int) else expr.from_atom(DimVar("batch"))
    metas = [_stacked(v.meta, inner) if flag else v.meta for v, flag in zip(graphs[0].inputs, batched, strict=True)]

    def stacked(graph: Graph) -> tuple[Graph, list[bool]]:
        with derived(graph, metas, handle) as (builder, inputs):
            outputs = batch(builder, graph, inputs, batched, inner)
            ctx = ShapeGuardContext(builder.scope, graph.name, rule="batching")
            stretched = [y if flag else stretch(ctx, inner, y) for y, flag in outputs]
            made = builder.finish([*stretched, *[y for y, _ in outputs]], graph.name)
        return made, [flag for _, flag in outputs]

    made, carries = zip(*[of_branch(stacked, graph) for graph in graphs], strict=True)
    flags = [any(column) for column in zip(*carries, strict=True)]
    return [_choose_outputs(g, flags) for g in made], flags


def _choose_outputs(graph: Graph, flags: Sequence[bool]) -> Graph:
    """Return the graph with the first half of its outputs where flagged, else with the second half."""
    count = len(flags)
    return replace(graph, outputs=tuple([graph.outputs[i if flag else count + i] for i, flag in enumerate(flags)]))


@contextlib.contextmanager
def derived(
    graph: Graph, metas: Sequence[TensorMeta], handle: Handle, linear: int = 0, known: Sequence[Condition] = ()
) -> Iterator[tuple[Builder, list[Any]]]:
    """Build a graph that knows the sizes and conditions of a subgraph: give its builder, and its inputs of these types.

    A variable of the subgraph that has no axis of its own among these inputs gets a hidden input. No size is read off
    the first `linear` inputs, which have no value once the graph is transposed. `known` are further conditions.
    """
    about_inputs = [c for c in graph.conditions if graph.runtime.keys().isdisjoint(c.claim.variables())]
    outer = active()
    is_batched = outer is not None and outer.is_batched
    builder = Builder(Scope(conditions=[*about_inputs, *known]), handle=handle, is_batched=is_batched)
    builder.where = None if outer is None else outer.where  # of what no step of the subgraph stands for
    with activate(builder):
        inputs = [builder.input(meta) for meta in metas]
        axes = axes_of_variables(builder.inputs[linear:])
        builder.hidden = [s.variable for s in graph.dims if s.variable not in axes]
        builder.hide()
        unsized = [Value(TensorMeta(v.meta.dtype, (Unknown(),) * v.meta.rank)) for v in builder.inputs[:linear]]
        for variable, axis in axes_of_variables([*unsized, *builder.inputs[linear:]]).items():
            builder.define_dim(variable, axis)
        yield builder, inputs


def _types(values: Sequence[Value], flags: Sequence[bool]) -> list[TensorMeta]:
    """Return the array types of the flagged values."""
    return [v.meta for v, flag in zip(values, flags, strict=True) if flag]


def _common_types(graphs: Sequence[Graph]) -> list[TensorMeta]:
    """Return for each output a type over the sizes of the inputs that it has in every graph.

    Sizes that differ between graphs, or that one makes itself, become variables.
    """
    bound = {s.variable for s in graphs[0].dims}

    def common(extents: Sequence[ShapeExtent]) -> ShapeExtent:
        first, *rest = dict.fromkeys(extents)
        is_known = not rest and isinstance(first, Exact) and bound.issuperset(expr.variables(first.size))
        return first if is_known else Exact(expr.from_atom(DimVar("size")))

    columns = zip(*[[v.meta for v in g.outputs] for g in graphs], strict=True)
    return [
        TensorMeta(c[0].dtype, tuple([common(e) for e in zip(*[m.extents for m in c], strict=True)])) for c in columns
    ]


def _zeros(builder: Builder, metas: Sequence[TensorMeta]) -> list[Any]:
    """Return zeros of these types."""
    ctx = ShapeGuardContext(builder.scope, "zeros", rule="transpose")
    return [zeros_like(ctx, meta) for meta in metas]


def batch_element(meta: TensorMeta) -> TensorMeta:
    """Return the type of one array of a stack."""
    return TensorMeta(meta.dtype, meta.extents[1:])


def _stacked(meta: TensorMeta, size: Size) -> TensorMeta:
    """Return the type of a stack of arrays."""
    return TensorMeta(meta.dtype, (Exact(size), *meta.extents))

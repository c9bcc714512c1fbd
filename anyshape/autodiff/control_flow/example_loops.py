"""Loops of each example of a batch: rules derive from the loop of one example, then batch what they derive.

So a batch of such loops is one of more examples, and a derivative of one is a batch of derivatives.
"""

from collections.abc import Sequence
from typing import Any

from anyshape.autodiff.control_flow.branch_derivatives import Typed, handle_of, meta_of_operand
from anyshape.autodiff.control_flow.loop_calls import reordered
from anyshape.autodiff.jvp import push_parts
from anyshape.autodiff.linearize_transpose import linearise, transposed_ends
from anyshape.autodiff.rule_tables import Linear, merged, stretch
from anyshape.autodiff.structural_zeros import Ends, by_flags, flagged, whole
from anyshape.autodiff.subgraph_transforms import Handle, batch_element, derived
from anyshape.autodiff.vmap import batch
from anyshape.graph.ir.builder import Builder, active
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import close, sizes_at
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Atom, Size
from anyshape.ops.control import name_sizes
from anyshape.ops.core.apply import meta_of, sizes_of
from anyshape.ops.movement import reshape
from anyshape.ops.reduction import reduce_sum
from anyshape.ops.subgraph_call import further_operands


class ExampleLoops:
    """Loop of one example, with operands that have a row per example where `carries` says so."""

    handle: Handle
    ctx: ShapeGuardContext
    one: Graph
    carries: list[bool]

    def __init__(
        self, ctx: ShapeGuardContext, one: Graph, carries: Sequence[bool], operands: Sequence[Any], like: Any = ()
    ) -> None:
        """Take the operands of a node. `like` gives traced values where no operand is one."""
        self.ctx, self.one, self.carries = ctx, one, list(carries)
        self.operands: list[Any] = list(operands[: len(carries)])
        self.handle = handle_of(*self.operands, *like)
        metas = [meta_of_operand(x) for x in self.operands]
        first = metas[self.carries.index(True)]
        self.size: Size = ctx.exact(Typed(first), 0, field="operands")
        self.metas: list[TensorMeta] = [batch_element(m) if flag else m for m, flag in zip(metas, carries, strict=True)]
        self.own: list[TensorMeta] = [v.meta for v in one.inputs]

    def run(
        self, graph: Graph, xs: Sequence[Any], flags: Sequence[bool], size: Size | None = None
    ) -> list[tuple[Any, bool]]:
        """Return each result of a graph that was derived from this one, and whether it has a row per example."""
        closed, builder = close([graph]), active()
        assert isinstance(builder, Builder)  # rules run inside of a trace
        sizes = sizes_at(self.ctx, self.one, self.metas)
        further: list[Any] = [*further_operands(closed, sizes)]
        named: dict[Atom, Size] = dict(sizes.items())
        own = [*flags, *[False] * len(further)]
        return batch(builder, closed.graphs[0], [*xs, *further], own, self.size if size is None else size, named)

    def rows(self, results: Sequence[tuple[Any, bool]], size: Size | None = None) -> list[Any]:
        """Return results with a row per example."""
        count = self.size if size is None else size
        return [y if flag else stretch(self.ctx, count, y) for y, flag in results]

    # -- derivatives

    def push(self, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results and their tangents."""
        begins, count = Ends.of(tangents), len(self.own)
        metas = [*self.own, *begins.each(self.own)]
        with derived(self.one, metas, self.handle) as (builder, xs):
            outputs, slopes = push_parts(builder, self.one, xs[:count], begins.read(xs[count : len(metas)]))
            ends = Ends.of(slopes)
            graph = builder.finish([*outputs, *ends.arrays(slopes)], self.one.name)
        arguments = [*self.operands, *begins.arrays(tangents)]
        ys = self.rows(self.run(graph, arguments, [*self.carries, *begins.each(self.carries)]))
        return ys[: len(outputs)], ends.read(ys[len(outputs) :])

    def linearise(self, tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return results, and tangents that are linear in a graph of their own."""
        wrt = [i for i, t in enumerate(tangents) if t is not None]
        with derived(self.one, self.own, self.handle) as (builder, xs):
            outputs, linear = linearise(builder, self.one, xs[: len(self.own)], wrt)
            graph = builder.finish([*outputs, *linear.residuals], self.one.name)
        results = self.run(graph, self.operands, self.carries)
        count = len(outputs)
        residuals = results[count:]
        live = [whole(t) for t in tangents if t is not None]
        sizes: dict[Atom, Size] = dict(sizes_at(self.ctx, self.one, self.metas).items())
        for old, (new, flag) in zip(linear.residuals, residuals, strict=True):
            sizes |= _sizes_of_stand_in(old.meta, meta_of(new), flag)
        flags = [*[self.carries[i] for i in wrt], *[flag for _, flag in residuals]]
        arguments = [*live, *[y for y, _ in residuals]]
        slopes = self.rows(batch(live[0].builder, linear.graph, arguments, flags, self.size, sizes))
        return self.rows(results[:count]), [None if i is None else slopes[i] for i in linear.live]

    def transpose(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the operands that are `Linear`."""
        is_linear, begins = [isinstance(x, Linear) for x in self.operands], Ends.of(cotangents)
        is_known = [not flag for flag in is_linear]
        known = flagged(self.own, is_known)
        metas = [*known, *begins.each([v.meta for v in self.one.outputs])]
        with derived(self.one, metas, self.handle) as (builder, xs):
            seeds = begins.read(xs[len(known) : len(metas)])
            graph = reordered(self.one, sorted(range(len(self.own)), key=lambda i: not is_linear[i]))
            pulled = transposed_ends(builder, graph, sum(is_linear), xs[: len(known)], seeds)
            ends = Ends.of(pulled)
            graph = builder.finish(ends.arrays(pulled), self.one.name)
        arguments = [*flagged(self.operands, is_known), *begins.arrays(cotangents)]
        ys = self.rows(self.run(graph, arguments, [*flagged(self.carries, is_known), *[True] * begins.number]))
        rows = ends.each(flagged(self.carries, is_linear))
        summed = [y if flag else reduce_sum(y, (0,)) for y, flag in zip(ys, rows, strict=True)]
        return by_flags(is_linear, ends.read(summed))


def of_batches(
    ctx: ShapeGuardContext,
    size: Size,
    flags: Sequence[bool],
    one: Graph,
    carries: Sequence[bool],
    operands: Sequence[Any],
) -> list[Any]:
    """Return the results for the examples of `size` batches; `flags` tell which operands differ between batches."""
    first = list(carries).index(True)
    examples = sizes_of(ctx, operands[first])[flags[first]]
    pairs = list(zip(flags, carries, strict=True))
    columns = zip(operands, pairs, strict=True)
    xs = [merged(ctx, x, (size, examples), pair) if any(pair) else x for x, pair in columns]
    rows = list(map(any, pairs))
    loops = ExampleLoops(ctx, one, rows, xs)
    named = map(name_sizes, loops.rows(loops.run(one, xs, rows)))
    return [reshape(y, (size, examples, *sizes_of(ctx, y)[1:])) for y in named]


def _sizes_of_stand_in(old: TensorMeta, new: TensorMeta, is_row: bool) -> dict[Atom, Size]:
    """Return the sizes that stand for the variables of a type, as its stand-in has them."""
    pairs = [(variable, new.extents[axis + is_row]) for variable, axis in old.variable_axes()]
    return {variable: extent.size for variable, extent in pairs if isinstance(extent, Exact)}

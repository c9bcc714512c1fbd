"""Loops as rules see them: the body with its operands by kind, and loops over bodies that are derived from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from anyshape.autodiff.control_flow.branch_calls import handle_of, meta_of_operand
from anyshape.autodiff.control_flow.branch_derivatives import Typed
from anyshape.autodiff.replay import inline
from anyshape.autodiff.subgraph_ends import flagged
from anyshape.autodiff.subgraph_transforms import Handle, batch_element, derived, with_shared_variables
from anyshape.graph.ir.builder import Builder
from anyshape.graph.ir.graph import Graph, Node, Value, params_tuple
from anyshape.graph.ir.subgraph import close, sizes_at
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import loops as lp
from anyshape.ops.control_flow import sized
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full_op
from anyshape.ops.subgraph_call import further_operands
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.lazy_namedtuple import NamedTuple


@dataclass
class Inputs:
    """Values, types, flags or ends of the inputs of a body, by kind."""

    carries: Any
    elements: Any
    pieces: Any
    captured: Any

    @classmethod
    def of(cls, layout: lp.Layout, xs: Sequence[Any]) -> Inputs:
        """Return the members of a sequence that follows the order of the inputs."""
        first, second, third = layout.carries, layout.stacks.stop, layout.own
        return cls([*xs[:first]], [*xs[first:second]], [*xs[second:third]], [*xs[third:]])

    def kinds(self) -> list[Any]:
        """Return the lists of all kinds in their order."""
        return [self.carries, self.elements, self.pieces, self.captured]

    def flat(self) -> list[Any]:
        """Return all in the order of the inputs."""
        return [x for kind in self.kinds() for x in kind]

    def layout(self) -> lp.Layout:
        """Return the layout of a body with these inputs."""
        return lp.Layout(len(self.carries), len(self.elements), len(self.pieces))

    def joined(self, other: Inputs) -> Inputs:
        """Return each kind followed by the same kind of the other."""
        return Inputs(*[[*a, *b] for a, b in zip(self.kinds(), other.kinds(), strict=True)])

    def split(self, first: Inputs) -> tuple[Inputs, Inputs]:
        """Return as many of each kind as `first` has, and the rest: `joined` puts them together."""
        pairs = [(kind, len(begin)) for kind, begin in zip(self.kinds(), first.kinds(), strict=True)]
        return Inputs(*[kind[:n] for kind, n in pairs]), Inputs(*[kind[n:] for kind, n in pairs])

    def chosen(self, flags: Inputs, wanted: bool = True) -> Inputs:
        """Return the members whose flag is as wanted."""
        pairs = zip(self.kinds(), flags.kinds(), strict=True)
        return Inputs(*[[x for x, flag in zip(kind, chosen, strict=True) if flag == wanted] for kind, chosen in pairs])

    def with_carries(self, flags: Sequence[bool]) -> Inputs:
        """Return all but the carries that are not flagged."""
        return replace(self, carries=flagged(self.carries, flags))

    def map(self, function: Callable[[Any], Any]) -> Inputs:
        """Return the results of a function of each member."""
        return Inputs(*[[function(x) for x in kind] for kind in self.kinds()])


@dataclass
class Outputs:
    """Values, types, flags or ends of the outputs of a body, by kind."""

    carries: Any
    stacked: Any
    joined: Any

    @classmethod
    def of(cls, carries: int, joined: int, ys: Sequence[Any]) -> Outputs:
        """Return the members of a sequence that follows the order of the outputs."""
        last = len(ys) - joined
        return cls([*ys[:carries]], [*ys[carries:last]], [*ys[last:]])

    def kinds(self) -> list[Any]:
        """Return the lists of all kinds in their order."""
        return [self.carries, self.stacked, self.joined]

    def flat(self) -> list[Any]:
        """Return all in the order of the outputs."""
        return [*self.carries, *self.stacked, *self.joined]


class Results(NamedTuple):
    """Results of a derived loop: the ones of its body, the mask of its trips, and its checkpoint slots."""

    outputs: Outputs
    mask: Any
    slots: Sequence[Any]


class Loop:
    """Loop and its operands, from which rules derive another one. A `test` makes it a loop of unknown length."""

    handle: Handle
    layout: lp.Layout
    checkpoint: lp.Policy
    ctx: ShapeGuardContext
    body: Graph
    test: Graph | None
    joined: int
    reverse: bool
    ends: Sequence[Shape]

    def __init__(
        self,
        ctx: ShapeGuardContext,
        operands: Sequence[Any],
        body: Graph,
        layout: lp.Layout,
        joined: int,
        reverse: bool = False,
        test: Graph | None = None,
        ends: Sequence[Shape] = (),
        metas: Sequence[TensorMeta] | None = None,
        like: Sequence[Any] = (),
        checkpoint: lp.Policy = "",
    ) -> None:
        """Take a loop apart. `metas` are the types of operands, where the loop is of one example of a batch.

        `like` gives traced values where no operand is one. Loops derived from this one have its `checkpoint`.
        """
        self.handle = handle_of(*operands, *like)
        if test is not None:
            body, test = with_shared_variables([body, test], self.handle)
        self.ctx, self.body, self.layout, self.test = ctx, body, layout, test
        self.joined, self.reverse, self.ends = joined, reverse, ends
        fits_slots = layout.carries and not (joined or layout.pieces)
        self.checkpoint = checkpoint if fits_slots or isinstance(checkpoint, str) else "carry"
        count = len(body.inputs)
        self.inputs: Inputs = Inputs.of(layout, operands[:count])
        self.lengths: list[Any] = list(operands[count : count + layout.pieces])  # of pieces
        self.joined_lengths: list[Any] = list(operands[count + layout.pieces :])  # of the first joined results
        self.operand_metas: list[TensorMeta] = list(metas or [meta_of_operand(x) for x in operands])[:count]
        self.length: Size | None = self._length()
        self.metas: Inputs = Inputs.of(layout, [v.meta for v in body.inputs])
        self.varying: set[DimVar] = lp.varying_variables(body, layout)
        self.constant: set[DimVar] = {s.variable for s in body.dims} - self.varying

    def _length(self) -> Size | None:
        """Return the number of trips, by the stacks or the pieces that these read; None where neither says it."""
        per_trip = self.operand_metas[self.layout.stacks] or [meta_of_operand(x) for x in self.lengths if x is not None]
        return self.ctx.exact(Typed(per_trip[0]), 0, field="operands") if per_trip else None

    @property
    def has_mask(self) -> bool:
        """True if the node gives the mask of its trips, as a loop of unknown length does with results of trips."""
        return self.test is not None and len(self.body.outputs) > self.layout.carries

    def outputs(self, ys: Sequence[Any]) -> Outputs:
        """Return the members of a sequence that follows the order of the outputs of the body."""
        return Outputs.of(self.layout.carries, self.joined, ys)

    def constant_sizes(self) -> dict[DimVar, Size]:
        """Return the size of each variable of the body that is the same in all trips."""
        metas = [*self.operand_metas]
        metas[self.layout.stacks] = [batch_element(m) for m in metas[self.layout.stacks]]
        constant = replace(self.body, dims=tuple([s for s in self.body.dims if s.variable not in self.varying]))
        return sizes_at(self.ctx, constant, metas)

    def exact_sizes(self, x: Any) -> Shape | None:
        """Return the exact sizes of an operand or a result, None where it has none."""
        return self.ctx.sizes(Typed(meta_of_operand(x)))

    def as_written(self, xs: Sequence[Any], values: Sequence[Value], batch: Sequence[Shape] = ()) -> list[Any]:
        """Return what a derived body makes for values of the body in the sizes that these are written in.

        Two sizes may be equal only where there is a trip. Without one, the loop gives the sizes as written. `batch`
        gives for each the sizes that stand before its own.
        """
        triples = zip(xs, values, batch or [()] * len(values), strict=True)
        return [x if x is None or not self.is_constant(v.meta) else _of_shape(x, v.meta, b) for x, v, b in triples]

    def is_constant(self, meta: TensorMeta) -> bool:
        """Return whether an array type of the body has exact sizes that are the same in all trips."""
        sizes = meta.sizes
        return sizes is not None and all(v in self.constant for size in sizes for v in expr.variables(size))

    # -- loops over derived bodies

    def scan(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        length: Size,
        reverse: bool,
        ends: Sequence[Shape] = (),
        slots: bool = False,
    ) -> Sequence[Any]:
        """Return the results of a scan of a body that was derived from this one, with these operands."""
        closed = close([graph])
        operands = [*inputs.flat(), *further_operands(closed, self.constant_sizes()), *lengths]
        params: dict[str, Any] = {"reverse": reverse, "joined": joined, "ends": ends}
        params |= {"checkpoint": self.checkpoint, "slots": slots}
        return lp.scan_of_length(closed.graphs[0], inputs.layout(), length, *operands, **params)

    def again(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        ends: Sequence[Shape] = (),
        test_of: Callable[[Builder, Graph, Sequence[Any]], Any] | None = None,
        slots: bool = False,
    ) -> Results:
        """Return the results of a derived loop of as many trips, and its mask. With `slots`, it fills these.

        Of each kind its inputs are the inputs of this one, then others. `test_of` gives the condition in the graph of a
        builder, where inputs are not as the body of one example takes them.
        """
        if self.test is None:
            return self._scan_again(graph, inputs, lengths, joined, ends, slots)
        with derived(self.test, [v.meta for v in graph.inputs[: len(inputs.flat())]], self.handle) as (builder, xs):
            own = Inputs.of(inputs.layout(), xs[: len(inputs.flat())]).split(self.inputs)[0].flat()
            pred = inline(builder, self.test, own)[0] if test_of is None else test_of(builder, self.test, own)
            test = builder.finish([pred], self.test.name)
        return self._while_again(test, graph, inputs, joined, slots)

    def ahead(self, graph: Graph, known: Inputs) -> Results:
        """Return the results of the known part of this loop, which stacks what `graph` gives, and its mask."""
        inputs = self.inputs.chosen(known)
        if self.test is None:
            return self._scan_again(graph, inputs, flagged(self.lengths, known.pieces), 0, ())
        own = [v for v, flag in zip(self.test.inputs, known.flat(), strict=True) if flag]
        return self._while_again(replace(self.test, inputs=tuple(own)), graph, inputs, 0)

    def scan_of(self, body: Graph, inputs: Inputs) -> Loop:
        """Return a scan with another body and other operands, which has the same results behind the carries."""
        operands = [*inputs.flat(), *self.lengths, *self.joined_lengths]
        graph = close([body]).graphs[0]
        return Loop(self.ctx, operands, graph, inputs.layout(), self.joined, self.reverse, checkpoint=self.checkpoint)

    def _scan_again(
        self,
        graph: Graph,
        inputs: Inputs,
        lengths: Sequence[Any],
        joined: int,
        ends: Sequence[Shape],
        slots: bool = False,
    ) -> Results:
        assert self.length is not None  # a scan has one
        results = self.scan(graph, inputs, lengths, joined, self.length, self.reverse, ends, slots)
        own, filled = _apart(graph, results)
        return Results(Outputs.of(len(inputs.carries), joined, own), None, filled)

    def _while_again(self, test: Graph, graph: Graph, inputs: Inputs, joined: int, slots: bool = False) -> Results:
        closed, count = close([test, graph]), len(inputs.carries)
        operands = [*inputs.flat(), *further_operands(closed, self.constant_sizes())]
        params: dict[str, Any] = {"joined": joined, "checkpoint": self.checkpoint, "slots": slots}
        results = lp.while_loop(closed.graphs[0], closed.graphs[1], count, *operands, **params)
        mask = results[count] if len(results) > count else None
        own, filled = _apart(graph, [*results[:count], *results[count + 1 :]])
        return Results(Outputs.of(count, joined, own), mask, filled)


def _of_shape(x: Any, meta: TensorMeta, batch: Shape) -> Any:
    """Return a value with the sizes of an array type behind the ones of a batch."""
    assert meta.sizes is not None  # a constant type has them
    return sized(x, (*batch, *meta.sizes))


def _apart(graph: Graph, results: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the results of a loop that its body gives, and its checkpoint slots."""
    return results[: len(graph.outputs)], results[len(graph.outputs) :]


def counted(body: Graph) -> Graph:
    """Return the body of a `while` with one more result, to which each trip adds one element."""
    one = Value(tensor(lp.BOOL, ()))
    fill = Node(full_op, (), (), params_tuple({"dtype": lp.BOOL, "shape": (), "value": True}), (one,))
    return replace(body, nodes=(*body.nodes, fill), outputs=(*body.outputs, one))


def reordered(graph: Graph, order: Sequence[int]) -> Graph:
    """Return a graph that is not yet closed with its inputs in another order; hidden ones stay behind."""
    return replace(graph, inputs=(*[graph.inputs[i] for i in order], *graph.inputs[len(order) :]))


def with_axis(meta: TensorMeta, size: Size, axis: int) -> TensorMeta:
    """Return the type of an array with one more axis."""
    return TensorMeta(meta.dtype, (*meta.extents[:axis], Exact(size), *meta.extents[axis:]))

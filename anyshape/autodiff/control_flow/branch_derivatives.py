"""Derive graphs from the branches of one conditional: values with tangents, and values with a linear map apart.

The linear map reads what the branch that ran has saved for it: the operands, and values of exact sizes. Saved values of
several branches share an output where they have one type. A branch that has none to give makes zeros there, which take
no time. Their sizes make sense in all branches: one that could be negative in another branch is at least 0 there.
Values are computed again, not saved, where sizes depend on data, or divide by what only one branch knows not to be 0.

Apply conditionals to graphs that rules derive from branches, for one example or for each of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any

from anyshape.autodiff.linearize_transpose import LinearMap, linearise
from anyshape.autodiff.replay import inline
from anyshape.autodiff.rule_tables import Linear, zeros_like
from anyshape.autodiff.structural_zeros import Part
from anyshape.autodiff.subgraph_transforms import Handle, batch_element, derived, rows_graphs, with_shared_variables
from anyshape.graph.ir.builder import Builder, Traced, activate
from anyshape.graph.ir.graph import Graph, Node, Value, acts, without_effects
from anyshape.graph.ir.op_local import sizes_at
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.ops import control_flow as cf
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import meta_of
from anyshape.ops.elementwise import lift
from anyshape.ops.subgraph_call import close_branches, further_operands, of_branch
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Linearised:
    """Graphs of the outputs, followed by what is saved, and the graphs of the linear maps.

    Inputs of a linear map are the tangents of active inputs, then the operands `read` and all that is saved. Outputs
    of it are the tangents of the `live` outputs.
    """

    values: list[Graph]
    maps: list[Graph]
    read: tuple[int, ...]
    live: list[bool]


def linearised_graphs(
    graphs: Sequence[Graph], active: Sequence[bool], handle: Handle, shared: Sequence[bool]
) -> Linearised:
    """Linearise the branches of one conditional in the `active` inputs.

    What follows from `shared` inputs alone is not saved, as these are the same for all examples of a batch.
    """
    make = lambda graph: _Part(graph, active, handle, shared)
    parts = [of_branch(make, graph) for graph in graphs]
    live = [any(t is not None for t in column) for column in zip(*[p.map.live for p in parts], strict=True)]
    for part in parts:
        part.decide(live)
    slots: list[TensorMeta] = []
    bounded: set[int] = set()  # slots whose sizes are written so that none is below 0 in any branch
    for part in parts:
        part.take_slots(slots, bounded)
    read = tuple(sorted({i for part in parts for i in part.read}))

    def derive(part: _Part, of_part: Callable[[_Part], Graph]) -> Graph:
        return of_branch(lambda graph: of_part(part if graph is part.graph else make(graph)), part.graph)

    values = [derive(part, lambda p: p.values(slots, bounded)) for part in parts]
    return Linearised(values, [derive(part, lambda p: p.linear(slots, read, live)) for part in parts], read, live)


class _Part:
    """Branch, by its values, its derivative, and where each residual of the derivative comes from."""

    def __init__(self, graph: Graph, active: Sequence[bool], handle: Handle, shared: Sequence[bool]) -> None:
        self.graph, self.active, self.handle = graph, active, handle
        self.metas = [v.meta for v in graph.inputs]
        with derived(graph, self.metas, handle) as (builder, inputs):
            outputs, self.map = linearise(builder, graph, inputs, [i for i, flag in enumerate(active) if flag])
        self.builder, self.inputs, self.outputs = builder, inputs, outputs
        self.position = {x.value: i for i, x in enumerate(inputs)}
        self.arrays = dict(builder.constants.pairs())
        self.maker = {v: node for node in builder.nodes for v in node.outputs}
        self.made_again = self._made_again(shared)
        self.everywhere = _facts_of_all_branches(graph)
        self.again = False
        self.saved: dict[Value, int] = {}  # the slot of each saved value
        self.read: set[int] = set()

    # -- what is saved

    def decide(self, live: Sequence[bool]) -> None:
        """Decide whether the linear map computes the branch again, and which operands it reads."""
        residuals = [x.value for x in self.map.residuals]
        saved = [v for v in residuals if not self._is_known(v)]
        zeros = [v for v, t, f in zip(self.graph.outputs, self.map.live, live, strict=True) if f and t is None]
        self.again = not (self._have_sizes_of_inputs((*saved, *zeros)) and self._have_sizes_everywhere(saved))
        if self.again:
            self.read = set(range(len(self.metas)))
        else:
            self.saved = dict.fromkeys(saved, -1)
            self.read = self._operands_of([v for v in residuals if v not in self.saved])

    def _have_sizes_of_inputs(self, values: Sequence[Value]) -> bool:
        bound, shapes = {s.variable for s in self.graph.dims}, [v.meta.sizes for v in values]
        return all(s is not None and all(bound.issuperset(expr.variables(n)) for n in s) for s in shapes)

    def _have_sizes_everywhere(self, values: Sequence[Value]) -> bool:
        """Return whether the sizes of values can be computed in all branches."""
        sizes = [n for v in values for n in v.meta.sizes or () if isinstance(n, DimExpr)]
        return self.everywhere is None or not any(n.divides or n.broadcasts for n in sizes)

    def _type_of_slot(self, meta: TensorMeta) -> TensorMeta:
        """Return the type of a saved value with sizes that are none below 0 in any branch."""
        scope, sizes = self.everywhere, meta.sizes
        if scope is None or sizes is None:
            return meta
        return tensor(meta.dtype, [n if scope.proves(at_least(n, 0)) else expr.maximum(n, 0) for n in sizes])

    def _made_again(self, shared: Sequence[bool]) -> set[Value]:
        """Return the values that the linear map makes again: of shared inputs, constants and sizes alone."""
        made = {x.value for x, flag in zip(self.inputs, shared, strict=True) if flag} | {*self.arrays}
        for node in self.builder.nodes:
            reads_sizes_of_inputs = self.position.keys() >= {*node.sources}
            if not (node.op.makes_sizes or acts(node)) and reads_sizes_of_inputs and made.issuperset(node.inputs):
                made.update(node.outputs)
        return made

    def _is_known(self, value: Value) -> bool:
        """Return whether the linear map has a value without saving it: it is an operand, a constant, or made again."""
        return value in self.position or value in self.made_again

    def _operands_of(self, values: Sequence[Value]) -> set[int]:
        """Return the positions of the operands that known values are made from."""
        read = {*values}.union(*[node.operands for node in self.makers_of(values)])
        return {i for v, i in self.position.items() if v in read}

    def makers_of(self, values: Sequence[Value], known: Container[Value] = ()) -> list[Node]:
        """Return the nodes that make values again, and what these read, in their order; `known` ones need none."""
        seen, todo, makers = set[Value](), [*values], set[Node]()
        while todo:
            if (value := todo.pop()) not in seen and value not in known and value in self.maker:
                makers.add(self.maker[value])
                todo += self.maker[value].inputs
            seen.add(value)
        return [node for node in self.builder.nodes if node in makers]

    def take_slots(self, slots: list[TensorMeta], bounded: set[int]) -> None:
        """Give each saved value a slot of its type that this branch has not taken, or a new one."""
        taken: set[int] = set()
        for value in self.saved:
            wanted = self._type_of_slot(value.meta)
            free = (i for i, meta in enumerate(slots) if i not in taken and meta == wanted)
            if (slot := next(free, len(slots))) == len(slots):
                slots.append(wanted)
            if wanted != value.meta:
                bounded.add(slot)
            self.saved[value] = slot
            taken.add(slot)

    # -- the two graphs

    def values(self, slots: Sequence[TensorMeta], bounded: Container[int]) -> Graph:
        """Return the graph of the outputs and of what is saved, with zeros in the slots of other branches."""
        builder = self.builder
        builder.closed = False
        with activate(builder):
            ctx = ShapeGuardContext(builder.scope, self.graph.name, rule="jvp")
            value_in = {slot: builder.handle(builder, value) for value, slot in self.saved.items()}
            saved = [value_in[i] if i in value_in else zeros_like(ctx, meta) for i, meta in enumerate(slots)]
            ends = [sized(x, slots[i].sizes or ()) if i in bounded else x for i, x in enumerate(saved)]
            return builder.finish([*self.outputs, *ends], self.graph.name)

    def linear(self, slots: Sequence[TensorMeta], read: Sequence[int], live: Sequence[bool]) -> Graph:
        """Return the graph of the linear map."""
        tangent_metas = [m for m, flag in zip(self.metas, self.active, strict=True) if flag]
        metas = [*tangent_metas, *[self.metas[i] for i in read], *slots]
        count = len(tangent_metas)
        with derived(self.graph, metas, self.handle, linear=count) as (builder, inputs):
            operands = dict(zip(read, inputs[count:], strict=False))
            outputs, linear = self._again(builder, operands) if self.again else (self.graph.outputs, self.map)
            known = _Known(self, builder, operands, inputs[count + len(read) :])
            residuals = linear.residuals if self.again else map(known.handle, linear.residuals)
            results = inline(builder, linear.graph, [*inputs[:count], *residuals])
            slopes = [None if i is None else results[i] for i in linear.live]
            ctx = ShapeGuardContext(builder.scope, self.graph.name, rule="jvp")
            columns = zip(outputs, slopes, live, strict=True)
            return builder.finish([or_zeros(ctx, y, t) for y, t, flag in columns if flag], self.graph.name)

    def _again(self, builder: Builder, operands: dict[int, Traced]) -> tuple[Sequence[Any], LinearMap]:
        """Linearise the branch in the graph of the linear map, which computes it again."""
        wrt = [i for i, flag in enumerate(self.active) if flag]
        return linearise(builder, without_effects(self.graph), [operands[i] for i in range(len(self.metas))], wrt)


def _facts_of_all_branches(graph: Graph) -> Scope | None:
    """Return what holds of sizes in all branches, None where a branch asserts nothing of its own."""
    if not any(c.kind == "assertion" for c in graph.conditions):
        return None
    return Scope(conditions=[c for c in graph.conditions if c.kind == "constraint"])


def or_zeros(ctx: ShapeGuardContext, y: Any, tangent: Any) -> Any:
    """Return a tangent of a value, zeros where it has none."""
    if tangent is not None:
        return tangent
    return lift(0, y) if isinstance(y, Traced) else zeros_like(ctx, y.meta)


class _Known:
    """Gives the residuals of a branch in the builder of its linear map."""

    def __init__(self, part: _Part, builder: Builder, operands: dict[int, Traced], slots: Sequence[Traced]) -> None:
        self.part, self.builder = part, builder
        self.env: dict[Value, Any] = {v: operands[i] for v, i in part.position.items() if i in operands}
        self.env |= {v: sized(slots[i], v.meta.sizes or ()) for v, i in part.saved.items() if i < len(slots)}

    def handle(self, x: Traced) -> Any:
        """Return the stand-in of a residual: an operand, a saved value, a constant, or a value of sizes made again."""
        for node in [] if x.value in self.env else self.part.makers_of([x.value], self.env):
            self._make(node)
        return self._value(x.value)

    def _value(self, value: Value):
        if value not in self.env:  # a constant
            self.env[value] = self.builder.constant(self.part.arrays[value], is_settled=True)
        return self.env[value]

    def _make(self, node: Node) -> None:
        inputs, sources = [[*map(self._value, xs)] for xs in (node.inputs, node.sources)]
        outputs = self.builder.emit(node.op, inputs, sources, dict(node.params))
        self.env.update(zip(node.outputs, outputs, strict=True))


def handle_of(*xs: Any) -> Handle:
    """Return the class of handles that traced operands have, or the elements of cotangents that are parts."""
    return type(next(x for x in map(_elements, xs) if isinstance(x, Traced)))


def _elements(x):
    while isinstance(x, Part):
        x = x.ct
    return x


def meta_of_operand(x: Any) -> TensorMeta:
    """Return the array type of an operand, which may be `Linear`."""
    meta: TensorMeta = x.meta if isinstance(x, Linear) else meta_of(x)
    return meta


class Branches:
    """Branches of a conditional and its operands, from which rules derive another one.

    With `carries`, the conditional is of each example: flagged operands have one row for each. `totals` are the results
    that are sums over examples. `like` gives traced values where no operand is one.
    """

    def __init__(
        self,
        ctx: ShapeGuardContext,
        index: Any,
        operands: Sequence[Any],
        branches: Sequence[Graph],
        carries: Sequence[bool] | None = None,
        totals: Sequence[bool] = (),
        like: Sequence[Any] = (),
    ) -> None:
        self.ctx, self.index, self.operands = ctx, index, operands
        self.is_of_examples: bool = carries is not None
        self.handle: Handle = handle_of(index, *operands, *like)
        self.graphs: list[Graph] = with_shared_variables(branches, self.handle)
        self.carries: list[bool] = [False] * len(operands) if carries is None else list(carries)
        self.totals: list[bool] = list(totals) or [False] * len(branches[0].outputs)

    def size_of_variable(self) -> dict[DimVar, Size]:
        """Return the size of each variable of the branches."""
        pairs = zip(map(meta_of_operand, self.operands), self.carries, strict=True)
        metas = [batch_element(m) if carries else m for m, carries in pairs]
        return sizes_at(self.ctx, self.graphs[0], metas)

    def apply(
        self, graphs: Sequence[Graph], arguments: Sequence[Any], carries: Sequence[bool], totals: Sequence[bool] | None
    ) -> tuple[Any, ...]:
        """Return the results of a conditional with the same index, whose branches are derived from these."""
        closed, sizes = close_branches(graphs), self.size_of_variable()
        operands = [*arguments, *further_operands(closed, sizes)]
        if not self.is_of_examples:
            return cf.cond(self.index, closed.graphs, *operands)
        flags = [*carries, *[False] * (len(operands) - len(arguments))]
        sums = list(totals or [False] * len(graphs[0].outputs))
        return apply_each(self.index, operands, closed.graphs, flags, sums, sizes, self.handle)


def apply_each(
    index: Any,
    operands: Sequence[Any],
    branches: Sequence[Graph],
    carries: Sequence[bool],
    totals: Sequence[bool],
    sizes: dict[DimVar, Size],
    handle: Handle,
) -> tuple[Any, ...]:
    """Return the results of each branch for the examples that choose it. `sizes` are the sizes of one example."""
    one = TensorMeta(index.dtype, ())
    batched = close_branches(rows_graphs(branches, one, carries, totals, handle))
    further = further_operands(batched, sizes)
    return cf.cond_each(index, branches, batched.graphs, *operands, *further, carries=carries, totals=totals)

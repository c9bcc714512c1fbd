"""Lowering: from a graph to a plan.

Nodes become steps that leave broadcasts and fills to NumPy where NumPy does the same. Passes over plans then fold,
hoist, sink, fuse and reuse.

Element values: split the body of a scan into what it computes of elements and captured values alone, and the rest.

These values need no carry, so a block of trips computes them at once, before its first trip. So `x @ w` is one product
for all rows of the block. A block has so many trips that its values fit in a cache.

Loop-invariant code motion: split the body of a loop into what every trip computes alike, and the rest.

The invariant part takes the inputs of the first trip and runs before it. In a loop without trips it does not run, so it
neither raises nor warns there.

Buffers are reused: results go to the memory of dead values, and slots are freed after their last use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan
from anyshape.backend.compiler.op_traits import TRAITS, Alias, is_observable, runs_user_code
from anyshape.backend.compiler.passes.pipeline import PlanSteps, Tier, optimize, prepare_to_run, run_plan_passes
from anyshape.backend.compiler.plan import Group, Literal, Plan, Slot, Step, named_sizes, scatter_sums_op
from anyshape.graph.ir import op_local
from anyshape.graph.ir.graph import Graph, Node, Op, Value, dependents, raises, subgraphs
from anyshape.graph.ir.op_local import pass_context, pass_scope
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.signature.dim_equations import SizeBinding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size, variables
from anyshape.ops.control import raise_op
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.creation import full_op
from anyshape.ops.elementwise import python_int_op
from anyshape.ops.gathering import scatter_add_op
from anyshape.ops.loops import LOOPS, Layout, mask_position, scan_op, varying_variables
from anyshape.ops.movement import broadcast_in_dim_op
from anyshape.support.lazy_dataclass import replace
from anyshape.support.progress import count_op

Operand = Value | Literal


def lower(
    graph: Graph, hoist: bool = False, tier: Tier = Tier.OPTIMISED, batched: Batched | None = None, carries: int = 0
) -> Plan:
    """Return the plan of a graph. It assumes no relation of sizes beyond what the conditions of the graph prove.

    With `hoist`, shape-only steps are hoisted. That is for sizes at which their results take few bytes: see
    `shape_constant_bytes`. With `batched`, blocks of trips compute element values: see `split_elements`. Of the trip of
    a loop that may own the memory of its carries, `carries` is their number.
    """
    return _lowering(prepare_to_run(graph)).plan(hoist, tier, batched, carries)


def reliances_of_passes(graph: Graph) -> list[Any]:
    """Return the size queries of all passes and of lowering for a traced graph, as scopes record them."""
    reliance_log: list[Any] = []
    _lowering(prepare_to_run(optimize(graph, reliance_log)), reliance_log).plan(hoist=True)
    return reliance_log


def size_bindings(graph: Graph) -> tuple[SizeBinding, ...]:
    """Return how a call finds the variables of a graph."""
    return tuple([s.read or SizeBinding(s.variable, s.size) for s in graph.dims])


def _lowering(graph: Graph, reliance_log: list[Any] | None = None) -> _Lowering:
    """Return the lowering of a graph. Values that are read for their sizes alone are not computed, only refused."""
    lowering = _Lowering(graph, reliance_log)
    if not (refusing := op_local.refusals_of_dead(graph, lowering.live)):
        return lowering
    nodes = [new for n in graph.nodes for new in (*[r for r in refusing.get(n, ()) if r is not n], n)]
    return _Lowering(replace(graph, nodes=tuple(nodes)), reliance_log)


class _Lowering:
    def __init__(self, graph: Graph, reliance_log: list[Any] | None = None) -> None:
        self.graph = graph
        self.scope = pass_scope(graph, reliance_log)
        self.ctx = pass_context(self.scope, "lower")
        self.node_sizes = op_local.NodeSizes(graph, self.ctx)
        self.producer = graph.maker
        absorption = _Absorption(self.ctx, self.scope, self.producer)
        self.operands = {n: absorption.operands(n) for n in graph.nodes}
        self.live = self._live_nodes()
        self.tier = Tier.OPTIMISED
        self.batched: Batched | None = None
        self.slot: dict[Value, Slot] = {v: plan.input_slot(i) for i, v in enumerate(graph.inputs)}
        self.slot |= {v: plan.constant_slot(i) for i, (v, _) in enumerate(graph.constants)}

    # -- liveness

    def _live_nodes(self) -> set[Node]:
        """Return the nodes that outputs and assertions need."""
        makers = lambda values: [self.producer[v] for v in values if isinstance(v, Value) and v in self.producer]
        ends = makers([*self.graph.outputs, *op_local.asserted_values(self.graph)])
        return {*op_local.topological_order(ends, lambda n: makers([*self.operands[n], *self._size_sources(n)]))}

    def _size_sources(self, node: Node) -> list[Value]:
        """Return the values whose shapes a node needs: operands with unnamed sizes, and definitions of run-time sizes.

        A size without a name is read from an array.
        """
        unnamed = [v for v in node.operands if self.ctx.sizes(v, field="sources") is None]
        if not (runtime := self.graph.runtime):
            return unnamed
        extents = [e for v in (*node.operands, *node.outputs) for e in self.ctx.extents(v, field="sources")]
        return [*unnamed, *[runtime[v][0] for s in named_sizes(extents) for v in expr.variables(s) if v in runtime]]

    # -- the plan

    def plan(self, hoist: bool, tier: Tier = Tier.OPTIMISED, batched: Batched | None = None, carries: int = 0) -> Plan:
        graph, self.tier, self.batched = self.graph, tier, batched
        visible = graph.inputs[: len(graph.inputs) - graph.hidden]
        steps = [self._step(n) for n in graph.nodes if n in self.live]
        outputs = tuple([self.slot[v] for v in graph.outputs])
        read = {s.variable for s in graph.dims}
        rewritten = PlanSteps(steps, outputs, self.scope, read, graph.runtime)
        hoisted, parts = run_plan_passes(rewritten, tier, hoist=hoist)
        groups, steps = _flatten(parts)
        inputs = tuple(map(plan.input_slot, range(len(visible))))
        buffers = BufferReuse(steps, outputs, pass_context(self.scope, "buffer_reuse"), groups, inputs[:carries])
        return Plan(
            name=graph.name,
            inputs=inputs,
            input_metas=_metas(visible),
            input_names=graph.input_names or tuple([f"args[{i}]" for i in range(len(visible))]),
            constants=tuple([(plan.constant_slot(i), array) for i, (_, array) in enumerate(graph.constants)]),
            dims=size_bindings(graph),
            conditions=graph.conditions,
            steps=tuple(buffers.assign()),
            outputs=outputs,
            output_metas=_metas(graph.outputs),
            copied=buffers.copied(),
            values=graph.values,
            groups=tuple(groups),
            hoisted=tuple(hoisted),
            runtime=tuple([v for v, (value, _) in self.graph.runtime.items() if self.producer[value] in self.live]),
        )

    def _step(self, node: Node) -> Step:
        count_op()
        start = len(self.slot)
        self.slot |= {v: plan.value_slot(start + i) for i, v in enumerate(node.outputs)}
        operands = self.operands[node]
        inputs = tuple([o if isinstance(o, Literal) else self.slot[o] for o in operands])
        metas = tuple([TensorMeta(o.dtype, ()) if isinstance(o, Literal) else o.meta for o in operands])
        sources: list[Value] = []
        params = self.node_sizes.params_over(node, sources)
        op: Op = node.op
        if op is scatter_add_op and len(inputs) == 2:
            op, shape = scatter_sums_op, self.ctx.shape(node.outputs[0], field="shape")
            params = (*params, ("shape", tuple([self.scope.normal(s) for s in shape])))
        return Step(
            op,
            inputs,
            params,
            outputs=tuple([str(self.slot[v]) for v in node.outputs]),
            metas=metas,
            results=_metas(node.outputs),
            where=node.where,
            sources=tuple([str(self.slot[v]) for v in sources]),
            bodies=self._bodies(op, dict(node.params)),
        )

    def _bodies(self, op: Op, params: dict[str, Any]) -> tuple[Plan, ...]:
        """Return the plans of the graphs that a step runs; in a plain plan kernels run these."""
        if self.tier is Tier.PLAIN:
            return ()
        if op not in LOOPS:
            return tuple(map(self._body, params.get(TRAITS[op].inlines, ())))
        layout = Layout(*params["layout"]) if "layout" in params else Layout(params["carries"])
        *others, trip = self._bodies_of_loop(op, params, layout)
        plans = tuple(map(self._body, others))
        # what holds carries beside the trips: checkpoint slots, and functions of the user that a condition calls
        is_held = params["slots"] or any(runs_user_code(step) for plan in plans for step in plan.steps)
        return *plans, self._body(trip, 0 if is_held else layout.carries)

    def _body(self, graph: Graph, carries: int = 0) -> Plan:
        """Return the plan of a subgraph."""
        return lower(graph, tier=self.tier, batched=self.batched, carries=carries)

    def _bodies_of_loop(self, op: Op, params: dict[str, Any], layout: Layout) -> Sequence[Graph]:
        """Return the graphs that a loop runs, the one of a trip last: invariant and element values have their own."""
        *others, body = params[TRAITS[op].inlines]
        ahead, trip = split_invariants(body, layout)
        if op is not scan_op or self.batched is None:
            return *others, ahead, trip
        return *others, ahead, *split_elements(prepare_to_run(trip), layout, self.batched)


def _metas(values: Sequence[Value]) -> tuple[TensorMeta, ...]:
    return tuple([value.meta for value in values])


def _flatten(parts: Sequence[Step | Group]) -> tuple[list[Group], list[Step]]:
    """Return the groups, and the steps inside and outside of groups in order."""
    groups = [part for part in parts if isinstance(part, Group)]
    steps = [step for part in parts for step in (part.steps if isinstance(part, Group) else (part,))]
    return groups, steps


class _Absorption:
    """Leaves stretches and fills to NumPy: finds the operands that steps read in place of stretched or filled ones."""

    def __init__(self, ctx: ShapeGuardContext, scope: Scope, producer: dict[Value, Node]) -> None:
        self.ctx, self.scope, self.producer = ctx, scope, producer

    def operands(self, node: Node) -> tuple[Operand, ...]:
        """Return the operands that the step of a node reads."""
        if node.op is scatter_add_op and self._is_zeros(node.inputs[0]):
            return node.inputs[1:]
        if not TRAITS[node.op].elementwise:
            return node.inputs
        candidates = [self._unstretched(v) for v in node.inputs]
        shape = node.outputs[0].meta
        for stretched in (None, *range(len(candidates))):  # one operand may have to give the shape
            chosen = tuple([node.inputs[i] if i == stretched else c for i, c in enumerate(candidates)])
            if self._broadcasts_to(chosen, shape):
                return chosen
        return tuple([v if self.ctx.rank(v) else (self._literal(v) or v) for v in node.inputs])

    def _literal(self, value: Value) -> Literal | None:
        if (node := self.producer.get(value)) is None or node.op is not full_op:
            return None
        params = dict(node.params)
        return Literal(params["value"], params["dtype"])

    def _is_zeros(self, value: Value) -> bool:
        """Return whether a value is filled with positive zeros and all of its sizes have names."""
        literal = self._literal(value)
        return (
            literal is not None
            and literal.value == 0
            and "-" not in repr(literal.value)
            and self.ctx.sizes(value, field="shape") is not None
        )

    def _unstretched(self, value: Value) -> Operand:
        """Return the operand that NumPy's broadcasting stretches to the value."""
        if (literal := self._literal(value)) is not None:
            return literal
        if (node := self.producer.get(value)) is not None and node.op is broadcast_in_dim_op:
            axes, rank = dict(node.params)["axes"], self.ctx.rank(value)
            if axes == tuple(range(rank - len(axes), rank)):
                return self._unstretched(node.inputs[0])
        return value

    def _broadcasts_to(self, operands: tuple[Operand, ...], shape: TensorMeta) -> bool:
        """Return whether NumPy's broadcasting of the operands is proved to give exactly this shape."""
        arrays = [o for o in operands if isinstance(o, Value)]
        if (target := self.ctx.sizes(shape, field="broadcast")) is None:
            return all(self.ctx.same_extents(o, shape) for o in arrays) and bool(arrays)
        shapes = [s for o in arrays if (s := self.ctx.sizes(o, field="broadcast")) is not None]
        if len(shapes) < len(arrays):
            return False
        if target in shapes:
            return True
        if max(map(len, shapes), default=-1) != len(target):  # NumPy adds no axis, not even one of size 1
            return False
        return self._same_sizes(_broadcast(shapes, len(target)), target)

    def _same_sizes(self, left: Sequence[Size], right: Sequence[Size]) -> bool:
        return all(self.scope.normal(a) == self.scope.normal(b) for a, b in zip(left, right, strict=True))


def _broadcast(shapes: Sequence[Sequence[Size]], rank: int) -> list[Size]:
    """Return the shape that NumPy's broadcasting gives, with this many axes."""
    result: list[Size] = [1] * rank
    for sizes in shapes:
        for axis, size in enumerate(sizes, rank - len(sizes)):
            result[axis] = expr.broadcast(result[axis], size)
    return result


Batched = Callable[[Graph, Sequence[bool]], Graph | None]


def split_elements(body: Graph, layout: Layout, batched: Batched) -> tuple[Graph, ...]:
    """Return the graph of element values of a block, and the body that takes the ones of a trip as its last inputs.

    `batched` gives the graph of stacks of the flagged inputs, None where it cannot. Return the body alone where nothing
    is worth moving.
    """
    if any(map(runs_user_code, body.nodes)):  # their order shows which trip has begun
        return (body,)
    values, trip = moved_out(body, _element_nodes(body, layout))
    if all(TRAITS[node.op].alias.is_free for node in values.nodes):
        return (body,)
    are_elements = range(layout.stacks.start, layout.stacks.stop)
    varying = varying_variables(body, layout) | {*body.runtime}
    facts = [replace(c, kind="fact") for c in body.conditions if varying.isdisjoint(c.claim.variables())]
    values = replace(values, conditions=tuple(facts))  # checked before the first trip
    block = batched(values, [i in are_elements for i in range(len(body.inputs))])
    return (body,) if block is None else (optimize(block), trip)


def _element_nodes(body: Graph, layout: Layout) -> list[Node]:
    """Return the nodes of element values.

    Nodes that may raise are among them if all of these are: else an error of a later trip would hide one of a carry.
    Of several that raise exceptions of the user none is: the first one of the first trip raises.
    """
    dependent = dependents(body.nodes, body.inputs[layout.stacks])
    inputs = [*body.inputs[layout.stacks], *body.inputs[layout.own :]]
    raising = {node for node in body.nodes if _may_raise(node)}

    def may_move(node: Node) -> bool:
        return not subgraphs(node) and (node not in raising or not dependent.isdisjoint(node.inputs))

    nodes = nodes_over(body, layout, inputs, may_move)
    if raising.issubset(nodes) and sum(node.op is raise_op for node in raising) < 2:
        return nodes
    return nodes_over(body, layout, inputs, lambda node: may_move(node) and node not in raising)


def _may_raise(node: Node) -> bool:
    """Return whether a node raises for some values: it is there to, it refuses indices, or a matrix may be singular."""
    return raises(node) or bool(op_local.refusals(node)) or node.op.family == "linalg"


def _may_raise_within(node: Node) -> bool:
    """Return whether a node, or one of its subgraphs, raises for some values, or for an int that is too large."""
    inner = [n for graph in subgraphs(node) for n in graph.nodes]
    return node.op is python_int_op or _may_raise(node) or any(map(_may_raise_within, inner))


def split_invariants(body: Graph, layout: Layout) -> tuple[Graph, Graph]:
    """Return the graph of the invariant values that trips read, and the body that takes them as its last inputs.

    What may raise stays behind nodes that are there to raise: theirs is the first error of a trip.
    """
    observable = [is_observable(node) for node in body.nodes]
    behind = {*body.nodes[observable.index(True) :]} if any(observable) else set()
    may_move = lambda node: not (node in behind and (is_observable(node) or _may_raise_within(node)))
    return moved_out(body, nodes_over(body, layout, body.inputs[layout.own :], may_move))


def moved_out(body: Graph, nodes: Sequence[Node]) -> tuple[Graph, Graph]:
    """Return the graph of the values of these nodes that others read, and the body with them as its last inputs."""
    moved = {v for node in nodes if _is_worth_moving(node) for v in node.outputs}
    others = [node for node in body.nodes if moved.isdisjoint(node.outputs)]
    read = moved.intersection({v for node in others for v in node.operands} | {*body.outputs})
    values = tuple([v for node in nodes for v in node.outputs if v in read])
    ahead = op_local.remove_dead_code(replace(body, nodes=tuple(nodes), outputs=values, conditions=()))
    return ahead, op_local.remove_dead_code(replace(body, nodes=tuple(others), inputs=(*body.inputs, *values)))


def nodes_over(body: Graph, layout: Layout, inputs: Sequence[Value], may_move: Callable[[Node], bool]) -> list[Node]:
    """Return the nodes that read these inputs and what follows from them, and no size that differs between trips."""
    varying = varying_variables(body, layout) | {*body.runtime}
    known, nodes = {*inputs}, list[Node]()
    ctx = pass_context(pass_scope(body), "loop_invariants")
    for node in body.nodes:
        is_fit = known.issuperset(node.inputs) and not node.op.makes_sizes and may_move(node)
        if is_fit and _is_constant(_variables_of(ctx, node), varying):
            nodes.append(node)
            known.update(node.outputs)
    return nodes


def _is_constant(read: set[DimVar] | None, varying: set[DimVar]) -> bool:
    return read is not None and varying.isdisjoint(read)


def _is_worth_moving(node: Node) -> bool:
    """Return whether a node takes time: fills and stretches are left to NumPy, which makes neither."""
    return node.op is not full_op and TRAITS[node.op].alias is not Alias.STRETCHED_VIEW


def _variables_of(ctx: ShapeGuardContext, node: Node) -> set[DimVar] | None:
    """Return the variables in the types of the results and in the params of a node, None where a size is not exact."""
    axes = [axis for _, param in node.params for axis in op_local.axes_read(param)]
    extents = [
        *[extent for v in node.outputs for extent in ctx.extents(v)],
        *[ctx.extent(node.operands[axis.operand], axis.axis) for axis in axes],
    ]
    if not all(isinstance(extent, Exact) for extent in extents):
        return None
    return {v for extent in extents if isinstance(extent, Exact) for v in variables(extent.size)}


BufferKey = tuple[np.dtype, tuple[Size, ...]]  # dtype and sizes


class BufferReuse:
    """Assigns buffers to the steps of a plan, and finds the outputs to copy.

    `carries` are the inputs of a trip of a loop that may own the memory of its carries: see `owned_carries`.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        outputs: Sequence[Slot],
        ctx: ShapeGuardContext,
        groups: Sequence[Group],
        carries: Sequence[str] = (),
    ) -> None:
        self.steps, self.outputs, self.ctx = steps, outputs, ctx
        self.internal: dict[str, set[str]] = {
            group.steps[-1].outputs[0]: group.internal for group in groups
        }  # by the last result
        self.metas: dict[str, TensorMeta] = {o: m for s in steps for o, m in zip(s.outputs, s.results, strict=True)}
        self.last_use: dict[Slot, int] = _last_uses(steps, outputs)
        self.fresh: set[Slot] = set()  # slots whose memory no other slot had before
        self.base: dict[Slot, Slot] = {}  # by view: the slot whose memory it may share
        self.stretched: set[Slot] = set()  # views in which one element may stand for several
        for step in steps:
            self._note_aliases(step)
        # functions of the user may keep their operands
        retaining = [step for step in steps if runs_user_code(step)]
        self.retained: set[Slot] = {self.base.get(slot, slot) for step in retaining for slot in step.inputs}
        self.shared: set[Slot] = self._shared_by(retaining)
        # what a kernel consumes, it hands to nobody
        self.unconsumable: set[Slot] = self._shared_by([step for step in retaining if not KERNELS[step.op].consumes])
        self.memory_use: dict[Slot, int] = self._last_uses_of_memory()
        self.owned_carries: set[str] = self._owned_carries(carries)

    def _shared_by(self, steps: Sequence[Step]) -> set[Slot]:
        """Return the slots whose memory others share, or functions that these steps call."""
        return {*self.base.values(), *[self.base.get(slot, slot) for step in steps for slot in step.inputs]}

    def _owned_carries(self, carries: Sequence[str]) -> set[str]:
        """Return the carries whose memory nothing else holds in any trip, if it is so before the first one.

        A trip leaves such a carry as an array that it has made, or as another one of them. No function of the user has
        seen this array, and no other result shares its memory.
        """
        ends = self.outputs[: len(carries)]
        sharing = Counter([self.base.get(slot, slot) for slot in self.outputs])
        by_user = {slot for step in self.steps if runs_user_code(step) for slot in step.outputs}
        made = self.fresh - by_user - self.retained
        owned = {c: end for c, end in zip(carries, ends, strict=True) if sharing[end] == 1}
        while left := [c for c, end in owned.items() if end not in made and end not in owned]:
            for carry in left:
                del owned[carry]
        return {*owned}

    def _note_aliases(self, step: Step) -> None:
        alias = TRAITS[step.op].alias
        if not alias.may_share:
            self.fresh.update(step.outputs)
            if (mask := mask_position(step)) is not None:
                self.fresh.remove(step.outputs[mask])
                self.stretched.add(step.outputs[mask])
            return
        source = step.inputs[0]
        self.base[step.outputs[0]] = self.base.get(source, source)
        if alias is Alias.STRETCHED_VIEW or source in self.stretched:
            self.stretched.add(step.outputs[0])

    def _last_uses_of_memory(self) -> dict[Slot, int]:
        """Return for each slot that is not a view the last use of its memory, by the slot or by a view of it."""
        last = dict(self.last_use)
        for view, base in self.base.items():
            last[base] = max(last.get(base, len(self.steps)), self.last_use[view])
        return last

    def copied(self) -> tuple[bool, ...]:
        """Tell of each output whether it may share memory with an input, a constant or an earlier output.

        Such outputs are copied before they are returned, and so are stretched views, which cannot be written to.
        """
        owned: set[Slot] = set()
        copied = []
        for slot in self.outputs:
            base = self.base.get(slot, slot)
            copied.append(base not in self.fresh or base in owned or slot in self.stretched)
            owned.add(base)
        return tuple(copied)

    def assign(self) -> list[Step]:
        """Return the steps with `reuse` and `drops` filled in.

        A dead buffer waits for a value of its size until another array is made that may be as large. Then it is freed,
        so no more memory is live at once than values are.
        """
        free = _FreeBuffers()
        reuse: dict[int, str] = {}
        owned: dict[int, tuple[int, ...]] = {}
        for position, step in enumerate(self.steps):
            dying, is_loop = self._dying(position, step), step.op in LOOPS
            if KERNELS[step.op].consumes or is_loop:
                owned[position] = self._owned_operands(step, dying)
            if not is_loop or not owned[position]:  # results of a loop may be in the memory of its operands
                self._free_operands(free, step, dying)
            if (buffer := self._updated(position, step)) is not None:
                free.remove([buffer])
            elif KERNELS[step.op].out:
                buffer = free.take(self._key(step.results[0]), dying)
            if buffer is not None:
                reuse[position] = buffer
            elif not TRAITS[step.op].alias.may_share:
                free.drop_up_to(max([self.ctx.rank(m) for m in step.results]), dying)
            free.remove(self.internal.get(step.outputs[0], ()))
        return _with_owned(self._with_drops(reuse), owned)

    def _free_operands(self, free: _FreeBuffers, step: Step, dying: Sequence[str]) -> None:
        """Enter the operands that no later step reads in the list of free buffers."""
        for slot in [s for s in dying if s in step.inputs and self._is_reusable(s)]:
            free.add(slot, self._key(self.metas[slot]))

    def _updated(self, position: int, step: Step) -> str | None:
        """Return the first operand if the step writes a part of it, and nobody reads its memory later.

        Views of it may have been read before. None of them may be what is written: it is read meanwhile.
        """
        slot = step.inputs[0] if step.inputs else None
        if not TRAITS[step.op].updates or not isinstance(slot, str) or slot in self.retained:
            return None
        if slot not in self.fresh and (slot not in self.owned_carries or not self.ctx.rank(step.metas[0])):
            return None
        others = [self.base.get(other, other) for other in step.inputs[1:]]
        return slot if self.memory_use[slot] == position and slot not in others else None

    def _dying(self, position: int, step: Step) -> list[str]:
        """Return the slots with their last use here."""
        slots = dict.fromkeys([*step.inputs, *step.outputs])
        return [s for s in slots if isinstance(s, str) and self.last_use[s] == position]

    def _owned_operands(self, step: Step, dying: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of the operands that nothing reads after a step, and whose memory nobody shares."""
        ends = (self.fresh | self.owned_carries).intersection(dying) - self.unconsumable
        return tuple([i for i, s in enumerate(step.inputs) if s in ends])

    def _is_reusable(self, slot: str) -> bool:
        return slot in self.fresh and slot not in self.shared and slot in self.metas

    def _key(self, meta: TensorMeta) -> BufferKey | None:
        """Return a key that buffers of one size and dtype share.

        It is None where a size has no name, and for a number, which may be no array.
        """
        sizes = self.ctx.sizes(meta, field="buffer")
        return (meta.dtype, sizes) if sizes else None

    def _with_drops(self, reuse: dict[int, str]) -> list[Step]:
        """Free each slot after its last use, or after the step that takes over its buffer."""
        taken_at = {slot: position for position, slot in reuse.items()}
        drops: dict[int, list[str]] = {}
        for slot, position in self.last_use.items():
            if isinstance(slot, str) and position < len(self.steps) and not plan.is_constant(slot):
                drops.setdefault(taken_at.get(slot, position), []).append(slot)
        return [s.with_buffers(reuse.get(i), tuple(drops.get(i, ()))) for i, s in enumerate(self.steps)]


def _with_owned(steps: list[Step], owned: dict[int, tuple[int, ...]]) -> list[Step]:
    """Return the steps, where kernels that consume operands, and loops that may write to them, know which."""
    params = {i: (*steps[i].params, ("owned_operands", positions)) for i, positions in owned.items()}
    return [replace(s, params=params[i]) if i in params else s for i, s in enumerate(steps)]


def _last_uses(steps: Sequence[Step], outputs: Iterable[Slot]) -> dict[Slot, int]:
    """Return the position of the last step that reads or makes each slot; outputs are used after all steps."""
    last_use: dict[Slot, int] = {}
    for position, step in enumerate(steps):
        last_use |= dict.fromkeys([*step.reads, *step.outputs], position)
    return last_use | dict.fromkeys(outputs, len(steps))


class _FreeBuffers:
    """Dead slots whose buffers wait for a value, by what the buffers can hold, the last one last.

    Each operation takes time in proportion to the slots that it names or drops, however many wait.
    """

    def __init__(self) -> None:
        self.key_of: dict[str, BufferKey] = {}
        self.by_rank: dict[int, dict[BufferKey, dict[str, None]]] = {}

    def add(self, slot: str, key: BufferKey | None) -> None:
        """Let the buffer of a slot wait."""
        if key is not None:
            self.key_of[slot] = key
            self.by_rank.setdefault(len(key[1]), {}).setdefault(key, {})[slot] = None

    def take(self, key: BufferKey | None, operands: Sequence[str]) -> str | None:
        """Take the last buffer of a key, one of these operands if there is one."""
        waiting = None if key is None else self.by_rank.get(len(key[1]), {}).get(key)
        if not waiting:
            return None
        slot = next((s for s in reversed(operands) if s in waiting), None)
        if slot is None:
            slot, _ = waiting.popitem()
        else:
            del waiting[slot]
        del self.key_of[slot]
        return slot

    def remove(self, slots: Iterable[str]) -> None:
        """Forget the slots that wait among these."""
        for slot in slots:
            if (key := self.key_of.pop(slot, None)) is not None:
                del self.by_rank[len(key[1])][key][slot]

    def drop_up_to(self, rank: int, spared: Iterable[str]) -> None:
        """Drop the buffers with at most so many axes, but for some: an array is made that may be as large."""
        left = [(slot, self.key_of[slot]) for slot in spared if slot in self.key_of]
        for low in [r for r in self.by_rank if r <= rank]:
            for slots in self.by_rank.pop(low).values():
                for slot in slots:
                    del self.key_of[slot]
        for slot, key in left:
            self.add(slot, key)

"""From a graph to a plan: broadcasts are left to NumPy where it does the same, buffers are reused after last use."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.passes.collapse_views import collapse
from anyshape.backend.compiler.passes.fold_into_contractions import contractions
from anyshape.backend.compiler.passes.fuse import fuse
from anyshape.backend.compiler.passes.hoist_shape_only import by_size
from anyshape.backend.compiler.passes.pad_add import fold_pads_into_sums
from anyshape.backend.compiler.passes.pipeline import optimize, prepare_to_run
from anyshape.backend.compiler.passes.sink import delay
from anyshape.backend.compiler.plan import Group, Literal, Plan, Step
from anyshape.backend.compiler.plan_ops import scatter_sums_op
from anyshape.backend.runtime.config import config
from anyshape.graph.ir.dead_code import asserted_values
from anyshape.graph.ir.graph import Graph, Node, Op, Value, bind_local
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.signature.dim_equations import SizeBinding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis, Size
from anyshape.ops.apply import find_kernel
from anyshape.ops.creation import full_op
from anyshape.ops.gathering import scatter_add_op
from anyshape.ops.movement import broadcast_in_dim_op

Slot = str | Literal


def lower(graph: Graph, keep: bool = False) -> Plan:
    """The plan of a graph that assumes no relation between sizes beyond what the graph's conditions prove.

    To `keep` what depends on sizes alone is for sizes of which that takes few bytes: see `shape_constant_bytes`.
    """
    return _Lowering(prepare_to_run(graph)).plan(keep)


def reliances_of_passes(graph: Graph) -> list[Any]:
    """What passes and lowering are told of the sizes of a traced graph, as scopes note it."""
    reliance_log: list[Any] = []
    _Lowering(prepare_to_run(optimize(graph, reliance_log)), reliance_log).plan(keep=True)
    return reliance_log


def size_bindings(graph: Graph) -> tuple[SizeBinding, ...]:
    """How a call finds the variables of a graph."""
    return tuple([s.read or SizeBinding(s.variable, s.size) for s in graph.dims])


class _Lowering:
    def __init__(self, graph: Graph, reliance_log: list[Any] | None = None) -> None:
        self.graph = graph
        self.scope = Scope(conditions=graph.conditions)
        self.scope.reliance_log = deque(maxlen=0) if reliance_log is None else reliance_log
        self.ctx = ShapeGuardContext(self.scope, "lower", rule="pass")
        self.producer = {v: n for n in graph.nodes for v in n.outputs}
        self.operands = {n: self._absorbed(n) for n in graph.nodes}
        self.needed = self._live()
        self.slot: dict[Value, Slot] = {v: f"x{i}" for i, v in enumerate(graph.inputs)}
        self.slot |= {v: f"c{i}" for i, (v, _) in enumerate(graph.constants)}

    # -- which operands a step really reads

    def _literal(self, value: Value) -> Literal | None:
        node = self.producer.get(value)
        if node is not None and node.op is full_op:
            params = dict(node.params)
            return Literal(params["value"], params["dtype"])
        return None

    def _absorbed(self, node: Node) -> tuple[Value | Literal, ...]:
        """The operands of a step, with stretches and fills that NumPy makes itself left out."""
        if node.op is scatter_add_op and self._is_zeros(node.inputs[0]):
            return node.inputs[1:]
        plain = tuple(v if self.ctx.rank(v) else (self._literal(v) or v) for v in node.inputs)
        if not find_traits(node.op).elementwise:
            return node.inputs
        candidates = [self._unstretched(v) for v in node.inputs]
        shape = node.outputs[0].meta
        for kept in (None, *range(len(candidates))):
            chosen = tuple(node.inputs[i] if i == kept else c for i, c in enumerate(candidates))
            if self._broadcast_of(chosen, shape):
                return chosen
        return plain

    def _is_zeros(self, value: Value) -> bool:
        """Filled with a positive 0, and of a shape that has names."""
        literal = self._literal(value)
        return (
            literal is not None
            and literal.value == 0
            and "-" not in repr(literal.value)
            and self.ctx.sizes(value, field="shape") is not None
        )

    def _unstretched(self, value: Value) -> Value | Literal:
        literal = self._literal(value)
        if literal is not None:
            return literal
        node = self.producer.get(value)
        if node is not None and node.op is broadcast_in_dim_op:
            axes, rank = dict(node.params)["axes"], self.ctx.rank(value)
            if axes == tuple(range(rank - len(axes), rank)):
                return self._unstretched(node.inputs[0])
        return value

    def _broadcast_of(self, operands: tuple[Value | Literal, ...], shape: TensorMeta) -> bool:
        """NumPy's broadcasting of the operands gives exactly this shape."""
        arrays = [o for o in operands if isinstance(o, Value)]
        new = self.ctx.sizes(shape, field="broadcast")
        if new is None:
            return all(self.ctx.same_extents(o, shape) for o in arrays) and bool(arrays)
        shapes = [s for o in arrays if (s := self.ctx.sizes(o, field="broadcast")) is not None]
        if len(shapes) < len(arrays):
            return False
        if new in shapes:
            return True
        if max(map(len, shapes), default=-1) != len(new):  # NumPy adds no axis, be it of size 1
            return False
        result: list[Size] = [1] * len(new)
        for sizes in shapes:
            for place, size in enumerate(sizes, len(new) - len(sizes)):
                result[place] = expr.broadcast(result[place], size)
        return all(self.scope.normal(r) == self.scope.normal(s) for r, s in zip(result, new, strict=True))

    # -- order and liveness

    def _live(self) -> set[Node]:
        live: set[Node] = set()
        ends = [*self.graph.outputs, *asserted_values(self.graph)]
        todo = [self.producer[v] for v in ends if v in self.producer]
        while todo:
            node = todo.pop()
            if node not in live:
                live.add(node)
                read = [*self.operands[node], *self._noted(node)]
                todo.extend(self.producer[v] for v in read if isinstance(v, Value) and v in self.producer)
        return live

    def _noted(self, node: Node) -> list[Value]:
        """What gives sizes that depend on data, and sources whose sizes have no name: these are read from arrays."""
        unnamed = [v for v in node.operands if self.ctx.sizes(v, field="sources") is None]
        runtime = self.graph.runtime
        if not runtime:
            return unnamed
        extents = [e for v in (*node.operands, *node.outputs) for e in self.ctx.extents(v, field="sources")]
        named = [e.size for e in extents if isinstance(e, (Exact, UpperBound))]
        return [*unnamed, *[runtime[v][0] for s in named for v in expr.variables(s) if v in runtime]]

    # -- steps

    def plan(self, keep: bool = False) -> Plan:
        graph = self.graph
        given = graph.inputs[: len(graph.inputs) - graph.hidden]
        steps = [self._step(n) for n in graph.nodes if n in self.needed]
        outputs = tuple([self._output(v) for v in graph.outputs])
        steps = contractions(steps, outputs, self.scope, reassociate=config.reassociate)
        steps, first = collapse(steps, outputs, self.scope), list[Step]()
        if keep:
            first, steps = by_size(steps, outputs, self.scope, {s.variable for s in graph.dims})
        steps = fold_pads_into_sums(steps, outputs, self.scope)
        parts = fuse(delay(steps, outputs, self.scope), outputs, self.scope, graph.runtime)
        groups = tuple([p for p in parts if isinstance(p, Group)])
        steps = [step for p in parts for step in (p.steps if isinstance(p, Group) else (p,))]
        buffers = _Buffers(steps, outputs, ShapeGuardContext(self.scope, "buffers", rule="pass"), groups)
        finished = buffers.assign()
        return Plan(
            name=graph.name,
            inputs=tuple(f"x{i}" for i in range(len(given))),
            input_metas=tuple(v.meta for v in given),
            input_names=graph.input_names or tuple(f"args[{i}]" for i in range(len(given))),
            constants=tuple((f"c{i}", a) for i, (_, a) in enumerate(graph.constants)),
            dims=size_bindings(graph),
            conditions=graph.conditions,
            steps=tuple(finished),
            outputs=outputs,
            output_metas=tuple(v.meta for v in graph.outputs),
            copied=buffers.copied(),
            values=graph.values,
            groups=groups,
            hoisted=tuple(first),
            runtime=tuple(v for v, (value, _) in graph.runtime.items() if self.producer[value] in self.needed),
        )

    def _output(self, value: Value) -> Slot:
        return self.slot[value]

    def _step(self, node: Node) -> Step:
        start = len(self.slot)
        for i, v in enumerate(node.outputs):
            self.slot[v] = f"v{start + i}"
        inputs = tuple(o if isinstance(o, Literal) else self.slot[o] for o in self.operands[node])
        metas = tuple(TensorMeta(o.dtype, ()) if isinstance(o, Literal) else o.meta for o in self.operands[node])
        sources: list[str] = []
        params = tuple((k, self._named(node, p, sources)) for k, p in node.params)
        outputs = tuple(str(self.slot[v]) for v in node.outputs)
        results = tuple(v.meta for v in node.outputs)
        op: Op = node.op
        if op is scatter_add_op and len(inputs) == 2:
            op, shape = scatter_sums_op, self.ctx.shape(node.outputs[0], field="shape")
            params = (*params, ("shape", tuple([self.scope.normal(s) for s in shape])))
        return Step(op, inputs, params, outputs, metas, results, where=node.where, sources=tuple(sources))

    def _named(self, node: Node, param: Any, sources: list[str]) -> Any:
        """A param with exact sizes by name; others are axes of the sources of the step."""
        operands = node.operands

        def size_of(leaf: InputAxis) -> Size:
            extent = self.ctx.extent(operands[leaf.operand], leaf.axis, field="params")
            if isinstance(extent, Exact):
                return self.scope.normal(extent.size)
            slot = str(self.slot[operands[leaf.operand]])
            if slot not in sources:
                sources.append(slot)
            return expr.input_axis(sources.index(slot), leaf.axis)

        return bind_local(param, size_of)


class _Buffers:
    """Which step writes into the buffer of a dead slot, and where slots are freed."""

    def __init__(
        self, steps: list[Step], outputs: tuple[Slot, ...], ctx: ShapeGuardContext, groups: tuple[Group, ...] = ()
    ) -> None:
        self.steps, self.ctx = steps, ctx
        # what only a group reads may never have been an array of its own
        self.inside = {g.steps[-1].outputs[0]: {o for s in g.steps for o in s.outputs} - {*g.escaping} for g in groups}
        self.last: dict[Slot, int] = {}
        for i, step in enumerate(steps):
            self.last |= dict.fromkeys([*step.inputs, *step.sources, *step.outputs], i)
        self.last |= dict.fromkeys(outputs, len(steps))
        self.metas = {o: m for s in steps for o, m in zip(s.outputs, s.results, strict=True)}
        self.outputs = outputs
        self.fresh = {o for s in steps if not find_kernel(s.op).view for o in s.outputs}
        self.base: dict[Slot, Slot] = {}  # a view -> the slot whose memory it may share
        self.stretched: set[Slot] = set()
        for step in steps:
            if find_kernel(step.op).view:
                source = step.inputs[0]
                self.base[step.outputs[0]] = self.base.get(source, source)
                if find_kernel(step.op).stretch or source in self.stretched:
                    self.stretched.add(step.outputs[0])
        # functions of the user may keep their operands
        retained = [slot for step in steps if find_traits(step.op).runs_user_code for slot in step.inputs]
        self.shared = {*self.base.values(), *[self.base.get(slot, slot) for slot in retained]}

    def _reusable(self, slot: Slot) -> bool:
        meta = self.metas.get(str(slot))
        return slot in self.fresh and slot not in self.shared and meta is not None and self._key(meta) is not None

    def copied(self) -> tuple[bool, ...]:
        """Which outputs may share memory with an input, a constant or an earlier output, or cannot be written to."""
        owned: set[Slot] = set()
        result = []
        for slot in self.outputs:
            base = self.base.get(slot, slot)
            result.append(base not in self.fresh or base in owned or slot in self.stretched)
            owned.add(base)
        return tuple(result)

    def assign(self) -> list[Step]:
        """The steps with `reuse` and `drops` filled in.

        A dead buffer waits for a value of its size until another array is made that may be as large: it is free then,
        so that no more is alive at once than values are.
        """
        free: dict[Any, list[str]] = {}
        reuse: dict[int, str] = {}
        for i, step in enumerate(self.steps):
            dying = [
                s for s in dict.fromkeys([*step.inputs, *step.outputs]) if isinstance(s, str) and self.last[s] == i
            ]
            for slot in dying:
                if slot in step.inputs and self._reusable(slot):
                    free.setdefault(self._key(self.metas[slot]), []).append(slot)
            key = self._key(step.results[0]) if find_kernel(step.op).out else None
            if key is not None:
                pool = free.get(key, [])
                preferred = [s for s in pool if s in step.inputs] or pool
                if preferred:
                    reuse[i] = preferred[-1]
                    pool.remove(preferred[-1])
            if i not in reuse and not find_kernel(step.op).view:
                rank = max(self.ctx.rank(m) for m in step.results)
                free = {k: [s for s in pool if len(k[1]) > rank or s in dying] for k, pool in free.items()}
            inside = self.inside.get(step.outputs[0])
            if inside:
                free = {key: [s for s in pool if s not in inside] for key, pool in free.items()}
        return self._with_drops(reuse)

    def _key(self, meta: TensorMeta) -> tuple[Any, ...] | None:
        """Buffers of equal keys are of one size; None where it has no name, and of a number, which may be no array."""
        sizes = self.ctx.sizes(meta, field="buffer")
        return (meta.dtype, sizes) if sizes else None

    def _with_drops(self, reuse: dict[int, str]) -> list[Step]:
        taken = {slot: i for i, slot in reuse.items()}
        drops: dict[int, list[str]] = {}
        for slot, i in self.last.items():
            if isinstance(slot, str) and i < len(self.steps) and not slot.startswith("c"):
                drops.setdefault(taken.get(slot, i), []).append(slot)
        return [replace(s, reuse=reuse.get(i), drops=tuple(drops.get(i, ()))) for i, s in enumerate(self.steps)]

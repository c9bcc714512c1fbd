"""Checkpoint slots for loops of a program that would take too much memory.

A gradient has two loops. One stacks values that the other, a scan the other way, reads of each trip. The second can be
a rerun of the first. Sums over trips of products of stacks, which follow, are then carries of it. The first may be a
`while`: slots are chosen while it runs, so its trips need no bound.
"""

import itertools
from collections.abc import Callable, Container, Mapping, Sequence, Set
from dataclasses import field
from typing import Any

from anyshape.autodiff.control_flow.loop_calls import Inputs
from anyshape.autodiff.control_flow.loop_transposition import LoopAgain, RerunLoop, with_last_inputs_at
from anyshape.autodiff.replay import Replay, begin_replay, inline, replay_node
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.builder import Builder, activate, at_line
from anyshape.graph.ir.graph import Graph, Node, Value, draws, without_effects
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import movement as mv
from anyshape.ops.contraction import dot_general, dot_general_op
from anyshape.ops.core.apply import apply_all
from anyshape.ops.creation import full
from anyshape.ops.elementwise import add
from anyshape.ops.loops import LOOPS, Layout, mask_position, scan_op, varying_variables, while_op
from anyshape.ops.movement import transpose_op
from anyshape.ops.subgraph_call import with_element
from anyshape.program.specialize import replay_builder, replay_scope
from anyshape.support.fork_lock import restores_thread
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace

Stack = tuple[Value, int]  # a value, and its axis of trips


class SumOverTrips(NamedTuple):
    """Product of two stacks that is summed over trips.

    - `stacks`: both operands, each with its axis of trips. For a transpose of a stack of the scans, it is that stack.
    - `axes`: the axis of trips of each operand as it is.
    """

    node: Node
    stacks: tuple[Stack, Stack]
    axes: tuple[int, int]

    def of_trip(self, x: Any, y: Any) -> Any:
        """Return the product of the elements of one trip."""
        params, first = _params(self.node), self._position()
        contract, batch = [
            [[axis - (axis > trip) for i, axis in enumerate(axes) if i != skipped]
             for axes, trip in zip(params[name], self.axes, strict=True)]
            for name, skipped in (("contract", first), ("batch", None))
        ]  # fmt: skip
        return dot_general(x, y, contract=(contract[0], contract[1]), batch=(batch[0], batch[1]))

    def _position(self) -> int:
        """Return the position of the axes of trips among the contracted ones."""
        return [*zip(*_params(self.node)["contract"], strict=True)].index(self.axes)


@dataclass
class Pair:
    """Loop that stacks values, and the scan that goes back over them.

    - `stacks`: the stacks that nothing else reads, but `products`.
    - `products`: sums over trips of products of stacks.
    - `dropped`: the stacked results of the second one that products alone read.
    - `slots`: the checkpoint slots, once the first loop has been emitted again.
    """

    loop: Node
    back: Node
    stacks: list[Value]
    products: list[SumOverTrips]
    dropped: list[Value]
    slots: Sequence[Any] = field(default_factory=list)

    @property
    def length(self) -> Size:
        """Number of trips."""
        extent = self.stacks[0].meta.extents[0]
        assert isinstance(extent, Exact)  # stacks have the length of their loop
        return extent.size


def pairs_of(graph: Graph) -> list[Pair]:
    """Return the pairs of loops in which the first one need not stack all that the second one reads."""
    readers, pairs = _Readers(graph), list[Pair]()
    loops = [node for node in graph.nodes if _is_plain(node)]
    for loop, back in itertools.combinations(loops, 2):
        is_free = not any(p.loop is loop or p.back is back for p in pairs)
        if is_free and back.op is scan_op and _params(back)["reverse"] != _goes_back(loop):
            pair = _pair(loop, back, readers)
            pairs += [pair] if pair.stacks else []
    return pairs


def _params(node: Node) -> dict[str, Any]:
    return dict(node.params)


def _layout(node: Node) -> Layout:
    params = _params(node)
    return Layout(*params["layout"]) if node.op is scan_op else Layout(params["carries"])


def _body(node: Node) -> Graph:
    params = _params(node)
    graph: Graph = params["body"][0] if node.op is scan_op else params["loop"][1]
    return graph


def _goes_back(node: Node) -> bool:
    return bool(node.op is scan_op and _params(node)["reverse"])


def _is_plain(node: Node) -> bool:
    """Return whether a node is a loop with carries that keep their sizes, and without pieces."""
    if node.op not in LOOPS or draws(node):
        return False
    params, layout = _params(node), _layout(node)
    has_pieces = layout.pieces or params["joined"] or params["slots"]
    return bool(layout.carries) and not has_pieces and not varying_variables(_body(node), layout)


def _stacks(node: Node) -> tuple[Value, ...]:
    """Return the results that have an element of each trip, without the mask."""
    return node.outputs[_layout(node).carries + (node.op is while_op) :]


class _Readers:
    """Nodes that make and read the values of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.position = {node: i for i, node in enumerate(graph.nodes)}
        self.maker = {v: node for node in graph.nodes for v in node.outputs}
        self.outputs = set(graph.outputs)
        self.of: dict[Value, list[Node]] = {}
        for node in graph.nodes:
            for v in dict.fromkeys(node.operands):
                self.of.setdefault(v, []).append(node)

    def is_before(self, value: Value, node: Node) -> bool:
        """Return whether a value is made before a node, or is there from the start."""
        return value not in self.maker or self.position[self.maker[value]] < self.position[node]

    def only(self, value: Value, nodes: Container[Node]) -> bool:
        """Return whether these nodes alone read a value, or transposes of it."""
        if value in self.outputs:
            return False
        return all(
            node in nodes or (_moved_axis(node) is not None and value not in node.sources
                              and self.only(node.outputs[0], nodes))
            for node in self.of.get(value, ())
        )  # fmt: skip

    def products(self, own: Set[Value], back: Node) -> list[SumOverTrips]:
        """Return the sums over trips of products of these stacks, or of one and a value that is there before."""
        views = {v: (v, 0) for v in own}
        for v in own:
            for node in self.of.get(v, ()):
                axis = _moved_axis(node)
                views |= {node.outputs[0]: (v, axis)} if axis is not None else {}
        nodes = dict.fromkeys([node for v in views for node in self.of.get(v, ()) if node.op is dot_general_op])
        return [product for node in nodes if (product := self._product(node, views, back)) is not None]

    def _product(self, node: Node, views: Mapping[Value, tuple[Value, int]], back: Node) -> SumOverTrips | None:
        is_ready = all(v in views or self.is_before(v, back) for v in node.inputs)
        if not is_ready or self.position[node] < self.position[back]:
            return None
        for axes in zip(*_params(node)["contract"], strict=True):
            pairs = [views.get(v, (v, axis)) for v, axis in zip(node.inputs, axes, strict=True)]
            if axes == (pairs[0][1], pairs[1][1]):
                x, y = [(pair[0], 0) if v in views else pair for pair, v in zip(pairs, node.inputs, strict=True)]
                return SumOverTrips(node, (x, y), axes)
        return None


def _moved_axis(node: Node) -> int | None:
    """Return where a transpose puts the first axis, if it leaves the others in their order."""
    if node.op is not transpose_op:
        return None
    axes = [*_params(node)["axes"]]
    others = [axis for axis in axes if axis]
    return axes.index(0) if axes and others == sorted(others) else None


def _pair(loop: Node, back: Node, readers: _Readers) -> Pair:
    """Return two scans as a pair."""
    layout = _layout(back)
    products = readers.products({*_stacks(loop), *_stacks(back)}, back)
    nodes = [product.node for product in products]
    others = {*back.inputs[: layout.carries], *back.inputs[layout.own :], *back.sources}
    stacks = [v for v in _stacks(loop) if v not in others and readers.only(v, [back, *nodes])]
    views = [node.outputs[0] for v in stacks for node in readers.of.get(v, ()) if _moved_axis(node) is not None]
    if any(v in back.inputs for v in views):
        stacks = []
    return Pair(loop, back, stacks, products, [v for v in _stacks(back) if readers.only(v, nodes)])


# -- rewriting ---------------------------------------------------------------------------------------------------


@restores_thread
def with_slots(graph: Graph, count: int, accepts: Callable[[Pair], bool] = lambda pair: True) -> Graph:
    """Return the graph in which the loops of the accepted pairs have so many checkpoint slots."""
    while True:  # a rewritten loop is in no pair
        if (pair := next(filter(accepts, pairs_of(graph)), None)) is None:
            return graph
        graph = _rewritten(graph, pair, count)


def _rewritten(graph: Graph, pair: Pair, count: int) -> Graph:
    """Return the graph in which the loop of one pair has checkpoint slots."""
    builder, inputs = replay_builder(graph, replay_scope(graph))
    with activate(builder):
        env = begin_replay(builder, graph, inputs)
        rewriter = _Rewriter(builder, env, pair, count)
        for node in graph.nodes:
            with at_line(builder, node.where):
                rewriter.emit(node)
        return builder.finish([env[v] for v in graph.outputs], graph.name, graph.input_names)


class _Rewriter:
    """Emits the nodes of a graph again. The loop of a pair gets checkpoint slots."""

    def __init__(self, builder: Builder, env: Replay, pair: Pair, count: int) -> None:
        self.builder, self.env, self.pair, self.count = builder, env, pair, count
        self.products = {product.node for product in pair.products}
        self.replaced = {*pair.stacks, *pair.dropped}

    def emit(self, node: Node) -> None:
        """Emit a node again."""
        if node is self.pair.loop:
            self._emit_loop(self.pair)
        elif node is self.pair.back:
            self._emit_back(self.pair)
        elif node not in self.products and self.replaced.isdisjoint(node.inputs):  # products are results of the rerun
            replay_node(self.builder, node, self.env)

    def _emit_loop(self, pair: Pair) -> None:
        """Emit the first scan, which fills slots in place of stacks."""
        node, env, params = pair.loop, self.env, _params(pair.loop)
        wanted = [v for v in node.outputs if v not in pair.stacks]
        mask = mask_position(node)
        body = _with_outputs(node, [v for i, v in enumerate(node.outputs) if v in wanted and i != mask])
        bodies = {"body": (body,)} if mask is None else {"loop": (params["loop"][0], body)}
        params |= {"checkpoint": self.count, "slots": True, **bodies}
        results = apply_all(node.op, *[env[v] for v in node.inputs], sources=[env[v] for v in node.sources], **params)
        env.update(zip(wanted, results, strict=False))
        pair.slots = results[len(wanted) :]

    def _emit_back(self, pair: Pair) -> None:
        """Emit the second scan as a rerun, with a carry for each product."""
        carries = pair.back.outputs[: _layout(pair.back).carries]
        sums = [product.node.outputs[0] for product in pair.products]
        wanted = [v for v in _stacks(pair.back) if v not in pair.dropped]
        self.env.update(zip([*carries, *sums, *wanted], _BackScan(self, pair).results(), strict=True))


def _with_outputs(node: Node, wanted: Sequence[Value]) -> Graph:
    """Return the body of a loop with the outputs that give these results alone."""
    body, mask = _body(node), mask_position(node)
    results = [v for i, v in enumerate(node.outputs) if i != mask]
    outputs = [y for v, y in zip(results, body.outputs, strict=True) if v in wanted]
    return remove_dead_code(replace(body, outputs=tuple(outputs)))


def _loop_again(ctx: ShapeGuardContext, pair: Pair, env: Replay, count: int) -> LoopAgain:
    """Return the loop of a pair as one that runs again, and gives its carries and the stacks."""
    loop, start, mask = pair.loop, _layout(pair.loop), mask_position(pair.loop)
    graph = without_effects(_with_outputs(loop, [*loop.outputs[: start.carries], *pair.stacks]))
    operands = [env[v] for v in loop.inputs]
    if mask is not None:  # which gives the number of trips
        operands.insert(start.carries, env[loop.outputs[mask]])
        graph, start = with_element(graph, start.carries, loop.outputs[mask].meta), start._replace(elements=1)
    return LoopAgain(ctx, graph, start, 0, operands, pair.slots, count, _goes_back(loop))


class _BackScan:
    """Second scan of a pair. Its elements are other stacks first, then what the loop gives again."""

    def __init__(self, rewriter: _Rewriter, pair: Pair) -> None:
        self.env, self.pair = rewriter.env, pair
        params, layout = _params(pair.back), _layout(pair.back)
        (self.body,), self.reverse, self.layout = params["body"], params["reverse"], layout
        ctx = ShapeGuardContext(rewriter.builder.scope, "scan", pair.back.where)
        self.again = _loop_again(ctx, pair, self.env, rewriter.count)
        operands = self.again.operands
        self.made = dict(zip(pair.stacks, self.again.made()[0], strict=True))
        xs = [self.made[v] if v in self.made else self.env[v] for v in pair.back.inputs]
        options: dict[str, Any] = {"like": operands, "metas": [x.meta for x in xs]}
        self.loop = RerunLoop(self.again, xs, self.body, layout, reverse=self.reverse, **options)
        own = {(v, 0) for v in pair.back.outputs}
        read = [(v, 0) for v in pair.back.inputs[layout.stacks]]
        read += [stack for product in pair.products for stack in product.stacks if stack not in own]
        self.real = {stack: _along_trips(self.env, stack) for stack in read if stack[0] not in self.made}

    def results(self) -> tuple[Any, ...]:
        """Return the results of the rerun: carries, products, and stacked results that more than products read."""
        carries, captured = self.loop.inputs.carries, self.loop.inputs.captured
        types = [self.env.translate_type(product.node.outputs[0].meta) for product in self.pair.products]
        sums = [full(m.sizes or (), 0, m.dtype) for m in types]
        inputs = Inputs([*carries, *sums], [*self.real.values(), *self.made.values()], [], captured)
        return self.again.scan(self.loop, self._body(), inputs, self.reverse, ())

    def _body(self) -> Graph:
        """Return the body of the rerun, which adds up the products."""
        count, stacks = self.layout.carries, self.pair.back.inputs[self.layout.stacks]
        types = dict(zip(stacks, self.loop.metas.elements, strict=True))
        elements = [*self.real, *[(v, 0) for v in self.made]]
        own = [types[v] if v in types and not axis else self._type((v, axis)) for v, axis in elements]
        metas = replace(self.loop.metas, elements=own)
        with derived(self.body, metas.flat(), self.loop.handle) as (builder, xs):
            inputs = Inputs.of(metas.layout(), xs[: len(metas.flat())])
            values = dict(zip(elements, inputs.elements, strict=True))
            outputs = inline(builder, self.body, replace(inputs, elements=[values[v, 0] for v in stacks]).flat())
            values |= {(v, 0): y for v, y in zip(_stacks(self.pair.back), outputs[count:], strict=True)}
            terms = [product.of_trip(*[values[stack] for stack in product.stacks]) for product in self.pair.products]
            sums = [builder.input(term.meta) for term in terms]
            wanted = [values[v, 0] for v in _stacks(self.pair.back) if v not in self.pair.dropped]
            graph = builder.finish([*outputs[:count], *map(add, sums, terms), *wanted], self.body.name)
        return with_last_inputs_at(graph, count, len(sums))

    def _type(self, stack: Stack) -> TensorMeta:
        """Return the type of an element that only products read, in the variables of the body as far as these do."""
        meta = self.real[stack].meta if stack in self.real else self.env.translate_type(stack[0].meta)
        known: dict[Size, Size] = {size: expr.from_atom(v) for v, size in self.loop.constant_sizes().items()}
        sizes = (meta.sizes or ())[1:]
        for size in sizes:
            known.setdefault(size, size if isinstance(size, int) else expr.from_atom(DimVar("size")))
        return TensorMeta(meta.dtype, tuple([Exact(n if isinstance(n, int) else known[n]) for n in sizes]))


def _along_trips(env: Replay, stack: Stack):
    """Return a value with its axis of trips first."""
    value, axis = stack
    return mv.move_axes(env[value], (axis,), (0,)) if axis else env[value]

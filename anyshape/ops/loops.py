"""Loops, which run a subgraph once per trip: `scan`, of known length, and `while`, whose trips a run decides.

`while_each` is a `while` of each example of a batch, whose conditions differ.

A body takes the carries, then what each trip reads of its own, then captured values. It gives the carries of the next
trip, then what each trip adds to the results:

- Elements are slices of stacked operands along the first axis, and stacked results are made of such.
- Pieces are parts of joined operands, of as many rows as the lengths of the trip say. Their sizes may differ.

A carry may have another size after each trip. Its axis then has a varying variable in the body.

`checkpoint` says what reverse mode saves of a loop. None is the residuals of each trip, "carry" the carry of each trip,
and a number as many checkpoint slots. A loop with `slots` fills these, and returns them behind its other results.

Scans that recompute a loop: their trips read its carries, which no array holds.

`rerun` has two bodies. The first is a trip of the loop. It gives the next carries, then the elements and pieces that a
trip of the scan reads. The second is a trip of the scan. A rerun means a scan of the first body, which stacks and joins
its results, followed by a scan of the second body over these.

A run does not stack them. In the direction of the loop, both run together. In the other direction, carries are
recomputed from the nearest checkpoint slot, and free slots are filled with further carries on the way.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Graph, HasParams, Node, Op, Value
from anyshape.graph.ir.op_local import call_type
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis, Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply_all, localise, meta_of
from anyshape.ops.core.definition import NO_PROBE, define
from anyshape.ops.core.flop_counts import Applied, OpCost, Shape, UnknownSizeError, graph_flops
from anyshape.ops.subgraph_call import size_carrier, with_element
from anyshape.support.lazy_dataclass import NamedTuple

BOOL = np.dtype(bool)
INT = np.dtype(np.int64)
SAME_LENGTH = "all arrays of a scan have its length"

Graphs: TypeAlias = tuple[Graph, ...]
Policy: TypeAlias = str | int  # what reverse mode saves of a loop: "", "carry", or the number of slots
DEFAULT_POLICY: ContextVar[Policy] = ContextVar("DEFAULT_POLICY", default="")  # of loops that give none


class Layout(NamedTuple):
    """Numbers of carries, elements and pieces among the inputs of a body; the others are captured."""

    carries: int
    elements: int = 0
    pieces: int = 0

    @property
    def own(self) -> int:
        """Number of inputs that each trip has of its own."""
        return self.carries + self.elements + self.pieces

    @property
    def stacks(self) -> slice:
        """Operands that each trip reads an element of."""
        return slice(self.carries, self.carries + self.elements)

    def per_trip(self, operands: Sequence[TensorMeta]) -> list[TensorMeta]:
        """Return the types of the inputs of a body for these operands of its node, without lengths."""
        elements = [TensorMeta(m.dtype, m.extents[1:]) for m in operands[self.stacks]]
        return [*operands[: self.carries], *elements, *operands[self.stacks.stop :]]


# -- shape rules -------------------------------------------------------------------------------------------------


def varying_variables(body: Graph, layout: Layout) -> set[DimVar]:
    """Return the variables of a body that may differ between trips: of carries that change, and of pieces."""
    varying: set[DimVar] = set()
    for before, after in zip(body.inputs[: layout.carries], body.outputs, strict=False):
        for size, new in zip(before.meta.extents, after.meta.extents, strict=True):
            if isinstance(size, Exact) and not _same(body, size, new):
                varying.update(expr.variables(size.size))
    for piece in body.inputs[layout.carries + layout.elements : layout.own]:
        varying.update([v for v, axis in piece.meta.variable_axes() if axis == 0])
    return varying


def _same(body: Graph, before: ShapeExtent, after: ShapeExtent) -> bool:
    """Return whether a trip keeps an extent, by what the body states and checks."""
    if before == after or not (isinstance(before, Exact) and isinstance(after, Exact)):
        return before == after
    return Scope(conditions=body.conditions, runtime=body.runtime).same(before.size, after.size)


def sizes_of_trips(body: Graph, layout: Layout, size_of: Callable[[int, int], Any]) -> dict[DimVar, Any]:
    """Return what `size_of(operand, axis)` gives for each variable that is the same in all trips."""
    varying = varying_variables(body, layout)
    sizes: dict[DimVar, Any] = {}
    for source in body.dims:
        if isinstance(axis := expr.as_atom(source.size), InputAxis) and source.variable not in varying:
            is_element = layout.stacks.start <= axis.operand < layout.stacks.stop
            sizes[source.variable] = size_of(axis.operand, axis.axis + is_element)
    return sizes


def _scan_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    body: Graphs,
    layout: tuple[int, int, int],
    joined: int,
    reverse: bool,
    ends: tuple[tuple[Size, ...], ...],
    checkpoint: Policy,
    slots: bool,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types of the last carries, of stacked results and of joined ones, and of checkpoint slots."""
    plan, operands, lengths = Layout(*layout), operands[: len(body[0].inputs)], operands[len(body[0].inputs) :]
    for i, x in enumerate((*operands[plan.stacks], *lengths)):
        if not x.rank:
            raise ctx.fail(f"operand {i} has no axis to scan along")
        count = ctx.exact(x, 0, field="operands")
        ctx.require_equal(count, ctx.exact(operands[plan.stacks.start], 0, field="operands"), SAME_LENGTH)
    if any(x.rank != 1 or x.dtype.kind not in "iu" for x in lengths):
        raise ctx.fail("lengths of pieces must be vectors of integers")
    length = ctx.exact(operands[plan.stacks.start], 0, field="operands")
    types = with_ends(ctx, loop_types(ctx, body[0], operands, plan, joined, length), ends)
    own = slot_types(body[0], plan, operands, rows_of_slots(checkpoint, length)) if slots else []
    return one_or_all((*types, *own))


def with_ends(
    ctx: ShapeGuardContext, types: Sequence[TensorMeta], ends: Sequence[Sequence[Size]]
) -> tuple[TensorMeta, ...]:
    """Return the types of results with the sizes that the last carries are known to have."""
    known = [
        TensorMeta(m.dtype, tuple([e if isinstance(e, Exact) else ctx.resolve(s) for e, s in zip(m.extents, sizes)]))
        for m, sizes in zip(types, ends, strict=False)
    ]
    return *known, *types[len(known) :]


def _while_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    loop: Graphs,
    carries: int,
    joined: int,
    checkpoint: Policy,
    slots: bool,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types of the last carries, and of what the trips add: their number is a run-time size."""
    test, body = loop
    if tensor(BOOL, ()) != test.outputs[0].meta or len(test.outputs) > 1:
        raise ctx.fail("the condition of a loop is not one boolean")
    if len(body.outputs) == carries and not slots:
        return one_or_all(loop_types(ctx, body, operands, Layout(carries), joined, 0))
    count = ctx.new_size("trips")
    types = loop_types(ctx, body, operands, Layout(carries), joined, count)
    own = slot_types(body, Layout(carries), operands, rows_of_slots(checkpoint)) if slots else []
    return *types[:carries], tensor(BOOL, [count]), *types[carries:], *own


def _while_each_type(
    ctx: ShapeGuardContext, *operands: TensorMeta, one: Graphs, rows: Graphs, carries: tuple[bool, ...]
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types of the results of all examples. Those have the trips of the longest loop."""
    graph = one[0]
    if len(graph.inputs) != len(carries) or len(graph.outputs) != len(rows[0].outputs):
        raise ctx.fail("the loops of one example and of rows differ")
    named = dict.fromkeys([v for y in graph.outputs for v, _ in y.meta.variable_axes()])
    trip_counts = {v: Exact(ctx.new_size("trips")) for v in named if v in graph.runtime}
    types = []
    for value, meta in zip(graph.outputs, call_type(ctx, rows[0], operands), strict=True):
        extents = list(meta.extents)
        for variable, axis in value.meta.variable_axes():
            extents[axis + 1] = trip_counts.get(variable, extents[axis + 1])
        types.append(TensorMeta(meta.dtype, tuple(extents)))
    return one_or_all(tuple(types))


def loop_types(
    ctx: ShapeGuardContext, body: Graph, operands: Sequence[TensorMeta], layout: Layout, joined: int, count: Size
) -> tuple[TensorMeta, ...]:
    """Return the types of the last carries, of stacks of `count` results, and of joined ones."""
    if (stacked := len(body.outputs) - layout.carries - joined) < 0 or not body.outputs:
        raise ctx.fail("the body of a loop gives fewer arrays than it takes")
    _check_carries(ctx, body, layout)
    varying = varying_variables(body, layout)
    _check_varying(ctx, body, layout, varying)
    shifted = range(layout.stacks.start, layout.stacks.stop)
    results = call_type(ctx, body, layout.per_trip(operands), always=False, elements=shifted, varying=varying)
    carries = [
        _carry_type(ctx, value, meta, operand, varying)
        for value, meta, operand in zip(body.inputs, results[: layout.carries], operands, strict=False)
    ]
    ends = results[layout.carries :]
    for i, meta in enumerate(ends):
        for axis, extent in enumerate(meta.extents):
            if not isinstance(extent, Exact) and not (i >= stacked and axis == 0):
                raise ctx.unsupported("results of trips", axis, extent)
    stacks = [TensorMeta(m.dtype, (Exact(count), *m.extents)) for m in ends[:stacked]]
    return *carries, *stacks, *[TensorMeta(m.dtype, (Unknown(), *m.extents[1:])) for m in ends[stacked:]]


def one_or_all(types: tuple[TensorMeta, ...]) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the result of a shape rule: the type of one output, or a tuple of types."""
    return types if len(types) > 1 else types[0]


# -- checkpoint slots --------------------------------------------------------------------------------------------


def rows_of_slots(policy: Policy, length: Size | None = None) -> Size:
    """Return the number of checkpoint slots: no more than trips, where these are known, and one at least."""
    count = int(policy)
    return count if length is None else expr.minimum(count, expr.maximum(length, 1))


def changing_carries(body: Graph, layout: Layout) -> list[bool]:
    """Return for each carry whether its size may differ between trips."""
    varying, carries = varying_variables(body, layout), [v.meta.extents for v in body.inputs[: layout.carries]]
    return [any(isinstance(e, Exact) and not varying.isdisjoint(expr.variables(e.size)) for e in es) for es in carries]


def slot_types(body: Graph, layout: Layout, operands: Sequence[TensorMeta], rows: Size) -> list[TensorMeta]:
    """Return the types of checkpoint slots: the trip of each, -1 for none, then the carries before it.

    A carry has a row for each slot. One that changes size is one array of the elements of all, and the shape of each.
    """
    types = [tensor(INT, [rows])]
    for changes, meta in zip(changing_carries(body, layout), operands, strict=False):
        if changes:
            types += [TensorMeta(meta.dtype, (Unknown(),)), tensor(INT, [rows, meta.rank])]
        else:
            types.append(TensorMeta(meta.dtype, (Exact(rows), *meta.extents)))
    return types


# -- checks ------------------------------------------------------------------------------------------------------


def _carry_type(
    ctx: ShapeGuardContext, value: Value, after: TensorMeta, operand: TensorMeta, varying: set[DimVar]
) -> TensorMeta:
    """Return the type of a carry after all trips, perhaps none."""
    extents: list[ShapeExtent] = []
    for axis, extent in enumerate(value.meta.extents):
        changes = isinstance(extent, Exact) and not varying.isdisjoint(expr.variables(extent.size))
        stays = not changes and isinstance(extent, Exact)
        extents.append(operand.extents[axis] if stays else Unknown())
    return TensorMeta(after.dtype, tuple(extents))


def _check_carries(ctx: ShapeGuardContext, body: Graph, layout: Layout) -> None:
    """Raise unless each trip gives carries of the dtype and rank that it takes."""
    for i, (before, after) in enumerate(zip(body.inputs[: layout.carries], body.outputs, strict=False)):
        if before.meta.dtype != after.meta.dtype:
            problem = f"carry {i} is {before.meta.dtype} before a trip and {after.meta.dtype} after it"
            raise ctx.bad_dtype(problem, "convert it with astype")
        if before.meta.rank != after.meta.rank:
            raise ctx.fail(f"carry {i} has {before.meta.rank} axes before a trip and {after.meta.rank} after it")


def _check_varying(ctx: ShapeGuardContext, body: Graph, layout: Layout, varying: set[DimVar]) -> None:
    """Raise unless each varying size stands alone on axes of carries that change alike, or leads pieces."""
    after: dict[DimVar, ShapeExtent] = {}
    pieces = range(layout.stacks.stop, layout.own)
    for i, value in enumerate(body.inputs):
        alone = {axis: v for v, axis in value.meta.variable_axes()}
        for axis, extent in enumerate(value.meta.extents):
            varies = isinstance(extent, Exact) and not varying.isdisjoint(expr.variables(extent.size))
            if varies and (axis not in alone or not (i < layout.carries or (i in pieces and axis == 0))):
                raise ctx.fail(f"an operand of the loop has the size {extent}, which differs between trips")
            if i < layout.carries:
                new = body.outputs[i].meta.extents[axis]
                expected = after.setdefault(alone[axis], new) if varies else extent
                _check_axis(ctx, body, f"axis {axis} of carry {i}", expected, new)


def _check_axis(ctx: ShapeGuardContext, body: Graph, axis: str, expected: ShapeExtent, new: ShapeExtent) -> None:
    """Raise unless an axis of a carry has the size after a trip that is expected of it."""
    if not _same(body, expected, new):
        raise ctx.fail(f"{axis} has the size {new} after a trip, and the loop needs {expected}")


# -- definitions -------------------------------------------------------------------------------------------------


def _is_body(node: Node, param) -> bool:
    """Return whether a parameter is one subgraph, in a tuple."""
    return isinstance(param, tuple) and len(param) == 1 and kinds.graph(node, param[0])


def are_two_graphs(node: Node, param: Any) -> bool:
    """Return whether a parameter is two subgraphs, such as a condition and a body."""
    return isinstance(param, tuple) and len(param) == 2 and all(kinds.graph(node, g) for g in param)


def is_layout(node: Node, param: Any) -> bool:
    """Return whether a parameter is the numbers of carries, elements and pieces."""
    return isinstance(param, tuple) and len(param) == 3 and all(kinds.count(node, n) for n in param)


def are_ends(node: Node, param: Any) -> bool:
    """Return whether a parameter is a shape for each carry, or nothing."""
    return isinstance(param, tuple) and all(kinds.sizes(node, shape) for shape in param)


def _is_policy(node: Node, param) -> bool:
    """Return whether a parameter is nothing, "carry", or a number of checkpoint slots."""
    return param in ("", "carry") if isinstance(param, str) else kinds.count(node, param) and param > 0


def _fills_slots(params: dict[str, Any]) -> bool:
    """Return whether a loop that fills checkpoint slots has a number of them."""
    return not params["slots"] or not isinstance(params["checkpoint"], str)


def _scan_fits(node: Node, params: dict[str, Any]) -> bool:
    """Return whether a node has an operand for each input of its body."""
    layout, body = Layout(*params["layout"]), params["body"][0]
    lengths = len(node.inputs) - len(body.inputs) - layout.pieces
    fits = 0 <= lengths <= params["joined"] and len(body.inputs) >= layout.own and layout.elements > 0
    ranks = [v.meta.rank for v in body.inputs[: layout.carries]]
    fits &= not params["ends"] or [len(shape) for shape in params["ends"]] == ranks
    return fits and len(body.outputs) >= layout.carries + params["joined"] and _fills_slots(params)


def _while_fits(node: Node, params: dict[str, Any]) -> bool:
    """Return whether a node has an operand for each input of its condition and its body."""
    test, body = params["loop"]
    fits = len(node.inputs) == len(test.inputs) == len(body.inputs) >= params["carries"]
    fits &= _fills_slots(params) and len(test.outputs) == 1
    return fits and len(body.outputs) >= params["carries"] + params["joined"]


def _are_flags(node: Node, param) -> bool:
    """Bools; at least one is set."""
    return isinstance(param, tuple) and all(type(flag) is bool for flag in param) and any(param)


def _scan_flops(applied: Applied) -> Size:
    """Return the operations of all trips; raise where carries change size, so that trips differ.

    Each trip makes those that no rows take. The others grow with the rows of its piece, so together trips make at most
    as many of them as one trip on all rows.
    """
    body, layout = applied.params["body"][0], Layout(*applied.params["layout"])
    if varying_variables(body, Layout(layout.carries)):
        raise UnknownSizeError
    pieces = slice(layout.stacks.stop, layout.own)
    length = applied.inputs[layout.stacks.start][0]
    inputs = [*applied.inputs[: len(body.inputs)]]
    inputs[layout.stacks] = [shape[1:] for shape in inputs[layout.stacks]]
    empty = [*inputs]
    empty[pieces] = [(0, *shape[1:]) for shape in inputs[pieces]]
    each = graph_flops(body, empty)
    return expr.add(expr.mul(length, each), expr.sub(graph_flops(body, inputs), each))


def _while_flops(applied: Applied) -> Size:
    """Return the operations of all trips and tests; raise where no stack has the number of trips, or trips differ."""
    loop, carries = applied.params.get("loop"), applied.params["carries"]
    if loop is None or len(applied.outputs) == carries or varying_variables(loop[1], Layout(carries)):
        raise UnknownSizeError
    (trips,), operands = applied.outputs[carries], applied.inputs[: len(loop[1].inputs)]
    test, body = (graph_flops(graph, operands) for graph in loop)
    return expr.add(expr.mul(trips, expr.add(test, body)), test)


scan_op: Op = define(
    "scan",
    _scan_type,
    params={
        "body": _is_body,
        "layout": is_layout,
        "joined": kinds.count,
        "reverse": kinds.flag,
        "ends": are_ends,
        "checkpoint": _is_policy,
        "slots": kinds.flag,
    },
    operands=(1, 10_000),
    jointly=_scan_fits,
    cost=OpCost(_scan_flops, bound=True),
    has_subgraphs=True,
    **NO_PROBE,
)
while_op: Op = define(
    "while",
    _while_type,
    params={
        "loop": are_two_graphs,
        "carries": kinds.count,
        "joined": kinds.count,
        "checkpoint": _is_policy,
        "slots": kinds.flag,
    },
    operands=(1, 10_000),
    jointly=_while_fits,
    cost=OpCost(_while_flops, bound=True),
    makes_sizes=True,
    has_subgraphs=True,
    **NO_PROBE,
)
while_each_op: Op = define(
    "while_each",
    _while_each_type,
    params={"one": _is_body, "rows": _is_body, "carries": _are_flags},
    operands=(1, 10_000),
    jointly=lambda node, params: len(node.inputs) == len(params["rows"][0].inputs) >= len(params["carries"]),
    cost=OpCost(_while_flops, bound=True),
    makes_sizes=True,
    has_subgraphs=True,
    **NO_PROBE,
)


LOOPS = (scan_op, while_op)


def mask_position(node: HasParams) -> int | None:
    """Return which result of a loop is the mask of its trips, None where it has none."""
    params = dict(node.params)
    has_mask = node.op is while_op and (params["slots"] or len(params["loop"][1].outputs) > params["carries"])
    return params["carries"] if has_mask else None


def scan(
    body: Graph,
    layout: Layout,
    *operands: Operand,
    reverse: bool = False,
    joined: int = 0,
    ends: Sequence[Shape] = (),
    checkpoint: Policy = "",
    slots: bool = False,
) -> tuple[Any, ...]:
    """Return the carries after a trip for each element of the stacks, the stacked results, and the joined ones.

    Operands are the first carries, one or more stacks of elements, joined pieces, captures, and lengths per trip. These
    are of all pieces, and of the first joined results, where known: a transpose cuts their cotangents by them.
    `ends` are the shapes that the carries have in the end, where these are known: a run checks them.
    """
    shapes, sources = localise(tuple(ends), operands)
    params: dict[str, Any] = {"body": (body,), "layout": tuple(layout), "joined": joined, "ends": shapes}
    params |= {"checkpoint": checkpoint, "slots": slots}
    return apply_all(scan_op, *operands, sources=sources, reverse=reverse, **params)


def scan_of_length(body: Graph, layout: Layout, length: Size, *operands: Operand, **params: Any) -> tuple[Any, ...]:
    """Return the results of `scan` for so many trips: without stacks, a size carrier is one."""
    if layout.elements:
        return scan(body, layout, *operands, **params)
    at, lengths = layout.carries, size_carrier(length)
    inputs = *operands[:at], lengths, *operands[at:]
    return scan(with_element(body, at, meta_of(lengths)), layout._replace(elements=1), *inputs, **params)


def while_loop(
    test: Graph,
    body: Graph,
    carries: int,
    *operands: Operand,
    joined: int = 0,
    checkpoint: Policy = "",
    slots: bool = False,
) -> tuple[Any, ...]:
    """Return the carries once the condition does not hold. Operands are the first carries, and captures.

    Where trips give more than carries, the stacked and the joined results follow behind a mask, which is true for each
    trip. Of a batch of examples, it tells which trips an example has. A loop with slots has a mask too.
    """
    params: dict[str, Any] = {"carries": carries, "joined": joined, "checkpoint": checkpoint, "slots": slots}
    return apply_all(while_op, *operands, loop=(test, body), **params)


def while_each(one: Graph, rows: Graph, carries: Sequence[bool], *operands: Operand) -> tuple[Any, ...]:
    """Return the results of a loop for each example of a batch, as rows.

    - `one`: the loop of one example. Transforms read it.
    - `rows`: the same of all examples, which runs. It takes the operands, and operands of its own.
    - `carries`: which operands of `one` have a row per example.
    """
    return apply_all(while_each_op, *operands, one=(one,), rows=(rows,), carries=tuple(carries))


class Operands(NamedTuple):
    """Operands of a rerun, or their types: of the loop, its checkpoint slots, and of the scan."""

    loop: Sequence[Any]
    slots: Sequence[Any]
    own: Sequence[Any]

    def of_scan(self, layout: Layout, elements: Sequence[Any], pieces: Sequence[Any]) -> list[Any]:
        """Return the inputs of the second body: these elements and pieces stand for what the loop gives again."""
        at = layout.carries + layout.elements - len(elements)
        return [*self.own[:at], *elements, *pieces, *self.own[at:]]


def split_operands(xs: Sequence[Any], loop: Graph, start: Layout) -> Operands:
    """Return the operands of a rerun of a loop in their parts."""
    changes = changing_carries(loop, start)
    first, second = len(loop.inputs), len(loop.inputs) + 1 + len(changes) + sum(changes)
    return Operands(xs[:first], xs[first:second], xs[second:])


def _rerun_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    bodies: tuple[Graph, ...],
    start: tuple[int, int, int],
    layout: tuple[int, int, int],
    reverse: bool,
    against: bool,
    ends: tuple[tuple[Size, ...], ...],
    slots: int,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types of the last carries of the scan, and of its stacked results."""
    (loop, body), begin, plan = bodies, Layout(*start), Layout(*layout)
    parts = split_operands(operands, loop, begin)
    length = ctx.exact(parts.loop[begin.stacks.start], 0, field="operands")
    made = [*loop_types(ctx, loop, parts.loop, begin, plan.pieces, length)][begin.carries :]
    count = len(made) - plan.pieces
    stacks = [*parts.loop[begin.stacks], *parts.own[plan.carries : plan.carries + plan.elements - count]]
    for i, x in enumerate(stacks):
        if not x.rank:
            raise ctx.fail(f"operand {i} has no axis to scan along")
        ctx.require_equal(ctx.exact(x, 0, field="operands"), length, SAME_LENGTH)
    metas = parts.of_scan(plan, made[:count], made[count:])
    inner = ShapeGuardContext(ctx.scope, ctx.primitive, ctx.where, metas, ctx.rule)
    return one_or_all(with_ends(ctx, loop_types(inner, body, metas, plan, 0, length), ends))


def _rerun_fits(node: Node, params: dict[str, Any]) -> bool:
    """Return whether a node has an operand for each input of its bodies that no trip makes again."""
    (loop, body), begin, plan = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
    made = len(loop.outputs) - begin.carries
    if begin.pieces or not begin.elements or len(loop.inputs) < begin.own or not plan.pieces <= made:
        return False
    parts = split_operands(node.inputs, loop, begin)
    fits = len(node.inputs) >= len(loop.inputs) and plan.elements >= made - plan.pieces
    fits &= len(parts.own) == len(body.inputs) - made >= plan.own - made
    return fits and len(body.outputs) >= plan.carries and params["slots"] > 0


def _rerun_flops(applied: Applied) -> Size:
    """Raise: how often a trip is made again depends on the number of trips and of slots, by no polynomial."""
    raise UnknownSizeError


rerun_op: Op = define(
    "rerun",
    _rerun_type,
    params={
        "bodies": are_two_graphs,
        "start": is_layout,
        "layout": is_layout,
        "reverse": kinds.flag,
        "against": kinds.flag,
        "ends": are_ends,
        "slots": kinds.count,
    },
    operands=(2, 10_000),
    jointly=_rerun_fits,
    cost=OpCost(_rerun_flops, bound=True),
    has_subgraphs=True,
    **NO_PROBE,
)


def rerun(
    loop: Graph,
    start: Layout,
    body: Graph,
    layout: Layout,
    operands: Operands,
    *,
    reverse: bool,
    against: bool,
    slots: int,
    ends: Sequence[Shape] = (),
) -> tuple[Any, ...]:
    """Return the carries and the stacked results of a scan whose trips read what a loop gives again.

    - `operands`: of the loop, its checkpoint slots, and of the scan, without what the loop gives.
    - `reverse`: the scan goes from the last element to the first; `against`: the loop goes the other way.
    - `slots`: how many carries may be held.

    Reverse mode of a loop with `checkpoint` makes one:

    >>> from anyshape import fori_loop, grad
    >>> g = grad(lambda x: fori_loop(0, 5, lambda i, y: y * x, x, checkpoint=2))
    >>> print(g(2.0), "= rerun(" in str(g.programs()[0].graph))
    192.0 True
    """
    inputs: list[Operand] = [*operands.loop, *operands.slots, *operands.own]
    shapes, sources = localise(tuple(ends), inputs)
    params: dict[str, Any] = {"reverse": reverse, "against": against, "ends": shapes, "slots": slots}
    params |= {"bodies": (loop, body), "start": tuple(start), "layout": tuple(layout)}
    return apply_all(rerun_op, *inputs, sources=sources, **params)

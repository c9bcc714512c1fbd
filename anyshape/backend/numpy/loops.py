"""Kernels of loops. Generated code writes bodies inline; these run where there is no plan.

Kernel of reruns: carries of a loop are made again from checkpoint slots, and a trip of the scan reads them.

Traits of loops: one trip runs at a time, so the memory of a run is that of one trip, and of what trips add.

Traits of reruns: a run fills checkpoint slots in place, so its memory is that of one trip of either body.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.op_traits import OPAQUE, bytes_of, declare, total_bytes
from anyshape.backend.compiler.peak_memory import peak_bytes, trips_of_block, trips_variable
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.backend.runtime import rows
from anyshape.backend.runtime.rows import joined as join
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, Size
from anyshape.graph.sizes.substitute import evaluate, substitute
from anyshape.ops import loops as lp
from anyshape.ops.core.apply import kernel
from anyshape.ops.loops import Layout, rerun_op, split_operands, varying_variables
from anyshape.support.lazy_dataclass import replace

_compiled = functools.lru_cache(maxsize=64)(lambda graph, counts: compile_plan(lower(graph), counts_bytes=counts))


def compiled(graph: Any) -> Any:
    """Return the function of a graph, which counts bytes where the run does that calls it."""
    return _compiled(graph, rows.current() is not None)


def run_scan(run_graph, operands, body, layout, joined, reverse, ends, checkpoint, slots) -> Any:
    """Return the last carries and what the trips added; `run_graph` runs a graph on arrays."""
    (graph,), layout = body, lp.Layout(*layout)
    inputs, lengths = operands[: len(graph.inputs)], operands[len(graph.inputs) :]
    carries, captured = [*inputs[: layout.carries]], inputs[layout.own :]
    stacks = inputs[layout.stacks]
    parts = [rows.pieces(x, n) for x, n in zip(inputs[layout.stacks.stop : layout.own], lengths)]
    added: list[list] = [[] for _ in graph.outputs[layout.carries :]]
    length = len(stacks[0])
    held = _slots(graph, layout, checkpoint, operands, length) if slots else None
    for trip, i in enumerate(_positions(length, reverse)):
        if held is not None:
            held.offer(trip, *carries)
        own = [*[x[i] for x in stacks], *[part[i] for part in parts]]
        results = run_graph(graph, [*carries, *own, *captured])
        carries = results[: layout.carries]
        for column, result in zip(added, results[layout.carries :]):
            column.append(result)
    rows.check_ends(carries, ends)
    columns = [column[::-1] if reverse else column for column in added]
    filled = [] if held is None else held.results()
    return [*rows.owned(carries, operands), *collected(graph, layout, joined, _shapes(operands), columns), *filled]


def run_while(run_graph: Any, operands: Any, loop: Any, carries: Any, joined: Any, checkpoint: Any, slots: Any) -> Any:
    """Return the last carries and what the trips added; `run_graph` runs a graph on arrays."""
    test, body = loop
    current, captured = [*operands[:carries]], operands[carries:]
    added: list[list] = [[] for _ in body.outputs[carries:]]
    count = 0
    held = _slots(body, lp.Layout(carries), checkpoint, operands) if slots else None
    while run_graph(test, [*current, *captured])[0]:
        if held is not None:
            held.offer(count, *current)
        count += 1
        results = run_graph(body, [*current, *captured])
        current = results[:carries]
        for column, result in zip(added, results[carries:]):
            column.append(result)
    mask = [np.ones(count, bool)] if added or slots else []
    results = collected(body, lp.Layout(carries), joined, _shapes(operands), added)
    return [*rows.owned(current, operands), *mask, *results, *([] if held is None else held.results())]


def _positions(length, reverse):
    return range(length)[::-1] if reverse else range(length)


def _slots(graph, layout, count, operands, length=None):
    """Return the checkpoint slots of a loop that begins."""
    count = count if length is None else min(count, max(length, 1))
    return rows.Slots(count, operands[: layout.carries], lp.changing_carries(graph, layout))


def _shapes(operands):
    return [np.shape(x) for x in operands]


def collected(graph: Any, layout: Any, joined: Any, shapes_of_operands: Any, columns: Any) -> Any:
    """Return the stacked results and the joined ones. Without trips they have the sizes of the operands."""
    metas = [v.meta for v in graph.outputs[layout.carries :]]
    count = len(columns) - joined
    if columns and columns[0]:
        shapes = [np.shape(column[0]) for column in columns]
        triples = list(zip(columns, metas, shapes))
        stacks = [rows.stacked(ys, m.dtype, size) for ys, m, size in triples[:count]]
        return [*stacks, *[join(ys, m.dtype, size[1:]) for ys, m, size in triples[count:]]]
    size_of = lp.sizes_of_trips(graph, layout, lambda operand, axis: shapes_of_operands[operand][axis])  # costs a proof

    def shape(extents):
        """Return a shape, with 0 for a size that no operand gives."""
        return tuple([evaluate(e.size, lambda v: size_of.get(v, 0)) if isinstance(e, Exact) else 0 for e in extents])

    ends = [m.extents if i < count else m.extents[1:] for i, m in enumerate(metas)]
    return [np.empty((0, *shape(extents)), m.dtype) for extents, m in zip(ends, metas)]


def _run(graph, arrays):
    return compiled(graph)(*arrays)


def one_or_all(results):
    return results if len(results) > 1 else results[0]


kernel(lp.scan_op, lambda *operands, **params: one_or_all(run_scan(_run, operands, **params)))
kernel(lp.while_op, lambda *operands, **params: one_or_all(run_while(_run, operands, **params)))
kernel(lp.while_each_op, lambda *operands, one, rows, carries: one_or_all(_run(rows[0], operands)))


class _Loop:
    """Loop that runs again: its operands, and its trips one by one."""

    def __init__(self, function_of, graph, start, operands, reverse, slots):
        self.graph, self.start, self.operands, self.reverse, self.slots = graph, start, operands, reverse, slots
        self.stacks, self.captured = operands[start.stacks], operands[start.own :]
        self.count = len(self.stacks[0])
        self.function_of = function_of

    def position(self, trip):
        """Return the position of a trip along the stacks."""
        return self.count - 1 - trip if self.reverse else trip

    def _function(self, outputs):
        """Return a function of a trip and the carries before it, which gives these outputs of a trip."""
        graph = self.graph
        made = [v for v in outputs if v not in graph.inputs]
        run = self.function_of(_part(graph, tuple(made))) if made else lambda *_: ()
        position_of = {v: i for i, v in enumerate((*graph.inputs, *made))}
        chosen = [position_of[v] for v in outputs]

        def function(trip, carries):
            i = self.position(trip)
            inputs = [*carries, *[x[i] for x in self.stacks], *self.captured]
            values = [*inputs, *run(*inputs)]
            return [values[k] for k in chosen]

        return function

    def along(self):
        """Give each trip with what the scan reads of it, in the order of the loop."""
        carries, first = self.operands[: self.start.carries], self.start.carries
        both = self._function(self.graph.outputs)
        for trip in range(self.count):
            results = both(trip, carries)
            yield self.position(trip), results[first:]
            carries = results[:first]

    def against(self, slots, owned_slots):
        """Give each trip with what the scan reads of it, from the last one."""
        if not self.count:
            return
        first = self.start.carries
        advance, read = self._function(self.graph.outputs[:first]), self._function(self.graph.outputs[first:])
        filled = rows.FilledSlots(slots[0], slots[1:], lp.changing_carries(self.graph, self.start), owned_slots)
        for trip, carries in rows.from_the_last(self.count, filled, advance):
            yield self.position(trip), read(trip, carries)

    def shapes_without_trips(self):
        """Return the shapes of what the trips give, with 0 trips, and 0 for a size that differs between trips."""
        size_of = lp.sizes_of_trips(self.graph, self.start, lambda operand, axis: self.operands[operand].shape[axis])
        extents = [v.meta.extents for v in self.graph.outputs[self.start.carries :]]
        sizes = [[evaluate(e.size, lambda v: size_of.get(v, 0)) if isinstance(e, Exact) else 0 for e in es]
                 for es in extents]  # fmt: skip
        return [(0, *shape) for shape in sizes]


@functools.lru_cache(maxsize=128)
def _part(graph, outputs):
    """Return the graph with these outputs alone. Those that the evaluator asks for are few."""
    return remove_dead_code(replace(graph, outputs=outputs))


def run_rerun(function_of, operands, bodies, start, layout, reverse, against, ends, slots, owned_operands=()) -> Any:
    """Return the last carries of the scan and its stacked results; `function_of` gives the function of a graph."""
    (graph, body), begin, plan = bodies, lp.Layout(*start), lp.Layout(*layout)
    parts = split_operands(operands, graph, begin)
    loop = _Loop(function_of, graph, begin, parts.loop, reverse != against, slots)
    positions = range(len(parts.loop), len(parts.loop) + len(parts.slots))
    trips = loop.against(parts.slots, {*positions[1:]} <= {*owned_operands}) if against else loop.along()
    made = len(graph.outputs) - begin.carries
    last = plan.own - made
    carries, elements, captured = parts.own[: plan.carries], parts.own[plan.carries : last], parts.own[last:]
    step, added = function_of(body), list[np.ndarray]()
    for i, values in trips:
        results = step(*carries, *[x[i] for x in elements], *values, *captured)
        carries, ys = results[: plan.carries], results[plan.carries :]
        if not added:
            added = [np.empty((loop.count, *np.shape(y)), np.asarray(y).dtype) for y in ys]
            rows.add(*added)
        for stack, y in zip(added, ys):
            stack[i] = y
    rows.check_ends(carries, ends)
    if not loop.count:
        shapes = loop.shapes_without_trips()
        count = made - plan.pieces
        inputs = [*map(np.shape, parts.own[:last]), *shapes[:count], *[s[1:] for s in shapes[count:]],
                  *map(np.shape, captured)]  # fmt: skip
        added = collected(body, plan, 0, inputs, [[] for _ in body.outputs[plan.carries :]])
    return [*rows.owned(carries, operands), *added]


def _rerun(*operands, **params):
    results = run_rerun(compiled, operands, **params)
    return results if len(results) > 1 else results[0]


kernel(rerun_op, _rerun, consumes=True)


def _bytes_of_trips(step: Step) -> Size | None:
    """Return the bytes of invariant values, a block, a trip, and its carries; None where trips differ in size."""
    params, (ahead, *blocks, trip) = dict(step.params), step.bodies
    layout = lp.Layout(*params["layout"])
    if params["joined"] or layout.pieces or lp.varying_variables(params["body"][0], layout):
        return None
    operands = layout.per_trip(step.metas[: len(params["body"][0].inputs)])
    parts: list[Size | None] = [total_bytes(map(bytes_of, step.results[: layout.carries])), _bytes_of_slots(step)]
    shared = ahead.output_metas
    of_trip = [TensorMeta(m.dtype, m.extents[1:]) for block in blocks for m in block.output_metas]
    parts += [_peak_at(plan, sizes_of_body(plan, [*operands, *shared, *of_trip])) for plan in (ahead, trip)]
    for block in blocks:
        parts += _bytes_of_block(block, layout, sizes_of_body(block, [*step.metas[: len(operands)], *shared]))
    return total_bytes(parts)


def _bytes_of_block(block: Plan, layout: lp.Layout, sizes: dict[DimVar, Size]) -> list[Size | None]:
    """Return the bytes of a block of trips, and of the last one, which a carry may keep. The sizes have all trips."""
    variable, trips = trips_variable(block, layout), _at(trips_of_block(block, layout), sizes)
    length = sizes[variable]
    at_most = {**sizes, variable: length if trips is None else expr.minimum(length, trips)}
    return [_peak_at(block, at_most), _at(total_bytes(map(bytes_of, block.output_metas)), at_most)]


def _peak_at(plan: Plan, sizes: Mapping[DimVar, Size]) -> Size | None:
    """Return the peak of a plan at these sizes of its variables."""
    return _at(peak_bytes(plan).size, sizes)


def _at(size: Size | None, sizes: Mapping[DimVar, Size]) -> Size | None:
    """Return a size at these sizes of its variables, None where one of them is not known."""
    axes: dict[Atom, Size] = {variable: sizes[variable] for variable in sizes}
    return substitute(size, axes.get) if size is not None and axes.keys() >= {*expr.variables(size)} else None


def _bytes_of_while(step: Step) -> Size | None:
    """Return the bytes of condition, invariant values, a trip, its carries, and what trips add before it is stacked.

    It is None where carries change size. The number of trips is the run-time size of the stacks.
    """
    params = dict(step.params)
    layout, (_, body) = lp.Layout(params["carries"]), params["loop"]
    if lp.varying_variables(body, layout):
        return None
    metas = [*step.metas[: len(body.inputs)], *step.bodies[-2].output_metas]
    mask = lp.mask_position(step)
    ends = range(len(body.outputs) + (mask is not None))  # carries and stacks; slots are filled in place
    parts = [total_bytes([bytes_of(step.results[i]) for i in ends if i != mask]), _bytes_of_slots(step)]
    parts += [_peak_at(plan, sizes_of_body(plan, metas)) for plan in step.bodies]
    return total_bytes(parts)


def _bytes_of_slots(step: Step) -> Size | None:
    """Return the bytes of what a loop notes of its checkpoint slots, beside their carries."""
    params = dict(step.params)
    if not params["slots"]:
        return 0
    length = None
    if "layout" in params:
        (length, *_) = step.metas[lp.Layout(*params["layout"]).stacks.start].sizes or (None,)
    return expr.mul(rows.SLOT_BYTES, lp.rows_of_slots(params["checkpoint"], length))


declare(OPAQUE._replace(inlines="body", scratch=_bytes_of_trips), lp.scan_op)
declare(OPAQUE._replace(inlines="loop", scratch=_bytes_of_while), lp.while_op)
declare(OPAQUE._replace(inlines="rows", scratch=lambda step: None), lp.while_each_op)


def _bytes_of_rerun(step: Step) -> Size | None:
    """Return the bytes of a trip of the loop and of one of the scan; None where trips differ in size.

    Slots that are not owned are copied first.
    """
    params = dict(step.params)
    (loop, body), start, layout = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
    if layout.pieces or varying_variables(loop, start) or varying_variables(body, layout):
        return None
    parts = split_operands(step.metas, loop, start)
    before = start.per_trip(parts.loop)
    again = lower(loop)
    made = _metas_within(again.output_metas[start.carries :], again, before)
    at = layout.carries + layout.elements - len(made)
    elements = [TensorMeta(m.dtype, m.extents[1:]) for m in parts.own[layout.carries : at]]
    operands = [*parts.own[: layout.carries], *elements, *made, *parts.own[at:]]
    held = [] if params.get("owned_operands") else parts.slots
    sizes = [
        _peak(again, before), _peak(lower(body), operands),
        bytes_of(parts.slots[0], rows.SLOT_BYTES),
        total_bytes(map(bytes_of, [*before[: start.carries], *made, *parts.own[: layout.carries], *held])),
    ]  # fmt: skip
    return total_bytes(sizes)


def _metas_within(metas: Sequence[TensorMeta], plan: Plan, operands: Sequence[TensorMeta]) -> list[TensorMeta]:
    """Return types of a plan in the sizes that its variables have for these operands."""
    sizes: dict[Atom, Size] = dict(sizes_of_body(plan, operands).items())
    extents = [[Exact(substitute(n, sizes.get)) for n in m.sizes or ()] for m in metas]
    return [TensorMeta(m.dtype, tuple(e)) for m, e in zip(metas, extents, strict=True)]


def _peak(plan: Plan, operands: Sequence[TensorMeta]) -> Size | None:
    """Return the bytes that a plan takes for these operands, None where they are not known."""
    return _peak_at(plan, sizes_of_body(plan, operands))


declare(OPAQUE._replace(scratch=_bytes_of_rerun), rerun_op)

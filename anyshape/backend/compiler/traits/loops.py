"""Traits of loops: one trip runs at a time, so the memory of a run is that of one trip, and of what trips add.

Traits of reruns: a run fills checkpoint slots in place, so its memory is that of one trip of either body.
"""

from collections.abc import Mapping, Sequence

from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.op_traits import OPAQUE, bytes_of, declare, total_bytes
from anyshape.backend.compiler.peak_memory import peak_bytes, trips_of_block, trips_variable
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.backend.runtime.rows import SLOT_BYTES
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops import loops as lp
from anyshape.ops.loops import Layout, rerun_op, split_operands, varying_variables


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
    known = [part for part in parts if part is not None]
    return expr.total(known) if len(known) == len(parts) else None


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
    return expr.mul(SLOT_BYTES, lp.rows_of_slots(params["checkpoint"], length))


def _unknown(step: Step) -> Size | None:
    """Return None: how many rows are live in each trip is not known."""
    return None


declare(OPAQUE._replace(inlines="body", scratch=_bytes_of_trips), lp.scan_op)
declare(OPAQUE._replace(inlines="loop", scratch=_bytes_of_while), lp.while_op)
declare(OPAQUE._replace(inlines="rows", scratch=_unknown), lp.while_each_op)


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
        bytes_of(parts.slots[0], SLOT_BYTES),
        total_bytes(map(bytes_of, [*before[: start.carries], *made, *parts.own[: layout.carries], *held])),
    ]  # fmt: skip
    known = [size for size in sizes if size is not None]
    return expr.total(known) if len(known) == len(sizes) else None


def _metas_within(metas: Sequence[TensorMeta], plan: Plan, operands: Sequence[TensorMeta]) -> list[TensorMeta]:
    """Return types of a plan in the sizes that its variables have for these operands."""
    sizes: dict[Atom, Size] = dict(sizes_of_body(plan, operands).items())
    extents = [[Exact(substitute(n, sizes.get)) for n in m.sizes or ()] for m in metas]
    return [TensorMeta(m.dtype, tuple(e)) for m, e in zip(metas, extents, strict=True)]


def _peak(plan: Plan, operands: Sequence[TensorMeta]) -> Size | None:
    """Return the bytes that a plan takes for these operands, None where they are not known."""
    peak, sizes = peak_bytes(plan).size, dict[Atom, Size](sizes_of_body(plan, operands).items())
    is_known = peak is not None and sizes.keys() >= {*expr.variables(peak)}
    return substitute(peak, sizes.get) if is_known and peak is not None else None


declare(OPAQUE._replace(scratch=_bytes_of_rerun), rerun_op)

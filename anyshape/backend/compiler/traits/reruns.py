"""Traits of reruns: a run fills checkpoint slots in place, so its memory is that of one trip of either body."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.op_traits import OPAQUE, bytes_of, declare, total_bytes
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.backend.runtime.checkpoint_slots import SLOT_BYTES
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.loops import Layout, varying_variables
from anyshape.ops.reruns import rerun_op, split_operands


def _bytes_of_trips(step: Step) -> Size | None:
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
    made = _at(again.output_metas[start.carries :], again, before)
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


def _at(metas: Sequence[TensorMeta], plan: Plan, operands: Sequence[TensorMeta]) -> list[TensorMeta]:
    """Return types of a plan in the sizes that its variables have for these operands."""
    sizes: dict[Atom, Size] = dict(sizes_of_body(plan, operands).items())
    extents = [[Exact(substitute(n, sizes.get)) for n in m.sizes or ()] for m in metas]
    return [TensorMeta(m.dtype, tuple(e)) for m, e in zip(metas, extents, strict=True)]


def _peak(plan: Plan, operands: Sequence[TensorMeta]) -> Size | None:
    """Return the bytes that a plan takes for these operands, None where they are not known."""
    peak, sizes = peak_bytes(plan).size, dict[Atom, Size](sizes_of_body(plan, operands).items())
    is_known = peak is not None and sizes.keys() >= {*expr.variables(peak)}
    return substitute(peak, sizes.get) if is_known and peak is not None else None


declare(OPAQUE._replace(scratch=_bytes_of_trips), rerun_op)

"""Traits of loops: one trip runs at a time, so the memory of a run is that of one trip, and of what trips add."""

from __future__ import annotations

from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Step, sizes_of_body
from anyshape.backend.compiler.scratch import bytes_of, total_bytes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops import loops as lp


def _bytes_of_trips(step: Step) -> Size | None:
    """Return the bytes of the invariant values, of a trip, and of its carries; None where trips differ in size."""
    params, (ahead, trip) = dict(step.params), step.bodies
    layout = lp.Layout(*params["layout"])
    if params["joined"] or layout.pieces or lp.varying_variables(params["body"][0], layout):
        return None
    operands = layout.per_trip(step.metas[: len(params["body"][0].inputs)])
    parts: list[Size | None] = [total_bytes(map(bytes_of, step.results[: layout.carries]))]
    for plan in (ahead, trip):
        peak = peak_bytes(plan).size
        sizes = sizes_of_body(plan, [*operands, *ahead.output_metas])
        axes: dict[Atom, Size] = {variable: sizes[variable] for variable in sizes}
        is_known = peak is not None and axes.keys() >= {*expr.variables(peak)}
        parts.append(substitute(peak, axes.get) if is_known and peak is not None else None)
    known = [part for part in parts if part is not None]
    return expr.total(known) if len(known) == len(parts) else None


def _unknown(step: Step) -> Size | None:
    """Return None: nothing bounds the number of trips."""
    return None


declare(OPAQUE._replace(inlines="body", scratch=_bytes_of_trips), lp.scan_op)
declare(OPAQUE._replace(inlines="loop", scratch=_unknown), lp.while_op)
declare(OPAQUE._replace(scratch=_unknown), lp.while_each_op)

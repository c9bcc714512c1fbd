"""Derive the body of values and tangents of a loop.

Which carries have a tangent is a fixed point: a trip may give one to a carry that begins without.
"""

from __future__ import annotations

from dataclasses import replace

from anyshape.autodiff.control_flow.loop_calls import Inputs, Loop, Outputs, by_flags, flagged
from anyshape.autodiff.jvp import push
from anyshape.autodiff.subgraph_transforms import derived
from anyshape.graph.ir.graph import Graph
from anyshape.ops.elementwise import lift


def pushed_body(loop: Loop, active: Inputs) -> tuple[Graph, Inputs, Outputs]:
    """Return the body of values and tangents, the inputs that have a tangent there, and the outputs that do.

    Of each kind its inputs are the inputs of the body, then their tangents. So are its outputs.
    """
    while True:
        metas = loop.metas.joined(loop.metas.chosen(active))
        with derived(loop.body, metas.flat(), loop.handle) as (builder, xs):
            primals, live = Inputs.of(metas.layout(), xs[: len(metas.flat())]).split(active)
            tangents = [by_flags(flags, ts) for flags, ts in zip(active.kinds(), live.kinds(), strict=True)]
            outputs, slopes = push(builder, loop.body, primals.flat(), Inputs(*tangents).flat())
            outputs, slopes = [loop.as_written(ys, loop.body.outputs) for ys in (outputs, slopes)]
            has = loop.outputs([t is not None for t in slopes])
            carries = [a or b for a, b in zip(active.carries, has.carries, strict=True)]
            if carries == active.carries:
                has.carries = carries
                filled = [lift(0, y) if t is None else t for y, t in zip(outputs, slopes, strict=True)]
                columns = zip(loop.outputs(outputs).kinds(), loop.outputs(filled).kinds(), has.kinds(), strict=True)
                ends = [x for ys, ts, flags in columns for x in (*ys, *flagged(ts, flags))]
                return builder.finish(ends, loop.body.name), active, has
        active = replace(active, carries=carries)

"""Batching of ops on segments: one more axis after the first, or more segments where each example has its own ids."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.graph.sizes.expr import mul
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import segments as sg


def _batched(op):
    def rule(ctx, count, batched, x, ids, *, size):
        if not batched[1]:
            return mv.move_axes(sg.apply_segments(op, mv.move_axes(x, (0,), (1,)), ids, size), (1,), (0,))
        x, ids = stretch_all(ctx, count, batched, (x, ids))
        (_, n, *rest), shape = ctx.shape(x), ctx.shape(ids)
        offset = mv.broadcast_in_dim(cr.iota(count), shape, (0,)) * mv.broadcast_to(cr.size_value(size), shape)
        flat = mv.reshape(ew.add(ids, offset), (mul(count, n),))
        out = sg.apply_segments(op, mv.reshape(x, (mul(count, n), *rest)), flat, mul(count, size))
        return mv.reshape(out, (count, size, *rest))

    BATCHERS[op] = rule


for _op in (sg.segment_max_op, sg.segment_min_op, sg.segment_prod_op):
    _batched(_op)

"""Batching of convolutions and of reductions of windows: one more leading axis.

A batch of both operands of a convolution is a batch axis; that of one operand is a free axis of it.
"""

from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import apply, localise


def _convolution(ctx, size, batched, x, w, *, batch, contract, method, **params):
    moves = wd.Moves(*[params[name] for name in wd.Moves._fields])
    if all(batched):
        return wd.convolution(x, w, moves, batch=batch + 1, contract=contract, method=method)
    x, w = (mv.move_axes(v, (0,), (batch,)) if carries else v for v, carries in zip((x, w), batched, strict=True))
    out = wd.convolution(x, w, moves, batch=batch, contract=contract, method=method)
    free_of_x = ctx.rank(x) - batch - contract - moves.spatial
    return mv.move_axes(out, (batch if batched[0] else batch + free_of_x,), (0,))


BATCHERS[wd.convolution_op] = _convolution


def _reduction(op):
    def rule(ctx, size, batched, x, **params):
        local, sources = localise(tuple(params.values()), (x,))
        return apply(op, x, sources=sources, **dict(zip(params, local, strict=True)))

    BATCHERS[op] = rule


for _op in (wd.window_sum_op, wd.window_max_op, wd.window_min_op, wd.window_argmax_op, wd.window_argmin_op):
    _reduction(_op)

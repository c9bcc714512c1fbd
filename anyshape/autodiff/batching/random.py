"""Batching of draws: one draw of the size of the batch, or a draw for each example that has its own generator."""

from anyshape.autodiff.rule_tables import BATCHERS, Common
from anyshape.ops import movement as mv
from anyshape.ops import random as rd
from anyshape.ops.core.apply import sizes_of


def _draw_batch(ctx, size, batched, generator, *xs, method, shape, count, dtype, options, loops):
    """Draw anew for each example, also where no operand differs between examples."""
    if batched[0] or loops or method not in rd.PER_ELEMENT:
        loops = (tuple(batched), *loops)
    else:
        xs = tuple([_aligned(ctx, x, len(shape)) if flag else x for x, flag in zip(xs, batched[1:], strict=True)])
    params = {"dtype": dtype, "count": count, "options": options, "loops": loops}
    numbers, mark = rd.draw(generator, method, (size, *shape), *xs, **params)
    return numbers, Common(mark)


def _aligned(ctx, x, rank):
    """Return a batch of parameters with the rank of the numbers, so that the batch is the first axis of both."""
    first, *rest = sizes_of(ctx, x)
    return mv.reshape(x, (first, *[1] * (rank - len(rest)), *rest))


def _order_batch(ctx, size, batched, generator, after):
    ordered = rd.order_draw(generator, after)
    return ordered if batched[0] else Common(ordered)


BATCHERS[rd.draw_op] = _draw_batch
BATCHERS[rd.order_draw_op] = _order_batch

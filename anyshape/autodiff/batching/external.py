"""Batching of functions of other libraries: one more leading axis of the operand, or one call for each example."""

from anyshape.autodiff.batch_axis import stretch_all
from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.sizes import expr
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import apply, localise


def _for_each(op):
    """Declare an op whose operands have one axis of examples in front, if any: of all batches together."""

    def rule(ctx, size, batched, x, y, *, axes, each, **params):
        if not each and not batched[1] and op is not ex.weigh_op:
            return _applied(op, x, y, tuple([a + 1 for a in axes]), False, params)
        x, y = stretch_all(ctx, size, batched, (x, y))
        if not each:
            return _applied(op, x, y, tuple([a + 1 for a in axes]), True, params)
        shape, others = ctx.shape(x), ctx.shape(y)
        count = expr.mul(*shape[:2])
        out = _applied(op, mv.reshape(x, (count, *shape[2:])), mv.reshape(y, (count, *others[2:])), axes, True, params)
        return mv.reshape(out, (*shape[:2], *ctx.shape(out)[1:]))

    BATCHERS[op] = rule


def _footprint(op):
    """Declare an op whose operands but the last, a footprint, have all the shape of the result."""

    def rule(ctx, size, batched, *xs, axes, **params):
        if batched[-1]:
            raise UnsupportedFunctionError("vmap", "over footprints of filters", "pass one for all", ctx.where)
        images = stretch_all(ctx, size, batched[:-1], xs[:-1])
        names = [name for name in ("before", "beyond") if name in params]
        local, sources = localise(tuple([params[name] for name in names]), (*images, xs[-1]))
        options = {**params, **dict(zip(names, local, strict=True)), "axes": tuple([a + 1 for a in axes])}
        return apply(op, *images, xs[-1], sources=sources, **options)

    BATCHERS[op] = rule


def _applied(op, x, y, axes, each, params):
    names = [name for name in ("before", "window") if name in params]
    local, sources = localise(tuple([params[name] for name in names]), (x, y))
    options = {**params, **dict(zip(names, local, strict=True))}
    return apply(op, x, y, sources=sources, axes=axes, each=each, **options)


for _op in (ex.correlate_op, ex.spread_op, ex.weigh_op):
    _for_each(_op)
for _op in (ex.ranked_op, ex.tied_op, ex.untied_op):
    _footprint(_op)

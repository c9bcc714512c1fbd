"""Batching of functions of other libraries: one more leading axis of the operand, or one call for each example."""

from anyshape.autodiff.batch_axis import stretch_all
from anyshape.autodiff.rule_tables import BATCHERS
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


def _applied(op, x, y, axes, each, params):
    names = [name for name in ("before", "window") if name in params]
    local, sources = localise(tuple([params[name] for name in names]), (x, y))
    options = {**params, **dict(zip(names, local, strict=True))}
    return apply(op, x, y, sources=sources, axes=axes, each=each, **options)


for _op in (ex.correlate_op, ex.spread_op, ex.weigh_op):
    _for_each(_op)

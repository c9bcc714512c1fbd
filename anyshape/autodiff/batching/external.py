"""Batching of functions of other libraries: one more leading axis of the operand, or one call for each example."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch, stretch_all
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.sizes import expr
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import apply_all, localise


def _for_each(op, shared=()):
    """Declare an op whose operands have one axis of examples in front, if any: of all batches together.

    Without it all examples share the operands at these positions.
    """

    def rule(ctx, size, batched, *xs, each, **params):
        if "axes" in params and not each:
            params["axes"] = tuple([a + 1 for a in params["axes"]])
        if shared and not each and not any(batched[i] for i in shared):
            repeated = [x if i in shared or batched[i] else stretch(ctx, size, x) for i, x in enumerate(xs)]
            return _applied(op, repeated, params, each=False)
        own = stretch_all(ctx, size, batched, xs)
        return _of_both(ctx, op, own, params) if each else _applied(op, own, params, each=True)

    BATCHERS[op] = rule


def _of_both(ctx, op, xs, params):
    """Apply an op to examples of examples, as to ones along one axis."""
    shapes = [ctx.shape(x) for x in xs]
    count = expr.mul(*shapes[0][:2])
    out = _applied(op, [mv.reshape(x, (count, *s[2:])) for x, s in zip(xs, shapes, strict=True)], params, each=True)
    split = lambda v: mv.reshape(v, (*shapes[0][:2], *ctx.shape(v)[1:]))
    return tuple(map(split, out)) if isinstance(out, tuple) else split(out)


def _footprint(op):
    """Declare an op whose operands but the last, a footprint, have all the shape of the result."""

    def rule(ctx, size, batched, *xs, axes, **params):
        if batched[-1]:
            raise UnsupportedFunctionError("vmap", "over footprints of filters", "pass one for all", ctx.where)
        images = stretch_all(ctx, size, batched[:-1], xs[:-1])
        return _applied(op, (*images, xs[-1]), {**params, "axes": tuple([a + 1 for a in axes])})

    BATCHERS[op] = rule


def _applied(op, xs, params, **options):
    params = dict(params)
    names = [name for name in ("before", "window", "beyond", "shape") if name in params]
    local, sources = localise(tuple([params.pop(name) for name in names]), xs)
    results = apply_all(op, *xs, sources=sources, **params, **options, **dict(zip(names, local, strict=True)))
    return results if len(results) > 1 else results[0]


for _op in (ex.correlate_op, ex.spread_op):
    _for_each(_op, shared=(1,))
for _op in (ex.weigh_op, ex.interpolate_op, ex.deposit_op):
    _for_each(_op)
BATCHERS[ex.spline_filter_op] = lambda ctx, size, batched, x, *, axis, **params: ex.spline_filter(x, axis + 1, **params)
_for_each(ex.lfilter_op, shared=(1, 2))
for _op in (ex.ranked_op, ex.tied_op, ex.untied_op):
    _footprint(_op)

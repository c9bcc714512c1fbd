"""Derivatives of functions of other libraries.

Correlations are linear in the operand and in the weights. The elements of a window that equal the one of a rank share
its derivative. They are found along one axis of a box after the other.

Batching of functions of other libraries: one more leading axis of the operand, or one call for each example.
"""

import functools

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.shapes.array_type import numel
from anyshape.graph.sizes import expr
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import apply_all, localise


def _options(ctx, params):
    """Return how the windows of a node move, as functions of ops take it."""
    return params["axes"], ctx.bind(params["before"], field="before"), params["mode"]


def _weights(ctx, x, y, w, *, running, each, sources=(), **params):
    axes, before, mode = _options(ctx, params)
    return ex.weigh(x, y, axes, before, ctx.shape(w)[each:], mode, each=each)


def _partner(op):
    def back(ctx, ct, x, w, *, running, each, sources=(), **params):
        return ex.filtered(op, ct, w, *_options(ctx, params), running=running, each=each)

    return back


def _weigh_back(op):
    """Return the transpose of `weigh` for an operand: the cotangent stands for the weights of the other one."""

    def back(ctx, ct, x, y, *, window, each, sources=(), **params):
        other = y if op is ex.spread_op else x
        return ex.filtered(op, other, ct, *_options(ctx, params), each=each)

    return back


tables.bilinear(
    ex.correlate_op, _partner(ex.spread_op), lambda ctx, ct, x, w, **params: _weights(ctx, x, ct, w, **params)
)
tables.bilinear(ex.spread_op, _partner(ex.correlate_op), _weights)
tables.bilinear(ex.weigh_op, _weigh_back(ex.spread_op), _weigh_back(ex.correlate_op))
_correlate_jvp = tables.JVPS[ex.correlate_op]
# Running sums would carry an infinite tangent, or the rounding of a large one, to all elements behind it.
tables.JVPS[ex.correlate_op] = lambda *args, running, **params: _correlate_jvp(*args, running=False, **params)


# -- recursive filters


def _cut(ctx, x, axis, start, size):
    """Return so many elements along an axis from a position on, and None of None."""
    if x is None:
        return None
    shape, starts = list(ctx.shape(x)), [0] * ctx.rank(x)
    shape[axis], starts[axis] = size, start
    return mv.strided(x, starts, shape)


def _padded(ctx, x, low, high, between=0):
    none = (0,) * (ctx.rank(x) - 1)
    return mv.pad_unchecked(x, (*none, low), (*none, high), (*none, between))


def _sections(ctx, each, count, rows, states):
    """Return for each section its coefficients and its states; None stays."""
    size = _order(ctx, *rows[:2])
    part = lambda v, i: _cut(ctx, v, -1, expr.mul(i, size), size)
    return [([_cut(ctx, v, int(each), i, 1) for v in rows], [part(v, i) for v in states]) for i in range(count)]


def _order(ctx, b, c):
    return expr.maximum(expr.sub(ctx.shape(b)[-1], 1), ctx.shape(c)[-1])


def _section_jvp(ctx, run, tangents, y, x, b, c):
    """Filter tangents: one of x as x, and one of coefficients with what they are factors of."""
    t, tb, tc, tz = tangents
    terms = []
    if t is not None or tz is not None:
        terms.append(run(tables.zeros_like(ctx, x) if t is None else t, b, c, tz))
    if tb is not None:
        terms.append(run(x, tb, c))
    if tc is not None:
        terms.append(run(y, _padded(ctx, tc, 1, expr.sub(_order(ctx, b, c), ctx.shape(c)[-1])), c))
    return [functools.reduce(tables.add_tangents, results) for results in zip(*terms, strict=True)]


def _lfilter_jvp(ctx, tangents, out, x, b, c, z, *, ends, each, sections):
    t, tb, tc, tz = tangents

    def run(*operands, sections=1):
        results = ex.lfilter(*operands, ends=ends, each=each, sections=sections)
        return results if ends else (results,)

    if sections == 1 or (tb is None and tc is None):
        whole = functools.partial(run, sections=sections)
        results = _section_jvp(ctx, whole, tangents, out[0] if ends else out, x, b, c)
        return results if ends else results[0]
    at_end: list = []
    for (b_i, c_i, tb_i, tc_i), (z_i, tz_i) in _sections(ctx, each, sections, (b, c, tb, tc), (z, tz)):
        y = run(x, b_i, c_i, z_i)[0]
        t, *end = _section_jvp(ctx, run, (t, tb_i, tc_i, tz_i), y, x, b_i, c_i)
        x, at_end = y, at_end + end
    return (t, mv.concatenate(at_end, ctx.rank(x) - 1)) if ends else t


def _driving(ctx, ct, end, b, c, each):
    """Return the cotangents of what drives the recurrence of a section, and behind them the ones of its last states."""
    last = (ctx.rank(ct) - 1,)
    one = _padded(ctx, cr.full((*ctx.shape(b)[:-1], 1), 1, b.dtype), 0, expr.sub(ctx.shape(b)[-1], 1))
    start = None
    if end is not None:
        past = mv.rev(_padded(ctx, c, 0, expr.sub(ctx.shape(end)[-1], ctx.shape(c)[-1])), (ctx.rank(c) - 1,))
        start = mv.rev(ex.lfilter(end, _padded(ctx, past, 0, 1), _no_weights(ctx, c), each=each), last)
    driving = mv.rev(ex.lfilter(mv.rev(ct, last), one, c, start, each=each), last)
    return driving if end is None else mv.concatenate([driving, end], *last)


def _no_weights(ctx, c):
    return _cut(ctx, c, -1, 0, 0)


def _lfilter_back(ctx, ct, x, b, c, z, *, ends, each, sections):
    """Filter cotangents backwards in time, from the ones of states at the end on."""
    y, end = ct if ends else (ct, None)
    y, last = tables.zeros_like(ctx, x) if y is None else y, (ctx.rank(x) - 1,)
    if isinstance(b, tables.Linear):
        return None, _numerators_back(ctx, y, end, x, b, c, each), None, None
    if end is None and not isinstance(z, tables.Linear):
        b, c = (mv.rev(v, (int(each),)) for v in (b, c))
        return mv.rev(ex.lfilter(mv.rev(y, last), b, c, each=each, sections=sections), last), None, None, None
    starts: list = []
    for (b_i, c_i), (end_i,) in reversed(_sections(ctx, each, sections, (b, c), (end,))):
        order = _order(ctx, b, c)
        driving = _driving(ctx, _padded(ctx, y, 0, order) if end is None else y, end_i, b_i, c_i, each)
        starts.insert(0, _cut(ctx, driving, -1, 0, order))
        y = mv.rev(ex.lfilter(mv.rev(driving, last), b_i, _no_weights(ctx, c_i), each=each), last)
        y = _cut(ctx, y, -1, 0, ctx.shape(x)[-1])
    starts_ct = mv.concatenate(starts, *last) if isinstance(z, tables.Linear) else None
    return y if isinstance(x, tables.Linear) else None, None, None, starts_ct


def _numerators_back(ctx, ct, end, x, b, c, each):
    driving = _driving(ctx, ct, end, b, c, each)
    x = x if end is None else _padded(ctx, x, 0, _order(ctx, b, c))
    return mv.reshape(_lagged_products(ctx, x, driving, ctx.shape(b)[-1], each), ctx.shape(b))


def _lagged_products(ctx, x, y, size, each):
    """Return sums of products of y and of x moved by each number of elements below a size."""
    sums = ex.weigh(x, y, (ctx.rank(x) - 1,), (expr.sub(size, 1),), (size,), "constant", each=each)
    return mv.rev(sums, (int(each),))


tables.JVPS[ex.lfilter_op], tables.TRANSPOSES[ex.lfilter_op] = _lfilter_jvp, _lfilter_back

# -- filters between rates


def _upfirdn_back(ctx, ct, x, h, *, up, down, each):
    """Filter cotangents by h in reverse between the rates, from the element on that its last one meets."""
    size = ctx.shape(h)[-1]
    skipped = expr.ceildiv(expr.sub(size, 1), up)
    row = _padded(ctx, mv.rev(h, (int(each),)), expr.sub(expr.mul(skipped, up), expr.sub(size, 1)), down)
    return _cut(ctx, ex.upfirdn(ct, row, down, up, each=each), -1, skipped, ctx.shape(x)[-1])


def _upfirdn_filter_back(ctx, ct, x, h, *, up, down, each):
    long_x, long_ct = (_padded(ctx, v, 0, k - 1, k - 1) for v, k in ((x, up), (ct, down)))
    n, m = ctx.shape(long_x)[-1], ctx.shape(long_ct)[-1]
    return _lagged_products(ctx, _padded(ctx, long_x, 0, m), _padded(ctx, long_ct, 0, n), ctx.shape(h)[-1], each)


tables.bilinear(ex.upfirdn_op, _upfirdn_back, _upfirdn_filter_back)

# -- splines


def _points(ctx, p, shape, form, each, rank):
    """Return the coordinates along each axis that scales and offsets p give, or rows of a matrix; linear in p."""
    if form == "points":
        return [mv.drop(_cut(ctx, p, int(each), i, 1), (int(each),)) for i in range(rank)]
    lead = ctx.shape(p)[:each]
    grid = [mv.broadcast_in_dim(cr.iota(n, p.dtype), (*lead, *shape), (each + j,)) for j, n in enumerate(shape)]

    def entry(i, j):
        element = _cut(ctx, _cut(ctx, p, int(each), i, 1), -1, j, 1)
        return mv.broadcast_in_dim(mv.reshape(element, lead), (*lead, *shape), range(each))

    if form == "matrix":
        rows = [[entry(i, j) * o for j, o in enumerate(grid)] for i in range(rank)]
        return [functools.reduce(ew.add, [*row, entry(i, len(shape))]) for i, row in enumerate(rows)]
    return [entry(0, i) * o + entry(1, i) for i, o in enumerate(grid)]


def _interpolate_jvp(ctx, tangents, out, x, p, *, form, shape, slopes, fill, back, each, sources=(), **params):
    """Add to values of the tangent, for coordinates, the slopes along each axis times theirs."""
    tx, tp = tangents
    target = ctx.bind(shape, field="shape")
    run = lambda v, at, **how: ex.interpolate(v, at, target, back=back, each=each, **params, **how)
    total = None if tx is None else run(tx, p, form=form, slopes=slopes)
    if tp is None:
        return total
    values = ctx.shape(x if back else out)[each:]
    coordinates = lambda v: _points(ctx, v, values, form, each, len(slopes))
    points = mv.concatenate([mv.expand(c, (int(each),)) for c in coordinates(p)], int(each))
    for i, t in enumerate(coordinates(tp)):
        factor = ew.convert(t, x.dtype)
        steeper = tuple([s + (axis == i) for axis, s in enumerate(slopes)])
        term = run(x * factor if back else x, points, form="points", slopes=steeper, fill=fill)
        total = tables.add_tangents(total, term if back else term * factor)
    return total


def _interpolate_back(ctx, ct, x, p, *, shape, fill, back, each, sources=(), **params):
    return ex.interpolate(ct, p, ctx.shape(x)[each:], back=not back, each=each, **params), None


tables.linear(
    ex.spline_filter_op,
    lambda ctx, ct, x, *, axis, order, mode, transposed: ex.spline_filter(
        ct, axis, order, mode, transposed=not transposed
    ),
)
tables.JVPS[ex.interpolate_op], tables.TRANSPOSES[ex.interpolate_op] = _interpolate_jvp, _interpolate_back

# -- ranks of windows


def _ranked_jvp(ctx, tangents, out, x, footprint, *, rank, box, fill, sources=(), **params):
    axes, before, mode = _options(ctx, params)
    stages = [(axes, before, footprint)]
    if box:
        sides = ctx.shape(footprint)
        stages = [((a,), (b,), cr.full((k,), True, bool)) for a, b, k in zip(axes, before, sides, strict=True)]
    ties_beyond: expr.Size = 1
    most, total = numel(ctx.shape(footprint)), tangents[0]
    count = cr.full(ctx.shape(x), 1, np.uint8 if isinstance(most, int) and most < 256 else np.int64)
    for i, (across, low, window) in enumerate(stages, start=1):
        where = window, across, low, mode
        least = out if i == len(stages) else ex.ranked(x, *where, rank=rank, box=box, fill=fill)
        total = ex.tied(x, least, total, *where, fill=fill)
        count = ex.tied(x, least, count, *where, fill=fill, beyond=ties_beyond)
        x, ties_beyond = least, expr.mul(ties_beyond, numel(ctx.shape(window)))
    return total / ew.convert(count, total.dtype)


def _tied_jvp(ctx, tangents, out, x, y, t, footprint, *, fill, beyond, back, sources=(), **params):
    """Take the third operand alone: the others decide which elements are equal."""
    if tangents[2] is None:
        return None
    return ex.tied(x, y, tangents[2], footprint, *_options(ctx, params), fill=fill, back=back)


def _tied_back(ctx, ct, x, y, t, footprint, *, fill, beyond, back, sources=(), **params):
    return None, None, ex.tied(x, y, ct, footprint, *_options(ctx, params), fill=fill, back=not back), None


tables.JVPS[ex.ranked_op] = _ranked_jvp
tables.JVPS[ex.tied_op], tables.TRANSPOSES[ex.tied_op] = _tied_jvp, _tied_back

tables.zero(ex.binary_steps_op)

# -- zeros by construction

tables.lines(lambda ranks, **params: 1, ex.correlate_op, ex.spread_op, ex.weigh_op, ex.lfilter_op, ex.upfirdn_op)
tables.lines(tables.along, ex.spline_filter_op)
tables.lines(lambda ranks, *, slopes, **params: int(not any(slopes)), ex.interpolate_op)
tables.zeros(tables.ADD, tables.ADD, ex.interpolate_op)  # weights of values are not negative, as the ones of slopes are
tables.FIRST_ALONE.add(ex.interpolate_op)
tables.zeros(tables.ADD, tables.ADD, ex.ranked_op, ex.tied_op)


def _for_each(op, shared=()):
    """Declare an op whose operands have one axis of examples in front, if any: of all batches together.

    Without it all examples share the operands at these positions.
    """

    def rule(ctx, size, batched, *xs, each, **params):
        if "axes" in params and not each:
            params["axes"] = tuple([a + 1 for a in params["axes"]])
        if shared and not each and not any(batched[i] for i in shared):
            repeated = [x if i in shared or batched[i] else tables.stretch(ctx, size, x) for i, x in enumerate(xs)]
            return _applied(op, repeated, params, each=False)
        own = tables.stretch_all(ctx, size, batched, xs)
        return _of_both(ctx, op, own, params) if each else _applied(op, own, params, each=True)

    tables.BATCHERS[op] = rule


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
        images = tables.stretch_all(ctx, size, batched[:-1], xs[:-1])
        return _applied(op, (*images, xs[-1]), {**params, "axes": tuple([a + 1 for a in axes])})

    tables.BATCHERS[op] = rule


def _applied(op, xs, params, **options):
    params = dict(params)
    names = [name for name in ("before", "window", "beyond", "shape") if name in params]
    local, sources = localise(tuple([params.pop(name) for name in names]), xs)
    results = apply_all(op, *xs, sources=sources, **params, **options, **dict(zip(names, local, strict=True)))
    return results if len(results) > 1 else results[0]


for _op in (ex.correlate_op, ex.spread_op, ex.upfirdn_op):
    _for_each(_op, shared=(1,))
for _op in (ex.weigh_op, ex.interpolate_op):
    _for_each(_op)
tables.BATCHERS[ex.spline_filter_op] = lambda ctx, size, batched, x, *, axis, **params: ex.spline_filter(
    x, axis + 1, **params
)
_for_each(ex.lfilter_op, shared=(1, 2))
for _op in (ex.ranked_op, ex.tied_op):
    _footprint(_op)


def _binary_steps(ctx, size, batched, *xs, sides, origin, **params):
    """Reach from no example to another: structures have one element along their axis."""
    images = tables.stretch_all(ctx, size, batched, xs)
    return _applied(ex.binary_steps_op, images, {**params, "sides": (1, *sides), "origin": (0, *origin)})


tables.BATCHERS[ex.binary_steps_op] = _binary_steps

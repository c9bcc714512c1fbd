"""Derivatives of convolutions and of reductions of windows.

A convolution is linear in each operand. Its transpose for the operand is one of the cotangent with the window reversed,
where strides and dilations change places. That for the window moves the cotangent along the operand. A sum of windows
has sums of windows as its transpose. The derivative of an extreme is that of its first element that attains it.

Batching of convolutions and of reductions of windows: one more leading axis.

A batch of both operands of a convolution is a batch axis; that of one operand is a free axis of it.
"""

import itertools

from anyshape.autodiff.rule_tables import ADD, BATCHERS, JVPS, bilinear, linear, lines, zero, zeros
from anyshape.graph.shapes.array_type import numel
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import apply, localise


def _moves(ctx, params):
    return wd.Moves(*[ctx.bind(params[name], field=name) for name in wd.Moves._fields])


def _groups(ctx, x, batch, contract, spatial):
    """Return the batch axes, the free axes, the contracted axes and the spatial axes of an operand."""
    rank = ctx.rank(x)
    ends = (0, batch, rank - spatial - contract, rank - spatial, rank)
    return [tuple(range(a, b)) for a, b in itertools.pairwise(ends)]


def _convolution_back_x(ctx, ct, x, w, *, batch, contract, method, sources=(), **params):
    moves = _moves(ctx, params)
    spatial = moves.spatial
    (b, free, contracted, along), rank = _groups(ctx, w, batch, contract, spatial), ctx.rank(x)
    shape = ctx.shape(w)
    reversed_window = mv.rev(mv.transpose(w, (*b, *contracted, *free, *along)), along)
    back = moves.back(shape[len(shape) - spatial :], ctx.shape(x)[rank - spatial :])
    return wd.convolution(ct, reversed_window, back, batch=batch, contract=len(free), method=method)


def _convolution_back_w(ctx, ct, x, w, *, batch, contract, method, sources=(), **params):
    moves = _moves(ctx, params)
    spatial, rank = moves.spatial, ctx.rank(w)
    b, free, contracted, along = _groups(ctx, x, batch, contract, spatial)
    theirs = tuple(range(batch + len(free), ctx.rank(ct) - spatial))
    results = tuple(range(ctx.rank(ct) - spatial, ctx.rank(ct)))
    operand = mv.transpose(x, (*b, *contracted, *free, *along))
    window = mv.transpose(ct, (*b, *theirs, *free, *results))
    to_window = moves.to_window(ctx.shape(w)[rank - spatial :])
    out = wd.convolution(operand, window, to_window, batch=batch, contract=len(free), method=method)
    first = tuple(range(batch, batch + contract))
    second = tuple(range(batch + contract, rank - spatial))
    return mv.transpose(out, (*b, *second, *first, *range(rank - spatial, rank)))


bilinear(wd.convolution_op, _convolution_back_x, _convolution_back_w)


def _window_sum_back(ctx, ct, x, *, window, sources=(), **params):
    moves, window = _moves(ctx, params), ctx.bind(window, field="window")
    return wd.window_sum(ct, window, moves.back(window, ctx.shape(x)[ctx.rank(x) - len(window) :]))


linear(wd.window_sum_op, _window_sum_back)


def _windows_back(ctx, ct, x, *, axis, length, back, sources=()):
    return wd.sliding(ct, axis, ctx.bind(length, field="length"), back=not back)


linear(wd.sliding_op, _windows_back)


def _extreme(position_op):
    """Return the JVP rule of an extreme of windows: the tangent of the first element that attains it."""

    def jvp(ctx, tangents, out, x, *, sources=(), **params):
        spatial = len(params["window"])
        position = apply(position_op, x, sources=sources, **params)
        shape, results = ctx.shape(x), ctx.shape(out)
        leading = numel(shape[: len(shape) - spatial])
        flat = mv.reshape(tangents[0], (leading, numel(shape[len(shape) - spatial :])))
        flat = mv.pad_unchecked(flat, (0, 0), (0, 1), (0, 0))  # a window without elements reads the 0 at the end
        index = mv.reshape(position, (leading, numel(results[len(results) - spatial :])))
        return mv.reshape(ix.take_along_axis(flat, index, 1), results)

    return jvp


JVPS[wd.window_max_op] = _extreme(wd.window_argmax_op)
JVPS[wd.window_min_op] = _extreme(wd.window_argmin_op)
zero(wd.window_argmax_op, wd.window_argmin_op)

# -- zeros by construction

zeros(ADD, ADD, wd.sliding_op, wd.window_sum_op, wd.window_max_op, wd.window_min_op)


def _convolution_lines(ranks, *, batch, contract, **params):
    """Return 1 for a filter. A sum over channels is a product, which mixes all but the axes of the batch."""
    if not contract:
        return 1
    return [[a if a < batch else None for a in range(rank)] for rank in ranks] if batch else None


lines(_convolution_lines, wd.convolution_op)


def _convolution(ctx, size, batched, x, w, *, batch, contract, method, **params):
    moves = wd.Moves(*[params[name] for name in wd.Moves._fields])
    if all(batched):
        return wd.convolution(x, w, moves, batch=batch + 1, contract=contract, method=method)
    x, w = (mv.move_axes(v, (0,), (batch,)) if carries else v for v, carries in zip((x, w), batched, strict=True))
    out = wd.convolution(x, w, moves, batch=batch, contract=contract, method=method)
    free_of_x = ctx.rank(x) - batch - contract - moves.spatial
    return mv.move_axes(out, (batch if batched[0] else batch + free_of_x,), (0,))


BATCHERS[wd.convolution_op] = _convolution
BATCHERS[wd.sliding_op] = lambda ctx, size, batched, x, *, axis, **params: wd.sliding(x, axis + 1, **params)


def _reduction(op):
    def rule(ctx, size, batched, x, **params):
        local, sources = localise(tuple(params.values()), (x,))
        return apply(op, x, sources=sources, **dict(zip(params, local, strict=True)))

    BATCHERS[op] = rule


for _op in (wd.window_sum_op, wd.window_max_op, wd.window_min_op, wd.window_argmax_op, wd.window_argmin_op):
    _reduction(_op)

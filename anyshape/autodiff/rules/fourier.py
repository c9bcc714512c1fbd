"""Derivatives of Fourier transforms. All are linear, and the matrix of a complex one is its own transpose.

Real numbers have transforms whose second half repeats the conjugates of the first. So the transpose of `rfft` halves
what an inverse transform would count twice, and that of `irfft` doubles it.

Batching of Fourier transforms: the axis moves one place on.
"""

import functools
from math import sqrt

from anyshape.autodiff.rule_tables import BATCHERS, along, linear, lines
from anyshape.graph.sizes import expr
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import fourier as fo
from anyshape.ops import movement as mv

_TRANSPOSED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}  # the same factor in the other direction


def _scaled(ctx, x, axis, count, repeated):
    """Return x with the elements times `repeated` whose conjugates are in the second half of `count` points."""
    shape = ctx.shape(x)
    twice = cr.iota(shape[axis]) * ew.lift(2, cr.iota(shape[axis]))
    points = mv.broadcast_to(cr.size_value(count), (shape[axis],))
    alone = ew.logical_or(ew.eq(twice, ew.lift(0, twice)), ew.eq(twice, points))
    return ew.select(mv.broadcast_in_dim(alone, shape, (axis,)), x, x * ew.lift(repeated, x))


def _rfft_back(ctx, ct, x, *, axis, norm):
    count = ctx.exact(x, axis, field="operands")
    return fo.irfft(ew.conj(_scaled(ctx, ct, axis, count, 0.5)), axis, count, _TRANSPOSED[norm])


def _irfft_back(ctx, ct, x, *, axis, norm, length, sources=()):
    count = ctx.exact(ct, axis, field="operands")
    return ew.conj(_scaled(ctx, fo.rfft(ct, axis, _TRANSPOSED[norm]), axis, count, 2.0))


def _fft_back(ctx, ct, x, *, axis, norm, inverse):
    back = fo.fft(ct, axis, norm, inverse=inverse)
    return back if x.dtype.kind == "c" else ew.real(back)


# Scaled to be orthogonal, up to a factor, the transpose of one type is another type. Without the scale they differ at
# the ends. `_ENDS` has the ends of the operand that the scale multiplies by root 2, and of the result that it divides.
_PARTNER = {1: 1, 2: 3, 3: 2, 4: 4}
_FIRST, _LAST, _NONE = (0,), (-1,), ()
_ENDS = {
    fo.dct_op: {1: (_FIRST + _LAST, _FIRST + _LAST), 2: (_NONE, _FIRST), 3: (_FIRST, _NONE), 4: (_NONE, _NONE)},
    fo.dst_op: {1: (_NONE, _NONE), 2: (_NONE, _LAST), 3: (_LAST, _NONE), 4: (_NONE, _NONE)},
}


def _ends_scaled(ctx, x, axis, ends, factor):
    """Return x with the elements at these ends of the axis times a factor."""
    if not ends:
        return x
    shape = ctx.shape(x)
    index = cr.iota(shape[axis])
    last = mv.broadcast_to(cr.size_value(expr.sub(shape[axis], 1)), (shape[axis],))
    tests = [ew.eq(index, ew.lift(0, index) if end == 0 else last) for end in ends]
    chosen = functools.reduce(ew.logical_or, tests)
    return ew.select(mv.broadcast_in_dim(chosen, shape, (axis,)), x * ew.lift(factor, x), x)


def _trigonometric(op, function):
    """Declare cosine or sine transforms."""

    def back(ctx, ct, x, *, type, axis, norm, orthogonal):
        ends, partner = _ENDS[op][type], _PARTNER[type]
        if orthogonal:
            return function(ct, partner, axis, norm, orthogonal=True)
        moved = function(_ends_scaled(ctx, ct, axis, ends[1], sqrt(2)), partner, axis, norm, orthogonal=True)
        return _ends_scaled(ctx, moved, axis, ends[0], sqrt(0.5))

    linear(op, back)


_trigonometric(fo.dct_op, fo.dct)
_trigonometric(fo.dst_op, fo.dst)
linear(fo.fft_op, _fft_back)
linear(fo.rfft_op, _rfft_back)
linear(fo.irfft_op, _irfft_back)

# -- zeros by construction

lines(along, fo.fft_op, fo.rfft_op, fo.irfft_op, fo.dct_op, fo.dst_op)

BATCHERS[fo.fft_op] = lambda ctx, size, batched, x, *, axis, norm, inverse: fo.fft(x, axis + 1, norm, inverse=inverse)
BATCHERS[fo.rfft_op] = lambda ctx, size, batched, x, *, axis, norm: fo.rfft(x, axis + 1, norm)
BATCHERS[fo.irfft_op] = lambda ctx, size, batched, x, *, axis, norm, length: fo.irfft(x, axis + 1, length, norm)
BATCHERS[fo.dct_op] = lambda ctx, size, batched, x, *, axis, **params: fo.dct(x, axis=axis + 1, **params)
BATCHERS[fo.dst_op] = lambda ctx, size, batched, x, *, axis, **params: fo.dst(x, axis=axis + 1, **params)

"""Derivatives of Fourier transforms. All are linear, and the matrix of a complex one is its own transpose.

Real numbers have transforms whose second half repeats the conjugates of the first. So the transpose of `rfft` halves
what an inverse transform would count twice, and that of `irfft` doubles it.
"""

from anyshape.autodiff.rule_tables import linear, no_shift
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


linear(fo.fft_op, _fft_back)
linear(fo.rfft_op, _rfft_back)
linear(fo.irfft_op, _irfft_back)

# -- shifts of operands

no_shift(fo.fft_op, fo.rfft_op, fo.irfft_op)

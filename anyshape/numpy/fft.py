"""NumPy's functions of `numpy.fft` for traced and concrete arrays, at any size.

Concrete arguments go to NumPy itself. Numbers of points may be symbolic; a call requires one point or more. Results
are complex64 for float16, float32 and complex64, and complex128 for other numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import roll, slice_axis
from anyshape.numpy.operands.memory import makes_copy, writes_out
from anyshape.numpy.operands.promotion import as_traced, axis_of, new_size, size_of, sizes
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import fourier as fo
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.support.true_types import has_type

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
_FLOAT = np.dtype(np.float64)


# -- operands ----------------------------------------------------------------------------------------------------


def norm_of(name: str, norm: Any) -> str:
    """Return which direction divides by the number of points."""
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in fo.NORMS:
        raise ArgumentError(name, f"norm {norm!r}", "is unknown", "write 'backward', 'ortho' or 'forward'")
    return norm


def fitted(x: Any, axis: int, count: Size | None) -> Any:
    """Return x cut off, or with zeros at its end, to so many elements along an axis."""
    size = sizes(x)[axis]
    if count is None or count == size:
        return x
    common = expr.minimum(size, count)
    x, missing = slice_axis(x, axis, 0, common), expr.sub(count, common)
    if has_type(missing, int) and missing == 0:
        return x
    none = (0,) * x.ndim
    return mv.pad_unchecked(x, none, (*none[:axis], missing, *none[axis + 1 :]), none)


def points_of(name: str, n: Any) -> Size | None:
    """Return the number of points that a call gives; None where it gives none."""
    return None if n is None else new_size(n, name)


def _complex(x):
    """Return x as complex numbers of its precision."""
    return ew.convert(x, np.result_type(x.dtype, 1j))


def _floating(x):
    """Return real x in the precision of its transform."""
    return ew.convert(x, np.result_type(x.dtype, np.float32 if x.dtype == np.float16 else 1.0))


# -- one axis ----------------------------------------------------------------------------------------------------


def _transformed(name: str, a, n, axis, norm, inverse: bool):
    """Return the transform along an axis, or its inverse."""
    x = as_traced(a)
    along = axis_of(axis, x.ndim, name)
    points = fitted(x if x.dtype.kind == "c" else _floating(x), along, points_of(name, n))
    return fo.fft(points, along, norm_of(name, norm), inverse=inverse)


@writes_out
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the discrete Fourier transform along an axis.

    `n` is the number of points: more elements are cut off, and missing ones are zeros. `norm` is "backward", "ortho" or
    "forward". With traced operands `out` must be traced too.
    """
    return _transformed("fft", a, n, axis, norm, False)


@writes_out
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the inverse discrete Fourier transform along an axis; see `fft`."""
    return _transformed("ifft", a, n, axis, norm, True)


def _half(name: str, a, n, axis, norm: str):
    """Return the first half of the transform of real numbers."""
    x = as_traced(a)
    along = axis_of(axis, x.ndim, name)
    if x.dtype.kind == "c":
        raise DTypeError(name, f"the operand is {x.dtype}", "pass its real part, or call fft", user_line())
    return fo.rfft(fitted(_floating(x), along, points_of(name, n)), along, norm)


def _whole(name: str, x, n, axis, norm: str):
    """Return the real numbers whose transform has x as its first half."""
    along = axis_of(axis, x.ndim, name)
    count = points_of(name, n)
    if count is None:
        count = expr.mul(2, expr.sub(sizes(x)[along], 1))
    context_of(name, x).require(at_least(count, 1), f"the number of points is {count}, and must be 1 or more")
    real = np.result_type(ew.real_dtype(x.dtype) if x.dtype.kind in "fc" else x.dtype, 1.0)
    return ew.convert(fo.irfft(_complex(fitted(x, along, fo.half_of(count))), along, count, norm), real)


@writes_out
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the first n // 2 + 1 elements of the transform of real numbers along an axis; see `fft`.

    A complex operand raises DTypeError.
    """
    return _half("rfft", a, n, axis, norm_of("rfft", norm))


@writes_out
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the `n` real numbers along an axis whose transform has the first elements `a`.

    By default n is 2 * (m - 1) for m elements. See `fft` for the options.
    """
    return _whole("irfft", as_traced(a), n, axis, norm_of("irfft", norm))


@writes_out
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the real transform of a signal along an axis that has `a` as the first half of its Hermitian values."""
    x = as_traced(a)
    return _whole("hfft", ew.conj(x) if x.dtype.kind == "c" else x, n, axis, _SWAPPED[norm_of("hfft", norm)])


@writes_out
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """Return the first half of the Hermitian signal along an axis whose transform is real and equals `a`."""
    return ew.conj(_half("ihfft", a, n, axis, _SWAPPED[norm_of("ihfft", norm)]))


# -- several axes ------------------------------------------------------------------------------------------------


def steps_of(name: str, x: Any, s: Any, axes: Any) -> list[tuple[Any, int]]:
    """Return the axes to transform, each with its number of points or None."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        axes = range(-count, 0)
    along = [axis_of(axis, x.ndim, name) for axis in axes]
    points = [None] * len(along) if s is None else [_stated(n) for n in s]
    if len(points) != len(along):
        raise ArgumentError(name, f"s={s}", f"has {len(points)} sizes for {len(along)} axes", "give one size per axis")
    return list(zip(points, along, strict=True))


def _stated(n):
    """Return a number of points; -1 means that of the operand."""
    return None if n is None or (has_type(n, (int, np.integer)) and n == -1) else n


def _several(name: str, a, s, axes, norm, inverse: bool):
    """Return the transform along axes, the last axis first."""
    x = as_traced(a)
    for n, axis in reversed(steps_of(name, x, s, axes)):
        x = _transformed(name, x, n, axis, norm, inverse)
    return x


def _last_of(name: str, steps: Sequence[tuple[Any, int]]) -> Sequence[tuple[Any, int]]:
    """Require an axis or more."""
    if not steps:
        raise ArgumentError(name, "axes", "is empty", "name an axis or more")
    return steps


@writes_out
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Return the discrete Fourier transform along several axes, all by default.

    `s` has the number of points of each axis, where -1 is the size of `a`. See `fft` for the other options.
    """
    return _several("fftn", a, s, axes, norm, False)


@writes_out
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Return the inverse discrete Fourier transform along several axes; see `fftn`."""
    return _several("ifftn", a, s, axes, norm, True)


@writes_out
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Return the transform of real numbers along several axes, with the first half along the last; see `fftn`."""
    x = as_traced(a)
    *others, (n, axis) = _last_of("rfftn", steps_of("rfftn", x, s, axes))
    x = _half("rfftn", x, n, axis, norm_of("rfftn", norm))
    for count, along in reversed(others):
        x = _transformed("rfftn", x, count, along, norm, False)
    return x


@writes_out
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """Return the real numbers whose transform by `rfftn` is `a`; see `fftn`."""
    x = as_traced(a)
    *others, (n, axis) = _last_of("irfftn", steps_of("irfftn", x, s, axes))
    for count, along in others:
        x = _transformed("irfftn", x, count, along, norm, True)
    return _whole("irfftn", x, n, axis, norm_of("irfftn", norm))


@writes_out
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """Return the discrete Fourier transform along two axes; see `fftn`."""
    return fftn(a, s, axes, norm, out)


@writes_out
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """Return the inverse discrete Fourier transform along two axes; see `fftn`."""
    return ifftn(a, s, axes, norm, out)


@writes_out
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """Return the transform of real numbers along two axes, with the first half along the last; see `fftn`."""
    return rfftn(a, s, axes, norm, out)


@writes_out
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    """Return the real numbers whose transform by `rfft2` is `a`; see `fftn`."""
    return irfftn(a, s, axes, norm, out)


# -- order of frequencies ----------------------------------------------------------------------------------------


def _shifted(name: str, a, axes, amount: Callable[[Size], Size]):
    """Return x with its elements rolled along axes, by an amount that the size of each axis gives."""
    x = as_traced(a)
    chosen = range(x.ndim) if axes is None else axes if isinstance(axes, (tuple, list)) else (axes,)
    along = [axis_of(axis, x.ndim, name) for axis in chosen]
    return roll(x, [amount(sizes(x)[axis]) for axis in along], along) if along else x


@makes_copy
def fftshift(x: Any, axes: Any = None) -> Any:
    """Return x with the element of frequency 0 in the middle of the axes, all by default."""
    return _shifted("fftshift", x, axes, lambda size: expr.floordiv(size, 2))


@makes_copy
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return x as it was before `fftshift`."""
    return _shifted("ifftshift", x, axes, lambda size: expr.sub(0, expr.floordiv(size, 2)))


def _frequencies(name: str, n, d, count: Callable[[Size], Size]):
    """Return the first frequencies of n points that are d apart; those beyond the half are negative."""
    points = size_of(n)
    context_of(name).require(at_least(points, 1), "the frequencies of no points divide by zero")
    length = count(points)
    spacing = as_traced(d, np.result_type(as_traced(d).dtype, _FLOAT))
    whole = cr.size_value(points)
    step = ew.div(ew.lift(1, spacing), ew.mul(ew.convert(whole, spacing.dtype), spacing))
    index = cr.iota(length)
    half = cr.size_value(fo.half_of(expr.sub(points, 1)) if length == points else length)
    stretched = [mv.broadcast_to(value, (length,)) for value in (half, whole)]
    index = ew.select(ew.lt(index, stretched[0]), index, ew.sub(index, stretched[1]))
    return ew.mul(ew.convert(index, step.dtype), mv.broadcast_to(step, (length,)))


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Return the frequencies of the transform of n points that are d apart; n may be symbolic."""
    return _frequencies("fftfreq", n, d, lambda points: points)


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """Return the n // 2 + 1 frequencies of the transform of n real points that are d apart; n may be symbolic."""
    return _frequencies("rfftfreq", n, d, fo.half_of)


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)


serve(__name__)

"""Define the convolutions and correlations of `scipy.signal`, over any number of axes.

SciPy chooses between sums of products and transforms; so does the op here, when sizes are known. Integers are always
summed. Arrays without elements give what SciPy gives: no result, zeros, or an error.

Define the functions of `scipy.signal` that change the rate of samples, and the division of polynomials.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import slice_axis
from anyshape.numpy.operands import promotion
from anyshape.ops import elementwise as ew
from anyshape.ops import external as ex
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats, is_empty, require_elements
from anyshape.scipy.operands.served import signed_as_in
from anyshape.scipy.signal.filtering import lfilter
from anyshape.support.packages import scipy_signal

_MODES = ("full", "same", "valid")


def _operands(name: str, in1, in2) -> tuple[Any, Any]:
    """Return two arrays of as many axes, in the dtype to which they promote."""
    dtype = promotion.result_type(in1, in2)
    x, w = promotion.as_traced(in1, dtype), promotion.as_traced(in2, dtype)
    ctx = context_of(name, x, w)
    if x.ndim != w.ndim:
        raise ctx.fail(f"the arrays have {x.ndim} and {w.ndim} axes", "give both the same number")
    return x, w


def _require_elements(name: str, x, w, mode: str, method: str) -> None:
    """Require elements where SciPy needs them for sums of products: mode="same" has as many results as x."""
    ctx = context_of(name, x, w)
    why = "an array cannot be empty"
    if name == "convolve" and method == "fft":
        mode, why = "full", "index 0 of the result is out of bounds"  # SciPy looks at it after the transforms
    if mode == "valid" and x.ndim > 1:
        return
    for size in (*(() if mode == "same" else promotion.sizes(x)), *promotion.sizes(w)):
        ctx.require(at_least(size, 1), why)


def _nests(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether the first sizes are all at least the second ones, or at most."""
    return all(n >= m for n, m in pairs) or all(m >= n for n, m in pairs)


def _require_one_inside(name: str, x, w, axes, stretches: bool = False) -> None:
    """Require that one array is at least as long as the other along each axis, save ones of size 1 that stretch."""
    pairs = [(x.shape[axis], w.shape[axis]) for axis in axes]
    if len(pairs) > 1 and not _nests(pairs):
        if stretches and _nests([(n, m) for n, m in pairs if n != 1 and m != 1]):
            return
        advice = "give one that is at least as long as the other along each axis"
        raise context_of(name, x, w).fail("no array is inside of the other, as mode='valid' needs", advice)


def _part(mode: str, n: Size, m: Size) -> tuple[Size, Size]:
    """Return where results start among all along an axis, and how many there are."""
    if mode == "full":
        return 0, expr.sub(expr.add(n, m), 1)
    if mode == "same":
        return expr.floordiv(expr.sub(m, 1), 2), n
    shorter = expr.minimum(n, m)
    return expr.sub(shorter, 1), expr.add(expr.sub(expr.maximum(n, m), shorter), 1)


def _moved(name: str, x, w, mode: str, method: str):
    """Return sums of products of x and of w, which moves from its last elements to its first ones."""
    if mode == "valid":
        _require_one_inside(name, x, w, range(x.ndim))
    parts = [_part(mode, n, m) for n, m in zip(promotion.sizes(x), promotion.sizes(w), strict=True)]
    low = [expr.sub(expr.sub(m, 1), start) for m, (start, _) in zip(promotion.sizes(w), parts, strict=True)]
    return wd.convolution(x, w, wd.one_by_one(low, [count for _, count in parts]), method=method)


def _method(name: str, method, dtype: np.dtype) -> str:
    """Return how to compute: transforms round, so integers are summed."""
    promotion.choice_of(name, "method", method, wd.METHODS)
    return str(method) if dtype.kind in "fc" else "direct"


def convolve(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """Return the convolution of two arrays over all axes.

    mode="full" gives n + m - 1 elements along each axis, "same" the n of `in1` in the middle, and "valid" those without
    zeros beyond the ends. `method` is "direct", "fft", or "auto" for the one that is estimated to take less time.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import signal
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> print(grad(lambda w: signal.convolve(x, w, "valid").sum())(np.ones(2)))
    [5. 3.]
    """
    promotion.choice_of("convolve", "mode", mode, _MODES)
    x, w = _operands("convolve", in1, in2)
    _require_elements("convolve", x, w, mode, method)
    how = _method("convolve", method, x.dtype)
    if not x.ndim:
        return x * w
    return _moved("convolve", x, mv.rev(w, tuple(range(w.ndim))), mode, how)


def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """Return the sums of products of an array with the conjugates of another one, moved along it; see `convolve`."""
    promotion.choice_of("correlate", "mode", mode, _MODES)
    x, w = _operands("correlate", in1, in2)
    _require_elements("correlate", x, w, mode, method)
    how = _method("correlate", method, x.dtype)
    w = ew.conj(w) if w.dtype.kind == "c" else w
    return _moved("correlate", x, w, mode, how) if x.ndim else x * w


def _inexact(*operands) -> tuple[Any, ...]:
    """Return operands as numbers of floating point, of single precision at least."""
    dtypes = [np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else np.dtype(float) for x in operands]
    return tuple([ew.convert(x, dtype) for x, dtype in zip(operands, dtypes, strict=True)])


def _transformed(name: str, in1, in2, mode, axes):
    """Return the convolution over some axes by transforms; the other axes are broadcast."""
    promotion.choice_of(name, "mode", mode, _MODES)
    x, w = _inexact(*_operands(name, in1, in2))
    if not x.ndim:
        return x * w
    if is_empty(name, x, w):
        return xp.zeros(0)
    if not (along := promotion.axes_of(axes, x.ndim, name)):
        raise ArgumentError(name, f"axes={axes!r}", "names no axis", "name one or more")
    others = [axis for axis in range(x.ndim) if axis not in along]
    common = xp.broadcast_shapes(*[tuple([v.shape[axis] for axis in others]) for v in (x, w)])
    first = [promotion.sizes(x)[axis] for axis in others]
    x, w = (_batched(v, others, along, common) for v in (x, w))
    if mode == "valid":
        _require_one_inside(name, x, w, range(len(others), x.ndim), stretches=True)
    out = _over_last_axes(x, w, mode, len(others))
    out = _in_middle(out, first) if mode == "same" else out
    return mv.transpose(out, sorted(range(out.ndim), key=[*others, *along].__getitem__))


def _in_middle(x, counts: Sequence[Size]):
    """Return so many elements from the middle of the first axes, which SciPy keeps of broadcast ones too."""
    for axis, n in enumerate(counts):
        x = slice_axis(x, axis, expr.floordiv(expr.sub(promotion.sizes(x)[axis], n), 2), n)
    return x


def _over_last_axes(x, w, mode: str, batch: int):
    """Return the convolution by transforms over all axes but the batch axes."""
    lengths = list(zip(promotion.sizes(x)[batch:], promotion.sizes(w)[batch:], strict=True))
    parts = [_part(mode, n, m) for n, m in lengths]
    low = [expr.sub(expr.sub(m, 1), start) for (_, m), (start, _) in zip(lengths, parts, strict=True)]
    moves = wd.one_by_one(low, [count for _, count in parts])
    return wd.convolution(x, mv.rev(w, tuple(range(batch, w.ndim))), moves, batch=batch, method="fft")


def _batched(x, others, along, common):
    """Return x with the other axes first, in the shape to which both operands broadcast."""
    moved = xp.transpose(x, (*others, *along))
    return xp.broadcast_to(moved, (*common, *moved.shape[len(others) :]))


def fftconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> Any:
    """Return the convolution over some axes, by default all, by Fourier transforms; see `convolve`.

    Other axes are broadcast. Errors are relative to the largest result.
    """
    return _transformed("fftconvolve", in1, in2, mode, axes)


def oaconvolve(in1: Any, in2: Any, mode: Any = "full", axes: Any = None) -> Any:
    """Return what `fftconvolve` returns; traced arrays are transformed as a whole."""
    return _transformed("oaconvolve", in1, in2, mode, axes)


# -- images ------------------------------------------------------------------------------------------------------

_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "symmetric",
    "symmetric": "symmetric",
}


def _beyond(boundary: str, x, window, fillvalue):
    """Return an image with all that windows reach beyond its ends."""
    around = [(m - 1, m - 1) for m in window.shape]
    options = {"constant_values": fillvalue} if boundary == "constant" else {}
    return xp.pad(x, around, mode=boundary, **options)


def _images(name: str, in1, in2, mode) -> tuple[Any, Any, bool]:
    """Return an image and a window, and whether they changed places, as one inside of the other must be the window."""
    promotion.choice_of(name, "mode", mode, _MODES)
    x, w = _operands(name, in1, in2)
    if x.ndim != 2:
        raise context_of(name, x, w).fail(f"the arrays have {x.ndim} axes and must have 2")
    if mode != "valid":
        return x, w, False
    _require_one_inside(name, x, w, (0, 1))
    swaps = not all(n >= m for n, m in zip(x.shape, w.shape, strict=True))
    return (w, x, True) if swaps else (x, w, False)


def _parts_of_image(x, kernel, mode: str, is_reversed: bool) -> list[tuple[Size, Size]]:
    """Return where results start among all along each axis, and how many there are."""
    lengths = list(zip(promotion.sizes(x), promotion.sizes(kernel), strict=True))
    parts = [_part(mode, n, m) for n, m in lengths]
    if mode == "same" and not is_reversed:  # the middle of an even number of elements is right of it
        parts = [(expr.floordiv(m, 2), n) for n, m in lengths]
    for _, count in parts:
        context_of("convolve2d", x, kernel).require(at_least(count, 0), "one of the images has an element")
    return parts


def _over_image(x, kernel, mode: str, boundary: str, fillvalue, is_reversed: bool):
    """Return sums of products of an image and a kernel, with what lies beyond its ends."""
    parts = _parts_of_image(x, kernel, mode, is_reversed)
    low = [expr.sub(expr.sub(m, 1), start) for m, (start, _) in zip(promotion.sizes(kernel), parts, strict=True)]
    if mode != "valid" and (boundary != "constant" or promotion.is_traced(fillvalue) or fillvalue != 0):
        for image in (x, kernel) if boundary != "constant" else (kernel,):
            require_elements("convolve2d", image)
        x = _beyond(boundary, x, kernel, fillvalue)
        low = [expr.sub(0, start) for start, _ in parts]
    return wd.convolution(x, kernel, wd.one_by_one(low, [count for _, count in parts]), method="direct")


def convolve2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    """Return the convolution of two matrices; see `convolve`.

    `boundary` tells what lies beyond the ends of `in1`: "fill" for `fillvalue`, "wrap" for its other end, and "symm"
    for its mirror image.
    """
    how = _BOUNDARIES[promotion.choice_of("convolve2d", "boundary", boundary, tuple(_BOUNDARIES))]
    x, w, _ = _images("convolve2d", in1, in2, mode)
    return _over_image(x, mv.rev(w, (0, 1)), mode, how, fillvalue, is_reversed=True)


def correlate2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    """Return the correlation of two matrices; see `convolve2d`."""
    how = _BOUNDARIES[promotion.choice_of("correlate2d", "boundary", boundary, tuple(_BOUNDARIES))]
    x, w, swaps = _images("correlate2d", in1, in2, mode)
    out = _over_image(x, ew.conj(w) if w.dtype.kind == "c" else w, mode, how, fillvalue, is_reversed=False)
    return mv.rev(out, (0, 1)) if swaps else out


def upfirdn(h: Any, x: Any, up: Any = 1, down: Any = 1, axis: Any = -1, mode: str = "constant", cval: Any = 0) -> Any:
    """Return x with `up - 1` zeros between samples, filtered by h, and every `down`-th of the results.

    For traced arrays zeros are beyond the ends.
    """
    if mode != "constant" or promotion.is_traced(cval) or cval != 0:
        raise ArgumentError("upfirdn", f"mode={mode!r}", "is not available for traced arrays", "extend x with np.pad")
    up, down = promotion.static_int(up, "upfirdn", "up"), promotion.static_int(down, "upfirdn", "down")
    if min(up, down) < 1:
        raise ArgumentError("upfirdn", f"up={up}, down={down}", "is below 1", "pass factors of at least 1")
    dtype = promotion.result_type(h, x, np.float32)
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    row, array = promotion.as_traced(h, dtype), promotion.as_traced(x, dtype)
    along = promotion.axis_of(axis, array.ndim, "upfirdn")
    return xp.moveaxis(ex.upfirdn(mv.move_axes(array, (along,), (array.ndim - 1,)), row, up, down), -1, along)


_BACKGROUNDS: dict[str, Any] = {"mean": xp.mean, "median": xp.median, "minimum": xp.min, "maximum": xp.max}


@signed_as_in(scipy_signal)
def resample_poly(x, up, down, axis, window, padtype, cval) -> Any:
    """Return samples at up / down times their rate, by a filter without phase; `window` is a name or the filter.

    `padtype` says what is beyond the ends: zeros, or the mean, median, minimum or maximum.
    """
    name = "resample_poly"
    promotion.choice_of(name, "padtype", padtype, ("constant", *_BACKGROUNDS))
    if cval is not None:
        raise ArgumentError(name, "cval", "is not available for traced arrays", "leave it out")
    x = floats(x)
    up, down = promotion.static_int(up, name, "up"), promotion.static_int(down, name, "down")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return x
    h, half = _lowpass(window, up, down, x.dtype)
    along = promotion.axis_of(axis, x.ndim, name)
    lines = xp.moveaxis(x, along, -1)
    before = down - half % down
    skipped = (half + before) // down
    after = max(
        up + half - promotion.static_int(h.shape[0], name, "the length of the filter"), 0
    )  # or results would be too few
    h = xp.concatenate([np.zeros(before, h.dtype), h * up, np.zeros(after, h.dtype)])
    wanted = -(-lines.shape[-1] * up // down)
    background = _BACKGROUNDS[padtype](lines, axis=-1, keepdims=True) if padtype in _BACKGROUNDS else None
    y = upfirdn(h, lines if background is None else lines - background, up, down)
    y = y[..., skipped : skipped + wanted]
    return xp.moveaxis(y if background is None else y + background, -1, along)


def _lowpass(window, up: int, down: int, dtype: np.dtype) -> tuple[Any, int]:
    """Return a filter, and half of its length."""
    if isinstance(window, str | tuple):
        half = 10 * max(up, down)
        return scipy_signal.firwin(2 * half + 1, 1.0 / max(up, down), window=window).astype(dtype), half
    h = xp.asarray(window)
    return h, (promotion.static_int(h.shape[0], "resample_poly", "the length of the filter") - 1) // 2


def resample(x: Any, num: Any, t: Any = None, axis: Any = 0, window: Any = None, domain: str = "time") -> Any:
    """Return `num` samples of a periodic signal by its Fourier transform; with times t their own times too.

    For traced arrays the domain is "time", and there is no `window`.
    """
    if window is not None or domain != "time":
        raise ArgumentError("resample", "window or domain", "is not available for traced arrays", "leave it out")
    x = xp.asarray(x)
    lines = xp.moveaxis(x, axis, -1)
    n, is_complex = lines.shape[-1], x.dtype.kind == "c"
    common = xp.minimum(num, n)
    half = common // 2 + 1
    size = xp.asarray(n) / num
    # the bin at half of the fewer points stands for two when there are more of them
    is_pair = (xp.asarray(common) % 2 == 0) & (xp.asarray(num) != n)
    factor = xp.where(xp.asarray(num) < n, 2.0, 0.5)
    bins = xp.where((xp.arange(half) == common // 2) & is_pair, factor, 1.0)
    if not is_complex:
        spectrum = xp.fft.rfft(lines)[..., :half]
        y = xp.fft.irfft(spectrum * bins.astype(spectrum.real.dtype) / size.astype(spectrum.real.dtype), num)
    else:
        y = at_other_rate(xp.fft.fft(lines), num, n, common) / size
    y = xp.moveaxis(y, -1, axis).astype(np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else y.dtype)
    return y if t is None else (y, t[0] + (t[1] - t[0]) * size * xp.arange(num))


def at_other_rate(spectrum: Any, num: Any, n: Any, common: Any) -> Any:
    """Return samples for the bins of least frequency; both signs share the one at half of the points."""
    k = xp.arange(num)
    signed = xp.where(k <= num // 2, k, k - num)
    half = xp.asarray(common) / 2
    inside = xp.abs(signed) <= half
    source = xp.where(inside, xp.mod(signed, n), 0)
    at_half = (xp.abs(signed) == half) & (xp.asarray(num) != n)
    values = xp.where(inside, spectrum[..., source], 0.0)
    other = spectrum[..., xp.where(at_half, xp.mod(-signed, n), 0)]
    shared = xp.where(xp.asarray(num) < n, values + other, 0.5 * values)
    return xp.fft.ifft(xp.where(at_half, shared, values))


def deconvolve(signal: Any, divisor: Any) -> tuple[Any, Any]:
    """Return the quotient and the remainder of polynomials; the quotient by a longer divisor has no elements."""
    number, by = xp.atleast_1d(signal), xp.atleast_1d(divisor)
    context_of("deconvolve", number).require(at_least(promotion.sizes(number)[0], 1), "the signal has an element")
    leading = number[: xp.maximum(number.shape[0] - by.shape[0] + 1, 0)]  # the quotient needs no further coefficients
    quotient = lfilter(np.ones(1), by, leading)
    product = convolve(by, xp.append(quotient, np.zeros(1)), mode="full")
    return quotient, number - product[: number.shape[0]]

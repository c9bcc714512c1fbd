"""Define the convolutions and correlations of `scipy.signal`, over any number of axes.

SciPy chooses between sums of products and transforms; so does the op here, when sizes are known. Integers are always
summed. Arrays without elements give what SciPy gives: no result, zeros, or an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.movement import slice_axis
from anyshape.numpy.operands.promotion import as_traced, axes_of, choice_of, is_traced, result_type, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import is_empty, require_elements

_MODES = ("full", "same", "valid")


def _operands(name: str, in1: Any, in2: Any) -> tuple[Any, Any]:
    """Return two arrays of as many axes, in the dtype to which they promote."""
    dtype = result_type(in1, in2)
    x, w = as_traced(in1, dtype), as_traced(in2, dtype)
    ctx = context_of(name, x, w)
    if x.ndim != w.ndim:
        raise ctx.fail(f"the arrays have {x.ndim} and {w.ndim} axes", "give both the same number")
    return x, w


def _require_elements(name: str, x: Any, w: Any, mode: str, method: str) -> None:
    """Require elements where SciPy needs them for sums of products: mode="same" has as many results as x."""
    ctx = context_of(name, x, w)
    if name == "convolve" and method == "fft":
        mode = "full"  # SciPy looks at the first element of the result of transforms
    if mode == "valid" and x.ndim > 1:
        return
    for size in (*(() if mode == "same" else sizes(x)), *sizes(w)):
        ctx.require(at_least(size, 1), "an array cannot be empty")


def _nests(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether the first sizes are all at least the second ones, or at most."""
    return all(n >= m for n, m in pairs) or all(m >= n for n, m in pairs)


def _require_one_inside(name: str, x: Any, w: Any, axes: Any, stretches: bool = False) -> None:
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


def _moved(name: str, x: Any, w: Any, mode: str, method: str) -> Any:
    """Return sums of products of x and of w, which moves from its last elements to its first ones."""
    if mode == "valid":
        _require_one_inside(name, x, w, range(x.ndim))
    parts = [_part(mode, n, m) for n, m in zip(sizes(x), sizes(w), strict=True)]
    low = [expr.sub(expr.sub(m, 1), start) for m, (start, _) in zip(sizes(w), parts, strict=True)]
    return wd.convolution(x, w, wd.one_by_one(low, [count for _, count in parts]), method=method)


def _method(name: str, method: Any, dtype: np.dtype) -> str:
    """Return how to compute: transforms round, so integers are summed."""
    choice_of(name, "method", method, wd.METHODS)
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
    choice_of("convolve", "mode", mode, _MODES)
    x, w = _operands("convolve", in1, in2)
    _require_elements("convolve", x, w, mode, method)
    how = _method("convolve", method, x.dtype)
    if not x.ndim:
        return x * w
    return _moved("convolve", x, mv.rev(w, tuple(range(w.ndim))), mode, how)


def correlate(in1: Any, in2: Any, mode: Any = "full", method: Any = "auto") -> Any:
    """Return the sums of products of an array with the conjugates of another one, moved along it; see `convolve`."""
    choice_of("correlate", "mode", mode, _MODES)
    x, w = _operands("correlate", in1, in2)
    _require_elements("correlate", x, w, mode, method)
    how = _method("correlate", method, x.dtype)
    w = ew.conj(w) if w.dtype.kind == "c" else w
    return _moved("correlate", x, w, mode, how) if x.ndim else x * w


def _inexact(*operands: Any) -> tuple[Any, ...]:
    """Return operands as numbers of floating point, of single precision at least."""
    dtypes = [np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else np.dtype(float) for x in operands]
    return tuple([ew.convert(x, dtype) for x, dtype in zip(operands, dtypes, strict=True)])


def _transformed(name: str, in1: Any, in2: Any, mode: Any, axes: Any) -> Any:
    """Return the convolution over some axes by transforms; the other axes are broadcast."""
    choice_of(name, "mode", mode, _MODES)
    x, w = _inexact(*_operands(name, in1, in2))
    if not x.ndim:
        return x * w
    if is_empty(name, x, w):
        return xp.zeros(0)
    along = axes_of(axes, x.ndim, name)
    if not along:
        raise ArgumentError(name, f"axes={axes!r}", "names no axis", "name one or more")
    others = [axis for axis in range(x.ndim) if axis not in along]
    common = xp.broadcast_shapes(*[tuple([v.shape[axis] for axis in others]) for v in (x, w)])
    first = [sizes(x)[axis] for axis in others]
    x, w = (_batched(v, others, along, common) for v in (x, w))
    if mode == "valid":
        _require_one_inside(name, x, w, range(len(others), x.ndim), stretches=True)
    out = _over_last_axes(x, w, mode, len(others))
    out = _in_middle(out, first) if mode == "same" else out
    return mv.transpose(out, sorted(range(out.ndim), key=[*others, *along].__getitem__))


def _in_middle(x: Any, counts: Sequence[Size]) -> Any:
    """Return so many elements from the middle of the first axes, which SciPy keeps of broadcast ones too."""
    for axis, n in enumerate(counts):
        x = slice_axis(x, axis, expr.floordiv(expr.sub(sizes(x)[axis], n), 2), n)
    return x


def _over_last_axes(x: Any, w: Any, mode: str, batch: int) -> Any:
    """Return the convolution by transforms over all axes but the batch axes."""
    lengths = list(zip(sizes(x)[batch:], sizes(w)[batch:], strict=True))
    parts = [_part(mode, n, m) for n, m in lengths]
    low = [expr.sub(expr.sub(m, 1), start) for (_, m), (start, _) in zip(lengths, parts, strict=True)]
    moves = wd.one_by_one(low, [count for _, count in parts])
    return wd.convolution(x, mv.rev(w, tuple(range(batch, w.ndim))), moves, batch=batch, method="fft")


def _batched(x: Any, others: Any, along: Any, common: Any) -> Any:
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


def _beyond(boundary: str, x: Any, window: Any, fillvalue: Any) -> Any:
    """Return an image with all that windows reach beyond its ends."""
    around = [(m - 1, m - 1) for m in window.shape]
    options = {"constant_values": fillvalue} if boundary == "constant" else {}
    return xp.pad(x, around, mode=boundary, **options)


def _images(name: str, in1: Any, in2: Any, mode: Any) -> tuple[Any, Any, bool]:
    """Return an image and a window, and whether they changed places, as one inside of the other must be the window."""
    choice_of(name, "mode", mode, _MODES)
    x, w = _operands(name, in1, in2)
    if x.ndim != 2:
        raise context_of(name, x, w).fail(f"the arrays have {x.ndim} axes and must have 2")
    if mode != "valid":
        return x, w, False
    _require_one_inside(name, x, w, (0, 1))
    swaps = not all(n >= m for n, m in zip(x.shape, w.shape, strict=True))
    return (w, x, True) if swaps else (x, w, False)


def _parts_of_image(x: Any, kernel: Any, mode: str, is_reversed: bool) -> list[tuple[Size, Size]]:
    """Return where results start among all along each axis, and how many there are."""
    lengths = list(zip(sizes(x), sizes(kernel), strict=True))
    parts = [_part(mode, n, m) for n, m in lengths]
    if mode == "same" and not is_reversed:  # the middle of an even number of elements is right of it
        parts = [(expr.floordiv(m, 2), n) for n, m in lengths]
    for _, count in parts:
        context_of("convolve2d", x, kernel).require(at_least(count, 0), "one of the images has an element")
    return parts


def _over_image(x: Any, kernel: Any, mode: str, boundary: str, fillvalue: Any, is_reversed: bool) -> Any:
    """Return sums of products of an image and a kernel, with what lies beyond its ends."""
    parts = _parts_of_image(x, kernel, mode, is_reversed)
    low = [expr.sub(expr.sub(m, 1), start) for m, (start, _) in zip(sizes(kernel), parts, strict=True)]
    if mode != "valid" and (boundary != "constant" or is_traced(fillvalue) or fillvalue != 0):
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
    how = _BOUNDARIES[choice_of("convolve2d", "boundary", boundary, tuple(_BOUNDARIES))]
    x, w, _ = _images("convolve2d", in1, in2, mode)
    return _over_image(x, mv.rev(w, (0, 1)), mode, how, fillvalue, is_reversed=True)


def correlate2d(in1: Any, in2: Any, mode: Any = "full", boundary: Any = "fill", fillvalue: Any = 0) -> Any:
    """Return the correlation of two matrices; see `convolve2d`."""
    how = _BOUNDARIES[choice_of("correlate2d", "boundary", boundary, tuple(_BOUNDARIES))]
    x, w, swaps = _images("correlate2d", in1, in2, mode)
    out = _over_image(x, ew.conj(w) if w.dtype.kind == "c" else w, mode, how, fillvalue, is_reversed=False)
    return mv.rev(out, (0, 1)) if swaps else out

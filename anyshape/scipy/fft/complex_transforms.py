"""Define the complex transforms of `scipy.fft`, with the arguments of SciPy.

Options that let SciPy overwrite its operand or choose a number of threads have no effect on traced arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyshape import numpy as xp
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import as_traced, axes_of, is_traced, sizes
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.support.packages import scipy_fft

_SWAPPED = {"backward": "forward", None: "forward", "forward": "backward"}  # other norms stay


def _of_one_axis(name: str, summary: str) -> Callable[..., Any]:
    """Build a transform along one axis."""

    def transform(
        x: Any,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        if not is_traced(x, n):
            return getattr(scipy_fft, name)(x, n, axis, norm, overwrite_x, workers, plan=plan)
        return getattr(xp.fft, name)(x, n, axis, norm)

    return _named(transform, name, summary)


def _of_axes(
    name: str, summary: str, default: Any = None, traced: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Build a transform along several axes; `traced` serves traced arrays, or else the function of `numpy.fft`."""

    def transform(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        plan: Any = None,
    ) -> Any:
        if not is_traced(x, s):
            return getattr(scipy_fft, name)(x, s, axes, norm, overwrite_x, workers, plan=plan)
        return (traced or getattr(xp.fft, name))(x, s, axes, norm)

    return _named(transform, name, summary)


def _named(function: Callable[..., Any], name: str, summary: str) -> Callable[..., Any]:
    """Return a function with its public name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


def _real(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    """Return the numbers whose `rfftn` is x: for one element along the last axis SciPy makes one, and NumPy none."""
    array = as_traced(x)
    if s is None and array.ndim:
        axes = axes_of(axes, array.ndim, "irfftn")
        s = [array.shape[axis] for axis in axes]
        if axes:
            context_of("irfftn", array).require(at_least(sizes(array)[axes[-1]], 1), "x has an element along the axis")
            s[-1] = max_dim(2 * s[-1] - 2, 1)
    return xp.fft.irfftn(array, s, axes, norm)


def _hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return _real(xp.conj(x), s, axes, _SWAPPED.get(norm, norm))


def _inverse_hermitian(x: Any, s: Any, axes: Any, norm: Any) -> Any:
    return xp.conj(xp.fft.rfftn(x, s, axes, _SWAPPED.get(norm, norm)))


fft: Callable[..., Any] = _of_one_axis(
    "fft", "Return the discrete Fourier transform of n points along an axis; see `numpy.fft.fft`."
)
ifft: Callable[..., Any] = _of_one_axis("ifft", "Return the inverse of `fft` along an axis.")
rfft: Callable[..., Any] = _of_one_axis(
    "rfft", "Return the first n // 2 + 1 elements of the transform of real numbers along an axis."
)
irfft: Callable[..., Any] = _of_one_axis("irfft", "Return the n real numbers whose `rfft` along an axis is x.")
hfft: Callable[..., Any] = _of_one_axis(
    "hfft", "Return the real transform of a Hermitian signal whose first half is x."
)
ihfft: Callable[..., Any] = _of_one_axis("ihfft", "Return the first half of the Hermitian signal whose `hfft` is x.")
fftn: Callable[..., Any] = _of_axes("fftn", "Return the discrete Fourier transform along several axes, all by default.")
ifftn: Callable[..., Any] = _of_axes("ifftn", "Return the inverse of `fftn`.")
rfftn: Callable[..., Any] = _of_axes(
    "rfftn", "Return the transform of real numbers along several axes: its first half along the last one."
)
irfftn: Callable[..., Any] = _of_axes("irfftn", "Return the real numbers whose `rfftn` is x.", None, _real)
hfftn: Callable[..., Any] = _of_axes(
    "hfftn", "Return the real transform of a Hermitian signal, x its half along the last axis.", None, _hermitian
)
ihfftn: Callable[..., Any] = _of_axes(
    "ihfftn", "Return the half along the last axis of the signal whose `hfftn` is x.", None, _inverse_hermitian
)
fft2: Callable[..., Any] = _of_axes("fft2", "Return the discrete Fourier transform along two axes.", (-2, -1))
ifft2: Callable[..., Any] = _of_axes("ifft2", "Return the inverse of `fft2`.", (-2, -1))
rfft2: Callable[..., Any] = _of_axes(
    "rfft2", "Return the transform of real numbers along two axes: its first half along the last.", (-2, -1)
)
irfft2: Callable[..., Any] = _of_axes("irfft2", "Return the real numbers whose `rfft2` is x.", (-2, -1), _real)
hfft2: Callable[..., Any] = _of_axes(
    "hfft2", "Return the real transform of a Hermitian signal along two axes.", (-2, -1), _hermitian
)
ihfft2: Callable[..., Any] = _of_axes(
    "ihfft2", "Return the half of the signal whose `hfft2` is x.", (-2, -1), _inverse_hermitian
)


def fftfreq(n: Any, d: Any = 1.0, **options: Any) -> Any:
    """Return the frequencies of the transform of n points that are d apart; n may be symbolic."""
    return xp.fft.fftfreq(n, d) if is_traced(n, d) else scipy_fft.fftfreq(n, d, **options)


def rfftfreq(n: Any, d: Any = 1.0, **options: Any) -> Any:
    """Return the n // 2 + 1 frequencies of the transform of n real points that are d apart; n may be symbolic."""
    return xp.fft.rfftfreq(n, d) if is_traced(n, d) else scipy_fft.rfftfreq(n, d, **options)


def fftshift(x: Any, axes: Any = None) -> Any:
    """Return x with the element of frequency 0 in the middle of the axes, all by default."""
    return xp.fft.fftshift(x, axes) if is_traced(x) else scipy_fft.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return x as it was before `fftshift`."""
    return xp.fft.ifftshift(x, axes) if is_traced(x) else scipy_fft.ifftshift(x, axes)

"""Fourier, cosine, sine and Hankel transforms under the names of `scipy.fft`.

Define the complex transforms of `scipy.fft`, with the arguments of SciPy.

Options that let SciPy overwrite its operand or choose a number of threads have no effect on traced arrays.

Define the cosine and sine transforms of `scipy.fft`, of types 1 to 4.

Options that let SciPy overwrite its operand or choose a number of threads have no effect on traced arrays.

Define the fast Hankel transforms of `scipy.fft`, of any number of points that are even in their logarithm.

Source: A. Hamilton, Uncorrelated modes of the non-linear power spectrum, Mon. Not. R. Astron. Soc. 312, 2000.
"""

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy import special
from anyshape.numpy.fft import fitted, norm_of, points_of, steps_of
from anyshape.numpy.operands.promotion import as_traced, axes_of, axis_of, choice_of, is_traced, sizes
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops import elementwise as ew
from anyshape.ops import fourier as fo
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_fft

_SWAPPED = {"backward": "forward", None: "forward", "forward": "backward"}  # other norms stay


def _of_one_axis(name: str, summary: str) -> Callable[..., Any]:
    """Build a transform along one axis."""

    def transform(x, n=None, axis=-1, norm=None, overwrite_x: bool = False, workers=None, *, plan=None):
        return getattr(xp.fft, name)(x, n, axis, norm)

    return _named(transform, name, summary)


def _of_axes(name: str, summary: str, default=None, traced: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Build a transform along several axes; `traced` serves traced arrays, or else the function of `numpy.fft`."""

    def transform(x, s=None, axes=default, norm=None, overwrite_x: bool = False, workers=None, *, plan=None):
        return (traced or getattr(xp.fft, name))(x, s, axes, norm)

    return _named(transform, name, summary)


def _named(function: Callable[..., Any], name: str, summary: str) -> Callable[..., Any]:
    """Return a function with its public name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


def _real(x, s, axes, norm):
    """Return the numbers whose `rfftn` is x: for one element along the last axis SciPy makes one, and NumPy none."""
    array = as_traced(x)
    if s is None and array.ndim:
        axes = axes_of(axes, array.ndim, "irfftn")
        s = [array.shape[axis] for axis in axes]
        if axes:
            context_of("irfftn", array).require(at_least(sizes(array)[axes[-1]], 1), "x has an element along the axis")
            s[-1] = max_dim(2 * s[-1] - 2, 1)
    return xp.fft.irfftn(array, s, axes, norm)


def _hermitian(x, s, axes, norm):
    return _real(xp.conj(x), s, axes, _SWAPPED.get(norm, norm))


def _inverse_hermitian(x, s, axes, norm):
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
    return xp.fft.fftshift(x, axes)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """Return x as it was before `fftshift`."""
    return xp.fft.ifftshift(x, axes)


_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
_INVERSE_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _along_one(name: str, transform: Callable[..., Any], x, type, n, axis, options):
    """Apply the transform of a type along an axis; names of inverses start with i. `options` are norm and scale."""
    norm, orthogonalize = options
    scale = norm_of(name, norm)
    kind = choice_of(name, "type", type, tuple(_INVERSE_TYPE))
    orthogonal = scale == "ortho" if orthogonalize is None else bool(orthogonalize)
    if name.startswith("i"):
        kind, scale = _INVERSE_TYPE[kind], _INVERSE_NORM[scale]
    array = as_traced(x)
    along = axis_of(axis, array.ndim, name)
    smallest = np.float32 if array.dtype == np.float16 else 1.0
    floating = array if array.dtype.kind == "c" else ew.convert(array, np.result_type(array.dtype, smallest))
    return transform(fitted(floating, along, points_of(name, n)), int(kind), along, scale, orthogonal=orthogonal)


def _real_along_axis(name: str, transform: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Build a transform along one axis."""

    def function(x, type=2, n=None, axis=-1, norm=None, overwrite_x: bool = False, workers=None, orthogonalize=None):
        return _along_one(name, transform, x, type, n, axis, (norm, orthogonalize))

    return _named_by_type(function, name, summary)


def _real_along_axes(name: str, transform: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Build a transform along several axes."""

    def function(x, type=2, s=None, axes=None, norm=None, overwrite_x: bool = False, workers=None, orthogonalize=None):
        result = as_traced(x)
        for n, axis in steps_of(name, result, _several(s), _several(axes)):
            result = _along_one(name, transform, result, type, n, axis, (norm, orthogonalize))
        return result

    return _named_by_type(function, name, summary)


def _several(value):
    """Return sizes or axes as a sequence; SciPy takes one number for a sequence of one."""
    return value if value is None or isinstance(value, (tuple, list)) else (value,)


def _named_by_type(function: Callable[..., Any], name: str, summary: str) -> Callable[..., Any]:
    """Return a function with its public name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f'{summary}\n\n`type` is 1 to 4, `norm` "backward", "ortho" or "forward"; see `scipy.fft.{name}`.'
    )
    return function


dct: Callable[..., Any] = _real_along_axis("dct", fo.dct, "Return the discrete cosine transform along an axis.")
idct: Callable[..., Any] = _real_along_axis(
    "idct", fo.dct, "Return the inverse of the discrete cosine transform of this type."
)
dst: Callable[..., Any] = _real_along_axis("dst", fo.dst, "Return the discrete sine transform along an axis.")
idst: Callable[..., Any] = _real_along_axis(
    "idst", fo.dst, "Return the inverse of the discrete sine transform of this type."
)
dctn: Callable[..., Any] = _real_along_axes(
    "dctn", fo.dct, "Return the discrete cosine transform along several axes, all by default."
)
idctn: Callable[..., Any] = _real_along_axes("idctn", fo.dct, "Return the inverse of `dctn` of this type.")
dstn: Callable[..., Any] = _real_along_axes(
    "dstn", fo.dst, "Return the discrete sine transform along several axes, all by default."
)
idstn: Callable[..., Any] = _real_along_axes("idstn", fo.dst, "Return the inverse of `dstn` of this type.")


def _coefficients(n, dln, mu, offset, bias, *, inverse: bool):
    """Return the coefficients of the transform; where one is singular the constant part is left off."""
    high, low = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    k = xp.arange(n // 2 + 1)
    y = pi * k / (n * dln)
    is_zero = k == 0
    usual = [xp.where(is_zero, 1.0, x) + 1j * y for x in (high, low)]
    above, below = (special.loggamma(z) for z in usual)
    angle = xp.imag(above) + xp.imag(below) + 2 * (log(2) - offset) * y
    size = xp.exp(xp.real(above) - xp.real(below) + log(2) * bias)
    first = 2.0**bias * special.poch(low, high - low)
    first = xp.where(first == 0, xp.inf, first) if inverse else xp.where(xp.isinf(first), 0.0, first)
    turned = xp.cos(angle) + 1j * xp.where(2 * k == n, 0.0, xp.sin(angle))  # the last of an even number is real
    return xp.where(is_zero, first, size * turned)


def _biased(x, exponent):
    """Return samples times the exponential of a multiple of their distance from the middle."""
    n = x.shape[-1]
    return x * xp.exp(exponent * (xp.arange(n) - (n - 1) / 2))


def _dtype(a, bias) -> np.dtype:
    """Return the dtype of a transform: single precision stays where there is no bias."""
    is_single = xp.asarray(a).dtype == np.float32 and not is_traced(bias) and np.all(bias == 0)
    return np.dtype(np.float32 if is_single else np.float64)


def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the Hankel transform of order mu of samples along the last axis, whose logarithms are `dln` apart.

    Where the transform is singular SciPy warns, and the result is SciPy's without a warning.
    """
    dtype, x = _dtype(a, bias), real_floats(a)
    dln, mu, offset, bias = (real_floats(v).reshape(()) for v in (dln, mu, offset, bias))
    n = x.shape[-1]
    spectrum = xp.fft.rfft(_biased(x, -bias * dln)) * _coefficients(n, dln, mu, offset, bias, inverse=False)
    return (_biased(xp.fft.irfft(spectrum, n)[..., ::-1], -bias * dln) * xp.exp(-bias * offset)).astype(dtype)


def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the inverse of `fht` along the last axis."""
    dtype, x = _dtype(A, bias), real_floats(A)
    dln, mu, offset, bias = (real_floats(v).reshape(()) for v in (dln, mu, offset, bias))
    n = x.shape[-1]
    factors = xp.conj(_coefficients(n, dln, mu, offset, bias, inverse=True))
    spectrum = xp.fft.rfft(_biased(x, bias * dln) * xp.exp(bias * offset)) / factors
    return _biased(xp.fft.irfft(spectrum, n)[..., ::-1], bias * dln).astype(dtype)


def fhtoffset(dln: Any, mu: Any, initial: Any = 0.0, bias: Any = 0.0) -> Any:
    """Return the offset near an initial one for which `fht` rings least."""
    dln, mu, initial, bias = (real_floats(v) for v in (dln, mu, initial, bias))
    y = pi / (2 * dln)
    angles = [xp.imag(special.loggamma((mu + 1 + q) / 2 + 1j * y)) for q in (bias, -bias)]
    turns = (log(2) - initial) / dln + (angles[0] + angles[1]) / pi
    return initial + (turns - xp.round(turns)) * dln

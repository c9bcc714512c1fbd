"""Functions of `scipy.fft` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.fft import get_workers as get_workers
from scipy.fft import next_fast_len as next_fast_len
from scipy.fft import prev_fast_len as prev_fast_len
from scipy.fft import register_backend as register_backend
from scipy.fft import set_backend as set_backend
from scipy.fft import set_global_backend as set_global_backend
from scipy.fft import set_workers as set_workers
from scipy.fft import skip_backend as skip_backend

from anyshape.scipy.fft.transforms import fftfreq as fftfreq
from anyshape.scipy.fft.transforms import fftshift as fftshift
from anyshape.scipy.fft.transforms import fht as fht
from anyshape.scipy.fft.transforms import fhtoffset as fhtoffset
from anyshape.scipy.fft.transforms import ifftshift as ifftshift
from anyshape.scipy.fft.transforms import ifht as ifht
from anyshape.scipy.fft.transforms import rfftfreq as rfftfreq

def dct(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the discrete cosine transform along an axis."""

def dctn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the discrete cosine transform along several axes, all by default."""

def dst(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the discrete sine transform along an axis."""

def dstn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the discrete sine transform along several axes, all by default."""

def fft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the discrete Fourier transform of n points along an axis; see `numpy.fft.fft`."""

def fft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the discrete Fourier transform along two axes."""

def fftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the discrete Fourier transform along several axes, all by default."""

def hfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the real transform of a Hermitian signal whose first half is x."""

def hfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the real transform of a Hermitian signal along two axes."""

def hfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the real transform of a Hermitian signal, x its half along the last axis."""

def idct(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the inverse of the discrete cosine transform of this type."""

def idctn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the inverse of `dctn` of this type."""

def idst(
    x: Any,
    type: Any = 2,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the inverse of the discrete sine transform of this type."""

def idstn(
    x: Any,
    type: Any = 2,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    orthogonalize: Any = None,
) -> Any:
    """Return the inverse of `dstn` of this type."""

def ifft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the inverse of `fft` along an axis."""

def ifft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the inverse of `fft2`."""

def ifftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the inverse of `fftn`."""

def ihfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the first half of the Hermitian signal whose `hfft` is x."""

def ihfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the half of the signal whose `hfft2` is x."""

def ihfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the half along the last axis of the signal whose `hfftn` is x."""

def irfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the n real numbers whose `rfft` along an axis is x."""

def irfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the real numbers whose `rfft2` is x."""

def irfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the real numbers whose `rfftn` is x."""

def rfft(
    x: Any,
    n: Any = None,
    axis: Any = -1,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the first n // 2 + 1 elements of the transform of real numbers along an axis."""

def rfft2(
    x: Any,
    s: Any = None,
    axes: Any = (-2, -1),
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the transform of real numbers along two axes: its first half along the last."""

def rfftn(
    x: Any,
    s: Any = None,
    axes: Any = None,
    norm: Any = None,
    overwrite_x: Any = False,
    workers: Any = None,
    *,
    plan: Any = None,
) -> Any:
    """Return the transform of real numbers along several axes: its first half along the last one."""

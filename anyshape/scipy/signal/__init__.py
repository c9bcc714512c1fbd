"""Functions of `scipy.signal` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.signal.convolving import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from anyshape.scipy.signal.filtering import (
    detrend,
    filtfilt,
    hilbert,
    lfilter,
    lfilter_zi,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)
from anyshape.scipy.signal.spectra import coherence, csd, istft, spectrogram, stft, welch
from anyshape.support.packages import scipy_signal

__all__ = [
    "coherence", "convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve", "filtfilt",
    "hilbert", "istft", "lfilter", "lfilter_zi", "oaconvolve", "sosfilt", "sosfilt_zi", "sosfiltfilt", "spectrogram",
    "stft", "welch",
]  # fmt: skip

_SCIPY = Module(scipy_signal, "scipy.signal")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())

"""Functions of `scipy.signal` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.numpy.serve import Module
from anyshape.scipy.signal import windows
from anyshape.scipy.signal.convolving import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from anyshape.scipy.signal.design import envelope, firwin, firwin2, freqs, freqs_zpk, group_delay
from anyshape.scipy.signal.digital_filters import (
    bessel,
    bilinear,
    butter,
    cheby1,
    cheby2,
    cont2discrete,
    ellip,
    iirfilter,
    iirnotch,
    iirpeak,
    zpk2sos,
)
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
from anyshape.scipy.signal.representations import (
    bilinear_zpk,
    lfiltic,
    lp2bp_zpk,
    lp2bs_zpk,
    lp2hp_zpk,
    lp2lp_zpk,
    sos2tf,
    sos2zpk,
    tf2zpk,
    zpk2tf,
)
from anyshape.scipy.signal.resampling import decimate, deconvolve, resample, resample_poly, upfirdn
from anyshape.scipy.signal.responses import (
    argrelextrema,
    argrelmax,
    argrelmin,
    czt,
    find_peaks,
    freqz,
    freqz_sos,
    freqz_zpk,
    sosfreqz,
    zoom_fft,
)
from anyshape.scipy.signal.smoothing import (
    medfilt,
    medfilt2d,
    order_filter,
    savgol_filter,
    symiirorder1,
    symiirorder2,
    wiener,
)
from anyshape.scipy.signal.spectra import coherence, csd, istft, periodogram, spectrogram, stft, welch
from anyshape.scipy.signal.waveforms import (
    chirp,
    correlation_lags,
    gauss_spline,
    gausspulse,
    lombscargle,
    sawtooth,
    square,
    sweep_poly,
    vectorstrength,
)
from anyshape.scipy.signal.windows import get_window
from anyshape.support.packages import scipy_signal

__all__ = [
    "argrelextrema", "argrelmax", "argrelmin", "bessel", "bilinear", "bilinear_zpk", "butter", "cheby1", "cheby2",
    "chirp", "coherence", "cont2discrete", "convolve", "convolve2d", "correlate", "correlate2d", "correlation_lags",
    "csd", "czt", "decimate", "deconvolve", "detrend", "ellip", "envelope", "fftconvolve", "filtfilt", "find_peaks",
    "firwin", "firwin2", "freqs", "freqs_zpk", "freqz", "freqz_sos", "freqz_zpk", "gauss_spline", "gausspulse",
    "get_window", "group_delay", "hilbert", "iirfilter", "iirnotch", "iirpeak", "istft", "lfilter", "lfilter_zi",
    "lfiltic", "lombscargle", "lp2bp_zpk", "lp2bs_zpk", "lp2hp_zpk", "lp2lp_zpk", "medfilt", "medfilt2d",
    "oaconvolve", "order_filter", "periodogram", "resample", "resample_poly", "savgol_filter", "sawtooth", "sos2tf",
    "sos2zpk", "sosfilt", "sosfilt_zi", "sosfiltfilt", "sosfreqz", "spectrogram", "square", "stft", "sweep_poly",
    "symiirorder1", "symiirorder2", "tf2zpk", "upfirdn", "vectorstrength", "welch", "wiener", "windows",
    "zoom_fft", "zpk2sos", "zpk2tf",
]  # fmt: skip

_SCIPY = Module(scipy_signal, "scipy.signal")
__getattr__, __dir__ = _SCIPY.named, _SCIPY.public_names

"""Functions of `scipy.signal` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_signal

_SERVED = Module(
    scipy_signal,
    "scipy.signal",
    own={"": "windows", "windows": "get_window"},
    through={
        "convolving": (
            "convolve convolve2d correlate correlate2d deconvolve fftconvolve oaconvolve resample resample_poly upfirdn"
        ),
        "design": (
            "argrelextrema bilinear correlation_lags czt envelope find_peaks freqz lfiltic lombscargle sawtooth tf2zpk "
            "zoom_fft zpk2sos zpk2tf"
        ),
        "filtering": "detrend hilbert lfilter lfilter_zi sosfilt",
        "smoothing": "medfilt medfilt2d order_filter savgol_filter symiirorder1 symiirorder2",
        "spectra": "csd istft periodogram spectrogram stft",
    },
    lent=(
        "argrelmax argrelmin bessel bilinear_zpk butter cheby1 cheby2 chirp coherence cont2discrete decimate ellip "
        "filtfilt firwin firwin2 freqs freqs_zpk freqz_sos freqz_zpk gauss_spline gausspulse group_delay iirfilter "
        "iirnotch iirpeak lp2bp_zpk lp2bs_zpk lp2hp_zpk lp2lp_zpk sos2tf sos2zpk sosfilt_zi sosfiltfilt sosfreqz "
        "square sweep_poly vectorstrength welch wiener"
    ),
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names

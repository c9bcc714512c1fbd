"""Functions of `scipy.signal` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.signal import CZT as CZT
from scipy.signal import BadCoefficients as BadCoefficients
from scipy.signal import ShortTimeFFT as ShortTimeFFT
from scipy.signal import StateSpace as StateSpace
from scipy.signal import TransferFunction as TransferFunction
from scipy.signal import ZerosPolesGain as ZerosPolesGain
from scipy.signal import ZoomFFT as ZoomFFT
from scipy.signal import abcd_normalize as abcd_normalize
from scipy.signal import argrelmax as argrelmax
from scipy.signal import argrelmin as argrelmin
from scipy.signal import band_stop_obj as band_stop_obj
from scipy.signal import bessel as bessel
from scipy.signal import besselap as besselap
from scipy.signal import bilinear_zpk as bilinear_zpk
from scipy.signal import bode as bode
from scipy.signal import buttap as buttap
from scipy.signal import butter as butter
from scipy.signal import buttord as buttord
from scipy.signal import cheb1ap as cheb1ap
from scipy.signal import cheb1ord as cheb1ord
from scipy.signal import cheb2ap as cheb2ap
from scipy.signal import cheb2ord as cheb2ord
from scipy.signal import cheby1 as cheby1
from scipy.signal import cheby2 as cheby2
from scipy.signal import check_COLA as check_COLA
from scipy.signal import check_NOLA as check_NOLA
from scipy.signal import chirp as chirp
from scipy.signal import choose_conv_method as choose_conv_method
from scipy.signal import closest_STFT_dual_window as closest_STFT_dual_window
from scipy.signal import coherence as coherence
from scipy.signal import cont2discrete as cont2discrete
from scipy.signal import cspline1d as cspline1d
from scipy.signal import cspline1d_eval as cspline1d_eval
from scipy.signal import cspline2d as cspline2d
from scipy.signal import czt_points as czt_points
from scipy.signal import dbode as dbode
from scipy.signal import decimate as decimate
from scipy.signal import dfreqresp as dfreqresp
from scipy.signal import dimpulse as dimpulse
from scipy.signal import dlsim as dlsim
from scipy.signal import dlti as dlti
from scipy.signal import dstep as dstep
from scipy.signal import ellip as ellip
from scipy.signal import ellipap as ellipap
from scipy.signal import ellipord as ellipord
from scipy.signal import filtfilt as filtfilt
from scipy.signal import find_peaks_cwt as find_peaks_cwt
from scipy.signal import findfreqs as findfreqs
from scipy.signal import firls as firls
from scipy.signal import firwin as firwin
from scipy.signal import firwin2 as firwin2
from scipy.signal import firwin_2d as firwin_2d
from scipy.signal import freqresp as freqresp
from scipy.signal import freqs as freqs
from scipy.signal import freqs_zpk as freqs_zpk
from scipy.signal import freqz_sos as freqz_sos
from scipy.signal import freqz_zpk as freqz_zpk
from scipy.signal import gammatone as gammatone
from scipy.signal import gauss_spline as gauss_spline
from scipy.signal import gausspulse as gausspulse
from scipy.signal import group_delay as group_delay
from scipy.signal import hilbert2 as hilbert2
from scipy.signal import iircomb as iircomb
from scipy.signal import iirdesign as iirdesign
from scipy.signal import iirfilter as iirfilter
from scipy.signal import iirnotch as iirnotch
from scipy.signal import iirpeak as iirpeak
from scipy.signal import impulse as impulse
from scipy.signal import invres as invres
from scipy.signal import invresz as invresz
from scipy.signal import kaiser_atten as kaiser_atten
from scipy.signal import kaiser_beta as kaiser_beta
from scipy.signal import kaiserord as kaiserord
from scipy.signal import lp2bp as lp2bp
from scipy.signal import lp2bp_zpk as lp2bp_zpk
from scipy.signal import lp2bs as lp2bs
from scipy.signal import lp2bs_zpk as lp2bs_zpk
from scipy.signal import lp2hp as lp2hp
from scipy.signal import lp2hp_zpk as lp2hp_zpk
from scipy.signal import lp2lp as lp2lp
from scipy.signal import lp2lp_zpk as lp2lp_zpk
from scipy.signal import lsim as lsim
from scipy.signal import lti as lti
from scipy.signal import max_len_seq as max_len_seq
from scipy.signal import minimum_phase as minimum_phase
from scipy.signal import normalize as normalize
from scipy.signal import peak_prominences as peak_prominences
from scipy.signal import peak_widths as peak_widths
from scipy.signal import place_poles as place_poles
from scipy.signal import qspline1d as qspline1d
from scipy.signal import qspline1d_eval as qspline1d_eval
from scipy.signal import qspline2d as qspline2d
from scipy.signal import remez as remez
from scipy.signal import residue as residue
from scipy.signal import residuez as residuez
from scipy.signal import savgol_coeffs as savgol_coeffs
from scipy.signal import sepfir2d as sepfir2d
from scipy.signal import sos2tf as sos2tf
from scipy.signal import sos2zpk as sos2zpk
from scipy.signal import sosfilt_zi as sosfilt_zi
from scipy.signal import sosfiltfilt as sosfiltfilt
from scipy.signal import sosfreqz as sosfreqz
from scipy.signal import spline_filter as spline_filter
from scipy.signal import square as square
from scipy.signal import ss2tf as ss2tf
from scipy.signal import ss2zpk as ss2zpk
from scipy.signal import step as step
from scipy.signal import sweep_poly as sweep_poly
from scipy.signal import tf2sos as tf2sos
from scipy.signal import tf2ss as tf2ss
from scipy.signal import unique_roots as unique_roots
from scipy.signal import unit_impulse as unit_impulse
from scipy.signal import vectorstrength as vectorstrength
from scipy.signal import welch as welch
from scipy.signal import wiener as wiener
from scipy.signal import zpk2ss as zpk2ss

from anyshape.scipy.signal import windows as windows
from anyshape.scipy.signal.convolving import convolve as convolve
from anyshape.scipy.signal.convolving import convolve2d as convolve2d
from anyshape.scipy.signal.convolving import correlate as correlate
from anyshape.scipy.signal.convolving import correlate2d as correlate2d
from anyshape.scipy.signal.convolving import deconvolve as deconvolve
from anyshape.scipy.signal.convolving import fftconvolve as fftconvolve
from anyshape.scipy.signal.convolving import oaconvolve as oaconvolve
from anyshape.scipy.signal.convolving import resample as resample
from anyshape.scipy.signal.convolving import upfirdn as upfirdn
from anyshape.scipy.signal.design import argrelextrema as argrelextrema
from anyshape.scipy.signal.design import bilinear as bilinear
from anyshape.scipy.signal.design import correlation_lags as correlation_lags
from anyshape.scipy.signal.design import czt as czt
from anyshape.scipy.signal.design import find_peaks as find_peaks
from anyshape.scipy.signal.design import lfiltic as lfiltic
from anyshape.scipy.signal.design import lombscargle as lombscargle
from anyshape.scipy.signal.design import sawtooth as sawtooth
from anyshape.scipy.signal.design import tf2zpk as tf2zpk
from anyshape.scipy.signal.design import zoom_fft as zoom_fft
from anyshape.scipy.signal.design import zpk2sos as zpk2sos
from anyshape.scipy.signal.design import zpk2tf as zpk2tf
from anyshape.scipy.signal.filtering import detrend as detrend
from anyshape.scipy.signal.filtering import hilbert as hilbert
from anyshape.scipy.signal.filtering import lfilter as lfilter
from anyshape.scipy.signal.filtering import lfilter_zi as lfilter_zi
from anyshape.scipy.signal.filtering import sosfilt as sosfilt
from anyshape.scipy.signal.smoothing import medfilt as medfilt
from anyshape.scipy.signal.smoothing import medfilt2d as medfilt2d
from anyshape.scipy.signal.smoothing import order_filter as order_filter
from anyshape.scipy.signal.smoothing import symiirorder1 as symiirorder1
from anyshape.scipy.signal.smoothing import symiirorder2 as symiirorder2
from anyshape.scipy.signal.windows import get_window as get_window

def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
    average: Any = "mean",
) -> Any:
    """Return frequencies and the cross power spectrum of two signals of one length, by Welch's method."""

def envelope(
    z: Any,
    bp_in: Any = (1, None),
    *,
    n_out: Any = None,
    squared: Any = False,
    residual: Any = "lowpass",
    axis: Any = -1,
) -> Any:
    """Return the envelope of a signal within a band of its spectrum, and the residual of that band."""

def freqz(
    b: Any,
    a: Any = 1,
    worN: Any = 512,
    whole: Any = False,
    plot: Any = None,
    fs: Any = 6.283185307179586,
    include_nyquist: Any = False,
) -> Any:
    """Return frequencies and the response of a filter of numerator b and denominator a, vectors."""

def istft(
    Zxx: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: Any = True,
    boundary: Any = True,
    time_axis: Any = -1,
    freq_axis: Any = -2,
    scaling: Any = "spectrum",
) -> Any:
    """Return times and the signals whose short-time Fourier transform is given."""

def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
) -> Any:
    """Return frequencies and the power spectrum of whole signals, of any length for a window of cosines."""

def resample_poly(
    x: Any,
    up: Any,
    down: Any,
    axis: Any = 0,
    window: Any = ("kaiser", 5.0),
    padtype: Any = "constant",
    cval: Any = None,
) -> Any:
    """Return samples at up / down times their rate, by a filter without phase; `window` is a name or the filter."""

def savgol_filter(
    x: Any,
    window_length: Any,
    polyorder: Any,
    deriv: Any = 0,
    delta: Any = 1.0,
    axis: Any = -1,
    mode: Any = "interp",
    cval: Any = 0.0,
) -> Any:
    """Return the values, or derivatives, of polynomials fitted to windows around each sample along an axis."""

def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = ("tukey_periodic", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: Any = True,
    scaling: Any = "density",
    axis: Any = -1,
    mode: Any = "psd",
) -> Any:
    """Return frequencies, times and power spectra of segments, or what `mode` names of their transforms."""

def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = "hann_periodic",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: Any = True,
    boundary: Any = "zeros",
    padded: Any = True,
    axis: Any = -1,
    scaling: Any = "spectrum",
) -> Any:
    """Return frequencies, times, and the short-time Fourier transform of signals along an axis."""

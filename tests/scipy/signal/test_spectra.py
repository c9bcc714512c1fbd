"""Compare short-time transforms and power spectra with SciPy at many lengths of one trace."""

import numpy as np
import pytest
import scipy.signal

from anyshape import check_grads, jit
from anyshape.errors import ArgumentError
from anyshape.scipy import signal

RNG = np.random.default_rng(0)


def signals(*shape, dtype=float):
    x = RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if dtype is complex else x.astype(dtype)


def agree(function, arguments, traces=1):
    """Assert that one traced function gives SciPy's results, dtypes and shapes for each tuple of arguments."""
    traced = jit(lambda *xs: function(signal, *xs))
    for xs in arguments:
        for a, b in zip(function(scipy.signal, *xs), traced(*xs), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            tolerance = 1e-5 if a.dtype.char in "fF" else 1e-10
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
    assert traced.cache_info().traces == traces


@pytest.mark.parametrize("boundary", ["zeros", "odd", None])
def test_short_time_transforms_are_scipys_at_every_length(boundary):
    lines = [(signals(n),) for n in (16, 17, 40)]
    agree(lambda sp, x: sp.stft(x, 2.0, nperseg=8, boundary=boundary), lines)
    agree(lambda sp, x: sp.stft(x, nperseg=9, noverlap=2, nfft=12, detrend="linear", boundary=boundary), lines)


def test_short_time_transforms_take_other_axes_dtypes_and_windows():
    window = np.hamming(8)
    agree(
        lambda sp, x: sp.stft(x, window=window, nperseg=8, axis=0, scaling="psd"), [(signals(n, 2),) for n in (20, 31)]
    )
    agree(lambda sp, x: sp.stft(x, nperseg=8, return_onesided=False, padded=False), [(signals(20, dtype=complex),)])
    agree(lambda sp, x: sp.stft(x, nperseg=8), [(signals(2, 20, dtype=np.float32),)])


def test_inverse_transforms_are_scipys():
    z = [(scipy.signal.stft(signals(n), nperseg=8)[2],) for n in (16, 30)]
    agree(lambda sp, z: sp.istft(z, 4.0), z)
    agree(lambda sp, z: sp.istft(z, window="hamming", noverlap=5, boundary=False, scaling="psd"), z)
    two = scipy.signal.stft(signals(2, 30, dtype=complex), nperseg=8, return_onesided=False)[2]
    agree(lambda sp, z: sp.istft(z, input_onesided=False), [(two,)])


def test_power_spectra_are_scipys_at_every_length():
    lines = [(signals(n), signals(n)) for n in (20, 33)]
    agree(lambda sp, x, y: sp.welch(x, 3.0, nperseg=8), lines)
    agree(lambda sp, x, y: sp.welch(x, nperseg=9, detrend=False, scaling="spectrum", average="median"), lines)
    agree(lambda sp, x, y: sp.csd(x, y, nperseg=8, nfft=16), lines)
    agree(lambda sp, x, y: sp.coherence(x, y, nperseg=8), lines)
    agree(lambda sp, x: sp.welch(x, nperseg=8, axis=0), [(signals(20, 2),)])
    for mode in ("psd", "complex", "magnitude", "phase"):
        agree(lambda sp, x, y, mode=mode: sp.spectrogram(x, nperseg=16, mode=mode), lines)


def test_derivatives_agree_with_differences():
    check_grads(lambda x: np.log1p(signal.welch(x, nperseg=8)[1]).sum(), (signals(20),), order=2)
    check_grads(lambda x: signal.istft(signal.stft(x, nperseg=8)[2] ** 2)[1].sum(), (signals(20),))


def test_lengths_that_do_not_fit_are_named():
    with pytest.raises(ArgumentError, match="noverlap=8 is not less than nperseg, 8"):
        jit(lambda x: signal.stft(x, nperseg=8, noverlap=8))(signals(20))
    with pytest.raises(ArgumentError, match="nfft=4 is less than nperseg, 8"):
        jit(lambda x: signal.welch(x, nperseg=8, nfft=4))(signals(20))

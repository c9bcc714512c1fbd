"""Compare waveforms, smoothing, resampling and responses of anyshape.scipy.signal with SciPy's at many sizes."""

import numpy as np
import pytest
import scipy.signal

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, ArgumentError
from anyshape.scipy import signal

pytestmark = pytest.mark.filterwarnings("ignore")
B, A = scipy.signal.butter(3, 0.4)
SOS, ZPK = scipy.signal.butter(3, 0.4, output="sos"), scipy.signal.butter(3, 0.4, output="zpk")
# functions of the module and of positive samples
CASES = {
    "chirp": lambda s, x: s.chirp(x, 1.0, 2.0, 5.0) + s.chirp(x, 2.0, 1.0, 3.0, "quadratic", 30, vertex_zero=False),
    "chirp, logarithmic": lambda s, x: s.chirp(x, 1.0, 2.0, 5.0, "log") + s.chirp(x, 2.0, 1.0, 2.0, "hyperbolic"),
    "chirp, hyperbolic": lambda s, x: np.real(s.chirp(x, 5.0, 9.0, 1.0, "hyp", complex=True)),
    "sawtooth": lambda s, x: s.sawtooth(9 * x, 0.3) + s.sawtooth(7 * x),
    "square": lambda s, x: s.square(9 * x, 0.3) + s.square(x, 1.5),
    "gausspulse": lambda s, x: list(s.gausspulse(x, 2, retquad=True, retenv=True)),
    "correlation_lags": lambda s, x: [s.correlation_lags(x.shape[0], 4, m) for m in ("full", "same", "valid")],
    "vectorstrength": lambda s, x: list(s.vectorstrength(x, np.array([0.7, 2.0]))),
    "lombscargle": lambda s, x: s.lombscargle(x * 5, x**2, np.array([0.7, 2.0])),
    "lombscargle, normalised": lambda s, x: s.lombscargle(x * 5, x**2, np.array([0.7, 2.0]), normalize=True, weights=x),
    "lombscargle, floating": lambda s, x: np.abs(
        s.lombscargle(x * 5, x**2, np.array([0.7, 2.0]), normalize="amplitude", floating_mean=True)
    ),
    "medfilt": lambda s, x: s.medfilt(x, 5),
    "medfilt2d": lambda s, x: s.medfilt2d(np.stack([x, x**2, 1 / x]), [3, 5]),
    "order_filter": lambda s, x: s.order_filter(np.stack([x, x**2]), np.array([[1, 0, 1]]), 1),
    "wiener": lambda s, x: s.wiener(np.stack([x, x**2]), [1, 3]) + s.wiener(x, 3, 0.2),
    "savgol_filter": lambda s, x: s.savgol_filter(np.stack([x, x**2]), 5, 2) + s.savgol_filter(x, 7, 3, 1, 0.5),
    "savgol_filter, even": lambda s, x: s.savgol_filter(x, 4, 2, mode="wrap") + s.savgol_filter(x, 6, 3),
    "savgol_filter, extended": lambda s, x: [s.savgol_filter(x, 5, 2, mode=m) for m in ("mirror", "nearest", "wrap")],
    "savgol_filter, constant": lambda s, x: s.savgol_filter(
        np.stack([x, x**2], 1), 5, 2, axis=0, mode="constant", cval=2
    ),
    "upfirdn": lambda s, x: s.upfirdn(np.array([1.0, 0.5, 0.2]), np.stack([x, x**2], 1), 3, 2, axis=0),
    "upfirdn of one": lambda s, x: s.upfirdn(x, x[:5], 1, 3),
    "resample_poly": lambda s, x: s.resample_poly(x, 3, 2) + s.resample_poly(x, 6, 4, padtype="mean"),
    "resample_poly, fewer": lambda s, x: s.resample_poly(
        np.stack([x, x**2]), 2, 3, axis=1, window=np.array([0.2, 0.6, 0.2])
    ),
    "decimate": lambda s, x: s.decimate(np.concatenate([x] * 5), 2),
    "decimate, finite": lambda s, x: s.decimate(x, 3, 4, "fir") + s.decimate(x, 3, 6, "fir", zero_phase=False),
    "decimate, one way": lambda s, x: s.decimate(np.stack([x, x**2], 1), 2, axis=0, zero_phase=False),
    "resample": lambda s, x: [s.resample(x, 8), s.resample(x, 13), s.resample(x, 6)],
    "resample, complex": lambda s, x: [np.abs(s.resample(x + 1j * x**2, k)) for k in (4, 6, 13, 14)],
    "resample, times": lambda s, x: list(s.resample(np.stack([x, x**2], 1), 5, np.arange(3.0))),
    "deconvolve": lambda s, x: list(s.deconvolve(x, np.array([1.0, 0.5, 0.2]))),
    "freqz": lambda s, x: [
        np.abs(s.freqz(B * x[0], A, x)[1]),
        s.freqz(x, 1, 8, fs=4.0)[0],
        np.real(s.freqz(x, 1, 8)[1]),
    ],
    "freqz_sos": lambda s, x: [
        np.real(s.freqz_sos(np.concatenate([SOS[:, :3] * x[0], SOS[:, 3:]], 1), 9)[1]),
        np.imag(s.sosfreqz(SOS, x)[1]),
    ],
    "freqz_zpk": lambda s, x: [np.real(s.freqz_zpk(ZPK[0] * x[0], *ZPK[1:], worN=9)[1]), s.freqz_zpk(*ZPK, x)[0]],
    "czt": lambda s, x: [np.abs(s.czt(x)), np.real(s.czt(x, 5, np.exp(-0.3j), 1.1)), np.imag(s.czt(x[:4], 11))],
    "zoom_fft": lambda s, x: [np.real(s.zoom_fft(x, [0.2, 0.7], 5)), np.abs(s.zoom_fft(x, 0.5, fs=3, endpoint=True))],
    "argrelmax": lambda s, x: [*s.argrelmax(x), *s.argrelmin(np.stack([x, x**2], 1), order=2, mode="wrap")],
    "argrelextrema": lambda s, x: [*s.argrelextrema(x, np.greater_equal, order=2)],
    "find_peaks": lambda s, x: [
        s.find_peaks(x)[0],
        s.find_peaks(x, height=0.5, threshold=0.01, distance=2)[1]["peak_heights"],
    ],
    "periodogram": lambda s, x: [
        *s.periodogram(x),
        s.periodogram(x, 2.0, "hann", scaling="spectrum", detrend="linear")[1],
    ],
    "periodogram, padded": lambda s, x: [s.periodogram(x, nfft=k, window="hamming")[1] for k in (6, 16)],
    "periodogram, both sides": lambda s, x: list(s.periodogram(np.stack([x, x**2], 1) * 1j, axis=0)),
}
FIXED = ("correlation_lags", "argrelmax", "argrelextrema", "square")


def samples(n):
    return np.random.default_rng(n).uniform(0.2, 1.8, n)


def flat(results):
    """Return all numbers of results one after the other."""
    parts = results if isinstance(results, tuple | list) else [results]
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("name", CASES)
def test_results_are_scipys_at_many_sizes_from_one_trace(name):
    traced = jit(lambda x: CASES[name](signal, x))
    for n in (9, 10, 14):
        x = samples(n)
        actual, expected = traced(x), CASES[name](scipy.signal, x)
        pairs = zip(actual, expected, strict=True) if isinstance(expected, list) else [(actual, expected)]
        for one, other in pairs:
            assert np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, 1e-9, 1e-10)
    assert traced.cache_info().traces == 1


SLOW = {name: k % 3 for k, name in enumerate(CASES)}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if k else ()) for n, k in SLOW.items()])
def test_derivatives_and_batches(name):
    x = samples(11)
    if name not in FIXED:
        check_grads(lambda x: np.sum(np.sin(flat(CASES[name](signal, x)))), (x,), order=1, rtol=1e-4, atol=1e-5)
    if name not in ("argrelmax", "argrelextrema", "find_peaks"):
        rows = np.stack([x, x[::-1]])
        batch = vmap(lambda x: flat(CASES[name](signal, x)))(rows)
        np.testing.assert_allclose(batch[1], flat(CASES[name](scipy.signal, rows[1])), 1e-9, 1e-10)


def test_single_precision_stays_single():
    x = samples(9).astype(np.float32)
    for name in ("medfilt", "savgol_filter", "resample_poly", "upfirdn", "decimate, one way", "periodogram, padded"):
        actual, expected = (flat(CASES[name](s, x)) for s in (signal, scipy.signal))
        traced = flat(jit(lambda x, name=name: CASES[name](signal, x))(x))
        assert traced.dtype == expected.dtype == actual.dtype
        np.testing.assert_allclose(traced, expected, 1e-4, 1e-4)


def test_wrong_arguments_are_named():
    x = samples(9)
    for function, match in [
        (lambda x: signal.order_filter(x, np.ones(4), 1), "domain has the shape"),
        (lambda x: signal.upfirdn([1.0], x, mode="wrap"), "mode='wrap'"),
        (lambda x: signal.resample(x, 4, window="hann"), "window or domain"),
        (lambda x: signal.find_peaks(x, height=x[0])[0], "a condition is traced"),
        (lambda x: signal.argrelmax(x, order=0), "order=0"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            jit(function)(x)
    with pytest.raises(AnyshapeError, match="must be at least"):
        jit(lambda x: signal.savgol_filter(x, 11, 2))(x)
    assert grad(lambda x: signal.find_peaks(x, height=0)[1]["peak_heights"].sum())(x).sum() > 0


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("symiirorder1", [(0.9, 0.3), (2.0, -0.2), (1.0, 0.0), (1.0, 1.2)]),
        ("symiirorder2", [(0.3, 0.5), (0.2, 0.0), (0.2, np.pi), (0.6, 1.2), (1.1, 0.2)]),
    ],
)
def test_recurrences_in_both_directions(name, cases):
    traced, signals = jit(getattr(signal, name)), np.random.default_rng(0).normal(size=100)
    for n in (0, 1, 2, 5, 40, 100):
        for case in cases:
            try:
                expected = getattr(scipy.signal, name)(signals[:n], *case)
            except (ValueError, IndexError) as error:
                with pytest.raises(type(error)):
                    traced(signals[:n], *case)
                continue
            np.testing.assert_allclose(traced(signals[:n], *case), expected, 1e-11, 1e-12, err_msg=f"{n}, {case}")
    assert traced.cache_info().traces == 1
    short = signals[:40].astype(np.float32)
    assert traced(short, *cases[0]).dtype == np.float32
    check_grads(getattr(signal, name), (signals[:40], *cases[0]), order=1)

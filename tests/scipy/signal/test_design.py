"""Compare designs and conversions of filters, and envelopes, with SciPy; and their derivatives with differences."""

import numpy as np
import pytest
import scipy.signal

from anyshape import check_grads, grad, jit
from anyshape.errors import ArgumentError, CheckError
from anyshape.scipy import signal

RNG = np.random.default_rng(0)
ZEROS, POLES = np.array([0.3 + 0.4j, 0.3 - 0.4j]), np.array([-0.5, -0.2 + 0.6j, -0.2 - 0.6j])
B, A = np.array([0.3, 0.2, 0.5]), np.array([1.4, -0.4, 0.2])
GRID = np.linspace(0.1, 2, 4)
SECTIONS = scipy.signal.butter(4, 0.3, output="sos")

CALLS = {
    "zpk2tf": (lambda m, z, p, k: m.zpk2tf(z, p, k), ZEROS.real, POLES.real, np.array(1.3)),
    "bilinear": (lambda m, z, p, k: m.bilinear_zpk(z, p, k, 2.0), ZEROS, POLES, np.array(1.3)),
    "lp2lp": (lambda m, z, p, k: m.lp2lp_zpk(z, p, k, 1.7), ZEROS, POLES, np.array(1.3)),
    "lp2hp": (lambda m, z, p, k: m.lp2hp_zpk(z, p, k, 1.7), ZEROS, POLES, np.array(1.3)),
    "lp2bp": (lambda m, z, p, k: m.lp2bp_zpk(z, p, k, 1.7, 0.6), ZEROS, POLES, np.array(1.3)),
    "lp2bs": (lambda m, z, p, k: m.lp2bs_zpk(z, p, k, 1.7, 0.6), ZEROS, POLES, np.array(1.3)),
    "sos2tf": (lambda m, sos: m.sos2tf(sos), SECTIONS),
    "freqs": (lambda m, b, a, w: m.freqs(b, a, w), B, A, GRID),
    "freqs_zpk": (lambda m, z, p, w: m.freqs_zpk(z, p, 1.2, w), ZEROS, POLES, GRID),
    "group_delay": (lambda m, b, a, w: m.group_delay((b, a), w), B, A, GRID),
    "lfiltic": (lambda m, b, a, y, x: m.lfiltic(b, a, y, x), B, A, GRID, GRID[:1]),
    "lfiltic without inputs": (lambda m, b, a, y: m.lfiltic(b, a, y), B, A, GRID[:1]),
    "gauss_spline": (lambda m, x: m.gauss_spline(x, 3), GRID),
    "sweep_poly": (lambda m, t, p: m.sweep_poly(t, p, 30.0), GRID, A),
    "firwin": (lambda m, c: m.firwin(7, c, pass_zero=False, window=("kaiser", 3.0), fs=10.0), np.array([1.3, 2.5])),
    "firwin stop": (lambda m, c: m.firwin(7, c, width=0.2, scale=False), np.array([0.2, 0.5])),
    "firwin high": (lambda m, c: m.firwin(5, c, pass_zero="highpass"), np.array([0.2])),
    "firwin2": (lambda m, f, g: m.firwin2(7, f, g), np.array([0, 0.3, 0.3, 0.6, 1]), np.array([1.0, 1, 0.5, 0, 0])),
    "firwin2 odd": (
        lambda m, f, g: m.firwin2(8, f, g, antisymmetric=True, window=None, nfreqs=40, fs=2.0),
        np.array([0, 0.3, 1]), np.array([0, 1.0, 2.0]),
    ),
}  # fmt: skip
WIDTHS = {"low": np.array(0.3), "high": np.array(0.4), "band": np.array([0.2, 0.5]), "stop": np.array([0.2, 0.6])}
KINDS = [
    (order, band, analog, form) for order in range(4) for band in WIDTHS for analog in (0, 1) for form in ("ba", "sos")
]
SYSTEM = (
    np.array([[-1.0, 0.3, 0.1], [0.2, -2.0, 0.4], [0.1, 0.1, -0.5]]), np.array([[1.0, 0], [0.5, 1], [0, 1]]),
    np.array([[1.0, 0.2, 0.1]]), np.array([[0.1, 0.2]]),
)  # fmt: skip
DESIGNS = {
    "butter": lambda m, w, *kind: m.butter(kind[0], w, *kind[1:]),
    "cheby1": lambda m, w, *kind: m.cheby1(kind[0], 1.0 + 0 * w.ravel()[0] if m is signal else 1.0, w, *kind[1:]),
    "cheby2": lambda m, w, *kind: m.cheby2(kind[0], 30 + 0 * w.ravel()[0] if m is signal else 30, w, *kind[1:]),
    "ellip": lambda m, w, *kind: m.ellip(kind[0], 1.0, 30.0, w, *kind[1:]),
    "bessel": lambda m, w, *kind: m.bessel(kind[0], w, *kind[1:]),
}
for k, (order, band, *rest) in enumerate(KINDS):
    for j, (family, design) in enumerate(DESIGNS.items()):
        if (k + 2 * j) % 9 == 0:  # each family takes turns with the kinds
            CALLS[f"{family} {order} {band} {rest}"] = (
                lambda m, w, d=design, o=order, b=band, r=rest: d(m, w, o, b, *r), WIDTHS[band],
            )  # fmt: skip
for method in ("zoh", "foh", "bilinear", "euler", "backward_diff", "impulse"):
    CALLS[f"cont2discrete, {method}"] = (
        lambda m, a, b, c, dt, k=method: m.cont2discrete((a, b, c, SYSTEM[3] * (k != "impulse")), dt, k)[:4],
        *SYSTEM[:3], np.array(0.3),
    )  # fmt: skip
for pairing in ("nearest", "keep_odd", "minimal"):
    CALLS[f"zpk2sos, {pairing}"] = (lambda m, k, p=pairing: m.zpk2sos(ZEROS, POLES, k, p), np.array(1.3))
CALLS["iirnotch"] = (lambda m, w, q: m.iirnotch(w, q, 200.0), np.array(60.0), np.array(30.0))
CALLS["iirpeak"] = (lambda m, w, q: m.iirpeak(w, q), np.array(0.3), np.array(5.0))
CALLS["bilinear of polynomials"] = (lambda m, b, a: m.bilinear(b, a, 1.7), B[:2], A)
SLOPES = ["cheby1 2 low [1, 'ba']", "cheby2 2 band [0, 'sos']", "ellip 3 band [0, 'sos']", "cont2discrete, foh"]


def equal(ours, theirs):
    pairs = zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True)
    for a, b in pairs:
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, 1e-11, 1e-12)


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_scipy(name):
    function, *arguments = CALLS[name]
    equal(jit(lambda *xs: function(signal, *xs))(*arguments), function(scipy.signal, *arguments))


@pytest.mark.parametrize("name", ["lp2bs", "sos2tf", "group_delay", "lfiltic", "firwin", "freqs", *SLOPES, "iirnotch"])
def test_derivatives(name):
    function, *arguments = CALLS[name]
    real = [np.real(x) if name != "lp2bs" else x for x in arguments]
    loss = lambda *xs: sum(np.sum(np.abs(part) ** 2) for part in flat(function(signal, *xs)))
    slopes = grad(loss, argnums=tuple(range(len(real))))(*real)
    moved = lambda sign: loss_of(function, [x + sign * 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape) for x in real])
    total = sum(np.sum(np.real(s) * np.cos(np.arange(s.size)).reshape(s.shape)) for s in slopes)
    np.testing.assert_allclose(total, (moved(1) - moved(-1)) / 2e-6, 1e-5, 1e-6)


def flat(result):
    return result if isinstance(result, tuple) else (result,)


def loss_of(function, arguments):
    return sum(np.sum(np.abs(part) ** 2) for part in flat(function(scipy.signal, *arguments)))


@pytest.mark.slow
def test_roots_of_filters():
    for ours, theirs in (
        (jit(signal.tf2zpk)(B, A), scipy.signal.tf2zpk(B, A)),
        (jit(signal.sos2zpk)(SECTIONS), scipy.signal.sos2zpk(SECTIONS)),
    ):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(*[np.sort_complex(np.atleast_1d(x)) for x in (a, b)], 1e-9, 1e-12)
    gain = lambda b: np.sum(np.abs(signal.tf2zpk(b, A)[0]) ** 2)
    check_grads(gain, (B,), order=2)


def test_a_filter_of_any_length_from_one_trace():
    taps = jit(lambda window, cutoff: signal.firwin(window.shape[0], cutoff))
    for n in (1, 2, 5, 8):
        np.testing.assert_allclose(taps(np.ones(n), 0.3), scipy.signal.firwin(n, 0.3), 1e-12, 1e-15)
    assert taps.cache_info().traces == 1
    with pytest.raises(CheckError, match="frequency"):
        taps(np.ones(5), 1.3)
    with pytest.raises(ArgumentError, match="at least two"):
        jit(lambda c: signal.firwin(5, c, pass_zero="bandpass"))(np.array([0.3]))


def test_wrong_frequencies_are_refused():
    for arguments in [
        (3, 1.0),
        (3, -0.2),
        (3, np.array([0.1, 0.2])),
        (3, np.array([0.4, 0.2]), "band"),
        (3, 0.2, "no"),
    ]:
        order, w, *rest = arguments
        with pytest.raises(ValueError):
            scipy.signal.butter(order, w, *rest)
        with pytest.raises(ValueError, match=r"Wn|frequenc|bandtype"):
            jit(lambda w, order=order, rest=rest: signal.butter(order, w, *rest))(w)
    filtered = jit(lambda x, w: signal.sosfilt(signal.butter(4, w, output="sos"), x))
    for n in (1, 2, 5, 17):
        x = RNG.normal(size=n)
        np.testing.assert_allclose(filtered(x, 0.3), scipy.signal.sosfilt(SECTIONS, x), 1e-12, 1e-14)
    assert filtered.cache_info().traces == 1


BANDS = [(1, None), (None, None), (0, 2), (-2, 1), (1, 3)]


@pytest.mark.parametrize("band", BANDS, ids=str)
def test_envelopes_at_any_length(band):
    options = [{"residual": "lowpass"}, {"n_out": 7, "residual": "all"}, {"residual": None, "squared": True}]
    function = lambda m, x: tuple(m.envelope(x, band, **o) for o in options)
    traced = jit(lambda x: function(signal, x))
    for x in (RNG.normal(size=(2, 9)), RNG.normal(size=(1, 9)) + 1j * RNG.normal(size=9)):
        for n in (1, 2, 5, 8, 9):
            part = x[..., :n]
            try:
                expected = function(scipy.signal, part)
            except ValueError:
                with pytest.raises(CheckError, match="inside of n"):
                    traced(part)
                continue
            equal(traced(part), expected)
    assert traced.cache_info().traces == 2  # real and complex

"""Compare anyshape.scipy.signal with SciPy at many sizes of one trace, and derivatives with differences."""

import itertools

import numpy as np
import pytest
import scipy.signal

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import AnyshapeError, DTypeError, UnsupportedFunctionError
from anyshape.scipy import signal

RNG = np.random.default_rng(0)
MODES = ("full", "same", "valid")
SOS = scipy.signal.butter(5, 0.3, output="sos")


def numbers(*shape, dtype=float):
    x = 3 * RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if dtype is complex else x.astype(dtype)


def agree(function, arguments, traces=None):
    """Assert that one traced function gives SciPy's results, dtypes and shapes for each tuple of arguments."""
    traced = jit(lambda *xs: function(signal, *xs))
    for xs in arguments:
        expected, result = function(scipy.signal, *xs), traced(*xs)
        pairs = zip(expected, result, strict=True) if isinstance(expected, tuple) else [(expected, result)]
        for a, b in pairs:
            assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
            tolerance = 1e-4 if np.asarray(a).dtype.char in "fF" else 1e-10
            np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
    assert traces is None or traced.cache_info().traces == traces


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve"])
def test_convolutions_of_vectors_are_scipys_at_every_size(name, mode):
    for dtype in (float, complex, np.float32, *([int] if "fft" not in name and "oa" not in name else [])):
        pairs = [
            (numbers(n, dtype=dtype), numbers(m, dtype=dtype)) for n, m in itertools.product((1, 2, 3, 8), repeat=2)
        ]
        agree(lambda sp, x, w: getattr(sp, name)(x, w, mode), pairs, traces=1)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("method", ["direct", "fft"])
def test_convolutions_of_images_are_scipys(name, method):
    shapes = [((5, 4), (2, 3)), ((3, 3), (3, 3)), ((4, 2), (2, 1)), ((3, 2), (2, 4))]
    pairs = [(numbers(*a), numbers(*b)) for a, b in shapes]
    agree(lambda sp, x, w: getattr(sp, name)(x, w, "same", method), pairs, traces=1)
    agree(lambda sp, x, w: getattr(sp, name)(x, w, "valid", method), [*pairs[:3], pairs[0][::-1]])
    with pytest.raises(AnyshapeError, match="no array is inside of the other"):
        jit(lambda x, w: getattr(signal, name)(x, w, "valid"))(*pairs[3])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("boundary", [("fill", 0), ("fill", 2.5), ("wrap", 0), ("symm", 0)])
def test_images_go_on_beyond_their_ends(mode, boundary):
    shapes = [((5, 4), (2, 3)), ((4, 5), (4, 2)), ((3, 3), (1, 3)), ((6, 4), (5, 4))]
    pairs = [(numbers(*a), numbers(*b)) for a, b in shapes]
    for name in ("convolve2d", "correlate2d"):
        agree(lambda sp, x, w, name=name: getattr(sp, name)(x, w, mode, *boundary), pairs)
    agree(lambda sp, x, w: sp.correlate2d(x, w, mode), [(numbers(2, 3, dtype=complex), numbers(4, 5, dtype=complex))])


def test_other_axes_of_transforms_are_broadcast():
    agree(lambda sp, x, w: sp.fftconvolve(x, w, "same", axes=0), [(numbers(5, 1), numbers(3, 4))])
    agree(lambda sp, x, w: sp.oaconvolve(x, w, axes=[-1]), [(numbers(2, 3, 5), numbers(2, 1, 2))])


# -- filters

FILTERS = [
    (np.array([0.3, 0.5]), np.array([1.7, 0.4, -0.2])),
    (numbers(4), np.array([2.0])),
    (numbers(1), np.r_[1, 0.5]),
]


@pytest.mark.parametrize(("b", "a"), FILTERS)
def test_filters_are_scipys_at_every_size(b, a):
    agree(lambda sp, b, a, x: sp.lfilter(b, a, x), [(b, a, numbers(n)) for n in (1, 2, 3, 30)], traces=1)
    agree(lambda sp, b, a, x: sp.lfilter(b, a, x, axis=0), [(b, a, numbers(n, 2, dtype=complex)) for n in (1, 7)])
    order = max(len(a), len(b)) - 1
    states = [(b, a, numbers(2, n), numbers(1, order)) for n in (1, 2, 9)]
    agree(lambda sp, b, a, x, zi: sp.lfilter(b, a, x, zi=zi), states)
    agree(lambda sp, b, a: sp.lfilter_zi(b, a), [(b, a)])
    for padtype in ("odd", "even", "constant", None):
        agree(lambda sp, b, a, x, p=padtype: sp.filtfilt(b, a, x, padtype=p), [(b, a, numbers(2, n)) for n in (13, 20)])


def test_sections_are_scipys():
    agree(lambda sp, x: sp.sosfilt(SOS, x, axis=0), [(numbers(n, 2),) for n in (1, 30)], traces=1)
    agree(lambda sp, sos, x, zi: sp.sosfilt(sos, x, zi=zi), [(SOS, numbers(2, 5), numbers(3, 2, 2))])
    agree(lambda sp, sos: sp.sosfilt_zi(sos), [(SOS,)])
    agree(lambda sp, x: sp.sosfiltfilt(SOS, x), [(numbers(n),) for n in (30, 50)], traces=1)
    agree(lambda sp, sos, x: sp.sosfiltfilt(sos, x), [(SOS, numbers(50))])  # whose padding depends on coefficients


def test_a_filter_and_its_gradient_have_one_trace():
    gradient = jit(grad(lambda b, a, x: (np.sin(signal.filtfilt(b, a, x)) ** 2).sum(), argnums=(0, 1, 2)))
    b, a = FILTERS[0]
    for n in (12, 15, 40):
        assert [g.shape for g in gradient(b, a, numbers(n))] == [(2,), (3,), (n,)]
    assert gradient.cache_info().traces == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda b, a, x: signal.lfilter(b, a, x),
        lambda b, a, x: signal.lfilter(b, a, x, zi=a[:2] * 0.5)[1],
        lambda b, a, x: signal.filtfilt(b, a, x),
        lambda b, a, x: signal.convolve(x, b, "same") * a[0],
        lambda b, a, x: signal.fftconvolve(x, a, "valid") * b[0],
        lambda b, a, x: signal.hilbert(x * b[0], 11).imag,
        lambda b, a, x: signal.detrend(x * x, bp=3) * a[0],
    ],
)  # fmt: skip
def test_derivatives_agree_with_differences(function):
    x = np.random.default_rng(1).normal(size=12)  # the same in each order of the tests
    check_grads(lambda *args: (np.sin(function(*args)) ** 2).sum(), (*FILTERS[0], x), order=2)


def test_filters_of_examples_are_mapped():
    b, a = FILTERS[0]
    x, many = numbers(3, 9), a * np.array([[1.0], [1.1], [1.3]])
    f = lambda a, x: signal.lfilter(b, a, x)
    expected = [scipy.signal.lfilter(b, row, line) for row, line in zip(many, x)]
    np.testing.assert_allclose(vmap(f)(many, x), expected)
    np.testing.assert_allclose(vmap(f, (0, None))(many, x)[1], scipy.signal.lfilter(b, many[1], x))
    np.testing.assert_allclose(vmap(f, (None, 0))(a, x), scipy.signal.lfilter(b, a, x))


# -- trends and analytic signals


def test_trends_and_analytic_signals_are_scipys():
    for dtype in (float, np.float32, complex, int):
        agree(lambda sp, x: sp.detrend(x), [(numbers(n, dtype=dtype),) for n in (1, 2, 8)], traces=1)
    agree(lambda sp, x: sp.detrend(x, axis=0, bp=[4, 9]), [(numbers(n, 2),) for n in (9, 20)], traces=1)
    agree(lambda sp, x: sp.detrend(x, 0, "constant"), [(numbers(5, 2, dtype=int),)])
    agree(lambda sp, x: sp.hilbert(x), [(numbers(n),) for n in (1, 2, 7, 8)], traces=1)
    agree(lambda sp, x: sp.hilbert(x, 6, axis=0), [(numbers(n, 2, dtype=np.float32),) for n in (4, 9)], traces=1)


# -- errors


def test_what_is_missing_or_wrong_is_named():
    x = numbers(9)
    with pytest.raises(UnsupportedFunctionError, match=r"signal\.gammatone"):
        jit(lambda x: signal.gammatone(x[0], "fir"))(x)
    np.testing.assert_array_equal(signal.medfilt(x), scipy.signal.medfilt(x))
    with pytest.raises(DTypeError, match="operands are int64"):
        jit(lambda x: signal.lfilter([1], [1], x))(np.arange(3))
    with pytest.raises(AnyshapeError, match="must be greater than padlen, which is 9"):
        jit(lambda x: signal.filtfilt([1.0], [1.0, 0.2, 0.1], x))(x)
    with pytest.raises(AnyshapeError, match="zi has 3 elements along the axis, and the filter needs 1"):
        jit(lambda x: signal.lfilter([1.0], [1.0, 0.2], x, zi=[1.0, 2.0, 3.0]))(x)

"""Functions at sizes 0, 1, 2 and 5 from one trace: values of SciPy, or the class of its error."""

import warnings

import numpy as np
import pytest
import scipy.fft
import scipy.ndimage
import scipy.optimize
import scipy.signal

import anyshape
from anyshape import grad, jit
from anyshape.scipy import fft, ndimage, optimize, signal

X = np.array([0.3, 0.9, 0.2, 0.7, 0.4])
IMAGE = np.outer(X, 1 + X[::-1])
ROWS = np.stack([X, X**2, np.cos(5 * X)], 1)
FILTERS = "median_filter grey_erosion grey_closing morphological_laplace white_tophat percentile_filter rank_filter"
BINARY = "binary_erosion binary_closing binary_fill_holes binary_hit_or_miss binary_propagation"


def rows_of(x):
    """Return nested tuples and lists of arrays as an array."""
    return np.stack([rows_of(part) for part in x]) if isinstance(x, (tuple, list)) else x


def cases():
    """Yield names with functions of a module, an operand along whose first axes sizes vary, and these axes."""
    for name in FILTERS.split():
        extra = {"percentile_filter": (30,), "rank_filter": (1,)}.get(name, ())
        yield name, ndimage, scipy.ndimage, lambda m, x, n=name, e=extra: getattr(m, n)(x, *e, size=(3, 2)), IMAGE
    for name in BINARY.split():
        yield name, ndimage, scipy.ndimage, lambda m, x, n=name: getattr(m, n)(x > 0.5), IMAGE
    for name in ("minimum", "maximum"):
        yield name, ndimage, scipy.ndimage, lambda m, x, n=name: getattr(m, n)(x, (x > 0.5) + 0, [0, 1]), IMAGE
        yield name, ndimage, scipy.ndimage, lambda m, x, n=name: getattr(m, n)(x), IMAGE
    yield "medfilt", signal, scipy.signal, lambda m, x: m.medfilt(x, 3), IMAGE
    yield "deconvolve", signal, scipy.signal, lambda m, x: m.deconvolve(x, [0.5, 2.0, 1.0]), X
    for factors in ((1, 1), (2, 1), (3, 2), (1, 3)):
        yield "upfirdn", signal, scipy.signal, lambda m, x, f=factors: m.upfirdn([1.0, 2.0, 0.5], x, *f), X
    for name in ("welch", "periodogram", "stft", "spectrogram"):
        yield name, signal, scipy.signal, lambda m, x, n=name: getattr(m, n)(x), IMAGE
    for name in ("csd", "coherence"):
        yield name, signal, scipy.signal, lambda m, x, n=name: getattr(m, n)(x, X[:3], nperseg=2), ROWS
    for mode in ("full", "same", "valid"):
        for name in ("convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d"):
            window = np.ones((2, 1)) + np.arange(2)[:, None]
            yield name, signal, scipy.signal, lambda m, x, n=name, w=window, k=mode: getattr(m, n)(x, w, k), IMAGE
    for name in ("wiener", "detrend"):
        yield name, signal, scipy.signal, lambda m, x, n=name: getattr(m, n)(x), IMAGE
    yield "sosfilt", signal, scipy.signal, lambda m, x: m.sosfilt([[1.0, 2.0, 0.5, 1.0, 0.3, 0.1]] * 2, x), X
    yield "savgol_filter", signal, scipy.signal, lambda m, x: m.savgol_filter(x, 3, 1, mode="nearest"), X
    yield "get_window", signal, scipy.signal, lambda m, x: m.get_window("hann", x.shape[0]) * x, X
    yield "lombscargle", signal, scipy.signal, lambda m, x: m.lombscargle(x, 1 + x, np.array([1.0, 2.0])), X
    yield "czt", signal, scipy.signal, lambda m, x: m.czt(x, 3), X
    for name in ("sum_labels", "mean", "variance", "standard_deviation", "median"):
        for index in (None, 0, [0]):
            labelled = lambda m, x, n=name, i=index: getattr(m, n)(x, (x > 9) + 0, i)
            yield name, ndimage, scipy.ndimage, labelled, IMAGE
    yield "zoom", ndimage, scipy.ndimage, lambda m, x: m.zoom(x, 1.5, order=2, mode="nearest"), IMAGE
    yield "rosen_der", optimize, scipy.optimize, lambda m, x: m.rosen_der(x), X
    yield "fsolve", optimize, scipy.optimize, lambda m, x: m.fsolve(lambda y: y**3 + y - x, x), X
    yield "isotonic_regression", optimize, scipy.optimize, lambda m, x: m.isotonic_regression(x).x, X
    yield "lsq_linear", optimize, scipy.optimize, lambda m, x: m.lsq_linear(x, x @ np.ones(3)).x, ROWS
    yield "nnls", optimize, scipy.optimize, lambda m, x: m.nnls(x, x @ np.ones(3))[1], ROWS


def edge_cases():
    """Yield the same of functions whose errors have classes of their own, or whose results have other axes."""
    for index in (0, [0], [[0, 1], [1, 0]]):
        centre = lambda m, x, i=index: rows_of(m.center_of_mass(x, (x > 0.5) + 0, i))
        yield "center_of_mass", ndimage, scipy.ndimage, centre, IMAGE[:2] + 1
    yield "convolve, fft", signal, scipy.signal, lambda m, x: m.convolve(x, X[:2], "same", "fft"), X
    yield "lfilter", signal, scipy.signal, lambda m, x: m.lfilter([1.0, 2.0], [2.0], x), X
    yield "lombscargle", signal, scipy.signal, lambda m, x: m.lombscargle(1 + x, x, np.array([2.0])), X
    yield "frequencies", signal, scipy.signal, lambda m, x: m.lombscargle(X, X**2, x, normalize=True), X
    for name, kind in (("dct", 1), ("dst", 1), ("dct", 2)):
        yield f"{name}, type {kind}", fft, scipy.fft, lambda m, x, n=name, k=kind: getattr(m, n)(x, k), X
    for name in ("fftfreq", "rfftfreq"):
        yield name, fft, scipy.fft, lambda m, x, n=name: getattr(m, n)(x.shape[0]), X
    for order in (None, 1, "fro"):
        yield "cond", anyshape.numpy.linalg, np.linalg, lambda m, x, p=order: m.cond(np.diag(x), p), X
    for name in ("inv", "slogdet", "eigvals", "matrix_power"):
        extra = (2,) if name == "matrix_power" else ()
        yield name, anyshape.numpy.linalg, np.linalg, lambda m, x, n=name, e=extra: getattr(m, n)(x, *e), ROWS[:, :1]


BY_SIZE = (
    "welch periodogram stft spectrogram csd coherence fftconv oaconv savgol_filter czt fsolve con correlate frequencies"
)


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "function", "operand"), [pytest.param(*c, id=c[0]) for c in (*cases(), *edge_cases())]
)
def test_small_sizes(name, ours, theirs, function, operand):
    traced = jit(lambda x: function(ours, x))
    for n in (5, 2, 1, 0):
        x = operand[:n, :n] if operand is IMAGE else operand[:n]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = function(theirs, x)
        except (ValueError, IndexError, TypeError, RuntimeError, ZeroDivisionError) as error:
            with pytest.raises(type(error)):
                traced(x)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no element is NaN
            actual = traced(x)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (actual, expected)], strict=True):
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, 1e-9, 1e-9)
    assert traced.cache_info().traces == 1 or any(name.startswith(other) for other in BY_SIZE.split())


def test_underdetermined_equations_have_a_solution_and_no_derivative():
    solve = lambda b: optimize.lsq_linear(ROWS[:2], b).x
    np.testing.assert_allclose(jit(solve)(X[:2]), scipy.optimize.lsq_linear(ROWS[:2], X[:2]).x, 1e-9)
    assert np.all(np.isnan(grad(lambda b: solve(b)[0])(X[:2])))


def test_what_scipy_refuses_at_run_time_is_an_error():
    for message, function, argument in (
        ("converge", lambda m, c: m.optimize.bisect(lambda t: t**3 - c, 0, 9, maxiter=3), 1.2),
        ("converge", lambda m, c: m.optimize.newton(lambda t: t * t + c, 0.3, maxiter=3), 1.2),
        ("first coefficient", lambda m, a: m.signal.lfilter([1.0], a, X), np.zeros(2)),
    ):
        with pytest.raises((ValueError, RuntimeError)):
            function(scipy, argument)
        with pytest.raises(ValueError, match=message):
            jit(lambda c, function=function: function(anyshape.scipy, c))(argument)
    for median in (scipy.ndimage.median_filter, jit(lambda x, size: ndimage.median_filter(x, 3))):
        with pytest.raises(TypeError):
            median(1j * X, 3)
    unfinished = lambda m, c: m.bisect(lambda t: t**3 - c, 0, 9, maxiter=3, disp=False)
    assert jit(lambda c: unfinished(optimize, c))(1.2) == unfinished(scipy.optimize, 1.2)
    whole = np.arange(20)
    filtered = jit(lambda x: signal.filtfilt([1, 2], [2, 1], x))(whole)
    np.testing.assert_allclose(filtered, scipy.signal.filtfilt([1, 2], [2, 1], whole), 1e-12, 1e-14)
    x = np.append(np.inf, np.arange(9.0))  # reaches two elements at most, in one pass and in both
    filtered = jit(lambda x: signal.filtfilt([0.5, 0.3], [1.0], x, padtype=None))(x)
    np.testing.assert_allclose(filtered, scipy.signal.filtfilt([0.5, 0.3], [1.0], x, padtype=None))


def test_numbers_that_are_not_finite_stay_so():
    matrix, x = np.array([[1.0, np.nan], [0.0, 2.0]]), np.array([0.0, 1.0, 3.0, np.nan])
    assert np.all(np.isnan(jit(anyshape.scipy.linalg.sinm)(matrix)))
    for value in (np.nan, np.inf):
        wide = np.array([[1.0, value], [0.0, 2.0]])
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(jit(lambda x: np.linalg.cond(x, 1))(wide), np.linalg.cond(wide, 1))
    at, y = np.array([0.5, 1.5, 9.0, -1.0, np.nan]), np.array([0.0, 2.0, 3.0, 5.0])
    np.testing.assert_array_equal(jit(anyshape.numpy.interp)(at, x, y), np.interp(at, x, y))


def test_the_extreme_of_no_elements_is_an_error():
    traced = jit(lambda x, labels: ndimage.maximum(x, labels))
    assert traced(X, np.arange(5)) == 0.9
    with pytest.raises(ValueError):
        scipy.ndimage.maximum(X, np.zeros(5, int))
    with pytest.raises(Exception, match="no element has a label"):
        traced(X, np.zeros(5, int))

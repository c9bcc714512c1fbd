"""Results of functions of samples, images and vectors have SciPy's dtypes, for small dtypes too."""

import importlib

import numpy as np
import pytest

from anyshape import jit

Y, X = np.array([3, 1, 2, 5, 4, 7, 6, 2]), np.arange(1, 9)
# module, and functions of it, of samples y and of x; x keeps float64 in half of the tries
GATE = {
    "integrate": {
        "trapezoid": lambda m, y, x: m.trapezoid(y, x),
        "cumulative_simpson of one": lambda m, y, x: m.cumulative_simpson(y[:1]),
        "cumulative_simpson of two": lambda m, y, x: m.cumulative_simpson(y[:2], dx=0.5, initial=0),
        "cumulative_simpson at points": lambda m, y, x: m.cumulative_simpson(y, x=x),
    },
    "signal": {
        "fftconvolve": lambda m, y, x: m.fftconvolve(y, y[:3]),
        "detrend": lambda m, y, x: m.detrend(y),
        "welch": lambda m, y, x: m.welch(y, nperseg=4)[1],
        "csd": lambda m, y, x: m.csd(y, x, nperseg=4)[1],
        "freqz": lambda m, y, x: m.freqz(y, 1, 4)[1],
    },
    "ndimage": {
        "gaussian_filter": lambda m, y, x: m.gaussian_filter(y, 1.0),
        "uniform_filter1d": lambda m, y, x: m.uniform_filter1d(y, 3),
        "shift": lambda m, y, x: m.shift(y, 0.5),
        "white_tophat": lambda m, y, x: m.white_tophat(y, 3),
    },
    "spatial.distance": {
        "cityblock": lambda m, y, x: m.cityblock(y, x),
        "weighted cityblock": lambda m, y, x: m.cityblock(y, x, np.ones(8)),
        "sqeuclidean": lambda m, y, x: m.sqeuclidean(y, x),
        "correlation": lambda m, y, x: m.correlation(y, x),
    },
}
FURTHER = {
    "integrate": {
        "cumulative_trapezoid": lambda m, y, x: m.cumulative_trapezoid(y, x),
        "romb": lambda m, y, x: m.romb(y[:5]),
        "simpson": lambda m, y, x: m.simpson(y[:7]),
    },
    "interpolate": {
        "CubicSpline": lambda m, y, x: m.CubicSpline(x, y)(1.5),
        "PchipInterpolator": lambda m, y, x: m.PchipInterpolator(x, y)(1.5),
        "interp1d": lambda m, y, x: m.interp1d(x, y)(1.5),
        "make_interp_spline": lambda m, y, x: m.make_interp_spline(x, y)(1.5),
        "BSpline": lambda m, y, x: m.BSpline(x, y[:5], 2)(4.5),
    },
    "signal": {
        "convolve": lambda m, y, x: m.convolve(y, y[:3]),
        "lfilter": lambda m, y, x: m.lfilter([1.0, 0.5], [1.0, 0.2], y),
        "savgol_filter": lambda m, y, x: m.savgol_filter(y, 5, 2),
        "resample_poly": lambda m, y, x: m.resample_poly(y, 3, 2),
        "medfilt": lambda m, y, x: m.medfilt(y, 3),
        "hilbert": lambda m, y, x: m.hilbert(y),
        "stft": lambda m, y, x: m.stft(y, nperseg=4)[2],
    },
    "ndimage": {
        "median_filter": lambda m, y, x: m.median_filter(y, 3),
        "sobel": lambda m, y, x: m.sobel(y),
        "gaussian_laplace": lambda m, y, x: m.gaussian_laplace(y, 1.0),
        "zoom": lambda m, y, x: m.zoom(y, 1.5),
        "map_coordinates": lambda m, y, x: m.map_coordinates(y, np.array([[0.5, 1.5]])),
        "variance": lambda m, y, x: m.variance(y),
        "spline_filter": lambda m, y, x: m.spline_filter(y),
    },
    "spatial.distance": {
        "chebyshev": lambda m, y, x: m.chebyshev(y, x),
        "canberra": lambda m, y, x: m.canberra(y, x),
        "cdist": lambda m, y, x: m.cdist(y.reshape(4, 2), x.reshape(4, 2)),
    },
}
DTYPES = ("float32", "float16", "int8", "uint8", "bool")


def differences(module, name, function, dtype, is_mixed):
    """Yield what differs from SciPy's result, where SciPy has one."""
    y = (Y % 2 == 0) if dtype == "bool" else Y.astype(dtype)
    x = X.astype(float if is_mixed or dtype == "bool" else dtype)
    try:
        expected = np.asarray(function(importlib.import_module(f"scipy.{module}"), y, x))
    except (ValueError, TypeError, RuntimeError):
        return
    ours = importlib.import_module(f"anyshape.scipy.{module}")
    actual = np.asarray(jit(lambda y, x: function(ours, y, x), optimize="off")(y, x))
    tolerance = 1e-2 if dtype == "float16" else 2e-4
    close = np.allclose(actual, expected, tolerance, tolerance) if actual.shape == expected.shape else False
    if actual.dtype != expected.dtype or not close:
        yield f"{module}.{name} of {dtype}{', float64' * is_mixed}: {actual.dtype} {actual}, not {expected!r}"


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("table", [GATE, pytest.param(FURTHER, marks=pytest.mark.slow)], ids=["gate", "further"])
def test_results_have_scipys_dtypes(table):
    wrong = [
        difference
        for module, functions in table.items()
        for k, (name, function) in enumerate(functions.items())
        for j, dtype in enumerate(DTYPES)
        for difference in differences(module, name, function, dtype, (j + k) % 2)
    ]
    assert not wrong, "\n".join(wrong)

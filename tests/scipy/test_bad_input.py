"""Bad input raises an error of the class that NumPy or SciPy raises, also where a run meets it."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal

import anyshape.numpy as anp
from anyshape import jit
from anyshape.scipy import interpolate, ndimage, optimize, signal

X, NONE, WHOLE = np.arange(3.0), np.zeros(0), np.arange(4)
line = lambda x, a, b: a + b * x
BAD = {
    "curve_fit, few points": (lambda m, x: m[0].curve_fit(line, x[:1], x[:1])[0], X),
    "curve_fit, no points": (lambda m, x: m[0].curve_fit(line, x, x)[0], NONE),
    "polyfit, no points": (lambda m, x: m[1].polyfit(x, x, 1), NONE),
    "polyfit, two lengths": (lambda m, x: m[1].polyfit(x, x[:2], 1), X),
    "polyfit, degree": (lambda m, x: m[1].polyfit(x, x, -1), X),
    "splrep, few points": (lambda m, x: m[2].splrep(x, x)[1], X),
    "splrep, two lengths": (lambda m, x: m[2].splrep(x, x[:2])[1], X),
    "splrep, degree": (lambda m, x: m[2].splrep(x, x, k=7)[1], np.arange(9.0)),
    "CubicSpline, one point": (lambda m, x: m[2].CubicSpline(x[:1], x[:1])(0.5), X),
    "gaussian_filter, mode": (lambda m, x: m[3].gaussian_filter(x, 1.0, mode="odd"), X),
    "convolve, mode": (lambda m, x: m[3].convolve(x, [1.0, 2.0], mode="odd"), X),
    "map_coordinates, mode": (lambda m, x: m[3].map_coordinates(x, [[0.5]], mode="odd"), X),
    "shift, order": (lambda m, x: m[3].shift(x, 1.0, order=7), X),
    "uniform_filter, origin": (lambda m, x: m[3].uniform_filter(x, 3, origin=5), X),
    "lfilter, integers": (lambda m, x: m[4].lfilter([1, 2], [2, 1], x), WHOLE),
    "lfilter, first coefficient": (lambda m, x: m[4].lfilter([1.0], [0.0, 1.0], x), X),
    "resample, negative": (lambda m, x: m[4].resample(x, -1), X),
    "resample, no points": (lambda m, x: m[4].resample(x, 3), NONE),
    "filtfilt, few points": (lambda m, x: m[4].filtfilt([1.0, 2.0], [1.0, 0.5], x), X),
    "brentq, equal signs": (lambda m, x: m[0].brentq(lambda t: t * t + x[2], 0.0, 1.0), X),
    "brentq, iterations": (lambda m, x: m[0].brentq(lambda t: t * t - x[2], 0.0, 9.0, maxiter=1), X),
    "newton, iterations": (lambda m, x: m[0].newton(lambda t: t * t + x[2], 1.0), X),
    "bisect, iterations": (lambda m, x: m[0].bisect(lambda t: t * t - x[2], 0.0, 9.0, maxiter=2), X),
}
OURS = optimize, anp, interpolate, ndimage, signal
THEIRS = scipy.optimize, np, scipy.interpolate, scipy.ndimage, scipy.signal


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_error_of_scipy(name):
    function, x = BAD[name]
    with pytest.raises(Exception) as expected:
        function(THEIRS, x)
    kind = next(k for k in expected.type.__mro__ if k.__module__ == "builtins")
    with pytest.raises(kind):
        jit(lambda x: function(OURS, x))(x)

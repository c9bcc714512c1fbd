"""Compare windows of a symbolic number of samples with SciPy's."""

import numpy as np
import pytest
import scipy.signal

from anyshape import check_grads, jit
from anyshape.errors import ArgumentError
from anyshape.scipy import signal
from anyshape.scipy.signal.windows import _ALIASES, FORMULAS, LENT

PARAMETERS = {
    "general_cosine": ([0.3, 0.5, 0.2],),
    "general_hamming": (0.7,),
    "kaiser": (4.5,),
    "gaussian": (2.5,),
    "general_gaussian": (1.5, 3.0),
    "exponential": (None, 2.0),
    "tukey": (0.4,),
    "taylor": (5, 40),
}
SIZES = (0, 1, 2, 3, 4, 5, 8, 13)


@pytest.mark.parametrize("name", (*FORMULAS, *LENT.split()))
def test_windows_have_the_values_of_scipy_at_all_sizes_from_one_trace(name):
    whole = (name, *PARAMETERS[name]) if name in PARAMETERS else name
    for periodic in (True, False):
        by_name = jit(lambda x, periodic=periodic: signal.get_window(whole, x.shape[0], periodic))
        function = lambda x, periodic=periodic: getattr(signal.windows, name)(
            x.shape[0], *PARAMETERS.get(name, ()), sym=not periodic
        )
        by_function = jit(function)
        for n in SIZES:
            x = np.zeros(n)
            if n:  # SciPy refuses the periodic window of no samples for some names
                np.testing.assert_allclose(by_name(x), scipy.signal.get_window(whole, n, periodic), 1e-12, 1e-14)
            expected = getattr(scipy.signal.windows, name)(n, *PARAMETERS.get(name, ()), sym=not periodic)
            np.testing.assert_allclose(by_function(x), expected, 1e-12, 1e-14)
        assert by_name.cache_info().traces == by_function.cache_info().traces == 1


def test_aliases_are_those_of_scipy():
    ending = {"hann_periodic": "hann", "hann_symmetric": "hann"}
    for alias, name in (_ALIASES | ending).items():
        window = (alias, *PARAMETERS[name]) if name in PARAMETERS else alias
        traced = jit(lambda x, window=window: signal.get_window(window, x.shape[0]))
        symmetric = alias == "hann_symmetric"
        expected = scipy.signal.get_window(name if alias in ending else window, 6, not symmetric)
        np.testing.assert_allclose(traced(np.ones(6)), expected, 1e-12)
    assert signal.windows.dpss(5, 2.0).shape == (5,)  # SciPy's own


def test_windows_have_derivatives_by_their_parameters():
    x = np.linspace(0.2, 1.0, 7)
    check_grads(lambda x, beta: x * signal.get_window(beta, x.shape[0]), (x, 3.5), 2)
    check_grads(lambda x, s: x * signal.get_window(("gaussian", s), x.shape[0]), (x, 1.5), 2)
    check_grads(lambda x, p, s: x * signal.windows.general_gaussian(x.shape[0], p, s), (x, 1.5, 2.0), 2)
    check_grads(lambda x, a: x * signal.windows.general_hamming(x.shape[0], a), (x, 0.6), 2)


def test_sizes_that_depend_on_data():
    f = jit(lambda x: x[x > 0] * signal.get_window("hann", x[x > 0].shape[0]))
    x = np.array([1.0, -1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(f(x), x[x > 0] * scipy.signal.get_window("hann", 4), 1e-12)


def test_unknown_windows_are_named():
    with pytest.raises(ArgumentError, match="dpss"):
        jit(lambda x: signal.get_window(("dpss", 2.0), x.shape[0]))(np.ones(4))

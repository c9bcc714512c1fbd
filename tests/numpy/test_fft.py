"""Tests of numpy.fft on traced arrays: dtypes, sizes that arguments give, and refusals."""

import warnings

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit
from anyshape.errors import AnyshapeError, ArgumentError, DTypeError

FUNCTIONS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfftn", "irfftn", "fftshift")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", "?bhilBHILefdFD")
def test_results_have_the_dtypes_of_numpy(name, dtype):
    function, x = getattr(np.fft, name), np.arange(6).astype(dtype)
    try:
        expected = function(x)
    except TypeError:
        with pytest.raises(DTypeError, match="pass its real part"):
            jit(function)(x)
        return
    ours = jit(function)(x)
    assert ours.dtype == expected.dtype
    np.testing.assert_allclose(ours, expected, atol=5e-2 if dtype == "e" else 1e-6)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_take_symbolic_sizes_and_traced_distances(name):
    function = jit(lambda x, d: getattr(anp.fft, name)(x.shape[0], d))
    for n in (1, 2, 5, 6):
        np.testing.assert_array_equal(function(np.ones(n), 0.3), getattr(np.fft, name)(n, 0.3), strict=True)
    assert len(function.programs()) == 1
    slope = grad(lambda d: anp.sum(getattr(anp.fft, name)(5, d) ** 2))(0.3)
    values = getattr(np.fft, name)(5, 0.3)
    np.testing.assert_allclose(slope, -2 / 0.3 * np.sum(values**2))


def test_a_number_of_points_may_be_a_size_or_a_traced_integer():
    function = jit(lambda x, y: anp.fft.rfft(x, 2 * y.shape[0]))
    for n, m in ((3, 1), (1, 3), (0, 2), (4, 2)):
        np.testing.assert_allclose(function(np.arange(n) + 1.0, np.ones(m)), np.fft.rfft(np.arange(n) + 1.0, 2 * m))
    traced = jit(lambda x, n: anp.fft.irfft(x, n))
    for n in (1, 4, 7):
        np.testing.assert_allclose(traced(np.arange(3.0), n), np.fft.irfft(np.arange(3.0), n), atol=1e-15)


def test_no_points_are_refused_as_in_numpy():
    for name in ("fft", "rfft", "irfft", "fft2"):
        x = np.ones((2, 0))
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            getattr(np.fft, name)(x)
        with pytest.raises(AnyshapeError, match=r"at least 1|must be 1 or more"):
            jit(getattr(np.fft, name))(x)
    with pytest.raises(AnyshapeError, match="must be 1 or more"):
        jit(lambda x: np.fft.fft(x, 0))(np.ones(3))


def test_wrong_options_are_refused():
    x = np.ones((2, 3))
    with pytest.raises(ArgumentError, match="norm 'both' is unknown"):
        jit(lambda x: np.fft.fft(x, norm="both"))(x)
    with pytest.raises(IndexError):
        jit(lambda x: np.fft.fft(x, axis=2))(x)
    with pytest.raises(ArgumentError, match="1 sizes for 2 axes"):
        jit(lambda x: np.fft.fftn(x, (3,), (0, 1)))(x)


def test_results_may_be_written_to_an_array():
    def program(x):
        out = anp.zeros_like(x)
        anp.fft.fft(x, out=out)
        return out

    x = np.arange(3) * 1j
    np.testing.assert_allclose(jit(program)(x), np.fft.fft(x))


def test_concrete_arguments_go_to_numpy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert anp.fft.fft(np.ones(2)).tolist() == [2, 0] and anp.fft.fftfreq(2).tolist() == [0, -0.5]
    assert set(dir(anp.fft)) == {name for name in dir(np.fft) if name[0] != "_"} - {"helper", "test"}

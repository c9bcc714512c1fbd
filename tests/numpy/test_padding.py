"""Test the modes of `np.pad` against NumPy, at widths beyond the size of the axis, for all dtypes and sizes."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import grad, jit
from anyshape.errors import ArgumentError

OPTIONS = {
    "linear_ramp": [{}, {"end_values": ((1, -2), (0, 3))}],
    "maximum": [{}, {"stat_length": 2}],
    "mean": [{}, {"stat_length": ((1, 2), (3, 1))}],
    "median": [{}, {"stat_length": (2, 3)}],
    "minimum": [{"stat_length": 9}],
    "reflect": [{}, {"reflect_type": "odd"}],
    "symmetric": [{}, {"reflect_type": "odd"}],
    "edge": [{}],
    "wrap": [{}],
}
WIDTHS = ((2, 7), (5, 0))


@pytest.mark.parametrize("mode", OPTIONS)
def test_each_mode_agrees_with_numpy_at_all_sizes_from_one_trace(mode):
    for options in OPTIONS[mode]:
        padded = jit(lambda x, options=options: np.pad(x, WIDTHS, mode=mode, **options))
        for dtype in (np.float64, np.int16, np.uint8, np.complex128):
            for shape in ((4, 3), (1, 2), (2, 1), (5, 4)):
                x = (37 * np.sin(np.arange(np.prod(shape)).reshape(shape))).astype(np.int8).astype(dtype)
                expected = np.pad(x, WIDTHS, mode=mode, **options)
                np.testing.assert_allclose(padded(x), expected, 1e-13, 1e-12, err_msg=f"{options} {x}", strict=True)
        assert padded.cache_info().traces == 4


def test_a_single_infinite_element_repeats():
    padded = jit(lambda x: np.pad(x, 2, "reflect", reflect_type="odd"))
    np.testing.assert_array_equal(padded(np.array([np.inf])), np.full(5, np.inf))
    np.testing.assert_array_equal(padded(np.array([np.inf, 1.0]))[2:4], [np.inf, 1.0])


def test_widths_and_lengths_may_be_sizes():
    padded = jit(lambda x, y: anp.pad(x, y.shape[0], "mean", stat_length=y.shape[0]))
    x = np.arange(5.0) ** 2
    for n in (1, 3, 7):
        np.testing.assert_allclose(padded(x, np.ones(n)), np.pad(x, n, "mean", stat_length=n))
    assert padded.cache_info().traces == 1


def test_slopes_of_odd_reflection_are_those_of_its_elements():
    slopes = grad(lambda x: np.sum(np.pad(x, (2, 5), "reflect", reflect_type="odd") * np.arange(10.0)))(np.ones(3))
    columns = [np.pad(e, (2, 5), "reflect", reflect_type="odd") @ np.arange(10.0) for e in np.eye(3)]
    np.testing.assert_allclose(slopes, columns)


def test_an_unknown_mode_or_type_is_refused():
    for call in (lambda x: np.pad(x, 1, "mirror"), lambda x: np.pad(x, 1, "reflect", reflect_type="both")):
        with pytest.raises(ArgumentError):
            jit(call)(np.ones(3))

"""Compare measures of parts, windows of functions of the user and transforms by coordinates with SciPy."""

import numpy as np
import pytest
import scipy.ndimage

from anyshape import grad, jit
from anyshape.errors import ArgumentError, CheckError
from anyshape.scipy import ndimage

IMAGE = np.random.default_rng(0).normal(size=(5, 4)).round(2)
LABELS = np.array([[0, 1, 1, 2], [0, 1, 2, 2], [1, 1, 0, 2], [0, 0, 2, 2], [1, 0, 0, 2]])
CALLS = {
    "median": lambda m, x, l: (m.median(x), m.median(x, l), m.median(x, l, 1), m.median(x, l, [2, 1])),
    "minimum_position": lambda m, x, l: (m.minimum_position(x), m.minimum_position(x, l, [2, 1])),
    "maximum_position": lambda m, x, l: (m.maximum_position(x), m.maximum_position(x, l)),
    "extrema": lambda m, x, l: (m.extrema(x), m.extrema(x, l, [1, 2])),
    "histogram": lambda m, x, l: (m.histogram(x, -1, 1, 4), m.histogram(x, -1, 1, 4, l, 2)),
    "maximum_filter1d": lambda m, x, l: (m.maximum_filter1d(x, 3), m.minimum_filter1d(x, 2, 0, mode="constant")),
    "generic_filter": lambda m, x, l: m.generic_filter(
        x, window_norm, size=(3, 2), mode="mirror", extra_arguments=(2,)
    ),
    "geometric_transform": lambda m, x, l: m.geometric_transform(x, shear, order=1, mode="nearest"),
    "distances": lambda m, x, l: (m.distance_transform_bf(l), m.distance_transform_cdt(l)),
}


def window_norm(v, p):
    return (v**p).sum() ** 0.5 + v[0]


def shear(at):
    return at[0] * 0.7 + 0.1 * at[1], at[1] - 0.3


def flat(tree):
    return [leaf for part in tree for leaf in flat(part)] if isinstance(tree, (tuple, list)) else [np.asarray(tree)]


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_scipy_at_any_size(name):
    function = CALLS[name]
    traced = jit(lambda x, l: function(ndimage, x, l))
    for x in (IMAGE, IMAGE[:3], IMAGE[:, 1:]):
        labels = LABELS[: x.shape[0], LABELS.shape[1] - x.shape[1] :]
        for a, b in zip(flat(traced(x, labels)), flat(function(scipy.ndimage, x, labels)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, 1e-12, 1e-14)
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("name", ["median", "maximum_filter1d", "generic_filter", "geometric_transform", "extrema"])
def test_derivatives(name):
    value = lambda m: (
        lambda x: sum(
            np.sum(part * np.cos(np.arange(part.size)).reshape(part.shape))
            for part in flat_of(CALLS[name](m, x, LABELS))
        )
    )
    slope, direction = grad(value(ndimage))(IMAGE), np.sin(np.arange(20.0)).reshape(5, 4)
    ahead, behind = (value(scipy.ndimage)(IMAGE + s * direction) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(np.sum(slope * direction), (ahead - behind) / 2e-6, 1e-6, 1e-7)


def flat_of(tree):
    """Return the leaves that are floats."""
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in flat_of(part)]
    return [tree] if tree.dtype.kind == "f" else []


def test_no_elements():
    positions = jit(lambda x, l: ndimage.maximum_position(x, l))
    with pytest.raises(ValueError):
        positions(IMAGE[:0], LABELS[:0])
    with pytest.raises(CheckError, match="no element has the label"):
        positions(IMAGE, 0 * LABELS)
    assert jit(lambda x: ndimage.generic_filter(x, np.sum, size=3))(IMAGE[:0]).shape == (0, 4)


@pytest.mark.parametrize("dtype", [complex, bool, np.uint8])
def test_extremes_and_spread_of_other_dtypes(dtype):
    """Elements that are as great as the greatest of the dtype are found too."""
    x = (IMAGE * 200 + (1j * IMAGE[::-1] if dtype is complex else 0)).astype(dtype)
    x[1, 1], labelled = 255, np.where(np.arange(20).reshape(5, 4) == 5, 3, LABELS)
    for name in ("extrema", "minimum", "maximum", "variance", "standard_deviation"):
        lists_fail = dtype is complex and name in ("variance", "standard_deviation")  # in SciPy
        for labels in ((), (labelled,), (labelled, 2), *([] if lists_fail else [(labelled, [3])])):
            actual = jit(lambda x, name=name, labels=labels: getattr(ndimage, name)(x, *labels))(x)
            for a, b in zip(flat(actual), flat(getattr(scipy.ndimage, name)(x, *labels)), strict=True):
                np.testing.assert_allclose(a, b, 1e-12, 1e-12, err_msg=f"{name} {labels[1:]}")


def test_flat_images_have_no_slope():
    """Differences are exactly 0 there, so lengths of gradients have the derivative 0 of a norm of zeros."""
    image = np.full((4, 3), 0.3)
    for function in (ndimage.standard_deviation, lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0).sum()):
        assert not grad(function)(image).any()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ndimage.shift(x, [0.3]),
        lambda x: ndimage.affine_transform(x, [1, 2], [0.5]),
        lambda x: ndimage.median_filter(x, [3]),
        lambda x: ndimage.grey_erosion(x, [3]),
    ],
)
def test_too_few_values_for_the_axes_are_refused(call):
    with pytest.raises(ArgumentError, match="does not have 2 values"):
        jit(call)(IMAGE)

"""Compare ranks, morphology and measures of anyshape.scipy.ndimage with SciPy's on images of many sizes."""

import numpy as np
import pytest
import scipy.ndimage

from anyshape import check_grads, grad, jit, vmap
from anyshape.errors import ArgumentError
from anyshape.scipy import ndimage

CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
UNEVEN = np.array([[1, 0, 1, 1], [0, 1, 1, 0]])
HEIGHTS = np.array([[0.1, 0.4, 0.2], [0.0, 0.3, 0.5]])
GREY = {
    "median_filter": lambda s, x: s.median_filter(x, 3) + s.median_filter(x, (2, 4), mode="wrap"),
    "rank_filter": lambda s, x: s.rank_filter(x, -2, footprint=UNEVEN, mode="nearest"),
    "percentile_filter": lambda s, x: s.percentile_filter(x, 30, 3, mode="constant", cval=1.5),
    "percentile_filter, last": lambda s, x: s.percentile_filter(x, 100, 2) + s.percentile_filter(x, -20, 3),
    "grey_erosion": lambda s, x: s.grey_erosion(x, 3) + s.grey_erosion(x, (2, 4)),
    "grey_erosion by heights": lambda s, x: s.grey_erosion(x, structure=HEIGHTS, mode="mirror"),
    "grey_dilation": lambda s, x: s.grey_dilation(x, (4, 2)) + s.grey_dilation(x, footprint=UNEVEN),
    "grey_dilation by heights": lambda s, x: s.grey_dilation(x, structure=HEIGHTS, mode="constant"),
    "grey_opening": lambda s, x: s.grey_opening(x, 3) + s.grey_closing(x, (2, 3)),
    "tophats": lambda s, x: s.white_tophat(x, 3) + s.black_tophat(x, footprint=CROSS),
    "morphological": lambda s, x: s.morphological_gradient(x, 3) + s.morphological_laplace(x, (3, 2)),
    "sum_labels": lambda s, x: s.sum_labels(x, LABELS[: x.shape[0], : x.shape[1]], [0, 2, 5]),
    "mean": lambda s, x: s.mean(x) + s.mean(x, LABELS[: x.shape[0], : x.shape[1]], 2),
    "variance": lambda s, x: s.variance(x, LABELS[: x.shape[0], : x.shape[1]], [[1, 2]]) + s.standard_deviation(x),
    "extremes": lambda s, x: s.minimum(x, LABELS[: x.shape[0], : x.shape[1]], [1, 2]) - s.maximum(x),
    "center_of_mass": lambda s, x: np.stack(
        [np.stack(c) for c in s.center_of_mass(x, LABELS[: x.shape[0], : x.shape[1]], [1, 2])]
    ),
    "fourier_gaussian": lambda s, x: s.fourier_gaussian(x, [0.7, 1.2]) + s.fourier_uniform(x, 3, n=13),
    "fourier_shift": lambda s, x: np.real(s.fourier_shift(x, 1.3)),
    "generic_laplace": lambda s, x: s.generic_laplace(x, s.sobel, mode="wrap"),
    "generic_gradient_magnitude": lambda s, x: s.generic_gradient_magnitude(x, s.prewitt),
}
LABELS = np.arange(81).reshape(9, 9) % 4
BINARY = {
    "binary_erosion": lambda s, x: s.binary_erosion(x, UNEVEN) | s.binary_erosion(x, iterations=2, border_value=1),
    "binary_dilation": lambda s, x: (
        s.binary_dilation(x, UNEVEN) ^ s.binary_dilation(x, CROSS, iterations=2, mask=~x[::-1])
    ),
    "binary_opening": lambda s, x: s.binary_opening(x) ^ s.binary_closing(x, UNEVEN),
    "binary_propagation": lambda s, x: s.binary_propagation(x & x[::-1], mask=x),
    "binary_erosion around another element": lambda s, x: s.binary_erosion(x, UNEVEN, origin=(0, -1)),
    "binary_closing around another element": lambda s, x: s.binary_closing(x, np.ones((3, 3)), 1, None, (1, -1)),
    "binary_erosion to the end": lambda s, x: s.binary_erosion(x, iterations=0),
    "binary_fill_holes": lambda s, x: s.binary_fill_holes(x),
    "binary_hit_or_miss": lambda s, x: s.binary_hit_or_miss(x, CROSS[:2]) ^ s.binary_hit_or_miss(x, CROSS, 1 - CROSS),
    "label": lambda s, x: s.label(x)[0] + s.label(x, np.ones((3, 3)))[1],
    "distance_transform_edt": lambda s, x: s.distance_transform_edt(x, [1, 2]),
}


def images(shape):
    return np.random.default_rng(shape[0]).uniform(0.1, 2.0, shape)


@pytest.mark.parametrize("name", GREY)
def test_grey_images_are_scipys_at_many_sizes(name):
    traced = jit(lambda x: GREY[name](ndimage, x))
    for shape in ((5, 6), (7, 4), (4, 9)):
        x = images(shape)
        actual, expected = traced(x), np.asarray(GREY[name](scipy.ndimage, x))
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, 1e-11, 1e-12)
    if "LABELS" not in str(GREY[name].__code__.co_names):
        assert traced.cache_info().traces == 1
    check_grads(lambda x: np.sum(np.sin(GREY[name](ndimage, x))), (x,), order=1, rtol=1e-4, atol=1e-6)
    batch = vmap(lambda x: GREY[name](ndimage, x))(np.stack([x, x**2]))
    np.testing.assert_allclose(batch[1], GREY[name](scipy.ndimage, x**2), 1e-10, 1e-12)


@pytest.mark.parametrize("name", BINARY)
def test_binary_images_are_scipys_at_many_sizes(name):
    traced = jit(lambda x: BINARY[name](ndimage, x))
    for shape in ((5, 6), (7, 8), (9, 9)):
        x = images(shape) > 0.6
        np.testing.assert_array_equal(traced(x), BINARY[name](scipy.ndimage, x))
    assert traced.cache_info().traces == 1
    batch = vmap(lambda x: BINARY[name](ndimage, x))(np.stack([x, x.T]))
    np.testing.assert_array_equal(batch[1], BINARY[name](scipy.ndimage, x.T))


def test_integers_keep_their_dtype_and_wrong_arguments_are_named():
    x = (10 * images((5, 6))).astype(np.int32)
    for name in ("median_filter", "grey_dilation", "grey_erosion"):
        function = lambda s, x, name=name: getattr(s, name)(x, 3)
        actual, expected = jit(lambda x, f=function: f(ndimage, x))(x), function(scipy.ndimage, x)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
    assert jit(lambda x: ndimage.sum(x))(x) == x.sum()
    for function, match in [
        (lambda x: ndimage.median_filter(x), "size and footprint"),
        (lambda x: ndimage.median_filter(x, 3, origin=1), "origin or axes"),
        (lambda x: ndimage.binary_erosion(x, x), "structure is traced"),
        (lambda x: ndimage.binary_erosion(x, np.ones(3)), "structure has the shape"),
        (lambda x: ndimage.binary_erosion(x, CROSS, origin=2), "outside of the structure"),
        (lambda x: ndimage.binary_closing(x, output=np.zeros((5, 6), bool)), "output or axes"),
        (lambda x: ndimage.binary_dilation(x, 1 - CROSS, 0), "may change for ever"),
        (lambda x: ndimage.rank_filter(x, 0, footprint=[1, 0]), "footprint has 1 axes"),
    ]:
        with pytest.raises(ArgumentError, match=match):
            jit(function)(x)
    assert not grad(lambda x: ndimage.distance_transform_edt(x).sum())(images((3, 3))).any()


@pytest.mark.parametrize("dilate", [False, True])
def test_several_steps_around_another_element_are_single_steps_of_scipy(dilate, rng):
    name = "binary_dilation" if dilate else "binary_erosion"
    for steps in (0, 2, 3):
        images = rng.random((2, 6, 5)) > 0.6
        mine = vmap(lambda x, n=steps: getattr(ndimage, name)(x, np.ones((3, 3)), n, origin=(1, -1)))(images)
        for image, result in zip(images, mine, strict=True):
            for _ in range(steps or 20):
                image = getattr(scipy.ndimage, name)(image, np.ones((3, 3)), 1, origin=(1, -1))
            np.testing.assert_array_equal(result, image)

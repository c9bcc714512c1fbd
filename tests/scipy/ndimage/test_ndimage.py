"""Compare anyshape.scipy.ndimage with SciPy in every mode, at many sizes, and derivatives with differences."""

import numpy as np
import pytest
import scipy.ndimage

from anyshape import check_grads, grad, jit, jvp, vjp, vmap
from anyshape.errors import AnyshapeError, ArgumentError, UnsupportedFunctionError
from anyshape.scipy import ndimage

RNG = np.random.default_rng(0)
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")
FEW_MODES = [pytest.param(mode, marks=[] if mode in ("constant", "mirror") else pytest.mark.slow) for mode in MODES]
every_mode = pytest.mark.parametrize("mode", FEW_MODES)


def numbers(*shape, dtype=float):
    x = 3 * RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if dtype is complex else x.astype(dtype)


def agree(function, arguments, traces=None):
    """Assert that one traced function gives SciPy's results, dtypes and shapes for each tuple of arguments."""
    traced = jit(lambda *xs: function(ndimage, *xs))
    for xs in arguments:
        a, b = function(scipy.ndimage, *xs), traced(*xs)
        assert a.dtype == b.dtype and a.shape == b.shape
        tolerance = 1e-4 if a.dtype.char in "fF" else 1e-10
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
    assert traces is None or traced.cache_info().traces == traces


# -- filters


@every_mode
def test_correlations_are_scipys_at_every_size(mode):
    sizes = [(numbers(n, 2), numbers(k)) for n in (0, 1, 2, 6) for k in (1, 2, 3, 7)]
    agree(lambda nd, x, w: nd.correlate1d(x, w, 0, mode=mode, cval=1.5), sizes)
    agree(lambda nd, x, w: nd.convolve1d(x, w, 0, mode=mode, origin=-1), [(numbers(5, 2), numbers(4))])
    images = [(numbers(n, 4), numbers(3, 2)) for n in (0, 1, 5)]
    agree(lambda nd, x, w: nd.correlate(x, w, mode=mode, cval=2.0, origin=(1, 0)), images, traces=1)
    agree(lambda nd, x, w: nd.convolve(x, w, mode=mode), images, traces=1)
    for dtype in (complex, int, np.float32):
        pair = numbers(4, 5, dtype=dtype), numbers(3, 2, dtype=complex if dtype is complex else float)
        agree(lambda nd, x, w: nd.convolve(x, w, mode=mode), [pair])
        agree(lambda nd, x, w: nd.correlate(x, w, mode=mode), [pair])


@every_mode
def test_filters_are_scipys_at_every_size(mode):
    images = [(numbers(n, 6),) for n in (0, 1, 2, 7)]
    agree(lambda nd, x: nd.gaussian_filter(x, (1.3, 0.5), order=(0, 1), mode=mode, cval=0.3), images, traces=1)
    agree(lambda nd, x: nd.gaussian_filter1d(x, 0.8, 0, order=3, mode=mode, radius=4), images, traces=1)
    agree(lambda nd, x: nd.uniform_filter(x, (4, 3), mode=mode, cval=0.4, origin=(1, 0)), images, traces=1)
    agree(lambda nd, x: nd.maximum_filter(x, 3, mode=mode, cval=0.4), images, traces=1)
    agree(lambda nd, x: nd.minimum_filter(x, (2, 4), mode=mode), images, traces=1)
    agree(lambda nd, x: nd.sobel(x, 0, mode=mode) + nd.prewitt(x, mode=mode), images, traces=1)
    agree(lambda nd, x: nd.laplace(x, mode=mode) + nd.gaussian_laplace(x, 1.1, mode=mode), images, traces=1)
    agree(lambda nd, x: nd.gaussian_gradient_magnitude(x, 1.1, mode=mode), images, traces=1)


def test_integer_images_are_cut_off_after_each_axis():
    x = RNG.integers(-9, 9, (5, 6))
    agree(lambda nd, x: nd.uniform_filter(x, 3), [(x,)])
    agree(lambda nd, x: nd.sobel(x), [(x,)])
    agree(lambda nd, x: nd.gaussian_filter(x, 1.0, output=float), [(x,)])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: ndimage.convolve(x, w, mode="mirror", origin=(0, -1)),
        lambda x, w: ndimage.correlate1d(x, w[0], 0, mode="wrap"),
        lambda x, w: ndimage.gaussian_filter(x, w[0, 0] ** 2 + 0.5, radius=2, mode="constant"),
        lambda x, w: ndimage.uniform_filter(x, 3) * w[0, 0],
        lambda x, w: ndimage.maximum_filter(x, 2) * ndimage.minimum_filter(x, 3) * w[0, 0],
        lambda x, w: ndimage.gaussian_gradient_magnitude(x, 1.0) * w[0, 0],
    ],
)
def test_derivatives_of_filters_agree_with_differences(function):
    check_grads(lambda x, w: np.sin(function(x, w)).sum(), (numbers(4, 5), numbers(2, 3) / 3), order=2)


# -- interpolation


def in_turn(modes, orders):
    """Give each mode one order in the gate, and the others to the slow tests."""
    return pytest.mark.parametrize(
        ("mode", "order"),
        [
            pytest.param(mode, order, marks=[] if i % len(orders) == j else [pytest.mark.slow])
            for i, mode in enumerate(modes)
            for j, order in enumerate(orders)
        ],
    )


@in_turn(MODES, (5, 3, 2, 1, 4, 0))
def test_values_between_elements_are_scipys(mode, order):
    def points(n):
        return np.concatenate([[[0.0, n - 1, n // 2]], RNG.uniform(-2.5 * n, 2.5 * n, (1, 9))], axis=1)

    lines = [(numbers(n), points(n)) for n in (1, 2, 3, 8)]
    agree(lambda nd, x, c: nd.map_coordinates(x, c, order=order, mode=mode, cval=0.7), lines, traces=1)
    agree(lambda nd, x: nd.spline_filter1d(x, order, mode=mode), [line[:1] for line in lines], traces=1)
    images = [(numbers(n, 5, dtype=t), RNG.uniform(-3, n + 2, (2, 3, 2))) for n, t in ((8, int), (4, complex))]
    agree(lambda nd, x, c: nd.map_coordinates(x, c, order=order, mode=mode), images)


@in_turn(("constant", "nearest", "mirror"), (1, 3, 0))
def test_transforms_of_images_are_scipys(mode, order):
    options = {"order": order, "mode": mode}
    images = [(numbers(n, 5),) for n in (1, 6)]
    rows, offset = np.array([[0.9, 0.2], [-0.3, 1.1]]), np.array([0.5, -0.3])
    agree(lambda nd, x: nd.affine_transform(x, rows, offset, **options), images, traces=1)
    agree(lambda nd, x, a: nd.affine_transform(x, a, 0.4, (4, 7), **options), [(images[1][0], np.array([0.8, 1.3]))])
    agree(lambda nd, x, a: nd.affine_transform(x, a, **options), [(images[1][0], np.c_[rows, offset])])
    agree(lambda nd, x, s: nd.shift(x, s, **options), [(x, np.array([0.5, -1.2])) for (x,) in images], traces=1)
    agree(lambda nd, x: nd.zoom(x, 2, **options), images, traces=1)
    agree(lambda nd, x: nd.zoom(x, (1.5, 0.7), **options), images, traces=1)
    if mode != "constant":  # for which SciPy warns
        agree(lambda nd, x: nd.zoom(x, 1.5, grid_mode=True, **options), [images[1]])
    for angle in (90, 33.0):
        agree(lambda nd, x, angle=angle: nd.rotate(x, angle, **options), [(numbers(n, 5),) for n in (3, 6)], traces=1)
    agree(lambda nd, x: nd.rotate(x, 20.0, (0, 2), reshape=False, **options), [(numbers(6, 3, 5),)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "times"),
    [
        (3, 1),
        *[pytest.param(k, 2, marks=pytest.mark.slow) for k in (1, 2, 3, 5)],
    ],
)
def test_derivatives_by_image_and_coordinates_agree_with_differences(order, times):
    at = RNG.uniform(0.2, 2.8, (2, 6))

    def f(x, c):
        return np.sin(ndimage.map_coordinates(x, c, order=order, mode="reflect")).sum()

    check_grads(f, (numbers(4, 5), at), order=times)
    turned = lambda x, angle: np.sin(ndimage.rotate(x, angle, reshape=False, order=order)).sum()
    check_grads(turned, (numbers(5, 4), 11.0))


def test_order_0_follows_no_coordinate():
    f = lambda x, c: ndimage.map_coordinates(x, c, order=0).sum()
    gx, gc = grad(f, argnums=(0, 1))(np.arange(4.0), np.array([[0.2, 2.6, 2.7]]))
    assert gx.tolist() == [1, 0, 0, 2] and not gc.any()


def test_examples_are_mapped():
    x, c = numbers(3, 5, 4), RNG.uniform(-1, 5, (3, 2, 6))
    expected = [scipy.ndimage.map_coordinates(a, b, order=3, mode="mirror") for a, b in zip(x, c)]
    np.testing.assert_allclose(vmap(lambda a, b: ndimage.map_coordinates(a, b, order=3, mode="mirror"))(x, c), expected)
    expected = [scipy.ndimage.gaussian_filter(a, 1.0) for a in x]
    np.testing.assert_allclose(vmap(lambda a: ndimage.gaussian_filter(a, 1.0))(x), expected)


# -- errors


def test_what_is_missing_or_wrong_is_named():
    x = numbers(5, 5)
    with pytest.raises(UnsupportedFunctionError, match="generic_filter1d"):
        jit(lambda x: ndimage.generic_filter1d(x, np.max, 3))(x)
    with pytest.raises(UnsupportedFunctionError, match=r"give size=\.\.\."):
        jit(lambda x: ndimage.maximum_filter(x, footprint=np.ones((2, 2))))(x)
    with pytest.raises(ArgumentError, match=r"give radius=\.\.\."):
        jit(lambda x, s: ndimage.gaussian_filter(x, s))(x, 1.0)
    with pytest.raises(ArgumentError, match="mode='around'"):
        jit(lambda x: ndimage.convolve1d(x, [1, 2], mode="around"))(x)
    with pytest.raises(AnyshapeError, match="origin 2 is outside of a window of 3"):
        jit(lambda x: ndimage.convolve1d(x, [1, 2, 3], origin=-2))(x)
    with pytest.raises(ArgumentError, match="order=6"):
        jit(lambda x: ndimage.zoom(x, 2, order=6))(x)
    with pytest.raises(ArgumentError, match="output is an array"):
        jit(lambda x: ndimage.sobel(x, output=np.zeros((5, 5))))(x)


def test_equal_elements_of_a_window_share_its_derivative():
    w = np.array([3.0, 5.0, 7.0])
    line = grad(lambda x: ndimage.maximum_filter1d(x, 3, mode="constant", cval=-9.0) @ w)(np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(line, [4.0, 11.0, 0.0])
    image = np.array([[1.0, 1.0], [0.0, 1.0]])
    whole = grad(lambda x: ndimage.maximum_filter(x, (2, 2), mode="constant", cval=-9.0)[1, 1])(image)
    np.testing.assert_allclose(whole, [[1 / 3, 1 / 3], [0.0, 1 / 3]])
    beyond = grad(lambda x: ndimage.minimum_filter(x, (3, 3), mode="constant", cval=1.0)[0, 0])(np.ones((1, 1)))
    np.testing.assert_allclose(beyond, [[1 / 9]])  # the eight elements around it are equal too
    ranks = grad(lambda x: ndimage.median_filter(x, (1, 3)).sum())(np.array([[2.0, 2.0, 5.0]]))
    np.testing.assert_allclose(ranks.sum(), 3.0)


def test_tangents_of_any_size_stand_for_weights():
    x, t = np.array([1.0, 5.0, 2.0, 8.0]), np.array([1.0, 2.0, 5.0])
    f = lambda w: ndimage.correlate1d(x, w, mode="constant")
    g = lambda w: ndimage.correlate(x[None], w[None], mode="constant")
    for size in (1.0, 1e-18, 1e-300):
        for function in (f, g):
            np.testing.assert_allclose(jvp(function, (t,), (t * size,))[1] / size, function(t), rtol=1e-14)
            back = vjp(function, t)[1](function(t) * size)[0] / size
            np.testing.assert_allclose(back, vjp(function, t)[1](function(t))[0], rtol=1e-14)


def test_a_large_cotangent_of_a_mean_stays_in_its_window():
    for large in (np.inf, 1e30):
        weights = np.array([0.0, large, 0.0, 0.0, 0.0, 3.0])
        for derivative in (
            vjp(lambda x: ndimage.uniform_filter1d(x, 3), np.ones(6))[1](weights)[0],
            jvp(lambda x: ndimage.uniform_filter1d(x, 3), (np.ones(6),), (weights,))[1],
        ):
            np.testing.assert_allclose(derivative[:4], [large / 3, large / 3, large / 3, 0.0])
            np.testing.assert_allclose(derivative[4:], [1.0, 2.0])


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f4"])
def test_a_constant_beyond_the_ends_is_converted_as_in_scipy(dtype):
    x = np.abs(numbers(5, 4)).astype(dtype)
    for cval in (-1.0, 0.5):
        agree(lambda nd, x, c=cval: nd.maximum_filter(x, 3, mode="constant", cval=c), [(x,)])
        agree(lambda nd, x, c=cval: nd.grey_erosion(x, 3, mode="constant", cval=c), [(x,)])
        agree(lambda nd, x, c=cval: nd.rank_filter(x, 1, (2, 3), mode="constant", cval=c), [(x,)])
        agree(lambda nd, x, c=cval: nd.median_filter(x, 3, mode="constant", cval=c), [(x,)])


@pytest.mark.parametrize("mode", ["mirror", "reflect", "grid-wrap"])
def test_transposes_of_long_lines_are_the_ones_of_matrices(mode):
    """Lines of few elements take a matrix, and longer ones the filter itself."""
    for order, n in ((2, 33), (5, 40)):
        x, ct = numbers(n), numbers(n)
        back = grad(lambda x, ct, order=order: (ndimage.spline_filter1d(x, order, mode=mode) * ct).sum())(x, ct)
        matrix = scipy.ndimage.spline_filter1d(np.eye(n), order, axis=0, mode=mode)
        np.testing.assert_allclose(back, matrix.T @ ct, 1e-12, 1e-12)


def test_many_points_are_deposited_in_blocks():
    x, at, ct = numbers(7, 9), numbers(2, 40_000) * 20, numbers(40_000)
    values = lambda x, ct: (ndimage.map_coordinates(x, at, order=2, mode="grid-wrap", prefilter=False) * ct).sum()
    np.testing.assert_allclose((grad(values)(x, ct) * x).sum(), values(x, ct), 1e-11)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "u8"])
def test_interpolated_integers_end_at_their_bounds(dtype):
    x = np.array([0, 100, 0, 0, 100, 3]).astype(dtype)
    for cval in (300.7, -300.7, 1e20, -1e20):
        agree(lambda nd, x, c=cval: nd.shift(x, 1.5, mode="constant", cval=c, order=3), [(x,)])


def test_negative_slopes_of_unsigned_images_wrap_around():
    x = np.abs(numbers(5, 4) * 40).astype("u4")
    agree(lambda nd, x: nd.sobel(x), [(x,)])

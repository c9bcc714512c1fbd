"""Functions of `scipy.ndimage` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.ndimage import binary_fill_holes as binary_fill_holes
from scipy.ndimage import binary_propagation as binary_propagation
from scipy.ndimage import black_tophat as black_tophat
from scipy.ndimage import convolve1d as convolve1d
from scipy.ndimage import extrema as extrema
from scipy.ndimage import find_objects as find_objects
from scipy.ndimage import fourier_ellipsoid as fourier_ellipsoid
from scipy.ndimage import gaussian_laplace as gaussian_laplace
from scipy.ndimage import generate_binary_structure as generate_binary_structure
from scipy.ndimage import generic_filter1d as generic_filter1d
from scipy.ndimage import grey_closing as grey_closing
from scipy.ndimage import grey_opening as grey_opening
from scipy.ndimage import histogram as histogram
from scipy.ndimage import iterate_structure as iterate_structure
from scipy.ndimage import labeled_comprehension as labeled_comprehension
from scipy.ndimage import laplace as laplace
from scipy.ndimage import morphological_gradient as morphological_gradient
from scipy.ndimage import morphological_laplace as morphological_laplace
from scipy.ndimage import value_indices as value_indices
from scipy.ndimage import vectorized_filter as vectorized_filter
from scipy.ndimage import white_tophat as white_tophat

from anyshape.scipy.ndimage.filtering import gaussian_gradient_magnitude as gaussian_gradient_magnitude
from anyshape.scipy.ndimage.filtering import uniform_filter1d as uniform_filter1d
from anyshape.scipy.ndimage.interpolation import spline_filter as spline_filter
from anyshape.scipy.ndimage.interpolation import spline_filter1d as spline_filter1d
from anyshape.scipy.ndimage.measurements import center_of_mass as center_of_mass
from anyshape.scipy.ndimage.measurements import distance_transform_edt as distance_transform_edt
from anyshape.scipy.ndimage.measurements import fourier_gaussian as fourier_gaussian
from anyshape.scipy.ndimage.measurements import fourier_shift as fourier_shift
from anyshape.scipy.ndimage.measurements import fourier_uniform as fourier_uniform
from anyshape.scipy.ndimage.measurements import geometric_transform as geometric_transform
from anyshape.scipy.ndimage.measurements import label as label
from anyshape.scipy.ndimage.measurements import maximum as maximum
from anyshape.scipy.ndimage.measurements import maximum_position as maximum_position
from anyshape.scipy.ndimage.measurements import mean as mean
from anyshape.scipy.ndimage.measurements import median as median
from anyshape.scipy.ndimage.measurements import minimum as minimum
from anyshape.scipy.ndimage.measurements import minimum_position as minimum_position
from anyshape.scipy.ndimage.measurements import standard_deviation as standard_deviation
from anyshape.scipy.ndimage.measurements import sum as sum
from anyshape.scipy.ndimage.measurements import sum_labels as sum_labels
from anyshape.scipy.ndimage.measurements import variance as variance
from anyshape.scipy.ndimage.measurements import watershed_ift as watershed_ift
from anyshape.scipy.ndimage.morphology import generic_filter as generic_filter

def affine_transform(
    input: Any,
    matrix: Any,
    offset: Any = 0.0,
    output_shape: Any = None,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return the image whose element o is the input at `matrix @ o + offset`."""

def binary_closing(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: Any = 0,
    brute_force: Any = False,
    *,
    axes: Any = None,
) -> Any:
    """Return the erosion of the dilation of an image."""

def binary_dilation(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    mask: Any = None,
    output: Any = None,
    border_value: Any = 0,
    origin: Any = 0,
    brute_force: Any = False,
    *,
    axes: Any = None,
) -> Any:
    """Return what structures around the elements of an image cover, after so many steps."""

def binary_erosion(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    mask: Any = None,
    output: Any = None,
    border_value: Any = 0,
    origin: Any = 0,
    brute_force: Any = False,
    *,
    axes: Any = None,
) -> Any:
    """Return where a structure around an element fits into an image, after so many steps."""

def binary_hit_or_miss(
    input: Any,
    structure1: Any = None,
    structure2: Any = None,
    output: Any = None,
    origin1: Any = 0,
    origin2: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Return where one structure fits into an image, and another one, by default the rest, into its complement."""

def binary_opening(
    input: Any,
    structure: Any = None,
    iterations: Any = 1,
    output: Any = None,
    origin: Any = 0,
    mask: Any = None,
    border_value: Any = 0,
    brute_force: Any = False,
    *,
    axes: Any = None,
) -> Any:
    """Return the dilation of the erosion of an image."""

def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the convolution of an image with weights."""

def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return sums of products of an image and of weights that move along its axes."""

def correlate1d(
    input: Any,
    weights: Any,
    axis: Any = -1,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
) -> Any:
    """Return sums of products of an image and a vector of weights that moves along an axis."""

def distance_transform_bf(input: Any, metric: Any = None, **options: Any) -> Any:
    """Return the distance of each element from the nearest one that is 0; derivatives are 0."""

def distance_transform_cdt(input: Any, metric: Any = None, **options: Any) -> Any:
    """Return the distance of each element from the nearest one that is 0; derivatives are 0."""

def gaussian_filter(
    input: Any,
    sigma: Any,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
    axes: Any = None,
) -> Any:
    """Return an image smoothed by a Gaussian along its axes, or a derivative of it; traced `sigma` needs `radius`."""

def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: Any = -1,
    order: Any = 0,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    truncate: Any = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Return an image smoothed by a Gaussian along an axis, or a derivative of it; traced `sigma` needs `radius`."""

def generic_gradient_magnitude(
    input: Any,
    derivative: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Return the length of what `derivative(input, axis, output, mode, cval)` gives along each axis."""

def generic_laplace(
    input: Any,
    derivative2: Any,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    extra_arguments: Any = (),
    extra_keywords: Any = None,
    *,
    axes: Any = None,
) -> Any:
    """Return the sum of what `derivative2(input, axis, output, mode, cval)` gives along each axis."""

def grey_dilation(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the greatest element of each window."""

def grey_erosion(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    structure: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the least element of each window."""

def map_coordinates(
    input: Any,
    coordinates: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image at coordinates, whose first axis has one row for each axis of the image."""

def maximum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the maximum of windows of `size` elements along each axis."""

def maximum_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Return the maximum of windows of `size` elements along an axis."""

def median_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the median of the window around each element: of an even number the greater one in the middle."""

def minimum_filter(
    input: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the minimum of windows of `size` elements along each axis."""

def minimum_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Return the minimum of windows of `size` elements along an axis."""

def percentile_filter(
    input: Any,
    percentile: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the element of a percentile of the window around each element; the rank is rounded down."""

def prewitt(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along an axis that Prewitt's filter takes."""

def rank_filter(
    input: Any,
    rank: Any,
    size: Any = None,
    footprint: Any = None,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the element of a rank of the window around each element; negative ranks count from the greatest."""

def rotate(
    input: Any,
    angle: Any,
    axes: Any = (1, 0),
    reshape: Any = True,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image turned by an angle in degrees in the plane of two axes."""

def shift(
    input: Any,
    shift: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
) -> Any:
    """Return an image moved by so many elements along each axis, or the same along all."""

def sobel(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along an axis that Sobel's filter takes."""

def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Return the means of windows of `size` elements along each axis."""

def zoom(
    input: Any,
    zoom: Any,
    output: Any = None,
    order: Any = 3,
    mode: Any = "constant",
    cval: Any = 0.0,
    prefilter: Any = True,
    *,
    grid_mode: Any = False,
) -> Any:
    """Return an image with `zoom` times as many elements along each axis; factors are numbers."""

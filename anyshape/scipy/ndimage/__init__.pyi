"""Functions of `scipy.ndimage` for traced and concrete arrays, at any size.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.ndimage import find_objects as find_objects
from scipy.ndimage import fourier_ellipsoid as fourier_ellipsoid
from scipy.ndimage import generate_binary_structure as generate_binary_structure
from scipy.ndimage import generic_filter1d as generic_filter1d
from scipy.ndimage import iterate_structure as iterate_structure
from scipy.ndimage import labeled_comprehension as labeled_comprehension
from scipy.ndimage import value_indices as value_indices
from scipy.ndimage import vectorized_filter as vectorized_filter

from anyshape.scipy.ndimage.filtering import convolve as convolve
from anyshape.scipy.ndimage.filtering import convolve1d as convolve1d
from anyshape.scipy.ndimage.filtering import correlate as correlate
from anyshape.scipy.ndimage.filtering import correlate1d as correlate1d
from anyshape.scipy.ndimage.filtering import gaussian_filter as gaussian_filter
from anyshape.scipy.ndimage.filtering import gaussian_filter1d as gaussian_filter1d
from anyshape.scipy.ndimage.filtering import gaussian_gradient_magnitude as gaussian_gradient_magnitude
from anyshape.scipy.ndimage.filtering import gaussian_laplace as gaussian_laplace
from anyshape.scipy.ndimage.filtering import laplace as laplace
from anyshape.scipy.ndimage.filtering import uniform_filter as uniform_filter
from anyshape.scipy.ndimage.filtering import uniform_filter1d as uniform_filter1d
from anyshape.scipy.ndimage.interpolation import affine_transform as affine_transform
from anyshape.scipy.ndimage.interpolation import map_coordinates as map_coordinates
from anyshape.scipy.ndimage.interpolation import rotate as rotate
from anyshape.scipy.ndimage.interpolation import shift as shift
from anyshape.scipy.ndimage.interpolation import spline_filter as spline_filter
from anyshape.scipy.ndimage.interpolation import spline_filter1d as spline_filter1d
from anyshape.scipy.ndimage.interpolation import zoom as zoom
from anyshape.scipy.ndimage.measurements import center_of_mass as center_of_mass
from anyshape.scipy.ndimage.measurements import distance_transform_edt as distance_transform_edt
from anyshape.scipy.ndimage.measurements import extrema as extrema
from anyshape.scipy.ndimage.measurements import fourier_gaussian as fourier_gaussian
from anyshape.scipy.ndimage.measurements import fourier_shift as fourier_shift
from anyshape.scipy.ndimage.measurements import fourier_uniform as fourier_uniform
from anyshape.scipy.ndimage.measurements import generic_gradient_magnitude as generic_gradient_magnitude
from anyshape.scipy.ndimage.measurements import generic_laplace as generic_laplace
from anyshape.scipy.ndimage.measurements import geometric_transform as geometric_transform
from anyshape.scipy.ndimage.measurements import histogram as histogram
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
from anyshape.scipy.ndimage.morphology import binary_closing as binary_closing
from anyshape.scipy.ndimage.morphology import binary_dilation as binary_dilation
from anyshape.scipy.ndimage.morphology import binary_erosion as binary_erosion
from anyshape.scipy.ndimage.morphology import binary_fill_holes as binary_fill_holes
from anyshape.scipy.ndimage.morphology import binary_hit_or_miss as binary_hit_or_miss
from anyshape.scipy.ndimage.morphology import binary_opening as binary_opening
from anyshape.scipy.ndimage.morphology import binary_propagation as binary_propagation
from anyshape.scipy.ndimage.morphology import generic_filter as generic_filter
from anyshape.scipy.ndimage.morphology import median_filter as median_filter
from anyshape.scipy.ndimage.morphology import percentile_filter as percentile_filter
from anyshape.scipy.ndimage.morphology import rank_filter as rank_filter

def black_tophat(
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
    """Return the closing of an image less the image."""

def distance_transform_bf(input: Any, metric: Any = None, **options: Any) -> Any:
    """Return the distance of each element from the nearest one that is 0; derivatives are 0."""

def distance_transform_cdt(input: Any, metric: Any = None, **options: Any) -> Any:
    """Return the distance of each element from the nearest one that is 0; derivatives are 0."""

def grey_closing(
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
    """Return the erosion of the dilation."""

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

def grey_opening(
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
    """Return the dilation of the erosion."""

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

def morphological_gradient(
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
    """Return the dilation less the erosion."""

def morphological_laplace(
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
    """Return the sum of dilation and erosion less the image twice."""

def prewitt(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along an axis that Prewitt's filter takes."""

def sobel(input: Any, axis: Any = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    """Return the differences along an axis that Sobel's filter takes."""

def white_tophat(
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
    """Return an image less its opening."""

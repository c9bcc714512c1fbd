"""Functions of `scipy.ndimage` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.numpy.serve import Module
from anyshape.scipy.ndimage.extremes import (
    distance_transform_bf,
    distance_transform_cdt,
    extrema,
    geometric_transform,
    histogram,
    maximum_position,
    median,
    minimum_position,
    watershed_ift,
)
from anyshape.scipy.ndimage.filtering import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    maximum_filter,
    maximum_filter1d,
    minimum_filter,
    minimum_filter1d,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from anyshape.scipy.ndimage.interpolation import (
    affine_transform,
    map_coordinates,
    rotate,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)
from anyshape.scipy.ndimage.measurements import (
    center_of_mass,
    distance_transform_edt,
    fourier_gaussian,
    fourier_shift,
    fourier_uniform,
    generic_gradient_magnitude,
    generic_laplace,
    label,
    maximum,
    mean,
    minimum,
    standard_deviation,
    sum,
    sum_labels,
    variance,
)
from anyshape.scipy.ndimage.morphology import (
    binary_closing,
    binary_dilation,
    binary_erosion,
    binary_fill_holes,
    binary_hit_or_miss,
    binary_opening,
    binary_propagation,
    black_tophat,
    generic_filter,
    grey_closing,
    grey_dilation,
    grey_erosion,
    grey_opening,
    median_filter,
    morphological_gradient,
    morphological_laplace,
    percentile_filter,
    rank_filter,
    white_tophat,
)
from anyshape.support.packages import scipy_ndimage

__all__ = [
    "affine_transform", "binary_closing", "binary_dilation", "binary_erosion", "binary_fill_holes",
    "binary_hit_or_miss", "binary_opening", "binary_propagation", "black_tophat", "center_of_mass", "convolve",
    "convolve1d", "correlate", "correlate1d", "distance_transform_bf", "distance_transform_cdt",
    "distance_transform_edt", "extrema", "fourier_gaussian", "fourier_shift", "fourier_uniform", "gaussian_filter",
    "gaussian_filter1d", "gaussian_gradient_magnitude", "gaussian_laplace", "generic_filter",
    "generic_gradient_magnitude", "generic_laplace", "geometric_transform", "grey_closing", "grey_dilation",
    "grey_erosion", "grey_opening", "histogram", "label", "laplace", "map_coordinates", "maximum", "maximum_filter",
    "maximum_filter1d", "maximum_position", "mean", "median", "median_filter", "minimum", "minimum_filter",
    "minimum_filter1d", "minimum_position", "morphological_gradient", "morphological_laplace", "percentile_filter",
    "prewitt", "rank_filter", "rotate", "shift", "sobel", "spline_filter", "spline_filter1d", "standard_deviation",
    "sum", "sum_labels", "uniform_filter", "uniform_filter1d", "variance", "watershed_ift", "white_tophat", "zoom",
]  # fmt: skip

_SCIPY = Module(scipy_ndimage, "scipy.ndimage")
__getattr__, __dir__ = _SCIPY.named, _SCIPY.public_names
